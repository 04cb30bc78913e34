//! The policy a command works on: the files that it names or, without any, the policy in force in this folder.
//!
//! The policy in force is found as hooks find it ([`settings::find`]). A command that uses it says on stderr which one
//! that is, because the answer depends on where someone stands. A policy that is there and cannot be used is an error
//! here as it is there.

use std::{env, path::PathBuf};

use lockgate::{
    Policy,
    engine::{Source, call::visible, read_sources},
};
use lockgate_agents::{
    Environment,
    settings::{self, Origin, Settings},
};

use crate::console::{CommandError, Console, dim};

/// Opens the policy.
pub(super) fn open(files: &[PathBuf], console: &mut Console<'_>) -> Result<Policy, CommandError> {
    match files {
        [] => Policy::builder().sources(&sources(files, console)?).load().map_err(CommandError::from),
        files => Policy::builder().files(files).load().map_err(CommandError::from),
    }
}

/// The texts of the policy.
pub(super) fn sources(files: &[PathBuf], console: &mut Console<'_>) -> Result<Vec<Source>, CommandError> {
    if !files.is_empty() {
        return read_sources(files).map_err(CommandError::from);
    }
    let settings = settings_here()?;
    say(&settings, console)?;
    settings.sources().map_err(CommandError::from)
}

/// The settings in force in this folder.
pub(super) fn settings_here() -> Result<Settings, CommandError> {
    settings::find(&env::current_dir()?, &Environment::of_process()).map_err(CommandError::said)
}

/// Says which policy is in force.
pub(super) fn say(settings: &Settings, console: &mut Console<'_>) -> Result<(), CommandError> {
    writeln!(console.err, "{}", dim(format!("policy in force: {}", visible(&which(settings)))))?;
    Ok(())
}

/// Where the policy in force is.
pub(super) fn which(settings: &Settings) -> String {
    let files: Vec<String> = settings.files().iter().map(|file| file.display().to_string()).collect();
    match (&settings.origin, settings.has_built_in()) {
        (Origin::BuiltIn, _) => "the built-in policy (`lockgate init` writes your own)".to_owned(),
        (_, true) => format!("{} and the built-in policy", files.join(", ")),
        (_, false) => files.join(", "),
    }
}
