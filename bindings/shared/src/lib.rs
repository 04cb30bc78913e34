//! What the Python and the Node package have in common: the options of a gate, what is told about a call, and the JSON that
//! functions of the host and authors of policies see.
//!
//! Nothing is decided in here, and no value of either language is known.

mod about;
mod clock;
mod forms;
mod options;

pub use about::{AboutError, tell};
pub use clock::SharedClock;
pub use forms::{attempt_form, call_form, data, findings, mistakes, rules_about, success_form};
pub use options::{OptionError, Options};
