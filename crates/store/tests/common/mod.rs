//! What the tests of the store share: a database in a folder of its own, and a way behind its back.

#![allow(clippy::unwrap_used, reason = "this is a test, though clippy cannot tell")]

use std::path::{Path, PathBuf};

use lockgate_gate::{Backend, Reach, RowWrite, SessionRow, StoreError, StoredAnswer, Time};
use lockgate_store::{Options, Sqlite, Verified};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A database with so many records, closed again.
    pub(crate) fn with_records(count: u64) -> Self {
        let home = Self::new();
        let store = home.open();
        for start in (1..=count).step_by(500) {
            let entries: Vec<_> = (start..=count.min(start + 499)).map(|n| entry(n, "s")).collect();
            put(&store, "s", b"bytes", start, &entries).unwrap();
        }
        drop(store);
        home.behind_our_back("");
        home
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join("gate.db")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder().join("gate.db.key")
    }

    pub(crate) fn open(&self) -> Sqlite {
        Sqlite::open(self.path(), Options::default()).unwrap()
    }

    /// Runs SQL as somebody would who has the file and no manners. Closing moves the log into the file.
    pub(crate) fn behind_our_back(&self, sql: &str) {
        let connection = Connection::open(self.path()).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).unwrap();
    }

    pub(crate) fn verify(&self) -> Verified {
        self.open().verify_trail(None, &mut |_| {}).unwrap()
    }
}

pub(crate) fn entry(at: u64, session: &str) -> String {
    format!(r#"{{"at":{at},"session":"{session}","policy":"p","what":"operator","act":"halt"}}"#)
}

pub(crate) fn put(
    store: &Sqlite,
    session: &str,
    bytes: &[u8],
    clock: u64,
    entries: &[String],
) -> Result<(), StoreError> {
    let taken = store.lock(session, Reach::Session)?;
    let resting = SessionRow { bytes, clock: Time(clock), questions: 0 };
    taken.write(&RowWrite { session: Some(resting), shared_state: None, entries })
}

pub(crate) fn bytes_of(store: &Sqlite, session: &str) -> Option<Vec<u8>> {
    store.lock(session, Reach::Look).unwrap().session().map(<[u8]>::to_vec)
}

pub(crate) fn yes(at: u64) -> StoredAnswer {
    StoredAnswer::unsigned(true, "ann", Time(at))
}

/// Every entry, in order.
pub(crate) fn entries(store: &Sqlite) -> Vec<String> {
    store.audit_log(lockgate_store::Query::default()).map(|link| link.unwrap().entry).collect()
}
