//! Sessions, answers and the audit log in one SQLite file.

mod anchor;
mod backend;
mod columns;
mod connection;
mod forget;
mod human;
mod key;
mod log;
mod prepare;
mod records;
mod release;
mod roster;
mod rows;
mod schema;
mod sealing;
mod short_ids;
mod state;
mod turns;
mod verify;
mod verify_state;

pub use backend::Sqlite;
pub use connection::{Durability, LOCKED_MAX, Options, WAIT_MAX};
pub use forget::FORGET_BATCH_MAX;
pub use records::{Links, Query};
