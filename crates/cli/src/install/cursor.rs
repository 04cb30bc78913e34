//! Cursor: `.cursor/hooks.json` of a project or of a user.
//!
//! With `failClosed` a hook that fails, takes too long or is missing blocks. One call of a shell shows at `preToolUse`
//! and at `beforeShellExecution`; only the first is used, for it shows every tool.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Agent, CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    json::{self, Entry, Layout},
};

pub(super) struct Cursor;

const LAYOUT: Layout = Layout { grouped: false, versioned: true };
const TOOL_EVENTS: [&str; 3] = ["preToolUse", "postToolUse", "postToolUseFailure"];
const SESSION_EVENTS: [&str; 3] = ["sessionStart", "sessionEnd", "preCompact"];

impl Host for Cursor {
    fn signs(&self) -> Signs {
        Signs { project: &[".cursor"], home: &[".cursor"], programs: &["cursor", "cursor-agent"] }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".cursor/hooks.json", ".cursor/hooks.json")])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        json::add(text, &entries(command), LAYOUT, command.agent())
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        json::remove(text, LAYOUT, Agent::Cursor)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &["start Cursor anew; its settings show the hooks under `Hooks`"],
            Scope::Project => &[
                "start Cursor anew and trust this folder when it asks; its settings show the hooks under `Hooks`",
                "keep .cursor/hooks.json out of the repository: it names a path of this machine",
            ],
        }
    }
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
