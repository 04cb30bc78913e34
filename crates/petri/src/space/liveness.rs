//! Which transitions can be lost for ever.
//!
//! A walk that goes on long enough ends in a group of markings that all lead to each other and to nothing else, and
//! there every transition of the group stays possible. So a transition is never lost if and only if every such
//! group has it. [`lost`] finds the groups with Tarjan's walk over the kept firings, with a list in place of the
//! call stack: a state space may be millions of firings deep.

use super::{
    layout::Form,
    moves::{Bits, Fields, Whole},
    walk::{Firings, WalkFindings},
};

/// For each transition whether some marking makes it impossible for ever; needs all markings and all firings.
pub(super) fn lost(found: &WalkFindings, firings: &Firings) -> Vec<bool> {
    let mut lost = vec![false; found.fired.len()];
    if !found.terminal.is_empty() {
        lost.fill(true);
        return lost;
    }
    let mut search = Search::new(found.store.states());
    for root in 0..found.store.states() {
        search.visit(root as u32, firings, |group| {
            let possible = possible_in(found, group);
            lost.iter_mut().zip(possible).for_each(|(lost, possible)| *lost |= !possible);
        });
    }
    lost
}

/// The transitions that can fire in one of these markings.
fn possible_in(found: &WalkFindings, group: &[u32]) -> Vec<bool> {
    let mut possible = vec![false; found.fired.len()];
    let mut after = Vec::new();
    let dead = found.fired.iter().filter(|fired| !**fired).count();
    for state in group {
        let here = found.store.marking(*state as usize);
        after.clear();
        // Everything was fired once already, so nothing needs a wider layout.
        let _ = match found.layout.form() {
            Form::Bits => found.moves.successors::<Bits>(here, &mut after, &mut possible),
            Form::Fields => found.moves.successors::<Fields>(here, &mut after, &mut possible),
            Form::Whole => found.moves.successors::<Whole>(here, &mut after, &mut possible),
        };
        if possible.iter().filter(|possible| !**possible).count() == dead {
            break;
        }
    }
    possible
}

/// Tarjan's walk, kept between roots.
struct Search {
    /// When each marking was first seen, from one; zero is never.
    seen: Vec<u32>,
    /// The earliest marking it leads back to; once its group is known, the group, marked by [`Search::GROUPED`].
    lowest: Vec<u32>,
    clock: u32,
    groups: u32,
    open: Vec<u32>,
    /// The way to where we are: each marking and how many of its firings were followed.
    way: Vec<(u32, u32)>,
}

impl Search {
    /// Markings of a known group are seen at no time that could be earlier than another.
    const GROUPED: u32 = u32::MAX;

    fn new(states: usize) -> Self {
        Self {
            seen: vec![0; states],
            lowest: vec![0; states],
            clock: 0,
            groups: 0,
            open: Vec::new(),
            way: Vec::new(),
        }
    }

    /// Visits all that a root leads to and was not visited before, and tells each group that nothing leaves.
    fn visit(&mut self, root: u32, firings: &Firings, mut tell: impl FnMut(&[u32])) {
        if self.seen_at(root) != 0 {
            return;
        }
        self.enter(root);
        while let Some((state, followed)) = self.way.last_mut() {
            let state = *state;
            let target = firings.from(state as usize).get(*followed as usize).copied();
            *followed += 1;
            match target {
                Some(target) => match self.seen_at(target) {
                    0 => self.enter(target),
                    Self::GROUPED => {}
                    seen => self.lower(state, seen),
                },
                None => {
                    self.way.pop();
                    let lowest = self.lowest.get(state as usize).copied().unwrap_or(0);
                    if let Some((before, _)) = self.way.last().copied() {
                        self.lower(before, lowest);
                    }
                    if lowest == self.seen_at(state) {
                        self.close(state, firings, &mut tell);
                    }
                }
            }
        }
    }

    fn enter(&mut self, state: u32) {
        self.clock += 1;
        if let (Some(seen), Some(lowest)) =
            (self.seen.get_mut(state as usize), self.lowest.get_mut(state as usize))
        {
            (*seen, *lowest) = (self.clock, self.clock);
        }
        self.open.push(state);
        self.way.push((state, 0));
    }

    fn lower(&mut self, state: u32, to: u32) {
        if let Some(lowest) = self.lowest.get_mut(state as usize) {
            *lowest = to.min(*lowest);
        }
    }

    /// Everything that was entered since `first`, it included, is one group.
    fn close(&mut self, first: u32, firings: &Firings, tell: &mut impl FnMut(&[u32])) {
        let start = self.open.iter().rposition(|state| *state == first).unwrap_or(0);
        let group = self.open.split_off(start);
        self.groups += 1;
        for state in &group {
            if let (Some(seen), Some(lowest)) =
                (self.seen.get_mut(*state as usize), self.lowest.get_mut(*state as usize))
            {
                (*seen, *lowest) = (Self::GROUPED, self.groups);
            }
        }
        let stays = |target: &u32| self.lowest.get(*target as usize) == Some(&self.groups);
        if group.iter().all(|state| firings.from(*state as usize).iter().all(stays)) {
            tell(&group);
        }
    }

    fn seen_at(&self, state: u32) -> u32 {
        self.seen.get(state as usize).copied().unwrap_or(Self::GROUPED)
    }
}
