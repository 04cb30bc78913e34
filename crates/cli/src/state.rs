//! The state database, for the commands of operators.
//!
//! [`open_state`] opens what is there. It never makes a database by looking for one: whoever mistypes a path must not
//! find an empty trail in good order.

use std::{env, fs, path::Path};

use lockgate::store::{Options, Sqlite};

use crate::{
    console::CommandError,
    settings::{self, Environment},
};

/// Opens a database, or the one that the settings of the current folder name.
pub(crate) fn open_state(path: Option<&Path>) -> Result<Sqlite, CommandError> {
    let path = match path {
        Some(path) => path.to_path_buf(),
        None => settings::find(&env::current_dir()?, &Environment::of_process())
            .map(|settings| settings.state)
            .map_err(CommandError::said)?,
    };
    // An empty file would be made a database, too.
    let is_there = fs::symlink_metadata(&path).is_ok_and(|data| !data.is_file() || data.len() > 0);
    if !is_there {
        let text = format!(
            "no session has been judged here yet: there is no database `{}`; name another with --state",
            path.display()
        );
        return Err(CommandError::Said(text));
    }
    Sqlite::open(&path, Options::default()).map_err(CommandError::said)
}
