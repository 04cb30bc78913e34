//! `lockgate fmt`: files of one-line rules in their one layout.
//!
//! Words and comments stay; only white space changes, so a policy means the same before and after.

use std::{fs, path::PathBuf};

use clap::Args;
use lockgate::engine::{Source, languages::format};
use serde::Serialize;

use crate::{
    console::{CommandError, Console, Ending},
    protocol::encode,
};

pub(crate) const FMT_EXAMPLES: &str = "\
Examples:
  lockgate fmt ops.rules              in place
  lockgate fmt --check *.rules        for CI: name what would change

Words and comments stay; only white space changes. Exit 0: done or nothing to
do, 1: with --check, a file would change, 2: not a file of one-line rules.";

#[derive(Debug, Args)]
pub(crate) struct FmtArguments {
    /// Files of one-line rules
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing, and exit with 1 if a file would change
    #[arg(long)]
    pub(crate) check: bool,
}

/// What became of a file, as `--json` prints it.
#[derive(Serialize)]
struct Formatted<'a> {
    file: &'a str,
    changed: bool,
}

pub(crate) fn run(
    arguments: &FmtArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let mut rewritten = Vec::new();
    // All are read before the first one is written: a wrong file among them changes nothing.
    for file in &arguments.files {
        let name = file.display().to_string();
        let text = fs::read_to_string(file)
            .map_err(|error| CommandError::Said(format!("cannot read `{name}`: {error}")))?;
        let source = Source::new(name.as_str(), text);
        let formatted = format(&source).ok_or_else(|| {
            let remedy = "`lockgate fmt` formats one-line rules alone; use a YAML formatter for this file";
            CommandError::Said(format!("`{name}` is not a file of one-line rules; {remedy}"))
        })?;
        rewritten.push((file, name, (formatted != source.text()).then_some(formatted)));
    }
    let is_well = !arguments.check || rewritten.iter().all(|(_, _, text)| text.is_none());
    for (file, name, text) in rewritten {
        if let (Some(text), false) = (&text, arguments.check) {
            fs::write(file, text)
                .map_err(|error| CommandError::Said(format!("cannot write `{name}`: {error}")))?;
        }
        if json {
            writeln!(console.out, "{}", encode(&Formatted { file: &name, changed: text.is_some() }))?;
        } else if text.is_some() {
            let verb = if arguments.check { "would change" } else { "formatted" };
            writeln!(console.err, "{verb} `{name}`")?;
        }
    }
    Ok(if is_well { Ending::Yes } else { Ending::No })
}
