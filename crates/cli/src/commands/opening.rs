//! How commands open a policy, and lend a gate what it needs.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use lockgate::{
    Policy,
    engine::{GateBuilder, LocalRunner},
};

use super::in_force;
use crate::{
    arguments::{ExecArguments, KnownToolsArguments},
    console::{CommandError, Console},
    known_tools::{doubts, known_tools, lines},
};

/// Opens a policy, or draws everything that is wrong with it.
pub(crate) fn open(files: &[impl AsRef<Path>]) -> Result<Policy, CommandError> {
    Policy::builder().files(files).load().map_err(CommandError::from)
}

/// Opens a policy and prints its warnings: a command that judges calls shows them too.
pub(crate) fn open_telling(
    files: &[PathBuf],
    known: &KnownToolsArguments,
    console: &mut Console<'_>,
) -> Result<Policy, CommandError> {
    let sources = in_force::sources(files, console)?;
    let policy = Policy::builder().sources(&sources).load().map_err(CommandError::from)?;
    let known = known_tools(known, files)?;
    for line in lines(&doubts(&policy.compiled(), policy.findings().to_vec(), &sources, &known)) {
        writeln!(console.err, "{line}")?;
    }
    Ok(policy)
}

/// Lends a gate what runs the programs of conditions.
pub(crate) fn lend_runner(builder: GateBuilder, options: &ExecArguments) -> GateBuilder {
    match runner_from(options) {
        Some(runner) => builder.runner(runner),
        None => builder,
    }
}

/// What runs the programs of conditions: nothing, unless the command line allows it.
pub(crate) fn runner_from(options: &ExecArguments) -> Option<LocalRunner> {
    let runner = options.exec.then(LocalRunner::new)?;
    Some(match options.exec_limit {
        Some(seconds) => runner.limit(Duration::from_secs(seconds)),
        None => runner,
    })
}
