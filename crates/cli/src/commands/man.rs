//! `lockgate man`: the manual pages, made from the help of the commands.
//!
//! Without `--out` the main page goes to stdout; with it, a page for each command goes into a folder. They say what
//! `--help` says, so there is no second text to keep up to date.

use std::{fs, path::PathBuf};

use clap::Args;

use crate::console::{CommandError, Console, Ending};

pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  lockgate man | man -l -             read the main page
  lockgate man --out ~/.local/share/man/man1    write a page for each command";

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Prints or writes the pages of the whole command line.
pub(crate) fn run(
    arguments: &ManArguments,
    command: clap::Command,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let Some(folder) = &arguments.out else {
        clap_mangen::Man::new(command).render(console.out)?;
        return Ok(Ending::Yes);
    };
    let cannot = |error: std::io::Error| {
        CommandError::Said(format!("cannot write manual pages into `{}`: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(command, folder).map_err(cannot)?;
    writeln!(console.err, "manual pages in `{}`; read one with `man -l FILE`", folder.display())?;
    Ok(Ending::Yes)
}
