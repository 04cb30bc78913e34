//! The commands: one file each, and here what they share.

mod check;
mod completions;
mod demo;
mod explain;
mod gate;
mod graph;
mod see;
mod verify;

use std::{io::ErrorKind, path::Path};

use lockgate::{OpenError, Opened, policy::render};

use crate::{
    args::{Arguments, Command},
    console::{CommandError, Console, Ending, wrong},
};

/// Runs a command and gives its exit code.
pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> u8 {
    let json = arguments.json;
    let ended = match &arguments.command {
        Command::Demo => demo::run(json, console),
        Command::Verify(arguments) => verify::run(arguments, json, console),
        Command::Check(arguments) => check::run(arguments, json, console),
        Command::Explain(arguments) => explain::run(arguments, json, console),
        Command::See(arguments) => see::run(arguments, json, console),
        Command::Graph(arguments) => graph::run(arguments, json, console),
        Command::Completions(arguments) => completions::run(arguments, console),
        // It speaks nothing but JSON anyway.
        Command::Gate(arguments) => gate::run(arguments, console),
    };
    // Nothing can be done when the terminal itself fails.
    let mut say = |text: &str| {
        let _ = writeln!(console.err, "{text}");
    };
    match ended {
        Ok(ending) => return ending.code(),
        // Whoever read our output has seen enough.
        Err(CommandError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => return Ending::Yes.code(),
        Err(CommandError::Drawn(text)) => say(&text),
        Err(error) => say(&format!("{}: {error}", wrong("error"))),
    }
    Ending::CouldNotTell.code()
}

/// Opens a policy, or draws everything that is wrong with it.
fn open(files: &[impl AsRef<Path>]) -> Result<Opened, CommandError> {
    lockgate::open(files).map_err(told)
}

fn told(error: OpenError) -> CommandError {
    match error {
        OpenError::Mistaken(mistakes) => CommandError::Drawn(render(&mistakes, true)),
        error => CommandError::said(error),
    }
}
