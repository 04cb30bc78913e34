//! OpenCode: a plugin, `.opencode/plugins/lockgate.js` of a project or below `~/.config/opencode` of a user.
//!
//! The file is ours as a whole, and known by its first line. What the plugin does is told in it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Agent, CALL_LIMIT, HookCommand, Host, InstalledCommand, Mistake, Places, Scope, Signs};

pub(super) struct OpenCode;

const PLUGIN: &str = include_str!("../../assets/opencode-plugin.js");

/// The first line of every script we write.
pub(super) const FIRST_LINE: &str =
    "// Written by `lockgate init`; `lockgate uninstall` takes it away. Changes are lost.";

/// What stands in a script for the path of the program, between double quotes.
const PROGRAM: &str = "__LOCKGATE__";

/// What stands for the milliseconds after which the script gives up on it.
const DEADLINE: &str = "__DEADLINE_MS__";

impl Host for OpenCode {
    fn signs(&self) -> Signs {
        Signs {
            project: &[".opencode", "opencode.json", "opencode.jsonc"],
            home: &[".config/opencode"],
            programs: &["opencode"],
        }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let config = places.environment.config_folder().unwrap_or_default();
        Vec::from([match places.scope {
            Scope::Project => places.project.join(".opencode/plugins/lockgate.js"),
            Scope::User => config.join("opencode/plugins/lockgate.js"),
        }])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        script(PLUGIN, text, command, CALL_LIMIT)
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        // Somebody else's script of this name stays.
        Ok(script_of_ours(text).is_err().then(|| text.to_owned()))
    }

    fn next_steps(&self, _: Scope) -> &'static [&'static str] {
        &["start OpenCode anew; the first start with a plugin may take a minute or two"]
    }
}

/// A script with the program's path and its time limit in it, in place of an older one of ours.
pub(super) fn script(
    asset: &str,
    text: Option<&str>,
    command: &HookCommand,
    limit: Duration,
) -> Result<String, Mistake> {
    if let Some(text) = text {
        script_of_ours(text)?;
    }
    let program = serde_json::Value::from(command.program()).to_string();
    let filled = asset.replace(PROGRAM, program.trim_matches('"'));
    Ok(format!("{FIRST_LINE}\n{}", filled.replace(DEADLINE, &limit.as_millis().to_string())))
}

/// What a script of ours runs.
pub(super) fn script_command(text: &str, agent: Agent) -> Option<InstalledCommand> {
    script_of_ours(text).ok()?;
    let said = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = ")?.strip_suffix(';'))?;
    let program: String = serde_json::from_str(said).ok()?;
    let words = [program.as_str(), "hook", agent.name()].map(str::to_owned).to_vec();
    Some(InstalledCommand { program: program.into(), words })
}

/// Somebody else's script of this name is neither replaced nor deleted.
pub(super) fn script_of_ours(text: &str) -> Result<(), Mistake> {
    match text.lines().next() == Some(FIRST_LINE) {
        true => Ok(()),
        false => Err(Mistake::new(1, "it was not written by Lockgate", "move it away")),
    }
}
