//! What a row of the table of tools says.

/// A tool of an agent or of a common server.
#[derive(Debug)]
pub(super) struct Tool {
    /// Its name as rules see it.
    pub(super) name: &'static str,
    /// The agents that come with it, with spaces between them.
    pub(super) agents: &'static str,
    /// The agents whose model calls it so, where their hooks tell another name.
    pub(super) inner: &'static str,
    /// Whether the filesystem server of MCP has it.
    pub(super) is_served: bool,
    /// Whether tools of other servers have this name too: those may do anything.
    pub(super) is_common: bool,
    /// The field that holds its script, or names the file that it reads; empty where no rule asks for it.
    pub(super) field: &'static str,
    pub(super) does: Does,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// It runs a script.
    RunsScript,
    /// It shows one file.
    ReadsFile,
    /// It reads or lists files.
    Looks,
    /// It makes, changes or removes files.
    Writes,
    /// It fetches something from the network.
    Fetches,
    /// It keeps a list of what to do.
    Notes,
    /// It starts another agent.
    StartsAgent,
    /// It asks the human something.
    Asks,
    /// It types into a program that runs.
    Types,
    /// Anything.
    Unknown,
}

impl Tool {
    /// Whether this agent comes with it.
    pub(super) fn is_of(&self, agent: &str) -> bool {
        self.agents.split_ascii_whitespace().any(|owner| owner == agent)
    }

    /// Whether it is known whose tool it is.
    pub(super) fn has_owner(&self) -> bool {
        !self.agents.is_empty() || !self.inner.is_empty() || self.is_served
    }
}

impl Does {
    /// Whether it starts no program of the agent's choice.
    pub(super) fn runs_nothing(self) -> bool {
        matches!(self, Self::ReadsFile | Self::Looks | Self::Writes | Self::Fetches | Self::Notes)
    }
}
