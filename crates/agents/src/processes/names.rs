//! By what a process is known to be an agent's, or to adopt the processes of others.

use lockgate::engine::call::{self, Program};

use super::system::Process;
use crate::agents::Agent;

/// Programs that adopt orphans.
const REAPERS: &[&str] = &[
    "systemd",
    "init",
    "tini",
    "dumb-init",
    "docker-init",
    "catatonit",
    "launchd",
    "s6-svscan",
    "runit",
    "pause",
    "sleep",
    "tail",
];

/// Whether a process is an agent by its program.
pub(crate) fn is_agent(process: &Process) -> bool {
    let facts = || Agent::ALL.iter().map(|agent| &agent.facts().processes);
    let programs = |name: &str| facts().any(|agent| agent.programs.contains(&name));
    let in_package =
        |word: &String| facts().any(|agent| agent.packages.iter().any(|package| word.contains(package)));
    let program = process.program();
    let is_package = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        programs(name.split('.').next().unwrap_or_default()) || in_package(word)
    };
    let is_interpreter = call::program(program).is_some_and(Program::runs_files);
    let script = || process.words.iter().skip(1).find(|word| !word.starts_with('-'));
    programs(program)
        || programs(&process.name)
        || process.words.first().is_some_and(in_package)
        || (is_interpreter && script().is_some_and(is_package))
}

/// Whether a process adopts those whose parent has ended.
pub(crate) fn is_reaper(process: &Process) -> bool {
    REAPERS.contains(&process.name.as_str())
}

/// Whether a variable is one that an agent sets for what it starts, and no other program sets.
pub(crate) fn is_variable_of_agent(name: &str) -> bool {
    Agent::ALL.iter().any(|agent| agent.facts().processes.variables.contains(&name))
}
