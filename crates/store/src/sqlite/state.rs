//! The state of a database under its signed head: which rows there must be, and what is written next.
//!
//! [`Signer::state`] reads the head and the root of the roster and trusts neither: the head must be sealed by our key, the
//! chain must end where it says, and it must not be older than what this process has seen. [`State::check`] compares a row
//! with the roster; [`State::put`], [`State::remove`] and [`State::append`] change what will be there; [`State::write`]
//! counts one up, signs and stores the new head, inside the caller's transaction. Finding out what somebody did is
//! `verify.rs`; nothing in here repairs.

use std::sync::{Mutex, PoisonError};

use ed25519_dalek::SigningKey;
use lockgate_gate::Time;
use rusqlite::{Connection, params};

use super::{
    log::{self, StoredHead},
    roster::{Entry, Nodes, Roster},
};
use crate::{
    audit::{CHECKPOINT_EVERY, Checkpoint, EntryKey, Head, entry_key, link_hash},
    error::Fault,
    seal::{Column, Place, Sealer, Table},
};

/// The key that signs the audit log and seals rows, and the latest head that this process has seen.
pub(crate) struct Signer {
    key: SigningKey,
    sealer: Sealer,
    known: Mutex<Option<Head>>,
}

impl Signer {
    /// The signer of a database.
    pub(crate) fn new(key: SigningKey, database: &[u8; 16]) -> Self {
        let sealer = Sealer::new(&key, database);
        Self { key, sealer, known: Mutex::default() }
    }

    pub(crate) fn key(&self) -> &SigningKey {
        &self.key
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    pub(crate) fn public_key(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    /// Remembers a head that was committed or read.
    pub(crate) fn know(&self, head: &Head) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.counter < head.counter) {
            *known = Some(head.clone());
        }
    }

    /// The state, if we wrote its head and the chain ends where it says.
    // Invariant: this is the first thing that a transaction reads. Otherwise another thread could have committed, and be
    // known for it, after the moment that is read.
    pub(crate) fn state(&self, connection: &Connection) -> Result<State, Fault> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let stored = log::stored_head(connection)?;
        let state = self.trusted(stored)?;
        let Head { n, hash, pruned, counter, .. } = state.head;
        match known {
            Some(known) if known.counter > counter || (known.counter == counter && known != state.head) => {
                return Err(Fault::tampered(format_args!(
                    "went back from state {} to state {counter} while it was in use",
                    known.counter
                )));
            }
            _ => self.know(&state.head),
        }
        if !log::ends_with(connection, n, &hash, pruned)? {
            return Err(Fault::tampered("has an audit log that does not end where its signed head says"));
        }
        Ok(state)
    }

    /// The state that a stored head says, if we wrote it.
    pub(crate) fn trusted(&self, stored: StoredHead) -> Result<State, Fault> {
        let StoredHead { head, ids, roster, seal } = stored;
        let is_ours =
            head.counter > 0 && self.sealer.is_sealed(&HEAD, head.counter, &head_columns(&head, ids), &seal);
        let roster = is_ours.then(|| Roster::read(&roster, &self.sealer, &head.state)).flatten();
        match roster {
            Some(roster) => Ok(State { head, ids, roster }),
            None => Err(Fault::tampered("has an audit log and a state that its key did not sign")),
        }
    }
}

/// What is stored, as its head says; and what is to be stored next.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) head: Head,
    /// The last short id that was given.
    pub(crate) ids: u64,
    roster: Roster,
}

/// A row as it is stored.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) version: u64,
    pub(crate) columns: &'a [Column<'a>],
    pub(crate) seal: &'a [u8],
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowProblem {
    /// It does not have the seal of its content and its place.
    Changed,
    /// It must be there, and is not.
    Missing,
    /// It is there, and must not be.
    Added,
    /// We wrote it, and another version later.
    Old,
}

const HEAD: Place<'_> = Place { table: Table::Head, key: &[Column::Number(1)] };

impl State {
    /// The state of a database without a row.
    pub(crate) fn first(head: Head) -> Self {
        Self { head, ids: 0, roster: Roster::empty() }
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What is wrong with the row of a place, if anything is.
    pub(crate) fn problem(
        &self,
        connection: &Connection,
        signer: &Signer,
        place: &Place<'_>,
        row: Option<Stored<'_>>,
    ) -> Result<Option<RowProblem>, Fault> {
        let sealer = &signer.sealer;
        let listed = self.roster.find(Nodes { connection, sealer }, &sealer.digest(place))?;
        Ok(match (row, listed) {
            (None, None) => None,
            (None, Some(_)) => Some(RowProblem::Missing),
            (Some(row), listed) => match listed {
                _ if !sealer.is_sealed(place, row.version, row.columns, row.seal) => {
                    Some(RowProblem::Changed)
                }
                None => Some(RowProblem::Added),
                Some(listed) => (listed.seal != *row.seal).then_some(RowProblem::Old),
            },
        })
    }

    /// Refuses a row that is not as it must be.
    pub(crate) fn check(
        &self,
        connection: &Connection,
        signer: &Signer,
        place: &Place<'_>,
        row: Option<Stored<'_>>,
    ) -> Result<(), Fault> {
        match self.problem(connection, signer, place, row)? {
            None => Ok(()),
            Some(problem) => Err(Fault::tampered_row(problem.sentence(&name_of(place)))),
        }
    }

    /// Takes a row into the roster that is about to be written, and says its seal.
    pub(crate) fn put(
        &mut self,
        connection: &Connection,
        signer: &Signer,
        place: &Place<'_>,
        version: u64,
        columns: &[Column<'_>],
    ) -> Result<[u8; 32], Fault> {
        let sealer = &signer.sealer;
        let seal = sealer.seal(place, version, columns);
        let entry = Entry { table: place.table as u8, digest: sealer.digest(place), seal };
        self.roster.put(Nodes { connection, sealer }, entry)?;
        Ok(seal)
    }

    /// Takes a row out of the roster that is about to be deleted.
    pub(crate) fn remove(
        &mut self,
        connection: &Connection,
        signer: &Signer,
        place: &Place<'_>,
    ) -> Result<(), Fault> {
        let sealer = &signer.sealer;
        self.roster.remove(Nodes { connection, sealer }, &sealer.digest(place))
    }

    /// Chains entries to the head.
    pub(crate) fn append<'e>(
        &mut self,
        connection: &Connection,
        signer: &Signer,
        entries: impl IntoIterator<Item = &'e str>,
    ) -> Result<(), Fault> {
        let head = &mut self.head;
        let mut insert = connection.prepare_cached("INSERT INTO trail VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for entry in entries {
            let EntryKey { at, session } = entry_key(entry)?;
            let (n, prev) = (head.n + 1, head.hash);
            head.hash = link_hash(n, &prev, entry.as_bytes());
            (head.n, head.at) = (n, Time(at));
            insert.execute(params![n as i64, at as i64, session, prev, head.hash, entry])?;
            if n.is_multiple_of(CHECKPOINT_EVERY) {
                let checkpoint = Checkpoint::signed(n, head.hash, head.at, &head.database, &signer.key);
                log::keep_checkpoint(connection, &checkpoint)?;
            }
        }
        Ok(())
    }

    /// Counts one up, and signs and stores the head. What comes back is to be remembered once it is committed.
    pub(crate) fn write(self, connection: &Connection, signer: &Signer) -> Result<Head, Fault> {
        let Self { mut head, ids, roster } = self;
        let (roster, state) = roster.sealed(&signer.sealer);
        head.counter += 1;
        head.state = state;
        let head = head.signed(&signer.key);
        let seal = signer.sealer.seal(&HEAD, head.counter, &head_columns(&head, ids));
        log::write_head(connection, &StoredHead { head: head.clone(), ids, roster, seal: seal.to_vec() })?;
        Ok(head)
    }
}

fn head_columns(head: &Head, ids: u64) -> [Column<'_>; 9] {
    [
        Column::Number(head.n as i64),
        Column::Bytes(&head.hash),
        Column::Number(head.at.0 as i64),
        Column::Number(head.pruned as i64),
        Column::Bytes(&head.database),
        Column::Bytes(&head.public_key),
        Column::Bytes(&head.signature),
        Column::Bytes(&head.state),
        Column::Number(ids as i64),
    ]
}

impl RowProblem {
    pub(crate) fn sentence(self, name: &str) -> String {
        match self {
            Self::Changed => format!("has a changed row: {name} is not as Lockgate wrote it"),
            Self::Missing => format!("has lost a row: {name} was deleted"),
            Self::Added => format!("has an extra row: {name} was put in or brought back"),
            Self::Old => format!("has a row from the past: an older version of {name} was brought back"),
        }
    }
}

/// A row in words.
pub(crate) fn name_of(place: &Place<'_>) -> String {
    match (place.table, place.key) {
        (Table::Session, [Column::Text(name)]) => format!("session `{}`", name.escape_debug()),
        (Table::SharedState, _) => "the state that all sessions share".to_owned(),
        (Table::Answer, [Column::Text(session), Column::Number(number)]) => {
            format!("the answer to question {number} of session `{}`", session.escape_debug())
        }
        (Table::ShortId, [Column::Number(id)]) => format!("the short id {id}"),
        (Table::Human, _) => "the public key of the human".to_owned(),
        _ => "a row".to_owned(),
    }
}
