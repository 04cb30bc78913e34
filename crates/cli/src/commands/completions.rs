//! `lockgate completions`: a script that teaches a shell our words.

use clap::Args;

use crate::console::{CommandError, Console, Ending};

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Example:
  lockgate completions fish > ~/.config/fish/completions/lockgate.fish";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Prints the script for the whole command line.
pub(crate) fn run(
    arguments: &CompletionsArguments,
    mut command: clap::Command,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    // The generator panics when it cannot write, so it gets a place where it always can.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "lockgate", &mut script);
    console.out.write_all(&script)?;
    Ok(Ending::Yes)
}
