//! What an installation changes: computed as a whole before the first file is written.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{Change, FileError, Plan};
use crate::{
    agents::Agent,
    edit::{HookCommand, InstalledCommand, Places, Scope, installed_command, script_command, whole},
    environment::Environment,
};

/// What is to happen.
#[derive(Clone, Debug)]
pub enum Job<'a> {
    /// Hooks that run this program.
    Install(&'a Path),
    /// Nothing of ours.
    Remove,
}

/// Computes every change.
///
/// # Errors
/// Every reason why the changes cannot be made.
pub fn plan(
    job: &Job<'_>,
    agents: &[Agent],
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Result<Plan, Vec<FileError>> {
    let nowhere = PathBuf::new();
    let home = match (&environment.home, scope) {
        (Some(home), _) => home,
        (None, Scope::Project) => &nowhere,
        (None, Scope::User) => return Err(Vec::from([FileError::no_home()])),
    };
    let places = Places { project, home, environment, scope };
    let top = match scope {
        Scope::Project => project,
        Scope::User => home,
    };
    let mut plan = Plan::new(top);
    let mut errors = Vec::new();
    for agent in agents {
        if matches!(job, Job::Install(_)) {
            errors.extend(switched_off(*agent, &places));
        }
        for file in agent.profile().files(&places) {
            if let Err(error) = plan_file(&mut plan, job, *agent, &file) {
                errors.push(error);
            }
        }
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// The files that turn off the hooks we would write. A broken file is left to its agent to complain about.
fn switched_off(agent: Agent, places: &Places<'_>) -> Vec<FileError> {
    let off = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).ok()?;
        whole(&text).ok()?;
        agent.profile().leaves_on(&text).err().map(|mistake| FileError::mistaken(&file, mistake))
    };
    agent.profile().switch_files(places).into_iter().filter_map(off).collect()
}

/// Whether hooks of ours are there. What cannot be read has none.
pub fn is_installed(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> bool {
    let plan = plan(&Job::Remove, &[agent], scope, project, environment);
    plan.is_ok_and(|plan| plan.changes().next().is_some())
}

/// The commands of ours that an agent runs, as they stand in its files. What cannot be read has none.
pub fn installed_commands(
    agent: Agent,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Vec<InstalledCommand> {
    let Ok(plan) = plan(&Job::Remove, &[agent], scope, project, environment) else { return Vec::new() };
    let mut found: Vec<InstalledCommand> = Vec::new();
    for text in plan.changes().filter_map(|change| change.before.as_deref()) {
        match whole(text) {
            Ok(root) => collect_commands(&Value::Object(root), agent, &mut found),
            Err(_) => found.extend(script_command(text, agent.name())),
        }
    }
    found.dedup();
    found
}

fn collect_commands(value: &Value, agent: Agent, found: &mut Vec<InstalledCommand>) {
    found.extend(installed_command(value, agent.name()));
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_commands(item, agent, found)),
        Value::Object(fields) => {
            fields.values().for_each(|field| collect_commands(field, agent, found));
        }
        _ => {}
    }
}

fn plan_file(plan: &mut Plan, job: &Job<'_>, agent: Agent, file: &Path) -> Result<(), FileError> {
    let before = plan.read(file)?;
    let mistaken = |mistake| FileError::mistaken(file, mistake);
    let after = match (job, before.as_deref()) {
        (Job::Install(program), text) => {
            let command = HookCommand::new(program, agent.name()).map_err(mistaken)?;
            Some(agent.profile().installed(file, text, &command).map_err(mistaken)?)
        }
        (Job::Remove, Some(text)) => agent.profile().removed(file, text).map_err(mistaken)?,
        (Job::Remove, None) => None,
    };
    plan.put(Change { agent: Some(agent), path: file.to_path_buf(), before, after });
    Ok(())
}

/// The agents that have hooks of Lockgate here.
pub fn installed_agents(project: &Path, environment: &Environment) -> Vec<Agent> {
    let has_hooks = |agent: &Agent| {
        [Scope::Project, Scope::User].iter().any(|scope| is_installed(*agent, *scope, project, environment))
    };
    Agent::ALL.iter().copied().filter(has_hooks).collect()
}
