//! Cursor: a flat answer in snake case, and always one, because an empty one blocks where `failClosed` is set.
//!
//! One call fires several events: `preToolUse`, and for commands, MCP tools and files another one that carries no id.
//! Those are told without an id and with the same tool and input, so that they are recognised as one call. Only the
//! output of MCP tools can be changed. `ask` acts as a refusal there, so the hook waits for the answer instead.

use serde_json::{Map, Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult,
    wire::{
        Moment, answer, as_text, cannot_hide, complaint, object, optional_text, quiet, reason_of, refuse,
        sentence, text, unknown, value,
    },
};

/// Cursor, the editor and its agent on the command line.
pub(crate) struct Cursor;

/// Events that carry no call. Completions read files without an agent.
const QUIET: &[&str] = &[
    "subagentStart",
    "subagentStop",
    "afterFileEdit",
    "beforeSubmitPrompt",
    "stop",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "workspaceOpen",
];

/// Events at which the host waits for a permission.
const ASKS_PERMISSION: &[&str] = &[
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeTabFileRead",
    "subagentStart",
];

/// What stands before the name of an MCP tool at `preToolUse`, and not at the events for MCP tools alone.
const MCP: &str = "MCP:";

impl Dialect for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn asking(&self, _event: &Event) -> Asking {
        Asking::Wait
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        let ok = |call: ToldCall| Ok(Told::Call(Box::new(call)));
        text(event, "hook_event_name")?;
        match event_name(event).as_str() {
            "preToolUse" => ok(tool_call(event, "preToolUse")?),
            "beforeShellExecution" => ok(shell_call(event, "beforeShellExecution")?),
            "beforeMCPExecution" => ok(mcp_call(event, "beforeMCPExecution")?),
            "beforeReadFile" => ok(read_call(event, "beforeReadFile")?),
            "postToolUse" => {
                let call = tool_call(event, "postToolUse")?;
                let output = unpacked(value(event, "tool_output")?);
                // A command that does not tell its exit code may still be running.
                let ended_well =
                    output.get("exitCode").map_or(call.tool != "Shell", |code| code.as_i64() == Some(0));
                result(call, ended_well && is_no_error(&output), output)
            }
            "postToolUseFailure" => {
                let output = event.get("error_message").or_else(|| event.get("error")).cloned();
                result(tool_call(event, "postToolUseFailure")?, false, output.unwrap_or_default())
            }
            // Does not tell how the command ended, so it is no success; `postToolUse` tells.
            "afterShellExecution" => {
                result(shell_call(event, "afterShellExecution")?, false, value(event, "output")?.clone())
            }
            "afterMCPExecution" => {
                let output = unpacked(value(event, "result_json")?);
                result(mcp_call(event, "afterMCPExecution")?, is_no_error(&output), output)
            }
            "sessionStart" => session_told(event, Phase::Started),
            "preCompact" => session_told(event, Phase::Compacted),
            "sessionEnd" => session_told(event, Phase::Ended),
            quiet_one if QUIET.contains(&quiet_one) => quiet(event),
            other
                if event.contains_key("command")
                    || other.starts_with("before")
                    || other.starts_with("pre") =>
            {
                Err(Misread(format!("the event `{other}` is not known and comes before something runs")))
            }
            other => unknown(event, other),
        }
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        let reason = reason_of(said);
        match (moment(event), said) {
            (_, Said::Pass) => pass(event),
            (Moment::Before, Said::Change { input, .. }) => change(event, input, reason),
            (Moment::Before, _) => deny(reason),
            (Moment::After, Said::Replace { output, .. }) => show(output, reason),
            (Moment::After, _) => show(&Value::from(reason), reason),
            (Moment::Failed, _) => {
                let reason = cannot_hide(reason);
                Reply { stderr: complaint(&reason), ..answer(&json!({ "additional_context": reason })) }
            }
            (Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        match event {
            Some(event) if moment(event) == Moment::After => {
                Reply { stderr: complaint(line), ..show(&Value::from(sentence(line)), line) }
            }
            // Nothing on stdout: beside exit code 2 the host hands it to the agent as it is.
            _ => refuse(line),
        }
    }
}

fn tool_call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    let tool = text(event, "tool_name")?;
    let told_apart_by: &[&str] = match tool {
        "Shell" => &["command"],
        "Read" => &["file_path"],
        _ => &[],
    };
    let is_shown_twice = !told_apart_by.is_empty() || tool.starts_with(MCP);
    let id = if is_shown_twice { None } else { optional_text(event, "tool_use_id")? };
    let input = object(event, "tool_input")?;
    let cwd = match optional_text(event, "cwd")? {
        None => optional_text(&input, "cwd").unwrap_or_default(),
        cwd => cwd,
    };
    Ok(ToldCall { id, cwd, told_apart_by, ..told(event, tool, input, seen_at)? })
}

fn shell_call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    let input = only("command", text(event, "command")?);
    Ok(ToldCall { told_apart_by: &["command"], ..told(event, "Shell", input, seen_at)? })
}

fn read_call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    let input = only("file_path", text(event, "file_path")?);
    Ok(ToldCall { told_apart_by: &["file_path"], ..told(event, "Read", input, seen_at)? })
}

fn mcp_call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    let tool = text(event, "tool_name")?;
    let tool = if tool.starts_with(MCP) { tool.to_owned() } else { format!("{MCP}{tool}") };
    told(event, &tool, object(event, "tool_input")?, seen_at)
}

fn told(event: &Event, tool: &str, input: Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    Ok(ToldCall {
        session: session(event)?,
        tool: tool.to_owned(),
        input,
        cwd: optional_text(event, "cwd")?,
        seen_at,
        ..ToldCall::default()
    })
}

fn only(key: &str, text: &str) -> Event {
    Map::from_iter([(key.to_owned(), Value::from(text))])
}

fn session(event: &Event) -> Result<String, Misread> {
    let key = if event.contains_key("conversation_id") { "conversation_id" } else { "session_id" };
    Ok(text(event, key)?.to_owned())
}

fn session_told(event: &Event, phase: Phase) -> Result<Told, Misread> {
    quiet(event)?;
    Ok(Told::Session { session: session(event)?, phase })
}

fn result(call: ToldCall, ok: bool, output: Value) -> Result<Told, Misread> {
    Ok(Told::Result(Box::new(ToldResult { call, ok, output })))
}

/// Outputs are JSON written into a text.
fn unpacked(output: &Value) -> Value {
    let inner = output.as_str().and_then(|text| serde_json::from_str(text).ok());
    inner.filter(|inner: &Value| inner.is_object() || inner.is_array()).unwrap_or_else(|| output.clone())
}

fn is_no_error(output: &Value) -> bool {
    output.get("isError") != Some(&Value::Bool(true))
}

/// The name with a small first letter: hooks it runs for the sake of Claude Code may be told with a capital one.
fn event_name(event: &Event) -> String {
    let mut letters = event.get("hook_event_name").and_then(Value::as_str).unwrap_or_default().chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// `After` is only where an output can be changed.
fn moment(event: &Event) -> Moment {
    let is_mcp = || event.get("tool_name").and_then(Value::as_str).is_some_and(|tool| tool.starts_with(MCP));
    match event_name(event).as_str() {
        "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" | "beforeReadFile" => Moment::Before,
        "afterMCPExecution" => Moment::After,
        "postToolUse" if is_mcp() => Moment::After,
        "postToolUse" | "postToolUseFailure" | "afterShellExecution" => Moment::Failed,
        _ => Moment::Other,
    }
}

fn pass(event: &Event) -> Reply {
    if ASKS_PERMISSION.contains(&event_name(event).as_str()) {
        answer(&json!({ "permission": "allow" }))
    } else {
        answer(&json!({}))
    }
}

/// Only `preToolUse` takes another input. At the second event of the same call the input is the changed one already.
fn change(event: &Event, input: &Event, reason: &str) -> Reply {
    let is_there = Cursor.decode(event).is_ok_and(|told| match told {
        Told::Call(call) => call.input == *input,
        _ => false,
    });
    if is_there {
        pass(event)
    } else if event_name(event) == "preToolUse" {
        answer(&json!({ "permission": "allow", "updated_input": input }))
    } else {
        deny(reason)
    }
}

/// The agent sees `user_message`, people see both.
fn deny(reason: &str) -> Reply {
    answer(&json!({ "permission": "deny", "user_message": reason, "agent_message": reason }))
}

fn show(output: &Value, reason: &str) -> Reply {
    let output = match output {
        Value::Object(result) if result.contains_key("content") => output.clone(),
        other => json!({ "content": [{ "type": "text", "text": sentence(&as_text(other)) }] }),
    };
    answer(&json!({ "updated_mcp_tool_output": output, "additional_context": sentence(reason) }))
}
