//! Claude Code: one JSON object on stdout, or nothing to leave its own permission flow as it is.
//!
//! A rewritten input is given without a `permissionDecision`: it is taken, and the prompt is still shown. An output is
//! replaced in the tool's own shape only; anything else is dropped without a word. `allow` is never said.
//!
//! Hooks go into `.claude/settings.local.json` of a project and `~/.claude/settings.json` of a user. Not into the
//! project's `settings.json`: that one is shared, and a path of this machine would not fit others; and other agents
//! read it as if it were their own. Without `onFailure` a hook that cannot be started, fails or takes too long lets the
//! tool run. Hooks without a shell (`args`) leave nothing to quoting.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    copilot::Copilot,
    cursor::Cursor,
    shared::{call, hooks_are_on, session, shell_trial},
};
use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, OTHER_LIMIT, Processes, Reaction, Signs, printed_object},
    edit::{Entry, Form, HookCommand, Layout, Mistake, Places, Scope, add, remove},
    event::{
        Answer, Ask, Event, EventError, HookReply, Message, Moment, Phase, cannot_hide, complaint, phase_of,
        prompt, quiet, reason_of, refuse, same_shape, silence, specific_reply, text, unknown, value,
        withheld,
    },
};

/// Claude Code, and other agents that run its hooks.
pub(crate) struct ClaudeCode;

/// Events that carry no call. `PostToolBatch` repeats calls whose results were told one by one.
const QUIET: &[&str] = &[
    "Notification",
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

const NAME: &str = "claude-code";

static FACTS: Facts = Facts {
    signs: Signs { project: &[".claude"], home: &[".claude"], programs: &["claude"] },
    processes: Processes {
        programs: &["claude"],
        packages: &["/claude-code/"],
        variables: &[
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_MESSAGING_TOKEN",
        ],
    },
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    switches: &[".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".claude.json"],
    marks: &[&[".claude", "settings"], &[".mcp.json"], &[".claude.json"]],
    switch_words: &["disableAllHooks", "allowManagedHooksOnly"],
    ..Facts::of(NAME)
};

/// How its own file of servers is written, which lists projects too; `.mcp.json` has the form of most clients.
pub(crate) const SERVERS: Form =
    Form { places: &[&["mcpServers"], &["projects", "*", "mcpServers"]], ..Form::of_most() };
const SERVERS_OF_PROJECT: Form = Form::of_most();

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const TOOL_EVENTS: [&str; 3] = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
const SESSION_EVENTS: [&str; 4] = ["SessionStart", "SessionEnd", "PreCompact", "UserPromptSubmit"];

impl CodingAgent for ClaudeCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn sender(&self, message: &Message) -> &'static str {
        guest(message).map_or(NAME, |guest| guest.facts().name)
    }

    fn asking(&self, message: &Message) -> Ask {
        guest(message).map_or(Ask::Host, |guest| guest.asking(message))
    }

    fn can_defer(&self, message: &Message) -> bool {
        guest(message).is_none()
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        match guest(message) {
            Some(guest) => guest.decode(message).map(seen_in_claude_settings),
            None => decode(message),
        }
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        match guest(message) {
            Some(guest) => guest.encode(message, answer),
            None => encode(message, answer),
        }
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        match message {
            Some(message) => match guest(message) {
                Some(guest) => guest.fault(Some(message), line),
                None => fault(message, line),
            },
            None => refuse(line),
        }
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        let stdout = printed_object(reply);
        let inner = stdout.get("hookSpecificOutput").unwrap_or(&Value::Null);
        match (reply.code, inner.get("permissionDecision").and_then(Value::as_str)) {
            (2, _) | (0, Some("deny")) => Reaction::Blocks,
            (0, Some("ask")) => Reaction::Asks,
            (0, Some("allow")) => Reaction::SkipsItsPrompt,
            (0, None) => Reaction::to_input(inner.get("updatedInput")),
            _ => Reaction::AsWithoutUs,
        }
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        shell_trial("PreToolUse", session, command, folder)
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.environment.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        match (places.scope, folder) {
            (Scope::User, Some(folder)) => Vec::from([folder.join("settings.json")]),
            _ => Vec::from([places.choose(".claude/settings.local.json", ".claude/settings.json")]),
        }
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

    fn switch_files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let own =
            [".claude/settings.json", ".claude/settings.local.json"].map(|file| places.project.join(file));
        let all = own.into_iter().chain([places.home.join(".claude/settings.json")]);
        all.filter(|file| !self.files(places).contains(file)).collect()
    }

    fn leaves_on(&self, text: &str) -> Result<(), Mistake> {
        hooks_are_on(text)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &["restart Claude Code; `/hooks` shows the hooks"],
            Scope::Project => &[
                "restart Claude Code; `/hooks` shows the hooks",
                "keep .claude/settings.local.json out of the repository: it names a path of this machine",
            ],
        }
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        Vec::from([match places.scope {
            Scope::Project => (places.project.join(".mcp.json"), &SERVERS_OF_PROJECT),
            Scope::User => (places.named_by("CLAUDE_CONFIG_DIR", "").join(".claude.json"), &SERVERS),
        }])
    }
}

/// Another host that runs the hooks of `.claude/settings.json` and sent this event.
fn guest(message: &Message) -> Option<&'static dyn CodingAgent> {
    let has = |key| message.contains_key(key);
    if has("cursor_version") {
        return Some(&Cursor);
    }
    // Copilot writes some events in its own spelling even for hooks in the spelling of Claude Code.
    let own_spelling = has("sessionId") && !has("session_id");
    let borrowed = has("timestamp") && !has("tool_use_id") && !has("transcript_path");
    (own_spelling || borrowed).then_some(&Copilot as &dyn CodingAgent)
}

fn seen_in_claude_settings(mut event: Event) -> Event {
    match &mut event {
        Event::Call(call) => call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Event::Result(result) => result.call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Event::Refused(call) => call.seen_at = SEEN_IN_CLAUDE_SETTINGS,
        Event::Session { .. } | Event::Prompt(_) | Event::Other => {}
    }
    event
}

fn decode(message: &Message) -> Result<Event, EventError> {
    let name = text(message, "hook_event_name")?;
    match name {
        "PreToolUse" => Ok(Event::Call(Box::new(call(message, "PreToolUse")?))),
        "PostToolUse" => {
            let output = value(message, "tool_response")?.clone();
            Ok(Event::result(call(message, "PostToolUse")?, has_ended_well(&output), output))
        }
        "PostToolUseFailure" => {
            let output = value(message, "error")?.clone();
            Ok(Event::result(call(message, "PostToolUseFailure")?, false, output))
        }
        "PermissionDenied" => Ok(Event::Refused(Box::new(call(message, "PermissionDenied")?))),
        // Comes only after `PreToolUse` let the same call pass, without the call's id and with the input as we may
        // have changed it: telling it would count the call twice. Silence leaves the prompt to the human.
        "PermissionRequest" => Ok(Event::Other),
        "SessionStart" => session(message, phase_of(message)),
        "PreCompact" | "PostCompact" => session(message, Phase::Compacted),
        "SessionEnd" => session(message, Phase::Ended),
        "UserPromptSubmit" => prompt(message, text(message, "session_id")?.to_owned()),
        "PostToolBatch" => {
            let rest = message.iter().filter(|(key, _)| *key != "tool_calls");
            quiet(&rest.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        quiet_one if QUIET.contains(&quiet_one) => quiet(message),
        other => unknown(message, other),
    }
}

/// A command that was interrupted or goes on in the background has not succeeded.
fn has_ended_well(output: &Value) -> bool {
    let says = |key| output.get(key).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    !says("interrupted") && !says("backgroundTaskId")
}

fn moment(message: &Message) -> Moment {
    match message.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") => Moment::Before,
        Some("PostToolUse") => Moment::After,
        Some("PostToolUseFailure") => Moment::Failed,
        _ => Moment::Other,
    }
}

fn encode(message: &Message, answer: &Answer) -> HookReply {
    let reason = reason_of(answer);
    match (moment(message), answer) {
        (_, Answer::Pass) => silence(),
        (Moment::Before, Answer::Change { input, .. }) => specific_reply(
            "PreToolUse",
            [("updatedInput", Value::Object(input.clone())), ("additionalContext", Value::from(reason))],
        ),
        (Moment::Before, Answer::Ask { .. }) => decide("ask", reason),
        (Moment::Before, Answer::Defer { .. }) => decide("defer", reason),
        (Moment::Before, _) => decide("deny", reason),
        (Moment::After, Answer::Replace { output, .. }) => {
            let event = message.get("tool_response").unwrap_or(&Value::Null);
            if same_shape(event, output) {
                show(output.clone(), reason)
            } else {
                show(withheld(event, reason), reason)
            }
        }
        (Moment::After, _) => {
            show(withheld(message.get("tool_response").unwrap_or(&Value::Null), reason), reason)
        }
        (Moment::Failed, _) => {
            specific_reply("PostToolUseFailure", [("additionalContext", Value::from(cannot_hide(reason)))])
        }
        (Moment::Other, _) => refuse(reason),
    }
}

fn fault(message: &Message, line: &str) -> HookReply {
    match moment(message) {
        // After the tool ran, exit code 2 shows its output beside our complaint.
        Moment::After if message.contains_key("tool_response") => {
            let shown = encode(message, &Answer::Withhold { reason: line.to_owned() });
            HookReply { stderr: complaint(line), ..shown }
        }
        _ => refuse(line),
    }
}

fn decide(decision: &str, reason: &str) -> HookReply {
    specific_reply(
        "PreToolUse",
        [("permissionDecision", Value::from(decision)), ("permissionDecisionReason", Value::from(reason))],
    )
}

fn show(output: Value, reason: &str) -> HookReply {
    specific_reply("PostToolUse", [("updatedToolOutput", output), ("additionalContext", Value::from(reason))])
}

fn entries(command: &HookCommand) -> Vec<Entry> {
    let (program, arguments) = (command.program(), command.arguments());
    let strict = |event| {
        let limit = if event == "PreToolUse" { CALL_LIMIT } else { OTHER_LIMIT }.as_secs();
        let handler = json!({
            "type": "command", "command": program, "args": arguments, "timeout": limit, "onFailure": "block",
        });
        Entry { event, value: json!({"matcher": "*", "hooks": [handler]}) }
    };
    let told = |event| {
        let limit = OTHER_LIMIT.as_secs();
        let handler = json!({"type": "command", "command": program, "args": arguments, "timeout": limit});
        Entry { event, value: json!({"hooks": [handler]}) }
    };
    TOOL_EVENTS.into_iter().map(strict).chain(SESSION_EVENTS.into_iter().map(told)).collect()
}
