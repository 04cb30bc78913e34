//! The line protocol, over lines and over HTTP.
//!
//! [`protocol`] reads the lines of `docs/protocol.md`, and [`lines::Server`] answers them by a gate. [`http`] is the team server
//! of `docs/server.md`: the same messages as routes, behind [`Tokens`] with [`Scope`]s, over a [`DataFolder`] that agents must
//! not reach. [`authzen`] reads the requests of that standard, and [`webhooks`] writes what others are told. [`Client`] speaks to such a server. Policies are read, and commands are typed, elsewhere.

pub mod authzen;
mod client;
mod client_error;
mod data_folder;
pub mod http;
pub mod lines;
mod outgoing;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
pub mod protocol;
mod scope;
mod tokens;
pub mod webhooks;

pub use client::{Client, ServerUrl};
pub use client_error::ClientError;
pub use data_folder::{DataFolder, DataFolderError};
pub use scope::Scope;
pub use tokens::{NewToken, TOKENS_MAX, Token, TokenError, Tokens};
