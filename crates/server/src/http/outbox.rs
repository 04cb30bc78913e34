//! How far each receiver of webhooks was told, on disk.
//!
//! A [`Place`] is a number in the audit log, and what could not be told before it. Deliveries themselves are in `deliveries.rs`.

use std::{
    collections::BTreeMap,
    fs, io,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::problem::Problem;
use crate::{
    data_folder::{DataFolder, DataFolderError, write_private},
    webhooks::Webhooks,
};

/// How many dead letters are kept for a receiver, the latest.
const DEAD_MAX: usize = 100;

/// Who is told, and how far each of them was.
pub(super) struct Outbox {
    pub(super) webhooks: Webhooks,
    folder: PathBuf,
    places: Mutex<BTreeMap<String, Place>>,
}

/// How far a receiver was told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Place {
    /// The last record of the log that it was told of, or that it need not be told of.
    pub(super) after: u64,
    /// What it was not told.
    pub(super) dead: Vec<DeadLetter>,
    /// Records that it is told of again.
    #[serde(default)]
    pub(super) again: Vec<u64>,
}

/// A question that a receiver was not told of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeadLetter {
    /// The record of the log.
    pub(super) n: u64,
    pub(super) approval: String,
    pub(super) at: u64,
    pub(super) tries: u32,
    pub(super) why: String,
}

impl Place {
    /// Takes over what became of a record; `dead` is what was not told.
    pub(super) fn settle(&mut self, n: u64, dead: Option<DeadLetter>) {
        self.again.retain(|other| *other != n);
        self.after = self.after.max(n);
        self.dead.extend(dead);
        let surplus = self.dead.len().saturating_sub(DEAD_MAX);
        self.dead.drain(..surplus);
    }
}

impl Outbox {
    /// Reads the places of the receivers. One that is new begins at the head of the log: it is told of nothing that is past.
    ///
    /// # Errors
    /// When a place cannot be read or written.
    pub(super) fn open(webhooks: Webhooks, data: &DataFolder, head: u64) -> Result<Self, DataFolderError> {
        let outbox = Self { webhooks, folder: data.path().to_owned(), places: Mutex::default() };
        for webhook in &outbox.webhooks.all {
            let path = outbox.file(&webhook.name);
            let failed = |source| DataFolderError::Io { path: path.clone(), source };
            let place = match fs::read(&path) {
                Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(error.into()))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let place = Place { after: head, ..Place::default() };
                    write_private(&path, json!(place).to_string().as_bytes()).map_err(failed)?;
                    place
                }
                Err(error) => return Err(failed(error)),
            };
            outbox.places().insert(webhook.name.clone(), place);
        }
        Ok(outbox)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("outbox-{name}.json"))
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a receiver.
    pub(super) fn place(&self, name: &str) -> Place {
        self.places().get(name).cloned().unwrap_or_default()
    }

    /// Changes the place of a receiver, on disk first.
    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Place)) -> Result<(), Problem> {
        let mut places = self.places();
        let mut place = places.get(name).cloned().unwrap_or_default();
        change(&mut place);
        let text = json!(place).to_string();
        let written = write_private(&self.file(name), text.as_bytes());
        written
            .map_err(|_| Problem::unavailable("the outbox cannot be written; see the disk of the server"))?;
        places.insert(name.to_owned(), place);
        Ok(())
    }
}
