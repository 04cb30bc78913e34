//! Stores that gates on many machines share, on servers that are started for a test.

use lockgate::engine::{Time, gate::Backend};
use lockgate_store::{Position, StrandStore};

use super::Rest;

/// A server that is started for a test.
pub trait SharedServer: Sync {
    /// What it is, in the names of tests.
    fn name(&self) -> &'static str;

    /// An empty database.
    ///
    /// # Errors
    /// What could not be done.
    fn database(&self) -> Result<Box<dyn SharedRest + '_>, String>;

    /// Stops the server as a power cut would.
    ///
    /// # Errors
    /// What could not be done.
    fn crash(&self) -> Result<(), String>;

    /// Starts the server again, after it was stopped.
    ///
    /// # Errors
    /// What could not be done.
    fn run_server(&self) -> Result<(), String>;
}

/// A database of such a server; every handle has connections of its own, as another machine would have.
pub trait SharedRest: Sync {
    /// The URL of the store.
    fn url(&self) -> String;

    /// Another handle.
    fn store(&self) -> StrandStore;
}

impl Rest for Box<dyn SharedRest + '_> {
    fn open(&self) -> Box<dyn Backend> {
        Box::new(self.store())
    }

    fn audit_log(&self) -> Vec<String> {
        let store = self.store();
        store.seal_now().unwrap();
        let found = store.verify().unwrap();
        assert!(found.verified.is_whole(), "{:?}", found.verified.problems);
        let mut entries = Vec::new();
        let mut after = Position::default();
        loop {
            let records = store.records(after, None, 7).unwrap();
            let Some(last) = records.last() else { return entries };
            after = last.position;
            entries.extend(records.into_iter().map(|record| record.entry));
        }
    }

    fn forget(&self, before: Time, entry: &str) -> u64 {
        self.store().forget(before, &|_| entry.to_owned()).unwrap()
    }
}
