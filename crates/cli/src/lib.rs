//! The command `lockgate`: terminal, environment and the line protocol.
//!
//! [`run`] reads the command line and gives the exit code; each command is one file under `commands`.
//! [`protocol`] and [`Server`] are public because other doors and tests speak the same lines. Nothing is
//! decided about a call in here: that is the library's work.

mod arguments;
mod command_line;
mod commands;
mod console;
mod human;
mod known_tools;
mod pages;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
mod progress;
pub mod protocol;
mod report;
mod reports;
mod serve;
mod session_index;
mod session_text;
mod state;
mod tool_list;
mod when;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use command_line::{Arguments, Command};
use console::Console;

pub use serve::{Clock, ServeOptions, Served, Server, serve};

/// Does what the command line of this process says.
pub fn run() -> ExitCode {
    let arguments = Arguments::read();
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
    ExitCode::from(command_line::run(&arguments, &mut Console { out: &mut stdout, err: &mut stderr }))
}
