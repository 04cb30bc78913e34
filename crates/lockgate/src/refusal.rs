//! A call that must not run.

use std::fmt;

use lockgate_call::Call;
use lockgate_gate::{JudgedCall, Obstacle, Verdict};
use serde::{Serialize, Serializer};

/// A call that must not run, and why. It serialises to the documented JSON of an answer.
#[derive(Clone)]
pub struct Refusal {
    call: Call,
    verdict: Verdict,
}

impl Refusal {
    pub(crate) fn new(call: Call, verdict: Verdict) -> Self {
        Self { call, verdict }
    }

    /// The leading reason.
    pub fn reason(&self) -> &str {
        &self.verdict.reason
    }

    /// The sentence for the agent: the reason and its rule, what else is in the way, and what to do first.
    pub fn sentence(&self) -> String {
        self.verdict.sentence()
    }

    /// Everything in the way, the leading obstacle first.
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.verdict.obstacles
    }

    /// What the agent could call now to get closer.
    pub fn next(&self) -> impl Iterator<Item = &str> {
        self.verdict.next.iter().map(AsRef::as_ref)
    }

    /// Whether it was refused because no human answered in time.
    pub fn is_timeout(&self) -> bool {
        self.verdict.timed_out
    }

    /// The id of the call.
    pub fn id(&self) -> &str {
        &self.call.id
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JudgedCall::new(&self.call, &self.verdict).serialize(serializer)
    }
}

/// The input is left out: what must not run may hold what must not be logged.
impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, tool, reason) = (&self.call.id, &self.call.tool, &self.verdict.reason);
        let mut refusal = f.debug_struct("Refusal");
        refusal.field("id", id).field("tool", tool).field("reason", reason).finish_non_exhaustive()
    }
}
