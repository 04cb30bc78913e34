//! Coding agents: how each one runs hooks, how Lockgate is installed for it, and what a hook answers.
//!
//! Each agent is one file in `agents/`, behind [`Agent`]. [`hook`] answers their events and [`install`] edits their files,
//! for all of them alike. [`settings`] says which policy counts in a folder, [`trust`] which projects a human has
//! trusted, [`processes`] whether a human or an agent started this process, [`human_key`] the key that answers are signed with, [`machine`] whether a guardian decides, and
//! [`guardian`] is that guardian and its clients. Nothing is decided about a call in here: that
//! is the gate's work.

mod agents;
mod approvals;
mod coding_agent;
pub mod commands;
mod edit;
mod environment;
mod event;
mod files;
pub mod guardian;
pub mod hook;
pub mod human_key;
pub mod install;
pub mod machine;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
mod process;
pub mod processes;
pub mod settings;
mod text;
pub mod trust;

pub use self::{
    agents::Agent,
    coding_agent::Reaction,
    environment::{Environment, WARD, Ward, now},
    event::{Ask, HookReply, Message},
    files::make_folder,
    text::{LINE_BYTES_MAX, duration, one_line, read_object},
};
