//! What calls may reach.
//!
//! [`Sandbox::judge`] looks at every path, command and host of a call, wherever it hides, and says whether all of
//! them lie inside the boundaries. What cannot be told is a doubt, never a pass; so is a call that has something to
//! say but nothing a boundary could judge. Looking at files is missing on purpose: a door that can see them looks where
//! the call's links lead ([`SeenCall::links`]) and once where those of the boundaries do ([`Sandbox::resolve`]).

mod boundaries;
mod commands;
mod hosts;
mod look;
mod paths;
mod places;
mod text;
mod variables;
mod walks;

use lockgate_call::{ScriptFields, SeenCall};

pub use boundaries::{Boundaries, Sandbox, SandboxError};
use look::Look;
pub use look::Reached;

impl Sandbox {
    /// Whether all that the call reaches is inside.
    #[must_use]
    pub fn judge(&self, call: &SeenCall) -> Reached {
        match self.at(call) {
            Some(sandbox) => sandbox.judge_at(call),
            None => self.judge_at(call),
        }
    }

    /// The same, where its folders are those of the call.
    fn judge_at(&self, call: &SeenCall) -> Reached {
        let lists_commands = self.boundaries().commands.is_some();
        if !self.bounds_paths() && !self.bounds_hosts() && !lists_commands {
            return Reached::Inside;
        }
        // Where commands are listed, what may be code is read as a script: that it is none is a doubt then.
        let fields = if lists_commands { ScriptFields::Likely } else { ScriptFields::LikelyShell };
        let mut look = Look::new(self, call, call.reading(&fields));
        look.at_commands();
        look.at_settings(&call.input);
        if self.bounds_paths() {
            look.at_paths();
        }
        if self.bounds_hosts() {
            look.at_hosts();
        }
        look.answer()
    }
}

#[cfg(test)]
mod tests;
