//! The shortest way to a goal: best first, over the few cells of one problem.
//!
//! [`search`] prunes what a state found earlier can do at least as well, and where a label must happen anyway
//! and may as well happen first, it tries nothing else. Neither makes the way it finds longer. It stops at
//! its bound and says so; there is no memory of earlier searches.

use std::{cmp::Reverse, collections::BinaryHeap, hash::BuildHasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use smallvec::SmallVec;

use super::{
    dense::At,
    estimate::Estimator,
    problem::{FiringResult, Problem},
};

/// Most earlier states that a new one is compared with.
const RIVALS_MAX: usize = 64;

pub(super) enum SearchResult {
    /// These labels, and whether it is proved that no way is shorter.
    Way(Vec<usize>, bool),
    /// There is none.
    None,
    /// There was no room for more states.
    NoRoom,
}

#[derive(Clone, Copy, Default)]
struct Node {
    cost: u32,
    from: u32,
    by: u32,
    /// The only label worth trying, or [`ANY`].
    commit: u32,
    estimate: u64,
    is_done: bool,
}

const ANY: u32 = u32::MAX;

/// A state to compare others with, and what tells most of them apart at once.
#[derive(Clone, Copy)]
struct Rival {
    id: u32,
    cost: u32,
    /// Its first bits, if it has any.
    bits: u64,
}

struct Search<'a> {
    problem: &'a Problem,
    estimator: &'a mut Estimator,
    nodes: Vec<Node>,
    words: Vec<u64>,
    index: HashTable<u32>,
    hasher: FixedState,
    open: BinaryHeap<(Reverse<u64>, u32, Reverse<u32>)>,
    /// States of which none is at least as good as another at no higher cost.
    rivals: Vec<Rival>,
    states_max: usize,
    is_full: bool,
}

/// Searches from a state; says also how many states were kept.
pub(super) fn search(
    problem: &Problem,
    start: &[u64],
    estimator: &mut Estimator,
    states_max: usize,
) -> (SearchResult, usize) {
    let mut search = Search {
        problem,
        estimator,
        nodes: Vec::new(),
        words: Vec::new(),
        index: HashTable::new(),
        hasher: FixedState::default(),
        open: BinaryHeap::new(),
        rivals: Vec::new(),
        states_max: states_max.min(ANY as usize - 1),
        is_full: false,
    };
    let found = search.run(start);
    (found, search.nodes.len())
}

impl Search<'_> {
    fn run(&mut self, start: &[u64]) -> SearchResult {
        self.reach(start, 0, 0, 0);
        // The best way so far: its length, the state before its last label, and that label.
        let mut best: Option<(u32, u32, u32)> = None;
        let (mut state, mut next) = (Vec::new(), Vec::new());
        while let Some((Reverse(total), cost, Reverse(id))) = self.open.pop() {
            if best.is_some_and(|(length, ..)| u64::from(length) <= total) {
                break;
            }
            let node = self.nodes.at(id as usize);
            if node.is_done || node.cost != cost {
                continue;
            }
            if let Some(node) = self.nodes.get_mut(id as usize) {
                node.is_done = true;
            }
            state.clear();
            state.extend_from_slice(words_of(&self.words, self.problem.width, id));
            let labels = match node.commit {
                ANY => 0..self.problem.labels.len(),
                only => only as usize..only as usize + 1,
            };
            for label in labels {
                match self.problem.fire(label, &state, &mut next) {
                    FiringResult::Refused => {}
                    FiringResult::Goal => {
                        if best.is_none_or(|(length, ..)| cost + 1 < length) {
                            best = Some((cost + 1, id, label as u32));
                        }
                    }
                    FiringResult::Moved => self.reach(&next, cost + 1, id, label as u32),
                }
            }
            if self.is_full {
                break;
            }
        }
        match best {
            Some((length, before, last)) => {
                let left = self.open.peek().map_or(u64::MAX, |(Reverse(total), ..)| *total);
                SearchResult::Way(self.way(before, last), !self.is_full || u64::from(length) <= left)
            }
            None if self.is_full => SearchResult::NoRoom,
            None => SearchResult::None,
        }
    }

    /// Takes in a state unless it is known to be no better than another one.
    fn reach(&mut self, state: &[u64], cost: u32, from: u32, by: u32) {
        let Self { problem, nodes, words, index, hasher, .. } = self;
        let hash = hasher.hash_one(state);
        if let Some(id) = index.find(hash, |id| words_of(words, problem.width, *id) == state).copied() {
            let Some(node) = nodes.get_mut(id as usize).filter(|node| cost < node.cost) else { return };
            (node.cost, node.from, node.by, node.is_done) = (cost, from, by, false);
            if node.estimate < u64::MAX {
                self.open.push((Reverse(node.estimate.saturating_add(u64::from(cost))), cost, Reverse(id)));
            }
            return;
        }
        if self.is_outdone(state, cost) {
            return;
        }
        if self.nodes.len() >= self.states_max {
            self.is_full = true;
            return;
        }
        let id = self.nodes.len() as u32;
        let estimate = self.estimator.estimate(self.problem, state);
        let commit = estimate.and_then(|_| self.estimator.commit(self.problem, state));
        let commit = commit.map_or(ANY, |label| label as u32);
        let Self { problem, nodes, words, index, hasher, .. } = self;
        words.extend_from_slice(state);
        nodes.push(Node { cost, from, by, commit, estimate: estimate.unwrap_or(u64::MAX), is_done: false });
        index.insert_unique(hash, id, |id| hasher.hash_one(words_of(words, problem.width, *id)));
        if let Some(estimate) = estimate {
            self.rivals.push(Rival { id, cost, bits: self.problem.first_bits(state) });
            self.open.push((Reverse(estimate.saturating_add(u64::from(cost))), cost, Reverse(id)));
        }
    }

    /// Whether a state found at no higher cost can do whatever this one can.
    fn is_outdone(&mut self, state: &[u64], cost: u32) -> bool {
        let Self { problem, words, rivals, .. } = self;
        let bits = problem.first_bits(state);
        let from = rivals.len().saturating_sub(RIVALS_MAX);
        let mut outdone: SmallVec<[usize; 4]> = SmallVec::new();
        for (place, rival) in rivals.iter().enumerate().skip(from) {
            let is_candidate = rival.cost <= cost && bits & !rival.bits == 0;
            if is_candidate && problem.dominates(words_of(words, problem.width, rival.id), state) {
                return true;
            }
            let is_candidate = cost <= rival.cost && rival.bits & !bits == 0;
            if is_candidate && problem.dominates(state, words_of(words, problem.width, rival.id)) {
                outdone.push(place);
            }
        }
        for place in outdone.iter().rev() {
            rivals.swap_remove(*place);
        }
        false
    }

    fn way(&self, before: u32, last: u32) -> Vec<usize> {
        let mut way = vec![last as usize];
        let mut id = before;
        while id != 0 {
            let node = self.nodes.at(id as usize);
            way.push(node.by as usize);
            id = node.from;
        }
        way.reverse();
        way
    }
}

fn words_of(words: &[u64], width: usize, id: u32) -> &[u64] {
    let from = id as usize * width;
    words.get(from..from + width).unwrap_or_default()
}
