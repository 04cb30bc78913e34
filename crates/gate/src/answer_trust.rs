//! Which answers from a store count.
//!
//! A gate under [`AnswerTrust::Signed`] takes a yes from a store only with the signature of its human, about exactly the
//! question that is open; the same for answers that stand. A no needs no proof: it only narrows. Answers that a door
//! hands to the gate itself do not come here: that door is the human's proxy.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::Policy;

use crate::{
    hex::hex,
    signed_answer::{HumanKey, SignedAnswer, StoredAnswer, mark},
    state::{Answered, ApprovalId, Asked, Subject},
};

/// Which answers from a store count.
#[derive(Clone, Debug, Default)]
pub enum AnswerTrust {
    /// All of them: every process that can write to the store is trusted.
    #[default]
    Store,
    /// A yes only with the signature of this human.
    Signed(HumanKey),
    /// No yes at all: why, and what to do.
    Nobody(Arc<str>),
}

/// Why a stored answer does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnprovedAnswer {
    /// Nothing was signed.
    #[error("it has no signature")]
    Unsigned,
    /// The signature is not one of the human's key.
    #[error("its signature was not made by the human's key")]
    Forged,
    /// The signature is about another question or another answer.
    #[error("its signature is about another question or another answer")]
    Elsewhere,
    /// It was collected too late.
    #[error("it has expired")]
    Expired,
    /// No human is set up, or their key was replaced.
    #[error("{0}")]
    Nobody(Arc<str>),
}

impl AnswerTrust {
    /// Whether a stored answer is an answer to this question. What it returns proves the answers that stand from it.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn check(
        &self,
        approval: &ApprovalId,
        asked: &Asked,
        answer: &StoredAnswer,
        at: Time,
    ) -> Result<Option<Arc<SignedAnswer>>, UnprovedAnswer> {
        let StoredAnswer { granted, by, at: answered_at, proof } = answer;
        let human = match (self, proof) {
            (Self::Store, _) => return Ok(None),
            // A no only narrows, and a human who wants to stop an agent must not look for a passphrase first.
            (_, None) if !granted => return Ok(None),
            (Self::Nobody(why), _) => return Err(UnprovedAnswer::Nobody(why.clone())),
            (Self::Signed(human), _) => human,
        };
        let Some(signed) = proof else { return Err(UnprovedAnswer::Unsigned) };
        if !human.has_signed(signed) {
            return Err(UnprovedAnswer::Forged);
        }
        if signed.claim != asked.claim(human.database(), approval, *granted, by, *answered_at) {
            return Err(UnprovedAnswer::Elsewhere);
        }
        if at.max(*answered_at).0 > signed.claim.expires {
            return Err(UnprovedAnswer::Expired);
        }
        Ok(Some(Arc::clone(signed)))
    }

    /// Whether an answer that stands still counts, for a call of this session.
    pub(crate) fn counts(&self, answer: &Answered, session: &str, policy: &Policy, standing_ms: u64) -> bool {
        let human = match self {
            Self::Store => return true,
            _ if !answer.granted => return true,
            Self::Nobody(_) => return false,
            Self::Signed(human) => human,
        };
        let Some(signed) = &answer.proof else { return false };
        let claim = &signed.claim;
        let is_about_tool = |tool: &Arc<str>| policy.name(&claim.tool) == *tool;
        let is_about = match &answer.about {
            Subject::Rule(rule) => *rule == answer.given_for,
            Subject::Tool(tool) => is_about_tool(tool),
        };
        let mark = policy.rule(answer.given_for).map(|rule| mark(policy, rule));
        claim.granted
            && is_about
            && (answer.is_shared || claim.session == session)
            && claim.database == hex(human.database())
            && mark.is_some_and(|mark| claim.rules.contains(&mark))
            && answer.until <= Time(claim.expires).after_ms(standing_ms)
            && human.has_signed(signed)
    }
}
