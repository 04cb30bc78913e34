//! Place invariants: weighted sums of tokens that no firing can change.
//!
//! They follow from the arcs alone, so they hold in every reachable marking, however many there are,
//! and bound the tokens of a place even where a state space is far too large to walk. [`invariants`]
//! finds those with non-negative weights from which all others of that kind are made (Farkas'
//! algorithm). What it finds is true; whether it found all, it says. Siphons and traps are not looked for.

use crate::{
    marking::Marking,
    net::{Net, PlaceId, TransitionId},
};

/// Most candidate sums kept at a time, and so the most places of a net that is looked at.
pub const INVARIANT_ROWS_MAX: usize = 1_000;
/// Most pairs of candidate sums combined for one net.
pub const INVARIANT_PAIRS_MAX: usize = 20_000;

/// A weighted sum of tokens that is the same in every reachable marking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invariant {
    weights: Vec<(PlaceId, u64)>,
    sum: u128,
}

/// The place invariants of a net with non-negative weights.
#[derive(Clone, Debug)]
pub struct Invariants {
    found: Vec<Invariant>,
    complete: bool,
}

/// Finds the place invariants with non-negative weights and the fewest places: every other one with
/// non-negative weights is a sum of multiples of these.
pub fn invariants(net: &Net) -> Invariants {
    let mut search = Search { rows: Vec::new(), pairs_left: INVARIANT_PAIRS_MAX, complete: true };
    if net.places().len() > INVARIANT_ROWS_MAX {
        search.complete = false;
    } else {
        search.rows = rows(net);
        for transition in net.transitions() {
            search.balance(transition);
        }
    }
    let candidates = search.rows.len();
    let finished = search.rows.into_iter().filter_map(|row| row.finish(net.initial()));
    let mut found: Vec<_> = finished.collect();
    found.sort_by(|a, b| a.weights.cmp(&b.weights));
    Invariants { complete: search.complete && found.len() == candidates, found }
}

impl Net {
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
}

impl Invariants {
    /// What was found, by first place; every one of them is true.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Invariant> {
        self.found.iter()
    }

    /// Whether these are all of them.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// A number of tokens that the place never exceeds, if one of the invariants gives one.
    pub fn bound(&self, place: PlaceId) -> Option<u64> {
        self.found.iter().filter_map(|invariant| invariant.bound(place)).min()
    }
}

impl Invariant {
    /// The places that count, each with its weight.
    pub fn weights(&self) -> &[(PlaceId, u64)] {
        &self.weights
    }

    /// What the weighted tokens add up to.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    fn bound(&self, place: PlaceId) -> Option<u64> {
        let (_, weight) = self.weights.iter().find(|(counted, _)| *counted == place)?;
        u64::try_from(self.sum / u128::from(*weight)).ok()
    }
}

/// A candidate: the sum of tokens with these weights, and how each firing would still change it.
#[derive(Clone, Debug)]
struct Row {
    /// Sorted by place; never zero.
    weights: Vec<(PlaceId, i128)>,
    /// Sorted by transition; never zero.
    changes: Vec<(TransitionId, i128)>,
}

struct Search {
    rows: Vec<Row>,
    pairs_left: usize,
    complete: bool,
}

/// One candidate for each place: its own tokens.
fn rows(net: &Net) -> Vec<Row> {
    let mut rows: Vec<Row> =
        net.places().map(|place| Row { weights: vec![(place, 1)], changes: Vec::new() }).collect();
    for transition in net.transitions() {
        for (sign, arcs) in [(-1, net.losses(transition)), (1, net.gains(transition))] {
            for (place, tokens) in arcs {
                if let Some(row) = rows.get_mut(place.index()) {
                    row.changes.push((transition, sign * i128::from(*tokens)));
                }
            }
        }
    }
    rows
}

impl Search {
    /// Replaces the candidates that a transition changes by combinations that it does not.
    fn balance(&mut self, transition: TransitionId) {
        let (changed, mut kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.rows).into_iter().partition(|row| row.change(transition) != 0);
        let (up, down): (Vec<_>, Vec<_>) = changed.iter().partition(|row| row.change(transition) > 0);
        let unchanged = kept.len();
        for (up, down) in up.iter().flat_map(|up| down.iter().map(move |down| (up, down))) {
            if self.pairs_left == 0 || kept.len() >= INVARIANT_ROWS_MAX {
                self.complete = false;
                break;
            }
            self.pairs_left -= 1;
            let Some(row) = up.plus(-down.change(transition), down, up.change(transition)) else {
                self.complete = false;
                continue;
            };
            // Only sums over as few places as possible are wanted. Those no transition touched are such
            // already and stay so; a new one may be larger or smaller than another new one.
            if kept.iter().any(|other| other.counts_only_places_of(&row)) {
                continue;
            }
            let mut index = 0;
            kept.retain(|other| {
                index += 1;
                index <= unchanged || !row.counts_only_places_of(other)
            });
            kept.push(row);
        }
        self.rows = kept;
    }
}

impl Row {
    fn change(&self, transition: TransitionId) -> i128 {
        let index = self.changes.binary_search_by_key(&transition, |(changing, _)| *changing);
        index.ok().and_then(|index| self.changes.get(index)).map_or(0, |(_, change)| *change)
    }

    /// `factor · self + other_factor · other`, in lowest terms; none if the numbers grow too large.
    fn plus(&self, factor: i128, other: &Self, other_factor: i128) -> Option<Self> {
        let mut weights = combine(&self.weights, factor, &other.weights, other_factor)?;
        let mut changes = combine(&self.changes, factor, &other.changes, other_factor)?;
        let numbers = weights.iter().map(|(_, n)| *n).chain(changes.iter().map(|(_, n)| *n));
        let divisor = numbers.fold(0, greatest_common_divisor);
        weights.iter_mut().for_each(|(_, weight)| *weight /= divisor);
        changes.iter_mut().for_each(|(_, change)| *change /= divisor);
        Some(Self { weights, changes })
    }

    fn counts_only_places_of(&self, other: &Self) -> bool {
        let counts = |place| other.weights.binary_search_by_key(&place, |(counted, _)| *counted).is_ok();
        self.weights.len() <= other.weights.len() && self.weights.iter().all(|(place, _)| counts(*place))
    }

    /// The invariant this has become; none if a number is too large to be told.
    fn finish(self, initial: &Marking) -> Option<Invariant> {
        let weights = self
            .weights
            .into_iter()
            .map(|(place, weight)| Some((place, u64::try_from(weight).ok()?)))
            .collect::<Option<Vec<_>>>()?;
        let sum = weights.iter().try_fold(0_u128, |sum, (place, weight)| {
            sum.checked_add(u128::from(*weight) * u128::from(initial.tokens(*place)))
        })?;
        Some(Invariant { weights, sum })
    }
}

/// The weighted sum of two sparse rows, both sorted by key; zeros are left out.
fn combine<K: Copy + Ord>(
    a: &[(K, i128)],
    factor_a: i128,
    b: &[(K, i128)],
    factor_b: i128,
) -> Option<Vec<(K, i128)>> {
    // Far enough from the ends of `i128` that two of them can be added, negated and divided.
    let scaled = |(key, number): (K, i128), factor: i128| {
        number
            .checked_mul(factor)
            .filter(|product| product.unsigned_abs() < 1 << 120)
            .map(|product| (key, product))
    };
    let mut all = Vec::with_capacity(a.len() + b.len());
    for &entry in a {
        all.push(scaled(entry, factor_a)?);
    }
    for &entry in b {
        all.push(scaled(entry, factor_b)?);
    }
    all.sort_by_key(|(key, _)| *key);
    let mut sums: Vec<(K, i128)> = Vec::with_capacity(all.len());
    for (key, number) in all {
        match sums.last_mut() {
            Some((last, sum)) if *last == key => *sum += number,
            _ => sums.push((key, number)),
        }
    }
    sums.retain(|(_, sum)| *sum != 0);
    Some(sums)
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs().max(1)
}
