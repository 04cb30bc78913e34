//! Claude Code: `.claude/settings.local.json` of a project, `~/.claude/settings.json` of a user.
//!
//! Not the project's `settings.json`: that one is shared, and a path of this machine would not fit others; and
//! another host reads it too, as if it were its own. Without `onFailure` a hook that cannot be started, fails or takes
//! too long lets the tool run. Hooks without a shell (`args`) leave nothing to quoting.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    json::{self, Entry, Layout},
};

pub(super) struct ClaudeCode;

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const TOOL_EVENTS: [&str; 3] = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
const SESSION_EVENTS: [&str; 3] = ["SessionStart", "SessionEnd", "PreCompact"];

impl Host for ClaudeCode {
    fn signs(&self) -> Signs {
        Signs { project: &[".claude"], home: &[".claude"], programs: &["claude"] }
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
        json::add(text, &entries(command), LAYOUT, command.agent())
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        json::remove(text, LAYOUT, super::Agent::ClaudeCode)
    }

    fn switches(&self, places: &Places<'_>) -> Vec<PathBuf> {
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
            Scope::User => &["start Claude Code anew; `/hooks` shows the hooks"],
            Scope::Project => &[
                "start Claude Code anew; `/hooks` shows the hooks",
                "keep .claude/settings.local.json out of the repository: it names a path of this machine",
            ],
        }
    }
}

/// Hooks that a file turns off would be a gate that is not there.
pub(super) fn hooks_are_on(text: &str) -> Result<(), Mistake> {
    let is_off = json::whole(text)?.get("disableAllHooks").is_some_and(|off| *off != Value::Bool(false));
    let line = text.lines().position(|line| line.contains("disableAllHooks")).map_or(1, |at| at + 1);
    match is_off {
        true => Err(Mistake::new(line, "`disableAllHooks` turns all hooks off", "take it out")),
        false => Ok(()),
    }
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
