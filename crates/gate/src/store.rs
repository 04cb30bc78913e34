//! Where sessions rest between two calls.

mod backend;
mod bound;
mod session_store;

pub use backend::{Backend, BackendStore, LockedRow, RowWrite, SessionListing, SessionRow, StoredAnswer};
pub use bound::{Archive, BoundPolicy, PolicyChanges};
pub use session_store::{Changes, Held, MemoryStore, OpenedSession, Reach, Store, StoreError};
