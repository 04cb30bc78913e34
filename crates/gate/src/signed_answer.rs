//! What a human signs when they answer a question.
//!
//! An [`AnswerClaim`] names one answer to one question: database, session, sequence number, call, input, policy, rules,
//! yes or no, who, when and until when. A [`SignedAnswer`] is a claim with the signature of the human's key, and a
//! [`HumanKey`] verifies it. Where keys are kept and how they are unlocked is not known in here.

use std::sync::Arc;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use lockgate_call::Time;
use lockgate_policy::{Policy, Rule, RuleId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex::{from_hex, hex};

/// The first bytes of everything that is signed here, so that no signature of another kind passes for an answer.
const DOMAIN: &[u8] = b"lockgate-answer-1";

/// The public key of the human who answers, for one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HumanKey {
    database: [u8; 16],
    key: VerifyingKey,
}

impl HumanKey {
    /// A key for answers in one database; none if the bytes are not a public key.
    pub fn new(database: [u8; 16], public_key: &[u8; 32]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(public_key).ok().filter(|key| !key.is_weak())?;
        Some(Self { database, key })
    }

    /// The database whose questions are answered.
    pub(crate) fn database(&self) -> &[u8; 16] {
        &self.database
    }

    /// Whether it has signed this.
    pub(crate) fn has_signed(&self, answer: &SignedAnswer) -> bool {
        answer.is_signed_by(&self.key)
    }
}

/// One answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerClaim {
    /// The database the question is in, in hexadecimal digits.
    pub database: String,
    /// The session that asks.
    pub session: String,
    /// The question's sequence number within the session.
    pub number: u64,
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The SHA-256 of the input, in canonical JSON.
    pub input: String,
    /// The hash of the policy under which the question was asked.
    pub policy: String,
    /// The rules that ask, and what they said then.
    pub rules: Vec<RuleMark>,
    /// Yes or no.
    pub granted: bool,
    /// Who answers.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Until when the answer may be collected.
    pub expires: u64,
}

/// A rule, and the hash of what it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleMark {
    /// The key its state is kept under.
    pub rule: String,
    /// The SHA-256 of its text.
    pub text: String,
}

/// A claim and the signature of a human's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAnswer {
    /// What was signed.
    pub claim: AnswerClaim,
    /// The public key, in hexadecimal digits.
    pub key: String,
    /// The signature, in hexadecimal digits.
    pub signature: String,
}

impl AnswerClaim {
    /// Signs it.
    pub fn sign(self, key: &SigningKey) -> SignedAnswer {
        let signature = hex(&key.sign(&self.bytes()).to_bytes());
        SignedAnswer { key: hex(key.verifying_key().as_bytes()), signature, claim: self }
    }

    /// What is signed: every field behind its length, so that no two claims are the same bytes.
    fn bytes(&self) -> Vec<u8> {
        let Self { database, session, number, call, tool, input, policy, rules, granted, by, at, expires } =
            self;
        let mut bytes = DOMAIN.to_vec();
        let mut put = |part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        for text in [database, session, call, tool, input, policy, by] {
            put(text.as_bytes());
        }
        for number in [*number, u64::from(*granted), *at, *expires, rules.len() as u64] {
            put(&number.to_le_bytes());
        }
        for RuleMark { rule, text } in rules {
            put(rule.as_bytes());
            put(text.as_bytes());
        }
        bytes
    }
}

impl SignedAnswer {
    /// Whether the key it names has signed it. Whose key that is, is another question.
    pub fn is_signed_by_its_key(&self) -> bool {
        let key = from_hex::<32>(&self.key).and_then(|key| VerifyingKey::from_bytes(&key).ok());
        key.is_some_and(|key| self.is_signed_by(&key))
    }

    fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        let Some(signature) = from_hex::<64>(&self.signature) else { return false };
        self.key == hex(key.as_bytes())
            && key.verify_strict(&self.claim.bytes(), &Signature::from_bytes(&signature)).is_ok()
    }
}

/// A human's answer, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Yes or no.
    pub granted: bool,
    /// Who, as far as the door could tell.
    pub by: String,
    /// When.
    pub at: Time,
    /// The human's signature, where there is one.
    pub proof: Option<Arc<SignedAnswer>>,
}

impl StoredAnswer {
    /// An answer without a signature.
    pub fn unsigned(granted: bool, by: impl Into<String>, at: Time) -> Self {
        Self { granted, by: by.into(), at, proof: None }
    }
}

/// The rules of a question as they are now.
pub(crate) fn marks(policy: &Policy, rules: impl Iterator<Item = RuleId>) -> Vec<RuleMark> {
    rules.filter_map(|rule| policy.rule(rule)).map(|rule| mark(policy, rule)).collect()
}

/// A rule as it is now.
pub(crate) fn mark(policy: &Policy, rule: &Rule) -> RuleMark {
    let text = rule.text();
    let mut hasher = Sha256::new();
    hasher.update(text);
    // What a rule takes from elsewhere is not in its own text; then any change of the policy is a change of the rule.
    if text.contains("extends") || text.contains('*') || text.contains("<<") {
        hasher.update([0]);
        hasher.update(policy.hash().to_string());
    }
    RuleMark { rule: rule.key.clone(), text: hex(&hasher.finalize()) }
}
