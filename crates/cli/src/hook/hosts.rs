//! What each host does with a hook's answer before a tool runs, as it was seen when the hosts were run.
//!
//! The dialects are held against it, and so is every installation by `lockgate doctor`. A host whose hooks fail closed
//! in the form that `lockgate init` writes is taken to be installed so.

use serde_json::{Value, json};

use super::dialect::{Event, Reply};

/// What a host does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Does {
    AsWithoutUs,
    Blocks,
    Asks,
    RunsWith(Value),
    /// It goes on where it would have asked.
    SkipsItsPrompt,
    Hangs,
}

/// What a host does with an answer to the event before a tool runs.
pub(crate) fn before(host: &str, reply: &Reply) -> Does {
    let object: Option<Value> = serde_json::from_str(reply.stdout.trim()).ok().filter(Value::is_object);
    let stdout = object.unwrap_or_default();
    let says = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let at = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
    match host {
        "claude-code" => {
            let inner = at(&stdout, "hookSpecificOutput");
            match (reply.code, says(&inner, "permissionDecision").as_deref()) {
                (2, _) | (0, Some("deny")) => Does::Blocks,
                (0, Some("ask")) => Does::Asks,
                (0, Some("allow")) => Does::SkipsItsPrompt,
                (0, None) => rewritten(&at(&inner, "updatedInput")),
                _ => Does::AsWithoutUs,
            }
        }
        "codex" => codex(reply, &stdout),
        "gemini-cli" => gemini(reply),
        "copilot" => match (reply.code, says(&stdout, "permissionDecision").as_deref()) {
            (0, Some("deny")) => Does::Blocks,
            (0, Some("ask")) => Does::Asks,
            (0, Some("allow")) => Does::SkipsItsPrompt,
            (0, _) => rewritten(&at(&stdout, "modifiedArgs")),
            _ => Does::Blocks,
        },
        // With `failClosed`, as it is installed.
        "cursor" => match (reply.code, says(&stdout, "permission").as_deref()) {
            (0, Some("allow")) => rewritten(&at(&stdout, "updated_input")),
            _ => Does::Blocks,
        },
        // Our own scripts, and whoever follows docs/hooks.md.
        _ => match (reply.code, says(&stdout, "decision").as_deref()) {
            (0, Some("pass")) => Does::AsWithoutUs,
            (0, Some("change")) if at(&stdout, "input").is_object() => Does::RunsWith(at(&stdout, "input")),
            (0, Some("ask")) if host == "openclaw" => Does::Asks,
            _ => Does::Blocks,
        },
    }
}

fn codex(reply: &Reply, stdout: &Value) -> Does {
    let inner = stdout.get("hookSpecificOutput").cloned().unwrap_or_default();
    let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::trim);
    let known = ["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"];
    let is_read = has_only(stdout, &["hookSpecificOutput"]) && has_only(&inner, &known);
    let has_reason = text("permissionDecisionReason").is_some_and(|reason| !reason.is_empty());
    match (reply.code, text("permissionDecision")) {
        (2, _) if !reply.stderr.trim().is_empty() => Does::Blocks,
        (0, Some("deny")) if is_read && has_reason => Does::Blocks,
        (0, Some("allow")) if is_read => rewritten(inner.get("updatedInput").unwrap_or(&Value::Null)),
        _ => Does::AsWithoutUs,
    }
}

fn gemini(reply: &Reply) -> Does {
    let said = if reply.stdout.trim().is_empty() { reply.stderr.trim() } else { reply.stdout.trim() };
    match serde_json::from_str::<Value>(said) {
        Ok(object) if object.is_object() => match object.get("decision").and_then(Value::as_str) {
            Some("deny" | "block") => Does::Blocks,
            Some("ask") => Does::Hangs,
            _ => rewritten(object.pointer("/hookSpecificOutput/tool_input").unwrap_or(&Value::Null)),
        },
        Err(_) if !said.is_empty() && reply.code > 1 => Does::Blocks,
        _ => Does::AsWithoutUs,
    }
}

/// Whether an object has no other fields than these.
pub(crate) fn has_only(object: &Value, known: &[&str]) -> bool {
    object.as_object().is_some_and(|object| object.keys().all(|key| known.contains(&key.as_str())))
}

fn rewritten(input: &Value) -> Does {
    if input.is_object() { Does::RunsWith(input.clone()) } else { Does::AsWithoutUs }
}

/// The event of a made-up shell command that has not run, as the host would write it.
pub(crate) fn canary(host: &str, session: &str, command: &str, folder: &str) -> Event {
    let input = json!({ "command": command });
    let event = match host {
        "claude-code" | "codex" => json!({
            "session_id": session, "transcript_path": "/dev/null", "cwd": folder, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": input, "tool_use_id": "doctor-1",
        }),
        "gemini-cli" => json!({
            "session_id": session, "transcript_path": "/dev/null", "cwd": folder, "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": "run_shell_command", "tool_input": input,
        }),
        "copilot" => json!({
            "sessionId": session, "timestamp": 0, "cwd": folder, "toolName": "bash", "toolArgs": input,
        }),
        "cursor" => json!({
            "conversation_id": session, "session_id": session, "hook_event_name": "preToolUse",
            "cursor_version": "0", "workspace_roots": [folder], "cwd": folder, "tool_name": "Shell",
            "tool_input": input, "tool_use_id": "doctor-1",
        }),
        _ => json!({
            "event": "before", "session": session, "call": "doctor-1", "cwd": folder,
            "tool": if host == "openclaw" { "exec" } else { "bash" }, "input": input,
        }),
    };
    event.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::dialect::{Told, named, names};

    #[test]
    fn every_host_understands_its_canary() {
        for name in names() {
            let event = canary(name, "s", "ls -l", "/p");
            let dialect = named(name).unwrap();
            assert_eq!(dialect.host(&event), name);
            match dialect.decode(&event) {
                Ok(Told::Call(call)) => {
                    assert_eq!(call.input.get("command"), Some(&json!("ls -l")), "{name}");
                    assert_eq!(call.cwd.as_deref(), Some("/p"), "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
