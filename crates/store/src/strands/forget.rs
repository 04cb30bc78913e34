//! What may go: sessions that were not used for a long time. Their strands stay.

use lockgate_gate::{StoreError, Time};

use super::{
    backend::{Inner, StrandStore, TRIES_MAX},
    columns::whole,
    engine::{ForgottenRow, StrandRow},
};

/// So many sessions are forgotten in one transaction.
const FORGET_BATCH: usize = 100;

impl StrandStore {
    /// Forgets sessions unused since a moment, with the answers that were given to them. `entry` gets their names and returns
    /// the entry for the audit log. Returns how many were forgotten.
    ///
    /// # Errors
    /// When the database cannot be reached: then what was forgotten so far is, and is in the audit log.
    pub fn forget(&self, before: Time, entry: &dyn Fn(&[String]) -> String) -> Result<u64, StoreError> {
        let inner = self.inner();
        let names = inner.engine.unused_since(before).map_err(|error| inner.told(error))?;
        let mut count = 0;
        for names in names.chunks(FORGET_BATCH) {
            count += inner.forget_some(names, before, entry)?;
        }
        inner.engine.remove_orphans(before).map_err(|error| inner.told(error))?;
        Ok(count)
    }
}

impl Inner {
    fn forget_some(
        &self,
        names: &[String],
        before: Time,
        entry: &dyn Fn(&[String]) -> String,
    ) -> Result<u64, StoreError> {
        for _ in 0..TRIES_MAX {
            let mut forgotten = Vec::new();
            for name in names {
                let rows = self.read(name)?;
                let Some(row) = rows.session.filter(|row| row.bytes.is_some() && row.clock < whole(before.0))
                else {
                    continue;
                };
                let seen = row.version;
                let row = StrandRow { version: seen + 1, bytes: None, questions: 0, ..row };
                forgotten.push(ForgottenRow { name: name.clone(), seen, row: self.sealed(name, row)? });
            }
            if forgotten.is_empty() {
                return Ok(0);
            }
            let gone: Vec<String> = forgotten.iter().map(|it| it.name.clone()).collect();
            let rows = self.read("")?;
            // What is about all sessions stands in the strand without a name, and a session may have that name.
            let mut rows_left = rows.clone();
            if let Some(own) = forgotten.iter().position(|it| it.name.is_empty()) {
                rows_left.session = Some(forgotten.remove(own).row);
            }
            let mut write = self.next_write("", &rows_left, None, &[entry(&gone)])?;
            write.seen = rows.session.as_ref().map_or(0, |row| row.version);
            write.forgotten = forgotten;
            match self.store(None, &write) {
                Err(StoreError::Conflict) => {}
                other => return other.map(|()| gone.len() as u64),
            }
        }
        Err(self.unavailable("was changed by others again and again; try again"))
    }
}
