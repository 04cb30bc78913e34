//! The arguments of the proxy.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lockgate::engine::Mode;
use lockgate_agents::Agent;

use crate::arguments::{agent, mode};

/// The servers behind the proxy, and its clients.
#[derive(Debug, Args)]
pub(crate) struct McpServeArguments {
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// The client's name for this server; rules then see its tools as mcp__NAME__tool, as the client's hooks do
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// The agent that is the client; the proxy then uses the sessions and tool names of its hooks
    #[arg(long, value_parser = agent(), value_name = "AGENT", requires = "name", conflicts_with = "listen")]
    pub(crate) host: Option<Agent>,
    /// The session of all calls [default: the agent's session, or one for this process]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// The address of a server that speaks HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "server"])]
    pub(crate) url: Option<String>,
    /// A client's file of servers, under `mcpServers` or `servers`; one proxy serves all of them
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) config: Option<PathBuf>,
    /// Serve clients over HTTP at this address, such as 127.0.0.1:7070, instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The file with the token that HTTP clients must send; required where others can reach the address
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// Ask a server of `lockgate serve` as well; the stricter of both counts [default: `[server]` of the settings]
    #[arg(id = "team_server", long = "server", value_name = "URL", requires = "server_token")]
    pub(crate) team_server: Option<String>,
    /// With --server: the file that holds the token
    #[arg(long, value_name = "FILE", requires = "team_server")]
    pub(crate) server_token: Option<PathBuf>,
    /// With --server: certificates in PEM, one of which vouches for the server [default: those of the machine]
    #[arg(long, value_name = "FILE", requires = "team_server")]
    pub(crate) server_ca: Option<PathBuf>,
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Keep sessions in memory; they end with this process
    #[arg(long, conflicts_with = "state")]
    pub(crate) memory: bool,
    /// How to list tools that the rules never allow
    #[arg(long, value_enum, default_value = "mark")]
    pub(crate) dead_tools: DeadToolsArgument,
    /// How long a call waits for a human, in seconds, 1 to 3600
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) ask_for: u64,
    /// Enforce the rules, or only observe [default: as the settings say]
    #[arg(long, value_parser = mode())]
    pub(crate) mode: Option<Mode>,
    /// The server to start, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) server: Vec<String>,
}

/// How a tool is listed that no session can ever call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeadToolsArgument {
    /// As the server describes it
    Show,
    /// With a remark before its description
    Mark,
    /// Not at all
    Hide,
}
