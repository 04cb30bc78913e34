//! Which settings a session is under: those of the folder it began in.

use std::{
    io,
    path::{Path, PathBuf},
};

use lockgate::engine::{
    gate::{
        Backend, Reach, RowWrite,
        audit_log::{LogEntry, LogEvent},
    },
    store::{Options, Sqlite},
};

use serde_json::{Map, Value};

use super::session_folder::{self, Policies};
use crate::{
    environment::{Environment, now},
    settings::{self, FolderView, Settings},
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
    let judged = || settings::find(&folder, environment).is_ok_and(|settings| was_judged(&settings, session));
    check_beginning(environment, session, &judged)?;
    let records = records(environment).ok_or(NO_HOME)?;
    let home = session_folder::folder_of(&records, session, &folder).map_err(unknown)?;
    let settings = settings::find(&home, environment).map_err(|error| error.to_string())?;
    check_policies(environment, session, &settings)?;
    Ok((home, settings))
}

const NO_HOME: &str = "the home folder is not known, so nothing can be remembered";

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands the error over")]
fn unknown(error: io::Error) -> String {
    format!("the policy of this session is not known: {error}")
}

/// Whether a database knows a session; asked only where it matters.
type Judged<'a> = dyn Fn() -> bool + 'a;

/// The folder that a session began in, for the guardian: `folder` if this is its first event. Whether the folder is there is
/// for its client to see.
///
/// # Errors
/// When it is not known any more.
pub(crate) fn began_in(
    environment: &Environment,
    session: &str,
    folder: &Path,
    judged: &Judged<'_>,
) -> Result<PathBuf, String> {
    check_beginning(environment, session, judged)?;
    let records = records(environment).ok_or(NO_HOME)?;
    session_folder::recorded_folder(&records, session, folder).map(PathBuf::from).map_err(unknown)
}

/// The settings of a session, for the guardian, by what its client saw of the folder that the session began in.
///
/// # Errors
/// When they cannot be told, or a policy that the session was under is gone.
pub(crate) fn in_folder(
    environment: &Environment,
    session: &str,
    view: &FolderView,
) -> Result<Settings, String> {
    let settings = settings::find_in(view, environment).map_err(|error| error.to_string())?;
    check_policies(environment, session, &settings)?;
    Ok(settings)
}

/// Blocks a session that was judged before if it is not known where it began.
fn check_beginning(environment: &Environment, session: &str, judged: &Judged<'_>) -> Result<(), String> {
    let records = records(environment).ok_or(NO_HOME)?;
    if !session_folder::is_known(&records, session)
        && judged()
        // Another process may have begun the session just now.
        && !session_folder::is_known(&records, session)
    {
        return Err(format!(
            "the session `{session}` was judged before, and where it began is not known any more, so every call is \
             blocked; start a new session"
        ));
    }
    Ok(())
}

/// Blocks a session if a policy that it was under is gone, or its database is another one.
fn check_policies(environment: &Environment, session: &str, settings: &Settings) -> Result<(), String> {
    let records = records(environment).ok_or(NO_HOME)?;
    if let Some(missing) =
        session_folder::missing_policy(&records, session, policies(settings)).map_err(unknown)?
    {
        return Err(missing.to_string());
    }
    // Another database has other counts, and does not know what the session is bound to.
    let first = session_folder::database_of(&records, session, &settings.state).map_err(unknown)?;
    if Path::new(&first) != settings.state {
        return Err(format!(
            "this session is stored in `{first}`, but the settings name `{}`, so every call is blocked; tell the human: \
             restore `state` in the settings, or start a new session",
            settings.state.display()
        ));
    }
    check_database(environment, settings)
}

/// Blocks where the user's settings name another database than the one that new sessions were stored in.
///
/// # Errors
/// When they do, or when it cannot be told.
pub fn check_database(environment: &Environment, settings: &Settings) -> Result<(), String> {
    match other_database(environment, settings)? {
        None => Ok(()),
        Some(chosen) => Err(format!(
            "new sessions are stored in `{chosen}`, but the settings name `{}`, so every call is blocked; tell the human: \
             restore `state` in the settings, or run `lockgate accept-policy`",
            settings.state.display()
        )),
    }
}

/// The database that new sessions were stored in, if the user's settings name another one now: it knows neither what was
/// accepted nor what was counted. The guardian's settings are not the agent's to change, and a trusted project has been
/// shown to a human with its database.
///
/// # Errors
/// When it cannot be told.
pub fn other_database(environment: &Environment, settings: &Settings) -> Result<Option<String>, String> {
    if settings.state_is_projects || environment.is_guardian() {
        return Ok(None);
    }
    let records = records(environment).ok_or(NO_HOME)?;
    let chosen = session_folder::chosen_database(&records, &settings.state)
        .map_err(|error| format!("the database of new sessions is not known: {error}"))?;
    Ok((Path::new(&chosen) != settings.state).then_some(chosen))
}

/// Stores new sessions in the database that the settings name; a human has accepted it.
///
/// # Errors
/// When that cannot be kept.
pub fn accept_database(environment: &Environment, settings: &Settings) -> Result<(), String> {
    let records = records(environment).ok_or(NO_HOME)?;
    session_folder::choose_database(&records, &settings.state)
        .map_err(|error| format!("the database of new sessions cannot be kept: {error}"))
}

/// Keeps whose policies a session is under: from now on it blocks where one of them is gone.
pub fn remember(
    environment: &Environment,
    session: &str,
    settings: &Settings,
    hash: Option<&str>,
) -> Result<(), String> {
    let records = records(environment).ok_or(NO_HOME)?;
    session_folder::remember(&records, session, policies(settings), hash)
        .map_err(|error| format!("the policy of this session cannot be remembered: {error}"))
}

/// Logs that the hook of a session is not installed as it was; once for each session and each text.
pub(super) fn log_once(
    environment: &Environment,
    backend: &Sqlite,
    session: &str,
    told: &str,
) -> Result<(), String> {
    let records = records(environment).ok_or(NO_HOME)?;
    let failed = |error: &dyn std::fmt::Display| format!("a changed hook cannot be logged: {error}");
    if !session_folder::is_first(&records, session, told).map_err(|error| failed(&error))? {
        return Ok(());
    }
    let mut about = Map::new();
    about.insert("reason".to_owned(), Value::from(told));
    let what = LogEvent::Operator { act: "hook-changed".to_owned(), about };
    let entry = LogEntry { at: now().0, session: Some(session.to_owned()), policy: None, what };
    let row = backend.lock(session, Reach::Session).map_err(|error| failed(&error))?;
    let write = RowWrite { entries: &[entry.to_json()], ..RowWrite::default() };
    row.write(&write).map_err(|error| failed(&error))
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
    let records = records(environment)?;
    if environment.is_guardian() {
        return session_folder::known_text(&records, session).map(PathBuf::from);
    }
    session_folder::known_folder(&records, session)
}
