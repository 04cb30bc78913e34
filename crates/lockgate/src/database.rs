//! Where sessions, answers and the audit log are stored: in a file, or in a store that gates share.
//!
//! A [`Database`] is the same for doors whatever it is. A file has one chain of records, numbered from 1. A shared store has a chain for each
//! session; there `n` of a [`Link`] is the place of the record among all, which grows and is not consecutive.

use std::{path::Path, sync::Arc};

use lockgate_call::Time;
use lockgate_gate::{Backend, BoundPolicy, PolicyChanges, Rulebook, StoreError};
use lockgate_store::{Anchor, Hash, Link, Progress, Query, Sqlite, Verified};
use serde_json::{Map, Value};

use crate::{archive, policy::Policy};

/// Where sessions, answers and the audit log are stored.
#[derive(Clone)]
pub enum Database {
    /// A SQLite file on this machine.
    Sqlite(Arc<Sqlite>),
    /// A store that many gates share.
    #[cfg(feature = "shared")]
    Shared(Arc<lockgate_store::StrandStore>),
}

/// The records that a query asks for, in order.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Link, StoreError>> + 'a>;

/// What a check of a database came to.
#[derive(Clone, Debug)]
pub struct VerifiedDatabase {
    /// What was looked at, and what is wrong.
    pub verified: Verified,
    /// The last seal of a shared store, to note elsewhere.
    pub seal: Option<SealNote>,
    /// Whether the end of the log is signed: only then is it known to be whole.
    pub is_signed: bool,
}

impl VerifiedDatabase {
    /// Whether nothing is wrong, as far as it can be known.
    pub fn is_whole(&self) -> bool {
        self.verified.is_whole() && self.is_signed
    }
}

/// The last seal of a shared store.
#[derive(Clone, Debug)]
pub struct SealNote {
    /// Its number.
    pub n: u64,
    /// Its hash, which covers all seals before it.
    pub hash: Hash,
    /// When it was made.
    pub at: Time,
    /// The public key that signs seals.
    pub key: [u8; 32],
}

impl Database {
    /// The database as the gate uses it.
    pub fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Sqlite(file) => file.clone(),
            #[cfg(feature = "shared")]
            Self::Shared(store) => store.clone(),
        }
    }

    /// The file, where it is one: an agent must leave it alone.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(file) => Some(file.path()),
            #[cfg(feature = "shared")]
            Self::Shared(_) => None,
        }
    }

    /// The database of a file, for what only a file can do.
    pub fn sqlite(&self) -> Option<&Sqlite> {
        match self {
            Self::Sqlite(file) => Some(file),
            #[cfg(feature = "shared")]
            Self::Shared(_) => None,
        }
    }

    /// Its name in messages, without a password.
    pub fn place(&self) -> String {
        match self {
            Self::Sqlite(file) => file.path().display().to_string(),
            #[cfg(feature = "shared")]
            Self::Shared(store) => store.place().to_owned(),
        }
    }

    /// The database's id, made at random when it was.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn id(&self) -> Result<[u8; 16], StoreError> {
        match self {
            Self::Sqlite(file) => file.database_id(),
            #[cfg(feature = "shared")]
            Self::Shared(store) => Ok(store.id()),
        }
    }

    /// The public half of the key that signs the audit log.
    pub fn public_key(&self) -> [u8; 32] {
        match self {
            Self::Sqlite(file) => file.public_key(),
            #[cfg(feature = "shared")]
            Self::Shared(store) => store.public_key(),
        }
    }

    /// The recorded key that signs answers of humans.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn human_key(&self) -> Result<Option<[u8; 32]>, StoreError> {
        match self {
            Self::Sqlite(file) => file.human_key(),
            #[cfg(feature = "shared")]
            Self::Shared(store) => store.human_key(),
        }
    }

    /// Records that key, if the recorded one is still `known`, with an entry of the audit log. Returns whether it did.
    ///
    /// # Errors
    /// When the database cannot be reached: then nothing was recorded.
    pub fn replace_human_key(
        &self,
        known: Option<&[u8; 32]>,
        key: &[u8; 32],
        at: Time,
        entry: &str,
    ) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(file) => file.replace_human_key(known, key, at, entry),
            #[cfg(feature = "shared")]
            Self::Shared(store) => store.replace_human_key(known, key, entry),
        }
    }

    /// The records that a query asks for.
    pub fn audit_log(&self, query: Query) -> Records<'_> {
        match self {
            Self::Sqlite(file) => Box::new(file.audit_log(query)),
            #[cfg(feature = "shared")]
            Self::Shared(store) => Box::new(store.audit_log(query)),
        }
    }

    /// At most `count` records before one, of those that a query asks for, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn newest(&self, query: &Query, before: Option<u64>, count: u64) -> Result<Newest, StoreError> {
        match self {
            Self::Sqlite(file) => {
                let head = file.head()?;
                let end = before.unwrap_or(u64::MAX).min(head.n.saturating_add(1));
                let start = end.saturating_sub(1).saturating_sub(count).max(head.pruned);
                let query = Query { after_n: start, ..query.clone() };
                let links =
                    file.audit_log(query).take_while(|link| !matches!(link, Ok(link) if link.n >= end));
                let mut links = links.collect::<Result<Vec<_>, _>>()?;
                links.reverse();
                Ok(Newest { links, before: (start > head.pruned).then_some(start.saturating_add(1)) })
            }
            #[cfg(feature = "shared")]
            Self::Shared(store) => {
                let (links, before) = store.newest(query, before, count)?;
                Ok(Newest { links, before })
            }
        }
    }

    /// The number of the last record, and of the last one that was pruned; 0 if there is none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn ends(&self) -> Result<(u64, u64), StoreError> {
        match self {
            Self::Sqlite(file) => file.head().map(|head| (head.n, head.pruned)),
            #[cfg(feature = "shared")]
            Self::Shared(store) => {
                let (links, _) = store.newest(&Query::default(), None, 1)?;
                Ok((links.first().map_or(0, |link| link.n), 0))
            }
        }
    }

    /// Checks every record and every row; and that a record, or in a shared store a seal, is still the one that was noted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify(
        &self,
        noted: Option<Anchor>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<VerifiedDatabase, StoreError> {
        match self {
            Self::Sqlite(file) => {
                let verified = file.verify_trail(noted, tell)?;
                let is_signed = verified.head.is_some();
                Ok(VerifiedDatabase { verified, seal: None, is_signed })
            }
            #[cfg(feature = "shared")]
            Self::Shared(store) => {
                let lockgate_store::VerifiedStrands { verified, seal, .. } = store.verify_with(noted)?;
                let note = |seal: lockgate_store::Seal| SealNote {
                    n: seal.n,
                    hash: seal.hash(&store.id()),
                    at: Time(seal.at_ms),
                    key: store.public_key(),
                };
                // Each row has its MAC, so a store that was never sealed can be known to be whole too.
                Ok(VerifiedDatabase { verified, seal: seal.map(note), is_signed: true })
            }
        }
    }

    /// What binds the sessions of the database to a policy. `rulebook` makes the rules of an earlier one.
    pub fn bound_policy(
        &self,
        policy: &Policy,
        place: &str,
        settings: Map<String, Value>,
        changes: PolicyChanges,
        rulebook: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
    ) -> BoundPolicy {
        match self {
            Self::Sqlite(file) => {
                archive::bound_policy(policy, place, settings, changes, file.path(), rulebook)
            }
            #[cfg(feature = "shared")]
            Self::Shared(store) => {
                archive::bound_policy_in((**store).clone(), policy, place, settings, changes, rulebook)
            }
        }
    }
}

/// Records, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Newest {
    /// The records.
    pub links: Vec<Link>,
    /// Before which number others may follow; none at the beginning of the log.
    pub before: Option<u64>,
}
