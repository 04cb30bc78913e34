//! What is known of a table once and for all, so that no question has to find it out again.
//!
//! [`Study`] says of each label what must come before it, how far away it is, and which states of the table are
//! at least as good as which. All of it looks at the table alone: other rules only ever take moves away, so what
//! is needed here is needed there, and what is out of reach here is out of reach there. Large tables are studied
//! less: then less is known, and nothing wrong.

use super::dense::At;

/// Most steps of finding out which states are at least as good as which, or what must come before what.
const STEPS_MAX: usize = 1 << 20;

/// Most labels of a table of which it is found out what must come before them.
const LETTERS_MAX: usize = 64;

pub(super) const REFUSED: u32 = u32::MAX;

/// What is known of a label of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Letter {
    /// Whether some state refuses it.
    pub(super) is_refused: bool,
    /// Whether it ever leads to another state.
    pub(super) changes: bool,
    /// Whether it passes in some state.
    pub(super) passes: bool,
}

/// All that is known of a table. States that are never reached do not count.
#[derive(Debug, Default)]
pub(super) struct Study {
    letters: Vec<Letter>,
    is_reachable: Vec<bool>,
    n_states: usize,
    /// For each label and state how many others come at least before it.
    distances: Vec<u32>,
    /// For each label and state which others surely come before it, a bit each; empty if unknown.
    before: Vec<u64>,
    /// For each label which others surely come between one time it happens and the next; empty if unknown.
    between: Vec<u64>,
    /// For each pair of states whether the first is at least as good; empty if unknown.
    is_at_least: Vec<bool>,
    worst: Option<u64>,
}

/// A table as the study sees it.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    pub(super) n_states: usize,
    pub(super) n_letters: usize,
    pub(super) start: usize,
    /// For each state the next one by each label.
    pub(super) next: &'a [u32],
}

impl Moves<'_> {
    fn next(&self, state: usize, letter: usize) -> Option<usize> {
        let place = state * self.n_letters + letter;
        self.next.get(place).filter(|next| **next != REFUSED).map(|next| *next as usize)
    }

    /// For each letter and state the states it comes from.
    fn back(&self) -> Vec<Vec<usize>> {
        let mut back = vec![Vec::new(); self.n_letters * self.n_states];
        for state in 0..self.n_states {
            for letter in 0..self.n_letters {
                let place = self.next(state, letter).map(|next| letter * self.n_states + next);
                let from = place.and_then(|place| back.get_mut(place));
                from.into_iter().for_each(|from| from.push(state));
            }
        }
        back
    }

    fn reachable(&self) -> Vec<bool> {
        let mut found = vec![false; self.n_states];
        let mut open = vec![self.start];
        found.put(self.start, true);
        while let Some(state) = open.pop() {
            for next in (0..self.n_letters).filter_map(|letter| self.next(state, letter)) {
                if !found.at(next) {
                    found.put(next, true);
                    open.push(next);
                }
            }
        }
        found
    }
}

impl Study {
    pub(super) fn new(moves: Moves<'_>) -> Self {
        let Moves { n_states, n_letters, .. } = moves;
        let is_reachable = moves.reachable();
        let mut letters = vec![Letter::default(); n_letters];
        for state in (0..n_states).filter(|state| is_reachable.at(*state)) {
            for (number, letter) in letters.iter_mut().enumerate() {
                let next = moves.next(state, number);
                letter.is_refused |= next.is_none();
                letter.changes |= next.is_some_and(|next| next != state);
                letter.passes |= next.is_some();
            }
        }
        let mut study = Self { letters, is_reachable, n_states, ..Self::default() };
        let cells = n_states * n_letters;
        if cells.saturating_mul(n_letters) <= STEPS_MAX {
            let back = moves.back();
            (0..n_letters).for_each(|letter| study.find_distances(moves, &back, letter));
            if n_letters <= LETTERS_MAX {
                study.find_before(moves);
                study.find_between(moves);
                if cells.saturating_mul(n_states) <= STEPS_MAX {
                    study.compare_states(moves, &back);
                }
            }
        }
        study.worst = study.find_worst();
        study
    }

    pub(super) fn letter(&self, letter: usize) -> Option<Letter> {
        self.letters.get(letter).copied()
    }

    /// How many labels come at least before a label; none if it never happens again.
    pub(super) fn distance(&self, letter: usize, state: u64) -> Option<u64> {
        let distance = self.distances.get(letter * self.n_states + state as usize);
        distance.map_or(Some(0), |distance| (*distance != u32::MAX).then_some(u64::from(*distance)))
    }

    /// The labels that surely come before a label, while it is refused.
    pub(super) fn before(&self, letter: usize, state: u64) -> impl Iterator<Item = usize> + use<> {
        letters_of(self.before.at(letter * self.n_states + state as usize))
    }

    /// The labels that surely come before each time a label happens, however often that is; each with how often it comes
    /// at least, for so many times.
    pub(super) fn before_each(
        &self,
        letter: usize,
        state: u64,
        times: u64,
    ) -> impl Iterator<Item = (usize, u64)> + use<> {
        let before = self.before.at(letter * self.n_states + state as usize);
        let between = if times > 1 { self.between.at(letter) } else { 0 };
        letters_of(before | between).map(move |other| {
            let is_in = |set: u64| set >> other & 1;
            (other, is_in(before).saturating_add(is_in(between).saturating_mul(times.saturating_sub(1))))
        })
    }

    /// Whether whatever is possible from the second state is possible from the first.
    #[inline]
    pub(super) fn is_at_least(&self, one: u64, other: u64) -> bool {
        one == other || self.is_at_least.at(one as usize * self.n_states + other as usize)
    }

    /// The state that every other one is at least as good as, if there is one.
    pub(super) fn worst(&self) -> Option<u64> {
        self.worst
    }

    pub(super) fn reachable(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(&self.is_reachable).filter(|(_, is_reachable)| **is_reachable).map(|(state, _)| state)
    }

    fn find_distances(&mut self, moves: Moves<'_>, back: &[Vec<usize>], letter: usize) {
        let mut distances = vec![u32::MAX; moves.n_states];
        let mut order = Vec::new();
        for state in (0..moves.n_states).filter(|state| moves.next(*state, letter).is_some()) {
            distances.put(state, 0);
            order.push(state);
        }
        let mut place = 0;
        while let Some(state) = order.get(place).copied() {
            place += 1;
            let farther = distances.at(state).saturating_add(1);
            for other in (0..moves.n_letters).filter(|other| *other != letter) {
                for earlier in back.get(other * moves.n_states + state).into_iter().flatten() {
                    if distances.at(*earlier) == u32::MAX {
                        distances.put(*earlier, farther);
                        order.push(*earlier);
                    }
                }
            }
        }
        self.distances.extend(distances);
    }

    /// A label comes surely before another one if it does so on every way: by the first step of the way, or
    /// after it. Starts from "all do" and takes away; unless that comes to an end, nothing is known.
    fn find_before(&mut self, moves: Moves<'_>) {
        let n_states = moves.n_states;
        let mut steps = STEPS_MAX;
        let mut all = Vec::with_capacity(moves.n_letters * n_states);
        for letter in 0..moves.n_letters {
            let mut order: Vec<usize> = (0..n_states)
                .filter(|state| ![0, u32::MAX].contains(&self.distances.at(letter * n_states + state)))
                .collect();
            order.sort_unstable_by_key(|state| self.distances.at(letter * n_states + state));
            let mut before = vec![0_u64; n_states];
            order.iter().for_each(|state| before.put(*state, u64::MAX));
            let mut has_changed = true;
            while has_changed {
                has_changed = false;
                let Some(left) = steps.checked_sub(order.len() * moves.n_letters) else { return };
                steps = left;
                for state in &order {
                    let mut common = before.at(*state);
                    for other in (0..moves.n_letters).filter(|other| *other != letter) {
                        let Some(next) = moves.next(*state, other) else { continue };
                        // A way through a state that leads nowhere does not count.
                        if self.distances.at(letter * n_states + next) != u32::MAX {
                            common &= before.at(next) | 1 << other;
                        }
                    }
                    has_changed |= common != before.at(*state);
                    before.put(*state, common);
                }
            }
            all.extend(before);
        }
        self.before = all;
    }

    /// Between two times a label happens comes whatever comes before it from where the first time leads to.
    fn find_between(&mut self, moves: Moves<'_>) {
        if self.before.is_empty() {
            return;
        }
        let after = |letter: usize| {
            let states = (0..moves.n_states).filter(|state| self.is_reachable.at(*state));
            states.filter_map(move |state| moves.next(state, letter))
        };
        let is_again = |letter: usize, state: &usize| self.distance(letter, *state as u64).is_some();
        let between = (0..moves.n_letters).map(|letter| {
            let again = after(letter).filter(|state| is_again(letter, state));
            let before = again.map(|state| self.before.at(letter * moves.n_states + state));
            // Where it never happens twice there is nothing to say.
            before.reduce(|all, before| all & before).unwrap_or_default()
        });
        self.between = between.collect();
    }

    /// One state is at least as good as another if it lets pass whatever the other does, and is at least as
    /// good after it. Starts from "all are" and takes away.
    fn compare_states(&mut self, moves: Moves<'_>, back: &[Vec<usize>]) {
        let n_states = moves.n_states;
        let mut is_at_least = vec![true; n_states * n_states];
        let mut open = Vec::new();
        let passing = |state: usize| {
            let letters = (0..moves.n_letters).filter(|letter| moves.next(state, *letter).is_some());
            letters.fold(0_u64, |passing, letter| passing | 1 << letter)
        };
        let passing: Vec<u64> = (0..n_states).map(passing).collect();
        for one in 0..n_states {
            for other in 0..n_states {
                if passing.at(other) & !passing.at(one) != 0 {
                    is_at_least.put(one * n_states + other, false);
                    open.push((one, other));
                }
            }
        }
        while let Some((one, other)) = open.pop() {
            for letter in 0..moves.n_letters {
                let from = |state: usize| back.get(letter * n_states + state).into_iter().flatten().copied();
                for (one, other) in from(one).flat_map(|one| from(other).map(move |other| (one, other))) {
                    if is_at_least.at(one * n_states + other) {
                        is_at_least.put(one * n_states + other, false);
                        open.push((one, other));
                    }
                }
            }
        }
        self.is_at_least = is_at_least;
    }

    fn find_worst(&self) -> Option<u64> {
        // The last one that is not better than the one before is the only candidate.
        let worst = self
            .reachable()
            .reduce(|worst, state| if self.is_at_least(worst, state) { state } else { worst })?;
        self.reachable().all(|state| self.is_at_least(state, worst)).then_some(worst)
    }
}

/// The letters of a set that has a bit for each.
fn letters_of(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let letter = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(letter)
    })
}
