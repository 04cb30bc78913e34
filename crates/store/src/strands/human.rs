//! The public key that signs answers of humans, in the row of the shared state.

use lockgate_gate::StoreError;

use super::backend::{Inner, StrandStore, TRIES_MAX};

impl StrandStore {
    /// The recorded key.
    ///
    /// # Errors
    /// When the database cannot be reached, or was changed.
    pub fn human_key(&self) -> Result<Option<[u8; 32]>, StoreError> {
        let rows = self.inner().read("")?;
        let key = rows.shared.and_then(|row| row.human_key);
        // The row is sealed: another length was never written.
        Ok(key.and_then(|key| key.try_into().ok()))
    }

    /// Records the key, if the recorded one is still `known`, with an entry of the audit log. Returns whether it did.
    ///
    /// # Errors
    /// When the database cannot be reached: then nothing was recorded.
    pub fn replace_human_key(
        &self,
        known: Option<&[u8; 32]>,
        key: &[u8; 32],
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.inner().replace_human_key(known, key, entry)
    }
}

impl Inner {
    fn replace_human_key(
        &self,
        known: Option<&[u8; 32]>,
        key: &[u8; 32],
        entry: &str,
    ) -> Result<bool, StoreError> {
        for _ in 0..TRIES_MAX {
            let _queue = self.queue("");
            let (rows, lock) = self.read_locked("", true)?;
            let recorded = rows.shared.as_ref().and_then(|row| row.human_key.as_deref());
            if recorded != known.map(|key| &key[..]) {
                return Ok(false);
            }
            let shared = self.next_shared(&rows, None, Some(key));
            let write = self.next_write("", &rows, None, &[entry.to_owned()], None, shared)?;
            match self.store(Some(lock), &write) {
                Err(StoreError::Conflict) => {}
                other => return other.map(|()| true),
            }
        }
        Err(self.unavailable("was changed by others again and again; try again"))
    }
}
