//! The parts behind the public API, for the doors of this repository.
//!
//! Doors translate other formats, so they need more than a program that only wants its calls judged. Nothing in here is
//! part of the public API: it may change in any version.

pub use lockgate_call as call;
pub use lockgate_gate as gate;
pub use lockgate_languages as languages;
pub use lockgate_pattern as pattern;
pub use lockgate_petri as petri;
pub use lockgate_policy as policy;
pub use lockgate_prover as prover;
#[cfg(feature = "store")]
pub use lockgate_store as store;

pub use lockgate_call::{
    About, Call, SeenCall, Time,
    sensitive::{Detectors, Mask},
};
pub use lockgate_gate::{
    Answer, ApprovalId, Approver, Attempt, Counts, Decision, Gate, GateBuilder, MemoryStore, NetVerdict,
    NetView, Nobody, Notes, Obstacle, Outcome, OutputDecision, Past, PolicyChanges, Prompt, Question,
    Registry, RegistryError, Scripted, Session, Settlement, Status, Store, StoreError, Success, Terms,
    TimeZone, Verdict, question_text,
};
pub use lockgate_policy::{
    Diagnostic, DraftNet, DraftTransition, Mode, Module, Pattern, Policy, Severity, Source,
};
pub use lockgate_prover::verify;

#[cfg(feature = "store")]
pub use crate::{
    archive::{PolicyArchive, bound_policy, policies_beside, waiting_policy},
    audit::{AuditFilter, NamePattern},
    database::{Database, Newest, Records, SealNote, VerifiedDatabase},
    store_url::open_store,
};
pub use crate::{
    files::{LocalEyes, LocalFiles},
    policy_error::PolicyError,
    runner::LocalRunner,
    sources::{policy_files, read_sources},
    track::track,
};
