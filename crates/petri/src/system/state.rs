//! The plain meaning of a system: where a session stands and what one more label does.
//!
//! [`System::step`] asks every rule that knows the label; all of them must agree. It is slow and obvious on
//! purpose, except that a part repeated a thousand million times is not walked a thousand million times: see
//! [`Session::repeat`].

use smallvec::SmallVec;

use super::{
    answer::Trace,
    label::Label,
    rule::Kind,
    structure::{RuleId, System},
};

/// Where a session stands: what each rule remembers that is not as it was at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(SmallVec<[(u32, u64); 4]>);

impl State {
    pub(super) fn value(&self, system: &System, rule: usize) -> u64 {
        match self.place(rule) {
            Ok(place) => self.0.get(place).map_or(0, |(_, value)| *value),
            Err(_) => system.cells.get(rule).map_or(0, super::rule::Cell::start),
        }
    }

    /// The state of a system of one rule.
    pub(super) fn of_one(system: &System, value: u64) -> Self {
        let mut state = Self::default();
        state.set(system, 0, value);
        state
    }

    /// Takes back what a rule remembers: it stands as at the start.
    pub fn forget(&mut self, system: &System, rule: RuleId) {
        if let Some(cell) = system.cells.get(rule.0) {
            self.set(system, rule.0, cell.start());
        }
    }

    fn place(&self, rule: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&rule, |(rule, _)| *rule as usize)
    }

    fn set(&mut self, system: &System, rule: usize, value: u64) {
        let is_start = system.cells.get(rule).is_some_and(|cell| cell.start() == value);
        match (self.place(rule), is_start) {
            (Ok(place), true) => drop(self.0.remove(place)),
            (Err(_), true) => {}
            (Ok(place), false) => self.0.get_mut(place).into_iter().for_each(|entry| entry.1 = value),
            (Err(place), false) => {
                self.0.insert(place, (u32::try_from(rule).unwrap_or(u32::MAX), value));
            }
        }
    }

    pub(super) fn rules(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|(rule, _)| *rule as usize)
    }
}

impl System {
    /// What follows when a label happens; or all rules that refuse it.
    pub fn step(&self, state: &State, label: Label) -> Result<State, Vec<RuleId>> {
        let mut next = state.clone();
        match self.step_in_place(&mut next, label, None) {
            refusing if refusing.is_empty() => Ok(next),
            refusing => Err(refusing.into_iter().map(RuleId).collect()),
        }
    }

    /// Walks a session from the start; or says which rules refuse it.
    pub fn replay(&self, trace: &Trace) -> Result<State, Vec<RuleId>> {
        let mut session = Session::new(self, None);
        for run in trace.runs() {
            session.repeat(&run.labels, run.times)?;
        }
        Ok(session.state)
    }

    /// Changes the state unless some rule refuses, and gives the rules that do.
    pub(super) fn step_in_place(
        &self,
        state: &mut State,
        label: Label,
        without: Option<usize>,
    ) -> SmallVec<[usize; 4]> {
        let mut refusing = SmallVec::new();
        let mut changes: SmallVec<[(usize, u64); 8]> = SmallVec::new();
        let touches = self.position(label).map(|position| self.touches(position)).unwrap_or_default();
        for touch in touches.iter().filter(|touch| Some(touch.rule) != without) {
            let Some(cell) = self.cells.get(touch.rule) else { continue };
            let value = state.value(self, touch.rule);
            match cell.step(value, label) {
                None => refusing.push(touch.rule),
                Some(next) if next != value => changes.push((touch.rule, next)),
                Some(_) => {}
            }
        }
        if refusing.is_empty() {
            for (rule, value) in changes {
                state.set(self, rule, value);
            }
        }
        refusing
    }
}

/// A session on its way through a system.
#[derive(Clone, Debug)]
pub(super) struct Session<'a> {
    system: &'a System,
    without: Option<usize>,
    pub(super) state: State,
}

impl<'a> Session<'a> {
    pub(super) fn new(system: &'a System, without: Option<usize>) -> Self {
        Self { system, without, state: State::default() }
    }

    pub(super) fn from(system: &'a System, without: Option<usize>, state: State) -> Self {
        Self { system, without, state }
    }

    pub(super) fn system(&self) -> &'a System {
        self.system
    }

    /// Whether nothing but counters is other than in an earlier state.
    pub(super) fn differs_in_counters_only(&self, before: &State) -> bool {
        self.changed(before).iter().all(|(rule, ..)| {
            self.system.cells.get(*rule).is_some_and(|cell| matches!(cell.kind, Kind::Counter { .. }))
        })
    }

    /// Lets labels happen once each, up to the first that is refused.
    pub(super) fn walk(&mut self, labels: &[Label]) -> Result<(), Vec<RuleId>> {
        for label in labels {
            let refusing = self.system.step_in_place(&mut self.state, *label, self.without);
            if !refusing.is_empty() {
                return Err(refusing.into_iter().map(RuleId).collect());
            }
        }
        Ok(())
    }

    /// Lets labels happen over and over. Once a round changes nothing but how much is left of some counters,
    /// and no refill was wasted, all rounds are alike for as long as the counters last.
    pub(super) fn repeat(&mut self, labels: &[Label], times: u64) -> Result<(), Vec<RuleId>> {
        self.repeat_while_possible(labels, times).1
    }

    /// The same; says how many rounds were possible, and where another one is refused it stays before it.
    pub(super) fn repeat_while_possible(
        &mut self,
        labels: &[Label],
        times: u64,
    ) -> (u64, Result<(), Vec<RuleId>>) {
        let mut done = 0;
        while done < times {
            let before = self.state.clone();
            if let Err(refusing) = self.walk(labels) {
                self.state = before;
                return (done, Err(refusing));
            }
            done += 1;
            if self.state == before {
                return (times, Ok(()));
            }
            let rounds = self.rounds_alike(&before, labels).min(times - done);
            self.leap(&before, rounds);
            done += rounds;
        }
        (done, Ok(()))
    }

    /// How many more rounds are surely like the one from `before` to now.
    fn rounds_alike(&self, before: &State, labels: &[Label]) -> u64 {
        let rounds = self.changed(before).into_iter().map(|(rule, was, is)| {
            let cell = self.system.cells.get(rule)?;
            let Kind::Counter { full } = cell.kind else { return None };
            let (mut low, mut high, mut sum) = (0_i64, 0_i64, 0_i64);
            for label in labels {
                let role = cell.role(*label);
                sum += i64::from(role.gains()) - i64::from(role.loses());
                (low, high) = (low.min(sum), high.max(sum));
            }
            let high = high.unsigned_abs();
            if was > is {
                // Lower each round: it must not have been full on the way, and last as deep as a round goes.
                let has_room = was.checked_add(high)? <= full;
                let spare = is.checked_sub(low.unsigned_abs())?;
                has_room.then(|| (spare / (was - is)).saturating_add(1))
            } else {
                // Higher each round, until it is full on the way.
                let room = full.checked_sub(is)?.checked_sub(high)?;
                Some((room / (is - was)).saturating_add(1))
            }
        });
        rounds.map(|rounds| rounds.unwrap_or(0)).min().unwrap_or(0)
    }

    fn leap(&mut self, before: &State, rounds: u64) {
        for (rule, was, is) in self.changed(before) {
            let change = was.abs_diff(is).saturating_mul(rounds);
            let value = if was > is { is.saturating_sub(change) } else { is.saturating_add(change) };
            self.state.set(self.system, rule, value);
        }
    }

    fn changed(&self, before: &State) -> Vec<(usize, u64, u64)> {
        let mut rules: Vec<usize> = before.rules().chain(self.state.rules()).collect();
        rules.sort_unstable();
        rules.dedup();
        let values = rules
            .into_iter()
            .map(|rule| (rule, before.value(self.system, rule), self.state.value(self.system, rule)));
        values.filter(|(_, was, is)| was != is).collect()
    }
}
