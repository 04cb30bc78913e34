//! The processes around this one: whether an agent or a human has started it.
//!
//! `system` asks the operating system, `names` knows agents by their programs, `records` remembers the agents that have
//! run a hook or the MCP proxy, `ancestry` refuses below them.

mod ancestry;
mod names;
mod records;
mod system;

pub use self::{
    ancestry::{Refusal, check},
    records::{folder_beside, record},
};
