//! The questions, and the loop that answers most of them.
//!
//! [`Prover`] looks at a system once and then answers any number of questions about it. Each question starts
//! from the rules it cannot do without; the session found under those is walked under all rules, and whatever
//! refuses it is taken in for the next try. So a session that comes out is a shortest one under all rules,
//! and where none is left the rules taken in are the reason. Questions about numbers too large to count are
//! handed to `pump`, questions about what can still happen later to `lose`.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{
    answer::{Answer, Explored, Reason, Trace},
    dense::At,
    label::{Label, LabelSet},
    losses::{Closed, Losses},
    problem::{Goal, LocalCell, Monitor, Problem, Rules, Scratch, Setting, cone},
    rule::{Cell, Kind, Rule, Table},
    search::{Found, search},
    state::{Session, State},
    straight::{self, Straightly},
    structure::{RuleId, System, Touch, Waiting},
};

/// How many states a search keeps unless told otherwise.
pub const STATES_MAX: usize = 200_000;

/// How many states a question about what can be lost looks at unless told otherwise.
pub const LOSE_STATES_MAX: usize = 20_000;

/// Most rules that a question starts with; more are taken in when they are met.
const FIRST_RULES_MAX: usize = 512;

/// Most states of a search for what a further rule refuses where tables take part: few states of a table
/// outdo others, so what is not found soon is mostly not found at all.
const VIOLATION_WITH_TABLES_STATES_MAX: usize = 20_000;

/// Questions that start with more rules than this are first tried without a search.
const SEARCHED_AT_ONCE_MAX: usize = 8;

/// Beside more rules than this, a question that only wants a verdict is answered by counting alone.
const VERDICT_RULES_MAX: usize = 128;

/// Most rules of a reason that are tried to be left out of it one by one.
const REASON_TRIED_MAX: usize = 32;

/// Most states of such a try.
const REASON_STATES_MAX: usize = 500;

/// Most labels that are looked through for a better one.
const BETTER_TRIED_MAX: usize = 8;

/// How far to go for one question, and with how many threads for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most states of one search.
    pub states_max: usize,
    /// Most states of all that one question about what can be lost looks at, or whether a system gets stuck.
    /// Those questions look at every state there is, where the others look for one.
    pub lose_states_max: usize,
    /// Questions that start with more rules than this are first tried without a search; the answers are as good.
    pub searched_at_once_max: usize,
    /// How many questions are worked on at once; the answers do not depend on it.
    pub threads: usize,
}

impl Bounds {
    /// So few rules are cut down one by one to those that are a reason.
    pub(super) fn reasoned_at_once_max(&self) -> usize {
        self.searched_at_once_max.saturating_mul(REASON_TRIED_MAX / SEARCHED_AT_ONCE_MAX)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            states_max: STATES_MAX,
            lose_states_max: LOSE_STATES_MAX,
            searched_at_once_max: SEARCHED_AT_ONCE_MAX,
            threads,
        }
    }
}

/// Answers questions about all sessions of a system.
pub struct Prover<'a> {
    pub(super) system: &'a System,
    pub(super) bounds: Bounds,
    pub(super) waiting: Waiting<'a>,
    better: Vec<usize>,
    losses: OnceLock<Losses>,
    /// Where each rule stands first.
    same: HashMap<&'a Rule, usize, foldhash::fast::RandomState>,
}

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
    pub(super) states_max: usize,
}

impl<'a> Prover<'a> {
    /// Looks at a system, in time linear in its size.
    pub fn new(system: &'a System) -> Self {
        Self::with_bounds(system, Bounds::default())
    }

    /// The same with other bounds.
    pub fn with_bounds(system: &'a System, bounds: Bounds) -> Self {
        let mut same = HashMap::with_capacity_and_hasher(system.rules().len(), Default::default());
        for (index, rule) in system.rules().iter().enumerate() {
            same.entry(rule).or_insert(index);
        }
        let (waiting, better) = (Waiting::new(system), better_labels(system));
        Self { system, bounds, waiting, better, losses: OnceLock::new(), same }
    }

    /// Is there a session that ends with one of these labels?
    pub fn can_call(&self, labels: &LabelSet) -> Answer {
        self.can_call_in(labels, &mut Scratch::default())
    }

    /// Can a session that stands here go on to one of these labels?
    pub fn can_call_from(&self, from: &State, labels: &LabelSet) -> Answer {
        self.can_call_after(from, labels, &mut Scratch::default())
    }

    /// Is there a session that a further rule refuses at its last label?
    pub fn can_violate(&self, rule: &Rule) -> Answer {
        self.can_violate_in(rule, &mut Scratch::default())
    }

    pub(super) fn never_violates_instead_in(&self, rule: &Rule, of: RuleId, scratch: &mut Scratch) -> bool {
        let setting = self.setting(Some(of.0));
        let monitor = Monitor::new(self.system, rule);
        let from = State::default();
        let mut question = self.question(setting, Goal::Violate(&monitor), &from);
        (question.monitor, question.counts) = (monitor.cell.start(), true);
        let goals: Vec<usize> = self.system.positions(&monitor.cell.needs).collect();
        let n_rules = cone(setting, &goals, VERDICT_RULES_MAX, scratch).len();
        if n_rules <= VERDICT_RULES_MAX {
            return !self.is_violated_somehow(&question, scratch)
                && self.violation(setting, rule, scratch).is_no();
        }
        // Beside so many rules a search says nothing that counting does not.
        self.stricter(setting, &monitor.cell).is_some()
            || matches!(self.ask_straight(&question, n_rules, scratch), Some(Outcome::None(..)))
            || self.endless_because(&question, scratch).is_some()
    }

    /// Whether some session was found that a rule refuses, however long it is.
    fn is_violated_somehow(&self, question: &Question<'_>, scratch: &mut Scratch) -> bool {
        let Question { setting, goal, monitor, from, .. } = question;
        let asked = straight::Asked { setting: *setting, goal, monitor: *monitor, takes_any: true };
        let value_of = |rule: usize| from.value(setting.system, rule);
        let Straightly::Way(way) = scratch.straight.find(&asked, value_of) else { return false };
        self.is_shown(question, &question.named(way))
    }

    /// Is there a session that only this rule of the system refuses, at its last label? If not, the rule is
    /// redundant.
    pub fn can_matter(&self, rule: RuleId) -> Answer {
        self.can_matter_in(rule, &mut Scratch::default())
    }

    pub(super) fn can_call_in(&self, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        self.can_call_after(&State::default(), labels, scratch)
    }

    fn can_call_after(&self, from: &State, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        if let Some(free) = labels.iter().find(|label| self.system.position(*label).is_none()) {
            return Answer::Yes(Trace::shortest(vec![free]));
        }
        let (goals, dead): (Vec<usize>, Vec<usize>) =
            self.system.positions(labels).partition(|label| !self.waiting.is_dead(*label));
        if goals.is_empty() {
            return self.no_because_dead(&dead);
        }
        let question = self.question(self.setting(None), Goal::Call(&goals), from);
        if *from != State::default() && self.is_wide(&question, &goals, scratch) {
            let values = (0..self.system.cells.len()).map(|rule| from.value(self.system, rule)).collect();
            if let Some(rules) = Closed::new(self.system, values, None, &[]).because(&goals) {
                return self.answer(Outcome::None(rules, 1), &question, &dead, scratch);
            }
        }
        let outcome = self.ask(&question, scratch);
        self.answer(outcome, &question, &dead, scratch)
    }

    /// Whether more rules are in the way of some labels than are cut down to a reason one by one.
    fn is_wide(&self, question: &Question<'_>, labels: &[usize], scratch: &mut Scratch) -> bool {
        let few = self.bounds.reasoned_at_once_max();
        cone(question.setting, labels, few, scratch).len() > few
    }

    /// What a rule that never loses refuses has to happen without anything that it earns by. The rules because of which
    /// it does not, as far as what waits for what tells.
    fn never_without_gains(&self, question: &Question<'_>, scratch: &mut Scratch) -> Option<Vec<usize>> {
        let Monitor { cell, .. } = question.watcher()?;
        let goals: Vec<usize> = self.system.positions(&cell.needs).collect();
        let is_latched = matches!(cell.kind, Kind::Bit { start: false }) && cell.loses.is_empty();
        if !is_latched || goals.len() < cell.needs.len() || !self.is_wide(question, &goals, scratch) {
            return None;
        }
        let gains: Vec<usize> = self.system.positions(&cell.gains).collect();
        let values = self.system.cells.iter().map(Cell::start).collect();
        Closed::new(self.system, values, question.setting.without, &gains).because(&goals)
    }

    pub(super) fn can_violate_in(&self, rule: &Rule, scratch: &mut Scratch) -> Answer {
        if let Some(same) = self.same.get(rule) {
            return Answer::No(Reason { rules: vec![RuleId(*same)] });
        }
        self.violation(self.setting(None), rule, scratch)
    }

    pub(super) fn can_matter_in(&self, id: RuleId, scratch: &mut Scratch) -> Answer {
        let Some(rule) = self.system.rules().get(id.0) else { return Answer::No(Reason::default()) };
        match self.same.get(rule) {
            Some(first) if *first != id.0 => Answer::No(Reason { rules: vec![RuleId(*first)] }),
            _ => self.violation(self.setting(Some(id.0)), rule, scratch),
        }
    }

    fn violation(&self, setting: Setting<'_>, rule: &Rule, scratch: &mut Scratch) -> Answer {
        let monitor = Monitor::new(self.system, rule);
        let needs = &monitor.cell.needs;
        let is_dead = |label| self.system.position(label).is_some_and(|label| self.waiting.is_dead(label));
        if setting.without.is_none() && !monitor.cell.is_table() && needs.iter().all(is_dead) {
            return self.no_because_dead(&self.system.positions(needs).collect::<Vec<_>>());
        }
        if let Some(stricter) = self.stricter(setting, &monitor.cell) {
            return Answer::No(Reason { rules: vec![stricter] });
        }
        if let Kind::Counter { .. } = monitor.cell.kind {
            return self.exhaust(setting, rule, &monitor, scratch);
        }
        let from = State::default();
        let mut question = self.question(setting, Goal::Violate(&monitor), &from);
        question.monitor = monitor.cell.start();
        if let Some(rules) = self.never_without_gains(&question, scratch) {
            return self.answer(Outcome::None(rules, 1), &question, &[], scratch);
        }
        let outcome = self.ask(&question, scratch);
        self.answer(outcome, &question, &[], scratch)
    }

    /// A rule of the system that refuses whatever another one does, as can be seen by comparing the two.
    fn stricter(&self, setting: Setting<'_>, cell: &Cell) -> Option<RuleId> {
        let first = self.system.position(cell.needs.iter().next()?)?;
        let mut guards = self.system.touches(first).iter().filter(|touch| touch.role.needs());
        let is_stricter = |touch: &&Touch| {
            let other = self.system.cells.get(touch.rule);
            Some(touch.rule) != setting.without && other.is_some_and(|other| other.is_stricter_than(cell))
        };
        guards.find(is_stricter).map(|touch| RuleId(touch.rule))
    }

    fn no_because_dead(&self, dead: &[usize]) -> Answer {
        Answer::No(Reason { rules: self.waiting.why_dead(dead) })
    }

    /// Whether a rule is one of the system's.
    pub(super) fn has(&self, rule: &Rule) -> bool {
        self.same.contains_key(rule)
    }

    /// What can be lost, for all labels at once.
    pub(super) fn losses(&self) -> &Losses {
        self.losses.get_or_init(|| Losses::new(self))
    }

    pub(super) fn setting(&self, without: Option<usize>) -> Setting<'_> {
        Setting { system: self.system, without, better: &self.better, forbidden: &[] }
    }

    pub(super) fn question<'q>(&self, setting: Setting<'q>, goal: Goal<'q>, from: &'q State) -> Question<'q> {
        let states_max = self.bounds.states_max;
        Question { setting, goal, from, monitor: 0, counts: false, states_max }
    }

    /// Says what came out, with the reason cut down to what is needed; `dead` are goals that were left out.
    pub(super) fn answer(
        &self,
        outcome: Outcome,
        question: &Question<'_>,
        dead: &[usize],
        scratch: &mut Scratch,
    ) -> Answer {
        match outcome {
            Outcome::Way(labels, true) => Answer::Yes(Trace::shortest(labels)),
            Outcome::Way(labels, false) => {
                Answer::Yes(Trace::new([super::answer::Run { labels, times: 1 }], false))
            }
            Outcome::None(rules, states) => {
                let rules = question.least_reason(rules, states, scratch);
                let more = self.waiting.why_dead(dead);
                let mut rules: Vec<RuleId> = rules.into_iter().map(RuleId).chain(more).collect();
                rules.sort_unstable();
                rules.dedup();
                Answer::No(Reason { rules })
            }
            Outcome::NoRoom(explored) => Answer::Undecided(explored),
        }
    }

    /// How many rules are in the way of what makes the rule that watches lose; of many, some.
    fn before_losing(&self, question: &Question<'_>, scratch: &mut Scratch) -> usize {
        let Some(Monitor { cell, .. }) = question.watcher() else { return 0 };
        let losers: Vec<usize> = self.system.positions(&cell.loses).collect();
        cone(question.setting, &losers, self.bounds.reasoned_at_once_max(), scratch).len()
    }

    /// Answers without a search, where many rules are in the way and counting what they demand is enough.
    pub(super) fn ask_straight(
        &self,
        question: &Question<'_>,
        n_rules: usize,
        scratch: &mut Scratch,
    ) -> Option<Outcome> {
        if n_rules <= self.bounds.searched_at_once_max {
            return None;
        }
        let setting = question.setting;
        let (goal, monitor) = (&question.goal, question.monitor);
        let asked = straight::Asked { setting, goal, monitor, takes_any: false };
        let value_of = |rule: usize| question.from.value(setting.system, rule);
        match scratch.straight.find(&asked, value_of) {
            Straightly::Way(way) => {
                let labels = question.named(way);
                self.is_shown(question, &labels).then_some(Outcome::Way(labels, true))
            }
            // Of few rules, a search finds the fewest that are a reason.
            Straightly::Never(rules) if n_rules > self.bounds.reasoned_at_once_max() => {
                Some(Outcome::None(rules, 1))
            }
            Straightly::Never(_) | Straightly::Unknown => None,
        }
    }

    /// Whether a session is let pass by all rules, and ends as the question wants it.
    fn is_shown(&self, question: &Question<'_>, labels: &[Label]) -> bool {
        let mut session = Session::from(self.system, question.setting.without, question.from.clone());
        session.walk(labels).is_ok() && question.is_refused_at_last(labels)
    }

    /// The rules because of which a counter that watches is never used up, if counting alone tells that.
    pub(super) fn endless_because(
        &self,
        question: &Question<'_>,
        scratch: &mut Scratch,
    ) -> Option<Vec<usize>> {
        let Question { setting, goal, monitor, .. } = question;
        let asked = straight::Asked { setting: *setting, goal, monitor: *monitor, takes_any: false };
        let is_counter = question.watcher().is_some_and(|it| matches!(it.cell.kind, Kind::Counter { .. }));
        let best = |rule: usize| self.system.cells.get(rule).map_or(0, Cell::best);
        is_counter.then(|| scratch.straight.endless_because(&asked, best)).flatten()
    }

    /// Searches under few rules, walks what was found under all, and takes in what refuses it.
    pub(super) fn ask(&self, question: &Question<'_>, scratch: &mut Scratch) -> Outcome {
        let mut rules = question.first_rules(scratch);
        let n_rules = rules.len().max(self.before_losing(question, scratch));
        if let Some(outcome) = self.ask_straight(question, n_rules, scratch) {
            return outcome;
        }
        loop {
            let problem = Problem::new(question.setting, &question.goal, Rules::These(&rules), scratch);
            let start = question.encode(&problem);
            let is_hard = question.watcher().is_some() && problem.has_tables();
            let states_max = if is_hard { VIOLATION_WITH_TABLES_STATES_MAX } else { usize::MAX };
            let states_max = question.states_max.min(states_max);
            let (found, states) = search(&problem, &start, &mut scratch.estimator, states_max);
            let explored = Explored { states, rules: problem.cells.len() };
            let (way, is_shortest) = match found {
                Found::Way(way, is_shortest) => (way, is_shortest),
                Found::None => {
                    return Outcome::None(problem.cells.iter().map(|cell| cell.rule).collect(), states);
                }
                Found::NoRoom => return Outcome::NoRoom(explored),
            };
            let labels = question.names(&problem, &way);
            let mut session = Session::from(self.system, question.setting.without, question.from.clone());
            let Err(refusing) = session.walk(&labels) else {
                let is_shown = question.is_refused_at_last(&labels);
                return if is_shown { Outcome::Way(labels, is_shortest) } else { Outcome::NoRoom(explored) };
            };
            let known = rules.len();
            rules.extend(refusing.into_iter().map(|rule| rule.0));
            rules.sort_unstable();
            rules.dedup();
            // A rule that was taken in cannot refuse; should it ever, nothing was found out.
            if rules.len() == known || !is_shortest {
                return Outcome::NoRoom(explored);
            }
        }
    }
}

impl Question<'_> {
    fn encode(&self, problem: &Problem) -> Vec<u64> {
        problem.encode(|cell| self.from.value(self.setting.system, cell.rule), self.monitor)
    }

    fn watcher(&self) -> Option<&Monitor> {
        match &self.goal {
            Goal::Call(_) => None,
            Goal::Violate(monitor) => Some(monitor),
        }
    }

    /// Whether the rule that watches, if there is one, refuses the last label and no other.
    fn is_refused_at_last(&self, labels: &[Label]) -> bool {
        let Some(Monitor { cell, .. }) = self.watcher() else { return true };
        let Some((last, before)) = labels.split_last() else { return false };
        let value = before.iter().try_fold(self.monitor, |value, label| cell.step(value, *label));
        value.is_some_and(|value| cell.step(value, *last).is_none())
    }

    pub(super) fn names(&self, problem: &Problem, way: &[usize]) -> Vec<Label> {
        self.named(way.iter().map(|label| problem.labels.at(*label)).collect())
    }

    /// The labels at some positions; the last is the goal itself, where another one stood in for it.
    fn named(&self, mut positions: Vec<usize>) -> Vec<Label> {
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
        let problem = Problem::new(self.setting, &self.goal, Rules::These(&rules), scratch);
        let start = self.encode(&problem);
        let rules = problem.cells.iter().map(|cell| cell.rule).collect();
        (scratch.estimator.estimate(&problem, &start), rules)
    }

    /// The rules because of which a counter that watches is never used up, if demands alone tell that.
    pub(super) fn endless_because(&self, scratch: &mut Scratch) -> Option<Vec<usize>> {
        let mut rules = self.first_rules(scratch);
        // Of tables it is not known where they stand by then.
        rules.retain(|rule| !self.setting.system.cells.get(*rule).is_some_and(Cell::is_table));
        let mut rules = self.is_endless(&rules, scratch)?;
        for rule in rules.clone().into_iter().take(REASON_TRIED_MAX) {
            let fewer: Vec<usize> = rules.iter().copied().filter(|other| *other != rule).collect();
            rules = self.is_endless(&fewer, scratch).unwrap_or(rules);
        }
        Some(rules)
    }

    /// Whether it is never used up under some rules; and which of them have to do with it.
    fn is_endless(&self, rules: &[usize], scratch: &mut Scratch) -> Option<Vec<usize>> {
        let problem = Problem::new(self.setting, &self.goal, Rules::These(rules), scratch);
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
            for touch in system.touches(label) {
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
    fn least_reason(&self, mut rules: Vec<usize>, states: usize, scratch: &mut Scratch) -> Vec<usize> {
        if rules.len() > REASON_TRIED_MAX {
            return rules;
        }
        // Fewer rules show the same in hardly more states, or not at all.
        let states_max = (2 * states + 8).min(REASON_STATES_MAX);
        for rule in rules.clone() {
            let fewer: Vec<usize> = rules.iter().copied().filter(|other| *other != rule).collect();
            let problem = Problem::new(self.setting, &self.goal, Rules::These(&fewer), scratch);
            let start = self.encode(&problem);
            let (found, _) = search(&problem, &start, &mut scratch.estimator, states_max);
            if let Found::None = found {
                rules = fewer;
            }
        }
        rules
    }
}

/// For each label one that every rule treats at least as well: the first of those that ask and spend the
/// same, and that tables refuse in the same states.
fn better_labels(system: &System) -> Vec<usize> {
    let mut better: Vec<usize> = (0..system.labels().len()).collect();
    let mut alike: HashMap<Vec<(usize, bool, bool)>, Vec<usize>, foldhash::fast::RandomState> =
        HashMap::default();
    for label in 0..system.labels().len() {
        let touches = system.touches(label);
        let is_table = |rule: usize| system.cells.get(rule).is_some_and(Cell::is_table);
        let is_strict = |touch: &&Touch| touch.role.needs() || touch.role.loses() || is_table(touch.rule);
        let strict = touches.iter().filter(is_strict);
        let key: Vec<_> = strict.map(|touch| (touch.rule, touch.role.needs(), touch.role.loses())).collect();
        if !key.is_empty() {
            alike.entry(key).or_default().push(label);
        }
    }
    for labels in alike.into_values().filter(|labels| labels.len() > 1) {
        for label in &labels {
            let candidates = labels.iter().take(BETTER_TRIED_MAX).copied();
            let best = candidates.filter(|other| is_at_least(system, *other, *label)).max_by(|one, other| {
                let gains = |label| system.touches(label).iter().filter(|touch| touch.role.gains()).count();
                gains(*one).cmp(&gains(*other)).then(other.cmp(one))
            });
            better.put(*label, best.unwrap_or(*label));
        }
    }
    better
}

/// Whether no rule treats the first label worse than the second.
fn is_at_least(system: &System, one: usize, other: usize) -> bool {
    let role = |label: usize, rule: usize| {
        let touches = system.touches(label);
        let place = touches.binary_search_by_key(&rule, |touch| touch.rule);
        place.ok().and_then(|place| touches.get(place)).map(|touch| touch.role).unwrap_or_default()
    };
    let rules = system.touches(one).iter().chain(system.touches(other)).map(|touch| touch.rule);
    let name = |label: usize| system.labels().get(label).copied().unwrap_or_default();
    rules.into_iter().all(|rule| match system.cells.get(rule).map(|cell| &cell.kind) {
        Some(Kind::Table(table)) => one == other || table.is_at_least(name(one), name(other)),
        _ => role(one, rule).is_at_least(role(other, rule)),
    })
}
