//! Which tools a policy is for, and its warnings for those who do not run `lockgate verify`.
//!
//! [`known_tools`] puts together what the command line says, and for the policy that hooks are behind the agents that
//! have these hooks. What is wrong with the names of a policy is found where policies are read.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use lockgate::engine::{
    Diagnostic, Policy, Severity, Source,
    call::visible,
    languages::{KnownTools, accept, check_names},
    policy::{Clause, Condition},
};
use lockgate_agents::{Agent, Environment, install::installed_agents, settings};

use crate::{arguments::KnownToolsArguments, console::CommandError, tool_list};

/// How many warnings are told one by one.
const WARNINGS_SHOWN_MAX: usize = 10;

/// The tools that are known for a policy of these files or folders.
pub(crate) fn known_tools(
    arguments: &KnownToolsArguments,
    files: &[PathBuf],
) -> Result<KnownTools, CommandError> {
    let listed = arguments.tools.as_deref().map(tool_list::read).transpose()?;
    Ok(KnownTools { listed, ..tools_of(&agents_of(arguments, files)) })
}

/// The agents that a policy of these files is for.
pub(crate) fn agents_of(arguments: &KnownToolsArguments, files: &[PathBuf]) -> Vec<Agent> {
    if arguments.agents.is_empty() { agents_behind(files) } else { arguments.agents.clone() }
}

/// Which rules ask what the user said although these agents never tell, in words; none where there are none.
pub(crate) fn unheard(policy: &Policy, agents: &[Agent]) -> Option<String> {
    let silent: Vec<&str> =
        agents.iter().filter(|agent| !agent.hears_user()).map(|agent| agent.name()).collect();
    let asks = |condition: &&Condition| match condition {
        Condition::Untraced(test) => test.from_user,
        Condition::Unsaid(_) => true,
        _ => false,
    };
    let is_asked = |clause: &&Clause| clause.conditions.iter().flat_map(Condition::parts).any(|it| asks(&it));
    let places: Vec<String> = policy
        .clauses()
        .iter()
        .filter(is_asked)
        .map(|clause| format!("{}:{}", clause.place.file, clause.place.line))
        .collect();
    if silent.is_empty() || places.is_empty() {
        return None;
    }
    Some(format!(
        "{} never tells Lockgate what the user writes, so there these rules ask a human or block: {}",
        silent.join(", "),
        places.join(", ")
    ))
}

/// The tools of these agents.
pub(crate) fn tools_of(agents: &[Agent]) -> KnownTools {
    let mut agents = agents.to_vec();
    agents.sort_unstable();
    agents.dedup();
    KnownTools { listed: None, agents: agents.into_iter().filter_map(Agent::tools).collect() }
}

/// The agents whose hooks judge by these files: none unless the files are of the policy in force here.
fn agents_behind(files: &[PathBuf]) -> Vec<Agent> {
    let environment = Environment::of_process();
    let Ok(project) = env::current_dir() else { return Vec::new() };
    let Ok(settings) = settings::find(&project, &environment) else { return Vec::new() };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let in_force: Vec<PathBuf> = settings.files().iter().filter_map(|file| real(file)).collect();
    let is_in_force = |file: &PathBuf| {
        real(file).is_some_and(|file| in_force.iter().any(|of| file.starts_with(of) || of.starts_with(&file)))
    };
    if !files.is_empty() && !files.iter().any(is_in_force) {
        return Vec::new();
    }
    installed_agents(&project, &environment)
}

/// What is wrong with a policy that loads, for these agents: errors first, without notes.
pub(crate) fn doubts(
    policy: &Policy,
    mut findings: Vec<Diagnostic>,
    sources: &[Source],
    known: &KnownTools,
) -> Vec<Diagnostic> {
    check_names(&mut findings, sources, known, Some(policy));
    let (mut findings, _) = accept(findings, sources);
    findings.retain(|finding| finding.severity > Severity::Note);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Findings as lines of a log.
pub(crate) fn lines(findings: &[Diagnostic]) -> Vec<String> {
    let line = |finding: &Diagnostic| {
        let place = finding.source.place(finding.span);
        let remedy = finding.remedy.as_ref().map(|remedy| format!("; try: {remedy}")).unwrap_or_default();
        let Diagnostic { code, severity, message, .. } = finding;
        visible(&format!("{severity}[{code}]: {}:{}: {message}{remedy}", place.file, place.line))
    };
    let mut lines: Vec<String> = findings.iter().take(WARNINGS_SHOWN_MAX).map(line).collect();
    let more = findings.len().saturating_sub(WARNINGS_SHOWN_MAX);
    if more > 0 {
        lines.push(format!("warning: {more} more findings; `lockgate verify` shows them all"));
    }
    lines
}
