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
    dense::At,
    rule::{Kind, Role, Table},
};

pub(super) type List = SmallVec<[usize; 4]>;
pub(super) type Words = SmallVec<[u64; 2]>;

/// How much is counted of a counter that is too large to be walked down.
pub(super) const SOFT_COUNT: u64 = 3;

pub(super) struct Problem {
    /// The labels that may happen, by their position in the system.
    pub(super) labels: Vec<usize>,
    pub(super) cells: Vec<LocalCell>,
    pub(super) ops: Vec<Op>,
    /// How many words hold bits, and bits and counters, and all but the monitor.
    pub(super) bits: usize,
    pub(super) counters: usize,
    pub(super) tables: usize,
    /// How many words a state has.
    pub(super) width: usize,
    /// The labels that may end the session.
    pub(super) goals: List,
    pub(super) monitor: Option<LocalMonitor>,
    /// The tables by their words.
    pub(super) studied: Vec<Table>,
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
    pub(super) letters: Vec<Option<usize>>,
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
    pub(super) need: Words,
    pub(super) clear: Words,
    pub(super) set: Words,
    pub(super) spend: SmallVec<[usize; 2]>,
    pub(super) refill: SmallVec<[(usize, u64); 2]>,
    /// Counters of which only the first few that are spent are counted; then nothing is known of them.
    pub(super) soft_spend: SmallVec<[usize; 2]>,
    pub(super) soft_refill: SmallVec<[usize; 2]>,
    /// The cell of a table and the letter.
    pub(super) tables: SmallVec<[(usize, usize); 1]>,
    pub(super) is_goal: bool,
    pub(super) monitor: Role,
    pub(super) letter: Option<usize>,
    /// The cells that must not be zero.
    pub(super) cells: List,
    /// Labels that this one forbids for good: each of them must have happened before, if it must happen at all.
    pub(super) forbids: List,
    /// If this label must happen anyway and these bits are unset, it may as well happen first.
    pub(super) commit: Option<Words>,
}

/// What became of a label in a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FiringResult {
    Refused,
    Goal,
    Moved,
}

impl Problem {
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
    pub(super) fn fire(&self, label: usize, state: &[u64], next: &mut Vec<u64>) -> FiringResult {
        let Some(op) = self.ops.get(label) else { return FiringResult::Refused };
        if op.need.iter().zip(state).any(|(need, word)| need & !word != 0)
            || op.spend.iter().any(|word| state.at(*word) == 0)
        {
            return FiringResult::Refused;
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
                None => return FiringResult::Refused,
            }
        }
        match &self.monitor {
            None if op.is_goal => FiringResult::Goal,
            None => FiringResult::Moved,
            Some(monitor) => match monitor.after(state.at(self.tables), op) {
                None => FiringResult::Goal,
                Some(value) => {
                    next.put(self.tables, value);
                    FiringResult::Moved
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
    pub(super) fn find_commits(&mut self) {
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
