//! The requirements of a system by what they wait for.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use lockgate_petri::prove::{Label, LabelSet, Rule as Form, System};

/// The requirements of a system by what they wait for.
pub(in crate::proof) struct Requirements<'a> {
    by_before: HashMap<Label, Vec<(&'a LabelSet, &'a LabelSet)>, RandomState>,
}

impl<'a> Requirements<'a> {
    pub(in crate::proof) fn of(system: &'a System) -> Self {
        let mut by_before: HashMap<Label, Vec<(&LabelSet, &LabelSet)>, RandomState> = HashMap::default();
        for form in system.rules() {
            let Form::Require { before, then, latched: false } = form else { continue };
            for label in before.iter() {
                by_before.entry(label).or_default().push((before, then));
            }
        }
        Self { by_before }
    }

    /// Whether a requirement and another one are about some of the same, and not all of it. What is earned for one of
    /// them may then come too early to be earned for the other while results are in flight.
    pub(in crate::proof) fn entangle(&self, form: &Form) -> bool {
        let Form::Require { before, then, latched: false } = form else { return false };
        let mut others = before.iter().filter_map(|label| self.by_before.get(&label)).flatten();
        others.any(|(others, thens)| {
            (*others, *thens) != (before, then) && thens.iter().any(|label| then.contains(label))
        })
    }
}
