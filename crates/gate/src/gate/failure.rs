//! What is answered when Lockgate itself fails, or when something cannot be done to a session: a block, and no output.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    output::{OutputDecision, suppressed},
    settle::Settlement,
    store::StoreError,
    verdict::Verdict,
};

/// Turns a panic of ours, of the store or of the author's code into an error: it must not reach the program around.
pub(super) fn catching<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(StoreError::Panicked))
}

/// The verdict when the author's code or ours panics.
pub(super) fn panicked() -> Verdict {
    failed("a rule's own code or the gate panicked")
}

/// The settlement when the output could not be looked at.
pub(super) fn withheld(settlement: Settlement) -> Settlement {
    let reason = panicked().reason;
    let output = Some(suppressed(&reason));
    Settlement { decision: OutputDecision::Block, reason: Some(reason), output, ..settlement }
}

/// The verdict when Lockgate itself fails.
pub(super) fn failed(why: &str) -> Verdict {
    Verdict::refused_by_gate(
        "lockgate",
        format!("Lockgate could not decide ({why}), so the call is blocked."),
    )
}

/// Why an operator cannot do something to a rule of a session.
pub(super) fn policy_changed() -> StoreError {
    let why = "the policy was changed after this session began, so its rules cannot be moved or switched; run `lockgate \
               accept-policy` first, or restore the policy";
    StoreError::Unavailable(why.to_owned())
}
