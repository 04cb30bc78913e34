//! Questions about numbers too large to count to.
//!
//! To use up a limit of a million, a session goes round in a circle a million times. `exhaust` finds such a
//! circle by using the limit up a few times and looking whether the rules then stand where they stood before,
//! counters apart; what the counters lose in a round is multiplied. That the limit can never be used up is
//! seen by counting demands, because what would refill another counter refills this one, or because not even
//! a small one of its kind can be. It does not try every circle: where those it tries do not last, the
//! question stays undecided.

use super::{
    answer::{Answer, Explored, Reason, Run, Trace},
    climb::{Climb, ClimbPosition},
    label::Label,
    prover::Prover,
    question::{Outcome, Question},
    rule::{Cell, Kind, Rule},
    scratch::Scratch,
    setting::{Goal, Monitor, Setting},
    state::{Session, State},
    straight::StraightQuestion,
    structure::{RuleId, System},
};

/// A session that uses up this much has more labels than can be listed.
const COUNT_MAX: u64 = u64::MAX / 2;

/// Most that is counted one by one where it matters for the shortest session.
const COUNTED_MAX: u64 = 16;

/// What a larger counter is compared with.
const SMALLER_COUNT: u64 = 8;

/// Most states of the search for the smaller one.
const SMALLER_STATES_MAX: usize = 5_000;

/// Most circles of a session that are tried.
const CIRCLES_TRIED_MAX: usize = 8;

/// Most states of the search that comes before the circles.
const QUICK_STATES_MAX: usize = 2_000;

/// Most rounds in which a circle may close.
const ROUNDS_MAX: usize = 24;

/// The same where only the cheapest circles close.
const THRIFTY_ROUNDS_MAX: usize = 96;

impl Prover<'_> {
    /// Is there a session that uses a counter up and then spends once more?
    pub(super) fn exhaust(
        &self,
        setting: Setting<'_>,
        rule: &Rule,
        monitor: &Monitor,
        scratch: &mut Scratch,
    ) -> Answer {
        let Kind::Counter { full } = monitor.cell.kind else { return Answer::No(Reason::default()) };
        if full >= COUNT_MAX {
            return Answer::Undecided(Explored::default());
        }
        if let Some((_, free)) = monitor.labels.iter().find(|(position, label)| {
            *position >= self.system.labels().len() && monitor.cell.needs.contains(*label)
        }) {
            let labels = vec![*free];
            return Answer::Yes(Trace::new([Run { labels, times: full.saturating_add(1) }], true));
        }
        let from = State::default();
        let mut question = self.question(setting, Goal::Violate(monitor), &from);
        (question.monitor, question.counts) = (full, true);
        if let Some(answer) = self.exhaust_straight(&question, full, scratch) {
            return answer;
        }
        let (estimate, rules) = question.estimate(scratch);
        let Some(estimate) = estimate else {
            return self.answer(Outcome::None(rules, 1), &question, &[], scratch);
        };
        if full > COUNTED_MAX {
            return self.exhaust_large(setting, rule, monitor, estimate, scratch);
        }
        question.states_max = self.bounds.states_max.min(QUICK_STATES_MAX);
        match self.ask(&question, scratch) {
            outcome @ (Outcome::Way(_, true) | Outcome::None(..)) => {
                return self.answer(outcome, &question, &[], scratch);
            }
            Outcome::Way(_, false) | Outcome::NoRoom(_) => {}
        }
        let pumped = self.pump(setting, rule, monitor, estimate, scratch);
        if let Some(trace) = pumped.as_ref().filter(|trace| trace.is_shortest()) {
            return Answer::Yes(trace.clone());
        }
        question.states_max = self.bounds.states_max;
        let outcome = self.ask(&question, scratch);
        match (outcome, pumped) {
            (Outcome::NoRoom(_) | Outcome::Way(_, false), Some(trace)) => Answer::Yes(trace),
            (outcome, _) => self.answer(outcome, &question, &[], scratch),
        }
    }

    /// The same without a search, where many rules are in the way and counting what they demand is enough.
    fn exhaust_straight(&self, question: &Question<'_>, full: u64, scratch: &mut Scratch) -> Option<Answer> {
        let n_rules = question.first_rules(scratch).len();
        if full <= COUNTED_MAX
            && let Some(outcome) = self.ask_straight(question, n_rules, scratch)
        {
            return Some(self.answer(outcome, question, &[], scratch));
        }
        // Of few rules, a search finds the fewest that are a reason.
        if n_rules <= self.bounds.reasoned_at_once_max() {
            return None;
        }
        let Question { setting, goal, monitor, .. } = question;
        let asked = StraightQuestion { setting: *setting, goal, monitor: *monitor, takes_any: false };
        let start = |rule: usize| self.system.cells.get(rule).map_or(0, Cell::start);
        let never = scratch.straight.never_because(&asked, start);
        let rules = never.or_else(|| self.endless_because(question, scratch))?;
        Some(self.answer(Outcome::None(rules, 1), question, &[], scratch))
    }

    /// The same for a counter that is not walked down one by one.
    ///
    /// If even a much smaller one is never used up, the large one is not. If the smaller one is, the session
    /// that does it goes round somewhere, and that is where to go round more often.
    fn exhaust_large(
        &self,
        setting: Setting<'_>,
        rule: &Rule,
        monitor: &Monitor,
        estimate: u64,
        scratch: &mut Scratch,
    ) -> Answer {
        if let Some(trace) = self.pump(setting, rule, monitor, estimate, scratch) {
            return Answer::Yes(trace);
        }
        let from = State::default();
        let mut question = self.question(setting, Goal::Violate(monitor), &from);
        (question.monitor, question.counts) = (monitor.cell.start(), true);
        if let Some(rules) = question.endless_because(scratch) {
            return Answer::No(Reason { rules: rules.into_iter().map(RuleId).collect() });
        }
        if let Some(trace) = self.pump_thriftily(setting, rule, monitor, estimate, scratch) {
            return Answer::Yes(trace);
        }
        let small = Monitor::new(self.system, &with_count(rule, SMALLER_COUNT));
        let mut question = self.question(setting, Goal::Violate(&small), &from);
        (question.monitor, question.counts) = (SMALLER_COUNT, true);
        question.states_max = self.bounds.states_max.min(SMALLER_STATES_MAX);
        let outcome = self.ask(&question, scratch);
        let widened = match &outcome {
            Outcome::Way(way, _) => self.widen(
                setting,
                rule,
                monitor,
                way.split_last().map_or(&[], |(_, way)| way),
                estimate,
                scratch,
            ),
            Outcome::None(..) | Outcome::NoRoom(_) => None,
        };
        match (widened, outcome) {
            (Some(trace), _) => Answer::Yes(trace),
            (None, Outcome::Way(way, _)) => Answer::Undecided(Explored { states: way.len(), rules: 0 }),
            (None, outcome) => self.answer(outcome, &question, &[], scratch),
        }
    }

    /// Whether it is proved that a counter is never used up, without showing a session where it is.
    pub(super) fn is_never_used_up(
        &self,
        question: &Question<'_>,
        rule: &Rule,
        scratch: &mut Scratch,
    ) -> bool {
        let full = question.monitor;
        if full >= COUNT_MAX {
            return false;
        }
        if question.estimate(scratch).0.is_none() {
            return true;
        }
        if full <= COUNTED_MAX {
            return matches!(self.ask(question, scratch), Outcome::None(..));
        }
        if question.endless_by_first_rules(scratch).is_some() {
            return true;
        }
        let small = Monitor::new(self.system, &with_count(rule, SMALLER_COUNT));
        let small = Question {
            goal: Goal::Violate(&small),
            monitor: SMALLER_COUNT,
            states_max: question.states_max.min(SMALLER_STATES_MAX),
            ..*question
        };
        matches!(self.ask(&small, scratch), Outcome::None(..))
    }

    /// A session that goes round wherever a shorter one does.
    fn widen(
        &self,
        setting: Setting<'_>,
        rule: &Rule,
        monitor: &Monitor,
        way: &[Label],
        estimate: u64,
        scratch: &mut Scratch,
    ) -> Option<Trace> {
        let alone = System::new(vec![rule.clone()]).ok()?;
        let mut here = ClimbPosition::new(self.system, setting.without, &alone);
        let mut standings = vec![here.clone()];
        for label in way {
            here.session.walk(&[*label]).ok()?;
            here.counter.walk(&[*label]).ok()?;
            standings.push(here.clone());
        }
        let mut circles = Vec::new();
        for (from, before) in standings.iter().enumerate() {
            for (to, after) in standings.iter().enumerate().skip(from + 1) {
                if after.is_further_on(before) {
                    let cost = (to - from) as u64 * 1_000 / (before.left() - after.left());
                    circles.push((cost, to - from, from));
                }
            }
        }
        circles.sort_unstable();
        // One that was tried elsewhere lasts no longer here.
        let mut tried: Vec<&[Label]> = Vec::new();
        circles.retain(|(_, length, from)| {
            let round = way.get(*from..from + length).unwrap_or_default();
            let is_new = !tried.contains(&round);
            tried.push(round);
            is_new
        });
        circles.into_iter().take(CIRCLES_TRIED_MAX).find_map(|(_, length, from)| {
            let (before, rest) = way.split_at_checked(from)?;
            let (round, _) = rest.split_at_checked(length)?;
            let mut climb = Climb::new(standings.get(from + length)?.clone());
            climb.labels.extend_from_slice(before);
            climb.go_round(round.to_vec());
            self.climb(climb, standings.first()?, setting, monitor, estimate, scratch)
        })
    }

    /// A session that goes round until the counter is used up.
    fn pump(
        &self,
        setting: Setting<'_>,
        rule: &Rule,
        monitor: &Monitor,
        estimate: u64,
        scratch: &mut Scratch,
    ) -> Option<Trace> {
        let alone = System::new(vec![rule.clone()]).ok()?;
        let start = ClimbPosition::new(self.system, setting.without, &alone);
        self.climb(Climb::new(start.clone()), &start, setting, monitor, estimate, scratch)
    }

    /// The same, but it goes round only where that costs the least: what refills a counter is then called as often as
    /// it has to be, and not in every round.
    fn pump_thriftily(
        &self,
        setting: Setting<'_>,
        rule: &Rule,
        monitor: &Monitor,
        estimate: u64,
        scratch: &mut Scratch,
    ) -> Option<Trace> {
        let alone = System::new(vec![rule.clone()]).ok()?;
        let start = ClimbPosition::new(self.system, setting.without, &alone);
        let climb = Climb { cost_max: Some(u64::MAX), ..Climb::new(start.clone()) };
        self.climb(climb, &start, setting, monitor, estimate, scratch)
    }

    /// The same from where a session stands, for a rule of the system that was taken out.
    pub(super) fn pump_from(
        &self,
        from: &State,
        id: usize,
        setting: Setting<'_>,
        scratch: &mut Scratch,
    ) -> Option<Trace> {
        let rule = self.system.rules().get(id)?;
        let alone = System::new(vec![rule.clone()]).ok()?;
        let start = ClimbPosition {
            session: Session::from(self.system, setting.without, from.clone()),
            counter: Session::from(&alone, None, State::of_one(&alone, from.value(self.system, id))),
        };
        let monitor = Monitor::new(self.system, rule);
        self.climb(Climb::new(start.clone()), &start, setting, &monitor, 0, scratch)
    }

    /// Goes on by the shortest way to spend once more; wherever that closes a circle, round and round for as
    /// long as everything lasts.
    fn climb(
        &self,
        mut climb: Climb<'_>,
        start: &ClimbPosition<'_>,
        setting: Setting<'_>,
        monitor: &Monitor,
        estimate: u64,
        scratch: &mut Scratch,
    ) -> Option<Trace> {
        let goals: Vec<usize> = self.system.positions(&monitor.cell.needs).collect();
        let rounds_max = if climb.cost_max.is_some() { THRIFTY_ROUNDS_MAX } else { ROUNDS_MAX };
        for _ in 0..rounds_max {
            climb.close_circle();
            climb.past.push((climb.here.clone(), climb.labels.len()));
            let from = climb.here.session.state.clone();
            let mut question = self.question(setting, Goal::Call(&goals), &from);
            question.states_max = self.bounds.states_max.min(QUICK_STATES_MAX);
            let Outcome::Way(way, _) = self.ask(&question, scratch) else { return None };
            climb.here.session.walk(&way).ok()?;
            climb.labels.extend_from_slice(&way);
            if climb.here.counter.walk(&way).is_err() {
                climb.runs.push(Run { labels: climb.labels, times: 1 });
                let trace = Trace::new(climb.runs, false);
                let is_shortest = trace.len() == estimate && estimate < u64::MAX;
                return start.clone().refuses_last_of(&trace).then(|| trace.proved_shortest(is_shortest));
            }
        }
        None
    }
}

/// The same limit with another count.
fn with_count(rule: &Rule, count: u64) -> Rule {
    match rule {
        Rule::Limit { spend, .. } => Rule::Limit { spend: spend.clone(), count },
        Rule::LimitPer { spend, refill, .. } => {
            Rule::LimitPer { spend: spend.clone(), count, refill: refill.clone() }
        }
        other => other.clone(),
    }
}
