//! Sessions up to a tool, under two policies at once.

use lockgate_petri::prove::{Answer, Label, LabelSet, Prover, System, TooManyRules};
use lockgate_policy::Policy;

use crate::proof::{
    act::{Act, End},
    compose::{Composed, Played},
    labels::{Labels, LateResults},
};

/// The way to tools through both of two policies.
#[derive(Debug)]
pub struct Approach {
    pub(in crate::proof) composed: Composed,
    both: System,
}

impl Approach {
    /// For these policies.
    ///
    /// # Errors
    /// When there are more rules than the engine takes.
    pub fn new(old: &Policy, new: &Policy) -> Result<Self, TooManyRules> {
        let labels = Labels::of(&[old, new], LateResults::Never);
        let (old, new) = (Composed::of(&labels, 0, old)?, Composed::of(&labels, 1, new)?);
        let both = System::new(old.system.rules().iter().chain(new.system.rules()).cloned().collect())?;
        Ok(Self { composed: old, both })
    }

    /// A short session that both let pass up to a call of this tool, without that call; none where none is known.
    pub fn to(&self, tool: &str) -> Option<Vec<Played>> {
        let is_it = |act: &Act| *act.way.tool == *tool && !act.way.is_further && act.end == End::Success;
        let numbered = self.composed.acts.iter().zip(0_u32..);
        let labels: LabelSet =
            numbered.filter(|(act, _)| is_it(act)).map(|(_, number)| Label(number)).collect();
        let Answer::Yes(trace) = Prover::new(&self.both).can_call(&labels) else { return None };
        let mut played = self.composed.played(&trace);
        // The call itself is the last act of all.
        match played.last_mut() {
            Some(last) if last.times == 1 => drop(last.acts.pop()),
            Some(_) | None => return None,
        }
        played.retain(|it| !it.acts.is_empty());
        Some(played)
    }
}
