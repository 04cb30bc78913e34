//! What of a project does not count yet: settings and rules that wait for trust, and programs that are not run.

use lockgate::engine::Policy;

use super::values::Settings;
use crate::trust::Trust;

/// Everything of a project that waits for trust, in one line; none where nothing does.
pub fn waiting_line(settings: &Settings, policy: &Policy) -> Option<String> {
    let waiting = waiting_items(settings, policy);
    let project = settings.project.as_ref()?;
    if waiting.is_empty() {
        return None;
    }
    let why = match project.trust {
        Trust::Changed => "was changed since it was trusted",
        Trust::Never | Trust::Trusted(_) => "was never trusted here",
    };
    Some(format!(
        "the policy of {} {why}, so this of it does not count: {}; read it, then run `lockgate trust`",
        project.root.display(),
        waiting.join("; ")
    ))
}

/// The same, from the files. Nothing is said here about a policy that cannot be read.
pub fn waiting_line_of_files(settings: &Settings) -> Option<String> {
    let is_untrusted = settings.project.as_ref().is_some_and(|project| !project.is_trusted());
    let sources = settings.sources().ok().filter(|_| is_untrusted)?;
    let policy = lockgate::Policy::builder().sources(&sources).without_findings().load().ok()?;
    waiting_line(settings, &policy.compiled())
}

/// What waits: settings as they are written, and places of the policy with what stands there.
pub fn waiting_items(settings: &Settings, policy: &Policy) -> Vec<String> {
    settings.waiting.iter().cloned().chain(policy.waiting().iter().map(ToString::to_string)).collect()
}

/// How hooks and the MCP proxy are told to run programs.
pub const EXEC_SETTING: &str = "write `exec = true` into `lockgate.toml`, if the agent may run such programs";

/// What to do about them under a guardian.
pub const EXEC_GUARDED: &str =
    "a guardian runs no programs, whatever the settings say: use another condition";

/// That a policy wants programs run and this gate runs none, with what to do about it.
pub fn exec_not_run(policy: &Policy, remedy: &str) -> Option<String> {
    let (workflow, requirement) = policy
        .workflows()
        .iter()
        .find_map(|workflow| Some((workflow, workflow.exec_conditions().next()?)))?;
    let place = workflow.source.place(requirement.span);
    Some(format!(
        "{}:{}: {} is never run here, so its stage never ends; {remedy}",
        place.file, place.line, requirement.text
    ))
}
