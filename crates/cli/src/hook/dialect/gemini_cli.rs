//! Gemini CLI: a flat decision on stdout, and silence to let a call pass.
//!
//! Its `ask` hangs where nobody sits at the terminal, so it is never said. `allow` beside a rewritten input waives no
//! confirmation: the host looks for `deny`, `block` and `ask` only. It merges a rewritten input into the old one, so
//! a field cannot be taken away. It gives calls no id.

use serde_json::{Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult,
    claude_code::phase_of,
    wire::{
        Moment, answer, as_text, complaint, object, optional_text, quiet, reason_of, refuse, sentence,
        silence, text, unknown, value,
    },
};

/// Google's Gemini CLI.
pub(crate) struct GeminiCli;

/// Events that carry no call.
const QUIET: &[&str] =
    &["BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"];

/// The tool that runs commands.
const SHELL: &str = "run_shell_command";

impl Dialect for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Wait
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        match text(event, "hook_event_name")? {
            "BeforeTool" => Ok(Told::Call(Box::new(call(event, "BeforeTool")?))),
            "AfterTool" => {
                let call = call(event, "AfterTool")?;
                let output = value(event, "tool_response")?.clone();
                Ok(Told::Result(Box::new(ToldResult { ok: says_success(&call.tool, &output), call, output })))
            }
            "SessionStart" => session(event, phase_of(event)),
            "PreCompress" => session(event, Phase::Compacted),
            "SessionEnd" => session(event, Phase::Ended),
            quiet_one if QUIET.contains(&quiet_one) => quiet(event),
            other => unknown(event, other),
        }
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        let reason = reason_of(said);
        match (moment(event), said) {
            (_, Said::Pass) => silence(),
            (Moment::Before, Said::Change { input, .. }) if keeps_every_field(event, input) => {
                answer(&json!({
                    "decision": "allow",
                    "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": input },
                }))
            }
            (Moment::After, Said::Replace { output, .. }) => {
                deny(&as_text(output.get("llmContent").unwrap_or(output)))
            }
            (Moment::Before | Moment::After, _) => deny(reason),
            (Moment::Failed | Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        match event.map(moment) {
            Some(Moment::After) => Reply { stderr: complaint(line), ..deny(line) },
            _ => refuse(line),
        }
    }
}

fn call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    Ok(ToldCall {
        session: text(event, "session_id")?.to_owned(),
        id: None,
        tool: text(event, "tool_name")?.to_owned(),
        input: object(event, "tool_input")?,
        cwd: optional_text(event, "cwd")?,
        agent: None,
        seen_at,
        told_apart_by: &[],
    })
}

fn session(event: &Event, phase: Phase) -> Result<Told, Misread> {
    quiet(event)?;
    Ok(Told::Session { session: text(event, "session_id")?.to_owned(), phase })
}

/// A failed command is no error to the host: it writes `Exit Code:` below the output, and nothing where that was 0.
/// A command that prints such a line itself only takes its own success away.
fn says_success(tool: &str, output: &Value) -> bool {
    let no_error = output.get("error").is_none_or(Value::is_null);
    if tool != SHELL {
        return no_error && output.is_object();
    }
    let content = output.get("llmContent").and_then(Value::as_str).unwrap_or_default();
    let any_line = |starts: &[&str]| {
        content.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)))
    };
    no_error && any_line(&["Output:"]) && !any_line(&["Exit Code:", "Signal:", "Error:"])
}

fn moment(event: &Event) -> Moment {
    match event.get("hook_event_name").and_then(Value::as_str) {
        Some("BeforeTool") => Moment::Before,
        Some("AfterTool") => Moment::After,
        _ => Moment::Other,
    }
}

fn keeps_every_field(event: &Event, input: &Event) -> bool {
    object(event, "tool_input").is_ok_and(|told| told.keys().all(|key| input.contains_key(key)))
}

fn deny(reason: &str) -> Reply {
    answer(&json!({ "decision": "deny", "reason": sentence(reason) }))
}
