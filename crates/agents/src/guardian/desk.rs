//! What the guardian leaves to the program around it: errands of commands, and the words of the line protocol.

use serde_json::Value;

use super::{conversation::Peer, lines::GuardedLine, protocol::Errand, ward::WardState};

/// Does what clients want; each error is a line for people.
pub trait Desk: Send + Sync {
    /// Does one errand for a user.
    fn serve(&self, ward: &WardState, peer: Peer, errand: Errand) -> Result<Value, String>;

    /// Answers one line of the line protocol.
    fn line(&self, line: &GuardedLine<'_>) -> Result<String, String>;
}
