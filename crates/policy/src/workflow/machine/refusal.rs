//! Why a stage does not accept a call.

use std::sync::Arc;

use super::outcome::Outcome;
use crate::workflow::{Check, Stage, sight::Sight};

/// Said of a call whose tool is not open in the active stage, as documented.
pub(super) const NOT_ALLOWED: &str = "Tool is not allowed in this workflow stage";

/// Why a stage does not accept a call.
pub(super) enum Refusal<'a> {
    /// It accepts none.
    Boundary,
    Tool,
    Check(&'a Check),
}

impl Refusal<'_> {
    pub(super) fn says(&self, stage: &Stage) -> Outcome {
        let reason = match self {
            Self::Boundary | Self::Tool => NOT_ALLOWED.to_owned(),
            Self::Check(check) => check.sentence(&stage.id),
        };
        blocked(&stage.id, &reason)
    }
}

impl Check {
    /// The sentence for the agent when a call does not satisfy it.
    fn sentence(&self, stage: &str) -> String {
        let own = || match self.forbids {
            true => format!("stage `{stage}` takes no command that matches `{}`", self.pattern),
            false => format!("stage `{stage}` takes only commands that match `{}`", self.pattern),
        };
        self.message.clone().unwrap_or_else(own)
    }
}

impl Stage {
    /// Why it does not accept a call; none if it does.
    pub(super) fn refusal(&self, sight: &Sight<'_>) -> Option<Refusal<'_>> {
        if self.is_boundary() {
            return Some(Refusal::Boundary);
        }
        if !self.opens(sight.tool()) {
            return Some(Refusal::Tool);
        }
        let fails = |check: &&Check| {
            if check.forbids { sight.may_match(&check.pattern) } else { !sight.only_matches(&check.pattern) }
        };
        self.checks.iter().find(fails).map(Refusal::Check)
    }
}

pub(super) fn blocked(stage: &Arc<str>, reason: &str) -> Outcome {
    Outcome::Blocked { stage: stage.clone(), reason: reason.to_owned(), missing: None }
}
