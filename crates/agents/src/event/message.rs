//! Events: what an agent writes to its hook, as it was written and as we read it.

use serde_json::{Map, Value};

/// An event as the agent wrote it.
pub type Message = Map<String, Value>;

/// What an agent tells its hook.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// A tool is about to run.
    Call(Box<ToolCall>),
    /// A tool has run.
    Result(Box<ToolResult>),
    /// The agent did not run a tool, though we let it pass or left the question to its human.
    Refused(Box<ToolCall>),
    /// A session begins, goes on, was shortened or ends; what is remembered of it stays.
    Session {
        /// The agent's id of the session.
        session: String,
        /// What happens.
        phase: Phase,
    },
    /// The user wrote to the agent.
    Prompt(Box<Prompt>),
    /// Nothing that a gate decides.
    Other,
}

impl Event {
    /// A tool has run.
    pub(crate) fn result(call: ToolCall, ok: bool, output: Value) -> Self {
        Self::Result(Box::new(ToolResult { call, ok, output }))
    }
}

/// What happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    Resumed,
    Compacted,
    Ended,
}

/// The user wrote to the agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prompt {
    /// The agent's id of the session.
    pub(crate) session: String,
    /// The folder the agent works in.
    pub(crate) cwd: Option<String>,
    /// What the user wrote, and nothing that others did.
    pub(crate) words: String,
}

/// A tool is about to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolCall {
    /// The agent's id of the session; that of the parent where an agent was started by another.
    pub(crate) session: String,
    /// The agent's id of the call, where it has one.
    pub(crate) id: Option<String>,
    /// The tool as the agent calls it.
    pub(crate) tool: String,
    /// Its input.
    pub(crate) input: Map<String, Value>,
    /// The folder it runs in.
    pub(crate) cwd: Option<String>,
    /// The agent inside the session, where it is not the main one.
    pub(crate) agent: Option<String>,
    /// The name of the event. A call that two events show is one call.
    pub(crate) seen_at: &'static str,
    /// The fields of the input that distinguish calls where the agent gives no id; empty for all of them.
    pub(crate) distinct_by: &'static [&'static str],
}

/// A tool has run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolResult {
    /// The call it belongs to.
    pub(crate) call: ToolCall,
    /// Whether the agent says success.
    pub(crate) ok: bool,
    /// What the tool returned, in the agent's own shape.
    pub(crate) output: Value,
}

/// An event that cannot be understood, though it may carry a tool call: it is blocked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EventError(pub(crate) String);
