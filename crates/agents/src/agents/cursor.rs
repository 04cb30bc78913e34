//! Cursor: a flat answer in snake case, and always one, because an empty one blocks where `failClosed` is set.
//!
//! One call fires several events: `preToolUse`, and for commands, MCP tools and files another one that carries no id.
//! Those are read without an id and with the same tool and input, so that they are recognised as one call. Only the
//! output of MCP tools can be changed. `ask` acts as a refusal there, so the hook waits for the answer instead.
//!
//! Hooks go into `.cursor/hooks.json` of a project or of a user. With `failClosed` a hook that fails, takes too long or
//! is missing blocks. One call of a shell shows at `preToolUse` and at `beforeShellExecution`; only the first is used,
//! for it shows every tool.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, OTHER_LIMIT, Processes, Reaction, Signs, printed_object},
    edit::{Entry, Form, HookCommand, Layout, Mistake, Places, Scope, add, remove},
    event::{
        Answer, Event, EventError, HookReply, Message, Moment, Phase, ToolCall, as_text, cannot_hide,
        complaint, json_reply, object, optional_text, prompt, quiet, reason_of, refuse, sentence, text,
        unknown, value,
    },
};

/// Cursor, the editor and its agent on the command line.
pub(crate) struct Cursor;

/// Events that carry no call. Completions read files without an agent.
const QUIET: &[&str] = &[
    "subagentStart",
    "subagentStop",
    "afterFileEdit",
    "stop",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "workspaceOpen",
];

/// Events at which the agent waits for a permission.
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

const NAME: &str = "cursor";

static FACTS: Facts = Facts {
    signs: Signs { project: &[".cursor"], home: &[".cursor"], programs: &["cursor", "cursor-agent"] },
    processes: Processes { programs: &["cursor-agent"], packages: &[], variables: &["CURSOR_AGENT"] },
    switches: &[".cursor/hooks.json", ".cursor/mcp.json"],
    marks: &[&[".cursor", "hooks"], &[".cursor", "mcp.json"]],
    ..Facts::of(NAME)
};

/// How it writes its servers down.
const SERVERS: Form = Form::of_most();

const LAYOUT: Layout = Layout { grouped: false, versioned: true };
const TOOL_EVENTS: [&str; 3] = ["preToolUse", "postToolUse", "postToolUseFailure"];
const SESSION_EVENTS: [&str; 4] = ["sessionStart", "sessionEnd", "preCompact", "beforeSubmitPrompt"];

impl CodingAgent for Cursor {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        let ok = |call: ToolCall| Ok(Event::Call(Box::new(call)));
        text(message, "hook_event_name")?;
        match event_name(message).as_str() {
            "preToolUse" => ok(tool_call(message, "preToolUse")?),
            "beforeShellExecution" => ok(shell_call(message, "beforeShellExecution")?),
            "beforeMCPExecution" => ok(mcp_call(message, "beforeMCPExecution")?),
            "beforeReadFile" => ok(read_call(message, "beforeReadFile")?),
            "postToolUse" => {
                let call = tool_call(message, "postToolUse")?;
                let output = unpacked(value(message, "tool_output")?);
                // A command that does not tell its exit code may still be running.
                let ended_well =
                    output.get("exitCode").map_or(call.tool != "Shell", |code| code.as_i64() == Some(0));
                Ok(Event::result(call, ended_well && is_no_error(&output), output))
            }
            "postToolUseFailure" => {
                let output = message.get("error_message").or_else(|| message.get("error")).cloned();
                Ok(Event::result(
                    tool_call(message, "postToolUseFailure")?,
                    false,
                    output.unwrap_or_default(),
                ))
            }
            // Does not say how the command ended, so it does not count as a success; `postToolUse` says it.
            "afterShellExecution" => {
                let call = shell_call(message, "afterShellExecution")?;
                Ok(Event::result(call, false, value(message, "output")?.clone()))
            }
            "afterMCPExecution" => {
                let output = unpacked(value(message, "result_json")?);
                let call = mcp_call(message, "afterMCPExecution")?;
                Ok(Event::result(call, is_no_error(&output), output))
            }
            "sessionStart" => session_event(message, Phase::Started),
            "preCompact" => session_event(message, Phase::Compacted),
            "sessionEnd" => session_event(message, Phase::Ended),
            // Hooks of Claude Code that it runs are told under the name they have there.
            "beforeSubmitPrompt" | "userPromptSubmit" => prompt(message, session(message)?),
            quiet_one if QUIET.contains(&quiet_one) => quiet(message),
            other
                if message.contains_key("command")
                    || other.starts_with("before")
                    || other.starts_with("pre") =>
            {
                Err(EventError(format!("the event `{other}` is not known and comes before something runs")))
            }
            other => unknown(message, other),
        }
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        let reason = reason_of(answer);
        match (moment(message), answer) {
            (_, Answer::Pass) => pass(message),
            (Moment::Before, Answer::Change { input, .. }) => change(message, input, reason),
            (Moment::Before, _) => deny(reason),
            (Moment::After, Answer::Replace { output, .. }) => show(output, reason),
            (Moment::After, _) => show(&Value::from(reason), reason),
            (Moment::Failed, _) => {
                let reason = cannot_hide(reason);
                HookReply {
                    stderr: complaint(&reason),
                    ..json_reply(&json!({ "additional_context": reason }))
                }
            }
            (Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        match message {
            Some(message) if moment(message) == Moment::After => {
                HookReply { stderr: complaint(line), ..show(&Value::from(sentence(line)), line) }
            }
            // Nothing on stdout: beside exit code 2 Cursor hands it to the model as it is.
            _ => refuse(line),
        }
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        let stdout = printed_object(reply);
        match (reply.code, stdout.get("permission").and_then(Value::as_str)) {
            (0, Some("allow")) => Reaction::to_input(stdout.get("updated_input")),
            // With `failClosed`, as it is installed.
            _ => Reaction::Blocks,
        }
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        json!({
            "conversation_id": session, "session_id": session, "hook_event_name": "preToolUse",
            "cursor_version": "0", "workspace_roots": [folder], "cwd": folder, "tool_name": "Shell",
            "tool_input": { "command": command }, "tool_use_id": "doctor-1",
        })
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".cursor/hooks.json", ".cursor/hooks.json")])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        add(text, &entries(command), LAYOUT, NAME)
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        remove(text, LAYOUT, NAME)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &["restart Cursor; its settings show the hooks under `Hooks`"],
            Scope::Project => &[
                "restart Cursor and trust this folder when it asks; its settings show the hooks under `Hooks`",
                "keep .cursor/hooks.json out of the repository: it names a path of this machine",
            ],
        }
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        Vec::from([(places.choose(".cursor/mcp.json", ".cursor/mcp.json"), &SERVERS)])
    }
}

fn tool_call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let tool = text(message, "tool_name")?;
    let distinct_by: &[&str] = match tool {
        "Shell" => &["command"],
        "Read" => &["file_path"],
        _ => &[],
    };
    let is_shown_twice = !distinct_by.is_empty() || tool.starts_with(MCP);
    let id = if is_shown_twice { None } else { optional_text(message, "tool_use_id")? };
    let input = object(message, "tool_input")?;
    let cwd = match optional_text(message, "cwd")? {
        None => optional_text(&input, "cwd").unwrap_or_default(),
        cwd => cwd,
    };
    Ok(ToolCall { id, cwd, distinct_by, ..call_of(message, tool, input, seen_at)? })
}

fn shell_call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let input = only("command", text(message, "command")?);
    Ok(ToolCall { distinct_by: &["command"], ..call_of(message, "Shell", input, seen_at)? })
}

fn read_call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let input = only("file_path", text(message, "file_path")?);
    Ok(ToolCall { distinct_by: &["file_path"], ..call_of(message, "Read", input, seen_at)? })
}

fn mcp_call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let tool = text(message, "tool_name")?;
    let tool = if tool.starts_with(MCP) { tool.to_owned() } else { format!("{MCP}{tool}") };
    call_of(message, &tool, object(message, "tool_input")?, seen_at)
}

fn call_of(
    message: &Message,
    tool: &str,
    input: Message,
    seen_at: &'static str,
) -> Result<ToolCall, EventError> {
    Ok(ToolCall {
        session: session(message)?,
        tool: tool.to_owned(),
        input,
        cwd: optional_text(message, "cwd")?,
        seen_at,
        ..ToolCall::default()
    })
}

fn only(key: &str, text: &str) -> Message {
    Map::from_iter([(key.to_owned(), Value::from(text))])
}

fn session(message: &Message) -> Result<String, EventError> {
    let key = if message.contains_key("conversation_id") { "conversation_id" } else { "session_id" };
    Ok(text(message, key)?.to_owned())
}

fn session_event(message: &Message, phase: Phase) -> Result<Event, EventError> {
    quiet(message)?;
    Ok(Event::Session { session: session(message)?, phase })
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
fn event_name(message: &Message) -> String {
    let mut letters = message.get("hook_event_name").and_then(Value::as_str).unwrap_or_default().chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// `After` is only where an output can be changed.
fn moment(message: &Message) -> Moment {
    let is_mcp =
        || message.get("tool_name").and_then(Value::as_str).is_some_and(|tool| tool.starts_with(MCP));
    match event_name(message).as_str() {
        "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" | "beforeReadFile" => Moment::Before,
        "afterMCPExecution" => Moment::After,
        "postToolUse" if is_mcp() => Moment::After,
        "postToolUse" | "postToolUseFailure" | "afterShellExecution" => Moment::Failed,
        _ => Moment::Other,
    }
}

fn pass(message: &Message) -> HookReply {
    if ASKS_PERMISSION.contains(&event_name(message).as_str()) {
        json_reply(&json!({ "permission": "allow" }))
    } else {
        json_reply(&json!({}))
    }
}

/// Only `preToolUse` takes another input. At the second event of the same call the input is the changed one already.
fn change(message: &Message, input: &Message, reason: &str) -> HookReply {
    let is_there = Cursor.decode(message).is_ok_and(|event| match event {
        Event::Call(call) => call.input == *input,
        _ => false,
    });
    if is_there {
        pass(message)
    } else if event_name(message) == "preToolUse" {
        json_reply(&json!({ "permission": "allow", "updated_input": input }))
    } else {
        deny(reason)
    }
}

/// The agent sees `user_message`, people see both.
fn deny(reason: &str) -> HookReply {
    json_reply(&json!({ "permission": "deny", "user_message": reason, "agent_message": reason }))
}

fn show(output: &Value, reason: &str) -> HookReply {
    let output = match output {
        Value::Object(result) if result.contains_key("content") => output.clone(),
        other => json!({ "content": [{ "type": "text", "text": sentence(&as_text(other)) }] }),
    };
    json_reply(&json!({ "updated_mcp_tool_output": output, "additional_context": sentence(reason) }))
}

fn entries(command: &HookCommand) -> Vec<Entry> {
    let strict = |event: &'static str| {
        let limit = if event == "preToolUse" { CALL_LIMIT } else { OTHER_LIMIT }.as_secs();
        let value: Value = json!({"command": command.line(), "timeout": limit, "failClosed": true});
        Entry { event, value }
    };
    let told = |event: &'static str| {
        let value = json!({"command": command.line(), "timeout": OTHER_LIMIT.as_secs()});
        Entry { event, value }
    };
    TOOL_EVENTS.into_iter().map(strict).chain(SESSION_EVENTS.into_iter().map(told)).collect()
}
