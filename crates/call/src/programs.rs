//! What programs do with their words: the tables, and how a command line is read by them.

pub(crate) mod consoles;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod inner;
pub(crate) mod interpreters;
pub(crate) mod launchers;
pub(crate) mod names;
pub(crate) mod network;
mod sed;
pub(crate) mod unwrap;
pub(crate) mod word;
pub(crate) mod wrappers;
