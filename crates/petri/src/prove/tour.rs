//! One session on which as much as possible happens once.
//!
//! [`tour`] lets labels happen one after another, each at most once, those last that take something away from others.
//! Whatever is possible somewhere on the way can happen, so a single walk answers for most labels of a system. It
//! proves nothing about the labels it does not come to.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{
    dense::At,
    rule::{Cell, Kind},
    structure::System,
};

/// What was possible somewhere on the way.
pub(super) struct Tour {
    pub(super) is_possible: Vec<bool>,
    /// Those labels in the order in which they became possible.
    pub(super) order: Vec<usize>,
}

/// Walks from where the rules stand; a table without a state refuses whatever it knows.
pub(super) fn tour(system: &System, value_of: impl Fn(usize, &Cell) -> Option<u64>) -> Tour {
    let n_labels = system.labels().len();
    let mut walk = Walk {
        system,
        values: system.cells.iter().enumerate().map(|(rule, cell)| value_of(rule, cell)).collect(),
        is_done: vec![false; n_labels],
        tour: Tour { is_possible: vec![false; n_labels], order: Vec::with_capacity(n_labels) },
        open: VecDeque::new(),
        harmful: VecDeque::new(),
    };
    (0..n_labels).for_each(|label| walk.look(label));
    while let Some(label) = walk.open.pop_front().or_else(|| walk.harmful.pop_front()) {
        if !walk.is_done.at(label) && !walk.refuses(label) {
            walk.fire(label);
        }
    }
    walk.tour
}

struct Walk<'a> {
    system: &'a System,
    values: Vec<Option<u64>>,
    /// The labels that have happened.
    is_done: Vec<bool>,
    tour: Tour,
    open: VecDeque<usize>,
    /// Labels that take away what others ask for.
    harmful: VecDeque<usize>,
}

impl Walk<'_> {
    fn refuses(&self, label: usize) -> bool {
        let name = self.system.labels().get(label).copied().unwrap_or_default();
        self.system.guards(label).iter().any(|touch| match self.values.at(touch.rule) {
            Some(value) if touch.role.needs() => value == 0,
            Some(value) if touch.role.is_nothing() => {
                self.system.cells.get(touch.rule).is_none_or(|cell| cell.step(value, name).is_none())
            }
            Some(_) => false,
            None => true,
        })
    }

    /// Takes note of a label that is possible now, and means to let it happen if that may open something.
    fn look(&mut self, label: usize) {
        if self.is_done.at(label) || self.refuses(label) {
            return;
        }
        if !self.tour.is_possible.at(label) {
            self.tour.is_possible.put(label, true);
            self.tour.order.push(label);
        }
        let touches = self.system.touches(label);
        let opens = touches.iter().any(|touch| touch.role.gains() || touch.role.is_nothing());
        let harms = touches.iter().any(|touch| touch.role.loses() && !touch.role.needs());
        if opens {
            if harms { self.harmful.push_back(label) } else { self.open.push_back(label) }
        }
    }

    fn fire(&mut self, label: usize) {
        self.is_done.put(label, true);
        let name = self.system.labels().get(label).copied().unwrap_or_default();
        let system = self.system;
        let mut risen: SmallVec<[usize; 8]> = SmallVec::new();
        for touch in system.touches(label) {
            let Some(cell) = system.cells.get(touch.rule) else { continue };
            let before = self.values.at(touch.rule);
            let after = before.and_then(|value| cell.step(value, name));
            self.values.put(touch.rule, after);
            if before == Some(0) && after > before || cell.is_table() && after != before {
                risen.push(touch.rule);
            }
        }
        // Only now that every rule has moved.
        for rule in risen {
            match system.cells.get(rule).map(|cell| &cell.kind) {
                Some(Kind::Table(table)) => {
                    let letters = table.alphabet().iter().filter_map(|letter| system.position(letter));
                    letters.for_each(|letter| self.look(letter));
                }
                _ => system.needing(rule).iter().for_each(|needing| self.look(*needing)),
            }
        }
    }
}
