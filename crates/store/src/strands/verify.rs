//! Checks every row, strand and seal of a shared store.
//!
//! [`StrandStore::verify`] walks each strand from its first record to the head in its row, and each seal to the records it is
//! about. It finds records and rows that were changed, deleted or brought back by a program without the key. A session that came
//! and went entirely between two seals leaves no trace, and neither does an old copy of the whole database: note the hash
//! of the last seal elsewhere.

use std::collections::BTreeMap;

use lockgate_gate::StoreError;

use super::{
    backend::{Inner, StrandStore},
    engine::StrandRow,
    sealing::{Seal, SealedHead},
};
use crate::audit::{Hash, ProblemKind, START, Verified, link_hash};

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
        loop {
            let rows = inner.engine.rows_after(last.as_deref(), BATCH).map_err(|error| inner.told(error))?;
            for (name, row) in &rows {
                found.strands += 1;
                found.verified.rows += 1;
                if !inner.is_sealed(name, row) {
                    found.verified.add(
                        None,
                        ProblemKind::ChangedRow,
                        format!("the row of session `{name}` was changed"),
                    );
                }
                self.walk_strand(name, row, sealed.get(name), &mut found.verified)?;
            }
            match rows.into_iter().last() {
                Some((name, _)) => last = Some(name),
                None => break,
            }
        }
        for (name, heads) in &sealed {
            if inner.engine.read(name).map_err(|error| inner.told(error))?.session.is_none() {
                let sentence = format!(
                    "session `{name}` was sealed with {} records and is gone",
                    heads.keys().last().unwrap_or(&0)
                );
                found.verified.add(None, ProblemKind::MissingRow, sentence);
            }
        }
        Ok(found)
    }

    /// Walks along the seals. Returns the heads that they are about, by strand and length.
    fn walk_seals(
        &self,
        found: &mut VerifiedStrands,
    ) -> Result<BTreeMap<String, BTreeMap<u64, Hash>>, StoreError> {
        let inner = self.inner();
        let public_key = self.public_key();
        let mut sealed: BTreeMap<String, BTreeMap<u64, Hash>> = BTreeMap::new();
        let mut last: Option<Seal> = None;
        loop {
            let after = last.as_ref().map_or(0, |seal| seal.n);
            let seals = inner.engine.seals(after, BATCH).map_err(|error| inner.told(error))?;
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
                for SealedHead { strand, length, head } in heads {
                    sealed.entry(strand).or_default().insert(length, head);
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
        sealed: Option<&BTreeMap<u64, Hash>>,
        verified: &mut Verified,
    ) -> Result<(), StoreError> {
        let inner = self.inner();
        let (length, head) = Inner::head_of(row);
        let (mut n, mut prev) = (0_u64, START);
        loop {
            let records =
                inner.engine.strand(name, n.cast_signed(), BATCH).map_err(|error| inner.told(error))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                verified.records += 1;
                let about = format!("record {} of session `{name}`", record.n);
                if record.n != n + 1 {
                    verified.add(
                        record.n,
                        ProblemKind::Missing,
                        format!("{about} follows record {n}: records are missing"),
                    );
                } else if record.prev != prev {
                    verified.add(
                        record.n,
                        ProblemKind::Unlinked,
                        format!("{about} does not name the record before it"),
                    );
                }
                let hash = link_hash(record.n, &record.prev, record.entry.as_bytes());
                if hash != record.hash {
                    verified.add(record.n, ProblemKind::Changed, format!("{about} was changed"));
                }
                if sealed.and_then(|heads| heads.get(&record.n)).is_some_and(|sealed| *sealed != record.hash)
                {
                    verified.add(
                        record.n,
                        ProblemKind::NotAnchored,
                        format!("{about} is not the one that was sealed"),
                    );
                }
                (n, prev) = (record.n, record.hash);
            }
        }
        if (n, prev) != (length, head) {
            let sentence = format!("the records of session `{name}` end with {n}, and its row says {length}");
            verified.add(None, ProblemKind::Cut, sentence);
        }
        if let Some((sealed_length, _)) = sealed.and_then(BTreeMap::last_key_value)
            && *sealed_length > length
        {
            let sentence = format!(
                "session `{name}` was sealed with {sealed_length} records and now has {length}: an old row was brought back"
            );
            verified.add(None, ProblemKind::OldRow, sentence);
        }
        Ok(())
    }
}
