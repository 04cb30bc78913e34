//! How a store is opened, and its connections.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

/// The longest wait for a lock, whatever is asked for.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// The longest wait while nothing is written: the process that holds the lock then hangs.
pub const LOCKED_MAX: Duration = Duration::from_secs(2);

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait for others before giving up; at most [`WAIT_MAX`], and at most [`LOCKED_MAX`] while none of
    /// them comes to an end.
    pub wait: Duration,
    /// What survives a power cut.
    pub durability: Durability,
    /// How large the file may become; none for as large as the disk. What does not fit is not stored, and the
    /// gate blocks.
    pub bytes_max: Option<u64>,
    /// A file in which every commit is noted, outside of the reach of those who could bring back an older copy of the
    /// database. It must be there, and may be empty.
    pub anchor: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { wait: Duration::from_secs(5), durability: Durability::Full, bytes_max: None, anchor: None }
    }
}

impl Options {
    /// How long to wait for one lock.
    pub(super) fn patience(&self) -> Duration {
        self.wait.min(LOCKED_MAX)
    }
}

/// What survives a power cut. A crash of the process alone loses nothing either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every verdict that was told.
    Full,
    /// All but the last few: faster, but a budget spent just before the cut may be there again.
    Normal,
}

/// Opens a file that is there.
pub(super) fn connect(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    // SQLite must not make the file: it would not be ours alone from its first moment.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.patience())?;
    // What somebody wrote into the schema is never run. And closing leaves the log as it is: moving it into the
    // file there would cost every process that comes for one decision as much as the decision itself.
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(config, on)?;
    }
    connection.execute_batch(match options.durability {
        Durability::Full => "PRAGMA cell_size_check = 1; PRAGMA synchronous = FULL",
        Durability::Normal => "PRAGMA cell_size_check = 1; PRAGMA synchronous = NORMAL",
    })?;
    if let Some(bytes) = options.bytes_max {
        let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages =
            i64::try_from(bytes).unwrap_or(i64::MAX).checked_div(page).unwrap_or(1).clamp(1, 0xffff_fffe);
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Without a wait: if other processes use the log, they or the next one will do it.
pub(super) fn shorten_log(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.busy_timeout(wait)
}

/// Whether others hold a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(super) fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}
