//! The questions, and the loop that answers most of them.
//!
//! [`Prover`] looks at a system once and then answers any number of questions about it. Each question starts
//! from the rules it cannot do without; the session found under those is walked under all rules, and whatever
//! refuses it is taken in for the next try. So a session that comes out is a shortest one under all rules,
//! and where none is left the rules taken in are the reason. Questions about numbers too large to count are
//! handed to `pump`, questions about what can still happen later to `lose`.

use std::{cell::OnceCell, sync::OnceLock};

use hashbrown::HashMap;

use super::{
    answer::{Answer, Explored, Reason, Trace},
    better::better_labels,
    bounds::Bounds,
    gather::{Rules, cone},
    label::{Label, LabelSet},
    losses::{Closed, Ground, Losses},
    problem::Problem,
    question::{Outcome, Question},
    rule::{Cell, Kind, Rule},
    scratch::Scratch,
    search::{SearchResult, search},
    setting::{Goal, Monitor, Setting},
    state::{Session, State},
    straight::{self, StraightAnswer},
    structure::{RuleId, System, Touch},
    waiting::WaitGraph,
};

/// Most states of a search for what a further rule refuses where tables take part: few states of a table
/// outdo others, so what is not found soon is mostly not found at all.
const VIOLATION_WITH_TABLES_STATES_MAX: usize = 20_000;

/// Answers questions about all sessions of a system.
pub struct Prover<'a> {
    pub(super) system: &'a System,
    pub(super) bounds: Bounds,
    pub(super) waiting: WaitGraph<'a>,
    better: Vec<usize>,
    losses: OnceLock<Losses>,
    /// Where each rule stands first.
    same: HashMap<&'a Rule, usize, foldhash::fast::RandomState>,
}

/// Where a session stands, and what can follow. Many questions from one state look at all rules once.
pub struct Onward<'p> {
    prover: &'p Prover<'p>,
    from: State,
    closed: OnceCell<Closed<'p>>,
}

impl<'p> Onward<'p> {
    /// Can the session go on to one of these labels?
    pub fn can_call(&self, labels: &LabelSet) -> Answer {
        self.can_call_in(labels, &mut Scratch::default())
    }

    fn can_call_in(&self, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        self.prover.can_call_after(self, labels, scratch)
    }

    /// What is closed for good, as far as what waits for what tells.
    fn closed(&self) -> &Closed<'p> {
        self.closed.get_or_init(|| {
            let system = self.prover.system;
            let values = (0..system.cells.len()).map(|rule| self.from.value(system, rule)).collect();
            Closed::new(system, values, None, &[])
        })
    }
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
        let (waiting, better) = (WaitGraph::new(system), better_labels(system));
        Self { system, bounds, waiting, better, losses: OnceLock::new(), same }
    }

    /// Is there a session that ends with one of these labels?
    pub fn can_call(&self, labels: &LabelSet) -> Answer {
        self.can_call_in(labels, &mut Scratch::default())
    }

    /// Can a session that stands here go on to one of these labels?
    pub fn can_call_from(&self, from: &State, labels: &LabelSet) -> Answer {
        self.onward(from.clone()).can_call(labels)
    }

    /// What can follow where a session stands.
    pub fn onward(&self, from: State) -> Onward<'_> {
        Onward { prover: self, from, closed: OnceCell::new() }
    }

    /// Is there a session that a further rule refuses at its last label?
    pub fn can_violate(&self, rule: &Rule) -> Answer {
        self.can_violate_in(rule, &mut Scratch::default())
    }

    /// Is there a session that only this rule of the system refuses, at its last label? If not, the rule is
    /// redundant.
    pub fn can_matter(&self, rule: RuleId) -> Answer {
        self.can_matter_in(rule, &mut Scratch::default())
    }

    pub(super) fn can_call_in(&self, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        self.onward(State::default()).can_call_in(labels, scratch)
    }

    fn can_call_after(&self, onward: &Onward<'_>, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        let from = &onward.from;
        if let Some(free) = labels.iter().find(|label| self.system.position(*label).is_none()) {
            return Answer::Yes(Trace::shortest(vec![free]));
        }
        let (goals, dead): (Vec<usize>, Vec<usize>) =
            self.system.positions(labels).partition(|label| !self.waiting.is_dead(*label));
        if goals.is_empty() {
            return self.no_because_dead(&dead);
        }
        let question = self.question(self.setting(None), Goal::Call(&goals), from);
        if *from != State::default()
            && self.is_wide(&question, &goals, scratch)
            && let Some(rules) = onward.closed().because(&goals)
        {
            return self.answer(Outcome::None(rules, 1), &question, &dead, scratch);
        }
        let outcome = self.ask(&question, scratch);
        self.answer(outcome, &question, &dead, scratch)
    }

    /// Whether more rules are in the way of some labels than are cut down to a reason one by one.
    fn is_wide(&self, question: &Question<'_>, labels: &[usize], scratch: &mut Scratch) -> bool {
        let few = self.bounds.reasoned_at_once_max();
        cone(question.setting, labels, few, &mut scratch.gathering).len() > few
    }

    /// What a rule that never loses refuses has to happen without anything that it earns by. The rules because of which
    /// it does not, as far as what waits for what tells.
    pub(super) fn never_without_gains(
        &self,
        question: &Question<'_>,
        scratch: &mut Scratch,
    ) -> Option<Vec<usize>> {
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
    pub(super) fn stricter(&self, setting: Setting<'_>, cell: &Cell) -> Option<RuleId> {
        let first = self.system.position(cell.needs.iter().next()?)?;
        let mut guards = self.system.guards(first).iter().filter(|touch| touch.role.needs());
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
        self.losses.get_or_init(|| Losses::new(self.ground()))
    }

    pub(super) fn ground(&self) -> Ground<'_> {
        Ground { setting: self.setting(None), waiting: &self.waiting }
    }

    pub(super) fn setting(&self, without: Option<usize>) -> Setting<'_> {
        Setting { system: self.system, without, better: &self.better, forbidden: &[] }
    }

    pub(super) fn question<'q>(&self, setting: Setting<'q>, goal: Goal<'q>, from: &'q State) -> Question<'q> {
        let states_max = self.bounds.states_max;
        let states_of_all_max = usize::MAX;
        Question { setting, goal, from, monitor: 0, counts: false, states_max, states_of_all_max }
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
        cone(question.setting, &losers, self.bounds.reasoned_at_once_max(), &mut scratch.gathering).len()
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
        let asked = straight::StraightQuestion { setting, goal, monitor, takes_any: false };
        let value_of = |rule: usize| question.from.value(setting.system, rule);
        match scratch.straight.find(&asked, value_of) {
            StraightAnswer::Way(way) => {
                let labels = question.named(way);
                self.is_shown(question, &labels, scratch).then_some(Outcome::Way(labels, true))
            }
            // Of few rules, a search finds the fewest that are a reason.
            StraightAnswer::Never(rules) if n_rules > self.bounds.reasoned_at_once_max() => {
                Some(Outcome::None(rules, 1))
            }
            StraightAnswer::Never(_) | StraightAnswer::Unknown => None,
        }
    }

    /// Whether a session is let pass by all rules, and ends as the question wants it.
    pub(super) fn is_shown(&self, question: &Question<'_>, labels: &[Label], scratch: &mut Scratch) -> bool {
        question.is_refused_at_last(labels) && self.refusing(question, labels, scratch).is_ok()
    }

    /// Whether all rules let a session of a question pass; or those that refuse the first label that is refused.
    fn refusing(
        &self,
        question: &Question<'_>,
        labels: &[Label],
        scratch: &mut Scratch,
    ) -> Result<(), Vec<RuleId>> {
        let Scratch { seen_labels, seen_rules, .. } = scratch;
        let session = Session::from(self.system, question.setting.without, question.from.clone());
        session.check(labels, seen_labels, seen_rules)
    }

    /// The rules because of which a counter that watches is never used up, if counting alone tells that.
    pub(super) fn endless_because(
        &self,
        question: &Question<'_>,
        scratch: &mut Scratch,
    ) -> Option<Vec<usize>> {
        let Question { setting, goal, monitor, .. } = question;
        let asked =
            straight::StraightQuestion { setting: *setting, goal, monitor: *monitor, takes_any: false };
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
        let mut left = question.states_of_all_max;
        loop {
            let problem =
                Problem::new(question.setting, &question.goal, Rules::These(&rules), &mut scratch.gathering);
            let start = question.encode(&problem);
            let is_hard = question.watcher().is_some() && problem.has_tables();
            let states_max = if is_hard { VIOLATION_WITH_TABLES_STATES_MAX } else { usize::MAX };
            let states_max = question.states_max.min(states_max).min(left);
            let (found, states) = search(&problem, &start, &mut scratch.estimator, states_max);
            left = left.saturating_sub(states);
            let explored = Explored { states, rules: problem.cells.len() };
            let (way, is_shortest) = match found {
                SearchResult::Way(way, is_shortest) => (way, is_shortest),
                SearchResult::None => {
                    return Outcome::None(problem.cells.iter().map(|cell| cell.rule).collect(), states);
                }
                SearchResult::NoRoom => return Outcome::NoRoom(explored),
            };
            let labels = question.names(&problem, &way);
            let Err(refusing) = self.refusing(question, &labels, scratch) else {
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
