//! GitHub Copilot, on the command line and in the cloud: flat answers, and silence to let a call pass.
//!
//! It writes events in two spellings. In its own (`toolName`) most events carry no name and are known by their fields;
//! in the other (`tool_name`) tools have the names that Claude Code uses. Both are read under the latter, because the
//! hooks of `.claude/settings.json` run under Copilot too and see the same call. It gives calls no id. It blocks on
//! any failure except a timeout, which nothing printed here can help.
//!
//! Hooks go into `.github/hooks/lockgate.json` of a project and `~/.copilot/hooks/lockgate.json` of a user. A command
//! that takes too long lets the tool run, always, so the time is long. Hooks over HTTP fail open and are not used.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::shared::hooks_are_on;
use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, OTHER_LIMIT, Processes, Reaction, Signs, printed_object},
    edit::{Entry, Form, HookCommand, Layout, Mistake, Places, Scope, add, remove},
    event::{
        Answer, Ask, Event, EventError, HookReply, Message, Moment, Phase, ToolCall, cannot_hide, complaint,
        json_reply, object, optional_text, prompt, quiet, reason_of, refuse, sentence, silence, text,
        unknown, value,
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
    Prompt,
    Quiet,
    Unknown(&'e str),
}

const NAME: &str = "copilot";

static FACTS: Facts = Facts {
    signs: Signs {
        project: &[".github/hooks", ".github/copilot-instructions.md"],
        home: &[".copilot"],
        programs: &["copilot"],
    },
    processes: Processes {
        programs: &["copilot"],
        packages: &["/@github/copilot/"],
        variables: &["COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"],
    },
    session_variable: Some("COPILOT_AGENT_SESSION_ID"),
    switches: &[".github/hooks", ".copilot/hooks", ".copilot/settings.json", ".copilot/mcp-config.json"],
    marks: &[&[".github/hooks"], &[".copilot", "hooks"], &["mcp-config.json"]],
    limits: &["a hook that is too slow lets the tool run; Lockgate answers long before"],
    ..Facts::of(NAME)
};

/// How it writes its servers down.
pub(crate) const SERVERS: Form = Form { kinds: Some(("\"http\"", "\"local\"")), ..Form::of_most() };

const LAYOUT: Layout = Layout { grouped: false, versioned: true };
const EVENTS: [&str; 5] = ["preToolUse", "postToolUse", "sessionStart", "sessionEnd", "userPromptSubmitted"];

/// The fields of a prompt in its own spelling.
const PROMPT_FIELDS: [&str; 5] = ["sessionId", "timestamp", "cwd", "prompt", "transcriptPath"];

impl CodingAgent for Copilot {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn asking(&self, _message: &Message) -> Ask {
        Ask::Host
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        match kind(message)? {
            Kind::Before(seen_at) => Ok(Event::Call(Box::new(call(message, seen_at)?))),
            Kind::After(seen_at) => {
                let call = call(message, seen_at)?;
                let output = value(message, spelling(message, "toolResult", "tool_result"))?.clone();
                let ok = says_success(&call.tool, &output);
                Ok(Event::result(call, ok, output))
            }
            Kind::Failed(seen_at) => {
                let output = value(message, "error")?.clone();
                Ok(Event::result(call(message, seen_at)?, false, output))
            }
            // Comes only after `preToolUse` let the same call pass, with the input as we may have changed it:
            // telling it would count the call twice. Silence leaves the permission to Copilot.
            Kind::Permission => Ok(Event::Other),
            Kind::Session(phase) => {
                quiet(message)?;
                Ok(Event::Session { session: session(message)?, phase })
            }
            Kind::Prompt => prompt(message, session(message)?),
            Kind::Quiet => quiet(message),
            Kind::Unknown(name) => unknown(message, name),
        }
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        let reason = reason_of(answer);
        match (moment(message), answer) {
            (_, Answer::Pass) => silence(),
            // Without a decision the agent asks for permission as it would have.
            (Moment::Before, Answer::Change { input, .. }) => json_reply(&json!({ "modifiedArgs": input })),
            (Moment::Before, Answer::Ask { .. }) => decide("ask", reason),
            (Moment::Before, _) => decide("deny", reason),
            (Moment::After, Answer::Replace { output, .. }) => match shown_text(output) {
                Some(text) => show(text, reason),
                None => show(reason, reason),
            },
            (Moment::After, _) => show(reason, reason),
            (Moment::Failed, _) => json_reply(&json!({ "additionalContext": cannot_hide(reason) })),
            (Moment::Other, _) if kind(message) == Ok(Kind::Permission) => {
                json_reply(&json!({ "behavior": "deny", "message": reason }))
            }
            (Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        match message.map(moment) {
            // After the tool ran, exit code 2 is only a warning and the output is shown.
            Some(Moment::After) => HookReply { stderr: complaint(line), ..show(line, line) },
            // Exit code 2 refuses as well, but keeps the reason from the agent.
            Some(Moment::Before) => {
                let complaint = complaint(line);
                HookReply { stderr: complaint.clone(), ..decide("deny", complaint.trim_end()) }
            }
            _ => refuse(line),
        }
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        let stdout = printed_object(reply);
        match (reply.code, stdout.get("permissionDecision").and_then(Value::as_str)) {
            (0, Some("deny")) => Reaction::Blocks,
            (0, Some("ask")) => Reaction::Asks,
            (0, Some("allow")) => Reaction::SkipsItsPrompt,
            (0, _) => Reaction::to_input(stdout.get("modifiedArgs")),
            _ => Reaction::Blocks,
        }
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        json!({
            "sessionId": session, "timestamp": 0, "cwd": folder, "toolName": "bash",
            "toolArgs": { "command": command },
        })
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".github/hooks/lockgate.json", ".copilot/hooks/lockgate.json")])
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
            Scope::User => &["start Copilot CLI anew"],
            Scope::Project => &[
                "start Copilot CLI anew",
                "keep .github/hooks/lockgate.json out of the repository, or put `lockgate` at the same path wherever the repository is used: where it is missing, every tool is blocked",
            ],
        }
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        match places.scope {
            Scope::Project => Vec::new(),
            Scope::User => Vec::from([(places.home.join(".copilot/mcp-config.json"), &SERVERS)]),
        }
    }
}

fn kind(message: &Message) -> Result<Kind<'_>, EventError> {
    for key in ["hook_event_name", "hookEventName", "hookName"] {
        if message.contains_key(key) {
            return Ok(by_name(text(message, key)?, message));
        }
    }
    Ok(by_fields(message))
}

fn by_name<'e>(name: &'e str, message: &Message) -> Kind<'e> {
    match name {
        "PreToolUse" => Kind::Before("PreToolUse"),
        "preToolUse" => Kind::Before("preToolUse"),
        "PostToolUse" => Kind::After("PostToolUse"),
        "postToolUse" => Kind::After("postToolUse"),
        "PostToolUseFailure" => Kind::Failed("PostToolUseFailure"),
        "postToolUseFailure" => Kind::Failed("postToolUseFailure"),
        "PermissionRequest" | "permissionRequest" => Kind::Permission,
        "SessionStart" | "sessionStart" => Kind::Session(started(message)),
        "SessionEnd" | "sessionEnd" => Kind::Session(Phase::Ended),
        "PreCompact" | "preCompact" => Kind::Session(Phase::Compacted),
        "UserPromptSubmit" | "userPromptSubmitted" => Kind::Prompt,
        "userPromptTransformed"
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
fn by_fields<'e>(message: &Message) -> Kind<'e> {
    let has = |key| message.get(key).is_some_and(|value: &Value| !value.is_null());
    if message.contains_key("toolName") {
        return match (has("toolResult"), has("error")) {
            (true, _) => Kind::After("postToolUse"),
            (false, true) => Kind::Failed("postToolUseFailure"),
            (false, false) => Kind::Before("preToolUse"),
        };
    }
    if has("prompt") && message.keys().all(|key| PROMPT_FIELDS.contains(&key.as_str())) {
        Kind::Prompt
    } else if has("source") {
        Kind::Session(started(message))
    } else if has("reason") {
        Kind::Session(Phase::Ended)
    } else if has("trigger") {
        Kind::Session(Phase::Compacted)
    } else {
        Kind::Unknown("without a name")
    }
}

fn started(message: &Message) -> Phase {
    match message.get("source").and_then(Value::as_str) {
        Some("resume") => Phase::Resumed,
        _ => Phase::Started,
    }
}

fn spelling<'k>(message: &Message, own: &'k str, other: &'k str) -> &'k str {
    if message.contains_key(own) { own } else { other }
}

fn session(message: &Message) -> Result<String, EventError> {
    Ok(text(message, spelling(message, "sessionId", "session_id"))?.to_owned())
}

fn call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    let tool = text(message, spelling(message, "toolName", "tool_name"))?;
    let other_name = NAMES.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, other)| other);
    Ok(ToolCall {
        session: session(message)?,
        id: None,
        tool: other_name.to_owned(),
        input: object(message, spelling(message, "toolArgs", "tool_input"))?,
        cwd: optional_text(message, "cwd")?,
        agent: None,
        seen_at,
        distinct_by: &[],
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

fn moment(message: &Message) -> Moment {
    match kind(message) {
        Ok(Kind::Before(_)) => Moment::Before,
        Ok(Kind::After(_)) => Moment::After,
        Ok(Kind::Failed(_)) => Moment::Failed,
        _ => Moment::Other,
    }
}

fn decide(decision: &str, reason: &str) -> HookReply {
    json_reply(&json!({ "permissionDecision": decision, "permissionDecisionReason": reason }))
}

fn show(output: &str, reason: &str) -> HookReply {
    json_reply(&json!({
        "modifiedResult": { "resultType": "success", "textResultForLlm": sentence(output) },
        "additionalContext": sentence(reason),
    }))
}

fn entries(command: &HookCommand) -> Vec<Entry> {
    let entry = |event| {
        let limit = if event == "preToolUse" { CALL_LIMIT } else { OTHER_LIMIT }.as_secs();
        let value = json!({
            "type": "command",
            "bash": command.line(),
            "powershell": command.powershell_line(),
            "timeoutSec": limit,
        });
        Entry { event, value }
    };
    EVENTS.into_iter().map(entry).collect()
}
