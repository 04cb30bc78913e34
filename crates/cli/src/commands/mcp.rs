//! `lockgate mcp`: the proxy between an MCP client and its servers, and what belongs to it.

mod accept;
mod serve;
mod servers;
mod surroundings;

use crate::{
    args::{McpArguments, McpCommand},
    console::{CommandError, Console, Ending},
};

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
