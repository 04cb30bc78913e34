//! What makes a net grow without bound.
//!
//! [`growth`] looks for a sequence of transitions that leads from a marking to one with at least as many tokens on
//! every place and more on one: what was possible before is possible again, so the sequence can be repeated for ever.
//! Transitions that fire by themselves fire in between, as they do in [`Net::advance`]; because they could take away
//! what was won, a sequence counts only if it can really be played again and again. Missing on purpose: a decision
//! for every net; only the first [`GROWTH_STATES_MAX`] markings are looked at.

use std::collections::HashSet;

use crate::{
    id::{PlaceId, TransitionId},
    marking::Marking,
    net::{Firing, Net},
};

/// How many markings are looked at before the search is given up.
pub const GROWTH_STATES_MAX: usize = 4_096;

/// How often a sequence is played again before it is believed.
const REPEATED: usize = 3;

/// A sequence of called transitions that can be repeated for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// What leads to where it can be repeated.
    pub way: Vec<TransitionId>,
    /// What can be repeated.
    pub repeated: Vec<TransitionId>,
    /// The places that hold more tokens each time.
    pub places: Vec<PlaceId>,
}

/// Looks for the nearest sequence that makes a net grow without bound.
pub fn growth(net: &Net) -> Option<Growth> {
    let mut start = net.initial().clone();
    net.advance(&mut start);
    let mut seen: HashSet<Marking> = HashSet::from([start.clone()]);
    let mut steps = vec![Step { marking: start, by: None }];
    let mut next = 0;
    while let Some(step) = steps.get(next) {
        let marking = step.marking.clone();
        for transition in called(net, &marking) {
            let Some(after) = played(net, &marking, &[transition]) else { continue };
            if let Some(growth) = pumped(net, &steps, next, transition, &after) {
                return Some(growth);
            }
            if steps.len() < GROWTH_STATES_MAX && seen.insert(after.clone()) {
                steps.push(Step { marking: after, by: Some((next, transition)) });
            }
        }
        next += 1;
    }
    None
}

/// A marking that was reached.
struct Step {
    marking: Marking,
    /// The step before, and what was fired there.
    by: Option<(usize, TransitionId)>,
}

fn called(net: &Net, marking: &Marking) -> Vec<TransitionId> {
    net.enabled(marking).filter(|transition| net.firing(*transition) == Firing::Called).collect()
}

/// The marking after these transitions; none if one of them cannot fire.
fn played(net: &Net, marking: &Marking, transitions: &[TransitionId]) -> Option<Marking> {
    let mut marking = marking.clone();
    for transition in transitions {
        net.fire(&mut marking, *transition).ok()?;
        net.advance(&mut marking);
    }
    Some(marking)
}

/// Whether a marking outgrows one that the way to it came through.
fn pumped(net: &Net, steps: &[Step], from: usize, by: TransitionId, after: &Marking) -> Option<Growth> {
    let mut repeated = vec![by];
    let mut at = from;
    loop {
        let step = steps.get(at)?;
        if outgrows(&step.marking, after) {
            let sequence: Vec<TransitionId> = repeated.iter().rev().copied().collect();
            if goes_on(net, after, &sequence) {
                let more = |place: &PlaceId| after.tokens(*place) > step.marking.tokens(*place);
                let places = net.places().filter(more).collect();
                return Some(Growth { way: way_to(steps, at), repeated: sequence, places });
            }
        }
        let (before, transition) = step.by?;
        repeated.push(transition);
        at = before;
    }
}

/// Whether a sequence can be played again from where it led, and wins something every time.
fn goes_on(net: &Net, marking: &Marking, sequence: &[TransitionId]) -> bool {
    let mut marking = marking.clone();
    (0..REPEATED).all(|_| {
        let Some(after) = played(net, &marking, sequence) else { return false };
        let grows = outgrows(&marking, &after);
        marking = after;
        grows
    })
}

fn outgrows(marking: &Marking, after: &Marking) -> bool {
    marking != after && marking.as_slice().iter().zip(after.as_slice()).all(|(before, after)| before <= after)
}

fn way_to(steps: &[Step], mut at: usize) -> Vec<TransitionId> {
    let mut way = Vec::new();
    while let Some((before, transition)) = steps.get(at).and_then(|step| step.by) {
        way.push(transition);
        at = before;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(net: &Net) -> Option<String> {
        let names = |ids: &[TransitionId]| {
            ids.iter().map(|id| net.transition_name(*id)).collect::<Vec<_>>().join(" ")
        };
        growth(net).map(|it| {
            let places: Vec<&str> = it.places.iter().map(|place| net.place_name(*place)).collect();
            format!("{} ({}) {}", names(&it.way), names(&it.repeated), places.join(" "))
        })
    }

    #[test]
    fn the_nearest_sequence_that_grows_is_found() {
        let base = || Net::builder().place("a", 1).place("b", 0).place("c", 0);
        let rows = [
            (base().transition("t", Firing::Called, &["a"], &["a", "b"]), Some(" (t) b")),
            (base().transition("t", Firing::Called, &["a"], &["b"]), None),
            (
                base().transition("there", Firing::Called, &["a"], &["b"]).transition(
                    "back",
                    Firing::Called,
                    &["b"],
                    &["a", "c"],
                ),
                Some(" (there back) c"),
            ),
            (
                base().transition("begin", Firing::Called, &["a"], &["b"]).transition(
                    "more",
                    Firing::Called,
                    &["b"],
                    &["b", "c"],
                ),
                Some("begin (more) c"),
            ),
            (
                base().transition("there", Firing::Called, &["a"], &["b"]).transition(
                    "back",
                    Firing::Called,
                    &["b"],
                    &["a"],
                ),
                None,
            ),
            // What is won is taken away at once.
            (
                base().transition("t", Firing::Called, &["a"], &["a", "b"]).transition(
                    "sink",
                    Firing::Structural,
                    &["b"],
                    &[],
                ),
                None,
            ),
            // It looks like growth once, but what is won opens a trap that fires by itself.
            (
                base().transition("t", Firing::Called, &["a"], &["a", "b"]).transition(
                    "trap",
                    Firing::Structural,
                    &["b", "b", "a"],
                    &["c"],
                ),
                None,
            ),
        ];
        for (number, (builder, expected)) in rows.into_iter().enumerate() {
            let net = builder.build().unwrap();
            assert_eq!(told(&net).as_deref(), expected, "row {number}");
        }
    }

    #[test]
    fn a_way_longer_than_the_search_is_not_found() {
        let line = |tokens: usize| {
            let net = Net::builder().place("left", tokens as u64).place("end", 0).place("more", 0);
            net.transition("step", Firing::Called, &["left"], &["end"])
        };
        // Only after every step has been made can `grow` fire.
        let grows = |tokens: usize| {
            let all: Vec<&str> = vec!["end"; tokens];
            let mut outputs = all.clone();
            outputs.push("more");
            line(tokens).transition("grow", Firing::Called, &all, &outputs).build().unwrap()
        };
        assert!(growth(&grows(20)).is_some());
        let fits = GROWTH_STATES_MAX - 1;
        assert!(growth(&grows(fits)).is_some(), "the last marking that is looked at");
        assert!(growth(&grows(fits + 1)).is_none(), "one past it");
    }
}
