//! Gemini CLI: a flat decision on stdout, and silence to let a call pass.
//!
//! Its `ask` hangs where no human sits at the terminal, so it is never said. `allow` beside a rewritten input waives no
//! confirmation: Gemini looks for `deny`, `block` and `ask` only. It merges a rewritten input into the old one, so
//! a field cannot be taken away. It gives calls no id.
//!
//! Hooks go into `.gemini/settings.json` of a project or of a user. Gemini has no strict form: a hook that takes too long
//! lets the tool run. Its times are in milliseconds. No matcher is every tool.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::shared::{anonymous_call, session};
use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, OTHER_LIMIT, Processes, Reaction, Signs},
    edit::{Entry, Form, HookCommand, Layout, Mistake, Places, Scope, add, remove, whole},
    event::{
        Answer, Event, EventError, HookReply, Message, Moment, Phase, as_text, complaint, json_reply, object,
        phase_of, prompt, quiet, reason_of, refuse, sentence, silence, text, unknown, value,
    },
};

/// Google's Gemini CLI.
pub(crate) struct GeminiCli;

/// Events that carry no call.
const QUIET: &[&str] = &["AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"];

/// The tool that runs commands.
const SHELL: &str = "run_shell_command";

const NAME: &str = "gemini-cli";

static FACTS: Facts = Facts {
    signs: Signs { project: &[".gemini"], home: &[".gemini"], programs: &["gemini"] },
    processes: Processes { programs: &["gemini"], packages: &["/gemini-cli/"], variables: &["GEMINI_CLI"] },
    switches: &[".gemini/settings.json", ".gemini/policies"],
    marks: &[&[".gemini", "settings"]],
    limits: &["a hook that is killed or too slow lets the tool run; Lockgate answers long before"],
    ..Facts::of(NAME)
};

/// How it writes its servers down.
pub(crate) const SERVERS: Form = Form { address: Some("httpUrl"), kinds: None, ..Form::of_most() };

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const EVENTS: [&str; 6] =
    ["BeforeTool", "AfterTool", "SessionStart", "SessionEnd", "PreCompress", "BeforeAgent"];

impl CodingAgent for GeminiCli {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        match text(message, "hook_event_name")? {
            "BeforeTool" => Ok(Event::Call(Box::new(anonymous_call(message, "BeforeTool")?))),
            "AfterTool" => {
                let call = anonymous_call(message, "AfterTool")?;
                let output = value(message, "tool_response")?.clone();
                let ok = says_success(&call.tool, &output);
                Ok(Event::result(call, ok, output))
            }
            "SessionStart" => session(message, phase_of(message)),
            "PreCompress" => session(message, Phase::Compacted),
            "SessionEnd" => session(message, Phase::Ended),
            "BeforeAgent" => prompt(message, text(message, "session_id")?.to_owned()),
            quiet_one if QUIET.contains(&quiet_one) => quiet(message),
            other => unknown(message, other),
        }
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        let reason = reason_of(answer);
        match (moment(message), answer) {
            (_, Answer::Pass) => silence(),
            (Moment::Before, Answer::Change { input, .. }) if keeps_every_field(message, input) => {
                json_reply(&json!({
                    "decision": "allow",
                    "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": input },
                }))
            }
            (Moment::After, Answer::Replace { output, .. }) => {
                deny(&as_text(output.get("llmContent").unwrap_or(output)))
            }
            (Moment::Before | Moment::After, _) => deny(reason),
            (Moment::Failed | Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        match message.map(moment) {
            Some(Moment::After) => HookReply { stderr: complaint(line), ..deny(line) },
            _ => refuse(line),
        }
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        let printed = if reply.stdout.trim().is_empty() { reply.stderr.trim() } else { reply.stdout.trim() };
        match serde_json::from_str::<Value>(printed) {
            Ok(object) if object.is_object() => match object.get("decision").and_then(Value::as_str) {
                Some("deny" | "block") => Reaction::Blocks,
                Some("ask") => Reaction::Hangs,
                _ => Reaction::to_input(object.pointer("/hookSpecificOutput/tool_input")),
            },
            Err(_) if !printed.is_empty() && reply.code > 1 => Reaction::Blocks,
            _ => Reaction::AsWithoutUs,
        }
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        json!({
            "session_id": session, "transcript_path": "/dev/null", "cwd": folder, "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": SHELL, "tool_input": { "command": command },
        })
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".gemini/settings.json", ".gemini/settings.json")])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        if let Some(text) = text {
            hooks_are_on(text)?;
        }
        add(text, &entries(command), LAYOUT, NAME)
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        remove(text, LAYOUT, NAME)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &["restart Gemini CLI; `/hooks list` shows the hooks"],
            Scope::Project => &[
                "restart Gemini CLI and trust this folder when it asks; `/hooks list` shows the hooks",
                "keep .gemini/settings.json out of the repository: it names a path of this machine",
            ],
        }
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        Vec::from([(places.choose(".gemini/settings.json", ".gemini/settings.json"), &SERVERS)])
    }
}

/// A failed command is not an error to Gemini: it writes `Exit Code:` below the output, and nothing where that was 0.
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

fn moment(message: &Message) -> Moment {
    match message.get("hook_event_name").and_then(Value::as_str) {
        Some("BeforeTool") => Moment::Before,
        Some("AfterTool") => Moment::After,
        _ => Moment::Other,
    }
}

fn keeps_every_field(message: &Message, input: &Message) -> bool {
    object(message, "tool_input").is_ok_and(|event| event.keys().all(|key| input.contains_key(key)))
}

fn deny(reason: &str) -> HookReply {
    json_reply(&json!({ "decision": "deny", "reason": sentence(reason) }))
}

/// Hooks that a file turns off would be a gate that is not there.
fn hooks_are_on(text: &str) -> Result<(), Mistake> {
    let root = whole(text)?;
    let config = root.get("hooksConfig");
    let line = |word: &str| text.lines().position(|line| line.contains(word)).map_or(1, |at| at + 1);
    if config.and_then(|config| config.get("enabled")).is_some_and(|on| *on != Value::Bool(true)) {
        return Err(Mistake::new(
            line("enabled"),
            "`hooksConfig.enabled` turns all hooks off",
            "take it out",
        ));
    }
    let disabled = config.and_then(|config| config.get("disabled")).and_then(Value::as_array);
    let is_named = |name: &Value| name.as_str().is_some_and(|name| name.contains("lockgate"));
    match disabled.is_some_and(|names| names.iter().any(is_named)) {
        true => Err(Mistake::new(
            line("disabled"),
            "`hooksConfig.disabled` turns Lockgate off",
            "take the name out of it",
        )),
        false => Ok(()),
    }
}

fn entries(command: &HookCommand) -> Vec<Entry> {
    let entry = |event| {
        let limit = if event == "BeforeTool" { CALL_LIMIT } else { OTHER_LIMIT };
        let limit_ms = limit.as_secs() * 1000;
        let handler = json!({"type": "command", "name": "lockgate", "command": command.blocking_line(), "timeout": limit_ms});
        Entry { event, value: json!({"hooks": [handler]}) }
    };
    EVENTS.into_iter().map(entry).collect()
}
