//! `lockgate mcp`: the proxy between an MCP client and its servers, and what belongs to it.

mod accept;
mod arguments;
mod guarded;
mod joined;
mod say;
mod serve;
mod servers;
mod surroundings;

use clap::{Args, Subcommand};

use self::{
    accept::{MCP_ACCEPT_EXAMPLES, McpAcceptArguments},
    arguments::McpServeArguments,
};
use crate::console::{CommandError, Console, Ending};

pub(crate) const MCP_USAGE: &str = "\
lockgate mcp [OPTIONS] -- <COMMAND>...
       lockgate mcp [OPTIONS] --url <URL>
       lockgate mcp [OPTIONS] --config <FILE>
       lockgate mcp accept [NAME] [TOOL]...";

pub(crate) const MCP_EXAMPLES: &str = "\
Examples:
  lockgate mcp -- npx -y @modelcontextprotocol/server-filesystem .
  lockgate mcp --policy ops.rules --name docs --url http://127.0.0.1:8000/mcp
  lockgate mcp --config .mcp.json --listen 127.0.0.1:7070
  lockgate mcp accept                 review changed tool definitions

The proxy speaks on stdin and stdout, or over HTTP with --listen. The server
never sees a blocked call; the model gets a sentence that says why.
Exit 0: the client ended, 2: could not start, or the server ended.";

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) serve: McpServeArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Review changed tool definitions and accept them
    #[command(after_help = MCP_ACCEPT_EXAMPLES)]
    Accept(McpAcceptArguments),
}

/// Runs the proxy, or one of its subcommands.
pub(crate) fn run(
    arguments: &McpArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match &arguments.command {
        Some(McpCommand::Accept(accept)) => accept::run(accept, json, console),
        None => serve::run(&arguments.serve, console),
    }
}
