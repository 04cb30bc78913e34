//! Codex: the form of Claude Code, read more strictly, and silence to let a call pass.
//!
//! An unknown field or an empty reason makes Codex drop the whole answer and run the tool. It has no `ask`, and it
//! takes a rewritten input only beside `allow`; that `allow` waives none of its own approvals. It does not tell how a
//! command ended, so no command is a success here.
//!
//! Hooks go into `.codex/hooks.json` of a project and `hooks.json` in `$CODEX_HOME` (`~/.codex`) of a user. Codex has no
//! strict form: a hook that fails or takes too long lets the tool run. It runs only hooks that a human has trusted, and
//! trust is lost with every change of the command line, so nothing here may depend on the release. No matcher is every tool.
//!
//! What is typed into a running program (`write_stdin`) it shows to no hook. So `config.toml` beside it says that
//! programs get no terminal; without one Codex closes their standard input.

use std::path::{Path, PathBuf};

use lockgate::engine::call::plain_mistake;
use serde_json::{Value, json};

use super::shared::{call, session, shell_trial};
use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, OTHER_LIMIT, Processes, Reaction, Signs, printed_object},
    edit::{Entry, Form, HookCommand, Layout, Mistake, Places, Scope, Syntax, add, line_end, remove},
    event::{
        Answer, Event, EventError, HookReply, Message, Moment, Phase, as_text, complaint, json_reply,
        phase_of, prompt, quiet, reason_of, refuse, sentence, silence, specific_reply, text, unknown, value,
    },
};

/// OpenAI Codex.
pub(crate) struct Codex;

/// Events that carry no call.
const QUIET: &[&str] = &["SubagentStart", "SubagentStop", "Stop"];

const NAME: &str = "codex";

static FACTS: Facts = Facts {
    signs: Signs { project: &[".codex"], home: &[".codex"], programs: &["codex"] },
    processes: Processes {
        programs: &["codex"],
        packages: &["/@openai/codex/"],
        variables: &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"],
    },
    switches: &[".codex/hooks.json", ".codex/config.toml"],
    marks: &[&[".codex", "hooks"], &[".codex", "config"]],
    switch_words: &["--dangerously-bypass-hook-trust"],
    limits: &[
        "whether it was trusted is known to Codex alone: look at `/hooks`",
        "a hook that is killed or too slow lets the tool run; Lockgate answers long before",
    ],
    ..Facts::of(NAME)
};

/// How it writes its servers down.
pub(crate) const SERVERS: Form =
    Form { syntax: Syntax::Toml, places: &[&["mcp_servers"]], kinds: None, ..Form::of_most() };

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const EVENTS: [&str; 6] =
    ["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "PreCompact", "UserPromptSubmit"];

impl CodingAgent for Codex {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        match text(message, "hook_event_name")? {
            "PreToolUse" => Ok(Event::Call(Box::new(call(message, "PreToolUse")?))),
            "PostToolUse" => {
                let call = call(message, "PostToolUse")?;
                let output = value(message, "tool_response")?.clone();
                let ok = says_success(&call.tool, &output);
                Ok(Event::result(call, ok, output))
            }
            // Comes after `PreToolUse` let the same call pass, without its id: telling it would count the call twice.
            "PermissionRequest" => Ok(Event::Other),
            "SessionStart" => session(message, phase_of(message)),
            "PreCompact" | "PostCompact" => session(message, Phase::Compacted),
            "SessionEnd" => session(message, Phase::Ended),
            "UserPromptSubmit" => prompt(message, text(message, "session_id")?.to_owned()),
            quiet_one if QUIET.contains(&quiet_one) => quiet(message),
            other => unknown(message, other),
        }
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        let reason = reason_of(answer);
        match (moment(message), answer) {
            (_, Answer::Pass) => silence(),
            (Moment::Before, Answer::Change { input, .. }) => specific_reply(
                "PreToolUse",
                [
                    ("permissionDecision", Value::from("allow")),
                    ("updatedInput", Value::Object(input.clone())),
                ],
            ),
            (Moment::Before, _) => specific_reply(
                "PreToolUse",
                [
                    ("permissionDecision", Value::from("deny")),
                    ("permissionDecisionReason", Value::from(reason)),
                ],
            ),
            (Moment::After, Answer::Replace { output, .. }) => show(&as_text(output)),
            (Moment::After, _) => show(reason),
            (Moment::Failed | Moment::Other, _) => refuse(reason),
        }
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        match message.map(moment) {
            Some(Moment::After) => HookReply { stderr: complaint(line), ..show(line) },
            _ => refuse(line),
        }
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        let stdout = printed_object(reply);
        let inner = stdout.get("hookSpecificOutput").cloned().unwrap_or_default();
        let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::trim);
        let known = ["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"];
        let is_read = has_only(&stdout, &["hookSpecificOutput"]) && has_only(&inner, &known);
        let has_reason = text("permissionDecisionReason").is_some_and(|reason| !reason.is_empty());
        match (reply.code, text("permissionDecision")) {
            (2, _) if !reply.stderr.trim().is_empty() => Reaction::Blocks,
            (0, Some("deny")) if is_read && has_reason => Reaction::Blocks,
            (0, Some("allow")) if is_read => Reaction::to_input(inner.get("updatedInput")),
            _ => Reaction::AsWithoutUs,
        }
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        shell_trial("PreToolUse", session, command, folder)
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.environment.variable("CODEX_HOME").map(PathBuf::from);
        let folder = match (places.scope, folder) {
            (Scope::User, Some(folder)) => folder,
            _ => places.choose(".codex", ".codex"),
        };
        Vec::from([folder.join("hooks.json"), folder.join("config.toml")])
    }

    fn installed(&self, file: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        match is_config(file) {
            true => without_terminals(text.unwrap_or_default()),
            false => add(text, &entries(command), LAYOUT, NAME),
        }
    }

    fn removed(&self, file: &Path, text: &str) -> Result<Option<String>, Mistake> {
        match is_config(file) {
            true => Ok(with_terminals(text)),
            false => remove(text, LAYOUT, NAME),
        }
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &[TRUST],
            Scope::Project => {
                &[TRUST, "keep .codex/hooks.json out of the repository: it names a path of this machine"]
            }
        }
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        let folder = match places.scope {
            Scope::Project => places.project.join(".codex"),
            Scope::User => places.named_by("CODEX_HOME", ".codex"),
        };
        Vec::from([(folder.join("config.toml"), &SERVERS)])
    }
}

/// The result of a command is its bare output, the same for exit code 0 and for any other: only what an MCP server
/// or the patch tool says of itself can be believed.
fn says_success(tool: &str, output: &Value) -> bool {
    match output {
        Value::Object(result) => {
            tool.starts_with("mcp__") && result.get("isError") != Some(&Value::Bool(true))
        }
        Value::String(text) => tool == "apply_patch" && text.starts_with("Success."),
        _ => false,
    }
}

fn moment(message: &Message) -> Moment {
    match message.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") => Moment::Before,
        Some("PostToolUse") => Moment::After,
        _ => Moment::Other,
    }
}

/// The reason of a block is what the agent sees instead of the output.
fn show(output: &str) -> HookReply {
    json_reply(&json!({ "decision": "block", "reason": sentence(output) }))
}

/// Whether an object has no other fields than these.
pub(crate) fn has_only(object: &Value, known: &[&str]) -> bool {
    object.as_object().is_some_and(|object| object.keys().all(|key| known.contains(&key.as_str())))
}

const TRUST: &str = "start `codex`, open `/hooks` and trust the hooks of Lockgate: until then Codex does not run \
                     them, and every tool runs unguarded";

fn entries(command: &HookCommand) -> Vec<Entry> {
    let entry = |event| {
        let limit = if event == "PreToolUse" { CALL_LIMIT } else { OTHER_LIMIT }.as_secs();
        let handler = json!({"type": "command", "command": command.blocking_line(), "timeout": limit});
        Entry { event, value: json!({"hooks": [handler]}) }
    };
    EVENTS.into_iter().map(entry).collect()
}

fn is_config(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

/// The table, where there was none.
const HEADER: &str = "[features] # lockgate";

/// The switch. It is known again by its whole text.
const SWITCH: &str =
    "unified_exec_tty = false # lockgate: hooks are not shown what is typed into a running program";

fn without_terminals(text: &str) -> Result<String, Mistake> {
    match terminals(text)? {
        Some(false) => return Ok(text.to_owned()),
        Some(true) => {
            let at = text.lines().position(|line| line.contains("unified_exec_tty"));
            let reason = "it gives programs a terminal, and no hook is shown what is typed into one";
            return Err(Mistake::new(at.map_or(0, |at| at + 1), reason, "remove `unified_exec_tty = true`"));
        }
        None => {}
    }
    let end = line_end(text);
    let mut features = 0;
    let has_features = text.split_inclusive('\n').any(|line| {
        features += line.len();
        is_features(line)
    });
    let edited = match text.split_at_checked(features) {
        Some((before, behind)) if has_features && before.ends_with('\n') => {
            format!("{before}{SWITCH}{end}{behind}")
        }
        _ if has_features => format!("{text}{end}{SWITCH}"),
        _ if text.is_empty() => format!("{HEADER}{end}{SWITCH}{end}"),
        _ if text.ends_with('\n') => format!("{text}{end}{HEADER}{end}{SWITCH}{end}"),
        // Without an end of the last line, as it was.
        _ => format!("{text}{end}{end}{HEADER}{end}{SWITCH}"),
    };
    match terminals(&edited) {
        Ok(Some(false)) => Ok(edited),
        _ => Err(Mistake::new(
            0,
            "`features` is written in a way that is not edited here",
            "add `unified_exec_tty = false` to it and try again",
        )),
    }
}

fn is_features(line: &str) -> bool {
    line.split('#').next().unwrap_or_default().trim() == "[features]"
}

/// What the file says about terminals, if anything.
fn terminals(text: &str) -> Result<Option<bool>, Mistake> {
    let mistake = |error: toml::de::Error| {
        let at = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let reason = format!("it is not TOML: {}", plain_mistake(error.message()));
        Mistake::new(at.matches('\n').count() + 1, reason, "mend it first")
    };
    let root: toml::Table = toml::from_str(text).map_err(mistake)?;
    Ok(root.get("features").and_then(|features| features.get("unified_exec_tty")?.as_bool()))
}

/// The text without what we wrote; none if nothing else was in there.
fn with_terminals(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let Some(at) = lines.iter().position(|line| bare(line) == SWITCH) else { return Some(text.to_owned()) };
    // A line without an end was put behind one that had none.
    let has_end = lines.remove(at).ends_with('\n');
    let is_header = at > 0 && lines.get(at - 1).is_some_and(|line| bare(line) == HEADER);
    // A user may have put another switch under it.
    let following = lines.get(at..).unwrap_or_default().iter().find(|line| !line.trim().is_empty());
    if is_header && following.is_none_or(|line| line.trim_start().starts_with('[')) {
        lines.remove(at - 1);
        if at > 1 && lines.get(at - 2).is_some_and(|line| bare(line).is_empty()) {
            lines.remove(at - 2);
        }
    }
    let left = lines.concat();
    let left = match has_end {
        true => left,
        false => left.strip_suffix(line_end(text)).unwrap_or(&left).to_owned(),
    };
    (!left.trim().is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_no_terminal_and_whoever_uninstalls_has_the_file_as_it_was() {
        let rows = [
            ("", format!("{HEADER}\n{SWITCH}\n")),
            ("model = \"m\"\n", format!("model = \"m\"\n\n{HEADER}\n{SWITCH}\n")),
            ("[features]\nhooks = true\n", format!("[features]\n{SWITCH}\nhooks = true\n")),
            ("[a]\nb = 1\n\n[ features ]\n[c]\n", String::new()),
            (
                "[a]\nb = 1\n[features] # mine\n\n[c]\n",
                format!("[a]\nb = 1\n[features] # mine\n{SWITCH}\n\n[c]\n"),
            ),
            // Ends of lines and of the file stay as they were.
            ("model = \"m\"", format!("model = \"m\"\n\n{HEADER}\n{SWITCH}")),
            ("model = \"m\"\n\n", format!("model = \"m\"\n\n\n{HEADER}\n{SWITCH}\n")),
            ("a = 1\r\nb = 2\r\n", format!("a = 1\r\nb = 2\r\n\r\n{HEADER}\r\n{SWITCH}\r\n")),
            ("a = 1\r\nb = 2", format!("a = 1\r\nb = 2\r\n\r\n{HEADER}\r\n{SWITCH}")),
            ("[features]\r\nhooks = true\r\n", format!("[features]\r\n{SWITCH}\r\nhooks = true\r\n")),
            ("[c]\n[features]", format!("[c]\n[features]\n{SWITCH}")),
            ("features = {hooks = true}\n", String::new()),
            ("features.hooks = true\n", String::new()),
            ("x = \"\"\"\n[features]\n\"\"\"\n", String::new()),
        ];
        for (before, after) in rows {
            let installed = without_terminals(before);
            match after.as_str() {
                "" => assert!(installed.is_err(), "{before:?} became {installed:?}"),
                after => {
                    assert_eq!(installed.as_deref(), Ok(after));
                    assert_eq!(without_terminals(after).as_deref(), Ok(after));
                    assert_eq!(with_terminals(after).unwrap_or_default(), before);
                }
            }
        }
    }

    #[test]
    fn a_switch_that_others_have_set_stays_theirs() {
        let off = "[features]\nunified_exec_tty = false\n";
        assert_eq!(without_terminals(off).as_deref(), Ok(off));
        assert_eq!(with_terminals(off).as_deref(), Some(off));
        let theirs = format!("{HEADER}\n{SWITCH}\nhooks = true\n");
        assert_eq!(with_terminals(&theirs).as_deref(), Some("[features] # lockgate\nhooks = true\n"));
        insta::assert_snapshot!(without_terminals("[features]\nunified_exec_tty = true\n").unwrap_err(), @"it gives programs a terminal, and no hook is shown what is typed into one; remove `unified_exec_tty = true`");
        insta::assert_snapshot!(without_terminals("a = \n").unwrap_err(), @"it is not TOML: string values must be quoted; mend it first");
    }
}
