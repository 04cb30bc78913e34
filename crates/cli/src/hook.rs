//! The hook door: coding agents start a process for every event, and do what it answers.
//!
//! `lockgate hook AGENT` reads one event on stdin. `dialect` knows how each host speaks, `desk` asks the gate, `run`
//! is the process around both: whatever fails on the way, the host is made to block. `hosts` says what hosts do with
//! an answer. `anchor` keeps a session under the policy it began with, `protection` lists what an agent must leave
//! alone. `in_process` is the door without the process.

mod anchor;
mod desk;
pub(crate) mod dialect;
pub(crate) mod hosts;
mod in_process;
pub(crate) mod protection;
mod run;
mod transcripts;

pub use in_process::{HookAsks, HookDoor, HookReply};
pub(crate) use run::{asking, folder_of_session, in_short, remember, run, under};
