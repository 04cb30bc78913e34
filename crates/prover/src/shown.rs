//! A session that tells two policies apart.

use std::sync::Arc;

use lockgate_policy::{Decision, RuleId};

use crate::{play::Part, proof::Side};

/// A session that tells two policies apart.
#[derive(Clone, Debug)]
pub struct ShownDifference {
    /// What became of its last call.
    pub kind: DifferenceKind,
    /// The name of its last call.
    pub tool: Arc<str>,
    /// The policy whose rule makes the difference.
    pub stricter: Side,
    /// The rule.
    pub rule: RuleId,
    /// The session, as the new policy plays it. Up to its last call both decide alike.
    pub session: Vec<Part>,
    /// What the old policy decides about the last call.
    pub old: Decision,
    /// What the new one decides.
    pub new: Decision,
    /// Why the stricter one does not let it pass.
    pub reason: String,
    /// Whether it is proved that no session that shows the rule's difference is shorter.
    pub is_shortest: bool,
}

/// Which way two policies differ, in the order in which a reviewer wants to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// The old one refused it.
    NewlyAllowed,
    /// The old one asked a human.
    NoLongerAsked,
    /// The new one asks a human.
    NewlyAsked,
    /// The new one refuses it.
    NewlyBlocked,
}

impl DifferenceKind {
    /// The heading of such differences.
    pub fn words(self) -> &'static str {
        match self {
            Self::NewlyAllowed => "newly allowed",
            Self::NoLongerAsked => "no longer asked about",
            Self::NewlyAsked => "newly asked about",
            Self::NewlyBlocked => "newly blocked",
        }
    }
}

impl DifferenceKind {
    /// What it is that one decision became another; none where a human and the tool would not notice.
    pub(crate) fn of(was: Decision, is: Decision) -> Option<Self> {
        Some(match (was, is) {
            (Decision::Block, Decision::Block) | (Decision::Ask, Decision::Ask) => return None,
            (Decision::Block, _) => Self::NewlyAllowed,
            (_, Decision::Block) => Self::NewlyBlocked,
            (Decision::Ask, _) => Self::NoLongerAsked,
            (_, Decision::Ask) => Self::NewlyAsked,
            _ => return None,
        })
    }
}
