//! Codex: `.codex/hooks.json` of a project, `hooks.json` in `$CODEX_HOME` (`~/.codex`) of a user.
//!
//! Codex has no strict form: a hook that fails or takes too long lets the tool run. And it runs none that nobody has
//! trusted; trust is lost with every change of the command line, so nothing here may depend on the release. No matcher
//! is every tool.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Agent, CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    json::{self, Entry, Layout},
};

pub(super) struct Codex;

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const EVENTS: [&str; 5] = ["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "PreCompact"];

impl Host for Codex {
    fn signs(&self) -> Signs {
        Signs { project: &[".codex"], home: &[".codex"], programs: &["codex"] }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.environment.variable("CODEX_HOME").map(PathBuf::from);
        match (places.scope, folder) {
            (Scope::User, Some(folder)) => Vec::from([folder.join("hooks.json")]),
            _ => Vec::from([places.choose(".codex/hooks.json", ".codex/hooks.json")]),
        }
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        json::add(text, &entries(command), LAYOUT, command.agent())
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        json::remove(text, LAYOUT, Agent::Codex)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &[TRUST],
            Scope::Project => {
                &[TRUST, "keep .codex/hooks.json out of the repository: it names a path of this machine"]
            }
        }
    }
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
