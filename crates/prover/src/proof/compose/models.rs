//! A composed policy that is ready for questions, with and without late results.

use lockgate_petri::prove::{Answer, Bounds, LabelSet, Onward, Prover, RuleId as FormId, Trace};

use super::composed::Composed;
use crate::proof::labels::Labels;

/// Most states of one search where results may come late. There are many more of them, and a plain answer was found
/// before.
const LATE_STATES_MAX: usize = 5_000;

/// A policy over one numbering of what can happen, ready for questions.
pub(in crate::proof) struct ProofModel<'a, 'p> {
    pub(in crate::proof) labels: &'a Labels<'p>,
    pub(in crate::proof) composed: &'a Composed,
    pub(in crate::proof) prover: Prover<'a>,
}

impl<'a, 'p> ProofModel<'a, 'p> {
    pub(in crate::proof) fn new(labels: &'a Labels<'p>, composed: &'a Composed) -> Self {
        let bounds = if labels.has_late() {
            Bounds { states_max: LATE_STATES_MAX, lose_states_max: LATE_STATES_MAX, ..Bounds::default() }
        } else {
            Bounds::default()
        };
        Self { labels, composed, prover: Prover::with_bounds(&composed.system, bounds) }
    }
}

/// The same twice where it matters that results come late. Sessions are looked for with calls one after another
/// first: most are there, and those are easier to read.
pub(in crate::proof) struct ProofModels<'a, 'p> {
    pub(in crate::proof) plain: ProofModel<'a, 'p>,
    pub(in crate::proof) late: Option<ProofModel<'a, 'p>>,
}

impl<'a, 'p> ProofModels<'a, 'p> {
    /// Is there a session that …? A no holds for late results as well.
    pub(in crate::proof) fn ask(
        &self,
        question: impl Fn(&ProofModel<'a, 'p>) -> Answer,
    ) -> (Answer, &ProofModel<'a, 'p>) {
        match (question(&self.plain), &self.late) {
            (Answer::No(_), Some(late)) => (question(late), late),
            (answer, _) => (answer, &self.plain),
        }
    }
}

impl<'a, 'p> ProofModels<'a, 'p> {
    /// The same with late results, if those may make a difference to these labels of calls one after another.
    pub(in crate::proof) fn late_for(&self, labels: &LabelSet) -> Option<&ProofModel<'a, 'p>> {
        self.late.as_ref().filter(|late| late.labels.is_near_late(self.plain.labels, labels))
    }
}

impl ProofModels<'_, '_> {
    /// Whether late results open none of these after a session in which every call has ended, its labels those of calls
    /// one after another.
    pub(in crate::proof) fn stays_closed(&self, trace: &Trace, calls: &LabelSet) -> bool {
        self.late.is_none() || self.onward(trace).is_some_and(|onward| onward.can_call(calls).is_no())
    }

    /// What can follow a session in which every call has ended where results come late; none where it cannot be played.
    pub(in crate::proof) fn onward(&self, trace: &Trace) -> Option<Onward<'_>> {
        let late = self.late.as_ref()?;
        let system = &late.composed.system;
        let translated = trace.translated(|label| late.labels.translated(label, self.plain.labels));
        let mut state = translated.and_then(|trace| system.replay(&trace).ok())?;
        // Every call has ended, so nothing is in flight.
        let flights = late.composed.rules.iter().zip(0..).filter(|(rule, _)| rule.is_none());
        flights.for_each(|(_, number)| state.forget(system, FormId(number)));
        Some(late.prover.onward(state))
    }
}
