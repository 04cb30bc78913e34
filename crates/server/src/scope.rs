//! What the owner of a token may do.

use serde::{Deserialize, Serialize};

/// What the owner of a token may do. `http/routes.rs` says which routes each of them may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Judge calls, and nothing that rules trust a host for: the agent itself may own such a token.
    Agent,
    /// The program that runs an agent: also the user's words, and facts about sessions and calls.
    Host,
    /// Look at everything.
    Viewer,
    /// Look, answer questions, and halt.
    Approver,
    /// Look, and check drafts of policies.
    Author,
    /// Everything.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Agent, Self::Host, Self::Viewer, Self::Approver, Self::Author, Self::Admin];

    /// As the command line and the file of tokens write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Host => "host",
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }
}
