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
mod verify;
mod workflow;

pub use play::{Ended, PLAYED_FROM, PLAYED_MAX, Part, Seen, Step};
pub use played::{Differences, Finding, Proved, ProvedClaim, Undecided, diff, prove};
pub use report::NetReport;
pub use shown::{Kind, Shown};
pub use verify::verify;
pub use workflow::{Move, WorkflowNet, workflow_net};
