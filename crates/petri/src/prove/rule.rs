//! The forms a rule can have, and the one cell each of them keeps.
//!
//! [`Rule`] is what callers write; [`Cell`] is what it becomes: a bit, a counter or the state of a table. A
//! counter is a number, so a limit of a thousand million costs no more than one of three. Bits and counters
//! are only ever better when they are higher, and everything clever rests on that; of a table nothing of the
//! kind is assumed. No form of a rule can add a permission.

use std::sync::Arc;

use super::{
    dense::At,
    label::{Label, LabelSet},
    study::{Letter, Moves, REFUSED, Study},
};

/// Most states of one table.
pub const TABLE_STATES_MAX: usize = 10_000;

/// Most pairs of a state and a label of one table.
pub const TABLE_CELLS_MAX: usize = 1_000_000;

/// One rule: what it knows, and what it refuses when.
///
/// A label that stands on both sides of a rule spends and does not earn, because a doubt never opens a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// One of `before` must have happened before one of `then`: each `then` spends it, unless it is latched.
    Require {
        /// What earns; while earned already it passes and changes nothing.
        before: LabelSet,
        /// What is refused until then.
        then: LabelSet,
        /// Whether once is enough for ever.
        latched: bool,
    },
    /// These are always refused.
    Block(LabelSet),
    /// These may happen `count` times in all.
    Limit {
        /// What is counted.
        spend: LabelSet,
        /// How often.
        count: u64,
    },
    /// These may happen `count` times, and each refill gives one back.
    LimitPer {
        /// What is counted.
        spend: LabelSet,
        /// How many may be spent at once.
        count: u64,
        /// What gives one back; with nothing spent it passes and changes nothing.
        refill: LabelSet,
    },
    /// After one of `after`, each of `then` is refused for good.
    Never {
        /// What forbids.
        after: LabelSet,
        /// What is forbidden; it passes before.
        then: LabelSet,
    },
    /// `then` passes only if one of `needs` has happened since the last of `clears`.
    Since {
        /// What earns.
        needs: LabelSet,
        /// What takes it away again.
        clears: LabelSet,
        /// What is refused without it.
        then: LabelSet,
    },
    /// Whatever else: a table of states and moves. A label of its alphabet without a move is refused.
    Table(Table),
}

/// A small deterministic automaton, written out.
#[derive(Clone, Debug)]
pub struct Table {
    states: u32,
    start: u32,
    alphabet: LabelSet,
    /// For each state the next one by each label of the alphabet; [`REFUSED`] where there is none.
    next: Arc<[u32]>,
    study: Arc<Study>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.written() == other.written()
    }
}

impl Eq for Table {}

impl std::hash::Hash for Table {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.written().hash(state);
    }
}

/// Why a table was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTable {
    /// Too many states or moves.
    #[error(
        "a table has at most {TABLE_STATES_MAX} states and {TABLE_CELLS_MAX} pairs of a state and a label"
    )]
    TooLarge,
    /// The start or a move names a state that does not exist.
    #[error("a table has no state {0}")]
    NoSuchState(u32),
    /// A move is by a label outside the alphabet.
    #[error("label {} is not in the alphabet of the table", .0.0)]
    NotInAlphabet(Label),
    /// A state has two moves by one label.
    #[error("state {0} of a table has two moves by label {label}", label = .1.0)]
    TwoMoves(u32, Label),
}

impl Table {
    /// Makes a table of `states` states from its moves (state, label, next state). What is in the alphabet
    /// and has no move in a state is refused there.
    pub fn new(
        states: u32,
        start: u32,
        alphabet: LabelSet,
        moves: impl IntoIterator<Item = (u32, Label, u32)>,
    ) -> Result<Self, BadTable> {
        let cells = (states as usize).saturating_mul(alphabet.len());
        if states as usize > TABLE_STATES_MAX || cells > TABLE_CELLS_MAX {
            return Err(BadTable::TooLarge);
        }
        let known = |state: u32| if state < states { Ok(state) } else { Err(BadTable::NoSuchState(state)) };
        known(start)?;
        let mut next = vec![REFUSED; cells];
        for (from, label, to) in moves {
            let letter = alphabet.position(label).ok_or(BadTable::NotInAlphabet(label))?;
            let place = known(from)? as usize * alphabet.len() + letter;
            if next.at(place) != REFUSED && next.at(place) != to {
                return Err(BadTable::TwoMoves(from, label));
            }
            next.put(place, known(to)?);
        }
        let study = Study::new(Moves {
            n_states: states as usize,
            n_letters: alphabet.len(),
            start: start as usize,
            next: &next,
        });
        Ok(Self { states, start, alphabet, next: next.into(), study: study.into() })
    }

    /// What makes it the table it is: all else follows.
    fn written(&self) -> (u32, u32, &LabelSet, &[u32]) {
        (self.states, self.start, &self.alphabet, &self.next)
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    pub(super) fn alphabet(&self) -> &LabelSet {
        &self.alphabet
    }

    /// What is known of a label; nothing of one outside the alphabet.
    pub(super) fn letter(&self, label: Label) -> Option<Letter> {
        self.study.letter(self.alphabet.position(label)?)
    }

    /// Whether one label is refused where another one is and never leads to a worse state.
    pub(super) fn is_at_least(&self, one: Label, other: Label) -> bool {
        let Some((one, other)) = self.alphabet.position(one).zip(self.alphabet.position(other)) else {
            return false;
        };
        self.study.reachable().all(|state| match (self.next(state, one), self.next(state, other)) {
            (Some(one), Some(other)) => self.study.is_at_least(one, other),
            (one, other) => one.is_none() && other.is_none(),
        })
    }

    pub(super) fn start(&self) -> u64 {
        u64::from(self.start)
    }

    pub(super) fn states(&self) -> u64 {
        u64::from(self.states)
    }

    /// Where a letter of the alphabet leads from a state; none if it is refused.
    pub(super) fn next(&self, state: u64, letter: usize) -> Option<u64> {
        let place = usize::try_from(state).ok()?.checked_mul(self.alphabet.len())?.checked_add(letter)?;
        self.next.get(place).filter(|next| **next != REFUSED).map(|next| u64::from(*next))
    }

    /// For each state, how many labels it takes at least until one is refused; none if that never happens.
    pub(super) fn distances_to_refusal(&self) -> Vec<Option<u64>> {
        let mut distances: Vec<Option<u64>> = vec![None; self.states as usize];
        let mut before: Vec<Vec<u64>> = vec![Vec::new(); self.states as usize];
        let mut order = Vec::new();
        for state in 0..self.states() {
            for letter in 0..self.alphabet.len() {
                match self.next(state, letter) {
                    Some(next) => before.get_mut(next as usize).into_iter().for_each(|from| from.push(state)),
                    None if distances.at(state as usize).is_none() => {
                        distances.put(state as usize, Some(1));
                        order.push(state);
                    }
                    None => {}
                }
            }
        }
        let mut place = 0;
        while let Some(state) = order.get(place).copied() {
            place += 1;
            let farther = distances.at(state as usize).map(|distance| distance + 1);
            for earlier in before.get(state as usize).into_iter().flatten() {
                if distances.at(*earlier as usize).is_none() {
                    distances.put(*earlier as usize, farther);
                    order.push(*earlier);
                }
            }
        }
        distances
    }
}

/// What a rule remembers and how labels change it: the one form all rules become.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) kind: Kind,
    /// Refused while the cell is zero.
    pub(super) needs: LabelSet,
    /// These make it higher. Invariant: none of them is in `needs` or `loses`.
    pub(super) gains: LabelSet,
    /// These make it lower.
    pub(super) loses: LabelSet,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Zero or one: gaining sets it, losing clears it.
    Bit { start: bool },
    /// From zero to `full`: gaining and losing change it by one. Invariant: `needs` equals `loses`.
    Counter { full: u64 },
    /// The state of a table; the label sets are empty.
    Table(Table),
}

/// What a label does to a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Role(u8);

impl Role {
    const NEEDS: u8 = 1;
    const GAINS: u8 = 2;
    const LOSES: u8 = 4;

    pub(super) fn needs(self) -> bool {
        self.0 & Self::NEEDS != 0
    }

    pub(super) fn gains(self) -> bool {
        self.0 & Self::GAINS != 0
    }

    pub(super) fn loses(self) -> bool {
        self.0 & Self::LOSES != 0
    }

    /// Whether it is nowhere worse for a session than another role.
    pub(super) fn is_at_least(self, other: Self) -> bool {
        (!self.needs() || other.needs())
            && (!self.loses() || other.loses())
            && (self.gains() || !other.gains())
    }

    pub(super) fn is_nothing(self) -> bool {
        self.0 == 0
    }
}

impl Cell {
    pub(super) fn new(rule: &Rule) -> Self {
        let none = LabelSet::default;
        let bit = |start, needs: &LabelSet, gains: LabelSet, loses: LabelSet| Self {
            kind: Kind::Bit { start },
            needs: needs.clone(),
            gains: gains.without(needs).without(&loses),
            loses,
        };
        match rule {
            Rule::Require { before, then, latched } => {
                bit(false, then, before.clone(), if *latched { none() } else { then.clone() })
            }
            Rule::Block(labels) => bit(false, labels, none(), none()),
            Rule::Limit { spend, count } => Self::counter(spend, *count, &none()),
            Rule::LimitPer { spend, count, refill } => Self::counter(spend, *count, refill),
            Rule::Never { after, then } => bit(true, then, none(), after.clone()),
            Rule::Since { needs, clears, then } => bit(false, then, needs.clone(), clears.clone()),
            Rule::Table(table) => {
                Self { kind: Kind::Table(table.clone()), needs: none(), gains: none(), loses: none() }
            }
        }
    }

    fn counter(spend: &LabelSet, count: u64, refill: &LabelSet) -> Self {
        let gains = if count == 0 { LabelSet::default() } else { refill.without(spend) };
        let kind = match count {
            0 | 1 => Kind::Bit { start: count == 1 },
            full => Kind::Counter { full },
        };
        Self { kind, needs: spend.clone(), gains, loses: spend.clone() }
    }

    pub(super) fn start(&self) -> u64 {
        match &self.kind {
            Kind::Bit { start } => u64::from(*start),
            Kind::Counter { full } => *full,
            Kind::Table(table) => table.start(),
        }
    }

    /// The best that it can ever be, unless it is a table.
    pub(super) fn best(&self) -> u64 {
        match &self.kind {
            Kind::Counter { full } => *full,
            Kind::Bit { start } => u64::from(*start || !self.gains.is_empty()),
            Kind::Table(_) => 0,
        }
    }

    pub(super) fn alphabet(&self) -> LabelSet {
        match &self.kind {
            Kind::Table(table) => table.alphabet.clone(),
            Kind::Bit { .. } | Kind::Counter { .. } => self.needs.and(&self.gains).and(&self.loses),
        }
    }

    pub(super) fn role(&self, label: Label) -> Role {
        let flag = |set: &LabelSet, flag| if set.contains(label) { flag } else { 0 };
        Role(flag(&self.needs, Role::NEEDS) | flag(&self.gains, Role::GAINS) | flag(&self.loses, Role::LOSES))
    }

    /// The value after a label; none if it is refused.
    pub(super) fn step(&self, value: u64, label: Label) -> Option<u64> {
        let role = self.role(label);
        if role.needs() && value == 0 {
            return None;
        }
        match &self.kind {
            Kind::Bit { .. } if role.loses() => Some(0),
            Kind::Bit { .. } if role.gains() => Some(1),
            Kind::Counter { .. } if role.loses() => Some(value.saturating_sub(1)),
            Kind::Counter { full } if role.gains() => Some(value.saturating_add(1).min(*full)),
            Kind::Bit { .. } | Kind::Counter { .. } => Some(value),
            Kind::Table(table) => match table.alphabet.position(label) {
                Some(letter) => table.next(value, letter),
                None => Some(value),
            },
        }
    }

    /// Whether it can be seen that this cell refuses whatever another one does: it is never higher than the other.
    ///
    /// Both start so, and no label changes that: what makes this one higher makes the other one higher, and what makes the
    /// other one lower makes this one lower.
    pub(super) fn is_stricter_than(&self, other: &Self) -> bool {
        let is_never_higher = match (&self.kind, &other.kind) {
            (Kind::Bit { start }, Kind::Bit { start: other }) => start <= other,
            (Kind::Bit { .. }, Kind::Counter { .. }) => true,
            (Kind::Counter { full }, Kind::Counter { full: other }) => full <= other,
            (Kind::Counter { .. }, Kind::Bit { .. }) | (Kind::Table(_), _) | (_, Kind::Table(_)) => false,
        };
        is_never_higher
            && other.needs.is_within(&self.needs)
            && other.loses.is_within(&self.loses)
            && self.gains.is_within(&other.gains)
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// Whether the labels' part in this cell is the same.
    pub(super) fn treats_alike(&self, one: Label, other: Label) -> bool {
        match &self.kind {
            Kind::Table(table) => !table.alphabet.contains(one) && !table.alphabet.contains(other),
            Kind::Bit { .. } | Kind::Counter { .. } => self.role(one) == self.role(other),
        }
    }
}

impl Rule {
    /// Every label it knows.
    pub fn alphabet(&self) -> LabelSet {
        Cell::new(self).alphabet()
    }
}
