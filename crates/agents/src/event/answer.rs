//! Answers: what a hook decides about an event, and what its process prints.
//!
//! The builders here make replies that an agent cannot take for others: a reason is never empty, and a refusal is a line
//! on stderr with exit code 2.

use serde_json::{Map, Value, json};

use super::message::Message;

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The agent goes on as it would without us.
    Pass,
    /// The tool runs with another input, if the agent lets it run.
    Change {
        /// The whole input.
        input: Map<String, Value>,
        /// What was changed and why, for the agent.
        reason: String,
    },
    /// The agent asks a human.
    Ask {
        /// Why.
        reason: String,
    },
    /// The agent puts the call off until a human has answered.
    Defer {
        /// Why.
        reason: String,
    },
    /// The tool does not run.
    Block {
        /// Why, and what would open it. Never empty.
        reason: String,
    },
    /// The agent sees another output.
    Replace {
        /// The whole output, in the shape of the original.
        output: Value,
        /// What was changed and why.
        reason: String,
    },
    /// The agent sees nothing of the output.
    Withhold {
        /// Why. Never empty.
        reason: String,
    },
}

/// What a hook prints and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookReply {
    /// What the agent reads.
    pub stdout: String,
    /// What people read, and some agents.
    pub stderr: String,
    /// The exit code of the process.
    pub code: u8,
}

/// One JSON object on one line, and success.
pub(crate) fn json_reply(object: &Value) -> HookReply {
    HookReply { stdout: format!("{object}\n"), ..HookReply::default() }
}

/// A reply to one event, in the form of Claude Code that Codex has taken over.
pub(crate) fn specific_reply<const N: usize>(name: &str, fields: [(&str, Value); N]) -> HookReply {
    let mut inner = Message::from_iter([("hookEventName".to_owned(), Value::from(name))]);
    inner.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    json_reply(&json!({ "hookSpecificOutput": inner }))
}

/// Nothing printed, and success.
pub(crate) fn silence() -> HookReply {
    HookReply::default()
}

/// What every agent with command hooks takes for a block: a line on stderr and exit code 2.
///
/// The line begins with our name: one agent runs the tool where the line is empty, another where it is JSON.
pub(crate) fn refuse(line: &str) -> HookReply {
    HookReply { stderr: complaint(line), code: 2, ..HookReply::default() }
}

/// A line for stderr.
pub(crate) fn complaint(line: &str) -> String {
    let line: Vec<&str> = sentence(line).split_whitespace().collect();
    format!("lockgate: {}\n", line.join(" "))
}

/// The reason where none was given: an agent may run the tool when the reason is empty.
const NO_REASON: &str = "Lockgate does not let this pass, and gave no reason.";

/// A reason that is never empty.
pub(crate) fn sentence(reason: &str) -> &str {
    if reason.trim().is_empty() { NO_REASON } else { reason }
}

/// The reason of an answer.
pub(crate) fn reason_of(answer: &Answer) -> &str {
    match answer {
        Answer::Pass => sentence(""),
        Answer::Change { reason, .. }
        | Answer::Ask { reason }
        | Answer::Defer { reason }
        | Answer::Block { reason }
        | Answer::Replace { reason, .. }
        | Answer::Withhold { reason } => sentence(reason),
    }
}

/// The reason where an agent shows an output whatever we answer.
pub(crate) fn cannot_hide(reason: &str) -> String {
    format!("{} Lockgate could not hide this output: the agent offers no way to do so.", sentence(reason))
}
