//! GitHub Copilot, on the command line and in the cloud: flat answers, and silence to let a call pass.
//!
//! It writes events in two spellings. In its own (`toolName`) most events carry no name and are told by their fields;
//! in the other (`tool_name`) tools have the names that Claude Code uses. Both are told under the latter, because the
//! hooks of `.claude/settings.json` run under Copilot too and see the same call. It gives calls no id. It blocks on
//! any failure except a timeout, which nothing printed here can help.

use serde_json::{Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult,
    wire::{
        Moment, answer, cannot_hide, complaint, object, optional_text, quiet, reason_of, refuse, sentence,
        silence, text, unknown, value,
    },
};

/// GitHub Copilot.
pub(crate) struct Copilot;

/// The names under which Copilot tells its tools in the other spelling.
const NAMES: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("powershell", "Bash"),
    ("view", "Read"),
    ("create", "Write"),
    ("edit", "Edit"),
    ("str_replace_editor", "Edit"),
    ("apply_patch", "Edit"),
    ("grep", "Grep"),
    ("rg", "Grep"),
    ("glob", "Glob"),
    ("web_fetch", "WebFetch"),
    ("web_search", "WebSearch"),
    ("ask_user", "AskUserQuestion"),
    ("update_todo", "TodoWrite"),
    ("task", "Agent"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'e> {
    Before(&'static str),
    After(&'static str),
    Failed(&'static str),
    Permission,
    Session(Phase),
    Quiet,
    Unknown(&'e str),
}

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Host
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        match kind(event)? {
            Kind::Before(seen_at) => Ok(Told::Call(Box::new(call(event, seen_at)?))),
            Kind::After(seen_at) => {
                let call = call(event, seen_at)?;
                let output = value(event, spelling(event, "toolResult", "tool_result"))?.clone();
                Ok(Told::Result(Box::new(ToldResult { ok: says_success(&call.tool, &output), call, output })))
            }
            Kind::Failed(seen_at) => {
                let output = value(event, "error")?.clone();
                Ok(Told::Result(Box::new(ToldResult { call: call(event, seen_at)?, ok: false, output })))
            }
            // Comes only after `preToolUse` let the same call pass, with the input as we may have changed it:
            // telling it would count the call twice. Silence leaves the permission to Copilot.
            Kind::Permission => Ok(Told::Nothing),
            Kind::Session(phase) => {
                quiet(event)?;
                Ok(Told::Session { session: session(event)?, phase })
            }
            Kind::Quiet => quiet(event),
            Kind::Unknown(name) => unknown(event, name),
        }
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        let reason = reason_of(said);
        match (moment(event), said) {
            (_, Said::Pass) => silence(),
            // Without a decision the host asks for permission as it would have.
            (Moment::Before, Said::Change { input, .. }) => answer(&json!({ "modifiedArgs": input })),
            (Moment::Before, Said::Ask { .. }) => decide("ask", reason),
            (Moment::Before, _) => decide("deny", reason),
            (Moment::After, Said::Replace { output, .. }) => match shown_text(output) {
                Some(text) => show(text, reason),
                None => show(reason, reason),
            },
            (Moment::After, _) => show(reason, reason),
            (Moment::Failed, _) => answer(&json!({ "additionalContext": cannot_hide(reason) })),
            (Moment::Other, _) if kind(event) == Ok(Kind::Permission) => {
                answer(&json!({ "behavior": "deny", "message": reason }))
            }
            (Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        match event.map(moment) {
            // After the tool ran, exit code 2 is only a warning and the output is shown.
            Some(Moment::After) => Reply { stderr: complaint(line), ..show(line, line) },
            // Exit code 2 refuses as well, but keeps the reason from the agent.
            Some(Moment::Before) => {
                let complaint = complaint(line);
                Reply { stderr: complaint.clone(), ..decide("deny", complaint.trim_end()) }
            }
            _ => refuse(line),
        }
    }
}

fn kind(event: &Event) -> Result<Kind<'_>, Misread> {
    for key in ["hook_event_name", "hookEventName", "hookName"] {
        if event.contains_key(key) {
            return Ok(by_name(text(event, key)?, event));
        }
    }
    Ok(by_fields(event))
}

fn by_name<'e>(name: &'e str, event: &Event) -> Kind<'e> {
    match name {
        "PreToolUse" => Kind::Before("PreToolUse"),
        "preToolUse" => Kind::Before("preToolUse"),
        "PostToolUse" => Kind::After("PostToolUse"),
        "postToolUse" => Kind::After("postToolUse"),
        "PostToolUseFailure" => Kind::Failed("PostToolUseFailure"),
        "postToolUseFailure" => Kind::Failed("postToolUseFailure"),
        "PermissionRequest" | "permissionRequest" => Kind::Permission,
        "SessionStart" | "sessionStart" => Kind::Session(started(event)),
        "SessionEnd" | "sessionEnd" => Kind::Session(Phase::Ended),
        "PreCompact" | "preCompact" => Kind::Session(Phase::Compacted),
        "UserPromptSubmit"
        | "userPromptSubmitted"
        | "userPromptTransformed"
        | "Stop"
        | "agentStop"
        | "SubagentStart"
        | "subagentStart"
        | "SubagentStop"
        | "subagentStop"
        | "ErrorOccurred"
        | "errorOccurred"
        | "Notification"
        | "notification" => Kind::Quiet,
        other => Kind::Unknown(other),
    }
}

/// In its own spelling most events have no name.
fn by_fields<'e>(event: &Event) -> Kind<'e> {
    let has = |key| event.get(key).is_some_and(|value: &Value| !value.is_null());
    if event.contains_key("toolName") {
        return match (has("toolResult"), has("error")) {
            (true, _) => Kind::After("postToolUse"),
            (false, true) => Kind::Failed("postToolUseFailure"),
            (false, false) => Kind::Before("preToolUse"),
        };
    }
    if has("source") {
        Kind::Session(started(event))
    } else if has("reason") {
        Kind::Session(Phase::Ended)
    } else if has("trigger") {
        Kind::Session(Phase::Compacted)
    } else {
        Kind::Unknown("without a name")
    }
}

fn started(event: &Event) -> Phase {
    match event.get("source").and_then(Value::as_str) {
        Some("resume") => Phase::Resumed,
        _ => Phase::Started,
    }
}

fn spelling<'k>(event: &Event, own: &'k str, other: &'k str) -> &'k str {
    if event.contains_key(own) { own } else { other }
}

fn session(event: &Event) -> Result<String, Misread> {
    Ok(text(event, spelling(event, "sessionId", "session_id"))?.to_owned())
}

fn call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    let tool = text(event, spelling(event, "toolName", "tool_name"))?;
    let other_name = NAMES.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, other)| other);
    Ok(ToldCall {
        session: session(event)?,
        id: None,
        tool: other_name.to_owned(),
        input: object(event, spelling(event, "toolArgs", "tool_input"))?,
        cwd: optional_text(event, "cwd")?,
        agent: None,
        seen_at,
        told_apart_by: &[],
    })
}

/// Copilot calls every command that ended a success, and writes how it ended below the output. Only its own last
/// line counts: what stands above was written by the command.
fn says_success(tool: &str, output: &Value) -> bool {
    let kind = ["resultType", "result_type"].into_iter().find_map(|key| output.get(key));
    let ended_well = || {
        let last = shown_text(output).and_then(|text| text.lines().last()).unwrap_or_default();
        last.starts_with("<shellId:") && last.ends_with(" completed with exit code 0>")
    };
    kind == Some(&Value::from("success")) && (tool != "Bash" || ended_well())
}

fn shown_text(output: &Value) -> Option<&str> {
    ["textResultForLlm", "text_result_for_llm"].into_iter().find_map(|key| output.get(key)?.as_str())
}

fn moment(event: &Event) -> Moment {
    match kind(event) {
        Ok(Kind::Before(_)) => Moment::Before,
        Ok(Kind::After(_)) => Moment::After,
        Ok(Kind::Failed(_)) => Moment::Failed,
        _ => Moment::Other,
    }
}

fn decide(decision: &str, reason: &str) -> Reply {
    answer(&json!({ "permissionDecision": decision, "permissionDecisionReason": reason }))
}

fn show(output: &str, reason: &str) -> Reply {
    answer(&json!({
        "modifiedResult": { "resultType": "success", "textResultForLlm": sentence(output) },
        "additionalContext": sentence(reason),
    }))
}
