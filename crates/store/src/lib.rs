//! How sessions, answers of humans and the audit log rest in one SQLite file.
//!
//! [`Sqlite`] is a [`Backend`](lockgate_gate::Backend) that outlives its process and that many processes share. What is
//! written is stored with its entries of the audit log in one transaction, or not at all. The entries are a
//! chain of hashes under a signed [`Head`]: [`Sqlite::verify_trail`] finds what was changed, lost or put in behind
//! our back, and [`verify_lines`] finds it in an export. There are no decisions in this room: what bytes mean and
//! what an entry says is the gate's.
//!
//! `audit/` is the audit log without a database, `sqlite/` the database. Reading order: `sqlite/backend.rs`,
//! `sqlite/turns.rs` (one writer at a time), `sqlite/prepare.rs`, `sqlite/key.rs` and `sqlite/schema.rs` (what opening
//! looks at), `audit/chain.rs` (the format of the chain), `sqlite/log.rs` and `sqlite/records.rs` (append and read),
//! `sqlite/verify.rs` and `audit/walk.rs`, `audit/lines.rs` (exports), `sqlite/forget.rs`, `sqlite/short_ids.rs`, `sqlite/human.rs`.

mod audit;
mod error;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
mod seal;
mod sqlite;

pub use audit::{
    Anchor, CHECKPOINT_EVERY, ENTRY_BYTES_MAX, Hash, Head, LINE_BYTES_MAX, Link, PROBLEMS_MAX, Problem,
    ProblemKind, Progress, START, Verified, from_hex, link_hash, to_hex, verify_lines,
};
pub use error::{OpenError, OpenErrorKind};
pub use sqlite::{Durability, FORGET_BATCH_MAX, LOCKED_MAX, Links, Options, Query, Sqlite, WAIT_MAX};
