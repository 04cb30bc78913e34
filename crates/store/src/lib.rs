//! How sessions, answers of humans and the audit log are stored: in one SQLite file, or in a database that many gates share.
//!
//! [`Sqlite`] is a [`Backend`](lockgate_gate::Backend) that outlives its process and that many processes share. What is
//! written is stored with its entries of the audit log in one transaction, or not at all. The entries are a
//! chain of hashes under a signed [`Head`]: [`Sqlite::verify_trail`] finds what was changed, lost or put in behind
//! our back, and [`verify_lines`] finds it in an export. Rows of the state are sealed and listed under the same head: one
//! that somebody changed, deleted or brought back is refused. There are no decisions in this room: what bytes mean and
//! what an entry says is the gate's.
//!
//! `audit/` is the audit log without a database, `sqlite/` the database, `seal.rs` the seal of a row of any table. Reading
//! order: `sqlite/backend.rs`, `sqlite/turns.rs` (one writer at a time), `sqlite/prepare.rs`, `sqlite/key.rs`,
//! `sqlite/schema.rs` and `sqlite/anchor.rs` (what opening looks at), `audit/chain.rs` (the format of the chain),
//! `sqlite/state.rs`, `sqlite/roster.rs` and `sqlite/rows.rs` (what must be there, and how it is read and written),
//! `sqlite/log.rs` and `sqlite/records.rs`, `sqlite/verify.rs`, `sqlite/verify_state.rs` and `audit/walk.rs`,
//! `audit/lines.rs` (exports), `sqlite/forget.rs`, `sqlite/short_ids.rs`, `sqlite/human.rs`,
//! `sqlite/sealing.rs` (older databases). With the features `postgres` and `redis`, `strands.rs` is the store that many gates share,
//! in `postgres.rs` or `redis.rs`.

mod audit;
mod error;
mod files;
mod key_file;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod seal;
mod sqlite;
#[cfg(feature = "shared")]
mod strands;

pub use audit::{
    Anchor, CHECKPOINT_EVERY, ENTRY_BYTES_MAX, Hash, Head, LINE_BYTES_MAX, Link, PROBLEMS_MAX, Problem,
    ProblemKind, Progress, START, Verified, from_hex, link_hash, to_hex, verify_lines,
};
pub use error::{OpenError, OpenErrorKind};
#[cfg(feature = "postgres")]
pub use postgres::PostgresOptions;
#[cfg(feature = "redis")]
pub use redis::RedisOptions;
pub use sqlite::{Durability, FORGET_BATCH_MAX, LOCKED_MAX, Links, Options, Query, Sqlite, WAIT_MAX};
#[cfg(feature = "shared")]
pub use strands::{Position, Seal, SharedLinks, StrandRecord, StrandStore, VerifiedStrands};
