//! The public key of the human who answers, as this database has known it first.
//!
//! A key that is recorded here is compared with the one in the user's folder: replacing one of them is noticed. Only
//! [`Sqlite::replace_human_key`] records another, and it leaves an entry in the audit log.

use lockgate_gate::{StoreError, Time};

use super::{backend::Sqlite, log};
use crate::error::Fault;

impl Sqlite {
    /// The number that tells this database from all others; answers are signed for one database.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn database_id(&self) -> Result<[u8; 16], StoreError> {
        self.read(|connection| Ok(log::head(connection)?.database))
    }

    /// The public key of the human; none if none was recorded.
    ///
    /// # Errors
    /// When the database cannot be read, or what is recorded is not a key.
    pub fn human_key(&self) -> Result<Option<[u8; 32]>, StoreError> {
        self.read_state(|moment| match moment.human_key()? {
            None => Ok(None),
            Some((_, key)) => match key.try_into() {
                Ok(key) => Ok(Some(key)),
                Err(_) => Err(Fault::told("holds a damaged key of the human; restore it from a copy")),
            },
        })
    }

    /// Records the human's key, if the recorded one is still `known`, with an entry of the audit log. Returns whether it
    /// did.
    ///
    /// # Errors
    /// When the database cannot be reached: then nothing was recorded.
    pub fn replace_human_key(
        &self,
        known: Option<&[u8; 32]>,
        key: &[u8; 32],
        at: Time,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.change(|change| {
            let recorded = change.moment().human_key()?;
            if recorded.as_ref().map(|(_, key)| key.as_slice()) != known.map(|key| &key[..]) {
                return Ok((false, false));
            }
            change.write_human_key(recorded.map(|(version, _)| version), key, at)?;
            change.append([entry])?;
            Ok((true, true))
        })
    }
}
