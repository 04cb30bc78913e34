//! What a workflow says to a call, and what a call shows.

use std::sync::Arc;

use crate::workflow::{
    Exec,
    progress::{Shown, Step},
};

/// What a workflow makes of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// What happens on the way: stages that end whatever becomes of the call.
    pub steps: Vec<Step>,
    /// What it says.
    pub outcome: Outcome,
}

/// What a workflow says to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The call belongs to a stage.
    Accepted {
        /// That stage; empty for the call that crosses the last line.
        stage: Arc<str>,
    },
    /// The call is refused.
    Blocked {
        /// The stage that refuses it, or that it cannot enter.
        stage: Arc<str>,
        /// Why.
        reason: String,
        /// What would help: the condition that does not hold.
        missing: Option<Arc<str>>,
    },
    /// A human has to agree to the end of a stage first.
    Asks {
        /// The stage.
        stage: Arc<str>,
        /// What is asked.
        message: String,
    },
    /// A program of a condition has to be run first.
    Runs(Exec),
}

/// What a call would show if it succeeded, and what it breaks by being let pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallEvidence {
    /// What a success shows.
    pub shown: Shown,
    /// The keys of conditions that are broken at once.
    pub spoiled: Vec<Arc<str>>,
}

/// How an operator moves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorMove {
    /// Back to a stage: what was shown and agreed to from there on is forgotten.
    Reset,
    /// To a stage, with all that was shown.
    Set,
}

/// A workflow has no stage of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow `{workflow}` has no stage `{stage}`; it has: {known}")]
pub struct UnknownStage {
    pub(super) workflow: String,
    pub(super) stage: String,
    pub(super) known: String,
}
