//! Questions that only want a verdict: is it proved that a rule refuses nothing in place of another one?
//!
//! Many of them are asked at once and no session is shown, so the first that comes along will do. Counting goes first;
//! the states of all searches together are bounded and shared out among the questions, so that a policy of thousands of
//! rules is answered in time. Where the share is too small the verdict is "not proved".

use super::{
    gather::cone,
    prover::Prover,
    question::{Outcome, Question},
    rule::{Kind, Rule},
    scratch::Scratch,
    setting::{Goal, Monitor},
    state::State,
    straight::{StraightAnswer, StraightQuestion},
    structure::RuleId,
};

/// Beside more rules than this, a verdict is found by counting alone.
const RULES_MAX: usize = 128;

/// Most states of the searches for all verdicts together.
const STATES_OF_ALL_MAX: usize = 200_000;

/// So many states each verdict may take, however many are asked.
const STATES_MIN: usize = 16;

/// How many states each of so many verdicts may take.
pub(super) fn states_of_each(verdicts: usize) -> usize {
    (STATES_OF_ALL_MAX / verdicts.max(1)).max(STATES_MIN)
}

impl Prover<'_> {
    /// Whether it is proved that no session is refused by a rule that stands in the place of another one.
    pub(super) fn never_violates_instead_in(
        &self,
        rule: &Rule,
        of: RuleId,
        states_max: usize,
        scratch: &mut Scratch,
    ) -> bool {
        let setting = self.setting(Some(of.0));
        let monitor = Monitor::new(self.system, rule);
        if self.stricter(setting, &monitor.cell).is_some() {
            return true;
        }
        let from = State::default();
        let mut question = self.question(setting, Goal::Violate(&monitor), &from);
        let is_counter = matches!(monitor.cell.kind, Kind::Counter { .. });
        (question.monitor, question.counts) = (monitor.cell.start(), is_counter);
        question.states_max = states_max.min(self.bounds.states_max);
        question.states_of_all_max = question.states_max;
        let goals: Vec<usize> = self.system.positions(&monitor.cell.needs).collect();
        let is_counted_out = |scratch: &mut Scratch| {
            self.is_counted_out(&question, scratch) || self.endless_because(&question, scratch).is_some()
        };
        // Beside so many rules a search says nothing that counting does not.
        if cone(setting, &goals, RULES_MAX, &mut scratch.gathering).len() > RULES_MAX {
            return is_counted_out(scratch);
        }
        if self.is_violated_somehow(&question, scratch) {
            return false;
        }
        if is_counted_out(scratch) || self.never_without_gains(&question, scratch).is_some() {
            return true;
        }
        match monitor.cell.kind {
            Kind::Counter { .. } => self.is_never_used_up(&question, rule, scratch),
            Kind::Bit { .. } | Kind::Table(_) => matches!(self.ask(&question, scratch), Outcome::None(..)),
        }
    }

    /// Whether some session was found that a rule refuses, however long it is.
    fn is_violated_somehow(&self, question: &Question<'_>, scratch: &mut Scratch) -> bool {
        let StraightAnswer::Way(way) = self.find_straight(question, true, scratch) else { return false };
        self.is_shown(question, &question.named(way), scratch)
    }

    /// Whether counting alone tells that nothing is refused.
    fn is_counted_out(&self, question: &Question<'_>, scratch: &mut Scratch) -> bool {
        matches!(self.find_straight(question, false, scratch), StraightAnswer::Never(_))
    }

    fn find_straight(
        &self,
        question: &Question<'_>,
        takes_any: bool,
        scratch: &mut Scratch,
    ) -> StraightAnswer {
        let Question { setting, goal, monitor, from, .. } = question;
        let asked = StraightQuestion { setting: *setting, goal, monitor: *monitor, takes_any };
        scratch.straight.find(&asked, |rule| from.value(setting.system, rule))
    }
}
