//! Codex: the form of Claude Code, read more strictly, and silence to let a call pass.
//!
//! An unknown field or an empty reason makes Codex drop the whole answer and run the tool. It has no `ask`, and it
//! takes a rewritten input only beside `allow`; that `allow` waives none of its own approvals. It does not tell how a
//! command ended, so no command is a success here.

use serde_json::{Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult,
    claude_code::{phase_of, specific},
    wire::{
        Moment, answer, as_text, complaint, object, optional_text, quiet, reason_of, refuse, sentence,
        silence, text, unknown, value,
    },
};

/// OpenAI Codex.
pub(crate) struct Codex;

/// Events that carry no call.
const QUIET: &[&str] = &["UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop"];

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Wait
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        match text(event, "hook_event_name")? {
            "PreToolUse" => Ok(Told::Call(Box::new(call(event, "PreToolUse")?))),
            "PostToolUse" => {
                let call = call(event, "PostToolUse")?;
                let output = value(event, "tool_response")?.clone();
                Ok(Told::Result(Box::new(ToldResult { ok: says_success(&call.tool, &output), call, output })))
            }
            // Comes after `PreToolUse` let the same call pass, without its id: telling it would count the call twice.
            "PermissionRequest" => Ok(Told::Nothing),
            "SessionStart" => session(event, phase_of(event)),
            "PreCompact" | "PostCompact" => session(event, Phase::Compacted),
            "SessionEnd" => session(event, Phase::Ended),
            quiet_one if QUIET.contains(&quiet_one) => quiet(event),
            other => unknown(event, other),
        }
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        let reason = reason_of(said);
        match (moment(event), said) {
            (_, Said::Pass) => silence(),
            (Moment::Before, Said::Change { input, .. }) => specific(
                "PreToolUse",
                [
                    ("permissionDecision", Value::from("allow")),
                    ("updatedInput", Value::Object(input.clone())),
                ],
            ),
            (Moment::Before, _) => specific(
                "PreToolUse",
                [
                    ("permissionDecision", Value::from("deny")),
                    ("permissionDecisionReason", Value::from(reason)),
                ],
            ),
            (Moment::After, Said::Replace { output, .. }) => show(&as_text(output)),
            (Moment::After, _) => show(reason),
            (Moment::Failed | Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        match event.map(moment) {
            Some(Moment::After) => Reply { stderr: complaint(line), ..show(line) },
            _ => refuse(line),
        }
    }
}

fn call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    Ok(ToldCall {
        session: text(event, "session_id")?.to_owned(),
        id: Some(text(event, "tool_use_id")?.to_owned()),
        tool: text(event, "tool_name")?.to_owned(),
        input: object(event, "tool_input")?,
        cwd: optional_text(event, "cwd")?,
        agent: optional_text(event, "agent_id")?,
        seen_at,
        told_apart_by: &[],
    })
}

fn session(event: &Event, phase: Phase) -> Result<Told, Misread> {
    quiet(event)?;
    Ok(Told::Session { session: text(event, "session_id")?.to_owned(), phase })
}

/// The result of a command is its bare output, the same for exit code 0 and for any other: only what an MCP server
/// or the patch tool says of itself can be believed.
fn says_success(tool: &str, output: &Value) -> bool {
    match output {
        Value::Object(result) => {
            tool.starts_with("mcp__") && result.get("isError") != Some(&Value::Bool(true))
        }
        Value::String(text) => tool == "apply_patch" && text.starts_with("Success."),
        _ => false,
    }
}

fn moment(event: &Event) -> Moment {
    match event.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") => Moment::Before,
        Some("PostToolUse") => Moment::After,
        _ => Moment::Other,
    }
}

/// The reason of a block is what the agent sees instead of the output.
fn show(output: &str) -> Reply {
    answer(&json!({ "decision": "block", "reason": sentence(output) }))
}
