//! `lockgate uninstall`: takes Lockgate out of the hooks of agents, and from before their MCP servers.
//!
//! Only what `lockgate init` has written goes away. The policy and the sessions stay unless `--all` says otherwise.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate_agents::{
    Agent, Environment,
    install::{Change, Job, Repository, Scope, forget_installed, included, plan, plan_servers},
    settings::{self, FOLDER},
};

use super::changes::{ChangeArguments, WantedChanges, refused, scope, settle};
use crate::console::{CommandError, Console, Ending};

pub(crate) const UNINSTALL_EXAMPLES: &str = "\
Examples:
  lockgate uninstall                  all agents, in this project
  lockgate uninstall codex --user     Codex, in the user's settings
  lockgate uninstall --all            also delete the policy and the sessions

You confirm at the terminal by typing a word that it shows. MCP servers get back
their old entries, byte for byte.
Exit 0: done or nothing to do, 1: you said no, 2: could not.";

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
    /// Also delete Lockgate's own folders: policies, settings, sessions
    #[arg(long, conflicts_with = "agents")]
    pub(crate) all: bool,
}

pub(crate) fn run(
    arguments: &UninstallArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (project, environment) = (env::current_dir()?, Environment::of_process());
    let scope = scope(&arguments.change);
    let mut agents = arguments.change.agents.clone();
    if agents.is_empty() {
        agents = Agent::ALL.to_vec();
    }
    agents.sort_unstable();
    agents.dedup();
    let mut plan =
        plan(&Job::Remove, &agents, scope, &project, &environment).map_err(|errors| refused(&errors))?;
    let named = &arguments.change.agents;
    let servers = plan_servers(&mut plan, &Job::Remove, named, scope, &project, &environment);
    let notes = servers.map_err(|errors| refused(&errors))?;
    if let (true, Scope::Project, Some(repository)) = (arguments.all, scope, Repository::of(&project)) {
        let path = repository.exclude;
        if let Some(text) = plan.read(&path).map_err(CommandError::said)? {
            let after = Some(included(&text));
            plan.put(Change { agent: None, path, before: Some(text), after });
        }
    }
    let folders = if arguments.all { own_folders(scope, &project, &environment) } else { Vec::new() };
    let wanted = WantedChanges {
        agents,
        plan,
        folders,
        notes,
        next: Vec::new(),
        for_humans: Some(state_of(&project, &environment)?),
    };
    let ending = settle(&wanted, &arguments.change, json, console)?;
    if ending == Ending::Yes && !arguments.change.dry_run {
        for agent in &wanted.agents {
            forget_installed(*agent, scope, &project, &environment).map_err(CommandError::said)?;
        }
    }
    Ok(ending)
}

/// The database that counts here; settings that cannot be used must not keep a user from taking Lockgate out.
pub(super) fn state_of(project: &Path, environment: &Environment) -> Result<PathBuf, CommandError> {
    if let Ok(settings) = settings::find(project, environment) {
        return Ok(settings.state);
    }
    let data = environment.data_folder().ok_or_else(|| CommandError::said("the home folder is not known"))?;
    Ok(data.join("lockgate").join("lockgate.db"))
}

/// The folders that are Lockgate's own, where they are there. A link is not: what it leads to may belong to others.
fn own_folders(scope: Scope, project: &Path, environment: &Environment) -> Vec<PathBuf> {
    let folders = match scope {
        Scope::Project => Vec::from([Some(project.join(FOLDER))]),
        Scope::User => {
            let own = |folder: Option<PathBuf>| folder.map(|folder| folder.join("lockgate"));
            Vec::from([own(environment.config_folder()), own(environment.data_folder())])
        }
    };
    let is_there = |folder: &PathBuf| fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
    folders.into_iter().flatten().filter(is_there).collect()
}
