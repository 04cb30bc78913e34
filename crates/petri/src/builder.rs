//! Building nets, and refusing those that mean nothing.
//!
//! [`NetBuilder::build`] reports every mistake at once, so that an author mends a net in one go; only
//! whether it comes to rest is asked last, once the arcs are what the author meant.
//! A net that is built has unique names, arcs only to declared places, and structural transitions
//! that come to rest whatever the marking. There is no way to change a net afterwards.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{
    error::NetError,
    id::{PlaceId, TransitionId},
    marking::Marking,
    net::{Arcs, Firing, Net, Transition},
    rest,
};

/// Most places a net may have.
pub const PLACES_MAX: usize = 65_536;
/// Most transitions a net may have.
pub const TRANSITIONS_MAX: usize = 65_536;

/// A net in the making: [`place`](Self::place) and [`transition`](Self::transition) in any order,
/// then [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct NetBuilder {
    places: Vec<(String, u64)>,
    transitions: Vec<Draft>,
}

#[derive(Clone, Debug)]
struct Draft {
    name: String,
    firing: Firing,
    inputs: Vec<(String, u64)>,
    outputs: Vec<(String, u64)>,
}

impl Net {
    /// Starts an empty net.
    pub fn builder() -> NetBuilder {
        NetBuilder::default()
    }
}

impl NetBuilder {
    /// Declares a place with the tokens it holds at the start.
    #[must_use]
    pub fn place(mut self, name: impl Into<String>, tokens: u64) -> Self {
        self.places.push((name.into(), tokens));
        self
    }

    /// Adds a transition. A place named twice is an arc of weight two.
    #[must_use]
    pub fn transition(
        self,
        name: impl Into<String>,
        firing: Firing,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Self {
        let [inputs, outputs] =
            [inputs, outputs].map(|places| places.iter().map(|place| (*place, 1)).collect::<Vec<_>>());
        self.weighted(name, firing, &inputs, &outputs)
    }

    /// Adds a transition whose arcs say their weight. Arcs to the same place add up.
    #[must_use]
    pub fn weighted(
        mut self,
        name: impl Into<String>,
        firing: Firing,
        inputs: &[(&str, u64)],
        outputs: &[(&str, u64)],
    ) -> Self {
        let owned = |arcs: &[(&str, u64)]| {
            arcs.iter().map(|(place, weight)| ((*place).to_owned(), *weight)).collect()
        };
        let draft = Draft { name: name.into(), firing, inputs: owned(inputs), outputs: owned(outputs) };
        self.transitions.push(draft);
        self
    }

    /// The finished net, or everything that is wrong with it.
    pub fn build(self) -> Result<Net, Vec<NetError>> {
        let mut errors = self.too_large();
        if !errors.is_empty() {
            return Err(errors);
        }
        let transitions = self.transitions(&mut errors);
        // Only a net that says what it means can be judged: a missing arc would look like a source.
        if errors.is_empty() {
            errors.extend(rest::never_rests(&transitions, self.places.len()));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let (places, tokens): (Vec<_>, Vec<_>) = self.places.into_iter().unzip();
        let by_id = (0..).map(TransitionId).zip(&transitions);
        let structural = by_id.filter(|(_, transition)| transition.firing == Firing::Structural);
        let structural = structural.map(|(id, _)| id).collect();
        Ok(Net { places, transitions, initial: Marking::from_tokens(tokens), structural })
    }

    /// The transitions with their arcs resolved, as far as they can be.
    fn transitions(&self, errors: &mut Vec<NetError>) -> Vec<Transition> {
        let mut places = Places::declare(&self.places, errors);
        let names = self.transitions.iter().map(|draft| draft.name.as_str());
        errors.extend(repeated(names).map(|name| NetError::DuplicateTransition { transition: name.into() }));
        let resolve = |draft: &Draft| {
            let inputs = places.arcs(&draft.name, &draft.inputs, errors);
            let outputs = places.arcs(&draft.name, &draft.outputs, errors);
            Transition::new(draft.name.clone(), draft.firing, inputs, outputs)
        };
        self.transitions.iter().map(resolve).collect()
    }

    fn too_large(&self) -> Vec<NetError> {
        [("places", self.places.len(), PLACES_MAX), ("transitions", self.transitions.len(), TRANSITIONS_MAX)]
            .into_iter()
            .filter(|(_, count, most)| count > most)
            .map(|(what, _, most)| NetError::TooLarge { what, most: most as u64 })
            .collect()
    }
}

/// The declared places, and how many comparisons are left for guessing what a misspelt one meant.
struct Places<'a> {
    ids: HashMap<&'a str, PlaceId, RandomState>,
    declared: &'a [(String, u64)],
    comparisons_left: usize,
}

/// Most names compared over a whole net in search of the closest; then the guesses stop, the errors do not.
const COMPARISONS_MAX: usize = 100_000;
/// Longer names are not compared: the work grows with the product of both lengths.
const COMPARED_BYTES_MAX: usize = 64;

impl<'a> Places<'a> {
    fn declare(declared: &'a [(String, u64)], errors: &mut Vec<NetError>) -> Self {
        let names = || declared.iter().map(|(name, _)| name.as_str());
        errors.extend(repeated(names()).map(|name| NetError::DuplicatePlace { place: name.into() }));
        let ids = names().zip((0..).map(PlaceId)).collect();
        Self { ids, declared, comparisons_left: COMPARISONS_MAX }
    }

    fn arcs(&mut self, transition: &str, named: &[(String, u64)], errors: &mut Vec<NetError>) -> Arcs {
        let mut arcs = Arcs::new();
        for (name, weight) in named {
            let Some(&place) = self.ids.get(name.as_str()) else {
                let (transition, place) = (transition.to_owned(), name.clone());
                errors.push(NetError::UndeclaredPlace { transition, place, closest: self.closest(name) });
                continue;
            };
            if *weight == 0 {
                let (transition, place) = (transition.to_owned(), name.clone());
                errors.push(NetError::ZeroWeight { transition, place });
            }
            arcs.push((place, *weight));
        }
        arcs.sort_unstable_by_key(|(place, _)| *place);
        arcs.dedup_by(|(place, weight), (kept, sum)| {
            if place != kept {
                return false;
            }
            match sum.checked_add(*weight) {
                Some(total) => *sum = total,
                None => errors.push(NetError::TooLarge { what: "tokens on one arc", most: u64::MAX }),
            }
            true
        });
        arcs
    }

    /// The declared name that looks most like this one, if any looks like it at all.
    fn closest(&mut self, name: &str) -> Option<String> {
        let mut best = None;
        for (candidate, _) in self.declared {
            if name.len().max(candidate.len()) > COMPARED_BYTES_MAX || self.comparisons_left == 0 {
                continue;
            }
            self.comparisons_left -= 1;
            let distance = strsim::osa_distance(name, candidate);
            let alike = distance * 3 <= name.chars().count().max(candidate.chars().count());
            if alike && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate.clone())
    }
}

/// The names that occur more than once, each once, in the order of their second occurrence.
fn repeated<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let mut seen: HashMap<&str, usize, RandomState> = HashMap::default();
    names.filter(move |name| {
        let count = seen.entry(name).or_default();
        *count += 1;
        *count == 2
    })
}
