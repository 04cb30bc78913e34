//! The plain meaning of a system: where a session stands and what one more label does.
//!
//! [`System::step`] asks every rule that knows the label; all of them must agree. It is slow and obvious on
//! purpose, except that a part repeated a thousand million times is not walked a thousand million times: see
//! [`Session::repeat`].

use smallvec::SmallVec;

use super::{
    answer::Trace,
    dense::{At, Marks},
    label::Label,
    rule::{Cell, Kind},
    structure::{RuleId, System},
};

/// Where a session stands: what each rule remembers that is not as it was at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(SmallVec<[(u32, u64); 4]>);

impl State {
    pub(super) fn value(&self, system: &System, rule: usize) -> u64 {
        match self.place(rule) {
            Ok(place) => self.0.get(place).map_or(0, |(_, value)| *value),
            Err(_) => system.cells.get(rule).map_or(0, Cell::start),
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

    /// The rules that refuse a label where a session stands.
    pub fn refusing<'a>(&'a self, state: &'a State, label: Label) -> impl Iterator<Item = RuleId> + 'a {
        let touches = self.position(label).map(|position| self.touches(position)).unwrap_or_default();
        let refuses = move |rule: usize| {
            let cell = self.cells.get(rule);
            cell.is_some_and(|cell| cell.step(state.value(self, rule), label).is_none())
        };
        touches.iter().map(|touch| touch.rule).filter(move |rule| refuses(*rule)).map(RuleId)
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

/// Longer sessions are walked with the values of all rules at hand: a state is short, and slow to change.
const WALKED_AS_STATE_MAX: usize = 32;

/// What each rule remembers.
struct Values(Vec<u64>);

impl Values {
    fn of(system: &System, state: &State) -> Self {
        let mut values: Vec<u64> = system.cells.iter().map(Cell::start).collect();
        state.0.iter().for_each(|(rule, value)| values.put(*rule as usize, *value));
        Self(values)
    }

    fn state(&self, system: &System) -> State {
        let values = self.0.iter().zip(&system.cells).zip(0..);
        let changed = values.filter(|((value, cell), _)| **value != cell.start());
        State(changed.map(|((value, _), rule)| (rule, *value)).collect())
    }

    /// Lets a label happen unless some rule refuses it.
    fn step(&mut self, system: &System, label: Label, without: Option<usize>) -> Result<(), Vec<RuleId>> {
        let touches = system.position(label).map(|position| system.touches(position)).unwrap_or_default();
        let after = |rule: usize| system.cells.get(rule).and_then(|cell| cell.step(self.0.at(rule), label));
        let touched = || touches.iter().map(|touch| touch.rule).filter(|rule| Some(*rule) != without);
        let refusing: Vec<RuleId> = touched().filter(|rule| after(*rule).is_none()).map(RuleId).collect();
        if !refusing.is_empty() {
            return Err(refusing);
        }
        for rule in touched() {
            if let Some(cell) = system.cells.get(rule) {
                self.0.change(rule, |value| cell.step(value, label).unwrap_or(value));
            }
        }
        Ok(())
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
        if labels.len() > WALKED_AS_STATE_MAX {
            let mut all = Values::of(self.system, &self.state);
            let walked = labels.iter().try_for_each(|label| all.step(self.system, *label, self.without));
            self.state = all.state(self.system);
            return walked;
        }
        for label in labels {
            let refusing = self.system.step_in_place(&mut self.state, *label, self.without);
            if !refusing.is_empty() {
                return Err(refusing.into_iter().map(RuleId).collect());
            }
        }
        Ok(())
    }

    /// Whether labels can happen once each; or the rules that refuse the first that cannot. Only rules that may refuse
    /// one of them are followed where that is less work: one label may be known to thousands that wait for it.
    pub(super) fn check(
        mut self,
        labels: &[Label],
        seen_labels: &mut Marks,
        seen_rules: &mut Marks,
    ) -> Result<(), Vec<RuleId>> {
        let system = self.system;
        seen_labels.clear(system.labels().len());
        seen_rules.clear(system.cells.len());
        let mut different: Vec<usize> = Vec::new();
        let mut touched = 0;
        for label in labels.iter().filter_map(|label| system.position(*label)) {
            touched += system.touches(label).len();
            if seen_labels.get(label).is_none() {
                seen_labels.set(label, different.len());
                different.push(label);
            }
        }
        let (mut rules, mut known): (Vec<usize>, usize) = (Vec::new(), 0);
        for guard in different.iter().flat_map(|label| system.guards(*label)) {
            if Some(guard.rule) != self.without && seen_rules.get(guard.rule).is_none() {
                seen_rules.set(guard.rule, rules.len());
                rules.push(guard.rule);
                known += system.reach(guard.rule);
            }
        }
        if touched <= known {
            return self.walk(labels);
        }
        let mut moves: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); different.len()];
        for (place, rule) in rules.iter().enumerate() {
            for label in system.known(*rule).filter_map(|label| seen_labels.get(label)) {
                let moves = moves.get_mut(label).filter(|moves| moves.last() != Some(&place));
                moves.into_iter().for_each(|moves| moves.push(place));
            }
        }
        let mut values: Vec<u64> = rules.iter().map(|rule| self.state.value(system, *rule)).collect();
        for label in labels {
            let Some(place) = system.position(*label).and_then(|label| seen_labels.get(label)) else {
                continue;
            };
            let touched = moves.get(place).into_iter().flatten().copied();
            let cell = |place: usize| rules.get(place).and_then(|rule| system.cells.get(*rule));
            let after = |place: usize| cell(place).and_then(|cell| cell.step(values.at(place), *label));
            let after: SmallVec<[(usize, Option<u64>); 8]> =
                touched.map(|place| (place, after(place))).collect();
            let refusing = after.iter().filter(|(_, after)| after.is_none());
            let mut refusing: Vec<RuleId> = refusing.map(|(place, _)| RuleId(rules.at(*place))).collect();
            if !refusing.is_empty() {
                refusing.sort_unstable();
                return Err(refusing);
            }
            after.iter().for_each(|(place, after)| values.change(*place, |value| after.unwrap_or(value)));
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
        let changed = self.changed(before);
        let ranges = self.ranges(&changed, labels);
        let rounds = changed.into_iter().zip(ranges).map(|((rule, was, is), (low, high))| {
            let Kind::Counter { full } = self.system.cells.get(rule)?.kind else { return None };
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

    /// How far below and above where it was each of some counters gets in a round.
    fn ranges(&self, changed: &[(usize, u64, u64)], labels: &[Label]) -> Vec<(i64, i64)> {
        let mut sums = vec![(0_i64, 0_i64, 0_i64); changed.len()];
        let positions = labels.iter().filter_map(|label| self.system.position(*label));
        for touch in positions.flat_map(|position| self.system.touches(position)) {
            let place = changed.binary_search_by_key(&touch.rule, |(rule, ..)| *rule);
            if let Some((low, high, sum)) = place.ok().and_then(|place| sums.get_mut(place)) {
                *sum += i64::from(touch.role.gains()) - i64::from(touch.role.loses());
                (*low, *high) = ((*low).min(*sum), (*high).max(*sum));
            }
        }
        sums.into_iter().map(|(low, high, _)| (low, high)).collect()
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
