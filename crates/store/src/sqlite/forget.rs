//! What may go: sessions that nobody uses any more, and the old part of the audit log.
//!
//! Both go in small steps, each a short transaction of its own, so that nobody who waits for a verdict waits long;
//! and both leave an entry in the audit log. Nothing goes by itself: whoever runs Lockgate says when.

use lockgate_gate::{StoreError, Time};
use rusqlite::{Connection, params};

use super::{
    backend::Sqlite,
    columns::{bytes, fixed, number, whole},
    log,
};
use crate::{
    audit::{Checkpoint, Hash, Head, entry_key, link_hash},
    error::Fault,
};

/// At most so many sessions are forgotten in one transaction.
pub const FORGET_BATCH_MAX: usize = 1_000;

/// So many records are pruned in one transaction.
const PRUNE_BATCH: u64 = 1_000;

/// A session nobody has used since, unless a human has answered one of its open questions since: then somebody
/// still waits for it.
const FORGETTABLE: &str = "clock < ?1 AND (questions = 0 OR NOT EXISTS \
     (SELECT 1 FROM answer WHERE answer.session = session.name AND answer.at >= ?1))";

impl Sqlite {
    /// Forgets sessions that nobody has used since a moment, with the answers that were given to them: so many at
    /// a time, at least 1 and at most [`FORGET_BATCH_MAX`]. `entry` is told their names and says what the audit log
    /// says about it. How many were forgotten.
    ///
    /// # Errors
    /// When the database cannot be reached: then what was forgotten so far is, and is in the audit log.
    pub fn forget(
        &self,
        before: Time,
        batch: usize,
        entry: &dyn Fn(&[String]) -> String,
    ) -> Result<u64, StoreError> {
        let batch = batch.clamp(1, FORGET_BATCH_MAX);
        let names = self.read(|connection| forgettable(connection, before))?;
        let mut forgotten = 0;
        for names in names.chunks(batch) {
            let lent = self.begin()?;
            let forget = || {
                let gone = forget_some(&lent, names, before)?;
                if gone.is_empty() {
                    return Ok(0);
                }
                let head = self.signer.append(&lent, [entry(&gone).as_str()])?;
                self.commit(&lent, Some(head))?;
                Ok(gone.len() as u64)
            };
            forgotten += forget().map_err(|fault| self.told(fault))?;
        }
        self.forget_orphans(before, batch)?;
        Ok(forgotten)
    }

    /// Answers to sessions that never came to be, or that were forgotten before the answer came.
    fn forget_orphans(&self, before: Time, batch: usize) -> Result<(), StoreError> {
        loop {
            let lent = self.begin()?;
            let forget = || -> Result<usize, Fault> {
                let sql = "DELETE FROM answer WHERE (session, number) IN (SELECT session, number FROM answer \
                           WHERE at < ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE name = answer.session) LIMIT ?2)";
                let gone = lent.prepare_cached(sql)?.execute(params![whole(before), batch as i64])?;
                self.commit(&lent, None)?;
                Ok(gone)
            };
            if forget().map_err(|fault| self.told(fault))? < batch {
                return Ok(());
            }
        }
    }

    /// Prunes the oldest records of the audit log: those before the first that is not older than a moment, and
    /// never the last. A signed checkpoint stays in their place, so that the rest still verifies; what is pruned
    /// is verified first. `entry` says in the audit log that it was done. How many were pruned.
    ///
    /// # Errors
    /// When the database cannot be reached, or a record that would go is not as it was written.
    pub fn prune_trail(&self, before: Time, entry: &str) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let lent = self.begin()?;
            let prune = || -> Result<u64, Fault> {
                let mut head = self.signer.trusted_head(&lent)?;
                // The last record stays where it is: the head names it.
                let until = (head.pruned + PRUNE_BATCH).min(head.n.saturating_sub(1));
                let old = old_records(&lent, &head, before, until)?;
                let Some((n, hash, at)) = old else { return Ok(0) };
                let gone = n - head.pruned;
                lent.prepare_cached("DELETE FROM trail WHERE n <= ?1")?.execute([n as i64])?;
                lent.prepare_cached("DELETE FROM checkpoint WHERE n < ?1")?.execute([n as i64])?;
                let checkpoint = Checkpoint::signed(n, hash, at, &head.database, self.signer.key());
                log::keep_checkpoint(&lent, &checkpoint)?;
                head.pruned = n;
                let mut head = head.signed(self.signer.key());
                log::write_head(&lent, &head)?;
                if pruned == 0 {
                    head = self.signer.append(&lent, [entry])?;
                }
                self.commit(&lent, Some(head))?;
                Ok(gone)
            };
            match prune().map_err(|fault| self.told(fault))? {
                0 => return Ok(pruned),
                gone => pruned += gone,
            }
        }
    }
}

fn forgettable(connection: &Connection, before: Time) -> Result<Vec<String>, Fault> {
    let mut statement =
        connection.prepare(&format!("SELECT name FROM session WHERE {FORGETTABLE} ORDER BY clock"))?;
    let names = statement.query_map([whole(before)], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Forgets those that still nobody has used.
fn forget_some(connection: &Connection, names: &[String], before: Time) -> Result<Vec<String>, Fault> {
    let mut session =
        connection.prepare_cached(&format!("DELETE FROM session WHERE name = ?2 AND {FORGETTABLE}"))?;
    let mut answers = connection.prepare_cached("DELETE FROM answer WHERE session = ?1")?;
    // A session of the same name would number its questions from the start; none may inherit a short id.
    let mut short_ids = connection.prepare_cached("DELETE FROM short WHERE session = ?1")?;
    let mut gone = Vec::new();
    for name in names {
        if session.execute(params![whole(before), name])? == 1 {
            answers.execute([name])?;
            short_ids.execute([name])?;
            gone.push(name.clone());
        }
    }
    Ok(gone)
}

/// The last record of those that are old and stand at the beginning, if they are as they were written.
fn old_records(
    connection: &Connection,
    head: &Head,
    before: Time,
    until: u64,
) -> Result<Option<(u64, Hash, Time)>, Fault> {
    let damaged = |n: u64| {
        Fault::told(format!(
            "was not pruned: record {n} of its audit log is not as it was written; see what `verify` says of it"
        ))
    };
    let mut prev = log::hash_before_first(connection, head)?.ok_or_else(|| damaged(head.pruned))?;
    let mut statement =
        connection.prepare_cached("SELECT n, prev, hash, entry FROM trail WHERE n <= ?1 ORDER BY n")?;
    let mut rows = statement.query([until as i64])?;
    let mut last = None;
    let mut due = head.pruned;
    while let Some(row) = rows.next()? {
        due += 1;
        let n = number(row, 0)?;
        // The moment the entry names, which is vouched for, not the one it is filed under.
        let entry = std::str::from_utf8(bytes(row, 3)).map_err(|_| damaged(due))?;
        let at = Time(entry_key(entry)?.at);
        if at >= before {
            break;
        }
        let hash = link_hash(due, &prev, entry.as_bytes());
        if n != due || fixed(row, 1) != Some(prev) || fixed(row, 2) != Some(hash) {
            return Err(damaged(due));
        }
        last = Some((n, hash, at));
        prev = hash;
    }
    Ok(last)
}
