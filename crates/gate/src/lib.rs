//! What happens to one tool call, in which order, and what a session remembers.
//!
//! [`Gate`] is the way in. A call goes through `gate.rs` (open, judge, commit, tell), [`judge`] (every
//! question, pure), [`Session::apply`] (the only change) and [`Verdict`] (the sentence); its result later
//! through [`settle`]. There are no files, sockets, threads or clocks in this room.

mod approver;
pub mod audit;
mod commons;
mod event;
mod explain;
mod gate;
mod judge;
mod next;
mod one_net;
mod output;
mod protection;
mod registry;
mod rulebook;
mod runner;
mod saved;
mod scratch;
mod session;
mod settle;
mod shelf;
mod sighting;
mod stages;
mod status;
mod store;
pub mod trail;
mod verdict;

pub use approver::{Answer, Approver, Nobody, Prompt, Question, Scripted, question_text};
pub use commons::{Answered, Commons, Shared, Stand, Subject};
pub use event::{Closing, Event, Move, Moves, Remembered, Steps};
pub use explain::{Fires, NetVerdict, NetView, explain};
pub use gate::{AnswerError, Gate, GateBuilder, Listener, Past, RecordListener, StageError, UnknownNet};
pub use jiff::tz::TimeZone;
pub use judge::{Events, Human, Judgement, judge, judge_answer};
pub use lockgate_call::Time;
pub use lockgate_policy::Decision;
pub use one_net::{NotOneNet, OneNet};
pub use output::{OutputDecision, OutputHit};
pub use protection::Protection;
pub use registry::{Names, Registry, RegistryError, UnknownName};
pub use rulebook::{Attempt, Hooks, OnResult, PendingCall, Rulebook, Success, Terms, Validate};
pub use runner::Runner;
pub use saved::SavedError;
pub use session::{ApprovalId, Asked, Boundary, Counts, Flight, Notes, Session, Shows, Waiting};
pub use settle::{Outcome, Settlement, settle};
pub use shelf::{KeptAnswer, Label, Put, Resting, Shelf, Shelved, Taken};
pub use sighting::Sighted;
pub use stages::Wanted;
pub use status::{ApprovalStatus, NetStatus, Openness, Status, Words, WorkflowStatus};
pub use store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError};
pub use verdict::{Obstacle, Verdict};
