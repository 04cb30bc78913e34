//! The lines that go out, beside those that verdicts, settlements and statuses write themselves.

use lockgate::engine::gate::WorkflowStatus;
use serde::Serialize;
use serde_json::json;

/// Writes one answer, without the end of the line.
pub fn encode<T: Serialize>(answer: &T) -> String {
    // Only maps with keys that are no texts cannot be written, and there are none here.
    serde_json::to_string(answer)
        .unwrap_or_else(|error| format!(r#"{{"error":"the answer cannot be written: {error}"}}"#))
}

/// The verdict about a call that could not be judged: it blocks.
pub fn blocked_call(id: &str, session: &str, reason: &str) -> String {
    let obstacle = json!({"rule": "lockgate", "file": "", "line": 0, "verdict": "block", "reason": reason, "mode": "enforce"});
    let verdict = json!({"id": id, "session": session, "verdict": "block", "reason": reason, "obstacles": [obstacle],
                         "deeds": []});
    verdict.to_string()
}

/// To a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct PromptAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// The text for the model.
    pub prompt: String,
}

/// To a stage line: where the workflow stands now.
#[derive(Clone, Debug, Serialize)]
pub struct StageAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// Where it stands in the workflow.
    pub workflow: &'a WorkflowStatus,
}

/// To a session line: the session is known.
#[derive(Clone, Debug, Serialize)]
pub struct SessionAnswer<'a> {
    /// The session.
    pub session: &'a str,
}

/// To a net line: which net, and whether it takes part now.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// The net.
    pub net: &'a str,
    /// Whether it takes part now.
    pub active: bool,
    /// The same in words.
    pub text: String,
}

/// To a halt or a resume line.
#[derive(Clone, Debug, Serialize)]
pub struct HaltAnswer<'a> {
    /// The session; none means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// Whether calls are refused from now on.
    pub halted: bool,
}

/// To an untaint line: what sensitive data had closed is open again.
#[derive(Clone, Debug, Serialize)]
pub struct UntaintAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// Whether it is still tainted: never.
    pub tainted: bool,
}

/// To anything that is not understood.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorAnswer {
    /// What, and what to do.
    pub error: String,
}
