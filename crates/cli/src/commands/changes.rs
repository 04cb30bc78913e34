//! How `init` and `uninstall` change files: everything is shown, a human agrees, then everything is written.
//!
//! Without a terminal no human can agree, and nothing is written unless the command line says so. Taking Lockgate out needs
//! a human whatever the command line says.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use clap::Args;
use lockgate::engine::call::visible;
use lockgate_agents::{
    Agent, Environment,
    install::{Change, FileError, Plan, Scope},
};
use serde::Serialize;

use crate::{
    arguments::agent,
    console::{CommandError, Console, Ending, bold, dim},
    human::{self, Opening},
    protocol::encode,
};

/// Which settings of agents are changed, and how.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// The agents [default: the ones in use here]
    #[arg(value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// Change the user's settings, for all projects, instead of this folder's
    #[arg(long)]
    pub(crate) user: bool,
    /// Write without asking; `uninstall` still needs a human at a terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What shall happen.
pub(super) struct WantedChanges {
    pub(super) agents: Vec<Agent>,
    pub(super) plan: Plan,
    /// Folders that are deleted with all that is in them.
    pub(super) folders: Vec<PathBuf>,
    /// What is said beside it, before.
    pub(super) notes: Vec<String>,
    /// What has to be done by hand, afterwards.
    pub(super) next: Vec<(Agent, &'static str)>,
    /// The database that counts, where only a human may do this: see [`human::confirm`].
    pub(super) for_humans: Option<PathBuf>,
}

/// Shows, asks, writes.
pub(super) fn settle(
    wanted: &WantedChanges,
    arguments: &ChangeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let is_idle = wanted.plan.changes().next().is_none() && wanted.folders.is_empty();
    if !json {
        show(wanted, console)?;
    }
    let agreed = match (is_idle || arguments.dry_run, arguments.yes, &wanted.for_humans) {
        (true, _, _) => Agreed::NotNeeded,
        (false, false, _) if json => Agreed::NobodyThere,
        (false, _, Some(state)) => confirm(wanted, state)?,
        (false, true, None) => Agreed::Yes,
        (false, false, None) if !io::stdin().is_terminal() => Agreed::NobodyThere,
        (false, false, None) => ask(wanted, console)?,
    };
    if agreed == Agreed::Yes {
        wanted.plan.carry_out().map_err(CommandError::said)?;
        for folder in &wanted.folders {
            fs::remove_dir_all(folder).map_err(|error| {
                CommandError::Said(format!("cannot delete `{}`: {error}", folder.display()))
            })?;
        }
    }
    if json {
        writeln!(console.out, "{}", encode(&Answer::new(wanted, agreed == Agreed::Yes)))?;
    } else {
        tell(wanted, is_idle, agreed, arguments.dry_run, console)?;
    }
    match agreed {
        Agreed::Yes | Agreed::NotNeeded => Ok(Ending::Yes),
        Agreed::No => Ok(Ending::No),
        Agreed::NobodyThere => Err(CommandError::said(
            "nothing was written, because no terminal is attached to ask at; look at the changes and run it again with --yes",
        )),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreed {
    Yes,
    No,
    NobodyThere,
    NotNeeded,
}

fn show(wanted: &WantedChanges, console: &mut Console<'_>) -> Result<(), CommandError> {
    for note in &wanted.notes {
        writeln!(console.err, "note: {}", visible(note))?;
    }
    for change in wanted.plan.changes() {
        for line in change.diff().lines() {
            writeln!(console.out, "{}", visible(line))?;
        }
    }
    for folder in &wanted.folders {
        writeln!(
            console.out,
            "{} {}",
            bold("delete with all that is in it:"),
            visible(&folder.display().to_string())
        )?;
    }
    Ok(())
}

fn ask(wanted: &WantedChanges, console: &mut Console<'_>) -> Result<Agreed, CommandError> {
    let count = wanted.plan.changes().count() + wanted.folders.len();
    write!(console.err, "{} [y/N] ", bold(format!("Make {}?", changes(count))))?;
    console.err.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let is_yes = ["y", "yes"].contains(&line.trim().to_lowercase().as_str());
    Ok(if is_yes { Agreed::Yes } else { Agreed::No })
}

fn confirm(wanted: &WantedChanges, state: &Path) -> Result<Agreed, CommandError> {
    let count = wanted.plan.changes().count() + wanted.folders.len();
    let deed = format!("make {}", changes(count));
    let opening = Opening { command: "uninstall", deed: &deed, shown: "", state };
    Ok(if human::confirm(&opening, &Environment::of_process())? { Agreed::Yes } else { Agreed::No })
}

fn changes(count: usize) -> String {
    if count == 1 { "this change".to_owned() } else { format!("these {count} changes") }
}

fn tell(
    wanted: &WantedChanges,
    is_idle: bool,
    agreed: Agreed,
    dry_run: bool,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    match agreed {
        Agreed::NotNeeded if is_idle => writeln!(console.out, "nothing to change")?,
        Agreed::NotNeeded if dry_run => writeln!(console.err, "nothing was written: this was --dry-run")?,
        Agreed::No => writeln!(console.err, "nothing was written")?,
        Agreed::NotNeeded | Agreed::NobodyThere => {}
        Agreed::Yes => {
            for change in wanted.plan.changes() {
                let path = change.path.display().to_string();
                writeln!(console.out, "{} {}", change.word(), visible(&path))?;
            }
            for folder in &wanted.folders {
                writeln!(console.out, "deleted {}", visible(&folder.display().to_string()))?;
            }
        }
    }
    if agreed == Agreed::Yes || is_idle {
        for (agent, text) in &wanted.next {
            writeln!(console.out, "{} {text}", dim(format!("{agent}:")))?;
        }
    }
    Ok(())
}

/// Every reason why nothing was changed, under each other.
pub(super) fn refused(errors: &[FileError]) -> CommandError {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    CommandError::Said(format!("{}\nnothing was written", lines.join("\n")))
}

/// For one project, or for the user.
pub(super) fn scope(arguments: &ChangeArguments) -> Scope {
    if arguments.user { Scope::User } else { Scope::Project }
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    agents: Vec<&'static str>,
    files: Vec<FileAnswer>,
    folders: Vec<String>,
    notes: &'a [String],
    written: bool,
    next: Vec<NextAnswer>,
}

#[derive(Debug, Serialize)]
struct FileAnswer {
    path: String,
    agent: Option<&'static str>,
    change: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
}

#[derive(Debug, Serialize)]
struct NextAnswer {
    agent: &'static str,
    text: &'static str,
}

impl<'a> Answer<'a> {
    fn new(wanted: &'a WantedChanges, written: bool) -> Self {
        let file = |change: &Change| FileAnswer {
            path: change.path.display().to_string(),
            agent: change.agent.map(Agent::name),
            change: change.word(),
            diff: change.diff(),
        };
        Self {
            agents: wanted.agents.iter().map(|agent| agent.name()).collect(),
            files: wanted.plan.all().iter().map(file).collect(),
            folders: wanted.folders.iter().map(|folder| folder.display().to_string()).collect(),
            notes: &wanted.notes,
            written,
            next: wanted.next.iter().map(|(agent, text)| NextAnswer { agent: agent.name(), text }).collect(),
        }
    }
}
