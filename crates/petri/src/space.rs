//! State spaces: every marking a net can reach.
//!
//! [`explore`] walks breadth first from the initial marking over all transitions, the structural ones
//! too, so a marking that would not last is still seen. A walk that finds something is believed: a
//! marking that was reached is reachable, and its trace is a shortest one. A walk that finds nothing is
//! believed only if nothing was left out, so an exploration that hit a limit answers "unknown" where
//! a complete one says "never". An [`Exploration`] says more about what is wanted: a limit on memory,
//! somebody to be told, or what is needed to ask for [lost transitions](StateSpace::lost_transitions).
//!
//! Markings are packed into a few machine words each, so that spaces of many millions fit into memory.
//! Nothing is reduced or accelerated in here: what is counted was visited.

mod layout;
mod limits;
mod liveness;
mod moves;
mod store;
mod walk;

use std::ops::ControlFlow;

use crate::{
    id::{PlaceId, TransitionId},
    marking::Marking,
    net::{Net, weight_of},
};

pub use limits::{Limits, Progress, Stop};
use walk::{WalkFindings, WalkOptions};

/// Most bytes an exploration takes unless [`Exploration::bytes_max`] says otherwise.
pub const EXPLORED_BYTES_MAX: usize = 2 << 30;

/// An exploration to come: of which net, from where, how far, and what to keep.
#[derive(Clone, Debug)]
pub struct Exploration<'a> {
    net: &'a Net,
    start: Marking,
    wishes: WalkOptions,
}

/// The markings a net can reach, as far as they were explored.
#[derive(Clone, Debug)]
pub struct StateSpace<'a> {
    net: &'a Net,
    found: WalkFindings,
    bounds: Vec<u64>,
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

/// Explores the markings that a net reaches from its initial one.
pub fn explore(net: &Net, limits: Limits) -> StateSpace<'_> {
    Exploration::new(net, limits).run()
}

/// Explores the markings that a net reaches from a given one, such as where a session stands.
pub fn explore_from<'a>(net: &'a Net, start: &Marking, limits: Limits) -> StateSpace<'a> {
    Exploration::new(net, limits).from(start).run()
}

impl<'a> Exploration<'a> {
    /// An exploration from the initial marking.
    pub fn new(net: &'a Net, limits: Limits) -> Self {
        let wishes = WalkOptions { limits, bytes_max: EXPLORED_BYTES_MAX, keeps_firings: false };
        Self { net, start: net.initial().clone(), wishes }
    }

    /// The same from another marking; a place that it does not cover is empty.
    #[must_use]
    pub fn from(mut self, start: &Marking) -> Self {
        self.start = start.clone();
        self
    }

    /// The same with at most so many bytes for markings and firings.
    #[must_use]
    pub fn bytes_max(mut self, bytes_max: usize) -> Self {
        self.wishes.bytes_max = bytes_max;
        self
    }

    /// The same, and where each firing leads is kept for [`StateSpace::lost_transitions`]: four bytes more for
    /// each firing and eight for each marking. If there is no memory for them they are dropped, not the markings.
    #[must_use]
    pub fn keeping_firings(mut self) -> Self {
        self.wishes.keeps_firings = true;
        self
    }

    /// Explores.
    pub fn run(self) -> StateSpace<'a> {
        self.run_telling(&mut |_| ControlFlow::Continue(()))
    }

    /// Explores, and now and then reports its progress to the caller, who may stop it.
    pub fn run_telling(self, tell: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> StateSpace<'a> {
        let found = walk::walk(self.net, &self.start, self.wishes, tell);
        let bounds = found.layout.most(found.store.words());
        StateSpace { net: self.net, found, bounds }
    }
}

impl StateSpace<'_> {
    /// Whether every reachable marking is in here.
    pub fn is_complete(&self) -> bool {
        self.found.stop.is_none()
    }

    /// Why not every reachable marking is in here, if it is not.
    pub fn stop(&self) -> Option<Stop> {
        self.found.stop
    }

    /// How many markings were reached.
    pub fn states(&self) -> usize {
        self.found.store.states()
    }

    /// How many firings lead from one of them to one of them.
    pub fn edges(&self) -> usize {
        self.found.edges
    }

    /// How many bytes the markings take, and the firings where they are kept.
    pub fn bytes(&self) -> usize {
        self.found.bytes()
    }

    /// The markings that were reached, nearest first.
    pub fn markings(&self) -> impl ExactSizeIterator<Item = Marking> {
        (0..self.states()).map(|state| self.marking(state))
    }

    /// The markings in which nothing can fire, nearest first; there may be more if the exploration is
    /// not complete.
    pub fn terminal(&self) -> impl ExactSizeIterator<Item = Marking> {
        self.found.terminal.iter().map(|state| self.marking(*state as usize))
    }

    /// The shortest way to a marking in which nothing can fire.
    pub fn shortest_trace_to_terminal(&self) -> Reach {
        self.reach(self.found.terminal.first().map(|state| *state as usize))
    }

    /// The most tokens a place ever holds; unknown if the exploration is not complete.
    pub fn bound(&self, place: PlaceId) -> Option<u64> {
        self.bounds.get(place.index()).copied().filter(|_| self.is_complete())
    }

    /// Whether no place ever holds two tokens; unknown if the exploration is not complete and none does so far.
    pub fn is_one_safe(&self) -> Option<bool> {
        let is_so = self.bounds.iter().all(|bound| *bound <= 1);
        (self.is_complete() || !is_so).then_some(is_so)
    }

    /// The transitions that never fire; unknown if the exploration is not complete.
    pub fn dead_transitions(&self) -> Option<Vec<TransitionId>> {
        self.is_complete().then(|| self.those(self.found.fired.iter().map(|fired| !fired)))
    }

    /// The transitions that some reachable marking makes impossible for ever, the dead ones among them; unknown if
    /// the exploration is not complete or has not kept its firings.
    pub fn lost_transitions(&self) -> Option<Vec<TransitionId>> {
        let firings = self.found.firings.as_ref().filter(|_| self.is_complete())?;
        Some(self.those(liveness::lost(&self.found, firings).into_iter()))
    }

    /// The shortest way to a marking with some property.
    pub fn shortest_trace_to(&self, goal: impl Fn(&Marking) -> bool) -> Reach {
        self.reach((0..self.states()).find(|state| goal(&self.marking(*state))))
    }

    /// The shortest way to one marking.
    pub fn shortest_trace_to_marking(&self, goal: &Marking) -> Reach {
        let is_of_net = goal.as_slice().len() == self.net.places().len();
        let packed = self.found.layout.pack(goal.as_slice().iter().copied()).filter(|_| is_of_net);
        self.reach(packed.and_then(|packed| self.found.store.find(&packed)))
    }

    /// The shortest way to a marking that enables a transition.
    pub fn shortest_trace_to_enabled(&self, transition: TransitionId) -> Reach {
        self.shortest_trace_to(|marking| self.net.is_enabled(marking, transition))
    }

    fn reach(&self, state: Option<usize>) -> Reach {
        match state {
            Some(state) => Reach::By(self.trace_to(state)),
            None if self.is_complete() => Reach::Never,
            None => Reach::Unknown,
        }
    }

    fn marking(&self, state: usize) -> Marking {
        self.found.layout.marking(self.found.store.marking(state))
    }

    fn those(&self, chosen: impl Iterator<Item = bool>) -> Vec<TransitionId> {
        let all = self.net.transitions().zip(chosen);
        all.filter(|(_, is_chosen)| *is_chosen).map(|(transition, _)| transition).collect()
    }

    fn trace_to(&self, state: usize) -> Vec<TransitionId> {
        // Invariant: each step goes to an older state, so this walk ends at the initial marking.
        let steps_back = std::iter::successors(self.step_back(state), |(before, _)| self.step_back(*before));
        let mut trace: Vec<_> = steps_back.map(|(_, transition)| transition).collect();
        trace.reverse();
        trace
    }

    /// The state that a state was first reached from, and by which firing; none for the initial marking.
    ///
    /// That is the oldest of all that lead to it. They are found by firing backwards, so that nothing needs to be
    /// kept for it.
    fn step_back(&self, state: usize) -> Option<(usize, TransitionId)> {
        let after = self.marking(state);
        let before = |transition| Some((self.fired_from(state, &after, transition)?, transition));
        self.net.transitions().filter_map(before).filter(|(before, _)| *before < state).min()
    }

    /// The state from which firing a transition leads to this one.
    fn fired_from(&self, state: usize, after: &Marking, transition: TransitionId) -> Option<usize> {
        let (net, layout) = (self.net, &self.found.layout);
        let mut packed: Option<Vec<u64>> = None;
        let change = |place: PlaceId| {
            let gain = weight_of(net.gains(transition), place);
            let tokens = after.tokens(place).checked_sub(gain)?;
            tokens.checked_add(weight_of(net.losses(transition), place))
        };
        if net
            .inputs(transition)
            .iter()
            .any(|(place, weight)| change(*place).is_none_or(|tokens| tokens < *weight))
        {
            return None;
        }
        for (place, _) in net.losses(transition).iter().chain(net.gains(transition)) {
            let tokens = change(*place)?;
            let packed = packed.get_or_insert_with(|| self.found.store.marking(state).to_vec());
            if !layout.set(packed, place.index(), tokens) {
                return None;
            }
        }
        self.found.store.find(&packed?)
    }
}
