//! What a tool call will do.
//!
//! A [`Call`] says what an agent asks for; [`read_script`] and [`read_words`] say which commands it would
//! run, [`paths`] and [`hosts`] which places it touches, [`Selector`] what stands in one of its fields,
//! [`sensitive`] what in it is not for everybody's eyes, [`says_failure`] how a result ended, and [`canonical_json`] gives equal inputs equal text. Whatever cannot be known is said as a doubt, never
//! guessed away. There are no rules in here, no sessions and no I/O: a path is read as text, not looked up,
//! unless a door lends its eyes.

mod agents;
mod call;
mod canonical;
mod confirm;
mod consoles;
mod environment;
mod glob;
mod hosts;
mod interpreters;
mod launchers;
mod links;
mod mistake;
mod outcome;
mod outline;
pub mod path;
mod paths;
mod reader;
mod reading;
mod scan;
mod script;
mod sed;
mod selector;
pub mod sensitive;
mod strict;
mod tools;
mod unread;
mod unwrap;
mod variables;
mod visible;
mod words;
mod wrappers;
mod written;

pub use agents::{AGENTS, AgentTools, agent_tools, shell_tools};
pub use call::{About, Call, Sighting, Time};
pub use canonical::{canonical_json, canonical_text};
pub use glob::fits as fits_glob;
pub use hosts::{Host, HostDoubt, HostPattern, Hosts, Reach, TouchedHost, hosts};
pub use launchers::launched_at;
pub use links::Links;
pub use mistake::{json_mistake, line_mistake, plain_mistake, read_fields};
pub use outcome::says_failure;
pub use paths::{Access, Files, Paths, Spot, TouchedPath, paths};
pub use reading::{Place, Reading, Unseen, may_hold_a_script};
pub use script::{
    Command, Known, Redirection, RedirectionKind, Script, Word, is_script_field, read_script, read_words,
};
pub use selector::{Selected, Selector, SelectorError};
pub use strict::StrictJson;
pub use tools::{may_answer_early, may_run_another, reads_one_file, runs_nothing, without_server};
pub use visible::visible;
