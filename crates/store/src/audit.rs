//! The audit log without a database: the chain and what is signed, entries, exports, and the walk that finds problems.

mod answers;
mod chain;
mod entry;
mod lines;
mod walk;

pub(crate) use answers::AnswerWalk;
pub(crate) use chain::Checkpoint;
pub use chain::{Anchor, CHECKPOINT_EVERY, Hash, Head, Link, START, from_hex, link_hash, to_hex};
pub use entry::ENTRY_BYTES_MAX;
pub(crate) use entry::{EntryKey, entry_key};
pub use lines::{LINE_BYTES_MAX, verify_lines};
pub(crate) use walk::Walk;
pub use walk::{PROBLEMS_MAX, Problem, ProblemKind, Progress, Verified};
