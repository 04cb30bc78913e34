//! Variables whose value is certain within a script.
//!
//! Only plain assignments on a straight line count: whatever might change a value behind our back makes
//! [`Variables`] forget, and a forgotten variable is unknown. Names without a small letter are never kept:
//! they belong to the shell or the environment, and some of them change by themselves.

use std::collections::HashMap;
use std::rc::Rc;

use crate::programs::program::{Builtin, Program};

/// The longest value kept; doubling a variable a few times must not fill the memory.
const VALUE_BYTES_MAX: usize = 1024;

/// The most variables kept.
const VARIABLES_MAX: usize = 64;

/// The most text that variables may add to the words of one script.
const EXPANDED_BYTES_MAX: usize = 256 * 1024;

/// What the script has assigned so far.
#[derive(Clone, Default)]
pub(crate) struct Variables {
    /// Shared, because every subshell starts with a copy and few of them write to it.
    known: Rc<HashMap<String, String>>,
    /// Something may change variables at any time: nothing is kept any more.
    frozen: bool,
    /// How often that happened, in subshells too.
    freezes: usize,
    expanded_bytes: usize,
}

impl Variables {
    /// The value, if it is certain and the script has not expanded too much already.
    pub(crate) fn expand(&mut self, name: &str) -> Option<String> {
        let value = self.known.get(name)?;
        self.expanded_bytes = self.expanded_bytes.saturating_add(value.len());
        (self.expanded_bytes <= EXPANDED_BYTES_MAX).then(|| value.clone())
    }

    /// Takes in that a variable is set, however that is done.
    pub(crate) fn sets(&mut self, name: &str) {
        if name == "IFS" {
            // Words are now cut elsewhere than we would.
            self.freeze();
        }
    }

    /// Takes in `name=value`; no value when it is not certain.
    pub(crate) fn assign(&mut self, name: &str, value: Option<String>) {
        let is_plain = name.chars().any(|c| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let fits = |value: &String| value.len() <= VALUE_BYTES_MAX && self.known.len() < VARIABLES_MAX;
        match value.filter(|value| is_plain && !self.frozen && fits(value)) {
            Some(value) => drop(Rc::make_mut(&mut self.known).insert(name.into(), value)),
            None if self.known.contains_key(name) => drop(Rc::make_mut(&mut self.known).remove(name)),
            None => {}
        }
    }

    /// Takes in that a program runs: some builtins may set any variable.
    pub(crate) fn after_running(&mut self, program: &Program) {
        if program.is(Builtin::Sets) {
            self.freeze();
        }
    }

    /// Forgets all values, because they may have changed.
    pub(crate) fn forget(&mut self) {
        if !self.known.is_empty() {
            self.known = Rc::default();
        }
    }

    /// Forgets all values and keeps none from now on.
    pub(crate) fn freeze(&mut self) {
        self.forget();
        self.frozen = true;
        self.freezes = self.freezes.saturating_add(1);
    }

    /// How often something might have changed variables so far.
    pub(crate) fn freezes(&self) -> usize {
        self.freezes
    }

    /// Whether something may change variables, or the shell's options, at any time.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Runs with what a subshell did: it changed its own variables, not ours, but what it expanded counts.
    pub(crate) fn back_from_subshell(&mut self, before: Self) {
        let (expanded_bytes, freezes) = (self.expanded_bytes, self.freezes);
        *self = Self { expanded_bytes, freezes, ..before };
    }
}
