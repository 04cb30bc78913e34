//! What happens to one tool call, in which order, and what a session remembers.
//!
//! [`Gate`] is the way in. A call goes through `gate.rs` (open, judge, commit, tell), [`judge`] (every
//! question, pure), [`Session::apply`] (the only change) and [`Verdict`] (the sentence); its result later
//! through [`settle`]. There are no files, sockets, threads or clocks in this room.

mod answer_trust;
mod approver;
pub mod audit_log;
mod both;
mod duplicate;
mod explain;
mod gate;
mod hearing;
mod hex;
mod human;
mod judge;
mod names;
mod next;
mod output;
mod protection;
mod record;
mod registry;
mod rulebook;
mod runner;
mod scratch;
mod settle;
mod signed_answer;
mod stages;
mod state;
mod status;
mod store;
mod terms;
mod user_words;
mod value_status;
mod verdict;

pub use answer_trust::{AnswerTrust, UnprovedAnswer};
pub use approver::{Approver, Nobody, Prompt, Question, Scripted, question_text};
pub use explain::{Fires, NetVerdict, NetView, explain};
pub use gate::{AnswerError, Gate, GateBuilder, Listener, Past, StageError, UnknownNet};
pub use human::{Answer, Ask, Human};
pub use jiff::tz::TimeZone;
pub use judge::{judge, judge_answer};
pub use lockgate_call::Time;
pub use lockgate_policy::Decision;
pub use names::{Names, UnknownName};
pub use output::{OutputDecision, OutputHit};
pub use protection::Protection;
pub use record::{Events, Judgement};
pub use registry::{Registry, RegistryError};
pub use rulebook::{Attempt, Hooks, OnResult, PendingCall, Rulebook, Success, Validate};
pub use runner::Runner;
pub use settle::{Outcome, SettledCall, Settlement, settle};
pub use signed_answer::{AnswerClaim, HumanKey, RuleMark, SignedAnswer, StoredAnswer};
pub use stages::WantedRun;
pub use state::{
    Answered, ApprovalId, Asked, Binding, BoundFile, Boundary, Counts, Event, Flight, Move, Moves, Notes,
    Passage, PolicyNews, Remembered, SavedError, Session, SharedEvent, SharedState, Shows, Stand, Steps,
    Subject, Waiting,
};
pub use status::{ApprovalStatus, NetStatus, Openness, SessionCounters, Status, Words, WorkflowStatus};
pub use store::{
    AnswerStore, Archive, Backend, BackendAnswers, BackendStore, BoundPolicy, Changes, Held, IsOpen,
    LockedRow, MemoryAnswers, MemoryStore, OpenedSession, PolicyBase, PolicyChanges, PolicyPlace, Reach,
    RowWrite, SessionListing, SessionRow, Store, StoreError,
};
pub use terms::Terms;
pub use user_words::hear_user;
pub use value_status::{RuleValues, ValueCount};
pub use verdict::{HUMAN_APPROVAL, JudgedCall, Obstacle, Verdict};
