//! Sessions, answers and the audit log in one SQLite file.
//!
//! [`Sqlite`] keeps the promise of a [`Backend`]: a decision that may change a session holds the database's only write
//! lock until it has written or given up, so no other writer can be first, in this process or another; and what is
//! written is on disk before the caller is told ([`Durability::Full`]). A reader never waits for a writer. A process that comes for one decision opens one connection; a second is opened only for looking while
//! the first is lent. There is no thread in here.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use lockgate_gate::{
    Backend, LockedRow, Reach, RowWrite, SessionListing, SessionRow, SignedAnswer, StoreError, StoredAnswer,
    Time,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, config::DbConfig, params};

use super::{
    columns::{question, whole},
    files,
    log::Signer,
    prepare::prepare,
    schema,
    turns::{Lent, Turns},
};
use crate::{
    audit::Head,
    error::{Fault, OpenError, locked_for},
};

/// The longest wait for a lock, whatever is asked for.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// A log that is longer than this when the store is opened is moved into the file, if no other process uses it. The
/// first reader reads all of it, so it must not become long; and a process that makes one decision and ends never
/// finds the moment to do so by itself.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait for others before giving up; at most [`WAIT_MAX`].
    pub wait: Duration,
    /// What survives a power cut.
    pub durability: Durability,
    /// How large the file may become; none for as large as the disk. What does not fit is not stored, and the
    /// gate blocks.
    pub bytes_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { wait: Duration::from_secs(5), durability: Durability::Full, bytes_max: None }
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

/// One SQLite file that sessions, answers and the audit log rest in.
pub struct Sqlite {
    path: PathBuf,
    options: Options,
    turns: Turns,
    /// Opened when somebody looks while the other is lent.
    reader: Mutex<Option<Connection>>,
    pub(super) signer: Signer,
}

/// Files are made and first opened one after the other: closing a file that was just made would give up the locks
/// that another connection of this process has on it by then.
static OPENING: Mutex<()> = Mutex::new(());

impl Sqlite {
    /// Opens the file, and makes it where there is none.
    ///
    /// # Errors
    /// When it is not ours, not ours alone, of a form we do not know, damaged or without its key: with the reason
    /// and what to do. It is never replaced.
    pub fn open(path: impl AsRef<Path>, mut options: Options) -> Result<Self, OpenError> {
        options.wait = options.wait.min(WAIT_MAX);
        let _one_by_one = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = prepare(path.as_ref())?;
        let sql = |error| OpenError::sql(&path, options.wait, &error);
        let connection = connect(&path, &options).map_err(sql)?;
        let key = schema::ready(&connection, &path, options.wait)?;
        if files::length_of(&files::beside(&path, "-wal")) > LOG_BYTES_MAX {
            shorten_log(&connection, options.wait).map_err(sql)?;
        }
        let (turns, reader) = (Turns::new(connection), Mutex::default());
        Ok(Self { path, options, turns, reader, signer: Signer::new(key) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The public half of the key that signs the audit log, to note where nothing that can change the database can
    /// reach it.
    pub fn public_key(&self) -> [u8; 32] {
        self.signer.public_key()
    }

    /// Another connection to the same file.
    pub(crate) fn connect(&self) -> Result<Connection, StoreError> {
        connect(&self.path, &self.options).map_err(|error| self.told(error.into()))
    }

    pub(crate) fn told(&self, fault: Fault) -> StoreError {
        fault.at(&self.path, self.options.wait)
    }

    /// Reads without waiting for a writer.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        if let Some(lent) = self.turns.lend_now() {
            // The last decision may have left only what remained of its own wait.
            lent.busy_timeout(self.options.wait).map_err(|error| self.told(error.into()))?;
            return read(&lent).map_err(|fault| self.told(fault));
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match reader.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        read(reader.insert(connection)).map_err(|fault| self.told(fault))
    }

    /// The connection with the database's only write lock; what is not committed is rolled back.
    pub(crate) fn begin(&self) -> Result<Lent<'_>, StoreError> {
        let deadline = Instant::now() + self.options.wait;
        let waited = || Fault::Told(locked_for(self.options.wait));
        let lent = self.turns.lend(deadline).ok_or_else(waited).map_err(|fault| self.told(fault))?;
        let left = deadline.saturating_duration_since(Instant::now());
        let begun = lent.busy_timeout(left).and_then(|()| run(&lent, "BEGIN IMMEDIATE"));
        begun.map_err(|error| self.told(error.into()))?;
        Ok(lent)
    }

    /// Commits, and remembers the head that was signed.
    pub(crate) fn commit(&self, connection: &Connection, head: Option<Head>) -> Result<(), Fault> {
        run(connection, "COMMIT")?;
        if let Some(head) = head {
            self.signer.know(head);
        }
        Ok(())
    }

    fn look(&self, session: &str) -> Result<StoredRows, StoreError> {
        self.read(|connection| stored_rows(connection, session).map_err(Fault::from))
    }
}

fn connect(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    // SQLite must not make the file: it would not be ours alone from its first moment.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.wait)?;
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
fn shorten_log(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.busy_timeout(wait)
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// A session and the shared state, as they are stored.
#[derive(Default)]
struct StoredRows {
    version: Option<i64>,
    session: Option<Vec<u8>>,
    shared_state: Option<Vec<u8>>,
}

/// One statement, so both are of the same moment.
fn stored_rows(connection: &Connection, session: &str) -> rusqlite::Result<StoredRows> {
    connection
        .prepare_cached(
            "SELECT version, session.bytes, commons.bytes FROM (SELECT 1) \
             LEFT JOIN session ON name = ?1 LEFT JOIN commons ON one = 1",
        )?
        .query_row([session], |row| {
            Ok(StoredRows { version: row.get(0)?, session: row.get(1)?, shared_state: row.get(2)? })
        })
}

impl Backend for Sqlite {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        if reach == Reach::Look {
            return Ok(Box::new(ReadSession { rows: self.look(session)?, path: &self.path }));
        }
        let lent = self.begin()?;
        let rows = stored_rows(&lent, session).map_err(|error| self.told(error.into()))?;
        Ok(Box::new(LockedSession { store: self, lent, name: session, reach, rows }))
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        let lent = self.begin()?;
        let keep = || {
            let StoredAnswer { granted, by, at, proof } = answer;
            let kept = lent
                .prepare_cached(
                    "INSERT INTO answer(session, number, granted, by, at, proof) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![session, question(number)?, granted, by, whole(*at), proof_text(proof)])?;
            if kept == 0 {
                return Ok(false);
            }
            let head = self.signer.append(&lent, [entry])?;
            self.commit(&lent, Some(head))?;
            Ok(true)
        };
        keep().map_err(|fault| self.told(fault))
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT granted, by, at, proof FROM answer WHERE session = ?1 AND number = ?2",
            )?;
            Ok(statement.query_row(params![session, question(number)?], stored_answer).optional()?)
        })
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        let lent = self.begin()?;
        let reject = || {
            let found = lent
                .prepare_cached(
                    "SELECT granted, by, at, proof FROM answer WHERE session = ?1 AND number = ?2",
                )?
                .query_row(params![session, question(number)?], stored_answer)
                .optional()?;
            if found.as_ref() != Some(answer) {
                return Ok(false);
            }
            lent.prepare_cached("DELETE FROM answer WHERE session = ?1 AND number = ?2")?
                .execute(params![session, question(number)?])?;
            let head = self.signer.append(&lent, [entry])?;
            self.commit(&lent, Some(head))?;
            Ok(true)
        };
        reject().map_err(|fault| self.told(fault))
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT name, clock, questions FROM session ORDER BY clock DESC, name")?;
            let rows = statement.query_map([], |row| {
                let clock = Time(row.get::<_, i64>(1)?.max(0) as u64);
                Ok(SessionListing {
                    session: row.get(0)?,
                    clock,
                    questions: row.get::<_, i64>(2)?.max(0) as u64,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// An answer as it is stored. A proof that cannot be read is none.
pub(super) fn stored_answer(row: &Row<'_>) -> rusqlite::Result<StoredAnswer> {
    let at = Time(row.get::<_, i64>(2)?.max(0) as u64);
    let proof = row.get_ref(3)?.as_str_or_null().ok().flatten();
    let proof = proof.and_then(|text| serde_json::from_str::<SignedAnswer>(text).ok()).map(Arc::new);
    // Whatever is not plainly a yes is a no.
    Ok(StoredAnswer { granted: row.get::<_, i64>(0)? == 1, by: row.get(1)?, at, proof })
}

fn proof_text(proof: &Option<Arc<SignedAnswer>>) -> Option<String> {
    proof.as_deref().and_then(|proof| serde_json::to_string(proof).ok())
}

/// A session that somebody looks at.
struct ReadSession<'a> {
    rows: StoredRows,
    path: &'a Path,
}

impl LockedRow for ReadSession<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.rows.session.as_deref()
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.rows.shared_state.as_deref()
    }

    fn write(self: Box<Self>, _: &RowWrite<'_>) -> Result<(), StoreError> {
        let why = "was opened for reading only, so nothing can be stored";
        Err(StoreError::Unavailable(format!("`{}` {why}", self.path.display())))
    }
}

/// A session under the database's write lock.
struct LockedSession<'a> {
    store: &'a Sqlite,
    lent: Lent<'a>,
    name: &'a str,
    reach: Reach,
    rows: StoredRows,
}

impl LockedRow for LockedSession<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.rows.session.as_deref()
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.rows.shared_state.as_deref()
    }

    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        self.store_all(write).map_err(|fault| self.store.told(fault))
    }
}

impl LockedSession<'_> {
    fn store_all(&self, write: &RowWrite<'_>) -> Result<(), Fault> {
        if let Some(session) = &write.session {
            self.write_session(session)?;
        }
        if let Some(shared_state) = write.shared_state {
            if self.reach != Reach::SharedState {
                return Err(Fault::told(
                    "was to change one session, and would have changed them all; nothing was stored",
                ));
            }
            let sql = "INSERT INTO commons VALUES (1, ?1) ON CONFLICT DO UPDATE SET bytes = excluded.bytes";
            self.lent.prepare_cached(sql)?.execute([shared_state])?;
        }
        let head = match write.entries {
            [] => None,
            entries => Some(self.store.signer.append(&self.lent, entries.iter().map(String::as_str))?),
        };
        self.store.commit(&self.lent, head)
    }

    /// No other writer can be first while the lock is held; should the lock ever not hold, this finds out.
    fn write_session(&self, session: &SessionRow<'_>) -> Result<(), Fault> {
        let SessionRow { bytes, clock, questions } = *session;
        let (clock, questions) = (whole(clock), i64::try_from(questions).unwrap_or(i64::MAX));
        let written = match self.rows.version {
            Some(version) => self
                .lent
                .prepare_cached(
                    "UPDATE session SET version = version + 1, clock = ?3, questions = ?4, bytes = ?5 \
                     WHERE name = ?1 AND version = ?2",
                )?
                .execute(params![self.name, version, clock, questions, bytes])?,
            None => self
                .lent
                .prepare_cached("INSERT INTO session VALUES (?1, 1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
                .execute(params![self.name, clock, questions, bytes])?,
        };
        if written == 1 { Ok(()) } else { Err(Fault::Conflict) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_even_if_the_lock_did_not_hold() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path().join("gate.db"), Options::default()).unwrap();
        let session = Some(SessionRow { bytes: b"1", clock: Time(1), questions: 0 });
        let write = RowWrite { session, ..RowWrite::default() };
        store.lock("s", Reach::Session).unwrap().write(&write).unwrap();
        for version in [None, Some(0), Some(2)] {
            let rows = StoredRows { version, ..StoredRows::default() };
            let lent = store.begin().unwrap();
            let row = Box::new(LockedSession { store: &store, lent, name: "s", reach: Reach::Session, rows });
            assert!(matches!(row.write(&write), Err(StoreError::Conflict)), "{version:?}");
        }
    }

    #[test]
    fn what_was_asked_for_is_what_sqlite_does() {
        let folder = tempfile::tempdir().unwrap();
        for (durability, expected) in [(Durability::Full, 2), (Durability::Normal, 1)] {
            let options = Options { durability, ..Options::default() };
            let store = Sqlite::open(folder.path().join("gate.db"), options).unwrap();
            let lent = store.begin().unwrap();
            for (pragma, expected) in
                [("synchronous", expected), ("trusted_schema", 0), ("cell_size_check", 1)]
            {
                let found: i64 = lent.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
                assert_eq!(found, expected, "{pragma}");
            }
        }
    }
}
