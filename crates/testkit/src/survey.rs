//! State spaces, slow and obvious: what an exploration is compared with.
//!
//! A [`PlainNet`] is two tables of numbers, and a [`Survey`] is made by trying everything again and again. It shares
//! no code and no idea with the explorer it judges, and is of no use for more than a few hundred markings.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::petri::{Firing, Net};

/// A net as plain lists.
#[derive(Clone, Debug)]
pub struct PlainNet {
    /// The tokens of each place.
    pub tokens: Vec<u64>,
    /// What each transition takes and puts, place by place.
    pub transitions: Vec<(Vec<u64>, Vec<u64>)>,
}

/// Everything about a small state space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Every reachable marking with its distance from the first.
    pub distances: BTreeMap<Vec<u64>, usize>,
    /// How many firings there are.
    pub firings: usize,
    /// The transitions that never fire.
    pub dead: Vec<usize>,
    /// The transitions that some marking makes impossible for ever.
    pub lost: Vec<usize>,
    /// The distances of the markings in which nothing fires, in order.
    pub ends: Vec<usize>,
    /// The most tokens on each place.
    pub most: Vec<u64>,
}

impl PlainNet {
    /// The same net for the explorer; its places are `p0`, `p1` … and its transitions `t0`, `t1` ….
    pub fn build(&self) -> Net {
        let names: Vec<String> = (0..self.tokens.len()).map(|place| format!("p{place}")).collect();
        let places = names.iter().zip(&self.tokens);
        let mut builder = places.fold(Net::builder(), |net, (name, tokens)| net.place(name, *tokens));
        for (index, (takes, puts)) in self.transitions.iter().enumerate() {
            let arcs = |weights: &[u64]| -> Vec<(&str, u64)> {
                let all = names.iter().map(String::as_str).zip(weights.iter().copied());
                all.filter(|(_, weight)| *weight > 0).collect()
            };
            builder = builder.weighted(format!("t{index}"), Firing::Called, &arcs(takes), &arcs(puts));
        }
        builder.build().unwrap_or_else(|errors| unreachable!("a plain net has no mistakes: {errors:?}"))
    }

    /// Where a transition leads, if it can fire.
    fn after(&self, tokens: &[u64], (takes, puts): &(Vec<u64>, Vec<u64>)) -> Option<Vec<u64>> {
        let each = tokens.iter().zip(takes).zip(puts);
        each.map(|((tokens, take), put)| tokens.checked_sub(*take)?.checked_add(*put)).collect()
    }

    /// Looks at everything; none if there are more markings than that.
    pub fn survey(&self, markings_max: usize) -> Option<Survey> {
        let mut distances = BTreeMap::from([(self.tokens.clone(), 0)]);
        for distance in 0.. {
            let here: Vec<_> =
                distances.iter().filter(|(_, at)| **at == distance).map(|(it, _)| it.clone()).collect();
            if here.is_empty() {
                break;
            }
            for after in here.iter().flat_map(|tokens| self.leads_to(tokens).into_values()) {
                distances.entry(after).or_insert(distance + 1);
            }
            if distances.len() > markings_max {
                return None;
            }
        }
        let leads = || distances.keys().map(|tokens| self.leads_to(tokens));
        let never =
            |possible: BTreeSet<usize>| (0..self.transitions.len()).filter(move |it| !possible.contains(it));
        let mut ends: Vec<usize> = distances
            .iter()
            .filter(|(tokens, _)| self.leads_to(tokens).is_empty())
            .map(|(_, at)| *at)
            .collect();
        ends.sort_unstable();
        let lost: BTreeSet<usize> =
            distances.keys().flat_map(|tokens| never(self.still_possible(tokens))).collect();
        let most = (0..self.tokens.len())
            .map(|place| distances.keys().filter_map(|tokens| tokens.get(place).copied()).max().unwrap_or(0))
            .collect();
        Some(Survey {
            firings: leads().map(|leads| leads.len()).sum(),
            dead: never(leads().flat_map(BTreeMap::into_keys).collect()).collect(),
            lost: lost.into_iter().collect(),
            ends,
            most,
            distances,
        })
    }

    fn leads_to(&self, tokens: &[u64]) -> BTreeMap<usize, Vec<u64>> {
        let all = self.transitions.iter().enumerate();
        all.filter_map(|(index, transition)| Some((index, self.after(tokens, transition)?))).collect()
    }

    /// The transitions that can fire some time after this marking.
    fn still_possible(&self, tokens: &[u64]) -> BTreeSet<usize> {
        let mut possible = BTreeSet::new();
        let mut seen = BTreeSet::from([tokens.to_vec()]);
        let mut todo = vec![tokens.to_vec()];
        while let Some(tokens) = todo.pop() {
            for (transition, after) in self.leads_to(&tokens) {
                possible.insert(transition);
                if seen.insert(after.clone()) {
                    todo.push(after);
                }
            }
        }
        possible
    }
}
