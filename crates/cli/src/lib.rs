//! The command `lockgate`: terminal, environment and the line protocol.
//!
//! [`run`] reads the command line and gives the exit code; each command is one file under `commands`.
//! Nothing is decided about a call in here: that is the library's work.

mod arguments;
mod command_line;
mod commands;
mod console;
mod elevated;
mod human;
mod known_tools;
mod lasting;
mod pages;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
mod progress;
mod proxy_line;
mod report;
mod reports;
mod service;
mod session_index;
mod session_text;
mod state;
mod team_server;
mod tool_list;
mod version;
mod when;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use command_line::{Arguments, Command};
use console::Console;

use lockgate_server::lines as serve;
pub use lockgate_server::{
    lines::{Clock, ServeOptions, Served, Server, serve},
    protocol,
};

/// Does what the command line of this process says.
pub fn run() -> ExitCode {
    let arguments = Arguments::read();
    if let Some(file) = &arguments.machine {
        // Absolute, because a command may start in another folder than its settings.
        lockgate_agents::machine::choose(&std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    }
    if let Command::Hook(arguments) = &arguments.command {
        commands::hook::run(arguments);
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
    let console = &mut Console { out: &mut stdout, err: &mut stderr };
    let code = match elevated::settle(&arguments) {
        Ok(()) => command_line::run(&arguments, console),
        Err(error) => command_line::end(Err(error), console),
    };
    ExitCode::from(code)
}
