//! `lockgate serve`: the team server, its tokens, and the guardian's process; all in the foreground.
//!
//! A service starts it. It ends on SIGTERM and SIGINT: what was told is stored by then, and clients whose connection closes
//! block.

mod desk;
mod guarded_lines;
mod guarded_proxy;
mod health;
mod team;
mod token;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use clap::{Args, Subcommand};
use lockgate_agents::{
    guardian::{Daemon, Limits},
    machine::{FILE, Machine},
};

use self::desk::GuardianDesk;
use crate::{
    console::{CommandError, Console, Ending},
    platform,
};

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  lockgate serve ops.rules                        a server at 127.0.0.1:7878
  lockgate serve ops.rules --socket gate.sock     at a Unix socket
  lockgate serve ops.rules --check                can it start?
  lockgate serve token create ci --scope agent --sessions 'ci/*'
  lockgate serve --guardian           the service of `lockgate guardian install`

It runs in the foreground until SIGTERM or Ctrl-C. The first start shows the
token of an admin on the terminal, once. Clients that cannot reach it block.
Exit 0: ended as it was told to, 2: could not serve.";

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Policy files or folders of the team server
    #[arg(value_name = "POLICY", required_unless_present = "guardian", conflicts_with = "guardian")]
    pub(crate) files: Vec<PathBuf>,
    /// Serve as the guardian: decide for the hooks of other users
    #[arg(long)]
    pub(crate) guardian: bool,
    /// The socket [default for the guardian: the one of /etc/lockgate/guardian.toml]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The folder of keys, state and logs [default: `lockgate/server` in the user's data folder; for the guardian the one of
    /// /etc/lockgate/guardian.toml]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) team: team::TeamArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Make, list or revoke the tokens of the team server
    #[command(subcommand, after_help = token::TOKEN_EXAMPLES)]
    Token(token::TokenCommand),
    /// Ask a running server whether it can judge calls
    #[command(after_help = health::HEALTH_EXAMPLES)]
    Health(health::HealthArguments),
}

pub(crate) fn run(
    arguments: &ServeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match &arguments.command {
        Some(ServeCommand::Token(command)) => token::run(command, json, console),
        Some(ServeCommand::Health(arguments)) => health::run(arguments, json, console),
        None if arguments.guardian => guard(arguments, console),
        None => {
            let ServeArguments { files, socket, data, team, .. } = arguments;
            let (socket, data) = (socket.as_deref(), data.as_deref());
            team::run(&team::TeamServer { files, socket, data, team }, console)
        }
    }
}

/// The guardian's process.
fn guard(arguments: &ServeArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let machine = Machine::read().map_err(CommandError::said)?;
    let Some(mut machine) = machine else {
        return Err(CommandError::Said(format!(
            "`{FILE}` is missing, so no user is guarded; run `sudo lockgate guardian install`"
        )));
    };
    let here = std::env::current_dir()?;
    machine.socket = arguments.socket.as_ref().map_or(machine.socket, |socket| here.join(socket));
    machine.data = arguments.data.as_ref().map_or(machine.data, |data| here.join(data));
    if machine.serves(machine.user) {
        let text =
            "the guardian guards its own user, which protects nothing: that user can change everything";
        writeln!(console.err, "warning: {text}")?;
    }
    let (socket, users) = (machine.socket.display().to_string(), machine.users.len());
    let ended = Arc::new(AtomicBool::new(false));
    platform::on_end(&ended)?;
    let peer_user = platform::peer_user()?;
    let desk = GuardianDesk { clock: arguments.team.clock };
    let daemon = Daemon::bind(machine, Limits::default(), Box::new(desk)).map_err(CommandError::said)?;
    writeln!(console.err, "the guardian of {users} users listens at {socket}")?;
    // The text of a panic may hold anything; the request is refused, and that is said to its client.
    std::panic::set_hook(Box::new(|_| {}));
    daemon.run(&peer_user, &ended)?;
    writeln!(console.err, "the guardian has ended")?;
    Ok(Ending::Yes)
}
