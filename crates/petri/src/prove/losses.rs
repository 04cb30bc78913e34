//! What can be lost for all labels at once: by using something up that never comes back.
//!
//! Some cells can never be earned again: a limit for the whole session, or what something forbids for good. Let all
//! others be as bad as they can ever be. What is possible even then, with a single unit left in each of those cells,
//! is lost only after one of them was used up, and only one that it rests on. So the shortest session that uses up the
//! nearest of them is the shortest that loses it, if it does lose it; and where there is no such cell, nothing is ever
//! lost. Where none of this tells, [`Losses::find`] says so, and every state has to be looked at.

use std::{collections::VecDeque, sync::OnceLock};

use super::{
    dense::At,
    label::Label,
    rule::{Cell, Kind},
    scratch::Scratch,
    setting::Setting,
    state::{Session, State},
    structure::System,
    tour::tour,
    waiting::WaitGraph,
};

/// Nothing has to be used up, because nothing can be.
const NEVER: u64 = u64::MAX;

/// Most labels that are tried to use something up by.
const LABELS_TRIED_MAX: usize = 8;

/// The system of which losses are found.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) setting: Setting<'a>,
    pub(super) waiting: &'a WaitGraph<'a>,
}

/// What was found out.
pub(super) enum Loss {
    /// It stays possible.
    None,
    /// This is a shortest session after which it never happens again.
    After(Vec<Label>),
    /// Every state has to be looked at.
    Unknown,
}

pub(super) struct Losses {
    /// The labels that stay possible while nothing is used up for good that they rest on.
    is_fine: Vec<bool>,
    /// For each label what it rests on that is used up soonest.
    nearest: Vec<Nearest>,
    /// For each cell the sessions that use it up.
    ends: Vec<OnceLock<Vec<Ending>>>,
}

/// How many labels it takes at least to use something up, and the rule whose cell it is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Nearest {
    least: u64,
    /// Whether it may take more; among equals, what is known to the letter comes first.
    is_vague: bool,
    rule: usize,
}

const NOWHERE: Nearest = Nearest { least: NEVER, is_vague: true, rule: usize::MAX };

/// Beside tables nothing is known.
const ANYWHERE: Nearest = Nearest { least: 0, is_vague: true, rule: usize::MAX };

/// A session that uses something up.
struct Ending {
    labels: Vec<usize>,
    /// Which labels can never happen after it.
    is_dead: Vec<bool>,
}

impl Losses {
    pub(super) fn new(ground: Ground<'_>) -> Self {
        let system = ground.setting.system;
        let is_lost = |rule: usize| system.losing(rule).iter().any(|label| !ground.waiting.is_dead(*label));
        let worst = |rule: usize, cell: &Cell| match &cell.kind {
            Kind::Table(table) => table.study().worst(),
            _ if is_lasting(cell) => Some(cell.start().min(1)),
            _ => Some(if is_lost(rule) { 0 } else { cell.start() }),
        };
        let tour = tour(system, worst);
        let mut losses = Self {
            is_fine: tour.is_possible,
            nearest: vec![NOWHERE; system.labels().len()],
            ends: std::iter::repeat_with(OnceLock::new).take(system.cells.len()).collect(),
        };
        losses.find_nearest(ground, tour.order);
        losses
    }

    /// Goes through the labels, those first that others wait for, until nothing comes nearer.
    fn find_nearest(&mut self, ground: Ground<'_>, order: Vec<usize>) {
        let system = ground.setting.system;
        let mut scratch = Scratch::default();
        let mut by_rule = vec![NOWHERE; system.cells.len()];
        let mut tried = vec![0_u64; system.cells.len()];
        let others = (0..self.is_fine.len()).filter(|label| !self.is_fine.at(*label));
        let mut open: VecDeque<usize> = order.into_iter().chain(others).collect();
        let mut is_open = vec![true; self.is_fine.len()];
        while let Some(label) = open.pop_front() {
            is_open.put(label, false);
            let mut nearest = if is_by_table(system, label) { ANYWHERE } else { self.nearest.at(label) };
            for touch in system.guards(label).iter().filter(|touch| touch.role.needs()) {
                let earned = system.gaining(touch.rule).iter().map(|gain| self.nearest.at(*gain)).min();
                nearest = earned.map_or(nearest, |earned| nearest.min(earned));
            }
            for touch in system.guards(label).iter().filter(|touch| touch.role.needs()) {
                let is_lasting = system.cells.get(touch.rule).is_some_and(is_lasting);
                // A bound that is not below the best one found changes nothing.
                if is_lasting && tried.at(touch.rule) < nearest.least {
                    tried.put(touch.rule, nearest.least);
                    by_rule.put(touch.rule, ending(ground, touch.rule, nearest.least, &mut scratch));
                }
                nearest = nearest.min(by_rule.at(touch.rule));
            }
            if nearest < self.nearest.at(label) {
                self.nearest.put(label, nearest);
                for touch in system.touches(label).iter().filter(|touch| touch.role.gains()) {
                    for needing in system.needing(touch.rule) {
                        if !is_open.at(*needing) {
                            is_open.put(*needing, true);
                            open.push_back(*needing);
                        }
                    }
                }
            }
        }
    }

    /// Whether some labels can all be lost, and how soon.
    pub(super) fn find(&self, ground: Ground<'_>, goals: &[usize]) -> Loss {
        let mut fine = goals.iter().copied().filter(|label| self.is_fine.at(*label)).peekable();
        if fine.peek().is_none() {
            return Loss::Unknown;
        }
        // All of them have to be lost, so it takes as much as for the one that lasts longest.
        let nearest = fine.map(|goal| self.nearest_before(ground, goals, goal)).max().unwrap_or(NOWHERE);
        if nearest.least == NEVER {
            return Loss::None;
        }
        if nearest.is_vague {
            return Loss::Unknown;
        }
        let endings =
            self.ends.get(nearest.rule).map(|ends| ends.get_or_init(|| endings(ground, nearest.rule)));
        let loses = |ending: &&Ending| {
            ending.labels.len() as u64 == nearest.least
                && goals.iter().all(|goal| ending.is_dead.at(*goal) && !ending.labels.contains(goal))
        };
        match endings.and_then(|endings| endings.iter().find(loses)) {
            Some(ending) => {
                let name = |label: &usize| system_label(ground.setting.system, *label);
                Loss::After(ending.labels.iter().map(name).collect())
            }
            None => Loss::Unknown,
        }
    }

    /// What a goal rests on that is used up soonest before any goal happens.
    fn nearest_before(&self, ground: Ground<'_>, goals: &[usize], goal: usize) -> Nearest {
        let system = ground.setting.system;
        if is_by_table(system, goal) {
            return ANYWHERE;
        }
        let touches = system.guards(goal).iter().filter(|touch| touch.role.needs());
        let by_rule = touches.map(|touch| {
            let is_lasting = system.cells.get(touch.rule).is_some_and(is_lasting);
            let earned = system.gaining(touch.rule).iter().map(|gain| self.nearest.at(*gain)).min();
            let is_spent = system.losing(touch.rule).iter().any(|label| !goals.contains(label));
            // What only the goals themselves use up is there until one of them happens. What others use up as well is
            // used up no sooner than what is nearest to the goal.
            let own = if is_lasting && is_spent { self.nearest.at(goal) } else { NOWHERE };
            earned.unwrap_or(NOWHERE).min(own)
        });
        by_rule.min().unwrap_or(NOWHERE)
    }
}

/// Whether a table knows a label.
fn is_by_table(system: &System, label: usize) -> bool {
    let mut touches = system.guards(label).iter();
    touches.any(|touch| system.cells.get(touch.rule).is_some_and(Cell::is_table))
}

fn system_label(system: &System, position: usize) -> Label {
    system.labels().get(position).copied().unwrap_or_default()
}

/// Whether a cell can be used up and never earned again.
fn is_lasting(cell: &Cell) -> bool {
    !cell.is_table() && cell.gains.is_empty() && !cell.loses.is_empty() && cell.start() > 0
}

fn start_of(system: &System) -> impl Fn(usize) -> u64 {
    |rule| system.cells.get(rule).map_or(0, Cell::start)
}

/// The different labels by which a cell is used up, and how often one has to happen; none where several share in that.
fn spending(ground: Ground<'_>, rule: usize) -> Option<(Vec<usize>, u64)> {
    let system = ground.setting.system;
    let setting = ground.setting;
    let alive = system.losing(rule).iter().filter(|label| !ground.waiting.is_dead(**label));
    let mut labels: Vec<usize> = alive.map(|label| setting.stand_in(*label, None)).collect();
    labels.sort_unstable();
    labels.dedup();
    let times = system.cells.get(rule).map_or(0, Cell::start);
    (labels.len() <= if times == 1 { LABELS_TRIED_MAX } else { 1 }).then_some((labels, times))
}

/// How soon a cell is used up; nothing is said beyond `below`.
fn ending(ground: Ground<'_>, rule: usize, below: u64, scratch: &mut Scratch) -> Nearest {
    let times = ground.setting.system.cells.get(rule).map_or(0, Cell::start);
    // It takes at least as many labels as there is to use up, whichever they are.
    if times >= below {
        return NOWHERE;
    }
    let unknown = Nearest { least: times, is_vague: true, rule };
    let Some((labels, times)) = spending(ground, rule) else { return unknown };
    let mut least = NEVER;
    for label in labels {
        let most = least.min(below).saturating_sub(1);
        let start = start_of(ground.setting.system);
        match scratch.straight.length(ground.setting, label, times, most, start) {
            Ok(length) => least = length.unwrap_or(least).min(least),
            Err(_) => return unknown,
        }
    }
    if least == NEVER { NOWHERE } else { Nearest { least, is_vague: false, rule } }
}

/// The sessions that use a cell up: as it is done best, and then so that nothing is earned by it.
fn endings(ground: Ground<'_>, rule: usize) -> Vec<Ending> {
    let (system, setting) = (ground.setting.system, ground.setting);
    let Some((labels, times)) = spending(ground, rule) else { return Vec::new() };
    let mut scratch = Scratch::default();
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for label in labels {
        let Some(way) = scratch.straight.repeat(setting, label, times, start_of(system)) else { continue };
        let others = system.losing(rule).iter().filter(|other| setting.stand_in(**other, None) == label);
        let gains = |label: &usize| system.touches(*label).iter().filter(|touch| touch.role.gains()).count();
        let idle = others.copied().min_by_key(gains).unwrap_or(label);
        let instead = |other: &usize| if *other == label { idle } else { *other };
        ways.push(way.clone());
        if idle != label {
            ways.push(way.iter().map(instead).collect());
        }
    }
    ways.sort_by_key(Vec::len);
    let ending = |labels: Vec<usize>| {
        let names: Vec<Label> = labels.iter().map(|label| system_label(system, *label)).collect();
        let mut session = Session::new(system, None);
        session.walk(&names).ok()?;
        Some(Ending { is_dead: dead_after(system, &session.state), labels })
    };
    ways.into_iter().filter_map(ending).collect()
}

/// Which labels can never happen from where a session stands.
fn dead_after(system: &System, state: &State) -> Vec<bool> {
    let values: Vec<u64> = (0..system.cells.len()).map(|rule| state.value(system, rule)).collect();
    Closed::new(system, values, None, &[]).unmet.into_iter().map(|count| count > 0).collect()
}

/// Which labels can never happen from where the rules stand, because nothing that could happen earns what they need.
/// Tables and limits are not looked at, so others may be closed as well.
pub(super) struct Closed<'a> {
    system: &'a System,
    values: Vec<u64>,
    without: Option<usize>,
    /// For each label how many rules want something that never happens.
    unmet: Vec<usize>,
}

impl<'a> Closed<'a> {
    /// Of rules that stand at these values, one of them left out, with labels that must not happen.
    pub(super) fn new(
        system: &'a System,
        values: Vec<u64>,
        without: Option<usize>,
        forbidden: &[usize],
    ) -> Self {
        let n_labels = system.labels().len();
        let mut closed = Self { system, values, without, unmet: Vec::new() };
        closed.unmet = (0..n_labels).map(|label| closed.wants(label).count()).collect();
        forbidden.iter().for_each(|label| closed.unmet.put(*label, usize::MAX));
        let mut is_earned = vec![false; system.cells.len()];
        let mut open: Vec<usize> = (0..n_labels).filter(|label| closed.unmet.at(*label) == 0).collect();
        while let Some(label) = open.pop() {
            for touch in system.touches(label).iter().filter(|touch| touch.role.gains()) {
                if closed.is_missing(touch.rule) && !is_earned.at(touch.rule) {
                    is_earned.put(touch.rule, true);
                    for needing in system.needing(touch.rule) {
                        closed.unmet.change(*needing, |count| {
                            if count == usize::MAX { count } else { count.saturating_sub(1) }
                        });
                        if closed.unmet.at(*needing) == 0 {
                            open.push(*needing);
                        }
                    }
                }
            }
        }
        closed
    }

    fn is_missing(&self, rule: usize) -> bool {
        self.values.at(rule) == 0 && Some(rule) != self.without
    }

    /// The rules that refuse a label now.
    fn wants(&self, label: usize) -> impl Iterator<Item = usize> + '_ {
        let touches = self.system.guards(label).iter();
        touches.filter(|touch| touch.role.needs() && self.is_missing(touch.rule)).map(|touch| touch.rule)
    }

    /// The rules that together keep all of some labels closed; none where one of them may happen.
    pub(super) fn because(&self, labels: &[usize]) -> Option<Vec<usize>> {
        if labels.iter().any(|label| self.unmet.at(*label) == 0) {
            return None;
        }
        let mut seen = vec![false; self.unmet.len()];
        labels.iter().for_each(|label| seen.put(*label, true));
        let (mut rules, mut open) = (Vec::new(), labels.to_vec());
        while let Some(label) = open.pop() {
            let is_closed =
                |rule: &usize| self.system.gaining(*rule).iter().all(|gain| self.unmet.at(*gain) > 0);
            let Some(rule) = self.wants(label).find(is_closed) else { continue };
            rules.push(rule);
            for gain in self.system.gaining(rule) {
                if !seen.at(*gain) {
                    seen.put(*gain, true);
                    open.push(*gain);
                }
            }
        }
        rules.sort_unstable();
        rules.dedup();
        Some(rules)
    }
}
