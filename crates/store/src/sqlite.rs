//! Sessions, answers and the audit log in one SQLite file.

mod backend;
mod columns;
mod files;
mod forget;
mod human;
mod key;
mod log;
mod prepare;
mod records;
mod schema;
mod short_ids;
mod turns;
mod verify;

pub use backend::{Durability, Options, Sqlite, WAIT_MAX};
pub use forget::FORGET_BATCH_MAX;
pub use records::{Links, Query};
