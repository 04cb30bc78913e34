//! One end of a conversation: messages go in and come out, whatever carries them.
//! A client or a server is a [`Link`], carried by a pipe, a child process or HTTP. Channels are
//! bounded, so that a slow reader slows down the writer, and memory does not fill up.

use tokio::sync::mpsc;

use crate::message::Id;

/// How many messages may wait in one direction.
pub(crate) const WAITING_MAX: usize = 64;

/// One end of a conversation.
#[derive(Debug)]
pub struct Link {
    /// What is said to the other side.
    pub to: mpsc::Sender<Outgoing>,
    /// What the other side says.
    pub from: mpsc::Receiver<Incoming>,
}

/// A message for the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// One JSON-RPC message, without a line break.
    pub text: String,
    /// To a client: the request of it that this belongs to, where that is known. HTTP sends it on that stream.
    pub about: Option<Id>,
    /// To a server: the header names and values that HTTP repeats of a tool call's arguments.
    pub mirrored: Vec<(String, String)>,
}

/// What comes from the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// One message, as it came.
    Message(String),
    /// Something that is no message and was left out: too long, or not UTF-8. The sentence says which.
    Unreadable(String),
    /// The other side has ended, and why; nothing comes after this. `about` is given where only one request of ours
    /// was lost with it, as with one HTTP exchange.
    Gone {
        /// Why, for people.
        reason: String,
        /// The one request that is lost; none where all are.
        about: Option<Id>,
    },
}

/// The other end of a [`Link`]: what a transport holds.
#[derive(Debug)]
pub struct TransportEnd {
    /// What the other side says.
    pub say: mpsc::Sender<Incoming>,
    /// What is said to it.
    pub hear: mpsc::Receiver<Outgoing>,
}

/// A link and its other end.
pub fn pipe() -> (Link, TransportEnd) {
    let (to, hear) = mpsc::channel(WAITING_MAX);
    let (say, from) = mpsc::channel(WAITING_MAX);
    (Link { to, from }, TransportEnd { say, hear })
}
