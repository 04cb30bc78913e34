//! One question, cut down to the few rules and labels that matter for it.
//!
//! A [`Problem`] is built from some rules of the system and a [`Goal`]. Only labels that lead somewhere are
//! in it: the goal's own, and what earns something for a label already in. Any other can be left out of a
//! session without harm. The values of all cells lie packed in a few words: bits first, then counters, then
//! states of tables, then the monitor. There is no search in here.

use std::sync::Arc;

use hashbrown::HashSet;
use smallvec::{SmallVec, smallvec};

use super::{
    dense::{At, Marks},
    label::{Label, LabelSet},
    rule::{Cell, Kind, Role, Rule, Table},
    structure::System,
};

pub(super) type List = SmallVec<[usize; 4]>;
type Words = SmallVec<[u64; 2]>;

/// How much is counted of a counter that is too large to be walked down.
pub(super) const SOFT_COUNT: u64 = 3;

/// What a question is about, besides the goal.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) system: &'a System,
    /// A rule that is taken out.
    pub(super) without: Option<usize>,
    /// For each label one that does at least as much good in its place, such as the success for the failure
    /// of the same deed.
    pub(super) better: &'a [usize],
    /// Labels that must not happen.
    pub(super) forbidden: &'a [usize],
}

/// Which rules a problem takes into account.
#[derive(Clone, Copy)]
pub(super) enum Rules<'a> {
    These(&'a [usize]),
    /// All of the system that matter.
    All,
}

/// What a session should end with.
pub(super) enum Goal<'a> {
    /// One of these labels.
    Call(&'a [usize]),
    /// A label that a further rule refuses, and it had refused nothing before.
    Violate(&'a Monitor),
}

/// A rule that watches a system from outside.
pub(super) struct Monitor {
    pub(super) cell: Cell,
    /// The labels it knows; positions beyond the system's own for labels that no rule knows.
    pub(super) labels: Vec<(usize, Label)>,
    /// Of a table: how far each state is from refusing something.
    distances: Arc<[Option<u64>]>,
}

impl Monitor {
    pub(super) fn new(system: &System, rule: &Rule) -> Self {
        let cell = Cell::new(rule);
        let mut beyond = system.labels().len()..;
        let position = |label| Some((system.position(label).or_else(|| beyond.next())?, label));
        let labels = cell.alphabet().iter().filter_map(position).collect();
        let distances = match &cell.kind {
            Kind::Table(table) => table.distances_to_refusal(),
            Kind::Bit { .. } | Kind::Counter { .. } => Vec::new(),
        };
        Self { labels, cell, distances: distances.into() }
    }

    pub(super) fn positions(&self, wanted: impl Fn(Label) -> bool) -> impl Iterator<Item = usize> {
        self.labels.iter().filter(move |(_, label)| wanted(*label)).map(|(position, _)| *position)
    }
}

impl Setting<'_> {
    pub(super) fn name(&self, position: usize, monitor: Option<&Monitor>) -> Label {
        let own = self.system.labels().get(position);
        let foreign = || monitor?.labels.iter().find(|(known, _)| *known == position).map(|(_, label)| label);
        own.or_else(foreign).copied().unwrap_or_default()
    }

    /// The label to try instead of another one: as good for every rule and the same for the monitor.
    pub(super) fn stand_in(&self, position: usize, monitor: Option<&Monitor>) -> usize {
        let better = self.better.get(position).copied().unwrap_or(position);
        if better == position || self.forbidden.contains(&better) {
            return position;
        }
        let is_same = monitor.is_none_or(|monitor| {
            let name = |position| self.name(position, None);
            monitor.cell.treats_alike(name(position), name(better))
        });
        if is_same { better } else { position }
    }
}

/// Memory that questions use one after another.
#[derive(Default)]
pub(super) struct Scratch {
    labels: Marks,
    rules: Marks,
    pub(super) seen_labels: Marks,
    pub(super) seen_rules: Marks,
    pub(super) estimator: super::estimate::Estimator,
    pub(super) straight: super::straight::Straight,
}

pub(super) struct Problem {
    /// The labels that may happen, by their position in the system.
    pub(super) labels: Vec<usize>,
    pub(super) cells: Vec<LocalCell>,
    pub(super) ops: Vec<Op>,
    /// How many words hold bits, and bits and counters, and all but the monitor.
    bits: usize,
    counters: usize,
    tables: usize,
    /// How many words a state has.
    pub(super) width: usize,
    /// The labels that may end the session.
    pub(super) goals: List,
    pub(super) monitor: Option<LocalMonitor>,
    /// The tables by their words.
    studied: Vec<Table>,
}

pub(super) struct LocalCell {
    pub(super) rule: usize,
    pub(super) place: Place,
    /// Refused while it is zero, and then spent.
    pub(super) spends: List,
    /// Refused while it is zero.
    pub(super) asks: List,
    pub(super) gains: List,
    /// Make it lower without needing it.
    pub(super) harms: List,
    /// Of a table: the label of each letter, if it is in the problem.
    letters: Vec<Option<usize>>,
}

impl LocalCell {
    /// The best that it can ever be, unless it is a table.
    pub(super) fn best(&self) -> u64 {
        match self.place {
            Place::Counter { full, .. } => full,
            Place::Bit { .. } | Place::Table { .. } => 1,
        }
    }

    /// The label that a letter of its table is, if it is in the problem.
    pub(super) fn label_of(&self, letter: usize) -> Option<usize> {
        self.letters.get(letter).copied().flatten()
    }
}

pub(super) enum Place {
    Bit { word: usize, mask: u64 },
    Counter { word: usize, full: u64 },
    Table { word: usize, table: Table },
}

/// The monitor's value lies in the last word, upside down: higher is nearer to what it refuses.
pub(super) struct LocalMonitor {
    pub(super) kind: Kind,
    pub(super) gains: List,
    pub(super) loses: List,
    pub(super) distances: Arc<[Option<u64>]>,
}

#[derive(Default)]
pub(super) struct Op {
    need: Words,
    clear: Words,
    set: Words,
    spend: SmallVec<[usize; 2]>,
    refill: SmallVec<[(usize, u64); 2]>,
    /// Counters of which only the first few that are spent are counted; then nothing is known of them.
    soft_spend: SmallVec<[usize; 2]>,
    soft_refill: SmallVec<[usize; 2]>,
    /// The cell of a table and the letter.
    pub(super) tables: SmallVec<[(usize, usize); 1]>,
    is_goal: bool,
    monitor: Role,
    letter: Option<usize>,
    /// The cells that must not be zero.
    pub(super) cells: List,
    /// Labels that this one forbids for good: each of them must have happened before, if it must happen at all.
    pub(super) forbids: List,
    /// If this label must happen anyway and these bits are unset, it may as well happen first.
    pub(super) commit: Option<Words>,
}

/// What became of a label in a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fired {
    Refused,
    Goal,
    Moved,
}

impl Problem {
    /// The problem of reaching a goal under some of the rules.
    pub(super) fn new(
        setting: Setting<'_>,
        goal: &Goal<'_>,
        rules: Rules<'_>,
        scratch: &mut Scratch,
    ) -> Self {
        let monitor = match goal {
            Goal::Call(_) => None,
            Goal::Violate(monitor) => Some(*monitor),
        };
        let mut gathering = Gathering::new(setting, monitor, rules, scratch);
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
        scratch: &mut Scratch,
    ) -> Self {
        let mut gathering = Gathering::new(setting, None, Rules::These(rules), scratch);
        gathering.takes_stand_ins = false;
        gathering.counted_max = counted_max;
        for rule in rules {
            let alphabet = setting.system.cells.get(*rule).map(Cell::alphabet).unwrap_or_default();
            setting.system.positions(&alphabet).for_each(|label| gathering.add(label));
        }
        gathering.labels.sort_unstable();
        for (local, label) in gathering.labels.iter().enumerate() {
            gathering.scratch.labels.set(*label, local);
        }
        gathering.finish(|_| false)
    }

    /// The words of a state.
    pub(super) fn encode(&self, value_of: impl Fn(&LocalCell) -> u64, monitor: u64) -> Vec<u64> {
        let mut words = vec![0; self.width];
        for cell in &self.cells {
            let value = value_of(cell);
            match cell.place {
                Place::Bit { word, mask } if value > 0 => words.change(word, |bits| bits | mask),
                Place::Bit { .. } => {}
                Place::Counter { word, .. } | Place::Table { word, .. } => words.put(word, value),
            }
        }
        if let Some(local) = &self.monitor {
            words.put(self.tables, local.upside_down(monitor));
        }
        words
    }

    #[inline]
    pub(super) fn value(&self, cell: &LocalCell, state: &[u64]) -> u64 {
        match cell.place {
            Place::Bit { word, mask } => u64::from(state.at(word) & mask != 0),
            Place::Counter { word, .. } | Place::Table { word, .. } => state.at(word),
        }
    }

    pub(super) fn has_tables(&self) -> bool {
        !self.studied.is_empty()
    }

    /// Where the tables stand.
    pub(super) fn words_of_tables<'s>(&self, state: &'s [u64]) -> &'s [u64] {
        state.get(self.counters..self.tables).unwrap_or_default()
    }

    /// The tables that know a label, each with its letter and where it stands.
    pub(super) fn tables_of<'p>(
        &'p self,
        label: usize,
        state: &'p [u64],
    ) -> impl Iterator<Item = (&'p LocalCell, &'p Table, usize, u64)> {
        let tables = self.ops.get(label).into_iter().flat_map(|op| &op.tables);
        tables.filter_map(|(index, letter)| {
            let cell = self.cells.get(*index)?;
            let Place::Table { word, table } = &cell.place else { return None };
            Some((cell, table, *letter, state.at(*word)))
        })
    }

    /// The labels that must happen before a label because of tables that refuse it now.
    pub(super) fn before_by_tables<'p>(
        &'p self,
        label: usize,
        state: &'p [u64],
    ) -> impl Iterator<Item = usize> + 'p {
        self.tables_of(label, state).flat_map(|(cell, table, letter, value)| {
            table.study().before(letter, value).filter_map(|letter| cell.label_of(letter))
        })
    }

    /// The monitor's value, upside down.
    pub(super) fn monitor_value(&self, state: &[u64]) -> u64 {
        state.at(self.tables)
    }

    /// What a label does in a state; where it moves, `next` holds the state after it.
    pub(super) fn fire(&self, label: usize, state: &[u64], next: &mut Vec<u64>) -> Fired {
        let Some(op) = self.ops.get(label) else { return Fired::Refused };
        if op.need.iter().zip(state).any(|(need, word)| need & !word != 0)
            || op.spend.iter().any(|word| state.at(*word) == 0)
        {
            return Fired::Refused;
        }
        next.clear();
        next.extend_from_slice(state);
        for ((word, clear), set) in next.iter_mut().zip(&op.clear).zip(&op.set) {
            *word = *word & !clear | set;
        }
        for word in &op.spend {
            next.put(*word, state.at(*word) - 1);
        }
        for (word, full) in &op.refill {
            next.put(*word, state.at(*word).saturating_add(1).min(*full));
        }
        for word in &op.soft_spend {
            next.change(*word, |left| left.saturating_sub(1));
        }
        for word in &op.soft_refill {
            next.change(*word, |left| if left == 0 { 0 } else { (left + 1).min(SOFT_COUNT) });
        }
        for (cell, letter) in &op.tables {
            let Some(Place::Table { word, table }) = self.cells.get(*cell).map(|cell| &cell.place) else {
                continue;
            };
            match table.next(state.at(*word), *letter) {
                Some(after) => next.put(*word, after),
                None => return Fired::Refused,
            }
        }
        match &self.monitor {
            None if op.is_goal => Fired::Goal,
            None => Fired::Moved,
            Some(monitor) => match monitor.after(state.at(self.tables), op) {
                None => Fired::Goal,
                Some(value) => {
                    next.put(self.tables, value);
                    Fired::Moved
                }
            },
        }
    }

    /// The least state from which a way from some state can be gone too; tables stay where they were.
    pub(super) fn weakest(&self, way: &[usize], start: &[u64]) -> Vec<u64> {
        let mut weakest = start.to_vec();
        weakest.iter_mut().take(self.counters).for_each(|word| *word = 0);
        let mut decided: Words = smallvec![0; self.bits];
        let mut sums: SmallVec<[i64; 4]> = smallvec![0; self.counters];
        for op in way.iter().filter_map(|label| self.ops.get(*label)) {
            let masks = op.need.iter().zip(&op.clear).zip(&op.set);
            for ((word, decided), ((need, clear), set)) in weakest.iter_mut().zip(&mut decided).zip(masks) {
                *word |= need & !*decided;
                *decided |= need | clear | set;
            }
            for word in &op.spend {
                sums.change(*word, |sum| sum - 1);
                let deficit = if sums.at(*word) < 0 { sums.at(*word).unsigned_abs() } else { 0 };
                weakest.change(*word, |least| least.max(deficit));
            }
            for (word, _) in &op.refill {
                sums.change(*word, |sum| sum + 1);
            }
        }
        weakest
    }

    /// The labels that do something, one of each kind that do the same.
    pub(super) fn distinct(&self) -> Vec<usize> {
        let mut known: HashSet<_, foldhash::fast::FixedState> = HashSet::default();
        let labels = self.ops.iter().enumerate().filter(|(_, op)| {
            let is_idle = op.clear.iter().chain(&op.set).all(|mask| *mask == 0)
                && op.spend.is_empty()
                && op.refill.is_empty()
                && op.soft_spend.is_empty()
                && op.soft_refill.is_empty()
                && op.tables.is_empty();
            let hard = (&op.need, &op.clear, &op.set, &op.spend, &op.refill, &op.tables);
            !is_idle && known.insert((hard, &op.soft_spend, &op.soft_refill))
        });
        labels.map(|(label, _)| label).collect()
    }

    /// As many bits as fit into a word, if there are any.
    pub(super) fn first_bits(&self, state: &[u64]) -> u64 {
        if self.bits > 0 { state.at(0) } else { 0 }
    }

    /// Whether whatever is possible from the second state is possible from the first.
    pub(super) fn dominates(&self, one: &[u64], other: &[u64]) -> bool {
        let (one_bits, one) = one.split_at_checked(self.bits).unwrap_or_default();
        let (other_bits, other) = other.split_at_checked(self.bits).unwrap_or_default();
        if one_bits.iter().zip(other_bits).any(|(one, other)| other & !one != 0) {
            return false;
        }
        let (one_counters, one) = one.split_at_checked(self.counters - self.bits).unwrap_or_default();
        let (other_counters, other) = other.split_at_checked(self.counters - self.bits).unwrap_or_default();
        if one_counters.iter().zip(other_counters).any(|(one, other)| one < other) {
            return false;
        }
        let mut tables = one.iter().zip(other).zip(&self.studied);
        if tables.any(|((one, other), table)| one != other && !table.study().is_at_least(*one, *other)) {
            return false;
        }
        let Some(monitor) = &self.monitor else { return true };
        match (&monitor.kind, one.last(), other.last()) {
            (Kind::Table(_), one, other) => one == other,
            (_, one, other) => one >= other,
        }
    }
}

impl LocalMonitor {
    pub(super) fn upside_down(&self, value: u64) -> u64 {
        match &self.kind {
            Kind::Bit { .. } => 1_u64.saturating_sub(value),
            Kind::Counter { full } => full.saturating_sub(value),
            Kind::Table(_) => value,
        }
    }

    fn after(&self, value: u64, op: &Op) -> Option<u64> {
        match &self.kind {
            Kind::Table(table) => match op.letter {
                Some(letter) => table.next(value, letter),
                None => Some(value),
            },
            kind => {
                let full = if let Kind::Counter { full } = kind { *full } else { 1 };
                if op.monitor.needs() && value >= full {
                    return None;
                }
                let is_bit = matches!(kind, Kind::Bit { .. });
                Some(match (op.monitor.loses(), op.monitor.gains()) {
                    (true, _) if is_bit => 1,
                    (true, _) => value + 1,
                    (false, true) if is_bit => 0,
                    (false, true) => value.saturating_sub(1),
                    (false, false) => value,
                })
            }
        }
    }
}

/// The rules that guard what leads to some labels, in ascending order; of more than `rules_max`, some.
pub(super) fn cone(
    setting: Setting<'_>,
    goals: &[usize],
    rules_max: usize,
    scratch: &mut Scratch,
) -> Vec<usize> {
    let mut gathering = Gathering::new(setting, None, Rules::All, scratch);
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
    scratch: &'a mut Scratch,
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

/// What [`Scratch::rules`] says of a rule: it is in the problem; it guards a label of it.
const TAKEN: usize = 0;
const GUARDS: usize = 1;

impl<'a> Gathering<'a> {
    fn new(
        setting: Setting<'a>,
        monitor: Option<&'a Monitor>,
        rules: Rules<'a>,
        scratch: &'a mut Scratch,
    ) -> Self {
        let beyond = monitor.map_or(0, |monitor| monitor.labels.len());
        scratch.labels.clear(setting.system.labels().len() + beyond);
        scratch.rules.clear(setting.system.cells.len());
        if let Rules::These(rules) = rules {
            rules.iter().for_each(|rule| scratch.rules.set(*rule, TAKEN));
        }
        let (labels, guards) = (Vec::new(), Vec::new());
        let (takes_stand_ins, counted_max, rules_max, next) = (true, u64::MAX, usize::MAX, 0);
        Self {
            setting,
            monitor,
            scratch,
            labels,
            rules,
            guards,
            takes_stand_ins,
            counted_max,
            rules_max,
            next,
        }
    }

    fn add(&mut self, label: usize) {
        let label = if self.takes_stand_ins { self.setting.stand_in(label, self.monitor) } else { label };
        if self.scratch.labels.get(label).is_none() && !self.setting.forbidden.contains(&label) {
            self.scratch.labels.set(label, self.labels.len());
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
            for touch in system.touches(label) {
                let is_new = match self.rules {
                    Rules::All => self.scratch.rules.get(touch.rule).is_none(),
                    Rules::These(_) => self.scratch.rules.get(touch.rule) == Some(TAKEN),
                };
                if !is_new || Some(touch.rule) == self.setting.without {
                    continue;
                }
                let Some(cell) = system.cells.get(touch.rule) else { continue };
                let Kind::Table(table) = &cell.kind else {
                    if touch.role.needs() {
                        self.scratch.rules.set(touch.rule, GUARDS);
                        self.guards.push(touch.rule);
                        system.gaining(touch.rule).iter().for_each(|gain| self.add(*gain));
                    }
                    continue;
                };
                let name = system.labels().get(label).copied().unwrap_or_default();
                if table.letter(name).is_some_and(|letter| letter.is_refused) {
                    self.scratch.rules.set(touch.rule, GUARDS);
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
            system.positions(set).filter_map(|label| self.scratch.labels.get(label)).collect()
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
                let local = |label| self.scratch.labels.get(system.position(label)?);
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

impl Problem {
    /// Finds the labels that may as well happen first where they must happen at all and are possible.
    ///
    /// Take a session `u x v` where x does not happen in u. `x u v` is as good if u cannot miss what x
    /// spends, cannot spoil what x earns, and the monitor does not look:
    /// - what x spends, nothing else spends or asks for; or it is a counter that nothing refills;
    /// - what x harms without needing it, nothing asks for;
    /// - x refills no counter;
    /// - what x earns, nothing harms without needing it; and if something spends it, then it is unset now and
    ///   x alone earns it, so that it cannot be spent before x.
    fn find_commits(&mut self) {
        let is_free = |op: &Op| {
            let is_watched = op.is_goal || !op.monitor.is_nothing() || op.letter.is_some();
            !is_watched && op.tables.is_empty() && op.refill.is_empty()
        };
        let no_bits: Words = smallvec![0; self.bits];
        let Self { ops, cells, .. } = self;
        for op in ops.iter_mut().filter(|op| is_free(op)) {
            op.commit = Some(no_bits.clone());
        }
        let forbid = |labels: &List, ops: &mut Vec<Op>| {
            for label in labels {
                ops.get_mut(*label).into_iter().for_each(|op| op.commit = None);
            }
        };
        for cell in cells.iter() {
            let is_sole = cell.spends.len() + cell.asks.len() == 1;
            let is_plain_counter = matches!(cell.place, Place::Counter { .. }) && cell.gains.is_empty();
            if !is_sole && !is_plain_counter {
                forbid(&cell.spends, ops);
            }
            forbid(&cell.harms, ops);
            let Place::Bit { word, mask } = cell.place else { continue };
            if !cell.harms.is_empty() || !cell.spends.is_empty() && cell.gains.len() > 1 {
                forbid(&cell.gains, ops);
            } else if !cell.spends.is_empty() {
                for label in &cell.gains {
                    let commit = ops.get_mut(*label).and_then(|op| op.commit.as_mut());
                    commit.into_iter().for_each(|unset| unset.change(word, |bits| bits | mask));
                }
            }
        }
    }

    /// Whether a label that must happen may as well happen now.
    pub(super) fn may_come_first(&self, label: usize, state: &[u64]) -> bool {
        let commit = self.ops.get(label).and_then(|op| op.commit.as_ref());
        commit.is_some_and(|unset| unset.iter().zip(state).all(|(unset, word)| unset & word == 0))
    }
}
