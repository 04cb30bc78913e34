//! Reading scripts: which commands they run, with which words, files and variables.

pub(crate) mod cache;
mod confirm;
pub(crate) mod environment;
mod outline;
pub(crate) mod read;
mod reader;
mod scan;
pub(crate) mod script;
mod unread;
mod variables;
mod words;
mod written;
