//! Checks every row, strand and seal of a shared store.
//!
//! [`StrandStore::verify`] walks each strand from its first record to the head in its row, each seal to the records it is
//! about, and the answers and the shared state to the rows that speak of them. Gates may go on meanwhile: what is newer than
//! what was read first is no problem. A session that came and went entirely between two seals leaves no trace, and neither does
//! an old copy of the whole database: note the hash of the last seal elsewhere.

use std::collections::BTreeMap;

use lockgate_gate::StoreError;

use super::{
    backend::{Inner, StrandStore},
    engine::{EngineError, StrandRecord, StrandRow},
    sealing::{Seal, SealedHead},
};
use crate::audit::{Anchor, Hash, ProblemKind, START, Verified, link_hash};

/// How many rows or records are read at once.
const BATCH: u32 = 1_000;

/// What a check of a shared store came to.
#[derive(Clone, Debug, Default)]
pub struct VerifiedStrands {
    /// What was looked at, and what is wrong.
    pub verified: Verified,
    /// How many strands there are.
    pub strands: u64,
    /// The last seal.
    pub seal: Option<Seal>,
}

/// The heads of a strand that are under seals.
#[derive(Default)]
struct SealedStrand {
    version: u64,
    /// By the length of the strand.
    heads: BTreeMap<u64, Hash>,
}

type SealedStrands = BTreeMap<String, SealedStrand>;

/// The newest things that session rows speak of.
#[derive(Default)]
struct Spoken {
    shared: i64,
    seals: i64,
}

impl StrandStore {
    /// Checks every row, strand and seal.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify(&self) -> Result<VerifiedStrands, StoreError> {
        let inner = self.inner();
        let mut found = VerifiedStrands::default();
        let sealed = self.walk_seals(&mut found)?;
        let mut last: Option<String> = None;
        let mut spoken = Spoken::default();
        loop {
            let rows = inner.engine.rows_after(last.as_deref(), BATCH).map_err(told(inner))?;
            for (name, row) in &rows {
                found.strands += 1;
                found.verified.rows += 1;
                if inner.is_sealed(name, row) {
                    spoken.shared = spoken.shared.max(row.shared);
                    spoken.seals = spoken.seals.max(row.seals);
                } else {
                    let sentence = format!("the row of session `{name}` was changed");
                    found.verified.add(None, ProblemKind::ChangedRow, sentence);
                }
                self.walk_strand(name, row, sealed.get(name), &mut found.verified)?;
                self.look_at_answers(name, &mut found.verified)?;
            }
            match rows.into_iter().last() {
                Some((name, _)) => last = Some(name),
                None => break,
            }
        }
        for (name, strand) in &sealed {
            if inner.engine.read(name).map_err(told(inner))?.session.is_none() {
                let length = strand.heads.keys().last().unwrap_or(&0);
                let sentence = format!("session `{name}` was sealed with {length} records and is gone");
                found.verified.add(None, ProblemKind::MissingRow, sentence);
            }
        }
        self.look_at_what_all_share(&spoken, &mut found)?;
        Ok(found)
    }

    /// The same, and whether a seal is still the one that was noted elsewhere.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify_with(&self, noted: Option<Anchor>) -> Result<VerifiedStrands, StoreError> {
        let mut found = self.verify()?;
        if let Some(Anchor { n, hash }) = noted {
            let inner = self.inner();
            let seals = inner.engine.seals(n.saturating_sub(1), 1).map_err(told(inner))?;
            let there =
                seals.first().filter(|(seal, _)| seal.n == n).map(|(seal, _)| seal.hash(&inner.database));
            if there != Some(hash) {
                let sentence = format!("seal {n} is not the one that you noted");
                found.verified.add(None, ProblemKind::NotAnchored, sentence);
            }
        }
        Ok(found)
    }

    fn look_at_answers(&self, name: &str, verified: &mut Verified) -> Result<(), StoreError> {
        let inner = self.inner();
        let (rows, answers) = inner.engine.answers(name).map_err(told(inner))?;
        verified.rows += answers.len() as u64;
        if let Some((kind, problem)) = inner.answers_problem(name, &rows, &answers) {
            verified.add(None, kind, format!("the database {problem}"));
        }
        Ok(())
    }

    /// Looks at the shared state and the last seal, which are read after the rows that speak of them.
    fn look_at_what_all_share(&self, spoken: &Spoken, found: &mut VerifiedStrands) -> Result<(), StoreError> {
        let inner = self.inner();
        let shared = inner.engine.read("").map_err(told(inner))?.shared;
        let last = inner.engine.last_seal().map_err(told(inner))?;
        let verified = &mut found.verified;
        verified.rows += 1;
        match inner.whole_shared(shared.as_ref(), 0) {
            Err(problem) => {
                let kind = if shared.is_none() { ProblemKind::MissingRow } else { ProblemKind::ChangedRow };
                verified.add(None, kind, format!("the database {problem}"));
            }
            Ok(shared) => {
                if spoken.shared > shared.version
                    || found.seal.as_ref().is_some_and(|seal| !seal.admits(shared.head()))
                {
                    let sentence = "the shared state is older than what sessions were judged by, or than the sealed one: an old row \
                                    was brought back";
                    verified.add(None, ProblemKind::OldRow, sentence);
                }
            }
        }
        let there = last.map_or(0, |seal| seal.n);
        if spoken.seals > there.cast_signed() {
            let sentence = format!("the seals end with {there}, and sessions know of seal {}", spoken.seals);
            verified.add(None, ProblemKind::Missing, sentence);
        }
        Ok(())
    }

    /// Walks along the seals. Returns the heads that they are about, by strand and length.
    fn walk_seals(&self, found: &mut VerifiedStrands) -> Result<SealedStrands, StoreError> {
        let inner = self.inner();
        let public_key = self.public_key();
        let mut sealed = SealedStrands::new();
        let mut last: Option<Seal> = None;
        loop {
            let after = last.as_ref().map_or(0, |seal| seal.n);
            let seals = inner.engine.seals(after, BATCH).map_err(told(inner))?;
            if seals.is_empty() {
                break;
            }
            for (seal, heads) in seals {
                let previous = last.as_ref().map_or(START, |last| last.hash(&inner.database));
                let expected = last.as_ref().map_or(1, |last| last.n + 1);
                let problem = if seal.n != expected {
                    Some((ProblemKind::Missing, format!("seal {expected} is missing")))
                } else if !seal.is_signed_by(&public_key, &inner.database) {
                    Some((
                        ProblemKind::ForgedHead,
                        format!("seal {} was not signed by this store's key", seal.n),
                    ))
                } else if seal.previous != previous {
                    Some((ProblemKind::Unlinked, format!("seal {} does not name the seal before it", seal.n)))
                } else if !seal.is_about(&heads) {
                    Some((
                        ProblemKind::BadCheckpoint,
                        format!("the heads under seal {} were changed", seal.n),
                    ))
                } else {
                    None
                };
                if let Some((kind, sentence)) = problem {
                    found.verified.add(None, kind, sentence);
                }
                for SealedHead { strand, version, length, head } in heads {
                    let strand = sealed.entry(strand).or_default();
                    strand.version = strand.version.max(version);
                    strand.heads.insert(length, head);
                }
                last = Some(seal);
            }
        }
        found.seal = last;
        Ok(sealed)
    }

    fn walk_strand(
        &self,
        name: &str,
        row: &StrandRow,
        sealed: Option<&SealedStrand>,
        verified: &mut Verified,
    ) -> Result<(), StoreError> {
        let inner = self.inner();
        let (length, head) = Inner::head_of(row);
        let (mut n, mut prev, mut at_length) = (0_u64, START, START);
        loop {
            let records = inner.engine.strand(name, n.cast_signed(), BATCH).map_err(told(inner))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                verified.records += 1;
                for (kind, what) in record_problems(&record, n, &prev, sealed) {
                    let sentence = format!("record {} of session `{name}` {what}", record.n);
                    verified.add(record.n, kind, sentence);
                }
                (n, prev) = (record.n, record.hash);
                if n == length {
                    at_length = prev;
                }
            }
        }
        // A gate may have gone on since the row was read; then its row knows of the records that were read.
        let is_longer = n > length && {
            let now = inner.engine.read(name).map_err(told(inner))?.session;
            now.is_none_or(|now| now.version <= row.version || Inner::head_of(&now).0 < n)
        };
        if n < length || at_length != head || is_longer {
            let sentence = format!("the records of session `{name}` end with {n}, and its row says {length}");
            verified.add(None, ProblemKind::Cut, sentence);
        }
        if let Some(sealed) = sealed
            && sealed.version > row.version.max(0).cast_unsigned()
        {
            let sealed_length = sealed.heads.keys().last().unwrap_or(&0);
            let sentence = format!(
                "session `{name}` was sealed with {sealed_length} records and now has {length}: an old row was brought back"
            );
            verified.add(None, ProblemKind::OldRow, sentence);
        }
        Ok(())
    }
}

/// What is wrong with the record that follows record `n`.
fn record_problems(
    record: &StrandRecord,
    n: u64,
    prev: &Hash,
    sealed: Option<&SealedStrand>,
) -> Vec<(ProblemKind, String)> {
    let mut problems = Vec::new();
    if record.n != n + 1 {
        problems.push((ProblemKind::Missing, format!("follows record {n}: records are missing")));
    } else if record.prev != *prev {
        problems.push((ProblemKind::Unlinked, "does not name the record before it".to_owned()));
    }
    if link_hash(record.n, &record.prev, record.entry.as_bytes()) != record.hash {
        problems.push((ProblemKind::Changed, "was changed".to_owned()));
    }
    if sealed.and_then(|strand| strand.heads.get(&record.n)).is_some_and(|sealed| *sealed != record.hash) {
        problems.push((ProblemKind::NotAnchored, "is not the one that was sealed".to_owned()));
    }
    problems
}

fn told(inner: &Inner) -> impl Fn(EngineError) -> StoreError + '_ {
    |error| inner.told(error)
}
