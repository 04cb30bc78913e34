//! A hand-written net as a table of moves.
//!
//! Its states are the markings at rest that calls lead to, by the rules the gate goes by: the first enabled
//! transition that lists the deed; what is deferred fires only on success; structural ones by themselves. A human
//! may always agree, and a validator may always be content: a table never refuses what the gate would let pass.

use std::collections::{HashMap, VecDeque};

use lockgate_petri::{
    Marking,
    prove::{Label, LabelSet, Table},
};
use lockgate_policy::{NetRule, Watch};

use super::labels::Encounter;

/// The most markings of a net that become states.
pub(crate) const STATES_MAX: usize = 2_000;

/// A label as a net meets it.
pub(super) type Letter<'p> = (Label, &'p Watch, Encounter);

/// The table of a net, if it has few enough markings. No human can agree to what is done `alone`.
pub(super) fn table(rule: &NetRule, letters: &[Letter<'_>], alone: Option<&LabelSet>) -> Option<Table> {
    let mut numbers: HashMap<Marking, u32> = HashMap::new();
    let mut queue: VecDeque<Marking> = VecDeque::new();
    numbers.insert(rule.net.start().clone(), 0);
    queue.push_back(rule.net.start().clone());
    let mut moves = Vec::new();
    while let Some(marking) = queue.pop_front() {
        let from = *numbers.get(&marking)?;
        for letter in letters {
            let is_alone = alone.is_some_and(|alone| alone.contains(letter.0));
            let Some(next) = step(rule, letter, &marking, is_alone) else { continue };
            let fresh = u32::try_from(numbers.len()).ok()?;
            let to = *numbers.entry(next.clone()).or_insert_with(|| {
                queue.push_back(next);
                fresh
            });
            if numbers.len() > STATES_MAX {
                return None;
            }
            moves.push((from, letter.0, to));
        }
    }
    let alphabet: LabelSet = letters.iter().map(|letter| letter.0).collect();
    Table::new(u32::try_from(numbers.len()).ok()?, 0, alphabet, moves).ok()
}

/// Where a label leads; none if the net refuses it.
fn step(
    rule: &NetRule,
    (_, watch, meets): &Letter<'_>,
    marking: &Marking,
    is_alone: bool,
) -> Option<Marking> {
    let net = rule.net.net();
    let mut next = marking.clone();
    let (transition, succeeds) = match meets {
        Encounter::Call { succeeds } => {
            let chosen = watch.transitions.iter().find(|it| net.is_enabled(marking, **it));
            match chosen {
                Some(transition) => (*transition, *succeeds),
                // A rule never refuses what it only watches.
                None => return (!watch.refuses).then_some(next),
            }
        }
        // What is not enabled any more changes nothing.
        Encounter::LateResults(transition) if !net.is_enabled(marking, *transition) => return Some(next),
        Encounter::LateResults(transition) => (*transition, true),
    };
    let guard = rule.net.guard(transition);
    if guard.is_manual && is_alone && matches!(meets, Encounter::Call { .. }) {
        return None;
    }
    if guard.is_deferred && !succeeds {
        return Some(next);
    }
    (net.fire(&mut next, transition).is_ok() && net.advance(&mut next)).then_some(next)
}

/// So many calls of one kind in flight are distinguished from more.
const IN_FLIGHT_COUNTED: u32 = 2;

/// No more calls succeed late than were made, as long as few are in flight.
pub(super) fn in_flight(made: &LabelSet, late: &LabelSet) -> Option<Table> {
    // Where several rules wait for one success, it is several labels.
    if late.len() != 1 {
        return None;
    }
    let many = IN_FLIGHT_COUNTED + 1;
    let makes =
        made.iter().flat_map(|label| (0..=many).map(move |count| (count, label, many.min(count + 1))));
    let ends = late.iter().flat_map(|label| {
        (1..=many).map(move |count| (count, label, if count == many { many } else { count - 1 }))
    });
    Table::new(many + 1, 0, made.and(late), makes.chain(ends).collect::<Vec<_>>()).ok()
}
