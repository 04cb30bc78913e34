//! GitHub Copilot: `.github/hooks/lockgate.json` of a project, `~/.copilot/hooks/lockgate.json` of a user.
//!
//! A command that fails blocks; one that takes too long lets the tool run, always, so the time is long. Hooks over HTTP
//! fail open and are not used.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Agent, CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    claude_code::hooks_are_on,
    json::{self, Entry, Layout},
};

pub(super) struct Copilot;

const LAYOUT: Layout = Layout { grouped: false, versioned: true };
const EVENTS: [&str; 4] = ["preToolUse", "postToolUse", "sessionStart", "sessionEnd"];

impl Host for Copilot {
    fn signs(&self) -> Signs {
        Signs {
            project: &[".github/hooks", ".github/copilot-instructions.md"],
            home: &[".copilot"],
            programs: &["copilot"],
        }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".github/hooks/lockgate.json", ".copilot/hooks/lockgate.json")])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        if let Some(text) = text {
            hooks_are_on(text)?;
        }
        json::add(text, &entries(command), LAYOUT, command.agent())
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        json::remove(text, LAYOUT, Agent::Copilot)
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
