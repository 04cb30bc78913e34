//! Arguments that several commands share.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use lockgate::engine::{Mode, Time};
use lockgate_agents::{Agent, settings::Registry};

use crate::when;

/// Where the policy is.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
}

/// Which tools there are, to find names that no tool has.
#[derive(Debug, Args)]
pub(crate) struct KnownToolsArguments {
    /// The agents the policy is for; by default those whose hooks use it
    #[arg(long = "agent", value_parser = agent(), value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// A list of all tools, to find misspelt names: an MCP server's answer to `tools/list`, a JSON array of names, or
    /// one name per line
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}

/// Whether conditions of workflows may run programs.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// Let workflow conditions run their programs, with the rights of this command
    #[arg(long)]
    pub(crate) exec: bool,
    /// With --exec: how long each program may run, in seconds, 1 to 3600 [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "exec", value_parser = clap::value_parser!(u64).range(1..=EXEC_SECONDS_MAX))]
    pub(crate) exec_limit: Option<u64>,
}

const EXEC_SECONDS_MAX: u64 = 3600;

/// Where the sessions of hooks are stored.
#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

/// Which entries of the audit log are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// From this time on
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) since: Option<Time>,
    /// Before this time
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) until: Option<Time>,
}

/// What can be switched on and off, and what is on when a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct RegistryArguments {
    /// A name of your own for nets and whole files, to switch them together: safety=safety.rules,block-rm
    #[arg(long = "name", value_name = "NAME=MEMBER,…", value_parser = named)]
    pub(crate) names: Vec<(String, Vec<String>)>,
    /// What is active when a session begins: names, nets or files; all if this is left out
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) active: Option<Vec<String>>,
}

impl RegistryArguments {
    /// The same for a gate.
    pub(crate) fn registry(&self) -> Registry {
        Registry { names: self.names.clone(), active: self.active.clone() }
    }
}

/// Reads the name of an agent that hooks can be installed for.
pub(crate) fn agent() -> impl TypedValueParser<Value = Agent> {
    let names = PossibleValuesParser::new(Agent::ALL.iter().map(|agent| agent.name()));
    names.try_map(|name| Agent::named(&name).ok_or("it is not a known agent"))
}

/// Reads a mode.
pub(crate) fn mode() -> impl TypedValueParser<Value = Mode> {
    words([Mode::Enforce, Mode::Observe], Mode::word)
}

/// Reads one of a few values by its word.
pub(crate) fn words<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [T; N],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.map(word))
        .try_map(move |said| values.into_iter().find(|it| word(*it) == said).ok_or("it is not known"))
}

fn named(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, members) = text.split_once('=').ok_or("write NAME=MEMBER, such as safety=safety.rules")?;
    let members: Vec<String> = members.split(',').map(str::trim).map(str::to_owned).collect();
    if name.is_empty() || members.iter().any(String::is_empty) {
        return Err("a name and its members must not be empty".to_owned());
    }
    Ok((name.to_owned(), members))
}
