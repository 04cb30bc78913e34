//! Where sessions rest between two calls.

mod answers;
mod backend;
mod bound;
mod session_store;

pub use answers::{AnswerStore, BackendAnswers, IsOpen, MemoryAnswers};
pub use backend::{Backend, BackendStore, LockedRow, RowWrite, SessionListing, SessionRow};
pub use bound::{Archive, BoundPolicy, PolicyBase, PolicyChanges, PolicyPlace};
pub use session_store::{Changes, Held, MemoryStore, OpenedSession, Reach, Store, StoreError};
