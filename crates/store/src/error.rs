//! Why a store was not opened, and why it could not do its work: in one sentence with place, reason and remedy.
//!
//! Nothing in here mends anything: a database that is damaged, foreign or open to others is refused, never
//! replaced, because an empty one would give every session back what it has spent.

use std::{fmt, path::Path, time::Duration};

use lockgate_gate::StoreError;
use rusqlite::ErrorCode;

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` {reason}")]
pub struct OpenError {
    path: String,
    reason: String,
    kind: OpenErrorKind,
}

/// What kind of reason it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// Not a regular file: a folder, a link, a pipe.
    NotAFile,
    /// Another user owns it.
    ForeignOwner,
    /// Others may write it, or read the key.
    OpenToOthers,
    /// Another program's database.
    Foreign,
    /// A newer Lockgate wrote it.
    Newer,
    /// It holds tables but does not say in which form.
    NoVersion,
    /// It is not a database, or a damaged one.
    Damaged,
    /// The key that signed the audit log is not there, or is another one.
    NoKey,
    /// The database is gone while its key is still there.
    Vanished,
    /// It is older than its key or its anchor says, or was changed so that it seems older.
    RolledBack,
    /// The anchor file is not there, is not one, or belongs to another database.
    NoAnchor,
    /// Others kept it locked for too long.
    Busy,
    /// The disk, the folder or the system failed.
    Failed,
}

impl OpenError {
    pub(crate) fn new(path: &Path, kind: OpenErrorKind, reason: impl Into<String>) -> Self {
        Self { path: path.display().to_string(), reason: reason.into(), kind }
    }

    pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Self {
        let reason = format!("cannot be {doing}: {error}; check the folder, its owner and its permissions");
        Self::new(path, OpenErrorKind::Failed, reason)
    }

    pub(crate) fn sql(path: &Path, wait: Duration, error: &rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenErrorKind::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => OpenErrorKind::Damaged,
            _ => OpenErrorKind::Failed,
        };
        Self::new(path, kind, reason_of(wait, error))
    }

    /// Why a database that could be opened is not used.
    pub(crate) fn fault(path: &Path, wait: Duration, fault: Fault) -> Self {
        match fault {
            Fault::Sql(error) => Self::sql(path, wait, &error),
            Fault::Told(reason) | Fault::Tampered(reason) => Self::new(path, OpenErrorKind::Damaged, reason),
            Fault::Conflict => Self::new(path, OpenErrorKind::Busy, "was changed meanwhile; try again"),
        }
    }

    /// What kind of reason it is.
    pub fn kind(&self) -> OpenErrorKind {
        self.kind
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Why something inside did not work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// We say so; the sentence goes on after the path.
    Told(String),
    /// Somebody changed what is stored; the sentence goes on after the path.
    Tampered(String),
    /// Somebody else was first.
    Conflict,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    pub(crate) fn told(sentence: impl fmt::Display) -> Self {
        Self::Told(sentence.to_string())
    }

    /// What somebody did to the whole database, with what is to be done about it.
    pub(crate) fn tampered(what: impl fmt::Display) -> Self {
        Self::Tampered(format!(
            "{what}. Stop and tell the user. For the user: `lockgate audit verify` lists what was changed; restore the \
             database from a copy, or move it and its key aside to begin with no sessions"
        ))
    }

    /// What somebody did to one row, with what is to be done about it.
    pub(crate) fn tampered_row(what: impl fmt::Display) -> Self {
        Self::Tampered(format!(
            "{what}. Stop and tell the user. For the user: `lockgate audit verify` lists what was changed; restore the \
             database from a copy, start another session, or give this one's state up with `lockgate resume --session NAME \
             --damaged`"
        ))
    }

    /// The sentence for the caller.
    pub(crate) fn at(self, path: &Path, wait: Duration) -> StoreError {
        let reason = match self {
            Self::Conflict => return StoreError::Conflict,
            Self::Tampered(reason) => {
                return StoreError::Tampered(format!("`{}` {reason}", path.display()));
            }
            Self::Told(reason) => reason,
            Self::Sql(error) => reason_of(wait, &error),
        };
        StoreError::Unavailable(format!("`{}` {reason}", path.display()))
    }
}

fn reason_of(wait: Duration, error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => locked_for(wait),
        Some(ErrorCode::DiskFull) => {
            "cannot grow: the disk is full, or the file is as large as it may be; make room".to_owned()
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "is damaged ({error}); restore it from a copy without the `-wal` and `-shm` beside it, or move all of them and the key aside to begin with no sessions"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!(
                "cannot be opened and written ({error}); check the file, its folder and their permissions"
            )
        }
        _ => {
            format!("failed ({error}); check the disk, and restore the file from a copy if it happens again")
        }
    }
}

pub(crate) fn locked_for(wait: Duration) -> String {
    let ms = wait.as_millis();
    format!("was kept locked by others for {ms} ms; try again, or end the process that holds it")
}
