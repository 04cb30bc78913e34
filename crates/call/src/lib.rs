//! What a tool call will do.
//!
//! A [`Call`] says what an agent asks for; a [`SeenCall`] is a call with everything that is seen in it: which commands it
//! would run ([`read_script`], [`read_words`]), which places it touches ([`paths`], [`hosts`]), and where links lead if a
//! door lends its eyes. [`Selector`] finds what stands in one of its fields, [`sensitive`] what in it is not for
//! everybody's eyes, [`says_failure`] how a result ended, and [`canonical_json`] gives equal inputs equal text. Whatever
//! cannot be known is said as a doubt, never guessed away. There are no rules in here, no sessions and no I/O.

mod atoms;
mod call;
mod contents;
mod effects;
mod fields;
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

pub use atoms::{AtomKind, Piece, plain_text, scan as scan_atoms};
pub use call::{About, Call, DuplicateKey, Time};
pub use contents::{Place, Unseen};
pub use effects::{Effect, EffectPattern, EffectPlaces, Effects, PlaceFit, Target};
pub use fields::{ScriptFields, may_hold_a_script};
pub use glob::fits as fits_glob;
pub use json::canonical::{canonical_json, canonical_text};
pub use json::mistake::{json_mistake, line_mistake, plain_mistake, read_fields};
pub use json::selector::{Selected, Selector, SelectorError};
pub use json::strict::StrictJson;
pub use json::twins::{keys_alike, keys_objection};
pub use outcome::says_failure;
pub use places::hosts::{Host, HostDoubt, HostPattern, Hosts, Reach, TouchedHost, hosts};
pub use places::links::Links;
pub use places::patches::patched_files;
pub use places::path;
pub use places::paths::{Files, Paths, Spot, TouchedPath, paths};
pub use places::version_change::VersionChange;
pub use places::versions::Versions;
pub use programs::effects::EffectKind;
pub use programs::files::{Access, Change, FileUse, Search, Shows, Spread, Walks};
pub use programs::launchers::launched_at;
pub use programs::options::{OptionFit, OptionTable};
pub use programs::program::{Program, Verbs};
pub use programs::table::program;
pub use programs::word::{Known, Word};
pub use seen::{Reading, SeenCall};
pub use shell::read::{is_script_field, read_script, read_words};
pub use shell::script::{Command, Redirection, RedirectionKind, Script};
pub use tools::input::{may_answer_early, may_run_another, may_type};
pub use tools::{
    AGENTS, AgentTools, agent_tool_names, agent_tools, is_agent_tool, reading_tools, reads_one_file,
    runs_nothing, shell_tools, tool_effect, warned_effects, warnings, without_server,
};
pub use visible::visible;
