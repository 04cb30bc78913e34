//! What a question is about: the system as it is asked about, and what a session should end with.

use std::sync::Arc;

use super::{
    label::Label,
    rule::{Cell, Kind, Rule},
    structure::System,
};

/// What a question is about, besides the goal.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) system: &'a System,
    /// A rule that is taken out.
    pub(super) without: Option<usize>,
    /// For each label one that does at least as much good in its place, such as the success for the failure
    /// of the same deed.
    pub(super) better: &'a [usize],
    /// Labels that must not happen.
    pub(super) forbidden: &'a [usize],
}

/// What a session should end with.
pub(super) enum Goal<'a> {
    /// One of these labels.
    Call(&'a [usize]),
    /// A label that a further rule refuses, and it had refused nothing before.
    Violate(&'a Monitor),
}

/// A rule that watches a system from outside.
pub(super) struct Monitor {
    pub(super) cell: Cell,
    /// The labels it knows; positions beyond the system's own for labels that no rule knows.
    pub(super) labels: Vec<(usize, Label)>,
    /// Of a table: how far each state is from refusing something.
    pub(super) distances: Arc<[Option<u64>]>,
}

impl Monitor {
    pub(super) fn new(system: &System, rule: &Rule) -> Self {
        let cell = Cell::new(rule);
        let mut beyond = system.labels().len()..;
        let position = |label| Some((system.position(label).or_else(|| beyond.next())?, label));
        let labels = cell.alphabet().iter().filter_map(position).collect();
        let distances = match &cell.kind {
            Kind::Table(table) => table.distances_to_refusal(),
            Kind::Bit { .. } | Kind::Counter { .. } => Vec::new(),
        };
        Self { labels, cell, distances: distances.into() }
    }

    pub(super) fn positions(&self, wanted: impl Fn(Label) -> bool) -> impl Iterator<Item = usize> {
        self.labels.iter().filter(move |(_, label)| wanted(*label)).map(|(position, _)| *position)
    }
}

impl Setting<'_> {
    pub(super) fn name(&self, position: usize, monitor: Option<&Monitor>) -> Label {
        let own = self.system.labels().get(position);
        let foreign = || monitor?.labels.iter().find(|(known, _)| *known == position).map(|(_, label)| label);
        own.or_else(foreign).copied().unwrap_or_default()
    }

    /// The label to try instead of another one: as good for every rule and the same for the monitor.
    pub(super) fn stand_in(&self, position: usize, monitor: Option<&Monitor>) -> usize {
        let better = self.better.get(position).copied().unwrap_or(position);
        if better == position || self.forbidden.contains(&better) {
            return position;
        }
        let is_same = monitor.is_none_or(|monitor| {
            let name = |position| self.name(position, None);
            monitor.cell.treats_alike(name(position), name(better))
        });
        if is_same { better } else { position }
    }
}
