//! Labels that can stand in for others: they do at least as much good in every session.

use hashbrown::HashMap;

use super::{
    dense::At,
    rule::{Cell, Kind},
    structure::{System, Touch},
};

/// Most labels that are looked through for a better one.
const BETTER_TRIED_MAX: usize = 8;

/// For each label one that every rule treats at least as well: the first of those that ask and spend the
/// same, and that tables refuse in the same states.
pub(super) fn better_labels(system: &System) -> Vec<usize> {
    let mut better: Vec<usize> = (0..system.labels().len()).collect();
    let mut alike: HashMap<Vec<(usize, bool, bool)>, Vec<usize>, foldhash::fast::RandomState> =
        HashMap::default();
    for label in 0..system.labels().len() {
        let touches = system.touches(label);
        let is_table = |rule: usize| system.cells.get(rule).is_some_and(Cell::is_table);
        let is_strict = |touch: &&Touch| touch.role.needs() || touch.role.loses() || is_table(touch.rule);
        let strict = touches.iter().filter(is_strict);
        let key: Vec<_> = strict.map(|touch| (touch.rule, touch.role.needs(), touch.role.loses())).collect();
        if !key.is_empty() {
            alike.entry(key).or_default().push(label);
        }
    }
    for labels in alike.into_values().filter(|labels| labels.len() > 1) {
        for label in &labels {
            let candidates = labels.iter().take(BETTER_TRIED_MAX).copied();
            let best = candidates.filter(|other| is_at_least(system, *other, *label)).max_by(|one, other| {
                let gains = |label| system.touches(label).iter().filter(|touch| touch.role.gains()).count();
                gains(*one).cmp(&gains(*other)).then(other.cmp(one))
            });
            better.put(*label, best.unwrap_or(*label));
        }
    }
    better
}

/// Whether no rule treats the first label worse than the second.
fn is_at_least(system: &System, one: usize, other: usize) -> bool {
    let role = |label: usize, rule: usize| {
        let touches = system.touches(label);
        let place = touches.binary_search_by_key(&rule, |touch| touch.rule);
        place.ok().and_then(|place| touches.get(place)).map(|touch| touch.role).unwrap_or_default()
    };
    let rules = system.touches(one).iter().chain(system.touches(other)).map(|touch| touch.rule);
    let name = |label: usize| system.labels().get(label).copied().unwrap_or_default();
    rules.into_iter().all(|rule| match system.cells.get(rule).map(|cell| &cell.kind) {
        Some(Kind::Table(table)) => one == other || table.is_at_least(name(one), name(other)),
        _ => role(one, rule).is_at_least(role(other, rule)),
    })
}
