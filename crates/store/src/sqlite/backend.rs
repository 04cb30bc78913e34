//! Sessions, answers and the audit log in one SQLite file.
//!
//! [`Sqlite`] keeps the promise of a [`Backend`]: a decision that may change a session holds the database's only write
//! lock until it has written or given up, so no other writer can be first, in this process or another; and what is
//! written is on disk before the caller is told ([`Durability::Full`]). A reader never waits for a writer. What is read is
//! compared with what must be there (`state.rs`), so rows that somebody changed, deleted or brought back block their
//! session. A process that comes for one decision opens one connection; a second is opened only for looking while the
//! first is lent. There is no thread in here.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use lockgate_gate::{Backend, LockedRow, Reach, RowWrite, SessionListing, StoreError, StoredAnswer, Time};
use rusqlite::Connection;

use super::{
    anchor::AnchorFile,
    columns::question,
    connection::{Options, WAIT_MAX, connect, is_busy, run, shorten_log},
    log,
    prepare::prepare,
    rows::{Change, Moment, StoredRows},
    schema,
    state::{Signer, State},
    turns::{Lent, Turns},
};
use crate::{
    error::{Fault, OpenError, locked_for},
    files,
};

/// A log that is longer than this when the store is opened is moved into the file, if no other process uses it. The
/// first reader reads all of it, so it must not become long; and a process that makes one decision and ends never
/// finds the moment to do so by itself.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// One SQLite file that sessions, answers and the audit log rest in.
pub struct Sqlite {
    path: PathBuf,
    options: Options,
    turns: Turns,
    /// Opened when somebody looks while the other is lent.
    reader: Mutex<Option<Connection>>,
    pub(super) signer: Signer,
    anchor: Option<AnchorFile>,
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
        let wait = options.patience();
        let sql = |error| OpenError::sql(&path, wait, &error);
        let connection = connect(&path, &options).map_err(sql)?;
        let signer = schema::ready(&connection, &path, wait)?;
        let check = |anchor: &PathBuf| AnchorFile::check(anchor, wait, &signer, &path, &connection);
        let anchor = options.anchor.as_ref().map(check).transpose()?;
        if files::length_of(&files::beside(&path, "-wal")) > LOG_BYTES_MAX {
            shorten_log(&connection, wait).map_err(sql)?;
        }
        let (turns, reader) = (Turns::new(connection), Mutex::default());
        Ok(Self { path, options, turns, reader, signer, anchor })
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
        fault.at(&self.path, self.options.patience())
    }

    /// Reads without waiting for a writer.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        if let Some(lent) = self.turns.lend_now() {
            // The last decision may have left only what remained of its own wait.
            lent.busy_timeout(self.options.patience() / 2).map_err(|error| self.told(error.into()))?;
            return read(&lent).map_err(|fault| self.told(fault));
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match reader.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        read(reader.insert(connection)).map_err(|fault| self.told(fault))
    }

    /// Reads one moment of the database, with its state.
    pub(crate) fn read_state<T>(
        &self,
        read: impl FnOnce(Moment<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.read(|connection| {
            // Nothing is read yet: the moment is that of the first look, which is at the state.
            let connection = &*connection.unchecked_transaction()?;
            let state = &self.signer.state(connection)?;
            read(Moment { connection, signer: &self.signer, state })
        })
    }

    /// Changes the database, or nothing if the work says that there is nothing to write.
    pub(crate) fn change<T>(
        &self,
        work: impl FnOnce(&mut Change<'_>) -> Result<(T, bool), Fault>,
    ) -> Result<T, StoreError> {
        let lent = self.begin()?;
        let change = || {
            let state = self.signer.state(&lent)?;
            let mut change = Change { connection: &lent, signer: &self.signer, state };
            let (done, is_changed) = work(&mut change)?;
            if is_changed {
                self.commit(change)?;
            }
            Ok(done)
        };
        change().map_err(|fault| self.told(fault))
    }

    /// The connection with the database's only write lock; what is not committed is rolled back. Many who come one after
    /// the other are waited for; one who holds the lock and does nothing is not.
    pub(crate) fn begin(&self) -> Result<Lent<'_>, StoreError> {
        let deadline = Instant::now() + self.options.wait;
        let mut seen = None;
        loop {
            let round = Instant::now() + self.options.patience() / 2;
            match self.begin_until(round.min(deadline)) {
                Ok(lent) => return Ok(lent),
                Err(Some(error)) => return Err(self.told(error.into())),
                Err(None) => {}
            }
            let counter = self.read(log::counter)?;
            if seen == Some(counter) || Instant::now() >= deadline {
                return Err(self.told(Fault::Told(locked_for(self.options.patience()))));
            }
            seen = Some(counter);
        }
    }

    /// None if it was still locked then.
    fn begin_until(&self, deadline: Instant) -> Result<Lent<'_>, Option<rusqlite::Error>> {
        let lent = self.turns.lend(deadline).ok_or(None)?;
        let left = deadline.saturating_duration_since(Instant::now());
        match lent.busy_timeout(left).and_then(|()| run(&lent, "BEGIN IMMEDIATE")) {
            Ok(()) => Ok(lent),
            Err(error) if is_busy(&error) => Err(None),
            Err(error) => Err(Some(error)),
        }
    }

    /// Signs the head, commits, and notes how far the database has come.
    pub(crate) fn commit(&self, change: Change<'_>) -> Result<(), Fault> {
        let Change { connection, signer, state } = change;
        let head = state.write(connection, signer)?;
        run(connection, "COMMIT")?;
        signer.know(&head);
        match &self.anchor {
            Some(anchor) => anchor.note(signer, &head),
            None => Ok(()),
        }
    }
}

impl Backend for Sqlite {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        if reach == Reach::Look {
            let rows = self.read_state(|moment| moment.rows(session))?;
            return Ok(Box::new(ReadSession { rows, path: &self.path }));
        }
        let lent = self.begin()?;
        let read = || {
            let state = self.signer.state(&lent)?;
            let moment = Moment { connection: &lent, signer: &self.signer, state: &state };
            Ok((moment.rows(session)?, state))
        };
        let (rows, state) = read().map_err(|fault| self.told(fault))?;
        Ok(Box::new(LockedSession { store: self, lent, name: session, reach, rows, state }))
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.change(|change| {
            if change.moment().answer(session, number)?.is_some() {
                return Ok((false, false));
            }
            change.write_answer(session, number, answer)?;
            change.append([entry])?;
            Ok((true, true))
        })
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        self.read_state(|moment| moment.answer(session, number))
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.change(|change| {
            if change.moment().answer(session, number)?.as_ref() != Some(answer) {
                return Ok((false, false));
            }
            change.remove_answer(session, question(number)?)?;
            change.append([entry])?;
            Ok((true, true))
        })
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
    state: State,
}

impl LockedRow for LockedSession<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.rows.session.as_deref()
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.rows.shared_state.as_deref()
    }

    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        let store = self.store;
        self.store_all(write).map_err(|fault| store.told(fault))
    }
}

impl LockedSession<'_> {
    fn store_all(self, write: &RowWrite<'_>) -> Result<(), Fault> {
        let Self { store, lent, name, reach, rows, state } = self;
        let mut change = Change { connection: &lent, signer: &store.signer, state };
        if let Some(session) = &write.session {
            change.write_session(name, rows.version, session)?;
        }
        if let Some(shared_state) = write.shared_state {
            if reach != Reach::SharedState {
                return Err(Fault::told(
                    "was to change one session, and would have changed them all; nothing was stored",
                ));
            }
            change.write_shared_state(rows.shared_version, shared_state)?;
        }
        change.append(write.entries.iter().map(String::as_str))?;
        store.commit(change)
    }
}

#[cfg(test)]
mod tests {
    use lockgate_gate::SessionRow;

    use super::*;
    use crate::Durability;

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
            let state = store.signer.state(&lent).unwrap();
            let (name, reach) = ("s", Reach::Session);
            let row = Box::new(LockedSession { store: &store, lent, name, reach, rows, state });
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
