//! Where sessions rest between two calls.

mod backend;
mod session_store;

pub use backend::{Backend, BackendStore, LockedRow, RowWrite, SessionListing, SessionRow};
pub use session_store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError};
