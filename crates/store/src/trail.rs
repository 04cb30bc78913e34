//! The audit trail in the database: how entries come in, and how they are read.
//!
//! [`append`] chains entries to the head and signs the new head, inside the caller's transaction. It first looks
//! whether the head is ours and the last record is the one it names: signing a head that somebody else wrote would
//! hide what they did. Finding out what they did is `verify.rs`; nothing in here repairs.

use std::{borrow::Cow, collections::VecDeque, sync::PoisonError};

use lockgate_gate::{StoreError, Time};
use rusqlite::{Connection, OptionalExtension, Row, params, types::ValueRef};
use serde::Deserialize;

use crate::{
    chain::{CHECKPOINT_EVERY, Checkpoint, Hash, Head, Link, START, link_hash},
    error::Fault,
    sqlite::Sqlite,
};

/// An entry may be so long; the gate names long texts by their hash, so honest ones are far shorter.
pub const ENTRY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How many records are read at once.
const READ_BATCH: usize = 500;

/// Which records to read.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only those after this number: whoever follows the trail asks again with the last one seen.
    pub after_n: u64,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those not before this moment.
    pub since: Option<Time>,
    /// Only those before this moment.
    pub until: Option<Time>,
    /// No more than so many.
    pub limit: Option<u64>,
}

impl Sqlite {
    /// The records that a query asks for, in order. They are read a few hundred at a time, so nobody waits for
    /// whoever reads.
    pub fn trail(&self, query: Query) -> Links<'_> {
        let left = query.limit.unwrap_or(u64::MAX);
        Links { store: self, query, left, batch: VecDeque::new(), is_over: false }
    }

    /// The signed end of the chain, to note where whoever can change the database cannot reach it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn head(&self) -> Result<Head, StoreError> {
        self.read(head)
    }
}

/// Records, in order.
pub struct Links<'a> {
    store: &'a Sqlite,
    query: Query,
    left: u64,
    batch: VecDeque<Link>,
    is_over: bool,
}

impl Iterator for Links<'_> {
    type Item = Result<Link, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty()
            && !self.is_over
            && let Err(error) = self.fill()
        {
            self.is_over = true;
            return Some(Err(error));
        }
        self.batch.pop_front().map(Ok)
    }
}

impl Links<'_> {
    fn fill(&mut self) -> Result<(), StoreError> {
        let count = self.left.min(READ_BATCH as u64);
        if count == 0 {
            self.is_over = true;
            return Ok(());
        }
        self.batch = self.store.read(|connection| links(connection, &self.query, count))?;
        self.left -= self.batch.len() as u64;
        match self.batch.back() {
            Some(last) => self.query.after_n = last.n,
            None => self.is_over = true,
        }
        Ok(())
    }
}

fn links(connection: &Connection, query: &Query, count: u64) -> Result<VecDeque<Link>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT n, prev, hash, entry FROM trail WHERE n > ?1 AND (?2 IS NULL OR session = ?2) \
         AND at >= ?3 AND at < ?4 ORDER BY n LIMIT ?5",
    )?;
    let since = query.since.map_or(i64::MIN, whole);
    // A moment that does not fit is later than all that do.
    let until = query.until.and_then(|until| i64::try_from(until.0).ok()).unwrap_or(i64::MAX);
    let after = i64::try_from(query.after_n).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after, query.session, since, until, whole(Time(count))])?;
    let mut links = VecDeque::new();
    while let Some(row) = rows.next()? {
        let n = number(row, 0)?;
        let link = (|| {
            let entry = std::str::from_utf8(bytes(row, 3)).ok()?.to_owned();
            Some(Link { n, prev: fixed(row, 1)?, hash: fixed(row, 2)?, entry })
        })();
        links.push_back(link.ok_or_else(|| {
            Fault::told(format!(
                "holds a damaged record {n} in its audit trail; see what `verify` says of it"
            ))
        })?);
    }
    Ok(links)
}

/// Chains entries to the head. What comes back is the head after them, to be remembered once it is committed.
pub(crate) fn append<'e>(
    store: &Sqlite,
    connection: &Connection,
    entries: impl IntoIterator<Item = &'e str>,
) -> Result<Head, Fault> {
    let mut head = trusted_head(store, connection)?;
    let mut insert = connection.prepare_cached("INSERT INTO trail VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for entry in entries {
        let Told { at, session } = told(entry)?;
        let (n, prev) = (head.n + 1, head.hash);
        head.hash = link_hash(n, &prev, entry.as_bytes());
        (head.n, head.at) = (n, Time(at));
        insert.execute(params![n as i64, at as i64, session, prev, head.hash, entry])?;
        if n.is_multiple_of(CHECKPOINT_EVERY) {
            keep_checkpoint(
                connection,
                &Checkpoint::signed(n, head.hash, head.at, &head.database, &store.key),
            )?;
        }
    }
    let head = head.signed(&store.key);
    write_head(connection, &head)?;
    Ok(head)
}

/// The head, if we signed it and the chain ends where it says.
pub(crate) fn trusted_head(store: &Sqlite, connection: &Connection) -> Result<Head, Fault> {
    let head = head(connection)?;
    let known = store.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if known.as_ref() != Some(&head) && !head.is_signed_by(&store.public_key()) {
        return Err(Fault::told(
            "has an audit trail that its key did not sign; see what `verify` says of it, and restore the database \
             and its key from a copy",
        ));
    }
    let last: Option<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT n, hash FROM trail ORDER BY n DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let ends_as_signed = match &last {
        Some((n, hash)) => *n == head.n as i64 && *hash == head.hash,
        None => head.n == head.pruned,
    };
    if !ends_as_signed {
        return Err(Fault::told(
            "has an audit trail that does not end where its signed head says; see what `verify` says of it, and \
             restore the database from a copy",
        ));
    }
    Ok(head)
}

/// Reads the head as it stands there, signed or not.
pub(crate) fn head(connection: &Connection) -> Result<Head, Fault> {
    let mut statement = connection
        .prepare_cached("SELECT n, hash, at, pruned, database, key, signature FROM head WHERE one = 1")?;
    let mut rows = statement.query([])?;
    let read = |row: &Row<'_>| -> Option<Head> {
        Some(Head {
            n: number(row, 0).ok()?,
            hash: fixed(row, 1)?,
            at: Time(number(row, 2).ok()?),
            pruned: number(row, 3).ok()?,
            database: fixed(row, 4)?,
            public_key: fixed(row, 5)?,
            signature: fixed(row, 6)?,
        })
    };
    // Numbers this large are not ours, and adding to them must not overflow.
    let plausible = |head: &Head| head.n < i64::MAX as u64 && head.pruned <= head.n;
    rows.next()?.and_then(read).filter(plausible).ok_or_else(|| {
        Fault::told("has lost the signed head of its audit trail; restore the database from a copy")
    })
}

pub(crate) fn write_head(connection: &Connection, head: &Head) -> Result<(), Fault> {
    let Head { n, hash, at, pruned, signature, .. } = head;
    connection
        .prepare_cached(
            "UPDATE head SET n = ?1, hash = ?2, at = ?3, pruned = ?4, signature = ?5 WHERE one = 1",
        )?
        .execute(params![*n as i64, hash, at.0 as i64, *pruned as i64, signature])?;
    Ok(())
}

pub(crate) fn keep_checkpoint(connection: &Connection, checkpoint: &Checkpoint) -> Result<(), Fault> {
    let Checkpoint { n, hash, at, signature } = checkpoint;
    connection
        .prepare_cached("INSERT OR REPLACE INTO checkpoint VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![*n as i64, hash, at.0 as i64, signature])?;
    Ok(())
}

/// What an entry says for finding it again.
#[derive(Deserialize)]
pub(crate) struct Told<'a> {
    pub(crate) at: u64,
    #[serde(borrow, default)]
    pub(crate) session: Option<Cow<'a, str>>,
}

/// Reads an entry: one line, an object of JSON to the byte, with its moment.
pub(crate) fn told(entry: &str) -> Result<Told<'_>, Fault> {
    let refused = |why: &str| {
        Fault::told(format!("was given an entry of the audit trail that {why}; nothing was stored"))
    };
    if entry.len() > ENTRY_BYTES_MAX {
        return Err(refused(&format!("is longer than {ENTRY_BYTES_MAX} bytes")));
    }
    // Exports are lines, and a reader of JSON drops what stands around an object.
    if !entry.starts_with('{') || !entry.ends_with('}') || entry.contains('\n') {
        return Err(refused("is not an object of JSON in one line"));
    }
    let told: Told<'_> = serde_json::from_str(entry)
        .map_err(|error| refused(&format!("cannot be read (column {})", error.column())))?;
    if i64::try_from(told.at).is_err() {
        return Err(refused("has a moment too late to be kept"));
    }
    Ok(told)
}

/// A moment as SQLite keeps it: what does not fit is the end of time.
pub(crate) fn whole(time: Time) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A number that is never negative in a database of ours.
pub(crate) fn number(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::told("holds an invalid negative number; restore it from a copy"))
}

/// The bytes of a text or a blob, whatever they are.
pub(crate) fn bytes<'r>(row: &'r Row<'_>, column: usize) -> &'r [u8] {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes,
        _ => &[],
    }
}

pub(crate) fn fixed<const N: usize>(row: &Row<'_>, column: usize) -> Option<[u8; N]> {
    bytes(row, column).try_into().ok()
}

/// The hash that stands before the first record that is kept, as the checkpoint there says.
pub(crate) fn hash_before_first(connection: &Connection, head: &Head) -> Result<Option<Hash>, Fault> {
    if head.pruned == 0 {
        return Ok(Some(START));
    }
    let mut statement = connection.prepare_cached("SELECT hash FROM checkpoint WHERE n = ?1")?;
    let mut rows = statement.query([head.pruned as i64])?;
    Ok(rows.next()?.and_then(|row| fixed(row, 0)))
}
