//! Packed markings, each kept once and found again by what it is.
//!
//! A [`Store`] is two lists: the words of all markings one after the other, and a table of open addresses. A slot
//! of the table is 32 bits of the marking's hash and 32 bits of its number, so most questions are answered without
//! looking at a marking, and since those same 32 bits give the place of a slot, the table grows without
//! looking at one either. Nothing is allocated for a single marking, and nothing is ever removed.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// More markings than this are never kept: the table has at most 2³² slots and stays one quarter empty.
pub(super) const STORE_STATES_MAX: usize = 3 << 30;
/// The table starts with two to the power of this many slots: enough for the nets of most rules.
const SLOT_BITS_START: u32 = 4;
/// How many candidates are looked up at once, so that the processor waits for all of them together.
pub(super) const BATCH: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Store {
    words: usize,
    markings: Vec<u64>,
    states: usize,
    slots: Vec<u64>,
    slot_bits: u32,
    seed: u64,
}

/// What became of a marking that was to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    /// It has this number.
    As(u32),
    /// There was no room for a new one.
    No,
}

/// How many markings may be kept, and how many bytes they may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) states_max: usize,
    pub(super) bytes_max: usize,
}

/// Candidates of one batch and what is known about them.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// The words of all candidates.
    pub(super) markings: Vec<u64>,
    tags: Vec<u32>,
    slots: Vec<u64>,
    /// The slot that holds a candidate, or zero if it was not found yet.
    hits: Vec<u64>,
}

impl Store {
    pub(super) fn new(words: usize) -> Self {
        // A random seed, so that an attacker cannot write a net whose markings all meet in one slot.
        let seed = RandomState::default().hash_one(words);
        Self {
            words: words.max(1),
            markings: Vec::new(),
            states: 0,
            slots: vec![0; 1 << SLOT_BITS_START],
            slot_bits: SLOT_BITS_START,
            seed,
        }
    }

    pub(super) fn states(&self) -> usize {
        self.states
    }

    /// The bytes taken by markings and table.
    pub(super) fn bytes(&self) -> usize {
        (self.markings.capacity() + self.slots.capacity()) * size_of::<u64>()
    }

    /// All words of all markings.
    pub(super) fn words(&self) -> &[u64] {
        &self.markings
    }

    pub(super) fn marking(&self, state: usize) -> &[u64] {
        let start = state * self.words;
        self.markings.get(start..start + self.words).unwrap_or_default()
    }

    pub(super) fn find(&self, marking: &[u64]) -> Option<usize> {
        self.probe(tag(self.seed, marking), marking).ok().map(|state| state as usize)
    }

    /// Keeps a marking unless it is known.
    pub(super) fn keep(&mut self, marking: &[u64], room: Room) -> Insertion {
        self.keep_tagged(tag(self.seed, marking), marking, room)
    }

    /// Keeps every candidate of a batch and returns what became of each, in order.
    ///
    /// `words` is the number of words of a marking; a caller who knows it while compiling makes this faster.
    #[inline]
    pub(super) fn keep_all(
        &mut self,
        batch: &mut Batch,
        words: usize,
        room: Room,
        mut tell: impl FnMut(Insertion),
    ) {
        let Batch { markings, tags, slots, hits } = batch;
        // Three loops in place of one: in each of them every turn is independent of the others, so the processor
        // reads many slots and many markings at the same time. It is what a prefetch would do, said in plain loops.
        tags.clear();
        tags.extend(markings.chunks_exact(words).map(|marking| tag(self.seed, marking)));
        slots.clear();
        slots.extend(tags.iter().map(|tag| self.slots.get(self.home(*tag)).copied().unwrap_or(0)));
        hits.clear();
        hits.extend(markings.chunks_exact(words).zip(slots.iter().zip(tags.iter())).map(
            |(marking, (slot, tag))| {
                let start = (*slot as u32 as usize).saturating_sub(1) * words;
                let is_same =
                    self.markings.get(start..start + words).is_some_and(|known| is_same(known, marking));
                slot * u64::from(is_same & (*slot as u32 != 0) & ((slot >> 32) as u32 == *tag))
            },
        ));
        for (marking, (hit, tag)) in markings.chunks_exact(words).zip(hits.iter().zip(tags.iter())) {
            tell(match *hit {
                0 => self.keep_tagged(*tag, marking, room),
                slot => Insertion::As(slot as u32 - 1),
            });
        }
        markings.clear();
    }

    #[inline]
    fn keep_tagged(&mut self, tag: u32, marking: &[u64], room: Room) -> Insertion {
        let free = match self.probe(tag, marking) {
            Ok(state) => return Insertion::As(state),
            Err(free) => free,
        };
        let slots = self.slots.len();
        if self.states >= room.states_max.min(STORE_STATES_MAX)
            || !self.has_grown_for_one_more(room.bytes_max)
        {
            return Insertion::No;
        }
        // A table that has grown has another free slot for it.
        let free =
            if slots == self.slots.len() { free } else { self.probe(tag, marking).err().unwrap_or(free) };
        let state = self.states as u32;
        if let Some(slot) = self.slots.get_mut(free) {
            *slot = slot_of(tag, state);
        }
        self.markings.extend_from_slice(marking);
        self.states += 1;
        Insertion::As(state)
    }

    /// The number of a marking, or the free slot where it would be put.
    #[inline]
    fn probe(&self, tag: u32, marking: &[u64]) -> Result<u32, usize> {
        let last = self.slots.len() - 1;
        let mut index = self.home(tag);
        // Invariant: a quarter of the slots is free, so this walk ends.
        loop {
            match self.slots.get(index).copied().unwrap_or(0) {
                0 => return Err(index),
                slot if (slot >> 32) as u32 == tag => {
                    let state = slot as u32 - 1;
                    let start = state as usize * marking.len();
                    let known = self.markings.get(start..start + marking.len());
                    if known.is_some_and(|known| is_same(known, marking)) {
                        return Ok(state);
                    }
                }
                _ => {}
            }
            index = (index + 1) & last;
        }
    }

    /// The slot where the search for a hash begins.
    fn home(&self, tag: u32) -> usize {
        (u64::from(tag) >> (32 - self.slot_bits)) as usize
    }

    /// Makes room for one more marking, unless that would take too many bytes.
    #[inline]
    fn has_grown_for_one_more(&mut self, bytes_max: usize) -> bool {
        const WORD_BYTES: usize = size_of::<u64>();
        if self.markings.len() + self.words > self.markings.capacity() {
            // Half as much again: doubling would leave up to half of the memory unused.
            let more = (self.markings.len() / 2).max(16 * self.words);
            if self.bytes() + more * WORD_BYTES > bytes_max {
                return false;
            }
            self.markings.reserve_exact(more);
        }
        if (self.states + 1) * 4 > self.slots.len() * 3 {
            // While the table moves, the old one and the new one are both there.
            if self.bytes() + 2 * self.slots.len() * WORD_BYTES > bytes_max {
                return false;
            }
            self.double_the_table();
        }
        true
    }

    fn double_the_table(&mut self) {
        let old = std::mem::replace(&mut self.slots, vec![0; 2 << self.slot_bits]);
        self.slot_bits += 1;
        let last = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut index = self.home((slot >> 32) as u32);
            while self.slots.get(index).is_some_and(|taken| *taken != 0) {
                index = (index + 1) & last;
            }
            if let Some(free) = self.slots.get_mut(index) {
                *free = slot;
            }
        }
    }
}

/// Whether two markings of the same number of words are the same: most are so short that a call to compare them would take
/// longer than the comparison.
#[inline]
fn is_same(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).fold(0, |difference, (one, other)| difference | one ^ other) == 0
}

/// Zero is a free slot, so numbers count from one in here.
fn slot_of(tag: u32, state: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(state + 1)
}

/// The upper half of a hash: a multiplication for each word, both halves of the product folded together.
#[inline]
fn tag(seed: u64, marking: &[u64]) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let hash = marking.iter().fold(seed, |hash, word| fold(hash ^ word, ODD).wrapping_add(ODD));
    (fold(hash, ODD ^ seed.rotate_left(32)) >> 32) as u32
}
