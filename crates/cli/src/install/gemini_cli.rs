//! Gemini CLI: `.gemini/settings.json` of a project or of a user.
//!
//! Gemini has no strict form: a hook that takes too long lets the tool run. Its times are in milliseconds. No matcher is
//! every tool.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Agent, CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    json::{self, Entry, Layout},
};

pub(super) struct GeminiCli;

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const EVENTS: [&str; 5] = ["BeforeTool", "AfterTool", "SessionStart", "SessionEnd", "PreCompress"];

impl Host for GeminiCli {
    fn signs(&self) -> Signs {
        Signs { project: &[".gemini"], home: &[".gemini"], programs: &["gemini"] }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        Vec::from([places.choose(".gemini/settings.json", ".gemini/settings.json")])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        if let Some(text) = text {
            hooks_are_on(text)?;
        }
        json::add(text, &entries(command), LAYOUT, command.agent())
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        json::remove(text, LAYOUT, Agent::GeminiCli)
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &["start Gemini CLI anew; `/hooks list` shows the hooks"],
            Scope::Project => &[
                "start Gemini CLI anew and trust this folder when it asks; `/hooks list` shows the hooks",
                "keep .gemini/settings.json out of the repository: it names a path of this machine",
            ],
        }
    }
}

/// Hooks that a file turns off would be a gate that is not there.
fn hooks_are_on(text: &str) -> Result<(), Mistake> {
    let root = json::whole(text)?;
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
