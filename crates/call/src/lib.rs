//! What a tool call will do.
//!
//! A [`Call`] says what an agent asks for; [`read_script`] and [`read_words`] say which commands it would
//! run, [`path`] which places it names, and [`canonical_json`] gives equal inputs equal text. Whatever
//! cannot be known is said as a doubt, never guessed away. There are no rules in here, no sessions and no
//! I/O: a path is read as text, not looked up.

mod call;
mod canonical;
mod confirm;
pub mod path;
mod scan;
mod script;
mod unwrap;
mod variables;
mod visible;
mod words;
mod wrappers;

pub use call::{About, Call, Time};
pub use canonical::canonical_json;
pub use script::{Command, Script, is_script_field, read_script, read_words};
pub use visible::visible;
