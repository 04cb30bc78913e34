//! The command `lockgate`: terminal, environment and the line protocol.
//!
//! [`run`] reads the command line and gives the exit code; each command is one file under `commands`.
//! [`protocol`] and [`Server`] are public because other doors and tests speak the same lines. Nothing is
//! decided about a call in here: that is the library's work.

mod args;
mod books;
mod commands;
mod console;
mod human;
mod known_tools;
mod pages;
mod progress;
pub mod protocol;
mod report;
mod reports;
mod serve;
mod session_text;
mod state;
mod tool_list;
mod when;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use console::Console;
use lockgate_agents::{Agent, Environment, hook};

pub use serve::{Clock, ServeOptions, Served, Server, serve};

/// Does what the command line of this process says.
pub fn run() -> ExitCode {
    let arguments = args::Arguments::read();
    if let args::Command::Hook(args::HookArguments { agent }) = &arguments.command
        && let Some(agent) = Agent::named(agent)
    {
        hook::run(agent, &Environment::of_process());
    }
    let mut stdout: Box<dyn Write> = if arguments.speaks_itself() {
        Box::new(io::sink())
    } else if arguments.prints_data() {
        // Nothing may be taken out of data, not even what looks like a colour.
        Box::new(io::stdout().lock())
    } else {
        Box::new(anstream::stdout().lock())
    };
    // Not locked: while something is proved, another thread says that it takes long.
    let mut stderr = anstream::stderr();
    ExitCode::from(commands::run(&arguments, &mut Console { out: &mut stdout, err: &mut stderr }))
}
