//! Plays a session and writes it down: one line a call, and what the agent is told when it is stopped.

use lockgate::{Approver, Call, Gate, Outcome, call::canonical_json, gate::StoreError};

/// A call, and whether the tool succeeds once it may run.
pub(crate) type Step = (Call, bool);

/// A call of a tool whose input has one field.
pub(crate) fn call(tool: &str, field: &str, value: &str) -> Call {
    Call::new("", tool).with(field, value)
}

/// Puts every call to the gate and reports the result of those that may run.
///
/// # Errors
/// When the store fails, which memory does not.
pub(crate) fn play(gate: &Gate, human: &mut dyn Approver, steps: Vec<Step>) -> Result<String, StoreError> {
    let mut told = String::new();
    for (number, (call, ok)) in steps.into_iter().enumerate() {
        let call = Call { id: number.to_string(), ..call };
        let verdict = gate.call_with(&call, human);
        let fails = if verdict.lets_pass() && !ok { "  (and fails)" } else { "" };
        let input = canonical_json(&call.input);
        told.push_str(&format!("{:<6} {} {input}{fails}\n", verdict.decision.word(), call.tool));
        for obstacle in &verdict.obstacles {
            told.push_str(&format!("       {}\n", obstacle.reason));
        }
        if verdict.lets_pass() {
            let outcome = Outcome { session: call.session, id: call.id, ok, ..Outcome::default() };
            gate.result(&outcome)?;
        }
    }
    Ok(told)
}
