//! What was done to the audit trail behind our back.
//!
//! [`Sqlite::verify_trail`] walks the whole chain as it stands at one moment and tells every problem with the number
//! of its record. It finds what was changed, left out, put in, reordered or cut off by whoever does not have the
//! key. Whoever has it can write a new chain; so can whoever brings back an old copy of all files: that is found
//! only with an [`Anchor`] that was noted elsewhere. It never mends anything.

use lockgate_gate::StoreError;
use rusqlite::Connection;

use crate::{
    chain::{Anchor, CHECKPOINT_EVERY, Checkpoint, Hash, Head, link_hash},
    error::Fault,
    schema,
    sqlite::Sqlite,
    trail::{self, bytes, fixed, number},
};

/// So many problems are told one by one; the rest is counted.
pub const PROBLEMS_MAX: usize = 100;

/// What a check of the chain came to.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// How many records were looked at.
    pub records: u64,
    /// The first record that is kept, if there is any.
    pub first: Option<u64>,
    /// The signed end of the chain, if there is one.
    pub head: Option<Head>,
    /// What is wrong, in the order of the records; at most [`PROBLEMS_MAX`].
    pub problems: Vec<Problem>,
    /// How many problems there are beyond those.
    pub problems_untold: u64,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn add(&mut self, n: impl Into<Option<u64>>, kind: ProblemKind, sentence: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { n: n.into(), kind, sentence: sentence.into() });
        } else {
            self.problems_untold += 1;
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The record, where it is about one.
    pub n: Option<u64>,
    /// What kind of problem.
    pub kind: ProblemKind,
    /// The problem in a sentence.
    pub sentence: String,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A record does not have the hash it names.
    Changed,
    /// A record does not name the hash of the one before it.
    Unlinked,
    /// Records are missing in between or at the beginning.
    Missing,
    /// A record stands where it does not belong.
    OutOfOrder,
    /// The chain does not end where its head says.
    Cut,
    /// The head was not signed by the key.
    ForgedHead,
    /// A checkpoint was not signed by the key, is missing or names another hash.
    BadCheckpoint,
    /// What a record is found by is not what its entry says.
    Mislabelled,
    /// A record that was noted elsewhere is not in the chain.
    NotAnchored,
    /// The tables are not those that Lockgate made.
    ForeignSchema,
    /// A line of an export cannot be read.
    Unreadable,
}

/// How far a check has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Records looked at.
    pub done: u64,
    /// Records there are.
    pub of: u64,
}

impl Sqlite {
    /// Walks the chain as it stands now, while others go on writing. With an anchor it also tells whether that
    /// record is in it. Every thousand records it says how far it has come.
    ///
    /// # Errors
    /// When the database cannot be read to the end: then nothing was verified.
    pub fn verify_trail(
        &self,
        expected: Option<Anchor>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Verified, StoreError> {
        // A connection of its own, so that one moment can be held on to however long it takes.
        let connection = self.connect()?;
        let mut walk = || {
            connection.execute_batch("BEGIN")?;
            verify(&connection, &self.public_key(), expected, progress)
        };
        walk().map_err(|fault| self.told(fault))
    }
}

fn verify(
    connection: &Connection,
    public_key: &[u8; 32],
    expected: Option<Anchor>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Verified, Fault> {
    let mut verified = Verified::default();
    check_schema(connection, &mut verified)?;
    let head = trail::head(connection)?;
    if !head.is_signed_by(public_key) {
        let sentence =
            "the head of the chain was not signed by the key beside the database: one of them was exchanged";
        verified.add(head.n, ProblemKind::ForgedHead, sentence);
    }
    let checkpoints = checkpoints(connection, public_key, &head, &mut verified)?;
    let before = trail::hash_before_first(connection, &head)?;
    let mut walk = Walk::new(verified, head.pruned + 1, before, expected);
    walk.see(head.pruned, before);
    let mut checkpoints = checkpoints.into_iter().filter(|(n, _)| *n > head.pruned).peekable();
    let mut statement =
        connection.prepare("SELECT n, prev, hash, entry, at, session FROM trail ORDER BY n")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let n: i64 = row.get(0)?;
        let Ok(n) = u64::try_from(n) else {
            walk.verified.add(
                None,
                ProblemKind::OutOfOrder,
                format!("there is a record {n} before the first"),
            );
            continue;
        };
        walk.step(n, bytes(row, 1), bytes(row, 2), bytes(row, 3));
        check_label(
            n,
            bytes(row, 3),
            row.get(4)?,
            row.get_ref(5)?.as_bytes_or_null().unwrap_or(Some(b"")),
            &mut walk.verified,
        );
        while let Some((at, hash)) = checkpoints.next_if(|(at, _)| *at <= n) {
            if at == n && fixed::<32>(row, 2) != Some(hash) {
                let sentence = format!("record {n} is not the one that was signed as a checkpoint");
                walk.verified.add(n, ProblemKind::BadCheckpoint, sentence);
            }
        }
        if walk.verified.records.is_multiple_of(CHECKPOINT_EVERY) {
            progress(Progress { done: walk.verified.records, of: head.n - head.pruned });
        }
    }
    Ok(walk.end(Some(head)))
}

/// The walk along a chain, wherever its records come from.
pub(crate) struct Walk {
    pub(crate) verified: Verified,
    next: u64,
    prev: Option<Hash>,
    expected: Option<Anchor>,
    is_anchored: bool,
}

impl Walk {
    /// A walk that is to begin with this record, after this hash where it is known.
    pub(crate) fn new(verified: Verified, next: u64, prev: Option<Hash>, expected: Option<Anchor>) -> Self {
        Self { verified, next, prev, expected, is_anchored: expected.is_none() }
    }

    /// Looks at the next record.
    pub(crate) fn step(&mut self, n: u64, prev: &[u8], hash: &[u8], entry: &[u8]) {
        let verified = &mut self.verified;
        verified.records += 1;
        verified.first.get_or_insert(n);
        if n > self.next {
            let (from, to) = (self.next, n - 1);
            let which =
                if from == to { format!("record {from} is") } else { format!("records {from} to {to} are") };
            verified.add(from, ProblemKind::Missing, format!("{which} missing"));
        } else if n < self.next {
            let sentence = format!("record {n} is where record {} should be", self.next);
            verified.add(n, ProblemKind::OutOfOrder, sentence);
        }
        let known_prev: Option<Hash> = prev.try_into().ok();
        let is_linked = self.prev.is_none_or(|before| known_prev == Some(before));
        if !is_linked && n == self.next {
            let sentence = format!(
                "record {n} does not name the hash of the record before it: one of the two was exchanged"
            );
            verified.add(n, ProblemKind::Unlinked, sentence);
        }
        let stored: Option<Hash> = hash.try_into().ok();
        if stored.is_none() || known_prev.map(|prev| link_hash(n, &prev, entry)) != stored {
            let sentence =
                format!("record {n} does not have the hash it names: its entry, number or hash was changed");
            verified.add(n, ProblemKind::Changed, sentence);
        }
        self.see(n, stored);
        self.next = n.saturating_add(1);
        self.prev = stored;
    }

    /// Takes note that a record has this hash.
    pub(crate) fn see(&mut self, n: u64, hash: Option<Hash>) {
        self.is_anchored |= self.expected.is_some_and(|anchor| anchor.n == n && Some(anchor.hash) == hash);
    }

    /// Compares what was seen with the head.
    pub(crate) fn end(mut self, head: Option<Head>) -> Verified {
        let (last, verified) = (self.next - 1, &mut self.verified);
        if let Some(head) = &head {
            if last < head.n {
                let sentence =
                    format!("the chain was cut: its head names record {}, its last record is {last}", head.n);
                verified.add(last + 1, ProblemKind::Cut, sentence);
            } else if last > head.n {
                let sentence =
                    format!("record {last} comes after the signed head, which names record {}", head.n);
                verified.add(last, ProblemKind::Cut, sentence);
            } else if self.prev.is_some_and(|hash| hash != head.hash) {
                let sentence = format!("record {last} is not the one that the signed head names");
                verified.add(last, ProblemKind::Cut, sentence);
            }
        }
        if let (false, Some(anchor)) = (self.is_anchored, self.expected) {
            let n = anchor.n;
            let sentence = match &head {
                Some(head) if n > head.n => {
                    format!(
                        "record {n} was noted elsewhere, but the chain ends with {}: an older copy was brought back",
                        head.n
                    )
                }
                Some(head) if n < head.pruned => {
                    format!(
                        "record {n} was noted elsewhere and has been pruned since, so it cannot be compared; note a later one"
                    )
                }
                _ => {
                    format!("record {n} is not the one that was noted elsewhere: the chain was written anew")
                }
            };
            verified.add(n, ProblemKind::NotAnchored, sentence);
        }
        self.verified.head = head;
        self.verified
    }
}

/// What records are found by must be what their entries say, or a listing would leave some out.
fn check_label(n: u64, entry: &[u8], at: i64, session: Option<&[u8]>, verified: &mut Verified) {
    let told = std::str::from_utf8(entry).ok().and_then(|entry| trail::told(entry).ok());
    let agrees = told.is_some_and(|told| {
        told.at as i64 == at && told.session.as_ref().map(|session| session.as_bytes()) == session
    });
    if !agrees {
        let sentence = format!("record {n} is filed under another moment or session than its entry names");
        verified.add(n, ProblemKind::Mislabelled, sentence);
    }
}

/// The checkpoints that are as they should be; the others are told.
fn checkpoints(
    connection: &Connection,
    public_key: &[u8; 32],
    head: &Head,
    verified: &mut Verified,
) -> Result<Vec<(u64, Hash)>, Fault> {
    let mut statement = connection.prepare("SELECT n, hash, at, signature FROM checkpoint ORDER BY n")?;
    let mut rows = statement.query([])?;
    let mut good = Vec::new();
    while let Some(row) = rows.next()? {
        let n = number(row, 0)?;
        let at = lockgate_gate::Time(number(row, 2)?);
        let is_genuine = |hash: Hash| {
            let signature = fixed(row, 3)?;
            let checkpoint = Checkpoint { n, hash, at, signature };
            checkpoint.is_signed_by(public_key, &head.database).then_some((n, hash))
        };
        match fixed(row, 1).and_then(is_genuine).filter(|_| n <= head.n) {
            Some(checkpoint) => good.push(checkpoint),
            None => {
                let sentence =
                    format!("the checkpoint at record {n} was not signed by the key beside the database");
                verified.add(n, ProblemKind::BadCheckpoint, sentence);
            }
        }
    }
    let pruned = Some(head.pruned).filter(|pruned| *pruned > 0);
    let first_due = (head.pruned / CHECKPOINT_EVERY + 1).saturating_mul(CHECKPOINT_EVERY);
    let due = (first_due..=head.n).step_by(CHECKPOINT_EVERY as usize);
    let mut found = good.iter().map(|(n, _)| *n).peekable();
    // A forged head may name any number: what is due is no longer counted once enough is missing.
    let mut missing = 0;
    for n in pruned.into_iter().chain(due) {
        while found.next_if(|found| *found < n).is_some() {}
        if found.peek() != Some(&n) {
            verified.add(n, ProblemKind::BadCheckpoint, format!("the checkpoint at record {n} is missing"));
            missing += 1;
        }
        if missing > PROBLEMS_MAX {
            break;
        }
    }
    Ok(good)
}

/// A view in a table's place could show a trail that is not there.
fn check_schema(connection: &Connection, verified: &mut Verified) -> Result<(), Fault> {
    if schema::objects(connection)? != schema::expected()? {
        let sentence = "the tables of the database are not those that Lockgate made";
        verified.add(None, ProblemKind::ForeignSchema, sentence);
    }
    Ok(())
}
