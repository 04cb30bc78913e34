//! A walk over all states of a cone, nearest first, up to a state from which the goal cannot be reached.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use crate::prove::{
    dense::At,
    problem::{FiringResult, Problem},
    scratch::Scratch,
    search::{SearchResult, search},
};

/// Most states of one search for a way that is still open.
pub(super) const WAY_STATES_MAX: usize = 5_000;

/// Most states known to be fine that another one is compared with before a way is looked for.
const KNOWN_TRIED_MAX: usize = 256;

/// So many labels to try in each state cost as much as a state.
const LABELS_PER_STATE: usize = 256;

#[derive(Clone, Copy)]
pub(super) enum Reachability {
    Fine,
    Lost,
    Unknown,
}

/// From which states of a cone its goal can be reached.
pub(super) struct Reach<'a, 's> {
    pub(super) cone: &'a Problem,
    /// States from which it can; and so it can from all that are at least as good.
    pub(super) known: Vec<Vec<u64>>,
    /// The same by the states of tables: those are mostly answered by their own.
    pub(super) known_by_tables: HashMap<Vec<u64>, Vec<Vec<u64>>, FixedState>,
    /// How many more states may be looked at.
    pub(super) left: usize,
    pub(super) scratch: &'s mut Scratch,
}

impl Reach<'_, '_> {
    pub(super) fn verdict(&mut self, state: &[u64]) -> Reachability {
        let tables = self.cone.words_of_tables(state);
        let alike = self.known_by_tables.get_mut(tables).into_iter();
        if alike.chain([&mut self.known]).any(|known| is_answered(self.cone, known, state)) {
            return Reachability::Fine;
        }
        let states_max = self.left.min(WAY_STATES_MAX);
        let (found, states) = search(self.cone, state, &mut self.scratch.estimator, states_max);
        self.left = self.left.saturating_sub(states);
        match found {
            SearchResult::Way(way, _) => {
                let weakest = self.cone.weakest(&way, state);
                if self.cone.has_tables() {
                    let tables = self.cone.words_of_tables(state).to_vec();
                    self.known_by_tables.entry(tables).or_default().push(weakest.clone());
                }
                self.known.push(weakest);
                Reachability::Fine
            }
            SearchResult::None => Reachability::Lost,
            SearchResult::NoRoom => Reachability::Unknown,
        }
    }
}

/// Whether another state is at least as good as one of the known ones.
fn is_answered(cone: &Problem, known: &mut [Vec<u64>], state: &[u64]) -> bool {
    let place = known.iter().take(KNOWN_TRIED_MAX).position(|known| cone.dominates(state, known));
    // What answered last will answer next.
    place.inspect(|place| known.swap(*place, place / 2)).is_some()
}

/// A walk over all states of a problem, nearest first.
pub(super) struct Walk<'a> {
    problem: &'a Problem,
    moves: Vec<usize>,
    states_max: usize,
    words: Vec<u64>,
    from: Vec<(usize, usize)>,
    index: HashTable<usize>,
}

pub(super) enum WalkResult {
    /// The nearest state that is lost is reached by these labels.
    Lost(Vec<usize>),
    /// No state is lost.
    All,
    /// Not decided after so many states.
    NoRoom(usize),
}

impl<'a> Walk<'a> {
    pub(super) fn new(problem: &'a Problem, moves: Vec<usize>, states_max: usize) -> Self {
        let (words, from, index) = (Vec::new(), Vec::new(), HashTable::new());
        let states_max = states_max / Self::state_cost(&moves);
        Self { problem, moves, states_max, words, from, index }
    }

    fn state_cost(moves: &[usize]) -> usize {
        1 + moves.len() / LABELS_PER_STATE
    }

    /// How much of what may be looked at it has looked at.
    pub(super) fn cost(&self) -> usize {
        self.from.len().saturating_mul(Self::state_cost(&self.moves))
    }

    /// The nearest state that a judge calls lost.
    pub(super) fn first(
        &mut self,
        start: &[u64],
        mut judge: impl FnMut(&[u64]) -> Reachability,
    ) -> WalkResult {
        if !self.keep(start, (0, 0)) {
            return WalkResult::NoRoom(0);
        }
        let (mut place, mut state, mut next) = (0, Vec::new(), Vec::new());
        while place < self.from.len() {
            state.clear();
            state.extend_from_slice(self.state(place));
            let moves = std::mem::take(&mut self.moves);
            let mut has_room = true;
            for label in &moves {
                if self.problem.fire(*label, &state, &mut next) != FiringResult::Refused {
                    has_room &= self.keep(&next, (place, *label));
                }
            }
            self.moves = moves;
            match judge(&state) {
                Reachability::Fine if has_room => {}
                Reachability::Lost => return WalkResult::Lost(self.way(place)),
                Reachability::Fine | Reachability::Unknown => return WalkResult::NoRoom(self.from.len()),
            }
            place += 1;
        }
        WalkResult::All
    }

    pub(super) fn state(&self, place: usize) -> &[u64] {
        let width = self.problem.width;
        self.words.get(place * width..(place + 1) * width).unwrap_or_default()
    }

    fn keep(&mut self, state: &[u64], from: (usize, usize)) -> bool {
        let hasher = FixedState::default();
        let hash = hasher.hash_one(state);
        if self.index.find(hash, |place| self.state(*place) == state).is_some() {
            return true;
        }
        if self.from.len() >= self.states_max {
            return false;
        }
        let (words, width) = (&self.words, self.problem.width);
        self.index.insert_unique(hash, self.from.len(), |place| {
            hasher.hash_one(words.get(place * width..(place + 1) * width).unwrap_or_default())
        });
        self.words.extend_from_slice(state);
        self.from.push(from);
        true
    }

    fn way(&self, mut place: usize) -> Vec<usize> {
        let mut way = Vec::new();
        while place > 0 {
            let (before, label) = self.from.at(place);
            way.push(label);
            place = before;
        }
        way.reverse();
        way
    }
}
