//! The format of the chain: what is hashed, what is signed, byte by byte.
//!
//! A record's hash covers its number, the hash before it and the exact bytes of its entry, so that a reader who keeps
//! one hash can tell whether anything before it was changed. All numbers are 8 bytes, the highest first:
//!
//! - [`link_hash`]: SHA-256 of `lockgate/trail/v1`, a zero byte, n, the 32 bytes of the hash before (zeros for the
//!   first record), the number of bytes of the entry, the entry.
//! - [`Head`]: Ed25519 over `lockgate/head/v2`, a zero byte, the 16 bytes of the database's id, n, hash, at, pruned,
//!   counter, state. A head from before state was sealed has neither counter nor state, and `v1`.
//! - Checkpoint: Ed25519 over `lockgate/checkpoint/v1`, a zero byte, the database's id, n, hash, at.
//!
//! Head and checkpoint are signed under names of their own, so that an old checkpoint can never be shown as the
//! head of a chain that was cut there. There is no SQL in here.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use lockgate_gate::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// What stands before the first record.
pub const START: Hash = [0; 32];

/// After so many records a signed checkpoint is kept.
pub const CHECKPOINT_EVERY: u64 = 1_000;

const LINK_TAG: &[u8] = b"lockgate/trail/v1\0";
const HEAD_TAG: &[u8] = b"lockgate/head/v2\0";
/// Of heads that know no state.
const STATELESS_HEAD_TAG: &[u8] = b"lockgate/head/v1\0";
const CHECKPOINT_TAG: &[u8] = b"lockgate/checkpoint/v1\0";

/// The hash of a record.
pub fn link_hash(n: u64, prev: &Hash, entry: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(LINK_TAG);
    hasher.update(n.to_be_bytes());
    hasher.update(prev);
    hasher.update((entry.len() as u64).to_be_bytes());
    hasher.update(entry);
    hasher.finalize().into()
}

/// One record of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number; the first is 1.
    pub n: u64,
    /// The hash of the record before it.
    pub prev: Hash,
    /// Its own hash.
    pub hash: Hash,
    /// The entry, to the byte.
    pub entry: String,
}

/// A record noted elsewhere, out of reach of those who can change the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The record's number.
    pub n: u64,
    /// Its hash.
    pub hash: Hash,
}

/// The end of the chain, signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last record; 0 if there is none yet.
    pub n: u64,
    /// Its hash.
    pub hash: Hash,
    /// When the last record was written.
    pub at: Time,
    /// How many records were pruned: the first that is kept is the one after.
    pub pruned: u64,
    /// How often the database was written, counted from 1; 0 in a head from before state was sealed.
    pub counter: u64,
    /// The seal of all rows there must be; zeros in a head from before state was sealed.
    pub state: Hash,
    /// The database's id, made at random when it was.
    pub database: [u8; 16],
    /// The public half of the key that signed it.
    pub public_key: [u8; 32],
    /// The signature.
    pub signature: [u8; 64],
}

impl Head {
    /// The head of a new chain; it is signed with the first state.
    pub(crate) fn first(database: [u8; 16], key: &SigningKey) -> Self {
        let public_key = key.verifying_key().to_bytes();
        let (hash, state, signature) = (START, [0; 32], [0; 64]);
        Self { n: 0, hash, at: Time(0), pruned: 0, counter: 0, state, database, public_key, signature }
    }

    /// The same head with its signature made anew.
    pub(crate) fn signed(mut self, key: &SigningKey) -> Self {
        self.signature = key.sign(&self.message()).to_bytes();
        self
    }

    /// Whether this key signed exactly this head.
    pub fn is_signed_by(&self, public_key: &[u8; 32]) -> bool {
        self.public_key == *public_key && is_signed(&self.message(), &self.signature, public_key)
    }

    fn message(&self) -> Vec<u8> {
        let tag = if self.counter == 0 { STATELESS_HEAD_TAG } else { HEAD_TAG };
        let mut message = message(tag, &self.database, self.n, &self.hash, self.at);
        message.extend(self.pruned.to_be_bytes());
        if self.counter > 0 {
            message.extend(self.counter.to_be_bytes());
            message.extend(self.state);
        }
        message
    }

    /// The head as the last line of an export.
    pub fn to_line(&self) -> String {
        let line = HeadLine {
            n: self.n,
            hash: to_hex(&self.hash),
            at: self.at.0,
            pruned: self.pruned,
            counter: (self.counter > 0).then_some(self.counter),
            state: (self.counter > 0).then(|| to_hex(&self.state)),
            database: to_hex(&self.database),
            key: to_hex(&self.public_key),
            signature: to_hex(&self.signature),
        };
        // Numbers and hex always have a JSON form.
        serde_json::to_string(&serde_json::json!({ "head": line })).unwrap_or_default()
    }
}

/// A head as it travels.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeadLine {
    n: u64,
    hash: String,
    at: u64,
    pruned: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counter: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    database: String,
    key: String,
    signature: String,
}

impl HeadLine {
    /// The head, if every field has the right length.
    pub(crate) fn read(&self) -> Option<Head> {
        Some(Head {
            n: self.n,
            hash: from_hex(&self.hash)?,
            at: Time(self.at),
            pruned: self.pruned,
            counter: self.counter.unwrap_or(0),
            state: match &self.state {
                Some(state) => from_hex(state)?,
                None => [0; 32],
            },
            database: from_hex(&self.database)?,
            public_key: from_hex(&self.key)?,
            signature: from_hex(&self.signature)?,
        })
    }
}

/// A record that is vouched for, so that what stands before it may go.
pub(crate) struct Checkpoint {
    pub(crate) n: u64,
    pub(crate) hash: Hash,
    pub(crate) at: Time,
    pub(crate) signature: [u8; 64],
}

impl Checkpoint {
    pub(crate) fn signed(n: u64, hash: Hash, at: Time, database: &[u8; 16], key: &SigningKey) -> Self {
        let signature = key.sign(&message(CHECKPOINT_TAG, database, n, &hash, at)).to_bytes();
        Self { n, hash, at, signature }
    }

    pub(crate) fn is_signed_by(&self, public_key: &[u8; 32], database: &[u8; 16]) -> bool {
        let message = message(CHECKPOINT_TAG, database, self.n, &self.hash, self.at);
        is_signed(&message, &self.signature, public_key)
    }
}

fn message(tag: &[u8], database: &[u8; 16], n: u64, hash: &Hash, at: Time) -> Vec<u8> {
    let parts: [&[u8]; 5] = [tag, database, &n.to_be_bytes(), hash, &at.0.to_be_bytes()];
    parts.concat()
}

/// Strictly: signatures and keys that some readers take and others refuse are refused.
fn is_signed(message: &[u8], signature: &[u8; 64], public_key: &[u8; 32]) -> bool {
    VerifyingKey::from_bytes(public_key)
        .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
}

/// Bytes as lower case hex.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// As many bytes as are wanted from as much lower case hex, neither more nor less.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != N * 2 {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let [high, low] = *digits else { return None };
        *byte = value(high)? << 4 | value(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_other_tools_compute() {
        // printf 'lockgate/trail/v1\0' and so on, through sha256sum; see docs/audit.md.
        let first = link_hash(1, &START, br#"{"at":7}"#);
        assert_eq!(to_hex(&first), "d5b2bad1e88ba467792c3b4af6e96e7bbdfcf18adfa804eac51e58115eae49e2");
        let second = link_hash(2, &first, b"{}");
        assert_eq!(to_hex(&second), "072e4c05602fe36f110519bac6a37b4fce61806bfc3cdebcbcf0bb397d4258e1");
    }

    #[test]
    fn an_old_checkpoint_is_no_head() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let database = [9; 16];
        let checkpoint = Checkpoint::signed(5, [1; 32], Time(6), &database, &key);
        let public_key = key.verifying_key().to_bytes();
        assert!(checkpoint.is_signed_by(&public_key, &database));
        let signature = checkpoint.signature;
        for counter in [0, 5] {
            let (n, hash, at, state) = (5, [1; 32], Time(6), [1; 32]);
            let head = Head { n, hash, at, pruned: 0, counter, state, database, public_key, signature };
            assert!(!head.is_signed_by(&public_key));
            assert!(head.signed(&key).is_signed_by(&public_key));
        }
    }

    #[test]
    fn a_head_without_state_is_not_one_with_state() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let public_key = key.verifying_key().to_bytes();
        let old = Head::first([9; 16], &key).signed(&key);
        assert!(old.is_signed_by(&public_key) && !old.to_line().contains("counter"));
        let new = Head { counter: 1, ..old }.signed(&key);
        assert!(new.is_signed_by(&public_key) && new.to_line().contains("counter"));
        assert!(!Head { counter: 0, ..new.clone() }.is_signed_by(&public_key));
        assert!(!Head { counter: 2, ..new.clone() }.is_signed_by(&public_key));
        assert!(!Head { state: [1; 32], ..new }.is_signed_by(&public_key));
    }

    #[test]
    fn hex_is_read_only_as_it_is_written() {
        assert_eq!(from_hex::<2>("0aff"), Some([10, 255]));
        for bad in ["0AFF", "0aff0", "0af", "0ag0", "", "é0a"] {
            assert_eq!(from_hex::<2>(bad), None, "{bad}");
        }
        assert_eq!(to_hex(&[10, 255]), "0aff");
    }
}
