//! Takes conversations that begin over HTTP.

use std::sync::Arc;

use crate::transport::link::Link;

/// Takes a sentence for the operator.
pub(super) type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// Who takes conversations that begin.
pub trait Acceptor: Send + Sync + 'static {
    /// A conversation begins. It ends when the link gives nothing more, or is dropped.
    /// The server of all clients calls this, so it must not wait.
    fn begin(&self, link: Link, kind: ConversationKind);

    /// What headers have to repeat of a message, as far as that is known: the names behind `Mcp-Param-`, and the
    /// values.
    fn mirrored(&self, text: &str) -> Vec<(String, Option<String>)> {
        let _ = text;
        Vec::new()
    }
}

/// What kind of conversation begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationKind {
    /// A session of many requests; its id.
    Session(String),
    /// One request of the revision without sessions.
    Request,
}
