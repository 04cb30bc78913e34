//! Seals: the heads of all strands that changed, joined and signed about every second.
//!
//! What is signed, all numbers 8 bytes with the highest first: `lockgate/strands/v1`, a zero byte, the 16 bytes of the database's id,
//! the seal's number, when it was made, the horizon, the number of heads, the version of the shared state, the root, the 32 bytes
//! of the MAC of the shared state's row, the hash of the seal before it (zeros for the first). A leaf of the tree is the number of
//! bytes of the session's name, the name, the version of its row, the length of its strand, and the hash of its last record; leaves
//! are ordered by name. A seal's own hash is SHA-256 of what is signed and the signature.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use super::merkle;
use crate::audit::{Hash, START};

const SEAL_TAG: &[u8] = b"lockgate/strands/v1\0";

/// The head of a strand when it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SealedHead {
    pub(crate) strand: String,
    /// The version of its row.
    pub(crate) version: u64,
    pub(crate) length: u64,
    pub(crate) head: Hash,
}

impl SealedHead {
    fn leaf(&self) -> Hash {
        let Self { strand, version, length, head } = self;
        let name = strand.as_bytes();
        let numbers = [*version, *length].map(u64::to_be_bytes).concat();
        merkle::leaf(&[&(name.len() as u64).to_be_bytes(), name, &numbers, head].concat())
    }
}

/// The row of the shared state when it was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedHead {
    pub(crate) version: u64,
    /// The MAC of the row.
    pub(crate) mac: Hash,
}

/// The signed root over the strands that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Its number; the first is 1.
    pub n: u64,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// Records of transactions before this one are under this seal or an earlier one.
    pub horizon: u64,
    /// How many heads are under it.
    pub heads: u64,
    /// The version of the shared state.
    pub shared_version: u64,
    /// The root of the tree of the heads.
    pub root: Hash,
    /// The MAC of the row of the shared state.
    pub shared: Hash,
    /// The hash of the seal before it.
    pub previous: Hash,
    /// The signature.
    pub signature: [u8; 64],
}

impl Seal {
    /// The seal after `last` over these heads.
    pub(super) fn make(
        last: Option<&Self>,
        (heads, shared): (&[SealedHead], SharedHead),
        horizon: u64,
        at_ms: u64,
        database: &[u8; 16],
        key: &SigningKey,
    ) -> Self {
        let mut seal = Self {
            n: last.map_or(1, |last| last.n + 1),
            at_ms,
            horizon,
            heads: heads.len() as u64,
            shared_version: shared.version,
            root: root_of(heads),
            shared: shared.mac,
            previous: last.map_or(START, |last| last.hash(database)),
            signature: [0; 64],
        };
        seal.signature = key.sign(&seal.message(database)).to_bytes();
        seal
    }

    /// Whether this row of the shared state is the sealed one, or a later one.
    pub(super) fn admits(&self, shared: SharedHead) -> bool {
        shared.version > self.shared_version
            || (shared.version == self.shared_version && shared.mac == self.shared)
    }

    /// Whether this key signed exactly this seal of this database.
    pub fn is_signed_by(&self, public_key: &[u8; 32], database: &[u8; 16]) -> bool {
        VerifyingKey::from_bytes(public_key).is_ok_and(|key| {
            key.verify_strict(&self.message(database), &Signature::from_bytes(&self.signature)).is_ok()
        })
    }

    /// Whether the seal is about exactly these heads.
    pub(super) fn is_about(&self, heads: &[SealedHead]) -> bool {
        self.heads == heads.len() as u64 && self.root == root_of(heads)
    }

    /// Its own hash, to be noted elsewhere.
    pub fn hash(&self, database: &[u8; 16]) -> Hash {
        Sha256::new().chain_update(self.message(database)).chain_update(self.signature).finalize().into()
    }

    fn message(&self, database: &[u8; 16]) -> Vec<u8> {
        let Self { n, at_ms, horizon, heads, shared_version, root, shared, previous, .. } = self;
        let numbers = [*n, *at_ms, *horizon, *heads, *shared_version].map(u64::to_be_bytes).concat();
        [SEAL_TAG, database, &numbers, root, shared, previous].concat()
    }
}

fn root_of(heads: &[SealedHead]) -> Hash {
    let mut heads: Vec<&SealedHead> = heads.iter().collect();
    heads.sort();
    let leaves: Vec<Hash> = heads.iter().map(|head| head.leaf()).collect();
    merkle::root(&leaves)
}
