//! Claude Code: one JSON object on stdout, or nothing to leave its own permission flow as it is.
//!
//! A rewritten input is given without a `permissionDecision`: it is taken, and the prompt is still shown. An output is
//! replaced in the tool's own shape only; anything else is dropped without a word. `allow` is never said.

use serde_json::{Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult,
    copilot::Copilot,
    cursor::Cursor,
    wire::{
        Moment, answer, cannot_hide, complaint, object, optional_text, quiet, reason_of, refuse, same_shape,
        silence, text, unknown, value, withheld,
    },
};

/// Claude Code, and whoever else runs its hooks.
pub(crate) struct ClaudeCode;

/// Events that carry no call. `PostToolBatch` repeats calls whose results were told one by one.
const QUIET: &[&str] = &[
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreModelSwitch",
    "PostModelSwitch",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// Which event of a guest this is: it may fire the same event for hooks of its own, and both show one call.
const SEEN_IN_CLAUDE_SETTINGS: &str = "in .claude/settings.json";

impl Dialect for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn host(&self, event: &Event) -> &'static str {
        guest(event).map_or(self.name(), Dialect::name)
    }

    fn asking(&self, event: &Event) -> Asking {
        guest(event).map_or(Asking::Host, |guest| guest.asking(event))
    }

    fn can_defer(&self, event: &Event) -> bool {
        guest(event).is_none()
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        match guest(event) {
            Some(guest) => guest.decode(event).map(seen_in_claude_settings),
            None => decode(event),
        }
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        match guest(event) {
            Some(guest) => guest.encode(event, said),
            None => encode(event, said),
        }
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        match event {
            Some(event) => match guest(event) {
                Some(guest) => guest.fault(Some(event), line),
                None => fault(event, line),
            },
            None => refuse(line),
        }
    }
}

/// Another host that runs the hooks of `.claude/settings.json` and sent this event.
fn guest(event: &Event) -> Option<&'static dyn Dialect> {
    let has = |key| event.contains_key(key);
    if has("cursor_version") {
        return Some(&Cursor);
    }
    // Copilot writes some events in its own spelling even for hooks in the spelling of Claude Code.
    let own_spelling = has("sessionId") && !has("session_id");
    let borrowed = has("timestamp") && !has("tool_use_id") && !has("transcript_path");
    (own_spelling || borrowed).then_some(&Copilot as &dyn Dialect)
}

fn seen_in_claude_settings(mut told: Told) -> Told {
    match &mut told {
        Told::Call(call) => call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Told::Result(result) => result.call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Told::Refused(call) => call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Told::Session { .. } | Told::Nothing => {}
    }
    told
}

fn decode(event: &Event) -> Result<Told, Misread> {
    let name = text(event, "hook_event_name")?;
    match name {
        "PreToolUse" => Ok(Told::Call(Box::new(call(event, "PreToolUse")?))),
        "PostToolUse" => {
            let output = value(event, "tool_response")?.clone();
            result(event, "PostToolUse", has_ended_well(&output), output)
        }
        "PostToolUseFailure" => result(event, "PostToolUseFailure", false, value(event, "error")?.clone()),
        "PermissionDenied" => Ok(Told::Refused(Box::new(call(event, "PermissionDenied")?))),
        // Comes only after `PreToolUse` let the same call pass, without the call's id and with the input as we may
        // have changed it: telling it would count the call twice. Silence leaves the prompt to the human.
        "PermissionRequest" => Ok(Told::Nothing),
        "SessionStart" => session(event, phase_of(event)),
        "PreCompact" | "PostCompact" => session(event, Phase::Compacted),
        "SessionEnd" => session(event, Phase::Ended),
        "PostToolBatch" => {
            let rest = event.iter().filter(|(key, _)| *key != "tool_calls");
            quiet(&rest.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        quiet_one if QUIET.contains(&quiet_one) => quiet(event),
        other => unknown(event, other),
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

fn result(event: &Event, seen_at: &'static str, ok: bool, output: Value) -> Result<Told, Misread> {
    Ok(Told::Result(Box::new(ToldResult { call: call(event, seen_at)?, ok, output })))
}

/// A command that was interrupted or goes on in the background has not succeeded.
fn has_ended_well(output: &Value) -> bool {
    let says = |key| output.get(key).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    !says("interrupted") && !says("backgroundTaskId")
}

fn session(event: &Event, phase: Phase) -> Result<Told, Misread> {
    quiet(event)?;
    Ok(Told::Session { session: text(event, "session_id")?.to_owned(), phase })
}

/// How a session starts, as Claude Code and those who follow it say.
pub(super) fn phase_of(event: &Event) -> Phase {
    match event.get("source").and_then(Value::as_str) {
        Some("resume") => Phase::Resumed,
        Some("compact") => Phase::Compacted,
        _ => Phase::Started,
    }
}

fn moment(event: &Event) -> Moment {
    match event.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") => Moment::Before,
        Some("PostToolUse") => Moment::After,
        Some("PostToolUseFailure") => Moment::Failed,
        _ => Moment::Other,
    }
}

fn encode(event: &Event, said: &Said) -> Reply {
    let reason = reason_of(said);
    match (moment(event), said) {
        (_, Said::Pass) => silence(),
        (Moment::Before, Said::Change { input, .. }) => specific(
            "PreToolUse",
            [("updatedInput", Value::Object(input.clone())), ("additionalContext", Value::from(reason))],
        ),
        (Moment::Before, Said::Ask { .. }) => decide("ask", reason),
        (Moment::Before, Said::Defer { .. }) => decide("defer", reason),
        (Moment::Before, _) => decide("deny", reason),
        (Moment::After, Said::Replace { output, .. }) => {
            let told = event.get("tool_response").unwrap_or(&Value::Null);
            if same_shape(told, output) {
                show(output.clone(), reason)
            } else {
                show(withheld(told, reason), reason)
            }
        }
        (Moment::After, _) => {
            show(withheld(event.get("tool_response").unwrap_or(&Value::Null), reason), reason)
        }
        (Moment::Failed, _) => {
            specific("PostToolUseFailure", [("additionalContext", Value::from(cannot_hide(reason)))])
        }
        (Moment::Other, _) => refuse(reason),
    }
}

fn fault(event: &Event, line: &str) -> Reply {
    match moment(event) {
        // After the tool ran, exit code 2 shows its output beside our complaint.
        Moment::After if event.contains_key("tool_response") => {
            let shown = encode(event, &Said::Withhold { reason: line.to_owned() });
            Reply { stderr: complaint(line), ..shown }
        }
        _ => refuse(line),
    }
}

fn decide(decision: &str, reason: &str) -> Reply {
    specific(
        "PreToolUse",
        [("permissionDecision", Value::from(decision)), ("permissionDecisionReason", Value::from(reason))],
    )
}

fn show(output: Value, reason: &str) -> Reply {
    specific("PostToolUse", [("updatedToolOutput", output), ("additionalContext", Value::from(reason))])
}

/// An answer for one event, in the form that Codex has taken over.
pub(super) fn specific<const N: usize>(name: &str, fields: [(&str, Value); N]) -> Reply {
    let mut inner = Event::from_iter([("hookEventName".to_owned(), Value::from(name))]);
    inner.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    answer(&json!({ "hookSpecificOutput": inner }))
}
