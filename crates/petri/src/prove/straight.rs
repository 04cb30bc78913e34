//! Sessions found by counting what they take, without a search.
//!
//! [`Straight::find`] counts demands over all rules at once, as the estimate of a search does, and then lets whatever
//! is demanded happen as soon as nothing is wasted by it. Where that reaches the goal, the session is a shortest one:
//! no session has fewer labels than are demanded. Where a demand can never be met, there is no session. Both take time
//! in proportion to what is demanded, so a requirement at the end of a chain of thousands is answered at once. What
//! has several earners, tables or orders that matter is left to the search.

mod reasons;
mod spread;

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    dense::{At, Marks},
    rule::Kind,
    setting::{Goal, Monitor, Setting},
    structure::{System, Touch},
};

/// Most steps of spreading demands per label that is demanded.
const SPREADS_PER_LABEL_MAX: usize = 8;

/// What came out.
pub(super) enum StraightAnswer {
    /// A shortest session, as positions of labels.
    Way(Vec<usize>),
    /// There is none, because of these rules.
    Never(Vec<usize>),
    /// Counting alone does not tell.
    Unknown,
}

/// What is asked: a goal, and where the rules stand.
pub(super) struct StraightQuestion<'a> {
    pub(super) setting: Setting<'a>,
    pub(super) goal: &'a Goal<'a>,
    /// What the rule that watches remembers.
    pub(super) monitor: u64,
    /// Whether any session will do. Then one of several earners is taken, and tables are walked as well.
    pub(super) takes_any: bool,
}

/// Memory that questions use one after another.
#[derive(Default)]
pub(super) struct Straight {
    /// The place of each label among the demands.
    pub(super) place_of: Marks,
    pub(super) demands: Vec<Demand>,
    pub(super) raises: Vec<Raise>,
    /// How many labels are demanded in all.
    pub(super) total: u64,
    /// The place of each rule among those met.
    pub(super) met_of: Marks,
    pub(super) met: Vec<MetRule>,
    /// The rules because of which the rule that watches has something to lose.
    pub(super) earned: Vec<usize>,
    pub(super) open: std::collections::VecDeque<usize>,
    pub(super) ready: BinaryHeap<Reverse<usize>>,
    /// Of each demanded label that very many rules know: those of them that guard something demanded.
    pub(super) hubs: Vec<Vec<Touch>>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Demand {
    pub(super) label: usize,
    /// How often it must happen at least.
    pub(super) calls: u64,
    /// How often it must still happen.
    pub(super) left: u64,
    /// The rule whose cell must be earned by it.
    pub(super) by: Option<usize>,
    /// The last place among the raises that was about it.
    pub(super) raise: Option<usize>,
    pub(super) is_open: bool,
    /// Its place among the hubs, if it is one.
    pub(super) hub: Option<usize>,
}

/// A rule that has raised a demand.
#[derive(Clone, Copy, Default)]
pub(super) struct Raise {
    by: usize,
    /// The raise of the same demand before this one: a reason rests on all of them.
    before: Option<usize>,
}

/// A rule that guards something demanded.
#[derive(Clone, Copy, Default)]
pub(super) struct MetRule {
    pub(super) rule: usize,
    pub(super) value: u64,
}

/// Why counting ends early.
enum EarlyEnd {
    /// The cell of this rule can never be earned; none where nothing makes the rule that watches lose.
    Never(Option<usize>),
    Unknown,
}

impl Straight {
    /// A shortest session to a goal, where counting alone finds one or rules it out.
    pub(super) fn find(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: impl Fn(usize) -> u64,
    ) -> StraightAnswer {
        match self.demand(asked, &value_of) {
            Err(EarlyEnd::Never(cell)) => StraightAnswer::Never(self.reason(asked, cell)),
            Err(EarlyEnd::Unknown) => StraightAnswer::Unknown,
            Ok(goal) => match self.happen(asked, goal) {
                Some(way) => StraightAnswer::Way(way),
                None if !asked.takes_any && self.waits_for_itself(asked, &value_of) => {
                    let met = self.met.iter().map(|met| met.rule);
                    StraightAnswer::Never(met.chain(self.earned.iter().copied()).collect())
                }
                None => StraightAnswer::Unknown,
            },
        }
    }

    /// How many labels it takes at least that a label happens so many times; none where it never does, or where that is
    /// more than `most`.
    pub(super) fn length(
        &mut self,
        setting: Setting<'_>,
        label: usize,
        times: u64,
        most: u64,
        value_of: impl Fn(usize) -> u64,
    ) -> Result<Option<u64>, ()> {
        let goal = Goal::Call(&[]);
        let asked = StraightQuestion { setting, goal: &goal, monitor: 0, takes_any: false };
        self.clear(&asked);
        self.raise(label, times, None);
        match self.spread_within(&asked, &value_of, most) {
            Ok(()) => Ok(Some(self.total).filter(|total| *total <= most)),
            Err(EarlyEnd::Never(_)) => Ok(None),
            Err(EarlyEnd::Unknown) => Err(()),
        }
    }

    /// A shortest session in which a label happens so many times, where counting alone finds one.
    pub(super) fn repeat(
        &mut self,
        setting: Setting<'_>,
        label: usize,
        times: u64,
        value_of: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        let goal = Goal::Call(&[]);
        let asked = StraightQuestion { setting, goal: &goal, monitor: 0, takes_any: false };
        self.clear(&asked);
        self.raise(label, times, None);
        self.spread(&asked, &value_of).ok()?;
        self.happen(&asked, label)
    }

    fn clear(&mut self, asked: &StraightQuestion<'_>) {
        let beyond = watcher(asked.goal).map_or(0, |monitor| monitor.labels.len());
        self.place_of.clear(asked.setting.system.labels().len() + beyond);
        self.met_of.clear(asked.setting.system.cells.len());
        self.demands.clear();
        self.raises.clear();
        self.total = 0;
        self.met.clear();
        self.earned.clear();
        self.open.clear();
        self.ready.clear();
        self.hubs.clear();
    }

    /// Counts how often each label must happen; gives the goal's.
    fn demand(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
    ) -> Result<usize, EarlyEnd> {
        self.clear(asked);
        let StraightQuestion { goal, monitor: value, .. } = asked;
        let monitor = match goal {
            Goal::Call(goals) => {
                let goal = self.earner(asked, goals.iter().copied(), 1)?.ok_or(EarlyEnd::Unknown)?;
                self.raise(goal, 1, None);
                self.spread(asked, value_of)?;
                return Ok(goal);
            }
            Goal::Violate(monitor) => *monitor,
        };
        let goals = monitor.positions(|label| monitor.cell.needs.contains(label));
        let goal = self.earner(asked, goals, 1)?.ok_or(EarlyEnd::Unknown)?;
        match monitor.cell.kind {
            Kind::Table(_) => return Err(EarlyEnd::Unknown),
            Kind::Counter { .. } => {
                self.raise(goal, value.saturating_add(1), None);
                self.spread(asked, value_of)?;
            }
            Kind::Bit { .. } => {
                self.raise(goal, 1, None);
                self.spread(asked, value_of)?;
                let gained = self.gained(monitor);
                if *value > 0 || gained.is_some() {
                    // What it has from the beginning needs no reason; what it earns on the way does.
                    let by = gained.filter(|_| *value == 0).and_then(|label| self.place_of.get(label));
                    let by = by.and_then(|place| self.demands.at(place).by);
                    let earned = by.map(|cell| self.reason(asked, Some(cell))).unwrap_or_default();
                    let lost = self.lose_first(asked, value_of, monitor, goal, gained);
                    self.earned = earned;
                    lost?;
                }
            }
        }
        Ok(goal)
    }

    /// The rule that watches has to lose what it has, or will have, before it refuses the goal.
    fn lose_first(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
        monitor: &Monitor,
        goal: usize,
        gained: Option<usize>,
    ) -> Result<(), EarlyEnd> {
        let losers = || monitor.positions(|label| monitor.cell.loses.contains(label));
        let goal_loses = losers().any(|label| label == goal);
        match self.earner(asked, losers(), 1)? {
            Some(loser) if loser == goal => {
                self.raise(goal, 2, None);
                self.spread(asked, value_of)
            }
            Some(_) if goal_loses => Err(EarlyEnd::Unknown),
            Some(loser) => {
                // Up to the last time it loses, the goal happens as often as that takes; and once more after it.
                self.clear(asked);
                self.raise(loser, 1, None);
                self.spread(asked, value_of)?;
                let before = self.calls(goal);
                self.raise(goal, before.saturating_add(1), None);
                self.spread(asked, value_of)
            }
            None => {
                let by = gained.and_then(|label| self.place_of.get(label));
                Err(EarlyEnd::Never(by.and_then(|place| self.demands.at(place).by)))
            }
        }
    }

    /// A demanded label by which the rule that watches earns.
    fn gained(&self, monitor: &Monitor) -> Option<usize> {
        let mut gains = monitor.positions(|label| monitor.cell.gains.contains(label));
        gains.find(|label| self.calls(*label) > 0)
    }

    fn calls(&self, label: usize) -> u64 {
        self.place_of.get(label).map_or(0, |place| self.demands.at(place).calls)
    }

    fn raise(&mut self, label: usize, calls: u64, by: Option<usize>) {
        let place = self.place_of.get(label).unwrap_or_else(|| {
            self.place_of.set(label, self.demands.len());
            self.demands.push(Demand { label, ..Demand::default() });
            self.demands.len() - 1
        });
        let Some(demand) = self.demands.get_mut(place).filter(|demand| demand.calls < calls) else { return };
        self.total = self.total.saturating_add(calls - demand.calls);
        (demand.calls, demand.by) = (calls, by);
        if let Some(by) = by {
            self.raises.push(Raise { by, before: demand.raise });
            demand.raise = Some(self.raises.len() - 1);
        }
        if !std::mem::replace(&mut demand.is_open, true) {
            self.open.push_back(place);
        }
    }

    /// Where a rule stands that guards something demanded.
    fn meet(&mut self, rule: usize, value_of: &impl Fn(usize) -> u64) -> u64 {
        if let Some(place) = self.met_of.get(rule) {
            return self.met.at(place).value;
        }
        self.met_of.set(rule, self.met.len());
        let value = value_of(rule);
        self.met.push(MetRule { rule, value });
        value
    }

    /// How often a cell must be earned for all that is demanded.
    fn missing(&self, system: &System, rule: usize, value: u64) -> u64 {
        let losing = system.losing(rule);
        let (mut spent, mut is_asked) = (0_u64, false);
        for label in system.needing(rule) {
            let calls = self.calls(*label);
            if calls > 0 && losing.binary_search(label).is_ok() {
                spent = spent.saturating_add(calls);
            }
            is_asked |= calls > 0;
        }
        let is_asked = is_asked && value == 0;
        spent.saturating_sub(value).max(u64::from(is_asked))
    }
}

fn watcher<'a>(goal: &Goal<'a>) -> Option<&'a Monitor> {
    match goal {
        Goal::Call(_) => None,
        Goal::Violate(monitor) => Some(monitor),
    }
}
