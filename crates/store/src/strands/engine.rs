//! What a database has to do for a [`StrandStore`](super::StrandStore): read rows of one moment, and write them if they are
//! still those that were read.
//!
//! An [`Engine`] compares versions and understands nothing else: seals, hashes and signatures are made and checked above it.

use lockgate_gate::Time;

use super::sealing::{Seal, SealedHead, SharedHead};
use crate::audit::{Hash, START};

/// Marks one write, so that a gate whose connection broke can tell whether its own write is stored.
pub(crate) type WriteToken = [u8; 16];

/// A session as it is stored, with the head of its strand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StrandRow {
    /// How often the row was written; the first write makes it 1.
    pub(crate) version: i64,
    /// The session; none if only its strand is there.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) clock: i64,
    pub(crate) questions: i64,
    /// How many records the strand has.
    pub(crate) length: i64,
    /// The hash of the last of them.
    pub(crate) head: Hash,
    /// How often answers to its questions were changed: the sum of the versions of their rows.
    pub(crate) answers: i64,
    /// The version of the shared state when it was written; never a later one than there is.
    pub(crate) shared: i64,
    /// The number of the last seal its writer knew of; never a later one than there is.
    pub(crate) seals: i64,
    pub(crate) token: WriteToken,
    pub(crate) seal: Vec<u8>,
}

/// The shared state as it is stored. Its row is made with the tables and is never deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedRow {
    /// How often the row was written; the first one is made with the tables.
    pub(crate) version: i64,
    /// The state; none until a decision stores one.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The public key that signs answers of humans; none until one is recorded.
    pub(crate) human_key: Option<Vec<u8>>,
    pub(crate) seal: Vec<u8>,
}

impl SharedRow {
    /// What a seal says of it.
    pub(super) fn head(&self) -> SharedHead {
        let mac = self.seal.as_slice().try_into().unwrap_or(START);
        SharedHead { version: self.version.max(0).cast_unsigned(), mac }
    }
}

/// A human's answer as it is stored. One that is taken away keeps its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerRow {
    /// How often the row was written.
    pub(crate) version: i64,
    /// None if it was taken away.
    pub(crate) granted: Option<bool>,
    pub(crate) by: String,
    pub(crate) at: i64,
    /// The signature as JSON; empty if there is none.
    pub(crate) proof: String,
    pub(crate) seal: Vec<u8>,
}

/// What a decision reads: one moment of the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) session: Option<StrandRow>,
    pub(crate) shared: Option<SharedRow>,
}

/// A record as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) n: i64,
    pub(crate) prev: Hash,
    pub(crate) hash: Hash,
    pub(crate) at: i64,
    /// The session that the entry names.
    pub(crate) session: Option<String>,
    pub(crate) entry: String,
}

/// The change of an answer that belongs to a write.
#[derive(Clone, Debug)]
pub(crate) struct AnswerWrite {
    pub(crate) number: i64,
    pub(crate) answer: AnswerRow,
}

/// One change: all of it is stored or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) name: &'a str,
    /// The version of the shared state that was read. Another one is a conflict, so nothing that was
    /// judged before a halt is stored after it.
    pub(crate) shared_seen: i64,
    pub(crate) shared: Option<SharedRow>,
    /// The version of the session row that was read; 0 if there was none.
    pub(crate) seen: i64,
    pub(crate) row: Option<StrandRow>,
    pub(crate) answer: Option<AnswerWrite>,
    pub(crate) records: Vec<Record>,
    /// Sessions that lose their bytes or answers, before anything else is written.
    pub(crate) forgotten: Vec<ForgottenRow>,
}

/// A session that is forgotten: only its strand stays.
#[derive(Clone, Debug)]
pub(crate) struct ForgottenRow {
    pub(crate) name: String,
    /// The version that was read.
    pub(crate) seen: i64,
    pub(crate) row: StrandRow,
    /// Only answers from this moment on are kept.
    pub(crate) answers_from: i64,
}

/// Why an engine did not do its work.
#[derive(Debug)]
pub(crate) enum EngineError {
    /// Another writer was first.
    Conflict,
    /// It is not known whether the change is stored: the connection broke, or the answer did not come in time.
    Unknown(String),
    /// Nothing was stored.
    Failed(String),
}

/// Where a record is in the order of all strands. Positions grow; they are not consecutive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The transaction that wrote it.
    pub transaction: u64,
    /// Its index in the transaction.
    pub index: u32,
}

/// A number has so many bits for the index in the transaction.
const INDEX_BITS: u32 = 12;
/// So many records fit into one write.
pub(super) const RECORDS_MAX: usize = (1 << INDEX_BITS) - 1;

impl Position {
    /// The place as one number.
    pub fn number(self) -> u64 {
        (self.transaction << INDEX_BITS) | u64::from(self.index)
    }

    /// The place of a number.
    pub fn of_number(number: u64) -> Self {
        let index = (number & ((1 << INDEX_BITS) - 1)) as u32;
        Self { transaction: number >> INDEX_BITS, index }
    }
}

/// One record of the audit log, with its place in its strand and among all records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrandRecord {
    /// Where it is among all records.
    pub position: Position,
    /// The session whose strand it belongs to; empty for what is about all sessions.
    pub strand: String,
    /// Its number in the strand; the first is 1.
    pub n: u64,
    /// The hash of the record before it in the strand.
    pub prev: Hash,
    /// Its own hash.
    pub hash: Hash,
    /// The entry, to the byte.
    pub entry: String,
}

/// What a seal is made of: the last one, and what there is now.
#[derive(Clone, Debug)]
pub(crate) struct ToSeal {
    pub(crate) last: Option<Seal>,
    /// The heads that changed since the last one.
    pub(crate) heads: Vec<SealedHead>,
    pub(crate) shared: Option<SharedRow>,
    pub(crate) horizon: u64,
}

/// Makes a seal, or says why there must be none.
pub(crate) type MakeSeal<'a> = dyn Fn(&ToSeal) -> Result<Seal, EngineError> + Sync + 'a;

/// A database.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Names the database in messages, without its password.
    fn place(&self) -> &str;

    /// The rows of a session, of one moment.
    fn read(&self, name: &str) -> Result<Rows, EngineError>;

    /// The rows of a session, locked against other writers until the lock is dropped or written through. `is_shared` locks the
    /// shared state too.
    fn read_locked<'a>(
        &'a self,
        name: &str,
        is_shared: bool,
    ) -> Result<(Rows, Box<dyn RowLock + 'a>), EngineError>;

    /// Stores a change if nothing that was read has changed.
    fn write(&self, write: &Write<'_>) -> Result<(), EngineError>;

    /// The rows of a session and all answers to its questions by their numbers, of one moment.
    fn answers(&self, session: &str) -> Result<(Rows, Vec<(i64, AnswerRow)>), EngineError>;

    /// Names, clocks and open questions of all sessions, the last used first.
    fn sessions(&self) -> Result<Vec<(String, i64, i64)>, EngineError>;

    /// Sessions unused since a moment, without those that a human answered since.
    fn unused_since(&self, before: Time) -> Result<Vec<String>, EngineError>;

    /// Names without a session that have answers older than a moment.
    fn orphans(&self, before: Time) -> Result<Vec<String>, EngineError>;

    /// Records after a position, in order, of one session where one is named. Records of transactions that are still open
    /// anywhere come later, never earlier than one that was already read.
    fn records(
        &self,
        after: Position,
        session: Option<&str>,
        count: u32,
    ) -> Result<Vec<StrandRecord>, EngineError>;

    /// Records before a position, the last first; from the end, if none is named.
    fn records_before(&self, before: Option<Position>, count: u32) -> Result<Vec<StrandRecord>, EngineError>;

    /// The records of one strand after a number.
    fn strand(&self, name: &str, after: i64, count: u32) -> Result<Vec<StrandRecord>, EngineError>;

    /// All session rows by name, after a name.
    fn rows_after(&self, name: Option<&str>, count: u32) -> Result<Vec<(String, StrandRow)>, EngineError>;

    /// Stores a text under its hash, unless it is there.
    fn keep_text(&self, hash: &str, text: &str) -> Result<(), EngineError>;

    /// The text of a hash.
    fn text(&self, hash: &str) -> Result<Option<String>, EngineError>;

    /// Calls `make` with the last seal and what changed since it, and stores the seal that it returns. Only one gate does so at
    /// a time; returns none if another one does, or if nothing has changed.
    fn seal(&self, make: &MakeSeal<'_>) -> Result<Option<Seal>, EngineError>;

    /// The last seal.
    fn last_seal(&self) -> Result<Option<Seal>, EngineError>;

    /// Seals after a number with their heads, in order.
    fn seals(&self, after: u64, count: u32) -> Result<Vec<(Seal, Vec<SealedHead>)>, EngineError>;
}

/// Rows that no other gate can write.
pub(crate) trait RowLock {
    /// Stores a change and gives the rows free.
    fn write(self: Box<Self>, write: &Write<'_>) -> Result<(), EngineError>;
}
