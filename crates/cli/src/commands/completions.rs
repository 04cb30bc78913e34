//! `lockgate completions`: a script that teaches a shell our words.

use crate::{
    args::{CompletionsArguments, command},
    console::{CommandError, Console, Ending},
};

pub(crate) fn run(
    arguments: &CompletionsArguments,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    // The generator panics when it cannot write, so it gets a place where it always can.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "lockgate", &mut script);
    console.out.write_all(&script)?;
    Ok(Ending::Yes)
}
