//! What all sessions of a policy can and cannot do, proved and played.
//!
//! [`verify`] looks at each rule's net by itself, [`prove`] at the whole policy together: its claims, its findings, its
//! examples. [`diff`] compares two policies. Every session that is shown was played through the judge first.

mod play;
mod played;
pub mod proof;
mod report;
mod sampled;
mod shadowed;
mod shown;
mod trace;
mod values;
mod verify;
mod workflow;

pub use lockgate_petri::prove::TooManyRules;
pub use play::{CallEnd, PLAYED_FROM, PLAYED_MAX, Part, PlayedSession, Step};
pub use played::{Differences, Finding, Proved, ProvedClaim, Undecided, diff, prove};
pub use report::NetReport;
pub use shown::{DifferenceKind, ShownDifference};
pub use trace::{CallIds, Piece, TraceStep, about_fields, pieces, protocol_lines, trace};
pub use verify::verify;
pub use workflow::{Move, WorkflowNet, workflow_net};
