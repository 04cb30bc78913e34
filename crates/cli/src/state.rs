//! The state database, for the commands of operators.
//!
//! [`open_state`] opens what is there. It never makes a database: someone who mistypes a path must not find an empty
//! audit log in good order. [`make_state`] is for the kill switch alone, which has to work before the first call, and
//! makes no database but the one that hooks in this folder will use.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use lockgate::engine::store::{Options, Sqlite};
use lockgate_agents::{Environment, settings};

use crate::console::CommandError;

/// Opens a database, or the one that the settings of the current folder name.
pub(crate) fn open_state(path: Option<&Path>) -> Result<Sqlite, CommandError> {
    let path = place_of_state(path)?;
    if !is_there(&path) {
        let text = format!(
            "Lockgate has not judged a call here yet: the database `{}` does not exist; name another with --state",
            path.display()
        );
        return Err(CommandError::Said(text));
    }
    open(&path)
}

/// The same, but none where this folder's own database is not there yet. A database that was named has to be there.
pub(crate) fn open_state_if_there(path: Option<&Path>) -> Result<Option<Sqlite>, CommandError> {
    match path {
        Some(_) => open_state(path).map(Some),
        None => {
            let place = place_of_state(None)?;
            if is_there(&place) { open(&place).map(Some) } else { Ok(None) }
        }
    }
}

/// The same, but makes this folder's own database where it is not there yet.
pub(crate) fn make_state(path: Option<&Path>) -> Result<Sqlite, CommandError> {
    match path {
        Some(_) => open_state(path),
        None => open(&place_of_state(None)?),
    }
}

fn place_of_state(path: Option<&Path>) -> Result<PathBuf, CommandError> {
    match path {
        Some(path) => Ok(path.to_path_buf()),
        None => settings::find(&env::current_dir()?, &Environment::of_process())
            .map(|settings| settings.state)
            .map_err(CommandError::said),
    }
}

/// An empty file does not count: opening would make a database of it.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| !data.is_file() || data.len() > 0)
}

fn open(path: &Path) -> Result<Sqlite, CommandError> {
    Sqlite::open(path, Options::default()).map_err(CommandError::said)
}
