//! What carries messages: a pipe, a child process, HTTP. All of them are [`link::Link`]s to the relay.

mod child;
mod http;
pub(crate) mod link;
mod shared;
mod stdio;

pub use child::{Child, ServerCommand, start, start_as};
pub use http::{Acceptor, BadTarget, ConversationKind, HttpTarget, ServeError, ServeOptions, connect, serve};
pub use link::{Incoming, Link, Outgoing, TransportEnd, pipe};
pub use shared::SharedServer;
pub use stdio::{OutputDrain, stdio};
