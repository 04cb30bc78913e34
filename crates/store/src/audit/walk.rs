//! The walk along a chain of records, wherever they come from, and every problem it finds.

use serde::Serialize;

use super::chain::{Anchor, Hash, Head, link_hash};

/// So many problems are told one by one; the rest is counted.
pub const PROBLEMS_MAX: usize = 100;

/// What a check of the chain came to.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// How many records were looked at.
    pub records: u64,
    /// How many rows of state were looked at; none in an export.
    pub rows: u64,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The record, where it is about one.
    pub n: Option<u64>,
    /// What kind of problem.
    pub kind: ProblemKind,
    /// The problem in a sentence.
    pub sentence: String,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
    /// A row of state is not as it was written.
    ChangedRow,
    /// A row of state was deleted.
    MissingRow,
    /// A row of state was put in, or brought back after it was deleted.
    AddedRow,
    /// An older version of a row of state was brought back.
    OldRow,
    /// The list of the rows that there must be is damaged.
    DamagedRoster,
    /// A line of an export cannot be read.
    Unreadable,
    /// An answer that the human's key did not sign.
    ForgedAnswer,
}

/// How far a check has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Records looked at.
    pub done: u64,
    /// Records there are.
    pub of: u64,
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
                    format!("record {n} is not the one that was noted elsewhere: the chain was rewritten")
                }
            };
            verified.add(n, ProblemKind::NotAnchored, sentence);
        }
        self.verified.head = head;
        self.verified
    }
}
