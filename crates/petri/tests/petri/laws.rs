//! Laws that hold for all nets, each compared with something slow and obvious.

use std::{collections::BTreeMap, ops::RangeInclusive};

use lockgate_petri::{
    Firing::{self, Called, Structural},
    Limits, Marking, Net, Reach, TransitionId, explore,
};
use proptest::{collection::vec, prelude::*};

const STATES_MAX: usize = 300;

/// A net as plain lists: the tokens of each place, and of each transition who fires it and how many
/// tokens it takes and puts, place by place.
#[derive(Clone, Debug)]
struct Plain {
    tokens: Vec<u64>,
    transitions: Vec<(Firing, Vec<u64>, Vec<u64>)>,
}

type Distances = BTreeMap<Vec<u64>, usize>;

fn plain_nets() -> impl Strategy<Value = Plain> {
    plain_nets_of(1..=4, 4)
}

fn plain_nets_of(places: RangeInclusive<usize>, transitions_max: usize) -> impl Strategy<Value = Plain> {
    places.prop_flat_map(move |places| {
        let weights = || vec(prop_oneof![4 => Just(0_u64), 3 => Just(1), 1 => Just(2)], places);
        let firing = prop_oneof![Just(Called), Just(Structural)];
        let transitions = vec((firing, weights(), weights()), 0..=transitions_max);
        (vec(0_u64..=3, places), transitions).prop_map(|(tokens, transitions)| Plain { tokens, transitions })
    })
}

impl Plain {
    /// The same net, built; with every transition called if it would not be accepted otherwise.
    fn build(&mut self) -> Net {
        self.try_build().unwrap_or_else(|| {
            self.transitions.iter_mut().for_each(|(firing, ..)| *firing = Called);
            self.try_build().unwrap()
        })
    }

    fn try_build(&self) -> Option<Net> {
        let names: Vec<String> = (0..self.tokens.len()).map(|place| format!("p{place}")).collect();
        let places = names.iter().zip(&self.tokens);
        let builder = places.fold(Net::builder(), |builder, (name, tokens)| builder.place(name, *tokens));
        let arcs = |weights: &[u64]| -> Vec<(&str, u64)> {
            let all = names.iter().map(String::as_str).zip(weights.iter().copied());
            all.filter(|(_, weight)| *weight > 0).collect()
        };
        let transitions = self.transitions.iter().enumerate();
        let builder = transitions.fold(builder, |builder, (index, (firing, inputs, outputs))| {
            builder.weighted(format!("t{index}"), *firing, &arcs(inputs), &arcs(outputs))
        });
        builder.build().ok()
    }

    fn fire(&self, tokens: &[u64], transition: usize) -> Option<Vec<u64>> {
        let (_, inputs, outputs) = &self.transitions[transition];
        (0..tokens.len()).map(|p| Some(tokens[p].checked_sub(inputs[p])? + outputs[p])).collect()
    }

    /// All reachable markings with their distance, and which transitions fired; none if too many.
    fn explore(&self) -> Option<(Distances, Vec<bool>)> {
        let mut distances = BTreeMap::from([(self.tokens.clone(), 0)]);
        let mut fired = vec![false; self.transitions.len()];
        for distance in 0.. {
            let frontier = distances.iter().filter(|(_, d)| **d == distance);
            let frontier: Vec<_> = frontier.map(|(tokens, _)| tokens.clone()).collect();
            if frontier.is_empty() {
                break;
            }
            for (tokens, transition) in
                frontier.iter().flat_map(|from| (0..self.transitions.len()).map(move |t| (from, t)))
            {
                if let Some(after) = self.fire(tokens, transition) {
                    fired[transition] = true;
                    distances.entry(after).or_insert(distance + 1);
                }
            }
            if distances.len() > STATES_MAX {
                return None;
            }
        }
        Some((distances, fired))
    }

    /// Advances by comparing every enabled structural transition with every other one.
    fn advance(&self, mut tokens: Vec<u64>) -> Vec<u64> {
        loop {
            let is_structural = |t: &usize| self.transitions[*t].0 == Structural;
            let enabled: Vec<usize> = (0..self.transitions.len())
                .filter(|t| is_structural(t) && self.fire(&tokens, *t).is_some())
                .collect();
            let needs = |t: usize, p: usize| self.transitions[t].1[p];
            let conflict = |a: usize, b: usize| {
                let too_few = |p| needs(a, p) > 0 && needs(b, p) > 0 && tokens[p] < needs(a, p) + needs(b, p);
                a != b && (0..tokens.len()).any(too_few)
            };
            let free = enabled.iter().filter(|a| !enabled.iter().any(|b| conflict(**a, *b)));
            let after = free.fold(tokens.clone(), |tokens, t| self.fire(&tokens, *t).unwrap_or(tokens));
            if after == tokens {
                return tokens;
            }
            tokens = after;
        }
    }
}

proptest! {
    #[test]
    fn a_state_space_is_what_naive_search_finds(mut plain in plain_nets()) {
        let net = plain.build();
        let space = explore(&net, Limits { states_max: STATES_MAX, depth_max: usize::MAX });
        let naive = plain.explore();
        prop_assert_eq!(space.is_complete(), naive.is_some());
        let Some((distances, fired)) = naive else { return Ok(()) };
        prop_assert_eq!(space.states(), distances.len());

        for (tokens, distance) in &distances {
            let Reach::By(trace) = space.shortest_trace_to(|marking| marking.as_slice() == tokens) else {
                panic!("{tokens:?} was not reached");
            };
            prop_assert_eq!(trace.len(), *distance);
            let mut marking = net.initial().clone();
            for transition in trace {
                net.fire(&mut marking, transition).unwrap();
            }
            prop_assert_eq!(marking.as_slice(), tokens);
        }
        for place in net.places() {
            let highest = distances.keys().map(|tokens| tokens[place.index()]).max();
            prop_assert_eq!(space.bound(place), highest);
        }
        let dead = space.dead_transitions().unwrap();
        prop_assert!(net.transitions().all(|t| dead.contains(&t) != fired[t.index()]));
        let edges = distances.keys().map(|tokens| {
            (0..fired.len()).filter(|transition| plain.fire(tokens, *transition).is_some()).count()
        });
        prop_assert_eq!(space.edges(), edges.clone().sum::<usize>());
        prop_assert_eq!(space.terminal().count(), edges.filter(|count| *count == 0).count());
    }

    #[test]
    fn taking_and_giving_back_changes_nothing(mut plain in plain_nets(), tokens in vec(0_u64..=4, 4)) {
        let net = plain.build();
        let before = Marking::from_tokens(tokens.into_iter().take(plain.tokens.len()));
        for transition in net.transitions() {
            let (mut taken, mut fired) = (before.clone(), before.clone());
            let (take, fire) = (net.take(&mut taken, transition), net.fire(&mut fired, transition));
            prop_assert_eq!(take, fire);
            prop_assert_eq!(take.is_ok(), net.is_enabled(&before, transition));
            prop_assert!(net.places().all(|p| taken.tokens(p) == before.tokens(p).min(fired.tokens(p))));
            if take.is_ok() {
                net.give_back(&mut taken, transition);
            }
            prop_assert_eq!(&taken, &before);
        }
    }

    #[test]
    fn advancing_is_what_comparing_every_pair_gives(mut plain in plain_nets()) {
        let net = plain.build();
        let mut marking = net.initial().clone();
        prop_assert!(net.advance(&mut marking));
        prop_assert_eq!(marking.as_slice(), plain.advance(plain.tokens.clone()));
        let rested = marking.clone();
        prop_assert!(net.advance(&mut marking));
        prop_assert_eq!(marking, rested);
    }

    #[test]
    fn accepted_structural_transitions_come_to_rest_in_any_order(
        mut plain in plain_nets(),
        choices in vec(0_usize..4, 1..20),
    ) {
        let net = plain.build();
        let mut marking = net.initial().clone();
        let mut choices = choices.into_iter().cycle();
        for firings in 0.. {
            let structural = |t: &TransitionId| net.firing(*t) == Structural;
            let enabled: Vec<_> = net.enabled(&marking).filter(structural).collect();
            if enabled.is_empty() {
                break;
            }
            // Three tokens a place, doubled at most at each of four transitions, are far fewer.
            prop_assert!(firings < 10_000);
            net.fire(&mut marking, enabled[choices.next().unwrap() % enabled.len()]).unwrap();
        }
    }
}
