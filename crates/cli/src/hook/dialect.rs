//! What hosts tell a hook and what a hook answers, in our words.
//!
//! Each host has one file beside this one, or shares one with others, that reads its events into [`Told`] and writes [`Said`] in the form that
//! makes *that* host obey. A dialect decides nothing, reads no file and knows no clock. [`named`] finds one.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini_cli;
mod plain;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::install::{CALL_LIMIT, OTHER_LIMIT};

/// Every host with a dialect, in the order in which people are told of them.
static DIALECTS: [&dyn Dialect; 8] = [
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &copilot::Copilot,
    &cursor::Cursor,
    &plain::OPENCODE,
    &plain::OPENCLAW,
    &plain::GENERIC,
];

/// The dialect of a host, by its name on the command line.
pub(crate) fn named(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}

/// The names of all hosts with a dialect.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    DIALECTS.into_iter().map(Dialect::name)
}

/// An event as the host wrote it.
pub(crate) type Event = Map<String, Value>;

/// How one host speaks.
pub(crate) trait Dialect: Sync {
    /// The host's name on the command line and in the names of its sessions.
    fn name(&self) -> &'static str;

    /// The host that sent the event, for the names of its sessions. It is another than the one the hook was
    /// installed for where that other runs the same configuration: Copilot and Cursor read `.claude/settings.json`.
    fn host(&self, _event: &Event) -> &'static str {
        self.name()
    }

    /// How a question reaches a human under this host.
    fn asking(&self, event: &Event) -> Asking;

    /// Whether the host can put a call off until a human has answered.
    fn can_defer(&self, _event: &Event) -> bool {
        false
    }

    /// How long the host waits for the hook, as `lockgate init` installs it.
    fn waits_for(&self, told: &Told) -> Duration {
        limit_of(told)
    }

    /// Reads an event. An event of an unknown kind that carries a tool call is [`Misread`]: it is blocked.
    fn decode(&self, event: &Event) -> Result<Told, Misread>;

    /// Writes an answer to an event that was read.
    fn encode(&self, event: &Event, said: &Said) -> Reply;

    /// Writes that Lockgate itself has failed, so that the host blocks; the event is none where it could not be
    /// read. The line is one clear sentence, never empty.
    fn fault(&self, event: Option<&Event>, line: &str) -> Reply;
}

/// How long hosts wait that can be told to.
fn limit_of(told: &Told) -> Duration {
    match told {
        Told::Call(_) => CALL_LIMIT,
        Told::Result(_) | Told::Refused(_) | Told::Session { .. } | Told::Nothing => OTHER_LIMIT,
    }
}

/// How a question reaches a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// The host asks, and where nobody is there it refuses.
    Host,
    /// The hook waits until somebody answers by `lockgate approve`, and blocks when its time is over.
    Wait,
    /// The host ends its run, and comes back with the same call after somebody has answered.
    Defer,
    /// Nobody is asked: what needs a human is blocked.
    Nobody,
}

/// What a host tells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// A tool is about to run.
    Call(Box<ToldCall>),
    /// A tool has run.
    Result(Box<ToldResult>),
    /// The host let a tool not run, though we had nothing against it or left the question to its human.
    Refused(Box<ToldCall>),
    /// A session begins, goes on, was shortened or ends; what is remembered of it stays.
    Session {
        /// The host's id of the session.
        session: String,
        /// What happens.
        phase: Phase,
    },
    /// Nothing that a gate has a say in.
    Nothing,
}

/// What happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    Resumed,
    Compacted,
    Ended,
}

/// A tool is about to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToldCall {
    /// The host's id of the session; that of the parent where an agent was started by another.
    pub(crate) session: String,
    /// The host's id of the call, where it has one.
    pub(crate) id: Option<String>,
    /// The tool as the host calls it.
    pub(crate) tool: String,
    /// Its input.
    pub(crate) input: Map<String, Value>,
    /// The folder it runs in.
    pub(crate) cwd: Option<String>,
    /// The agent inside the session, where it is not the main one.
    pub(crate) agent: Option<String>,
    /// Which of the host's events this is. A call that two events show is one call.
    pub(crate) seen_at: &'static str,
    /// The fields of the input that tell calls apart where the host gives no id; empty for all of them.
    pub(crate) told_apart_by: &'static [&'static str],
}

/// A tool has run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToldResult {
    /// The call it belongs to.
    pub(crate) call: ToldCall,
    /// Whether the host says success.
    pub(crate) ok: bool,
    /// What the tool returned, in the host's own shape.
    pub(crate) output: Value,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// The host goes on as it would without us.
    Pass,
    /// The tool runs with another input, if the host lets it run.
    Change {
        /// The whole input.
        input: Map<String, Value>,
        /// What was changed and why, for the agent.
        reason: String,
    },
    /// A human is asked by the host.
    Ask {
        /// Why.
        reason: String,
    },
    /// The host puts the call off until a human has answered.
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
        /// The whole output, in the shape in which it was told.
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

/// What the process prints and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: u8,
}

/// An event that cannot be understood, though it may carry a tool call: it is blocked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misread(pub(crate) String);
