//! Which labels can never happen because of what they wait for, and the circles in which they wait for each other.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{
    dense::At,
    label::Label,
    rule::{Kind, Table},
    structure::{RuleId, System},
};

/// Requirements that wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Each label waits for the next one because of the rule beside it, the last one for the first.
    pub waits: Vec<(Label, RuleId)>,
    /// All labels that wait for each other in this knot; the waits above are a shortest way round.
    pub labels: Vec<Label>,
}

impl System {
    /// Requirements that wait for each other in a circle: nothing on the circle can ever happen.
    pub fn cycles(&self) -> Vec<Cycle> {
        let waiting = WaitGraph::new(self);
        let knots = knots(self.labels.len(), |label| waiting.waits_for(label).map(|(next, _)| next));
        let mut cycles: Vec<_> = knots.iter().filter_map(|knot| waiting.shortest_way_round(knot)).collect();
        cycles.sort_by(|one, other| one.labels.cmp(&other.labels));
        cycles
    }
}

/// Which labels can never happen because of what they wait for, whatever else the rules do.
///
/// A label outside is not yet callable: limits and rules that forbid are not looked at.
pub(super) struct WaitGraph<'a> {
    system: &'a System,
    /// For each label how many of its rules wait for something that is not known to be callable.
    unmet: Vec<u32>,
    /// Of each rule that is a table: how far labels that are not dead lead.
    tables: HashMap<usize, TableReach<'a>, foldhash::fast::FixedState>,
    /// What each dead label waits for, once it was asked for: many reasons go through the same labels.
    nearest: OnceLock<Vec<Option<WaitReason>>>,
}

impl<'a> WaitGraph<'a> {
    pub(super) fn new(system: &'a System) -> Self {
        let mut unmet: Vec<u32> = vec![0; system.labels.len()];
        let mut is_met = vec![false; system.cells.len()];
        let mut tables: HashMap<_, _, _> = HashMap::default();
        for (rule, cell) in system.cells.iter().enumerate() {
            match &cell.kind {
                Kind::Bit { start: false } => {
                    for label in system.positions(&cell.needs) {
                        unmet.change(label, |count| count + 1);
                    }
                }
                Kind::Table(table) => {
                    let led = TableReach::new(table);
                    for (letter, label) in table.alphabet().iter().enumerate() {
                        let label = system.position(label).unwrap_or(usize::MAX);
                        unmet.change(label, |count| count + u32::from(!led.passes.at(letter)));
                    }
                    tables.insert(rule, led);
                }
                Kind::Bit { start: true } | Kind::Counter { .. } => is_met.put(rule, true),
            }
        }
        let mut open: Vec<usize> = (0..unmet.len()).filter(|label| unmet.at(*label) == 0).collect();
        let meet = |needing: usize, unmet: &mut Vec<u32>, open: &mut Vec<usize>| {
            unmet.change(needing, |count| count.saturating_sub(1));
            if unmet.at(needing) == 0 {
                open.push(needing);
            }
        };
        while let Some(label) = open.pop() {
            for touch in system.touches(label) {
                if let Some(led) = tables.get_mut(&touch.rule) {
                    let name = system.labels.get(label).copied().unwrap_or_default();
                    for letter in led.lead(name) {
                        let passing = led.table.alphabet().iter().nth(letter);
                        let passing = passing.and_then(|label| system.position(label));
                        passing.into_iter().for_each(|label| meet(label, &mut unmet, &mut open));
                    }
                    continue;
                }
                if !touch.role.gains() || is_met.at(touch.rule) {
                    continue;
                }
                is_met.put(touch.rule, true);
                let needs = system.cells.get(touch.rule).map(|cell| &cell.needs);
                for needing in needs.into_iter().flat_map(|needs| system.positions(needs)) {
                    meet(needing, &mut unmet, &mut open);
                }
            }
        }
        Self { system, unmet, tables, nearest: OnceLock::new() }
    }

    pub(super) fn is_dead(&self, position: usize) -> bool {
        self.unmet.at(position) > 0
    }

    /// The rules that together keep dead labels from ever happening.
    pub(super) fn why_dead(&self, positions: &[usize]) -> Vec<RuleId> {
        let nearest =
            self.nearest.get_or_init(|| (0..self.unmet.len()).map(|it| self.obstacle(it)).collect());
        let mut seen = vec![false; self.unmet.len()];
        positions.iter().for_each(|label| seen.put(*label, true));
        let (mut rules, mut open) = (Vec::new(), positions.to_vec());
        while let Some(label) = open.pop() {
            let Some((rule, nexts)) = nearest.get(label).and_then(Option::as_ref) else { continue };
            rules.push(*rule);
            for next in nexts {
                if !seen.at(*next) {
                    seen.put(*next, true);
                    open.push(*next);
                }
            }
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// A rule that a dead label will never satisfy, and the dead labels that would satisfy it; one that
    /// waits for as little as possible.
    fn obstacle(&self, label: usize) -> Option<(RuleId, Vec<usize>)> {
        self.obstacles(label).min_by_key(|(_, nexts)| nexts.len())
    }

    fn obstacles(&self, label: usize) -> impl Iterator<Item = (RuleId, Vec<usize>)> + '_ {
        let system = self.system;
        let touches = if self.is_dead(label) { system.touches(label) } else { &[] };
        touches.iter().filter_map(move |touch| {
            let cell = system.cells.get(touch.rule)?;
            let nexts: Vec<usize> = match &cell.kind {
                Kind::Bit { start: false } if touch.role.needs() => system.gaining(touch.rule).to_vec(),
                Kind::Bit { .. } | Kind::Counter { .. } => return None,
                Kind::Table(_) => {
                    let led = self.tables.get(&touch.rule)?;
                    let name = system.labels.get(label).copied()?;
                    if led.lets_pass(name) {
                        return None;
                    }
                    led.further().filter_map(|label| system.position(label)).collect()
                }
            };
            nexts.iter().all(|next| self.is_dead(*next)).then_some((RuleId(touch.rule), nexts))
        })
    }

    /// The dead labels that a dead label waits for, each with the rule that makes it wait.
    fn waits_for(&self, label: usize) -> impl Iterator<Item = (usize, RuleId)> + '_ {
        self.obstacles(label).flat_map(|(rule, nexts)| nexts.into_iter().map(move |next| (next, rule)))
    }

    fn shortest_way_round(&self, knot: &[usize]) -> Option<Cycle> {
        let start = *knot.first()?;
        let mut found: HashMap<usize, (usize, RuleId), foldhash::fast::FixedState> = HashMap::default();
        let mut order = vec![start];
        let mut next = 0;
        while !found.contains_key(&start) {
            let label = *order.get(next)?;
            next += 1;
            for (wanted, rule) in
                self.waits_for(label).filter(|(wanted, _)| knot.binary_search(wanted).is_ok())
            {
                if !found.contains_key(&wanted) {
                    found.insert(wanted, (label, rule));
                    order.push(wanted);
                }
            }
        }
        let mut waits = Vec::new();
        let mut label = start;
        loop {
            let (before, rule) = *found.get(&label)?;
            waits.push((*self.system.labels.get(before)?, rule));
            label = before;
            if label == start {
                break;
            }
        }
        waits.reverse();
        let labels = knot.iter().filter_map(|label| self.system.labels.get(*label)).copied().collect();
        Some(Cycle { waits, labels })
    }
}

/// The rule that keeps a label closed, and the labels that could open it.
type WaitReason = (RuleId, Vec<usize>);

/// How far some labels lead in a table.
struct TableReach<'a> {
    table: &'a Table,
    is_reached: Vec<bool>,
    /// For each letter whether it passes in a state that is reached.
    passes: Vec<bool>,
    /// For each letter whether it is one that leads.
    leads: Vec<bool>,
}

impl<'a> TableReach<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        let letters = || vec![false; table.alphabet().len()];
        let is_reached = vec![false; usize::try_from(table.states()).unwrap_or_default()];
        let mut led = Self { table, is_reached, passes: letters(), leads: letters() };
        led.reach(table.start());
        led
    }

    fn reached(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(&self.is_reached).filter(|(_, is_reached)| **is_reached).map(|(state, _)| state)
    }

    pub(super) fn reach(&mut self, state: u64) {
        let mut open = vec![state];
        while let Some(state) = open.pop() {
            if self.is_reached.at(state as usize) {
                continue;
            }
            self.is_reached.put(state as usize, true);
            for letter in 0..self.passes.len() {
                if let Some(next) = self.table.next(state, letter) {
                    self.passes.put(letter, true);
                    open.extend(self.leads.at(letter).then_some(next));
                }
            }
        }
    }

    /// Lets a further label lead; gives the letters that pass only now.
    fn lead(&mut self, label: Label) -> Vec<usize> {
        let Some(letter) = self.table.alphabet().position(label) else { return Vec::new() };
        self.leads.put(letter, true);
        let before = self.passes.clone();
        let nexts: Vec<u64> = self.reached().filter_map(|state| self.table.next(state, letter)).collect();
        nexts.into_iter().for_each(|next| self.reach(next));
        (0..before.len()).filter(|letter| self.passes.at(*letter) && !before.at(*letter)).collect()
    }

    /// The labels that would lead further.
    fn further(&self) -> impl Iterator<Item = Label> + '_ {
        let leads_further = |letter: usize| {
            let mut nexts = self.reached().filter_map(|state| self.table.next(state, letter));
            nexts.any(|next| !self.is_reached.at(next as usize))
        };
        let letters = self.table.alphabet().iter().enumerate();
        letters.filter(move |(letter, _)| leads_further(*letter)).map(|(_, label)| label)
    }

    fn lets_pass(&self, label: Label) -> bool {
        self.table.alphabet().position(label).is_none_or(|letter| self.passes.at(letter))
    }
}

/// The sets of nodes that reach each other (Tarjan), those that reach only themselves by no edge left out;
/// each in ascending order.
fn knots<I: Iterator<Item = usize>>(nodes: usize, edges: impl Fn(usize) -> I) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let (mut index, mut low) = (vec![UNSEEN; nodes], vec![0_usize; nodes]);
    let mut is_open = vec![false; nodes];
    let (mut stack, mut knots, mut count) = (Vec::new(), Vec::new(), 0);
    for start in 0..nodes {
        if index.at(start) != UNSEEN {
            continue;
        }
        let mut path: Vec<(usize, I, bool)> = Vec::new();
        let mut enter = Some(start);
        loop {
            if let Some(node) = enter.take() {
                index.put(node, count);
                low.put(node, count);
                count += 1;
                stack.push(node);
                is_open.put(node, true);
                path.push((node, edges(node), false));
            }
            let Some((node, nexts, is_loop)) = path.last_mut() else { break };
            let node = *node;
            if let Some(next) = nexts.next() {
                *is_loop |= next == node;
                if index.at(next) == UNSEEN {
                    enter = Some(next);
                } else if is_open.at(next) {
                    low.change(node, |low| low.min(index.at(next)));
                }
                continue;
            }
            let is_loop = *is_loop;
            path.pop();
            if let Some((before, ..)) = path.last() {
                let lowest = low.at(node);
                low.change(*before, |low| low.min(lowest));
            }
            if low.at(node) == index.at(node) {
                let from = stack.iter().rposition(|open| *open == node).unwrap_or(stack.len());
                let mut knot = stack.split_off(from);
                knot.iter().for_each(|member| is_open.put(*member, false));
                if knot.len() > 1 || is_loop {
                    knot.sort_unstable();
                    knots.push(knot);
                }
            }
        }
    }
    knots
}
