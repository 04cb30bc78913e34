//! Streamable HTTP, on both sides of the gate.
//!
//! [`connect`] reaches a server, [`serve`] waits for clients; both turn what travels over HTTP into a
//! [`Link`](super::link::Link). Revisions with sessions and the one without share one address, `/mcp`: what a message
//! says of itself decides. The older transport of two addresses (HTTP with SSE, 2024-11-05) is left out: it is
//! deprecated, and all who speak it speak a later one too.

mod acceptor;
mod admission;
mod client;
mod fields;
mod response;
mod server;
mod sessions;
mod sse;
mod streams;
#[cfg(test)]
mod tests;

pub use acceptor::{Acceptor, ConversationKind};
pub use client::{BadTarget, HttpTarget, connect};
pub use server::{ServeError, ServeOptions, serve};
