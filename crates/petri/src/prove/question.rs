//! One question, and what can be said of it before any session is walked.

use super::{
    answer::Explored,
    dense::At,
    gather::Rules,
    label::Label,
    problem::{LocalCell, Problem},
    rule::{Cell, Kind, Table},
    scratch::Scratch,
    search::{SearchResult, search},
    setting::{Goal, Monitor, Setting},
    state::State,
};

/// Most rules that a question starts with; more are taken in when they are met.
const FIRST_RULES_MAX: usize = 512;

/// Most rules of a reason that are tried to be left out of it one by one.
pub(super) const REASON_TRIED_MAX: usize = 32;

/// Most states of such a try.
const REASON_STATES_MAX: usize = 500;

/// What came out of the loop.
pub(super) enum Outcome {
    /// A session, and whether it is proved that none is shorter.
    Way(Vec<Label>, bool),
    /// None, because of these rules, as so many states have shown.
    None(Vec<usize>, usize),
    NoRoom(Explored),
}

/// A question to the loop.
pub(super) struct Question<'q> {
    pub(super) setting: Setting<'q>,
    pub(super) goal: Goal<'q>,
    pub(super) from: &'q State,
    /// What the monitor remembers.
    pub(super) monitor: u64,
    /// Whether to start with all that limits how often something can happen, or forbids it for good.
    pub(super) counts: bool,
    /// Most states of one search.
    pub(super) states_max: usize,
    /// Most states of all searches together.
    pub(super) states_of_all_max: usize,
}

impl Question<'_> {
    pub(super) fn encode(&self, problem: &Problem) -> Vec<u64> {
        problem.encode(|cell| self.from.value(self.setting.system, cell.rule), self.monitor)
    }

    pub(super) fn watcher(&self) -> Option<&Monitor> {
        match &self.goal {
            Goal::Call(_) => None,
            Goal::Violate(monitor) => Some(monitor),
        }
    }

    /// Whether the rule that watches, if there is one, refuses the last label and no other.
    pub(super) fn is_refused_at_last(&self, labels: &[Label]) -> bool {
        let Some(Monitor { cell, .. }) = self.watcher() else { return true };
        let Some((last, before)) = labels.split_last() else { return false };
        let value = before.iter().try_fold(self.monitor, |value, label| cell.step(value, *label));
        value.is_some_and(|value| cell.step(value, *last).is_none())
    }

    pub(super) fn names(&self, problem: &Problem, way: &[usize]) -> Vec<Label> {
        self.named(way.iter().map(|label| problem.labels.at(*label)).collect())
    }

    /// The labels at some positions; the last is the goal itself, where another one stood in for it.
    pub(super) fn named(&self, mut positions: Vec<usize>) -> Vec<Label> {
        if let (Goal::Call(goals), Some(last)) = (&self.goal, positions.last_mut()) {
            // A label that stands in for a goal asks for the same: the goal itself can be the end.
            let goal = goals.iter().find(|goal| self.setting.stand_in(**goal, None) == *last);
            *last = goals.iter().find(|goal| *goal == last).or(goal).copied().unwrap_or(*last);
        }
        positions.into_iter().map(|position| self.setting.name(position, self.watcher())).collect()
    }

    /// The least number of labels to the goal as far as the first rules tell; none if it is out of reach.
    pub(super) fn estimate(&self, scratch: &mut Scratch) -> (Option<u64>, Vec<usize>) {
        let rules = self.first_rules(scratch);
        let problem = Problem::new(self.setting, &self.goal, Rules::These(&rules), &mut scratch.gathering);
        let start = self.encode(&problem);
        let rules = problem.cells.iter().map(|cell| cell.rule).collect();
        (scratch.estimator.estimate(&problem, &start), rules)
    }

    /// The rules because of which a counter that watches is never used up, if demands alone tell that.
    pub(super) fn endless_because(&self, scratch: &mut Scratch) -> Option<Vec<usize>> {
        let mut rules = self.endless_by_first_rules(scratch)?;
        for rule in rules.clone().into_iter().take(REASON_TRIED_MAX) {
            let fewer: Vec<usize> = rules.iter().copied().filter(|other| *other != rule).collect();
            rules = self.is_endless(&fewer, scratch).unwrap_or(rules);
        }
        Some(rules)
    }

    /// The same with all of the first rules that have to do with it.
    pub(super) fn endless_by_first_rules(&self, scratch: &mut Scratch) -> Option<Vec<usize>> {
        let mut rules = self.first_rules(scratch);
        // Of tables it is not known where they stand by then.
        rules.retain(|rule| !self.setting.system.cells.get(*rule).is_some_and(Cell::is_table));
        self.is_endless(&rules, scratch)
    }

    /// Whether it is never used up under some rules; and which of them have to do with it.
    fn is_endless(&self, rules: &[usize], scratch: &mut Scratch) -> Option<Vec<usize>> {
        let problem = Problem::new(self.setting, &self.goal, Rules::These(rules), &mut scratch.gathering);
        let best = problem.encode(LocalCell::best, self.monitor);
        let is_endless = scratch.estimator.is_endless(&problem, &best);
        is_endless.then(|| problem.cells.iter().map(|cell| cell.rule).collect())
    }

    /// The rules that stand between the start and the goal whatever way is taken.
    pub(super) fn first_rules(&self, scratch: &mut Scratch) -> Vec<usize> {
        let system = self.setting.system;
        let mut rules = Vec::new();
        let (labels, cells) = (&mut scratch.seen_labels, &mut scratch.seen_rules);
        labels.clear(system.labels().len());
        cells.clear(system.cells.len());
        let mut open: Vec<usize> = match &self.goal {
            Goal::Call(goals) => self.sole(goals.iter().copied()).into_iter().collect(),
            Goal::Violate(monitor) => {
                let needs: Vec<usize> = system.positions(&monitor.cell.needs).collect();
                let are_known = needs.len() == monitor.cell.needs.len();
                self.sole(needs.into_iter()).filter(|_| are_known).into_iter().collect()
            }
        };
        while let Some(label) = open.pop() {
            if labels.get(label).is_some() {
                continue;
            }
            labels.set(label, 0);
            for touch in system.guards(label) {
                let Some(cell) = system.cells.get(touch.rule) else { continue };
                let value = self.from.value(system, touch.rule);
                let is_obstacle = match &cell.kind {
                    Kind::Table(_) => {
                        let label = system.labels().get(label);
                        label.is_some_and(|label| cell.step(value, *label).is_none())
                    }
                    _ => {
                        let is_counted = touch.role.loses() || cell.gains.is_empty();
                        touch.role.needs() && (value == 0 || self.counts && is_counted)
                    }
                };
                if !is_obstacle || Some(touch.rule) == self.setting.without {
                    continue;
                }
                if let Kind::Table(table) = &cell.kind {
                    open.extend(self.before_by_table(table, label, value));
                }
                if cells.get(touch.rule).is_some() {
                    continue;
                }
                cells.set(touch.rule, 0);
                rules.push(touch.rule);
                if rules.len() >= FIRST_RULES_MAX {
                    return rules;
                }
                open.extend(self.sole(system.positions(&cell.gains)));
            }
        }
        rules
    }

    /// The labels that a table wants before a label that it refuses.
    fn before_by_table(&self, table: &Table, label: usize, state: u64) -> Vec<usize> {
        let name = self.setting.system.labels().get(label).copied().unwrap_or_default();
        let letter = table.alphabet().position(name).unwrap_or(usize::MAX);
        let before =
            table.study().before(letter, state).filter_map(|letter| table.alphabet().iter().nth(letter));
        before.filter_map(|label| self.setting.system.position(label)).collect()
    }

    /// The one label that stands in for all of these, if there is one.
    fn sole(&self, labels: impl Iterator<Item = usize>) -> Option<usize> {
        let mut labels = labels.map(|label| self.setting.stand_in(label, self.watcher()));
        let first = labels.next()?;
        labels.all(|label| label == first).then_some(first)
    }

    /// Leaves out of a reason what is not needed for it.
    pub(super) fn least_reason(
        &self,
        mut rules: Vec<usize>,
        states: usize,
        scratch: &mut Scratch,
    ) -> Vec<usize> {
        if rules.len() > REASON_TRIED_MAX {
            return rules;
        }
        // Fewer rules show the same in hardly more states, or not at all.
        let states_max = (2 * states + 8).min(REASON_STATES_MAX);
        for rule in rules.clone() {
            let fewer: Vec<usize> = rules.iter().copied().filter(|other| *other != rule).collect();
            let problem =
                Problem::new(self.setting, &self.goal, Rules::These(&fewer), &mut scratch.gathering);
            let start = self.encode(&problem);
            let (found, _) = search(&problem, &start, &mut scratch.estimator, states_max);
            if let SearchResult::None = found {
                rules = fewer;
            }
        }
        rules
    }
}
