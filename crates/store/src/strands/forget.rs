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
        let orphans = inner.engine.orphans(before).map_err(|error| inner.told(error))?;
        for names in orphans.chunks(FORGET_BATCH) {
            inner.forget_orphans(names, before)?;
        }
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
                let (rows, answers) = self.answers(name)?;
                // It may have been used or answered meanwhile.
                let is_old = |row: &StrandRow| {
                    let is_awaited =
                        row.questions > 0 && answers.iter().any(|(_, it)| it.at >= whole(before.0));
                    row.bytes.is_some() && row.clock < whole(before.0) && !is_awaited
                };
                let Some(row) = rows.session.filter(is_old) else { continue };
                forgotten.push(self.forgotten(name, row, 0, i64::MAX)?);
            }
            if forgotten.is_empty() {
                return Ok(0);
            }
            let gone: Vec<String> = forgotten.iter().map(|it| it.name.clone()).collect();
            let mut rows = self.read("")?;
            // What is about all sessions stands in the strand without a name, and a session may have that name: it is forgotten first.
            if let Some(own) = forgotten.iter().find(|it| it.name.is_empty()) {
                rows.session = Some(own.row.clone());
            }
            let mut write = self.next_write("", &rows, None, &[entry(&gone)], None, None)?;
            write.forgotten = forgotten;
            match self.store(None, &write) {
                Err(StoreError::Conflict) => {}
                other => return other.map(|()| gone.len() as u64),
            }
        }
        Err(self.unavailable("was changed by others again and again; try again"))
    }

    /// Removes old answers to questions of sessions that are not there.
    fn forget_orphans(&self, names: &[String], before: Time) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            let mut forgotten = Vec::new();
            for name in names {
                let (rows, answers) = self.answers(name)?;
                let Some(row) = rows.session.filter(|row| row.bytes.is_none()) else { continue };
                let from = whole(before.0);
                let left = answers.iter().filter(|(_, answer)| answer.at >= from);
                let left = left.map(|(_, answer)| answer.version).sum();
                forgotten.push(self.forgotten(name, row, left, from)?);
            }
            let mut write = self.next_write("", &self.read("")?, None, &[], None, None)?;
            write.forgotten = forgotten;
            match self.store(None, &write) {
                Err(StoreError::Conflict) => {}
                other => return other,
            }
        }
        Err(self.unavailable("was changed by others again and again; try again"))
    }

    fn forgotten(
        &self,
        name: &str,
        row: StrandRow,
        answers: i64,
        answers_from: i64,
    ) -> Result<ForgottenRow, StoreError> {
        let seen = row.version;
        let row = StrandRow { version: seen + 1, bytes: None, questions: 0, answers, ..row };
        Ok(ForgottenRow { name: name.to_owned(), seen, row: self.sealed(name, row)?, answers_from })
    }
}
