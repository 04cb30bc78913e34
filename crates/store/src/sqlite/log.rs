//! The audit log in the database: the head, the end of the chain, checkpoints. Whether a head is trusted is `state.rs`.

use lockgate_gate::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{bytes, fixed, number};
use crate::{
    audit::{Checkpoint, Hash, Head, START},
    error::Fault,
};

/// The head as it is stored, with what rests in the same row; signed and sealed or not.
pub(crate) struct StoredHead {
    pub(crate) head: Head,
    /// The last short id that was given.
    pub(crate) ids: u64,
    /// The root of the roster.
    pub(crate) roster: Vec<u8>,
    pub(crate) seal: Vec<u8>,
}

/// Reads the head as it stands there, signed or not.
pub(crate) fn head(connection: &Connection) -> Result<Head, Fault> {
    stored_head(connection).map(|stored| stored.head)
}

/// Reads the row of the head as it stands there, sealed or not.
pub(crate) fn stored_head(connection: &Connection) -> Result<StoredHead, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT n, hash, at, pruned, database, key, signature, counter, state, ids, roster, seal \
         FROM head WHERE one = 1",
    )?;
    let mut rows = statement.query([])?;
    let read = |row: &Row<'_>| -> Option<StoredHead> {
        let head = Head { counter: number(row, 7).ok()?, state: fixed(row, 8)?, ..stateless_head(row)? };
        let ids = number(row, 9).ok()?;
        Some(StoredHead { head, ids, roster: bytes(row, 10).to_vec(), seal: bytes(row, 11).to_vec() })
    };
    // Numbers this large are not ours, and adding to them must not overflow.
    let plausible = |stored: &StoredHead| {
        let StoredHead { head, ids, .. } = stored;
        head.n.max(head.counter).max(*ids) < i64::MAX as u64 && head.pruned <= head.n
    };
    rows.next()?.and_then(read).filter(plausible).ok_or_else(lost)
}

/// How often the database was written, as it stands there.
pub(crate) fn counter(connection: &Connection) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached("SELECT counter FROM head WHERE one = 1")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => number(row, 0),
        None => Err(lost()),
    }
}

/// Reads the head of a database from before state was sealed.
pub(crate) fn head_before_state(connection: &Connection) -> Result<Head, Fault> {
    let mut statement =
        connection.prepare("SELECT n, hash, at, pruned, database, key, signature FROM head WHERE one = 1")?;
    let mut rows = statement.query([])?;
    let plausible = |head: &Head| head.n < i64::MAX as u64 && head.pruned <= head.n;
    rows.next()?.and_then(stateless_head).filter(plausible).ok_or_else(lost)
}

fn stateless_head(row: &Row<'_>) -> Option<Head> {
    Some(Head {
        n: number(row, 0).ok()?,
        hash: fixed(row, 1)?,
        at: Time(number(row, 2).ok()?),
        pruned: number(row, 3).ok()?,
        counter: 0,
        state: [0; 32],
        database: fixed(row, 4)?,
        public_key: fixed(row, 5)?,
        signature: fixed(row, 6)?,
    })
}

fn lost() -> Fault {
    Fault::tampered("has lost the signed head of its audit log")
}

/// Stores a head. There is a row for it already.
pub(crate) fn write_head(connection: &Connection, stored: &StoredHead) -> Result<(), Fault> {
    let StoredHead { head, ids, roster, seal } = stored;
    let Head { n, hash, at, pruned, counter, state, signature, .. } = head;
    let written = connection
        .prepare_cached(
            "UPDATE head SET n = ?1, hash = ?2, at = ?3, pruned = ?4, signature = ?5, counter = ?6, state = ?7, \
             ids = ?8, roster = ?9, seal = ?10 WHERE one = 1",
        )?
        .execute(params![
            *n as i64,
            hash,
            at.0 as i64,
            *pruned as i64,
            signature,
            *counter as i64,
            state,
            *ids as i64,
            roster,
            seal
        ])?;
    if written == 1 { Ok(()) } else { Err(lost()) }
}

/// Whether the chain ends with this record.
pub(crate) fn ends_with(connection: &Connection, n: u64, hash: &Hash, pruned: u64) -> Result<bool, Fault> {
    let last: Option<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT n, hash FROM trail ORDER BY n DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match &last {
        Some((last, last_hash)) => *last == n as i64 && last_hash == hash,
        None => n == pruned,
    })
}

/// The hash of a record, if it is there.
pub(crate) fn hash_of(connection: &Connection, n: u64) -> Result<Option<Hash>, Fault> {
    let mut statement = connection.prepare_cached("SELECT hash FROM trail WHERE n = ?1")?;
    let mut rows = statement.query([i64::try_from(n).unwrap_or(i64::MAX)])?;
    Ok(rows.next()?.and_then(|row| fixed(row, 0)))
}

pub(crate) fn keep_checkpoint(connection: &Connection, checkpoint: &Checkpoint) -> Result<(), Fault> {
    let Checkpoint { n, hash, at, signature } = checkpoint;
    connection
        .prepare_cached("INSERT OR REPLACE INTO checkpoint VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![*n as i64, hash, at.0 as i64, signature])?;
    Ok(())
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
