//! Where sessions rest between two calls.

mod backend;
mod session_store;

pub use backend::{KeptAnswer, Label, Put, Resting, Shelf, Shelved, Taken};
pub use session_store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError};
