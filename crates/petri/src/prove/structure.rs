//! The system itself, and what can be seen in its structure without any search.
//!
//! [`System`] holds the rules and an index from labels to the rules that know them. In linear time it gives
//! [`System::components`], [`System::cycles`] and the labels that can never happen because of what they wait
//! for. What needs a search is in the prover.

use super::{
    dense::At,
    label::{Label, LabelSet},
    rule::{Cell, Kind, Role, Rule, Table},
};

/// Most rules of one system.
pub const RULES_MAX: usize = 1 << 18;

/// Which rule of a system: its place in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub usize);

/// Rules that hold together.
#[derive(Clone, Debug)]
pub struct System {
    rules: Vec<Rule>,
    pub(super) cells: Vec<Cell>,
    /// In ascending order; everything inside works with positions in here.
    pub(super) labels: Vec<Label>,
    /// For each label where its touches begin, and one more.
    touches_from: Vec<usize>,
    touches: Vec<Touch>,
    /// The same for the touches that may refuse the label.
    guards_from: Vec<usize>,
    guards: Vec<Touch>,
    parts: Parts,
}

/// The labels that each cell tests, by their positions: no question has to look them up again.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// For each cell where its `needs`, its `gains` and its `loses` begin, and where they end.
    from: Vec<[usize; 4]>,
    positions: Vec<usize>,
}

impl Parts {
    pub(super) fn new(cells: &[Cell], labels: &[Label]) -> Self {
        let mut parts = Self::default();
        for cell in cells {
            let mut from = [parts.positions.len(); 4];
            for (set, end) in [&cell.needs, &cell.gains, &cell.loses].into_iter().zip(1..) {
                let positions = set.iter().filter_map(|label| labels.binary_search(&label).ok());
                parts.positions.extend(positions);
                from.iter_mut().skip(end).for_each(|from| *from = parts.positions.len());
            }
            parts.from.push(from);
        }
        parts
    }

    fn part(&self, rule: usize, number: usize) -> &[usize] {
        let from = self.from.get(rule).and_then(|from| Some((*from.get(number)?, *from.get(number + 1)?)));
        from.and_then(|(from, to)| self.positions.get(from..to)).unwrap_or_default()
    }
}

/// A rule that knows a label.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touch {
    pub(super) rule: usize,
    pub(super) role: Role,
}

/// There are more than [`RULES_MAX`] rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} rules are more than the {RULES_MAX} that can be looked at together")]
pub struct TooManyRules(usize);

/// Rules and labels that have nothing to do with all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// In ascending order.
    pub rules: Vec<RuleId>,
    /// In ascending order.
    pub labels: Vec<Label>,
}

impl System {
    /// Takes rules together.
    pub fn new(rules: Vec<Rule>) -> Result<Self, TooManyRules> {
        if rules.len() > RULES_MAX {
            return Err(TooManyRules(rules.len()));
        }
        let cells: Vec<Cell> = rules.iter().map(Cell::new).collect();
        let mut known: Vec<(Label, usize)> = Vec::with_capacity(rules.len() * 3);
        for (rule, cell) in cells.iter().enumerate() {
            known.extend(cell.alphabet().iter().map(|label| (label, rule)));
        }
        known.sort_unstable();
        let (mut labels, mut touches_from, mut guards_from) = (Vec::new(), Vec::new(), Vec::new());
        let (mut touches, mut guards) = (Vec::with_capacity(known.len()), Vec::new());
        for (label, rule) in known {
            if labels.last() != Some(&label) {
                labels.push(label);
                touches_from.push(touches.len());
                guards_from.push(guards.len());
            }
            let role = cells.get(rule).map(|cell| cell.role(label)).unwrap_or_default();
            touches.push(Touch { rule, role });
            // A table says nothing by roles.
            if role.needs() || role.is_nothing() {
                guards.push(Touch { rule, role });
            }
        }
        touches_from.push(touches.len());
        guards_from.push(guards.len());
        let parts = Parts::new(&cells, &labels);
        Ok(Self { rules, cells, labels, touches_from, touches, guards_from, guards, parts })
    }

    /// The rules in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every label that some rule knows, in ascending order.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The position of a label, if some rule knows it.
    pub(super) fn position(&self, label: Label) -> Option<usize> {
        self.labels.binary_search(&label).ok()
    }

    /// The rules that know a label, in ascending order.
    pub(super) fn touches(&self, position: usize) -> &[Touch] {
        part(&self.touches_from, &self.touches, position)
    }

    /// Those of them that may refuse it: a label that thousands wait for is mostly guarded by few.
    pub(super) fn guards(&self, position: usize) -> &[Touch] {
        part(&self.guards_from, &self.guards, position)
    }

    /// How many labels a rule knows, some counted twice.
    pub(super) fn reach(&self, rule: usize) -> usize {
        match self.table(rule) {
            Some(table) => table.alphabet().len(),
            None => self.needing(rule).len() + self.gaining(rule).len() + self.losing(rule).len(),
        }
    }

    /// The positions of the labels a rule knows, some of them twice.
    pub(super) fn known(&self, rule: usize) -> impl Iterator<Item = usize> + '_ {
        let letters = self.table(rule).into_iter().flat_map(|table| self.positions(table.alphabet()));
        let parts = self.needing(rule).iter().chain(self.gaining(rule)).chain(self.losing(rule));
        letters.chain(parts.copied())
    }

    pub(super) fn positions<'a>(&'a self, labels: &'a LabelSet) -> impl Iterator<Item = usize> + 'a {
        labels.iter().filter_map(|label| self.position(label))
    }

    /// The table that a rule is, if it is one.
    pub(super) fn table(&self, rule: usize) -> Option<&Table> {
        match &self.cells.get(rule)?.kind {
            Kind::Table(table) => Some(table),
            Kind::Bit { .. } | Kind::Counter { .. } => None,
        }
    }

    /// The positions of the labels that a rule refuses while its cell is zero; none for a table.
    pub(super) fn needing(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 0)
    }

    /// The positions of the labels that make its cell higher.
    pub(super) fn gaining(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 1)
    }

    /// The positions of the labels that make its cell lower.
    pub(super) fn losing(&self, rule: usize) -> &[usize] {
        self.parts.part(rule, 2)
    }

    /// Rules and labels that have to do with each other, in the order of their first rule.
    pub fn components(&self) -> Vec<Component> {
        let mut parents: Vec<usize> = (0..self.rules.len()).collect();
        for position in 0..self.labels.len() {
            let touches = self.touches(position);
            for (one, other) in touches.iter().zip(touches.iter().skip(1)) {
                let (one, other) = (root(&mut parents, one.rule), root(&mut parents, other.rule));
                parents.put(one.max(other), one.min(other));
            }
        }
        let mut place = vec![usize::MAX; self.rules.len()];
        let mut components: Vec<Component> = Vec::new();
        for rule in 0..self.rules.len() {
            let root = root(&mut parents, rule);
            if root == rule {
                place.put(rule, components.len());
                components.push(Component { rules: Vec::new(), labels: Vec::new() });
            }
            if let Some(component) = components.get_mut(place.at(root)) {
                component.rules.push(RuleId(rule));
            }
        }
        for (position, label) in self.labels.iter().enumerate() {
            let first = self.touches(position).first().map(|touch| root(&mut parents, touch.rule));
            if let Some(component) = first.and_then(|root| components.get_mut(place.at(root))) {
                component.labels.push(*label);
            }
        }
        components
    }
}

fn part<'a>(from: &[usize], touches: &'a [Touch], position: usize) -> &'a [Touch] {
    let range = from.get(position).zip(from.get(position + 1));
    range.and_then(|(from, to)| touches.get(*from..*to)).unwrap_or_default()
}

fn root(parents: &mut [usize], mut member: usize) -> usize {
    while parents.at(member) != member {
        let parent = parents.at(member);
        parents.put(member, parents.at(parent));
        member = parent;
    }
    member
}
