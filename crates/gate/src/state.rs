//! What the gate remembers: sessions, what all sessions share, the events that change them, and their form at rest.

mod binding;
mod event;
mod flights;
mod parts;
mod saved;
mod session;
mod shared;

pub use binding::{Binding, BoundFile, PolicyNews};
pub(crate) use binding::{BoundState, ChangedState};
pub use event::{Event, Move, Moves, Remembered, Steps};
pub use parts::{
    Answered, ApprovalId, Asked, Boundary, Counts, Flight, Notes, Passage, Shows, Subject, Waiting,
};
pub use saved::SavedError;
pub use session::Session;
pub use shared::{SharedEvent, SharedState, Stand};
