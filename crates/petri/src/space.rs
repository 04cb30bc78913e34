//! State spaces: every marking a net can reach.
//!
//! [`explore`] walks breadth first from the initial marking over all transitions, the structural ones
//! too, so a marking that would not last is still seen. Whoever finds something is believed: a
//! marking that was reached is reachable, and its trace is a shortest one. Whoever finds nothing is
//! believed only if nothing was left out, so an exploration that hit a limit answers "unknown" where
//! a complete one says "never". Nothing is reduced or accelerated in here.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    marking::Marking,
    net::{Net, PlaceId, TransitionId},
};

/// How far to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most markings to keep; the initial one is kept always.
    pub states_max: usize,
    /// Most firings on the way to a marking.
    pub depth_max: usize,
}

/// The markings a net can reach, as far as they were explored.
#[derive(Clone, Debug)]
pub struct StateSpace<'a> {
    net: &'a Net,
    states: Vec<State>,
    edges: usize,
    terminal: Vec<usize>,
    bounds: Vec<u64>,
    fired: Vec<bool>,
    complete: bool,
}

/// The answer to "how is this reached?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By firing these from the initial marking; there is no shorter way.
    By(Vec<TransitionId>),
    /// Not at all.
    Never,
    /// Not within the limits of the exploration.
    Unknown,
}

#[derive(Clone, Debug)]
struct State {
    marking: Marking,
    depth: usize,
    /// The state it was first reached from, and by which firing; none for the initial marking.
    from: Option<(usize, TransitionId)>,
}

/// Explores the markings that a net reaches from its initial one.
pub fn explore(net: &Net, limits: Limits) -> StateSpace<'_> {
    explore_from(net, net.initial(), limits)
}

/// Explores the markings that a net reaches from a given one, such as where a session stands.
pub fn explore_from<'a>(net: &'a Net, start: &Marking, limits: Limits) -> StateSpace<'a> {
    let mut known = Known::default();
    known.keep(State { marking: start.clone(), depth: 0, from: None }, 1);

    let (mut edges, mut terminal, mut complete) = (0, Vec::new(), true);
    let mut bounds = start.as_slice().to_vec();
    let mut fired = vec![false; net.transitions().len()];
    let mut next = 0;
    while let Some(State { marking, depth, .. }) = known.states.get(next).cloned() {
        for (bound, tokens) in bounds.iter_mut().zip(marking.as_slice()) {
            *bound = (*bound).max(*tokens);
        }
        let states_max = if depth < limits.depth_max { limits.states_max } else { 0 };
        let mut is_terminal = true;
        for (transition, fired) in net.transitions().zip(&mut fired) {
            if !net.is_enabled(&marking, transition) {
                continue;
            }
            let mut after = marking.clone();
            // What would overflow does not fire, here as anywhere.
            if net.fire(&mut after, transition).is_err() {
                continue;
            }
            (*fired, is_terminal) = (true, false);
            let from = Some((next, transition));
            let is_kept = known.keep(State { marking: after, depth: depth + 1, from }, states_max);
            edges += usize::from(is_kept);
            complete &= is_kept;
        }
        if is_terminal {
            terminal.push(next);
        }
        next += 1;
    }
    StateSpace { net, states: known.states, edges, terminal, bounds, fired, complete }
}

/// The states found so far, in the order they were found, and an index into them by marking.
#[derive(Default)]
struct Known {
    states: Vec<State>,
    index: HashTable<usize>,
    hasher: RandomState,
}

impl Known {
    /// Keeps a state unless its marking is known; `false` if there was no room for a new one.
    fn keep(&mut self, state: State, states_max: usize) -> bool {
        let Self { states, index, hasher } = self;
        let hash_of = |marking: &Marking| hasher.hash_one(marking);
        let marking_of = |position: usize| states.get(position).map(|state| &state.marking);
        let entry = index.entry(
            hash_of(&state.marking),
            |position| marking_of(*position) == Some(&state.marking),
            |position| marking_of(*position).map_or(0, hash_of),
        );
        match entry {
            Entry::Occupied(_) => true,
            Entry::Vacant(_) if states.len() >= states_max => false,
            Entry::Vacant(vacant) => {
                vacant.insert(states.len());
                states.push(state);
                true
            }
        }
    }
}

impl StateSpace<'_> {
    /// Whether every reachable marking is in here.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many markings were reached.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// How many firings lead from one of them to one of them.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// The markings that were reached, nearest first.
    pub fn markings(&self) -> impl ExactSizeIterator<Item = &Marking> {
        self.states.iter().map(|state| &state.marking)
    }

    /// The markings in which nothing can fire, nearest first; there may be more if the exploration is
    /// not complete.
    pub fn terminal(&self) -> impl Iterator<Item = &Marking> {
        self.terminal.iter().filter_map(|index| self.states.get(*index)).map(|state| &state.marking)
    }

    /// The most tokens a place ever holds; unknown if the exploration is not complete.
    pub fn bound(&self, place: PlaceId) -> Option<u64> {
        self.bounds.get(place.index()).copied().filter(|_| self.complete)
    }

    /// The transitions that never fire; unknown if the exploration is not complete.
    pub fn dead_transitions(&self) -> Option<Vec<TransitionId>> {
        let dead = || self.net.transitions().zip(&self.fired).filter(|(_, fired)| !**fired);
        self.complete.then(|| dead().map(|(transition, _)| transition).collect())
    }

    /// The shortest way to a marking with some property.
    pub fn shortest_trace_to(&self, goal: impl Fn(&Marking) -> bool) -> Reach {
        match self.states.iter().find(|state| goal(&state.marking)) {
            Some(state) => Reach::By(self.trace_to(state)),
            None if self.complete => Reach::Never,
            None => Reach::Unknown,
        }
    }

    /// The shortest way to one marking.
    pub fn shortest_trace_to_marking(&self, goal: &Marking) -> Reach {
        self.shortest_trace_to(|marking| marking == goal)
    }

    /// The shortest way to a marking that enables a transition.
    pub fn shortest_trace_to_enabled(&self, transition: TransitionId) -> Reach {
        self.shortest_trace_to(|marking| self.net.is_enabled(marking, transition))
    }

    fn trace_to(&self, state: &State) -> Vec<TransitionId> {
        // Invariant: each state was reached from an older one, so this walk ends at the initial marking.
        let steps_back = std::iter::successors(state.from, |(before, _)| self.states.get(*before)?.from);
        let mut trace: Vec<_> = steps_back.map(|(_, transition)| transition).collect();
        trace.reverse();
        trace
    }
}
