//! What a tool call will do.
//!
//! A [`Call`] says what an agent asks for; [`SeenCall`] which commands it would run ([`read_script`], [`read_words`]) and
//! which places it touches ([`paths`], [`hosts`]), [`Selector`] what stands in one of its fields,
//! [`sensitive`] what in it is not for everybody's eyes, [`says_failure`] how a result ended, and [`canonical_json`] gives equal inputs equal text. Whatever cannot be known is said as a doubt, never
//! guessed away. There are no rules in here, no sessions and no I/O: a path is read as text, not looked up,
//! unless a door lends its eyes.

mod agents;
mod call;
mod glob;
mod json;
mod outcome;
mod places;
mod programs;
mod seen;
pub mod sensitive;
mod shell;
mod tools;
mod visible;

pub use agents::{AGENTS, AgentTools, agent_tools, shell_tools};
pub use call::{About, Call, Links, Sighting, Time};
pub use glob::fits as fits_glob;
pub use json::canonical::{canonical_json, canonical_text};
pub use json::mistake::{json_mistake, line_mistake, plain_mistake, read_fields};
pub use json::selector::{Selected, Selector, SelectorError};
pub use json::strict::StrictJson;
pub use outcome::says_failure;
pub use places::hosts::{Host, HostDoubt, HostPattern, Hosts, Reach, TouchedHost, hosts};
pub use places::path;
pub use places::paths::{Files, Paths, Spot, TouchedPath, paths};
pub use programs::files::Access;
pub use programs::launchers::launched_at;
pub use programs::word::{Known, Word};
pub use seen::{Place, SeenCall, Unseen, may_hold_a_script};
pub use shell::cache::ScriptCache;
pub use shell::read::{is_script_field, read_script, read_words};
pub use shell::script::{Command, Redirection, RedirectionKind, Script};
pub use tools::{may_answer_early, may_run_another, reads_one_file, runs_nothing, without_server};
pub use visible::visible;
