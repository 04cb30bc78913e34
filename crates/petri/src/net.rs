//! Nets and firing.
//!
//! [`Net::fire`] changes a marking completely or not at all: a transition without its tokens and a
//! place that would overflow are errors, never a wrap and never half a firing. Asking and firing
//! allocate nothing. There are no inhibitor arcs, capacities, priorities or time: every rule we run
//! can be said without them, and what is proved about plain nets stays easy to believe.

use smallvec::SmallVec;

use crate::{
    id::{PlaceId, TransitionId},
    marking::Marking,
};

/// Who fires a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Firing {
    /// It fires by itself, in [`Net::advance`].
    Structural,
    /// It waits until it is fired.
    Called,
}

/// Why a transition did not fire; the marking is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotFire {
    /// An input place holds too few tokens.
    #[error("transition {} lacks tokens on an input place", .0.index())]
    NotEnabled(TransitionId),
    /// An output place cannot hold that many tokens.
    #[error("transition {} would put more tokens on place {} than can be counted", .0.index(), .1.index())]
    Overflow(TransitionId, PlaceId),
}

/// A Petri net with named places and transitions, weighted arcs and the marking it starts from.
///
/// Ids belong to the net that gave them. With an id or a marking of another net nothing panics: such
/// a transition is never enabled, has no arcs, and its name is empty.
#[derive(Clone, Debug)]
pub struct Net {
    pub(crate) places: Vec<String>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) initial: Marking,
    /// The structural transitions, so that advancing does not look at the others.
    pub(crate) structural: Vec<TransitionId>,
}

/// Arcs to or from different places, sorted by place; two fit without a detour through the heap.
pub(crate) type Arcs = SmallVec<[(PlaceId, u64); 2]>;

#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) name: String,
    pub(crate) firing: Firing,
    pub(crate) inputs: Arcs,
    pub(crate) outputs: Arcs,
    /// Input weight beyond the output weight of the same place: what a firing really uses up.
    pub(crate) losses: Arcs,
    /// Output weight beyond the input weight of the same place.
    pub(crate) gains: Arcs,
}

impl Net {
    /// All places, in the order they were declared.
    pub fn places(&self) -> impl ExactSizeIterator<Item = PlaceId> + use<> {
        (0..self.places.len() as u32).map(PlaceId)
    }

    /// The name of a place.
    pub fn place_name(&self, place: PlaceId) -> &str {
        self.places.get(place.index()).map_or("", String::as_str)
    }

    /// The place with this name. Looks at one after the other: ask once and keep the id.
    pub fn place(&self, name: &str) -> Option<PlaceId> {
        self.places().find(|place| self.place_name(*place) == name)
    }

    /// All transitions, in the order they were declared.
    pub fn transitions(&self) -> impl ExactSizeIterator<Item = TransitionId> + use<> {
        (0..self.transitions.len() as u32).map(TransitionId)
    }

    /// The name of a transition.
    pub fn transition_name(&self, transition: TransitionId) -> &str {
        self.get(transition).map_or("", |transition| &transition.name)
    }

    /// The transition with this name. Looks at one after the other: ask once and keep the id.
    pub fn transition(&self, name: &str) -> Option<TransitionId> {
        self.transitions().find(|transition| self.transition_name(*transition) == name)
    }

    /// The places a transition takes tokens from, each once, with the weight of its arc, in the order
    /// the places were declared.
    pub fn inputs(&self, transition: TransitionId) -> &[(PlaceId, u64)] {
        self.get(transition).map_or(&[], |transition| &transition.inputs)
    }

    /// The places a transition puts tokens into, each once, with the weight of its arc, in the order
    /// the places were declared.
    pub fn outputs(&self, transition: TransitionId) -> &[(PlaceId, u64)] {
        self.get(transition).map_or(&[], |transition| &transition.outputs)
    }

    /// Who fires a transition.
    pub fn firing(&self, transition: TransitionId) -> Firing {
        self.get(transition).map_or(Firing::Called, |transition| transition.firing)
    }

    /// The marking the net starts from, before anything has fired.
    pub fn initial(&self) -> &Marking {
        &self.initial
    }

    /// Whether every input place holds the tokens the transition takes.
    pub fn is_enabled(&self, marking: &Marking, transition: TransitionId) -> bool {
        self.get(transition).is_some_and(|transition| transition.is_enabled(marking))
    }

    /// The enabled transitions, in the order they were declared.
    pub fn enabled<'a>(&'a self, marking: &'a Marking) -> impl Iterator<Item = TransitionId> + 'a {
        self.transitions().filter(|transition| self.is_enabled(marking, *transition))
    }

    /// Fires a transition: takes its input tokens, then puts its output tokens.
    pub fn fire(&self, marking: &mut Marking, transition: TransitionId) -> Result<(), CannotFire> {
        let Transition { losses, gains, .. } = self.enabled_transition(marking, transition)?;
        let full = |&&(place, weight): &&(PlaceId, u64)| {
            !marking.covers(place) || marking.tokens(place).checked_add(weight).is_none()
        };
        if let Some((place, _)) = gains.iter().find(full) {
            return Err(CannotFire::Overflow(transition, *place));
        }
        remove(marking, losses);
        add(marking, gains);
        Ok(())
    }

    /// Takes the tokens a firing would use up, and puts nothing: a reservation. What the transition
    /// only reads (takes and puts back) stays where it is.
    ///
    /// To fire in the end, [`give_back`](Self::give_back) and then [`fire`](Self::fire).
    pub fn take(&self, marking: &mut Marking, transition: TransitionId) -> Result<(), CannotFire> {
        let Transition { losses, .. } = self.enabled_transition(marking, transition)?;
        remove(marking, losses);
        Ok(())
    }

    /// Puts back exactly what [`take`](Self::take) took. A place that has meanwhile been filled to
    /// the brim of `u64` stays at the brim.
    pub fn give_back(&self, marking: &mut Marking, transition: TransitionId) {
        if let Some(transition) = self.get(transition) {
            add(marking, &transition.losses);
        }
    }

    /// Whether the sum of tokens with these weights, in the order the places were declared, is left
    /// alone by every transition. Places without a weight count nothing. `false` also where the
    /// numbers are too large to tell.
    pub fn holds(&self, weights: &[i64]) -> bool {
        let weigh = |arcs: &[(PlaceId, u64)]| {
            arcs.iter().try_fold(0_i128, |sum, (place, tokens)| {
                let weight = i128::from(weights.get(place.index()).copied().unwrap_or(0));
                sum.checked_add(weight.checked_mul(i128::from(*tokens))?)
            })
        };
        self.transitions().all(|transition| {
            let (taken, put) = (weigh(self.inputs(transition)), weigh(self.outputs(transition)));
            taken.is_some() && taken == put
        })
    }

    /// What a firing really uses up.
    pub(crate) fn losses(&self, transition: TransitionId) -> &[(PlaceId, u64)] {
        self.get(transition).map_or(&[], |transition| &transition.losses)
    }

    /// What a firing really adds.
    pub(crate) fn gains(&self, transition: TransitionId) -> &[(PlaceId, u64)] {
        self.get(transition).map_or(&[], |transition| &transition.gains)
    }

    fn enabled_transition(&self, marking: &Marking, id: TransitionId) -> Result<&Transition, CannotFire> {
        self.get(id).filter(|transition| transition.is_enabled(marking)).ok_or(CannotFire::NotEnabled(id))
    }

    fn get(&self, transition: TransitionId) -> Option<&Transition> {
        self.transitions.get(transition.index())
    }
}

impl Transition {
    pub(crate) fn new(name: String, firing: Firing, inputs: Arcs, outputs: Arcs) -> Self {
        let losses = surplus(&inputs, &outputs);
        let gains = surplus(&outputs, &inputs);
        Self { name, firing, inputs, outputs, losses, gains }
    }

    fn is_enabled(&self, marking: &Marking) -> bool {
        self.inputs.iter().all(|(place, weight)| marking.tokens(*place) >= *weight)
    }
}

/// The weight that `arcs` carry beyond those of `others` to the same place.
fn surplus(arcs: &Arcs, others: &Arcs) -> Arcs {
    let beyond =
        |(place, weight): &(PlaceId, u64)| (*place, weight.saturating_sub(weight_of(others, *place)));
    arcs.iter().map(beyond).filter(|(_, weight)| *weight > 0).collect()
}

/// The weight of the arc with a place; zero if there is none.
pub(crate) fn weight_of(arcs: &[(PlaceId, u64)], place: PlaceId) -> u64 {
    let index = arcs.binary_search_by_key(&place, |(end, _)| *end);
    index.ok().and_then(|index| arcs.get(index)).map_or(0, |(_, weight)| *weight)
}

// Both callers have checked the tokens already; saturation only spells out that nothing ever wraps.
fn remove(marking: &mut Marking, arcs: &Arcs) {
    for (place, weight) in arcs {
        if let Some(tokens) = marking.tokens_mut(*place) {
            *tokens = tokens.saturating_sub(*weight);
        }
    }
}

fn add(marking: &mut Marking, arcs: &Arcs) {
    for (place, weight) in arcs {
        if let Some(tokens) = marking.tokens_mut(*place) {
            *tokens = tokens.saturating_add(*weight);
        }
    }
}
