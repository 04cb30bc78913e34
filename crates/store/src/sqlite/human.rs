//! The public key of the human who answers, as this database has known it first.
//!
//! A key that is recorded here is compared with the one in the user's folder: replacing one of them is noticed. Only
//! [`Sqlite::replace_human_key`] records another, and it leaves an entry in the audit log.

use lockgate_gate::{StoreError, Time};
use rusqlite::{OptionalExtension, params};

use super::{
    backend::Sqlite,
    columns::{fixed, whole},
    log,
};
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
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT key FROM human WHERE one = 1")?;
            let found = statement.query_row([], |row| Ok(fixed::<32>(row, 0))).optional()?;
            match found {
                None => Ok(None),
                Some(Some(key)) => Ok(Some(key)),
                Some(None) => Err(Fault::told("holds a damaged key of the human; restore it from a copy")),
            }
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
        let lent = self.begin()?;
        let replace = || {
            let recorded = lent
                .prepare_cached("SELECT key FROM human WHERE one = 1")?
                .query_row([], |row| row.get::<_, Vec<u8>>(0))
                .optional()?;
            if recorded.as_deref() != known.map(|key| &key[..]) {
                return Ok(false);
            }
            lent.prepare_cached("INSERT OR REPLACE INTO human VALUES (1, ?1, ?2)")?
                .execute(params![key, whole(at)])?;
            let head = self.signer.append(&lent, [entry])?;
            self.commit(&lent, Some(head))?;
            Ok(true)
        };
        replace().map_err(|fault: Fault| self.told(fault))
    }
}
