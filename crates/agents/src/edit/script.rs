//! Plugins of ours: scripts that are ours as a whole, and known by their first line.

use std::time::Duration;

use super::{
    command::{HookCommand, InstalledCommand},
    mistake::Mistake,
};

/// The first line of every script we write.
const FIRST_LINE: &str =
    "// Written by `lockgate init`; `lockgate uninstall` takes it away. Changes are lost.";

/// What stands in a script for the path of the program, between double quotes.
const PROGRAM: &str = "__LOCKGATE__";

/// What stands for the milliseconds after which the script gives up on it.
const DEADLINE: &str = "__DEADLINE_MS__";

/// A script with the program's path and its time limit in it, in place of an older one of ours.
pub(crate) fn script(
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
pub(crate) fn script_command(text: &str, agent: &str) -> Option<InstalledCommand> {
    script_of_ours(text).ok()?;
    let said = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = ")?.strip_suffix(';'))?;
    let program: String = serde_json::from_str(said).ok()?;
    let words = [program.as_str(), "hook", agent].map(str::to_owned).to_vec();
    Some(InstalledCommand { program: program.into(), words })
}

/// A script of another author with this name is neither replaced nor deleted.
pub(crate) fn script_of_ours(text: &str) -> Result<(), Mistake> {
    match text.lines().next() == Some(FIRST_LINE) {
        true => Ok(()),
        false => Err(Mistake::new(1, "it was not written by Lockgate", "move it away")),
    }
}
