//! `lockgate upgrade`: installed hooks that run another program run this one.
//!
//! Hooks name their program by its whole path. After a move, or with a newer version in another place, they would run what is
//! not there, or what is old. A hook that runs another program is another gate, so an agent may not have it changed:
//! [`refuse_agents`] is asked by `lockgate init` too.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate_agents::{
    Agent, Environment,
    install::{Job, Scope, installed_commands, is_installed, plan, record_installed, wrapped_servers},
};

use super::{
    changes::{ChangeArguments, WantedChanges, refused, settle},
    uninstall::state_of,
};
use crate::{
    console::{CommandError, Console, Ending},
    human::{self, Opening},
    lasting::LastingProgram,
    version::{build_folder, doubt},
};

pub(crate) const UPGRADE_EXAMPLES: &str = "\
Examples:
  lockgate upgrade --dry-run          only show what would change
  lockgate upgrade                    hooks here and of the user; asks first
  lockgate upgrade --yes              without asking

Run it with the new program, after you have installed it. Lockgate downloads
nothing. Sessions of an older version are read as they are.
Exit 0: done or nothing to do, 1: you said no, 2: could not.";

#[derive(Debug, Args)]
pub(crate) struct UpgradeArguments {
    /// Write without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

pub(crate) fn run(
    arguments: &UpgradeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (project, environment) = (env::current_dir()?, Environment::of_process());
    let lasting = LastingProgram::of_process(&environment)?;
    let program = lasting.path.clone();
    if let Some(folder) = build_folder(&program) {
        return Err(CommandError::Said(format!(
            "this program is in the build folder `{}`, which a clean build takes away; install it first, such as with \
             `cargo install --locked --path crates/cli`, and run `lockgate upgrade` with that one",
            folder.display()
        )));
    }
    let mut ending = Ending::Yes;
    for scope in [Scope::Project, Scope::User] {
        let agents: Vec<Agent> = Agent::ALL
            .iter()
            .copied()
            .filter(|agent| is_installed(*agent, scope, &project, &environment))
            .collect();
        if !arguments.dry_run {
            refuse_agents("upgrade", &agents, scope, &project, &environment)?;
        }
        let mut wanted = wanted(&program, agents, scope, &project, &environment)?;
        if !wanted.agents.is_empty() {
            wanted.notes.extend(lasting.note());
        }
        if !arguments.dry_run && !wanted.agents.is_empty() {
            lasting.put()?;
        }
        let change = ChangeArguments {
            agents: wanted.agents.clone(),
            user: scope == Scope::User,
            yes: arguments.yes,
            dry_run: arguments.dry_run,
        };
        ending = settle(&wanted, &change, json, console)?;
        if ending != Ending::Yes {
            break;
        }
        if !arguments.dry_run {
            for agent in &wanted.agents {
                record_installed(*agent, &program, scope, &project, &environment)
                    .map_err(CommandError::said)?;
            }
        }
    }
    Ok(ending)
}

fn wanted(
    program: &Path,
    agents: Vec<Agent>,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Result<WantedChanges, CommandError> {
    let mut notes = Vec::new();
    for agent in &agents {
        for old in other_programs(*agent, program, scope, project, environment) {
            let why = doubt(&old).unwrap_or_else(|| "is in another place".to_owned());
            notes.push(format!("{agent} runs `{}`, which {why}", old.display()));
        }
    }
    for (file, server) in wrapped_servers(scope, project, environment) {
        if server.program != *program {
            notes.push(format!(
                "{}: the proxy before `{}` is `{}`; `lockgate init --mcp-only{}` has this program run instead",
                file.display(),
                server.name,
                server.program.display(),
                if scope == Scope::User { " --user" } else { "" }
            ));
        }
    }
    let plan = plan(&Job::Install(program), &agents, scope, project, environment)
        .map_err(|errors| refused(&errors))?;
    let next = Vec::new();
    Ok(WantedChanges { agents, plan, folders: Vec::new(), notes, next, for_humans: None })
}

/// The other programs that hooks of an agent run.
fn other_programs(
    agent: Agent,
    program: &Path,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Vec<PathBuf> {
    let commands = installed_commands(agent, scope, project, environment);
    commands.into_iter().map(|command| command.program).filter(|other| other != program).collect()
}

/// Refuses a process of an agent where hooks run another program than this one.
///
/// # Errors
/// When an agent may have started this process; that is logged.
pub(super) fn refuse_agents(
    command: &str,
    agents: &[Agent],
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Result<(), CommandError> {
    let program = LastingProgram::of_process(environment)?.path;
    let is_other = |agent: &Agent| !other_programs(*agent, &program, scope, project, environment).is_empty();
    if !agents.iter().any(is_other) {
        return Ok(());
    }
    let state = state_of(project, environment)?;
    let opening = Opening { command, deed: "have hooks run another program", shown: "", state: &state };
    human::refuse_agents(&opening, environment)
}
