//! How sessions, answers of humans and the audit trail rest in one SQLite file.
//!
//! [`Sqlite`] is a [`Shelf`](lockgate_gate::Shelf) that outlives its process and that many processes share. What is
//! put back is stored with its entries of the audit trail in one transaction, or not at all. The entries are a
//! chain of hashes under a signed [`Head`]: [`Sqlite::verify_trail`] finds what was changed, lost or put in behind
//! our back, and [`verify_lines`] finds it in an export. There are no decisions in this room: what bytes mean and
//! what an entry says is the gate's.
//!
//! Reading order: `sqlite.rs` (the shelf), `desk.rs` (whose turn it is), `files.rs`, `key.rs` and `schema.rs`
//! (what opening looks at), `chain.rs` (the format of the chain), `trail.rs` (append and read), `verify.rs`,
//! `lines.rs` (exports), `forget.rs` (what may go), `short_ids.rs` (names for people).

mod chain;
mod desk;
mod error;
mod files;
mod forget;
mod key;
mod lines;
mod schema;
mod short_ids;
mod sqlite;
mod trail;
mod verify;

pub use chain::{Anchor, CHECKPOINT_EVERY, Hash, Head, Link, START, from_hex, link_hash, to_hex};
pub use error::{OpenError, OpenErrorKind};
pub use forget::FORGET_BATCH_MAX;
pub use lines::{LINE_BYTES_MAX, verify_lines};
pub use sqlite::{Durability, Options, Sqlite, WAIT_MAX};
pub use trail::{ENTRY_BYTES_MAX, Links, Query};
pub use verify::{PROBLEMS_MAX, Problem, ProblemKind, Progress, Verified};
