//! The right to run one tool call, once.
//!
//! A [`Permit`] owns the input to run the tool with and is the only way to it. [`Permit::settle`] takes the result and
//! gives back what may be passed on. A permit that is dropped counts as a failure: what the call spent stays spent, and
//! it earns nothing.

use std::{fmt, mem, sync::Arc};

use lockgate_call::Call;
use lockgate_gate::{JudgedCall, Outcome, OutputDecision, SettledCall, Settlement, StoreError, Verdict};
use lockgate_policy::Decision;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{core::Core, tool_call::ToolResult};

/// The right to run one tool call, once.
#[must_use = "run the tool with the permit's input, and settle the permit with the result"]
pub struct Permit {
    core: Arc<Core>,
    call: Call,
    verdict: Verdict,
    is_settled: bool,
}

impl Permit {
    pub(crate) fn new(core: Arc<Core>, mut call: Call, verdict: Verdict) -> Self {
        // The input the agent sent is gone from here on: only the one the rules agree to can be run.
        if let (Decision::Redact, Some(masked)) = (verdict.decision, &verdict.input) {
            call.input.clone_from(masked);
        }
        Self { core, call, verdict, is_settled: false }
    }

    /// The input to run the tool with, masked where a rule says so.
    pub fn input(&self) -> &Map<String, Value> {
        &self.call.input
    }

    /// Whether the input is not the one that the agent sent.
    pub fn is_masked(&self) -> bool {
        self.verdict.decision == Decision::Redact
    }

    /// The tool to run.
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The id of the call.
    pub fn id(&self) -> &str {
        &self.call.id
    }

    /// The session of the call.
    pub fn session(&self) -> &str {
        &self.call.session
    }

    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Stores the result, and returns what may be passed on of it.
    ///
    /// # Errors
    /// When the store fails: nothing was stored, and the error holds the permit to try again.
    pub fn settle(mut self, result: impl Into<ToolResult>) -> Result<Output, SettleError> {
        let result = result.into();
        match self.core.settle(&self.call.session, &self.call.id, Some(&self.call.tool), result) {
            Ok(output) => {
                self.is_settled = true;
                Ok(output)
            }
            Err(source) => Err(SettleError { permit: Box::new(self), source }),
        }
    }

    /// Leaves the call in flight and returns its id: another part of the program, or another process, settles it with
    /// [`Session::settle`](crate::Session::settle).
    pub fn detach(mut self) -> String {
        self.is_settled = true;
        mem::take(&mut self.call.id)
    }
}

/// The documented JSON of an answer.
impl Serialize for Permit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JudgedCall::new(&self.call, &self.verdict).serialize(serializer)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.is_settled {
            let failed = ToolResult { is_success: false, output: None };
            // A store that fails here leaves the call in flight, where it lapses: that opens nothing either.
            let _ = self.core.settle(&self.call.session, &self.call.id, Some(&self.call.tool), failed);
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("call", &self.call).finish_non_exhaustive()
    }
}

/// The result of a call could not be stored.
#[derive(Debug, thiserror::Error)]
#[error("the result of `{}` could not be stored; settle it again", permit.call.tool)]
pub struct SettleError {
    permit: Box<Permit>,
    source: StoreError,
}

impl SettleError {
    /// The permit, to settle again.
    pub fn into_permit(self) -> Permit {
        *self.permit
    }
}

/// What may be passed on of a tool's output. It serialises to the documented JSON of an answer to a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    id: String,
    session: String,
    value: Option<Value>,
    settlement: Settlement,
}

impl Output {
    pub(crate) fn new(outcome: Outcome, settlement: Settlement) -> Self {
        let Outcome { id, session, output, .. } = outcome;
        let value = match (&settlement.output, settlement.decision) {
            (Some(replaced), _) => Some(replaced.clone()),
            (None, OutputDecision::Block) => None,
            (None, _) => output,
        };
        Self { id, session, value, settlement }
    }

    /// The value to hand to the agent: the tool's own, masked, or a sentence in its place.
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The same, owned.
    pub fn into_value(self) -> Option<Value> {
        self.value
    }

    /// What is decided about the output.
    pub fn decision(&self) -> OutputDecision {
        self.settlement.decision
    }

    /// Why the output is not passed on as it is, and by which rule.
    pub fn sentence(&self) -> Option<String> {
        self.settlement.sentence()
    }

    /// Whether a call was waiting for this result. A second result of a call changes nothing.
    pub fn is_settled(&self) -> bool {
        self.settlement.settled
    }

    /// Everything that was decided.
    pub fn settlement(&self) -> &Settlement {
        &self.settlement
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { id, session, settlement, .. } = self;
        SettledCall { id, session, settlement }.serialize(serializer)
    }
}

impl Core {
    /// Stores the result of a call.
    pub(crate) fn settle(
        &self,
        session: &str,
        id: &str,
        tool: Option<&str>,
        result: ToolResult,
    ) -> Result<Output, StoreError> {
        let ToolResult { is_success, output } = result;
        let outcome = Outcome {
            session: session.to_owned(),
            id: id.to_owned(),
            tool: tool.map(ToOwned::to_owned),
            ok: is_success,
            output,
            like: None,
            at: self.clock.now(),
        };
        let settlement = self.engine.result(&outcome)?;
        Ok(Output::new(outcome, settlement))
    }
}
