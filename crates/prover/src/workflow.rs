//! Workflows as nets, and what can be proved of them.

mod net;
mod proof;

pub use net::{Move, WorkflowNet, workflow_net};
pub(crate) use proof::prove;
