//! What programs do with their words: the table, and how a command line is read by its rows.

pub(crate) mod consoles;
pub(crate) mod effects;
pub(crate) mod files;
mod git;
pub(crate) mod grammars;
pub(crate) mod inner;
pub(crate) mod interpreters;
pub(crate) mod launchers;
pub(crate) mod loose;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod options;
pub(crate) mod program;
mod sed;
pub(crate) mod starts;
pub(crate) mod table;
pub(crate) mod unwrap;
pub(crate) mod word;
pub(crate) mod wrappers;
