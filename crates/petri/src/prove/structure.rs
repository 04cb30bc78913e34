//! The system itself, and what can be seen in its structure without any search.
//!
//! [`System`] holds the rules and an index from labels to the rules that know them. In linear time it gives
//! [`System::components`], [`System::cycles`] and the labels that can never happen because of what they wait
//! for. What needs a search is in the prover.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{
    dense::At,
    label::{Label, LabelSet},
    rule::{Cell, Kind, Role, Rule, Table},
};

/// Most rules of one system.
pub const RULES_MAX: usize = 1 << 18;

/// Which rule of a system: its place in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub usize);

/// Rules that hold together.
#[derive(Clone, Debug)]
pub struct System {
    rules: Vec<Rule>,
    pub(super) cells: Vec<Cell>,
    /// In ascending order; everything inside works with positions in here.
    labels: Vec<Label>,
    /// For each label where its touches begin, and one more.
    touches_from: Vec<usize>,
    touches: Vec<Touch>,
    /// The same for the touches that may refuse the label.
    guards_from: Vec<usize>,
    guards: Vec<Touch>,
    parts: Parts,
}

/// The labels that each cell speaks of, by their positions: no question has to look them up again.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// For each cell where its `needs`, its `gains` and its `loses` begin, and where they end.
    from: Vec<[usize; 4]>,
    positions: Vec<usize>,
}

impl Parts {
    fn new(cells: &[Cell], labels: &[Label]) -> Self {
        let mut parts = Self::default();
        for cell in cells {
            let mut from = [parts.positions.len(); 4];
            for (set, end) in [&cell.needs, &cell.gains, &cell.loses].into_iter().zip(1..) {
                let positions = set.iter().filter_map(|label| labels.binary_search(&label).ok());
                parts.positions.extend(positions);
                from.iter_mut().skip(end).for_each(|from| *from = parts.positions.len());
            }
            parts.from.push(from);
        }
        parts
    }

    fn part(&self, rule: usize, number: usize) -> &[usize] {
        let from = self.from.get(rule).and_then(|from| Some((*from.get(number)?, *from.get(number + 1)?)));
        from.and_then(|(from, to)| self.positions.get(from..to)).unwrap_or_default()
    }
}

/// A rule that knows a label.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touch {
    pub(super) rule: usize,
    pub(super) role: Role,
}

/// There are more than [`RULES_MAX`] rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} rules are more than the {RULES_MAX} that can be looked at together")]
pub struct TooManyRules(usize);

/// Rules and labels that have nothing to do with all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// In ascending order.
    pub rules: Vec<RuleId>,
    /// In ascending order.
    pub labels: Vec<Label>,
}

/// Requirements that wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Each label waits for the next one because of the rule beside it, the last one for the first.
    pub waits: Vec<(Label, RuleId)>,
    /// All labels that wait for each other in this knot; the waits above are a shortest way round.
    pub labels: Vec<Label>,
}

impl System {
    /// Takes rules together.
    pub fn new(rules: Vec<Rule>) -> Result<Self, TooManyRules> {
        if rules.len() > RULES_MAX {
            return Err(TooManyRules(rules.len()));
        }
        let cells: Vec<Cell> = rules.iter().map(Cell::new).collect();
        let mut known: Vec<(Label, usize)> = Vec::with_capacity(rules.len() * 3);
        for (rule, cell) in cells.iter().enumerate() {
            known.extend(cell.alphabet().iter().map(|label| (label, rule)));
        }
        known.sort_unstable();
        let (mut labels, mut touches_from, mut guards_from) = (Vec::new(), Vec::new(), Vec::new());
        let (mut touches, mut guards) = (Vec::with_capacity(known.len()), Vec::new());
        for (label, rule) in known {
            if labels.last() != Some(&label) {
                labels.push(label);
                touches_from.push(touches.len());
                guards_from.push(guards.len());
            }
            let role = cells.get(rule).map(|cell| cell.role(label)).unwrap_or_default();
            touches.push(Touch { rule, role });
            // A table says nothing by roles.
            if role.needs() || role.is_nothing() {
                guards.push(Touch { rule, role });
            }
        }
        touches_from.push(touches.len());
        guards_from.push(guards.len());
        let parts = Parts::new(&cells, &labels);
        Ok(Self { rules, cells, labels, touches_from, touches, guards_from, guards, parts })
    }

    /// The rules in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every label that some rule knows, in ascending order.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The position of a label, if some rule knows it.
    pub(super) fn position(&self, label: Label) -> Option<usize> {
        self.labels.binary_search(&label).ok()
    }

    /// The rules that know a label, in ascending order.
    pub(super) fn touches(&self, position: usize) -> &[Touch] {
        part(&self.touches_from, &self.touches, position)
    }

    /// Those of them that may refuse it: a label that thousands wait for is mostly guarded by few.
    pub(super) fn guards(&self, position: usize) -> &[Touch] {
        part(&self.guards_from, &self.guards, position)
    }

    /// How many labels a rule knows, some counted twice.
    pub(super) fn reach(&self, rule: usize) -> usize {
        match self.table(rule) {
            Some(table) => table.alphabet().len(),
            None => self.needing(rule).len() + self.gaining(rule).len() + self.losing(rule).len(),
        }
    }

    /// The positions of the labels a rule knows, some of them twice.
    pub(super) fn known(&self, rule: usize) -> impl Iterator<Item = usize> + '_ {
        let letters = self.table(rule).into_iter().flat_map(|table| self.positions(table.alphabet()));
        let parts = self.needing(rule).iter().chain(self.gaining(rule)).chain(self.losing(rule));
        letters.chain(parts.copied())
    }

    pub(super) fn positions<'a>(&'a self, labels: &'a LabelSet) -> impl Iterator<Item = usize> + 'a {
        labels.iter().filter_map(|label| self.position(label))
    }

    /// The table that a rule is, if it is one.
    pub(super) fn table(&self, rule: usize) -> Option<&Table> {
        match &self.cells.get(rule)?.kind {
            Kind::Table(table) => Some(table),
            Kind::Bit { .. } | Kind::Counter { .. } => None,
        }
    }

    /// The positions of the labels that a rule refuses while its cell is zero; none for a table.
    pub(super) fn needing(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 0)
    }

    /// The positions of the labels that make its cell higher.
    pub(super) fn gaining(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 1)
    }

    /// The positions of the labels that make its cell lower.
    pub(super) fn losing(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 2)
    }

    /// Rules and labels that have to do with each other, in the order of their first rule.
    pub fn components(&self) -> Vec<Component> {
        let mut parents: Vec<usize> = (0..self.rules.len()).collect();
        for position in 0..self.labels.len() {
            let touches = self.touches(position);
            for (one, other) in touches.iter().zip(touches.iter().skip(1)) {
                let (one, other) = (root(&mut parents, one.rule), root(&mut parents, other.rule));
                parents.put(one.max(other), one.min(other));
            }
        }
        let mut place = vec![usize::MAX; self.rules.len()];
        let mut components: Vec<Component> = Vec::new();
        for rule in 0..self.rules.len() {
            let root = root(&mut parents, rule);
            if root == rule {
                place.put(rule, components.len());
                components.push(Component { rules: Vec::new(), labels: Vec::new() });
            }
            if let Some(component) = components.get_mut(place.at(root)) {
                component.rules.push(RuleId(rule));
            }
        }
        for (position, label) in self.labels.iter().enumerate() {
            let first = self.touches(position).first().map(|touch| root(&mut parents, touch.rule));
            if let Some(component) = first.and_then(|root| components.get_mut(place.at(root))) {
                component.labels.push(*label);
            }
        }
        components
    }

    /// Requirements that wait for each other in a circle: nothing on the circle can ever happen.
    pub fn cycles(&self) -> Vec<Cycle> {
        let waiting = Waiting::new(self);
        let knots = knots(self.labels.len(), |label| waiting.waits_for(label).map(|(next, _)| next));
        let mut cycles: Vec<_> = knots.iter().filter_map(|knot| waiting.shortest_way_round(knot)).collect();
        cycles.sort_by(|one, other| one.labels.cmp(&other.labels));
        cycles
    }
}

fn part<'a>(from: &[usize], touches: &'a [Touch], position: usize) -> &'a [Touch] {
    let range = from.get(position).zip(from.get(position + 1));
    range.and_then(|(from, to)| touches.get(*from..*to)).unwrap_or_default()
}

fn root(parents: &mut [usize], mut member: usize) -> usize {
    while parents.at(member) != member {
        let parent = parents.at(member);
        parents.put(member, parents.at(parent));
        member = parent;
    }
    member
}

/// Which labels can never happen because of what they wait for, whatever else the rules do.
///
/// A label outside is not yet callable: limits and rules that forbid are not looked at.
pub(super) struct Waiting<'a> {
    system: &'a System,
    /// For each label how many of its rules wait for something that is not known to be callable.
    unmet: Vec<u32>,
    /// Of each rule that is a table: how far labels that are not dead lead.
    tables: HashMap<usize, Led<'a>, foldhash::fast::FixedState>,
    /// What each dead label waits for, once somebody has asked: many reasons go through the same labels.
    nearest: OnceLock<Vec<Option<Demand>>>,
}

/// The rule that keeps a label closed, and the labels that could open it.
type Demand = (RuleId, Vec<usize>);

/// How far some labels lead in a table.
struct Led<'a> {
    table: &'a Table,
    is_reached: Vec<bool>,
    /// For each letter whether it passes in a state that is reached.
    passes: Vec<bool>,
    /// For each letter whether it is one that leads.
    leads: Vec<bool>,
}

impl<'a> Led<'a> {
    fn new(table: &'a Table) -> Self {
        let letters = || vec![false; table.alphabet().len()];
        let is_reached = vec![false; usize::try_from(table.states()).unwrap_or_default()];
        let mut led = Self { table, is_reached, passes: letters(), leads: letters() };
        led.reach(table.start());
        led
    }

    fn reached(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(&self.is_reached).filter(|(_, is_reached)| **is_reached).map(|(state, _)| state)
    }

    fn reach(&mut self, state: u64) {
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

impl<'a> Waiting<'a> {
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
                    let led = Led::new(table);
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
