//! The line protocol, over lines and over HTTP.
//!
//! [`protocol`] reads the lines of `docs/protocol.md`, and [`lines::Server`] answers them by a gate. [`http`] is the team server
//! of `docs/server.md`: the same messages as routes, behind [`Tokens`] with [`Scope`]s, over a [`DataFolder`] that agents must
//! not reach. [`Client`] speaks to such a server. Policies are read, and commands are typed, elsewhere.

mod client;
mod data_folder;
pub mod http;
pub mod lines;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
pub mod protocol;
mod scope;
mod tokens;

pub use client::{Client, ClientError, ServerUrl};
pub use data_folder::{DataFolder, DataFolderError};
pub use scope::Scope;
pub use tokens::{NewToken, TOKENS_MAX, Token, TokenError, Tokens};
