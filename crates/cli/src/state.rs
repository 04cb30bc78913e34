//! The state database, for the commands of operators.
//!
//! [`open_state`] opens what is there. It never makes a database: someone who mistypes a path must not find an empty
//! audit log in good order. [`make_state`] is for the kill switch alone, which has to work before the first call, and
//! makes no database but the one that hooks in this folder will use.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use lockgate::engine::{
    Database,
    call::visible,
    open_store,
    store::{Options, Sqlite},
};
use lockgate_agents::{Environment, settings};

use crate::console::CommandError;

/// Opens a database, or the one that the settings of the current folder name.
pub(crate) fn open_state(path: Option<&Path>) -> Result<Sqlite, CommandError> {
    let (path, options) = place_of_state(path)?;
    if !is_there(&path) {
        let text = format!(
            "Lockgate has not judged a call here yet: the database `{}` does not exist; name another with --state",
            path.display()
        );
        return Err(CommandError::Said(text));
    }
    open(&path, options)
}

/// The database of a URL, for what can be done to a store that machines share; or else the one that [`open_state`] opens.
pub(crate) fn open_database(store: Option<&str>, path: Option<&Path>) -> Result<Database, CommandError> {
    let Some(url) = store else {
        return open_state(path).map(|file| Database::Sqlite(Arc::new(file)));
    };
    match url.split_once("://") {
        Some(_) => open_store(url).map_err(CommandError::said)?.ok_or_else(|| {
            CommandError::Said(format!("`{}` is no store that others can read", visible(url)))
        }),
        None => Err(CommandError::Said(
            "`--store` takes the URL of a store that machines share; name a file with `--state`".to_owned(),
        )),
    }
}

/// The same, but none where this folder's own database is not there yet. A database that was named has to be there.
pub(crate) fn open_state_if_there(path: Option<&Path>) -> Result<Option<Sqlite>, CommandError> {
    match path {
        Some(_) => open_state(path).map(Some),
        None => {
            let (place, options) = place_of_state(None)?;
            if is_there(&place) { open(&place, options).map(Some) } else { Ok(None) }
        }
    }
}

/// The same, but makes this folder's own database where it is not there yet.
pub(crate) fn make_state(path: Option<&Path>) -> Result<Sqlite, CommandError> {
    match path {
        Some(_) => open_state(path),
        None => {
            let (place, options) = place_of_state(None)?;
            open(&place, options)
        }
    }
}

/// Where the database is, and how it is opened.
fn place_of_state(path: Option<&Path>) -> Result<(PathBuf, Options), CommandError> {
    let environment = Environment::of_process();
    if path.is_none() && environment.is_guarded() {
        return Err(CommandError::Said(
            "the guardian owns the state of this user; run this command with `sudo`".to_owned(),
        ));
    }
    let settings = settings::find(&env::current_dir()?, &environment);
    match (path, settings) {
        // Settings that cannot be read are told where they are needed.
        (Some(path), settings) => {
            let options = settings.map(|settings| settings.store_options(path)).unwrap_or_default();
            Ok((path.to_path_buf(), options))
        }
        (None, Ok(settings)) => {
            let options = settings.store_options(&settings.state);
            Ok((settings.state, options))
        }
        (None, Err(error)) => Err(CommandError::said(error)),
    }
}

/// An empty file does not count: opening would make a database of it.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| !data.is_file() || data.len() > 0)
}

fn open(path: &Path, options: Options) -> Result<Sqlite, CommandError> {
    Sqlite::open(path, options).map_err(CommandError::said)
}
