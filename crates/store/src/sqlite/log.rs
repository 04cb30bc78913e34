//! The audit log in the database: how entries come in.
//!
//! [`Signer::append`] chains entries to the head and signs the new head, inside the caller's transaction. It first looks
//! whether the head is ours and the last record is the one it names: signing a head that somebody else wrote would
//! hide what they did. Finding out what they did is `verify.rs`; nothing in here repairs.

use std::sync::{Mutex, PoisonError};

use ed25519_dalek::SigningKey;
use lockgate_gate::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{fixed, number};
use crate::{
    audit::{CHECKPOINT_EVERY, Checkpoint, EntryKey, Hash, Head, START, entry_key, link_hash},
    error::Fault,
};

/// The key that signs the audit log, and the head that this process signed or checked last.
pub(crate) struct Signer {
    key: SigningKey,
    known: Mutex<Option<Head>>,
}

impl Signer {
    pub(crate) fn new(key: SigningKey) -> Self {
        Self { key, known: Mutex::default() }
    }

    pub(crate) fn key(&self) -> &SigningKey {
        &self.key
    }

    pub(crate) fn public_key(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    /// Remembers a head that this process signed, so that it need not check the signature.
    pub(crate) fn know(&self, head: Head) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
    }

    /// Chains entries to the head. What comes back is the head after them, to be remembered once it is committed.
    pub(crate) fn append<'e>(
        &self,
        connection: &Connection,
        entries: impl IntoIterator<Item = &'e str>,
    ) -> Result<Head, Fault> {
        let mut head = self.trusted_head(connection)?;
        let mut insert = connection.prepare_cached("INSERT INTO trail VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for entry in entries {
            let EntryKey { at, session } = entry_key(entry)?;
            let (n, prev) = (head.n + 1, head.hash);
            head.hash = link_hash(n, &prev, entry.as_bytes());
            (head.n, head.at) = (n, Time(at));
            insert.execute(params![n as i64, at as i64, session, prev, head.hash, entry])?;
            if n.is_multiple_of(CHECKPOINT_EVERY) {
                keep_checkpoint(
                    connection,
                    &Checkpoint::signed(n, head.hash, head.at, &head.database, &self.key),
                )?;
            }
        }
        let head = head.signed(&self.key);
        write_head(connection, &head)?;
        Ok(head)
    }

    /// The head, if we signed it and the chain ends where it says.
    pub(crate) fn trusted_head(&self, connection: &Connection) -> Result<Head, Fault> {
        let head = head(connection)?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.as_ref() != Some(&head) && !head.is_signed_by(&self.public_key()) {
            return Err(Fault::told(
                "has an audit log that its key did not sign; see what `verify` says of it, and restore the database \
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
                "has an audit log that does not end where its signed head says; see what `verify` says of it, and \
                 restore the database from a copy",
            ));
        }
        Ok(head)
    }
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
        Fault::told("has lost the signed head of its audit log; restore the database from a copy")
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

/// The hash that stands before the first record that is kept, as the checkpoint there says.
pub(crate) fn hash_before_first(connection: &Connection, head: &Head) -> Result<Option<Hash>, Fault> {
    if head.pruned == 0 {
        return Ok(Some(START));
    }
    let mut statement = connection.prepare_cached("SELECT hash FROM checkpoint WHERE n = ?1")?;
    let mut rows = statement.query([head.pruned as i64])?;
    Ok(rows.next()?.and_then(|row| fixed(row, 0)))
}
