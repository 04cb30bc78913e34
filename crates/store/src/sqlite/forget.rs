//! What may go: unused sessions, and the old part of the audit log.
//!
//! Both go in small steps, each a short transaction of its own, so that no verdict is delayed for long;
//! and both leave an entry in the audit log. Nothing goes by itself: the operator says when.

use lockgate_gate::{StoreError, Time};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    backend::Sqlite,
    columns::{bytes, fixed, number, whole},
    log,
    rows::Change,
};
use crate::{
    audit::{Checkpoint, Hash, Head, entry_key, link_hash},
    error::Fault,
    seal::{Column, Place, Table},
};

/// At most so many sessions are forgotten in one transaction.
pub const FORGET_BATCH_MAX: usize = 1_000;

/// So many records are pruned in one transaction.
const PRUNE_BATCH: u64 = 1_000;

/// A session unused since then, unless a human has answered one of its open questions since: then somebody
/// still waits for it.
const FORGETTABLE: &str = "clock < ?1 AND (questions = 0 OR NOT EXISTS \
     (SELECT 1 FROM answer WHERE answer.session = session.name AND answer.at >= ?1))";

/// An old answer to a session that is not there.
const ORPHANED: &str = "at < ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE name = answer.session)";

impl Sqlite {
    /// Forgets sessions unused since a moment, with the answers that were given to them: so many at
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
        self.forget_unless(before, batch, &|_, _| false, entry)
    }

    /// The same, but keeps sessions that must stay: `keeps` is shown the bytes of each and the latest moment it has seen.
    ///
    /// # Errors
    /// As of [`Sqlite::forget`].
    pub fn forget_unless(
        &self,
        before: Time,
        batch: usize,
        keeps: &dyn Fn(&[u8], Time) -> bool,
        entry: &dyn Fn(&[String]) -> String,
    ) -> Result<u64, StoreError> {
        let batch = batch.clamp(1, FORGET_BATCH_MAX);
        let names = self.read(|connection| forgettable(connection, before))?;
        let mut forgotten = 0;
        for names in names.chunks(batch) {
            forgotten += self.change(|change| {
                let gone = forget_some(change, names, before, keeps)?;
                if !gone.is_empty() {
                    change.append([entry(&gone).as_str()])?;
                }
                Ok((gone.len() as u64, !gone.is_empty()))
            })?;
        }
        self.forget_orphans(before, batch)?;
        Ok(forgotten)
    }

    /// Answers to sessions that never came to be, or that were forgotten before the answer came.
    fn forget_orphans(&self, before: Time, batch: usize) -> Result<(), StoreError> {
        let orphans = self.read(|connection| {
            let mut statement =
                connection.prepare(&format!("SELECT session, number FROM answer WHERE {ORPHANED}"))?;
            let orphans = statement.query_map([whole(before)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(orphans.collect::<Result<Vec<(String, i64)>, _>>()?)
        })?;
        for orphans in orphans.chunks(batch) {
            self.change(|change| {
                let sql = format!(
                    "SELECT EXISTS (SELECT 1 FROM answer WHERE session = ?2 AND number = ?3 AND {ORPHANED})"
                );
                let mut is_orphaned = change.connection.prepare_cached(&sql)?;
                for (session, number) in orphans {
                    if is_orphaned.query_row(params![whole(before), session, number], |row| row.get(0))? {
                        change.remove_answer(session, *number)?;
                    }
                }
                Ok(((), true))
            })?;
        }
        Ok(())
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
            let gone = self.change(|change| {
                let head = change.state.head.clone();
                // The last record stays where it is: the head names it.
                let until = (head.pruned + PRUNE_BATCH).min(head.n.saturating_sub(1));
                let old = old_records(change.connection, &head, before, until)?;
                let Some((n, hash, at)) = old else { return Ok((0, false)) };
                let execute = |sql| change.connection.prepare_cached(sql)?.execute([n as i64]);
                execute("DELETE FROM trail WHERE n <= ?1")?;
                execute("DELETE FROM checkpoint WHERE n < ?1")?;
                let checkpoint = Checkpoint::signed(n, hash, at, &head.database, self.signer.key());
                log::keep_checkpoint(change.connection, &checkpoint)?;
                change.state.head.pruned = n;
                if pruned == 0 {
                    change.append([entry])?;
                }
                Ok((n - head.pruned, true))
            })?;
            match gone {
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

/// Forgets those that are still unused. One that was changed stays as it is, to be found: its clock may be what
/// was changed.
fn forget_some(
    change: &mut Change<'_>,
    names: &[String],
    before: Time,
    keeps: &dyn Fn(&[u8], Time) -> bool,
) -> Result<Vec<String>, Fault> {
    let connection = change.connection;
    let mut session =
        connection.prepare_cached(&format!("DELETE FROM session WHERE name = ?2 AND {FORGETTABLE}"))?;
    let mut answers = connection.prepare_cached("SELECT number FROM answer WHERE session = ?1")?;
    let mut short_ids = connection.prepare_cached("SELECT id FROM short WHERE session = ?1")?;
    let mut gone = Vec::new();
    for name in names {
        match change.moment().rows(name) {
            Ok(rows) => {
                let clock = "SELECT clock FROM session WHERE name = ?1";
                let clock: Option<i64> =
                    connection.prepare_cached(clock)?.query_row([name], |row| row.get(0)).optional()?;
                let clock = Time(clock.unwrap_or_default().max(0).cast_unsigned());
                if rows.session.is_some_and(|bytes| keeps(&bytes, clock)) {
                    continue;
                }
            }
            Err(Fault::Tampered(_)) => continue,
            Err(fault) => return Err(fault),
        }
        if session.execute(params![whole(before), name])? != 1 {
            continue;
        }
        change.remove(&Place { table: Table::Session, key: &[Column::Text(name)] })?;
        let numbers: Vec<i64> = answers.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for number in numbers {
            change.remove_answer(name, number)?;
        }
        // A session of the same name would number its questions from the start; none may inherit a short id.
        let ids: Vec<i64> = short_ids.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for id in ids {
            connection.prepare_cached("DELETE FROM short WHERE id = ?1")?.execute([id])?;
            change.remove(&Place { table: Table::ShortId, key: &[Column::Number(id)] })?;
        }
        gone.push(name.clone());
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
