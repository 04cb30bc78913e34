//! One look at a call with a sandbox: what is outside, and what may be.

use lockgate_call::{Command, Place, Reading, SeenCall, Selector};

use super::boundaries::Sandbox;
use super::text::has_text;

/// Whether a call stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// All it reaches is inside.
    Inside,
    /// Something is not, for a human: "`/etc/passwd` is outside of `/desk`".
    Outside(String),
    /// Something may be, or cannot be told.
    Doubt(String),
}

/// One look at a call.
pub(super) struct Look<'l> {
    pub(super) sandbox: &'l Sandbox,
    pub(super) call: &'l SeenCall,
    pub(super) reading: Reading<'l>,
    outside: Option<String>,
    doubt: Option<String>,
    /// Whether some boundary had something to judge.
    pub(super) judged: bool,
}

impl<'l> Look<'l> {
    pub(super) fn new(sandbox: &'l Sandbox, call: &'l SeenCall, reading: Reading<'l>) -> Self {
        Self { sandbox, call, reading, outside: None, doubt: None, judged: false }
    }

    pub(super) fn answer(mut self) -> Reached {
        if !self.judged && self.call.input.values().any(has_text) {
            self.doubt("the call does not say what it would access".to_owned());
        }
        match (self.outside, self.doubt) {
            (Some(what), _) => Reached::Outside(what),
            (None, Some(what)) => Reached::Doubt(what),
            (None, None) => Reached::Inside,
        }
    }

    pub(super) fn outside(&mut self, what: String) {
        self.outside.get_or_insert(what);
    }

    pub(super) fn doubt(&mut self, what: String) {
        self.doubt.get_or_insert(what);
    }

    /// Takes in that something is not inside; of what is only taken for a path or a host, that is a doubt.
    pub(super) fn misses(&mut self, what: String, taken_for: Option<&str>) {
        match taken_for {
            Some(kind) => self.doubt(format!("{what}, if it is meant as {kind}")),
            None => self.outside(what),
        }
    }

    /// The command a place stands in.
    pub(super) fn command_at(&self, place: &Place) -> Option<&'l Command> {
        let (field, command): (&Selector, usize) = match place {
            Place::Word { field, command, .. } | Place::Around { field, command } => (field, *command),
            Place::Field(_) => return None,
        };
        let mut scripts = self.reading.scripts().filter(|(selector, _)| *selector == field);
        scripts.find_map(|(_, script)| script.commands.get(command))
    }
}
