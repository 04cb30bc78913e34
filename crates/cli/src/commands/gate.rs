//! `lockgate gate`: the line protocol on stdin and stdout.

use std::io;

use lockgate::{
    Gate,
    call::visible,
    store::{Options, Sqlite},
};
use lockgate_agents::{hook::protection_of_files, settings};

use crate::{
    args::GateArguments,
    console::{CommandError, Console, Ending},
    serve::{ServeOptions, serve},
};

pub(crate) fn run(arguments: &GateArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let shelf = shelf(&arguments.store)?;
    let policy = super::open_telling(&arguments.files, &arguments.known, console)?;
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
    let built = super::lend_runner(builder, &arguments.exec).build();
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
