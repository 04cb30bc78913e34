//! What several agents have taken over from Claude Code.

use serde_json::{Value, json};

use crate::{
    edit::{Mistake, whole},
    event::{Event, EventError, Message, Phase, ToolCall, object, optional_text, quiet, text},
};

/// The call of an event, with its id.
pub(crate) fn call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let id = Some(text(message, "tool_use_id")?.to_owned());
    let agent = optional_text(message, "agent_id")?;
    Ok(ToolCall { id, agent, ..anonymous_call(message, seen_at)? })
}

/// The call of an event of an agent that gives calls no id.
pub(crate) fn anonymous_call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    Ok(ToolCall {
        session: text(message, "session_id")?.to_owned(),
        tool: text(message, "tool_name")?.to_owned(),
        input: object(message, "tool_input")?,
        cwd: optional_text(message, "cwd")?,
        seen_at,
        ..ToolCall::default()
    })
}

/// An event of a session that carries no call.
pub(crate) fn session(message: &Message, phase: Phase) -> Result<Event, EventError> {
    quiet(message)?;
    Ok(Event::Session { session: text(message, "session_id")?.to_owned(), phase })
}

/// The event before a shell command runs.
pub(crate) fn shell_trial(event: &str, session: &str, command: &str, folder: &str) -> Value {
    json!({
        "session_id": session, "transcript_path": "/dev/null", "cwd": folder, "hook_event_name": event,
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "doctor-1",
    })
}

/// Hooks that a file turns off would be a gate that is not there.
pub(crate) fn hooks_are_on(text: &str) -> Result<(), Mistake> {
    let is_off = whole(text)?.get("disableAllHooks").is_some_and(|off| *off != Value::Bool(false));
    let line = text.lines().position(|line| line.contains("disableAllHooks")).map_or(1, |at| at + 1);
    match is_off {
        true => Err(Mistake::new(line, "`disableAllHooks` turns all hooks off", "take it out")),
        false => Ok(()),
    }
}
