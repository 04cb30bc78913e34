//! Which settings a session is under: those of the folder it began in.

use std::{io, path::PathBuf};

use lockgate::engine::{
    gate::{Backend, Reach},
    store::{Options, Sqlite},
};

use super::session_folder::{self, Policies};
use crate::{
    environment::Environment,
    settings::{self, Settings},
};

/// The folder whose policy counts for a session, and the settings that count there.
///
/// # Errors
/// When they cannot be told, or when a policy that the session was under is gone: a weaker one never takes its place.
pub fn under(
    environment: &Environment,
    session: &str,
    folder: Option<&str>,
) -> Result<(PathBuf, Settings), String> {
    let here = std::env::current_dir().map_err(|error| format!("this process has no folder: {error}"))?;
    let folder = folder.map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
    let folder = folder.unwrap_or(here);
    let records = records(environment).ok_or("the home folder is not known, so nothing can be remembered")?;
    let unknown = |error: io::Error| format!("the policy of this session is not known: {error}");
    if !session_folder::is_known(&records, session)
        && settings::find(&folder, environment).is_ok_and(|settings| was_judged(&settings, session))
        // Another process may have begun the session just now.
        && !session_folder::is_known(&records, session)
    {
        return Err(format!(
            "the session `{session}` was judged before, and where it began is not known any more, so every call is \
             blocked; start a new session"
        ));
    }
    let home = session_folder::folder_of(&records, session, &folder).map_err(unknown)?;
    let settings = settings::find(&home, environment).map_err(|error| error.to_string())?;
    match session_folder::missing_policy(&records, session, policies(&settings)).map_err(unknown)? {
        Some(missing) => Err(missing.to_string()),
        None => Ok((home, settings)),
    }
}

/// Keeps whose policies a session is under: from now on it blocks where one of them is gone.
pub fn remember(
    environment: &Environment,
    session: &str,
    settings: &Settings,
    hash: Option<&str>,
) -> Result<(), String> {
    let records = records(environment).ok_or("the home folder is not known, so nothing can be remembered")?;
    session_folder::remember(&records, session, policies(settings), hash)
        .map_err(|error| format!("the policy of this session cannot be remembered: {error}"))
}

fn policies(settings: &Settings) -> Policies<'_> {
    Policies {
        project: settings.project.as_ref().map(|project| project.root.as_path()),
        user: settings.user.as_ref().map(|user| user.folder.as_path()),
    }
}

/// Whether the database knows a session. A database that cannot be opened is reported where it is needed.
fn was_judged(settings: &Settings, session: &str) -> bool {
    let is_there = std::fs::symlink_metadata(&settings.state).is_ok_and(|data| data.len() > 0);
    is_there
        && Sqlite::open(&settings.state, Options::default())
            .is_ok_and(|backend| backend.lock(session, Reach::Look).is_ok_and(|row| row.session().is_some()))
}

fn records(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("lockgate").join("sessions"))
}

/// The folder whose policy counts for a session that hooks have seen, by its whole name.
pub fn folder_of_session(environment: &Environment, session: &str) -> Option<PathBuf> {
    session_folder::known_folder(&records(environment)?, session)
}
