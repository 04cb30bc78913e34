//! The relay between a client and a server: what becomes of each message.
//!
//! Bottom up: `decider.rs` (who judges), `config.rs` and `context.rs` (what all conversations share), `state.rs` (one conversation),
//! `settlement.rs` (results), `tasks.rs`, `asking.rs`, `calls.rs` (tool calls), `listing.rs` (lists of tools),
//! `conversation.rs` (every message) and `drive.rs`, the only file here that moves messages. None of the others does
//! I/O.

mod asking;
mod call_states;
mod calls;
mod config;
mod context;
mod conversation;
mod decider;
mod drive;
mod listing;
mod naming;
mod request_state;
mod settlement;
mod state;
mod tasks;

pub use config::{Config, DeadTools, Environment, Era};
pub use context::Context;
pub use decider::{Decider, LocalDecider, ReviewedResult, Ruling, Undecided};
pub use drive::{ConversationEnd, Restart, drive};
pub use naming::Naming;
pub use request_state::NoRandomness;
pub use state::{Action, Relay};
