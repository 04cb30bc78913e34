//! A database that every handle opens anew.

use std::{path::PathBuf, time::Duration};

use lockgate::engine::{Time, gate::Backend};
use lockgate_store::{Durability, Options, Query, Sqlite};
use tempfile::TempDir;

use super::Rest;

/// A database in a folder of its own; every handle is a connection of its own, as another process would have.
pub struct SqliteRest {
    folder: TempDir,
    durability: Durability,
}

impl SqliteRest {
    /// An empty one.
    ///
    /// # Panics
    /// If there is no folder for it.
    pub fn new(durability: Durability) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), durability }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gate.db")
    }

    /// Another connection.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn store(&self) -> Sqlite {
        let options =
            Options { durability: self.durability, wait: Duration::from_secs(120), ..Options::default() };
        Sqlite::open(self.path(), options).unwrap()
    }
}

impl Rest for SqliteRest {
    fn open(&self) -> Box<dyn Backend> {
        Box::new(self.store())
    }

    fn audit_log(&self) -> Vec<String> {
        let store = self.store();
        let verified = store.verify_trail(None, &mut |_| {}).unwrap();
        assert!(verified.is_whole(), "{:?}", verified.problems);
        store.audit_log(Query::default()).map(|link| link.unwrap().entry).collect()
    }

    fn forget(&self, before: Time, entry: &str) -> u64 {
        self.store().forget(before, 1_000, &|_| entry.to_owned()).unwrap()
    }
}
