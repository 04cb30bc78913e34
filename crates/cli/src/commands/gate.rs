//! `lockgate gate`: the line protocol on stdin and stdout.

use std::{io, path::PathBuf};

use clap::{Args, ValueEnum};
use lockgate::{
    Gate,
    call::visible,
    store::{Options, Sqlite},
};
use lockgate_agents::{hook::protection_of_files, settings};

use crate::{
    arguments::{ExecArguments, KnownToolsArguments, ModeArgument, RegistryArguments},
    console::{CommandError, Console, Ending},
    serve::{Clock, ServeOptions, serve},
};

#[derive(Debug, Args)]
pub(crate) struct GateArguments {
    /// Policy files or folders
    #[arg(required = true, value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// Where to store sessions: memory, or sqlite:FILE
    #[arg(long, value_name = "URL", default_value = "memory")]
    pub(crate) store: String,
    /// The session of lines that do not name one
    #[arg(long, value_name = "ID", default_value = "default", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// The clock: the machine's, or the `at` of each line in milliseconds since 1970
    #[arg(long, value_enum, default_value = "real")]
    pub(crate) clock: ClockArgument,
    /// Enforce the rules, or let every call pass and only say what the verdict would be
    #[arg(long, value_enum, default_value = "enforce")]
    pub(crate) mode: ModeArgument,
    /// Block calls that would change the files of this policy, the store or Lockgate, and calls that mention a command
    /// for humans
    #[arg(long)]
    pub(crate) protect: bool,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    #[command(flatten)]
    pub(crate) exec: ExecArguments,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

pub(crate) const GATE_EXAMPLES: &str = "\
Example:
  $ lockgate gate ops.rules
  {\"call\": {\"id\": \"1\", \"tool\": \"test\"}}
  {\"id\":\"1\",\"session\":\"default\",\"verdict\":\"allow\",\"reason\":\"\", …}
  {\"result\": {\"id\": \"1\", \"ok\": true}}
  {\"id\":\"1\",\"session\":\"default\",\"settled\":true,\"verdict\":\"allow\"}

Lines: call, result, answer, session, stage, net, halt, resume, untaint, status,
prompt.
Exit 0, or 2 if a line could not be read.";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClockArgument {
    Real,
    Lines,
}

impl From<ClockArgument> for Clock {
    fn from(argument: ClockArgument) -> Self {
        match argument {
            ClockArgument::Real => Self::Real,
            ClockArgument::Lines => Self::Lines,
        }
    }
}

pub(crate) fn run(arguments: &GateArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let shelf = shelf(&arguments.store)?;
    let policy = super::opening::open_telling(&arguments.files, &arguments.known, console)?;
    if !arguments.exec.exec {
        let remedy = "run `lockgate gate` with `--exec`";
        if let Some(line) = settings::exec_not_run(&policy, remedy) {
            writeln!(console.err, "warning: {}", visible(&line))?;
        }
    }
    let mut builder = Gate::builder(policy).mode(arguments.mode.into());
    if arguments.protect {
        let state = shelf.as_ref().map(|shelf| shelf.path().to_path_buf());
        builder = builder.protect(protection_of_files(&arguments.files, state.as_deref()));
    }
    if let Some(shelf) = shelf {
        builder = builder.shelf(shelf);
    }
    let builder = arguments.registry.registry().lend(builder);
    let built = super::opening::lend_runner(builder, &arguments.exec).build();
    let gate = built.map_err(CommandError::said)?;
    let options = ServeOptions { session: arguments.session.clone(), clock: arguments.clock.into() };
    let served = serve(&gate, &options, io::stdin().lock(), &mut *console.out)?;
    Ok(if served.errors == 0 { Ending::Yes } else { Ending::CouldNotTell })
}

/// Where sessions are kept: none for memory, else a SQLite file.
fn shelf(store: &str) -> Result<Option<Sqlite>, CommandError> {
    let path = match store.split_once(':') {
        _ if store == "memory" => return Ok(None),
        Some(("sqlite", path)) => path,
        None if store.contains(['/', '.']) => store,
        _ => {
            let text = format!(
                "no store answers to `{store}`; try `--store memory`, or `--store sqlite:FILE` to keep sessions in a file"
            );
            return Err(CommandError::Said(text));
        }
    };
    Sqlite::open(path, Options::default()).map(Some).map_err(CommandError::said)
}
