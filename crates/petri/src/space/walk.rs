//! The walk over all markings, breadth first.
//!
//! [`walk`] goes level by level: all markings that are `n` firings away before the first that is `n + 1` away. So
//! the number of a marking gives its distance, and no way back needs to be kept. If a field of the packed
//! markings runs over, everything kept so far is packed anew with a wider field and the walk goes on where it was.

use std::ops::ControlFlow;

use crate::{id::TransitionId, marking::Marking, net::Net};

use super::{
    layout::{Form, Layout},
    limits::{Limits, Progress, Stop},
    moves::{Bits, Fields, Moves, Whole, Words},
    store::{BATCH, Batch, Insertion, Room, Store},
};

/// So many fields are widened one by one, to keep markings small; later ones all together, to come to an end.
const WIDENED_SINGLY_MAX: usize = 256;
/// After so many markings the caller gets a report.
const TOLD_EVERY: usize = 1 << 16;

/// How far to go, and what to keep beside the markings.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkOptions {
    pub(super) limits: Limits,
    pub(super) bytes_max: usize,
    pub(super) keeps_firings: bool,
}

/// Gets the progress of a walk, and may stop it.
pub(super) type ProgressReport<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// What a walk has found.
#[derive(Clone, Debug)]
pub(super) struct WalkFindings {
    pub(super) layout: Layout,
    pub(super) moves: Moves,
    pub(super) store: Store,
    pub(super) edges: usize,
    pub(super) terminal: Vec<u32>,
    pub(super) fired: Vec<bool>,
    pub(super) stop: Option<Stop>,
    pub(super) firings: Option<Firings>,
}

/// Where the firings from each marking lead.
#[derive(Clone, Debug, Default)]
pub(super) struct Firings {
    targets: Vec<u32>,
    /// For each marking, where its targets end; they begin where those of the one before end.
    ends: Vec<usize>,
}

impl Firings {
    pub(super) fn from(&self, state: usize) -> &[u32] {
        let start = state.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(state).copied().unwrap_or(start);
        self.targets.get(start..end).unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.targets.capacity() * size_of::<u32>() + self.ends.capacity() * size_of::<usize>()
    }
}

impl WalkFindings {
    pub(super) fn bytes(&self) -> usize {
        self.store.bytes() + self.firings.as_ref().map_or(0, Firings::bytes)
    }
}

/// Walks over everything that can be reached from `start`.
pub(super) fn walk(
    net: &Net,
    start: &Marking,
    wishes: WalkOptions,
    tell: ProgressReport<'_>,
) -> WalkFindings {
    let mut walk = Walk::new(net, start, wishes, tell);
    while let Err(transition) = walk.go_on() {
        if !walk.has_widened_for(transition) {
            break;
        }
    }
    walk.found
}

struct Walk<'a> {
    net: &'a Net,
    wishes: WalkOptions,
    tell: ProgressReport<'a>,
    found: WalkFindings,
    /// The marking to look at next.
    next: usize,
    /// How many firings away it is.
    depth: usize,
    /// How many markings are at most so far away.
    level_end: usize,
    batch: Batch,
    widened: usize,
    told_at: usize,
}

impl<'a> Walk<'a> {
    fn new(net: &'a Net, start: &Marking, wishes: WalkOptions, tell: ProgressReport<'a>) -> Self {
        let layout = Layout::for_counts(most_at_first(net, start).into_iter());
        let mut store = Store::new(layout.words());
        let first = net.places().map(|place| start.tokens(place));
        // The first marking is kept whatever the limits say.
        store.keep(&layout.pack(first).unwrap_or_default(), Room { states_max: 1, bytes_max: usize::MAX });
        let found = WalkFindings {
            moves: Moves::new(net, &layout),
            layout,
            store,
            edges: 0,
            terminal: Vec::new(),
            fired: vec![false; net.transitions().len()],
            stop: None,
            firings: wishes.keeps_firings.then(Firings::default),
        };
        Self {
            net,
            wishes,
            tell,
            found,
            next: 0,
            depth: 0,
            level_end: 1,
            batch: Batch::default(),
            widened: 0,
            told_at: 0,
        }
    }

    /// Goes on to the end, or until this transition needs a wider field.
    fn go_on(&mut self) -> Result<(), usize> {
        // Markings of a few words are worth a loop of their own: their number of words is known while compiling.
        match (self.found.layout.form(), self.found.layout.words()) {
            (Form::Bits, 1) => self.go_on_with::<Bits, _>([0; 1]),
            (Form::Bits, 2) => self.go_on_with::<Bits, _>([0; 2]),
            (Form::Bits, 3) => self.go_on_with::<Bits, _>([0; 3]),
            (Form::Bits, 4) => self.go_on_with::<Bits, _>([0; 4]),
            (Form::Bits, words) => self.go_on_with::<Bits, _>(vec![0; words]),
            (Form::Fields, 1) => self.go_on_with::<Fields, _>([0; 1]),
            (Form::Fields, 2) => self.go_on_with::<Fields, _>([0; 2]),
            (Form::Fields, 3) => self.go_on_with::<Fields, _>([0; 3]),
            (Form::Fields, 4) => self.go_on_with::<Fields, _>([0; 4]),
            (Form::Fields, words) => self.go_on_with::<Fields, _>(vec![0; words]),
            (Form::Whole, words) => self.go_on_with::<Whole, _>(vec![0; words]),
        }
    }

    fn go_on_with<W: Words, M: AsRef<[u64]> + AsMut<[u64]>>(&mut self, mut here: M) -> Result<(), usize> {
        loop {
            while self.next < self.level_end {
                let looked_at = self.fill_batch::<W, M>(&mut here);
                self.keep_batch(&here);
                looked_at?;
                if self.is_told_to_stop() {
                    return Ok(());
                }
            }
            if self.found.store.states() == self.level_end {
                return Ok(());
            }
            self.level_end = self.found.store.states();
            self.depth += 1;
        }
    }

    /// Looks at the next markings of this level and collects what they lead to.
    #[inline]
    fn fill_batch<W: Words, M: AsRef<[u64]> + AsMut<[u64]>>(&mut self, here: &mut M) -> Result<(), usize> {
        let WalkFindings { moves, store, terminal, fired, firings, .. } = &mut self.found;
        let words = here.as_ref().len();
        let candidates = &mut self.batch.markings;
        while self.next < self.level_end && candidates.len() < BATCH * words {
            let from = store.marking(self.next);
            if from.len() == words {
                here.as_mut().copy_from_slice(from);
            }
            let before = candidates.len();
            if let Err(transition) = moves.successors::<W>(here.as_ref(), candidates, fired) {
                candidates.truncate(before);
                return Err(transition);
            }
            if candidates.len() == before {
                terminal.push(self.next as u32);
            }
            if let Some(Firings { targets, ends }) = firings {
                ends.push(targets.len() + candidates.len() / words);
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Keeps what was collected; `like` is any marking, for its number of words.
    #[inline]
    fn keep_batch<M: AsRef<[u64]>>(&mut self, like: &M) {
        let words = like.as_ref().len();
        let is_too_deep = self.depth >= self.wishes.limits.depth_max;
        let states_max = if is_too_deep { 0 } else { self.wishes.limits.states_max };
        let beside = self.found.firings.as_ref().map_or(0, Firings::bytes);
        let room = Room { states_max, bytes_max: self.wishes.bytes_max.saturating_sub(beside) };
        let WalkFindings { store, firings, edges, .. } = &mut self.found;
        let mut is_complete = true;
        let mut note = |kept: Insertion| match kept {
            Insertion::As(_) => *edges += 1,
            Insertion::No => is_complete = false,
        };
        match firings {
            None => store.keep_all(&mut self.batch, words, room, note),
            Some(Firings { targets, .. }) => store.keep_all(&mut self.batch, words, room, |kept| {
                note(kept);
                targets.push(if let Insertion::As(state) = kept { state } else { u32::MAX });
            }),
        }
        if !is_complete && self.found.stop.is_none() {
            self.found.stop = Some(match states_max {
                0 if is_too_deep => Stop::Depth,
                most if self.found.store.states() >= most => Stop::States,
                _ => Stop::Bytes,
            });
        }
        // Firings are the first to go: without them only one question stays open.
        if self.found.firings.is_some() && self.found.bytes() > self.wishes.bytes_max {
            self.found.firings = None;
        }
    }

    fn is_told_to_stop(&mut self) -> bool {
        if self.next < self.told_at + TOLD_EVERY {
            return false;
        }
        self.told_at = self.next;
        let progress =
            Progress { states: self.found.store.states(), looked_at: self.next, bytes: self.found.bytes() };
        let stops = (self.tell)(progress).is_break();
        if stops && self.next < self.found.store.states() {
            self.found.stop = Some(Stop::Told);
        }
        stops
    }

    /// Packs everything anew, with room for what a transition puts; `false` if there is no memory for that.
    fn has_widened_for(&mut self, transition: usize) -> bool {
        let old = &self.found.layout;
        let mut layout = old.clone();
        let here: Vec<u64> = old.unpack(self.found.store.marking(self.next)).collect();
        let id = TransitionId(transition as u32);
        for (place, weight) in self.net.gains(id) {
            let tokens = here.get(place.index()).copied().unwrap_or(0).saturating_add(*weight);
            if !layout.fits(place.index(), tokens) {
                self.widened += 1;
                layout = layout.widened(place.index(), tokens, self.widened > WIDENED_SINGLY_MAX);
            }
        }
        let mut store = Store::new(layout.words());
        let mut packed = vec![0; layout.words()];
        // While markings move, the old ones and the new ones are both there.
        let bytes_max = self.wishes.bytes_max.saturating_sub(self.found.bytes());
        for state in 0..self.found.store.states() {
            layout.pack_into(&mut packed, old.unpack(self.found.store.marking(state)));
            if store.keep(&packed, Room { states_max: usize::MAX, bytes_max }) == Insertion::No {
                self.found.stop = self.found.stop.or(Some(Stop::Bytes));
                return false;
            }
        }
        self.found.moves = Moves::new(self.net, &layout);
        self.found.store = store;
        self.found.layout = layout;
        true
    }
}

/// What each place certainly has to count: its tokens at the start and the weights of its arcs.
fn most_at_first(net: &Net, start: &Marking) -> Vec<u64> {
    let mut most: Vec<u64> = net.places().map(|place| start.tokens(place)).collect();
    for transition in net.transitions() {
        for (place, weight) in net.inputs(transition).iter().chain(net.outputs(transition)) {
            if let Some(most) = most.get_mut(place.index()) {
                *most = (*most).max(*weight);
            }
        }
    }
    most
}
