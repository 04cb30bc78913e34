//! Streamable HTTP, on both sides of the gate.
//!
//! [`connect`] reaches a server, [`serve`] waits for clients; both turn what travels over HTTP into a
//! [`crate::link::Link`]. Revisions with sessions and the one without share one address, `/mcp`: what a message says
//! of itself decides. The older transport of two addresses (HTTP with SSE, 2024-11-05) is left out: it is deprecated,
//! and all who speak it speak a later one too.

mod client;
mod doorkeeper;
mod fields;
mod resume;
mod server;
mod sessions;
mod sse;
mod stream;
#[cfg(test)]
mod tests;

pub use client::{BadTarget, HttpTarget, connect};
pub use server::{Board, ServeError, ServeOptions, Talk, serve};
