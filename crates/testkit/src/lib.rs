//! How Lockgate doubts itself.
//!
//! Behaviour that a user can see is written down in `spec/` first. [`read_pages`] reads those pages,
//! [`play`] plays them through a [`Door`]; every door of Lockgate answers to the same pages. Beside them
//! stands a [`Model`]: the one-line rules as a slow and obvious machine, against which the gate is compared
//! on the policies and histories of [`generate`], and a [`WorkflowModel`] for workflows. [`conformance`] compares with
//! what other gates were recorded to answer, [`records`] say what a gate stored in the words of another, [`yardsticks`] are nets whose state spaces are known, and a [`survey`]
//! counts those of others in the slowest way. LogEvent every backend promises is the [`contract`]. A [`human`] sits at a
//! terminal of their own, and a real [`bash`] says what scripts run. Nothing in here is shipped.

pub mod bash;
pub mod conformance;
pub mod contract;
mod doors;
pub mod field;
pub mod generate;
#[cfg(unix)]
pub mod human;
mod model;
pub mod oracle;
mod page;
pub mod records;
mod runner;
pub mod simulator;
pub mod survey;
mod workflow_model;
pub mod yardsticks;

pub use doors::{
    EventsDoor, GuardianDoor, Host, HttpDoor, LibraryDoor, LinesDoor, McpDoor, PlayedPages, ProcessDoor,
    Tally, make_team_token, play_pages, play_pages_but,
};
pub use model::{Judged, Model, Verdict};
pub use page::{
    CallStep, Expected, Human, Mistake, Outcome, Page, PolicyFile, Row, Sentence, Step, Story, read_pages,
};
pub use runner::{Door, Failure, Options, Played, play};
pub use workflow_model::{Deed, Said, WorkflowModel};

/// What tests of stores need of the crates below, under one name.
pub mod store_api {
    pub use lockgate::engine::{
        Time,
        gate::{Backend, Reach, RowWrite, SessionRow, StoreError, StoredAnswer},
    };
    pub use lockgate_store::{PostgresOptions, Query, RedisOptions, StrandStore};
}
