//! Where sessions rest between two calls.

mod answers;
mod backend;
mod session_store;

pub use answers::{AnswerStore, BackendAnswers, IsOpen, MemoryAnswers};
pub use backend::{Backend, BackendStore, LockedRow, RowWrite, SessionListing, SessionRow, StoredAnswer};
pub use session_store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError};
