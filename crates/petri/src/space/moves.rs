//! The transitions of a net, made ready for packed markings.
//!
//! Every transition waits at one of its input places, the trigger: only those whose trigger holds tokens are
//! looked at, and of those [`Moves::successors`] writes down where each enabled one leads. What a transition
//! asks of one word, and does to it, is one [`Step`], whatever the number of places in that word.

use crate::{id::PlaceId, net::Net};

use super::layout::{Form, Layout, Masks, WORD};

/// All transitions, sorted by the place they wait at.
#[derive(Clone, Debug)]
pub(super) struct Moves {
    moves: Vec<Move>,
    steps: Vec<Step>,
    masks: Vec<Masks>,
    /// How many of the moves wait for nothing; they come first.
    unconditional: usize,
    /// For every bit by which a word can say that a place is marked: the moves that wait there.
    waiting: Vec<(u32, u32)>,
    bits_per_word: usize,
}

#[derive(Clone, Copy, Debug)]
struct Move {
    transition: usize,
    first: Step,
    /// Where its further steps are; most transitions touch a single word.
    more: (usize, usize),
}

/// What a transition does to one word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    word: usize,
    need: u64,
    take: u64,
    put: u64,
    guard: u64,
}

/// How to work on words of one [`Form`].
pub(super) trait Words {
    /// Whether a field that runs over cannot be widened any more.
    const IS_WIDEST: bool;
    /// One bit for every place that holds tokens.
    fn marked(word: u64, masks: Masks) -> u64;
    fn enables(word: u64, step: &Step) -> bool;
    /// The word after an enabled step; none if a field ran over.
    fn after(word: u64, step: &Step) -> Option<u64>;
}

pub(super) struct Bits;
pub(super) struct Fields;
pub(super) struct Whole;

impl Words for Bits {
    const IS_WIDEST: bool = false;

    fn marked(word: u64, _: Masks) -> u64 {
        word
    }

    fn enables(word: u64, step: &Step) -> bool {
        word & step.need == step.need
    }

    fn after(word: u64, step: &Step) -> Option<u64> {
        let rest = word & !step.take;
        (rest & step.put == 0).then_some(rest | step.put)
    }
}

impl Words for Fields {
    const IS_WIDEST: bool = false;

    fn marked(word: u64, masks: Masks) -> u64 {
        (word | masks.guard).wrapping_sub(masks.low) & masks.guard
    }

    fn enables(word: u64, step: &Step) -> bool {
        // A field that holds too little borrows from its own guard and from nothing else.
        (word | step.guard).wrapping_sub(step.need) & step.guard == step.guard
    }

    fn after(word: u64, step: &Step) -> Option<u64> {
        let after = word.wrapping_sub(step.take).wrapping_add(step.put);
        (after & step.guard == 0).then_some(after)
    }
}

impl Words for Whole {
    const IS_WIDEST: bool = true;

    fn marked(word: u64, _: Masks) -> u64 {
        u64::from(word != 0)
    }

    fn enables(word: u64, step: &Step) -> bool {
        word >= step.need
    }

    fn after(word: u64, step: &Step) -> Option<u64> {
        word.wrapping_sub(step.take).checked_add(step.put)
    }
}

impl Moves {
    /// The transitions of a net for a layout that has room for the weight of every arc.
    pub(super) fn new(net: &Net, layout: &Layout) -> Self {
        let bits_per_word = if layout.form() == Form::Whole { 1 } else { WORD as usize };
        let mut this = Self {
            moves: Vec::with_capacity(net.transitions().len()),
            steps: Vec::new(),
            masks: layout.masks().to_vec(),
            unconditional: 0,
            waiting: vec![(0, 0); layout.words() * bits_per_word],
            bits_per_word,
        };
        for (trigger, transition) in by_trigger(net) {
            let start = this.moves.len() as u32;
            this.push(net, layout, transition);
            match trigger.map(|place| this.bit_of(layout, place)) {
                None => this.unconditional += 1,
                Some(bit) => {
                    if let Some((first, end)) = this.waiting.get_mut(bit) {
                        *first = if *first == *end { start } else { *first };
                        *end = start + 1;
                    }
                }
            }
        }
        this
    }

    fn push(&mut self, net: &Net, layout: &Layout, transition: usize) {
        let mut steps: Vec<Step> = Vec::new();
        let Some(id) = net.transitions().nth(transition) else { return };
        let mut note = |arcs: &[(PlaceId, u64)], side: fn(&mut Step) -> &mut u64| {
            for (place, weight) in arcs {
                let Some(field) = layout.field(place.index()) else { continue };
                let known = steps.iter().position(|step| step.word == field.word);
                let index = known.unwrap_or_else(|| {
                    let guard = layout.masks().get(field.word).map_or(0, |masks| masks.guard);
                    steps.push(Step { word: field.word, guard, ..Step::default() });
                    steps.len() - 1
                });
                if let Some(step) = steps.get_mut(index) {
                    *side(step) |= weight << field.shift;
                }
            }
        };
        note(net.inputs(id), |step| &mut step.need);
        note(net.losses(id), |step| &mut step.take);
        note(net.gains(id), |step| &mut step.put);
        let mut steps = steps.into_iter();
        let first = steps.next().unwrap_or_default();
        let start = self.steps.len();
        self.steps.extend(steps);
        self.moves.push(Move { transition, first, more: (start, self.steps.len()) });
    }

    /// The bit by which [`Words::marked`] says that a place holds tokens, counted over all words.
    fn bit_of(&self, layout: &Layout, place: usize) -> usize {
        let Some(field) = layout.field(place) else { return usize::MAX };
        let guards_below = |guard: u64| (guard >> field.shift).trailing_zeros() + field.shift;
        let bit = match layout.form() {
            Form::Bits => field.shift,
            Form::Fields => self.masks.get(field.word).map_or(0, |masks| guards_below(masks.guard)),
            Form::Whole => 0,
        };
        field.word * self.bits_per_word + bit as usize
    }

    /// Appends the markings that `here` leads to by one firing each, and notes which transitions fired.
    ///
    /// # Errors
    /// The transition that needs a wider layout; what was appended before it means nothing.
    #[inline]
    pub(super) fn successors<W: Words>(
        &self,
        here: &[u64],
        after: &mut Vec<u64>,
        fired: &mut [bool],
    ) -> Result<(), usize> {
        for step in self.moves.get(..self.unconditional).unwrap_or_default() {
            self.fire::<W>(step, here, after, fired)?;
        }
        for (index, (word, masks)) in here.iter().zip(&self.masks).enumerate() {
            let mut marked = W::marked(*word, *masks);
            while marked != 0 {
                let bit = index * self.bits_per_word + marked.trailing_zeros() as usize;
                marked &= marked - 1;
                let (start, end) = self.waiting.get(bit).copied().unwrap_or_default();
                for step in self.moves.get(start as usize..end as usize).unwrap_or_default() {
                    self.fire::<W>(step, here, after, fired)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn fire<W: Words>(
        &self,
        this: &Move,
        here: &[u64],
        after: &mut Vec<u64>,
        fired: &mut [bool],
    ) -> Result<(), usize> {
        let word = |step: &Step| here.get(step.word).copied().unwrap_or(0);
        if !W::enables(word(&this.first), &this.first) {
            return Ok(());
        }
        let more = if this.more.0 == this.more.1 { &[] } else { self.more(this) };
        if !more.iter().all(|step| W::enables(word(step), step)) {
            return Ok(());
        }
        let start = after.len();
        after.extend_from_slice(here);
        let there = after.get_mut(start..).unwrap_or_default();
        for step in std::iter::once(&this.first).chain(more) {
            match (W::after(word(step), step), there.get_mut(step.word)) {
                (Some(new), Some(old)) => *old = new,
                // What no word can count does not fire, here as anywhere.
                _ if W::IS_WIDEST => {
                    after.truncate(start);
                    return Ok(());
                }
                _ => return Err(this.transition),
            }
        }
        if let Some(fired) = fired.get_mut(this.transition) {
            *fired = true;
        }
        Ok(())
    }

    fn more(&self, this: &Move) -> &[Step] {
        self.steps.get(this.more.0..this.more.1).unwrap_or_default()
    }
}

/// Every transition after the input place it waits at, sorted by that place.
///
/// The best trigger is a place that is rarely marked. Which that is is not known beforehand; a place that starts
/// empty, and among several the one where fewest others wait, is a good guess.
fn by_trigger(net: &Net) -> Vec<(Option<usize>, usize)> {
    let mut waiting = vec![0_usize; net.places().len()];
    let mut all: Vec<(Option<usize>, usize)> = Vec::with_capacity(net.transitions().len());
    for transition in net.transitions() {
        let inputs = net.inputs(transition).iter().map(|(place, _)| *place);
        let cost = |place: &PlaceId| {
            (net.initial().tokens(*place) > 0, waiting.get(place.index()).copied().unwrap_or(0))
        };
        let trigger = inputs.min_by_key(cost).map(PlaceId::index);
        if let Some(count) = trigger.and_then(|place| waiting.get_mut(place)) {
            *count += 1;
        }
        all.push((trigger, transition.index()));
    }
    all.sort_unstable();
    all
}
