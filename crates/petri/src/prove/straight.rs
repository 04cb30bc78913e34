//! Sessions found by counting what they take, without a search.
//!
//! [`Straight::find`] counts demands over all rules at once, as the estimate of a search does, and then lets whatever
//! is demanded happen as soon as nothing is wasted by it. Where that reaches the goal, the session is a shortest one:
//! no session has fewer labels than are demanded. Where a demand can never be met, there is no session. Both take time
//! in proportion to what is demanded, so a requirement at the end of a chain of thousands is answered at once. What
//! has several earners, tables or orders that matter is left to the search.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    dense::{At, Marks},
    rule::{Kind, Table},
    setting::{Goal, Monitor, Setting},
    structure::{System, Touch},
};

/// Most steps of spreading demands per label that is demanded.
const SPREADS_PER_LABEL_MAX: usize = 8;

/// What came out.
pub(super) enum Straightly {
    /// A shortest session, as positions of labels.
    Way(Vec<usize>),
    /// There is none, because of these rules.
    Never(Vec<usize>),
    /// Counting alone does not tell.
    Unknown,
}

/// What is asked: a goal, and where the rules stand.
pub(super) struct Asked<'a> {
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
    pub(super) met: Vec<Met>,
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
pub(super) struct Met {
    pub(super) rule: usize,
    pub(super) value: u64,
}

/// Why counting ends early.
enum Stop {
    /// The cell of this rule can never be earned; none where nothing makes the rule that watches lose.
    Never(Option<usize>),
    Unknown,
}

impl Straight {
    /// A shortest session to a goal, where counting alone finds one or rules it out.
    pub(super) fn find(&mut self, asked: &Asked<'_>, value_of: impl Fn(usize) -> u64) -> Straightly {
        match self.demand(asked, &value_of) {
            Err(Stop::Never(cell)) => Straightly::Never(self.reason(asked, cell)),
            Err(Stop::Unknown) => Straightly::Unknown,
            Ok(goal) => match self.happen(asked, goal) {
                Some(way) => Straightly::Way(way),
                None if !asked.takes_any && self.waits_for_itself(asked, &value_of) => {
                    let met = self.met.iter().map(|met| met.rule);
                    Straightly::Never(met.chain(self.earned.iter().copied()).collect())
                }
                None => Straightly::Unknown,
            },
        }
    }

    /// The rules because of which a goal is out of reach, if counting alone tells that.
    pub(super) fn never_because(
        &mut self,
        asked: &Asked<'_>,
        value_of: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        match self.demand(asked, &value_of) {
            Err(Stop::Never(cell)) => Some(self.reason(asked, cell)),
            Err(Stop::Unknown) | Ok(_) => None,
        }
    }

    /// The rules because of which a counter that watches is never used up, if counting alone tells that. The values are
    /// to be at least as good as any in which nothing of the counter is spent: see `Estimator::is_endless`.
    pub(super) fn endless_because(
        &mut self,
        asked: &Asked<'_>,
        value_of: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        let Goal::Violate(monitor) = asked.goal else { return None };
        match self.demand(asked, &value_of) {
            Err(Stop::Never(cell)) => Some(self.reason(asked, cell)),
            Err(Stop::Unknown) => None,
            Ok(_) => {
                let is_met = self.met.iter().all(|met| value_of(met.rule) > 0);
                let gained = self.gained(monitor).filter(|_| is_met)?;
                let by = self.place_of.get(gained).map(|place| self.demands.at(place)).and_then(|it| it.by);
                Some(by.map(|cell| self.reason(asked, Some(cell))).unwrap_or_default())
            }
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
        let asked = Asked { setting, goal: &goal, monitor: 0, takes_any: false };
        self.clear(&asked);
        self.raise(label, times, None);
        match self.spread_within(&asked, &value_of, most) {
            Ok(()) => Ok(Some(self.total).filter(|total| *total <= most)),
            Err(Stop::Never(_)) => Ok(None),
            Err(Stop::Unknown) => Err(()),
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
        let asked = Asked { setting, goal: &goal, monitor: 0, takes_any: false };
        self.clear(&asked);
        self.raise(label, times, None);
        self.spread(&asked, &value_of).ok()?;
        self.happen(&asked, label)
    }

    fn clear(&mut self, asked: &Asked<'_>) {
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
    fn demand(&mut self, asked: &Asked<'_>, value_of: &impl Fn(usize) -> u64) -> Result<usize, Stop> {
        self.clear(asked);
        let Asked { goal, monitor: value, .. } = asked;
        let monitor = match goal {
            Goal::Call(goals) => {
                let goal = self.earner(asked, goals.iter().copied(), 1)?.ok_or(Stop::Unknown)?;
                self.raise(goal, 1, None);
                self.spread(asked, value_of)?;
                return Ok(goal);
            }
            Goal::Violate(monitor) => *monitor,
        };
        let goals = monitor.positions(|label| monitor.cell.needs.contains(label));
        let goal = self.earner(asked, goals, 1)?.ok_or(Stop::Unknown)?;
        match monitor.cell.kind {
            Kind::Table(_) => return Err(Stop::Unknown),
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
        asked: &Asked<'_>,
        value_of: &impl Fn(usize) -> u64,
        monitor: &Monitor,
        goal: usize,
        gained: Option<usize>,
    ) -> Result<(), Stop> {
        let losers = || monitor.positions(|label| monitor.cell.loses.contains(label));
        let goal_loses = losers().any(|label| label == goal);
        match self.earner(asked, losers(), 1)? {
            Some(loser) if loser == goal => {
                self.raise(goal, 2, None);
                self.spread(asked, value_of)
            }
            Some(_) if goal_loses => Err(Stop::Unknown),
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
                Err(Stop::Never(by.and_then(|place| self.demands.at(place).by)))
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

    fn spread(&mut self, asked: &Asked<'_>, value_of: &impl Fn(usize) -> u64) -> Result<(), Stop> {
        self.spread_within(asked, value_of, u64::MAX)
    }

    /// Spreads demands to whatever earns what they need; ends early once more than `most` labels are demanded.
    fn spread_within(
        &mut self,
        asked: &Asked<'_>,
        value_of: &impl Fn(usize) -> u64,
        most: u64,
    ) -> Result<(), Stop> {
        let setting = &asked.setting;
        let mut spreads = 0;
        while let Some(place) = self.open.pop_front().filter(|_| self.total <= most) {
            let Some(demand) = self.demands.get_mut(place) else { continue };
            demand.is_open = false;
            let label = demand.label;
            spreads += 1;
            if spreads > SPREADS_PER_LABEL_MAX * self.demands.len() {
                return Err(Stop::Unknown);
            }
            for touch in setting.system.guards(label) {
                if Some(touch.rule) == setting.without {
                    continue;
                }
                if let Some(table) = setting.system.table(touch.rule) {
                    self.spread_by_table(asked, value_of, place, touch.rule, table)?;
                    continue;
                }
                if !touch.role.needs() {
                    continue;
                }
                let value = self.meet(touch.rule, value_of);
                let missing = self.missing(setting.system, touch.rule, value);
                if missing > 0 {
                    let gains = setting.system.gaining(touch.rule).iter().copied();
                    match self.earner(asked, gains, missing)? {
                        Some(earner) => self.raise(earner, missing, Some(touch.rule)),
                        None => return Err(Stop::Never(Some(touch.rule))),
                    }
                }
            }
        }
        Ok(())
    }

    /// What a table wants before a label that it refuses now: taken as often as the label, which is always enough.
    fn spread_by_table(
        &mut self,
        asked: &Asked<'_>,
        value_of: &impl Fn(usize) -> u64,
        place: usize,
        rule: usize,
        table: &Table,
    ) -> Result<(), Stop> {
        let Demand { label, calls, .. } = self.demands.at(place);
        let system = asked.setting.system;
        let letter = system.labels().get(label).and_then(|name| table.alphabet().position(*name));
        let (Some(letter), true) = (letter, asked.takes_any) else { return Err(Stop::Unknown) };
        let value = self.meet(rule, value_of);
        table.study().distance(letter, value).ok_or(Stop::Unknown)?;
        for before in table.study().before(letter, value) {
            let name = table.alphabet().iter().nth(before);
            let before = name.and_then(|name| system.position(name)).ok_or(Stop::Unknown)?;
            if asked.setting.forbidden.contains(&before) {
                return Err(Stop::Unknown);
            }
            self.raise(before, calls, Some(rule));
        }
        Ok(())
    }

    /// The label to earn something by, so many times; none if none may happen. Where there are several, counting does
    /// not tell which, unless any will do: then one that is demanded anyway, or one that the rule that watches and
    /// tables do not know.
    fn earner(
        &self,
        asked: &Asked<'_>,
        labels: impl Iterator<Item = usize>,
        times: u64,
    ) -> Result<Option<usize>, Stop> {
        let Asked { setting, .. } = asked;
        let monitor = watcher(asked.goal);
        let rank = |label: usize| {
            let is_table = |rule: usize| setting.system.table(rule).is_some();
            let name = setting.name(label, monitor);
            let is_watched = monitor.is_some_and(|monitor| monitor.cell.gains.contains(name));
            let touches = setting.system.guards(label);
            (self.calls(label) < times, is_watched, touches.iter().any(|touch| is_table(touch.rule)), label)
        };
        let mut found: Option<usize> = None;
        for label in labels.filter(|label| !setting.forbidden.contains(label)) {
            let label = setting.stand_in(label, monitor);
            found = match found {
                Some(known) if known == label => continue,
                Some(_) if !asked.takes_any => return Err(Stop::Unknown),
                Some(known) if rank(known) < rank(label) => continue,
                _ => Some(label),
            };
        }
        Ok(found)
    }

    /// Where a rule stands that guards something demanded.
    fn meet(&mut self, rule: usize, value_of: &impl Fn(usize) -> u64) -> u64 {
        if let Some(place) = self.met_of.get(rule) {
            return self.met.at(place).value;
        }
        self.met_of.set(rule, self.met.len());
        let value = value_of(rule);
        self.met.push(Met { rule, value });
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

    /// The rules that a demand rests on which can never be met.
    fn reason(&mut self, asked: &Asked<'_>, cell: Option<usize>) -> Vec<usize> {
        let mut rules: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = cell.into_iter().collect();
        let mut is_known = vec![false; self.met.len()];
        while let Some(rule) = open.pop() {
            let Some(place) = self.met_of.get(rule).filter(|place| !is_known.at(*place)) else { continue };
            is_known.put(place, true);
            rules.push(rule);
            for label in asked.setting.system.needing(rule) {
                let mut next = self.place_of.get(*label).and_then(|place| self.demands.at(place).raise);
                while let Some(raise) = next.map(|place| self.raises.at(place)) {
                    open.push(raise.by);
                    next = raise.before;
                }
            }
        }
        rules.extend_from_slice(&self.earned);
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Whether something demanded would have to happen before itself: nothing earns what it needs but what waits for it.
    fn waits_for_itself(&mut self, asked: &Asked<'_>, value_of: &impl Fn(usize) -> u64) -> bool {
        let setting = &asked.setting;
        // Each label is let happen once whatever it spends; what never becomes possible waits for itself.
        let mut unmet = vec![0_u32; self.demands.len()];
        let is_needed = |touch: &Touch| {
            touch.role.needs() && Some(touch.rule) != setting.without && value_of(touch.rule) == 0
        };
        let mut open = Vec::new();
        for (place, demand) in self.demands.iter().enumerate() {
            let needs = setting.system.guards(demand.label).iter().filter(|touch| is_needed(touch)).count();
            unmet.put(place, u32::try_from(needs).unwrap_or(u32::MAX));
            if needs == 0 {
                open.push(place);
            }
        }
        let mut done = 0;
        let mut is_earned = vec![false; self.met.len()];
        while let Some(place) = open.pop() {
            done += 1;
            for touch in setting.system.touches(self.demands.at(place).label) {
                let met = self.met_of.get(touch.rule).filter(|_| touch.role.gains());
                let Some(met) = met.filter(|met| !is_earned.at(*met) && value_of(touch.rule) == 0) else {
                    continue;
                };
                is_earned.put(met, true);
                for needing in setting.system.needing(touch.rule) {
                    let Some(place) = self.place_of.get(*needing) else { continue };
                    unmet.change(place, |count| count.saturating_sub(1));
                    if unmet.at(place) == 0 {
                        open.push(place);
                    }
                }
            }
        }
        done < self.demands.len()
    }
}

fn watcher<'a>(goal: &Goal<'a>) -> Option<&'a Monitor> {
    match goal {
        Goal::Call(_) => None,
        Goal::Violate(monitor) => Some(monitor),
    }
}
