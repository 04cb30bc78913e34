//! A standing answer at rest.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::Policy;
use serde::{Deserialize, Serialize};

use crate::{
    signed_answer::{RuleMark, SignedAnswer, mark},
    state::parts::{Answered, Subject, is_false},
};

/// A standing answer, by the key of the rule or the name of the tool it is about.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    pub(super) granted: bool,
    until_ms: u64,
    /// The rule whose question was answered, and what it said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given_for: Option<RuleMark>,
    #[serde(default, skip_serializing_if = "is_false")]
    is_shared: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<Arc<SignedAnswer>>,
}

impl SavedAnswer {
    pub(super) fn of(answer: &Answered, policy: &Policy) -> Self {
        let (rule, tool) = match &answer.about {
            Subject::Rule(rule) => (policy.rule(*rule).map(|rule| rule.key.clone()), None),
            Subject::Tool(tool) => (None, Some(tool.to_string())),
        };
        Self {
            rule,
            tool,
            granted: answer.granted,
            until_ms: answer.until.0,
            given_for: policy.rule(answer.given_for).map(|rule| mark(policy, rule)),
            is_shared: answer.is_shared,
            proof: answer.proof.clone(),
        }
    }

    /// The answer to a rule that is gone, or that says something else by now, stands for nothing: the rule asks again.
    pub(super) fn restored(self, policy: &Policy) -> Option<Answered> {
        let given_for = self.given_for?;
        let giver = policy.rule_kept_under(&given_for.rule)?;
        if mark(policy, giver) != given_for {
            return None;
        }
        let about = match (self.rule, self.tool) {
            (Some(key), _) => Subject::Rule(policy.rule_kept_under(&key)?.id),
            (None, tool) => Subject::Tool(Arc::from(tool?)),
        };
        Some(Answered {
            about,
            granted: self.granted,
            until: Time(self.until_ms),
            given_for: giver.id,
            is_shared: self.is_shared,
            proof: self.proof,
        })
    }
}
