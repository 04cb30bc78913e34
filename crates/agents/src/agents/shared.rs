//! What several agents have taken over from Claude Code.

use serde_json::{Value, json};

use crate::edit::{Mistake, whole};

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
