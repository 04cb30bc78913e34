//! The human behind an agent: whether there is one, how a question reaches them, and what they answer.

use serde::Deserialize;

/// Whether a human can be asked, as the line protocol writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Human {
    /// A human can be asked, and the call waits.
    #[default]
    #[serde(rename = "wait")]
    Reachable,
    /// No human can be asked: a call that needs one is blocked.
    #[serde(rename = "none")]
    Absent,
}

/// How a question reaches a human, the strictest last, as settings write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// The agent or the MCP client asks, where it can.
    #[default]
    Host,
    /// The agent ends its run, and comes back with the same call after a human has answered.
    Defer,
    /// The call waits for `lockgate approve`, and is blocked when its time is over.
    Wait,
    /// No human is asked: a call that needs one is blocked.
    Block,
}

impl Ask {
    /// As it is written in a file of settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Defer => "defer",
            Self::Wait => "wait",
            Self::Block => "block",
        }
    }

    /// The way of a word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Host, Self::Defer, Self::Wait, Self::Block].into_iter().find(|ask| ask.word() == word)
    }

    /// Whether a human can be asked this way.
    pub fn human(self) -> Human {
        match self {
            Self::Host | Self::Defer | Self::Wait => Human::Reachable,
            Self::Block => Human::Absent,
        }
    }
}

/// A human's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Granted,
    /// No.
    Refused,
    /// None: no human is there, or none answered in time.
    Nobody,
}

impl From<bool> for Answer {
    fn from(granted: bool) -> Self {
        if granted { Self::Granted } else { Self::Refused }
    }
}
