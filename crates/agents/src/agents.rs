//! The coding agents that Lockgate knows: one file each.
//!
//! [`Agent`] is one of them, for everything that serves all agents. A new agent is a file here, a row in [`Agent::ALL`]
//! and its tools, which are rows of the table in `call/src/tools/`.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod cursor;
pub(crate) mod gemini_cli;
mod generic;
mod openclaw;
pub(crate) mod opencode;
mod plain;
mod shared;
#[cfg(test)]
mod tests;

use std::{cmp::Ordering, fmt, path::Path, time::Duration};

use lockgate::engine::call::{AgentTools, agent_tools};

use crate::{
    coding_agent::{CodingAgent, Facts, NEVER_HEARS_USER, Reaction},
    edit::Scope,
    environment::Environment,
    event::{Answer, Ask, Event, EventError, HookReply, Message},
};

/// A coding agent.
#[derive(Clone, Copy)]
pub struct Agent(&'static dyn CodingAgent);

impl Agent {
    /// The agent that is meant where none is in use.
    pub const CLAUDE_CODE: Self = Self(&claude_code::ClaudeCode);

    /// Every agent that hooks can be installed for, in the order in which people are told of them.
    pub const ALL: &'static [Self] = &[
        Self::CLAUDE_CODE,
        Self(&codex::Codex),
        Self(&gemini_cli::GeminiCli),
        Self(&copilot::Copilot),
        Self(&cursor::Cursor),
        Self(&opencode::OpenCode),
        Self(&openclaw::OpenClaw),
    ];

    /// Any agent without a file of its own: a script speaks the plain form for it.
    pub const GENERIC: Self = Self(&generic::Generic);

    /// Every agent whose events a hook understands.
    pub fn with_hooks() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().chain([Self::GENERIC])
    }

    /// The agent of this name, of all whose events a hook understands.
    pub fn named(name: &str) -> Option<Self> {
        Self::with_hooks().find(|agent| agent.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its tools, as rules see them. Invariant: every agent of [`Agent::ALL`] has a row, which a test holds.
    pub fn tools(self) -> Option<&'static AgentTools> {
        agent_tools(self.name())
    }

    /// Whether the agent is in use here: it has a folder in the project or at home, or its program can be run.
    pub fn is_in_use(self, project: &Path, environment: &Environment) -> bool {
        let signs = &self.facts().signs;
        let home = environment.home.as_deref();
        let in_home = |sign: &str| home.is_some_and(|home| home.join(sign).exists());
        let in_path = |program: &str| environment.path.iter().any(|folder| folder.join(program).is_file());
        // A project may well be the home folder's neighbour, never the home folder itself.
        signs.project.iter().any(|sign| project.join(sign).exists())
            || signs.home.iter().any(|sign| in_home(sign))
            || signs.programs.iter().any(|program| in_path(program))
    }

    /// What has to be done by hand after an installation.
    pub fn next_steps(self, scope: Scope) -> &'static [&'static str] {
        self.0.next_steps(scope)
    }

    /// Whether its hooks are told what the user writes.
    pub fn hears_user(self) -> bool {
        !self.limits().contains(&NEVER_HEARS_USER)
    }

    /// What no hook can help, and what only a human can look at.
    pub fn limits(self) -> &'static [&'static str] {
        self.facts().limits
    }

    /// The variable that holds the name of the session, for MCP servers that the agent starts.
    pub fn session_variable(self) -> Option<&'static str> {
        self.facts().session_variable
    }

    /// How a question about an event reaches a human: as the agent can, or as settings say where that is stricter.
    pub fn asking(self, setting: Ask, message: &Message) -> Ask {
        match (setting, self.0.asking(message)) {
            (Ask::Host, asking) => asking,
            (Ask::Defer, _) if self.0.can_defer(message) => Ask::Defer,
            (Ask::Defer, asking) => asking,
            (Ask::Wait, _) => Ask::Wait,
            (Ask::Block, _) => Ask::Block,
        }
    }

    /// The event of a made-up shell command that has not run, as the agent would write it.
    pub fn trial(self, session: &str, command: &str, folder: &str) -> Message {
        self.0.trial(session, command, folder).as_object().cloned().unwrap_or_default()
    }

    /// The reply that lets an event pass.
    pub fn pass(self, message: &Message) -> HookReply {
        self.0.encode(message, &Answer::Pass)
    }

    /// The reply that blocks an event.
    pub fn block(self, message: &Message, reason: &str) -> HookReply {
        self.0.encode(message, &Answer::Block { reason: reason.to_owned() })
    }

    /// What the agent does with a reply to the event before a tool runs.
    pub fn reaction(self, reply: &HookReply) -> Reaction {
        self.0.reaction(reply)
    }

    pub(crate) fn facts(self) -> &'static Facts {
        self.0.facts()
    }

    pub(crate) fn sender(self, message: &Message) -> &'static str {
        self.0.sender(message)
    }

    pub(crate) fn waits_for(self, event: &Event) -> Duration {
        self.0.waits_for(event)
    }

    pub(crate) fn decode(self, message: &Message) -> Result<Event, EventError> {
        self.0.decode(message)
    }

    pub(crate) fn encode(self, message: &Message, answer: &Answer) -> HookReply {
        self.0.encode(message, answer)
    }

    pub(crate) fn fault(self, message: Option<&Message>, line: &str) -> HookReply {
        self.0.fault(message, line)
    }

    pub(crate) fn profile(self) -> &'static dyn CodingAgent {
        self.0
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Agent {}

impl Ord for Agent {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |agent: &Self| Self::with_hooks().position(|it| it == *agent);
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for Agent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
