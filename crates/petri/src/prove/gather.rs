//! Gathers the labels and cells that matter for one question.
//!
//! Only labels that lead somewhere are in a problem: the goal's own, and what earns something for a label already in.

use smallvec::smallvec;

use super::{
    dense::{At, Marks},
    label::{Label, LabelSet},
    problem::{List, LocalCell, LocalMonitor, Op, Place, Problem, Words},
    rule::{Cell, Kind, Role},
    setting::{Goal, Monitor, Setting},
};

/// Which rules a problem takes into account.
#[derive(Clone, Copy)]
pub(super) enum Rules<'a> {
    These(&'a [usize]),
    /// All of the system that matter.
    All,
}

/// Memory that gatherings use one after another.
#[derive(Default)]
pub(super) struct GatheringMarks {
    labels: Marks,
    rules: Marks,
}

impl Problem {
    /// The problem of reaching a goal under some of the rules.
    pub(super) fn new(
        setting: Setting<'_>,
        goal: &Goal<'_>,
        rules: Rules<'_>,
        marks: &mut GatheringMarks,
    ) -> Self {
        let monitor = match goal {
            Goal::Call(_) => None,
            Goal::Violate(monitor) => Some(*monitor),
        };
        let mut gathering = Gathering::new(setting, monitor, rules, marks);
        match goal {
            Goal::Call(labels) => labels.iter().for_each(|label| gathering.add(*label)),
            Goal::Violate(monitor) => {
                let cell = &monitor.cell;
                monitor.positions(|label| cell.needs.contains(label)).for_each(|label| gathering.add(label));
                monitor.positions(|label| cell.loses.contains(label)).for_each(|label| gathering.add(label));
                if cell.is_table() {
                    monitor.positions(|_| true).for_each(|label| gathering.add(label));
                }
            }
        }
        gathering.close();
        let is_goal = |label: usize| match goal {
            Goal::Call(labels) => {
                labels.iter().any(|goal| label == *goal || setting.stand_in(*goal, None) == label)
            }
            Goal::Violate(monitor) => {
                monitor.cell.is_table() || monitor.cell.needs.contains(setting.name(label, Some(monitor)))
            }
        };
        gathering.finish(is_goal)
    }

    /// The problem of everything that can happen to some rules.
    ///
    /// Counters above `counted_max` refuse nothing: after [`SOFT_COUNT`] they may hold anything.
    pub(super) fn of_all_labels(
        setting: Setting<'_>,
        rules: &[usize],
        counted_max: u64,
        marks: &mut GatheringMarks,
    ) -> Self {
        let mut gathering = Gathering::new(setting, None, Rules::These(rules), marks);
        gathering.takes_stand_ins = false;
        gathering.counted_max = counted_max;
        for rule in rules {
            let alphabet = setting.system.cells.get(*rule).map(Cell::alphabet).unwrap_or_default();
            setting.system.positions(&alphabet).for_each(|label| gathering.add(label));
        }
        gathering.labels.sort_unstable();
        for (local, label) in gathering.labels.iter().enumerate() {
            gathering.marks.labels.set(*label, local);
        }
        gathering.finish(|_| false)
    }
}

/// The rules that guard what leads to some labels, in ascending order; of more than `rules_max`, some.
pub(super) fn cone(
    setting: Setting<'_>,
    goals: &[usize],
    rules_max: usize,
    marks: &mut GatheringMarks,
) -> Vec<usize> {
    let mut gathering = Gathering::new(setting, None, Rules::All, marks);
    gathering.rules_max = rules_max;
    goals.iter().for_each(|label| gathering.add(*label));
    gathering.close();
    let mut rules = gathering.guards;
    rules.sort_unstable();
    rules
}

/// Gathers labels and cells of a problem.
struct Gathering<'a> {
    setting: Setting<'a>,
    monitor: Option<&'a Monitor>,
    marks: &'a mut GatheringMarks,
    labels: Vec<usize>,
    rules: Rules<'a>,
    /// The rules that guard a label, in the order they were met.
    guards: Vec<usize>,
    takes_stand_ins: bool,
    counted_max: u64,
    /// It ends once there are more guards than this.
    rules_max: usize,
    next: usize,
}

/// What [`GatheringMarks`] says of a rule: it is in the problem; it guards a label of it.
const TAKEN: usize = 0;
const GUARDS: usize = 1;

impl<'a> Gathering<'a> {
    fn new(
        setting: Setting<'a>,
        monitor: Option<&'a Monitor>,
        rules: Rules<'a>,
        marks: &'a mut GatheringMarks,
    ) -> Self {
        let beyond = monitor.map_or(0, |monitor| monitor.labels.len());
        marks.labels.clear(setting.system.labels().len() + beyond);
        marks.rules.clear(setting.system.cells.len());
        if let Rules::These(rules) = rules {
            rules.iter().for_each(|rule| marks.rules.set(*rule, TAKEN));
        }
        let (labels, guards) = (Vec::new(), Vec::new());
        let (takes_stand_ins, counted_max, rules_max, next) = (true, u64::MAX, usize::MAX, 0);
        Self { setting, monitor, marks, labels, rules, guards, takes_stand_ins, counted_max, rules_max, next }
    }

    fn add(&mut self, label: usize) {
        let label = if self.takes_stand_ins { self.setting.stand_in(label, self.monitor) } else { label };
        if self.marks.labels.get(label).is_none() && !self.setting.forbidden.contains(&label) {
            self.marks.labels.set(label, self.labels.len());
            self.labels.push(label);
        }
    }

    /// Takes in whatever earns something for a label that is in already.
    fn close(&mut self) {
        let system = self.setting.system;
        while let Some(label) = self.labels.get(self.next).copied() {
            if self.guards.len() > self.rules_max {
                return;
            }
            self.next += 1;
            for touch in system.guards(label) {
                let is_new = match self.rules {
                    Rules::All => self.marks.rules.get(touch.rule).is_none(),
                    Rules::These(_) => self.marks.rules.get(touch.rule) == Some(TAKEN),
                };
                if !is_new || Some(touch.rule) == self.setting.without {
                    continue;
                }
                let Some(cell) = system.cells.get(touch.rule) else { continue };
                let Kind::Table(table) = &cell.kind else {
                    if touch.role.needs() {
                        self.marks.rules.set(touch.rule, GUARDS);
                        self.guards.push(touch.rule);
                        system.gaining(touch.rule).iter().for_each(|gain| self.add(*gain));
                    }
                    continue;
                };
                let name = system.labels().get(label).copied().unwrap_or_default();
                if table.letter(name).is_some_and(|letter| letter.is_refused) {
                    self.marks.rules.set(touch.rule, GUARDS);
                    self.guards.push(touch.rule);
                    let changes = |label: &Label| table.letter(*label).is_some_and(|letter| letter.changes);
                    let changing: LabelSet = cell.alphabet().iter().filter(changes).collect();
                    system.positions(&changing).for_each(|label| self.add(label));
                }
            }
        }
    }

    fn finish(self, is_goal: impl Fn(usize) -> bool) -> Problem {
        let system = self.setting.system;
        let mut rules = match self.rules {
            Rules::These(rules) if !self.takes_stand_ins => rules.to_vec(),
            Rules::These(_) | Rules::All => self.guards.clone(),
        };
        rules.sort_unstable();
        let cells = || rules.iter().filter_map(|rule| Some((*rule, system.cells.get(*rule)?)));
        let mut layout = Layout::new(cells().map(|(_, cell)| &cell.kind));
        let Layout { counter: bits, table: counters, end: tables, .. } = layout;

        let mut ops = self.bare_ops(bits, is_goal);
        let mut local_cells = Vec::with_capacity(rules.len());
        for (index, (rule, cell)) in cells().enumerate() {
            local_cells.push(self.local_cell(index, rule, cell, &mut layout, &mut ops));
        }

        let monitor = self.monitor.map(|monitor| {
            let locals = |wanted: fn(Role) -> bool| -> List {
                let ops = ops.iter().enumerate();
                ops.filter(|(_, op)| wanted(op.monitor)).map(|(label, _)| label).collect()
            };
            let (kind, distances) = (monitor.cell.kind.clone(), monitor.distances.clone());
            LocalMonitor { kind, gains: locals(Role::gains), loses: locals(Role::loses), distances }
        });
        let goals = ops.iter().enumerate().filter(|(_, op)| op.is_goal).map(|(label, _)| label).collect();
        let width = tables + usize::from(monitor.is_some());
        let (labels, cells) = (self.labels, local_cells);
        let table = |cell: &LocalCell| match &cell.place {
            Place::Table { table, .. } => Some(table.clone()),
            Place::Bit { .. } | Place::Counter { .. } => None,
        };
        let studied = cells.iter().filter_map(table).collect();
        let mut problem =
            Problem { labels, cells, ops, bits, counters, tables, width, goals, monitor, studied };
        problem.find_commits();
        problem
    }

    /// The labels' part in the monitor and the goal; of the cells nothing yet.
    fn bare_ops(&self, bits: usize, is_goal: impl Fn(usize) -> bool) -> Vec<Op> {
        let words: Words = smallvec![0; bits];
        let watching = self.monitor.filter(|monitor| monitor.cell.is_table());
        let alphabet = watching.map(|monitor| monitor.cell.alphabet()).unwrap_or_default();
        let op = |label: &usize| {
            let name = self.setting.name(*label, self.monitor);
            Op {
                need: words.clone(),
                clear: words.clone(),
                set: words.clone(),
                monitor: self.monitor.map(|monitor| monitor.cell.role(name)).unwrap_or_default(),
                letter: alphabet.position(name),
                is_goal: is_goal(*label),
                ..Op::default()
            }
        };
        self.labels.iter().map(op).collect()
    }

    /// Gives a cell its place, and the labels their part in it.
    fn local_cell(
        &self,
        index: usize,
        rule: usize,
        cell: &Cell,
        layout: &mut Layout,
        ops: &mut [Op],
    ) -> LocalCell {
        let system = self.setting.system;
        let locals = |set: &LabelSet| -> List {
            system.positions(set).filter_map(|label| self.marks.labels.get(label)).collect()
        };
        let (needs, gains, loses) = (locals(&cell.needs), locals(&cell.gains), locals(&cell.loses));
        each_op(ops, &needs, |op| op.cells.push(index));
        let place = match &cell.kind {
            Kind::Bit { .. } => {
                let (word, mask) = layout.next_bit();
                each_op(ops, &needs, |op| op.need.change(word, |bits| bits | mask));
                each_op(ops, &gains, |op| op.set.change(word, |bits| bits | mask));
                each_op(ops, &loses, |op| op.clear.change(word, |bits| bits | mask));
                Place::Bit { word, mask }
            }
            Kind::Counter { full } => {
                let word = layout.next_counter();
                if *full > self.counted_max {
                    each_op(ops, &loses, |op| op.soft_spend.push(word));
                    each_op(ops, &gains, |op| op.soft_refill.push(word));
                } else {
                    each_op(ops, &loses, |op| op.spend.push(word));
                    each_op(ops, &gains, |op| op.refill.push((word, *full)));
                }
                Place::Counter { word, full: *full }
            }
            Kind::Table(table) => {
                for (letter, label) in table.alphabet().iter().enumerate() {
                    each_op(ops, &locals(&label.into()), |op| op.tables.push((index, letter)));
                }
                Place::Table { word: layout.next_table(), table: table.clone() }
            }
        };
        let letters = match &cell.kind {
            Kind::Table(table) => {
                let local = |label| self.marks.labels.get(system.position(label)?);
                table.alphabet().iter().map(local).collect()
            }
            Kind::Bit { .. } | Kind::Counter { .. } => Vec::new(),
        };
        let harms: List = loses.iter().copied().filter(|label| !needs.contains(label)).collect();
        if gains.is_empty() && matches!(cell.kind, Kind::Bit { .. }) {
            each_op(ops, &harms, |op| op.forbids.extend_from_slice(&needs));
        }
        let (spends, asks) = needs.into_iter().partition::<List, _>(|label| loses.contains(label));
        LocalCell { rule, place, spends, asks, gains, harms, letters }
    }
}

fn each_op(ops: &mut [Op], labels: &List, change: impl Fn(&mut Op)) {
    for label in labels {
        ops.get_mut(*label).into_iter().for_each(&change);
    }
}

/// Which word holds what: bits, then counters, then tables.
struct Layout {
    bit: usize,
    /// The next word for a counter, for a table, and the first after both.
    counter: usize,
    table: usize,
    end: usize,
}

impl Layout {
    fn new<'k>(kinds: impl Iterator<Item = &'k Kind>) -> Self {
        let (mut bits, mut counters, mut tables) = (0_usize, 0, 0);
        for kind in kinds {
            match kind {
                Kind::Bit { .. } => bits += 1,
                Kind::Counter { .. } => counters += 1,
                Kind::Table(_) => tables += 1,
            }
        }
        let counter = bits.div_ceil(64);
        Self { bit: 0, counter, table: counter + counters, end: counter + counters + tables }
    }

    fn next_bit(&mut self) -> (usize, u64) {
        self.bit += 1;
        ((self.bit - 1) / 64, 1 << ((self.bit - 1) % 64))
    }

    fn next_counter(&mut self) -> usize {
        self.counter += 1;
        self.counter - 1
    }

    fn next_table(&mut self) -> usize {
        self.table += 1;
        self.table - 1
    }
}
