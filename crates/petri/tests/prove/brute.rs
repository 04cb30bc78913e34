//! Plain enumeration: every state of all rules together, one by one.
//!
//! It reads the forms of rules by itself and shares nothing with the prover but their names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lockgate_petri::prove::{Label, Rule};

/// Give up beyond this: the worlds are made to stay below.
const STATES_MAX: usize = 30_000;

/// A rule as plain enumeration sees it; tables as the moves they were made from.
#[derive(Clone, Debug)]
pub(crate) enum Plain {
    Rule(Rule),
    Table(PlainTable),
}

#[derive(Clone, Debug)]
pub(crate) struct PlainTable {
    pub(crate) states: u32,
    pub(crate) alphabet: Vec<Label>,
    pub(crate) moves: BTreeMap<(u32, Label), u32>,
}

impl Plain {
    pub(crate) fn rule(&self) -> Rule {
        match self {
            Self::Rule(rule) => rule.clone(),
            Self::Table(PlainTable { states, alphabet, moves }) => {
                let alphabet = alphabet.iter().copied().collect();
                let moves = moves.iter().map(|((from, label), to)| (*from, *label, *to));
                Rule::Table(lockgate_petri::prove::Table::new(*states, 0, alphabet, moves).unwrap())
            }
        }
    }

    fn start(&self) -> u64 {
        match self {
            Self::Rule(Rule::Limit { count, .. } | Rule::LimitPer { count, .. }) => *count,
            Self::Rule(Rule::Never { .. }) => 1,
            _ => 0,
        }
    }

    /// What it remembers after a label; none if it refuses.
    fn step(&self, value: u64, label: Label) -> Option<u64> {
        let rule = match self {
            Self::Table(table) if table.alphabet.contains(&label) => {
                return table.moves.get(&(u32::try_from(value).unwrap(), label)).map(|to| u64::from(*to));
            }
            Self::Table(_) => return Some(value),
            Self::Rule(rule) => rule,
        };
        match rule {
            Rule::Require { then, .. } if then.contains(label) && value == 0 => None,
            Rule::Require { then, latched, .. } if then.contains(label) => Some(u64::from(*latched)),
            Rule::Require { before, .. } if before.contains(label) => Some(1),
            Rule::Block(labels) if labels.contains(label) => None,
            Rule::Limit { spend, .. } if spend.contains(label) => value.checked_sub(1),
            Rule::LimitPer { spend, .. } if spend.contains(label) => value.checked_sub(1),
            Rule::LimitPer { refill, count, .. } if refill.contains(label) => Some((value + 1).min(*count)),
            Rule::Never { then, .. } if then.contains(label) && value == 0 => None,
            Rule::Never { after, .. } if after.contains(label) => Some(0),
            Rule::Since { then, .. } if then.contains(label) && value == 0 => None,
            Rule::Since { clears, .. } if clears.contains(label) => Some(0),
            Rule::Since { needs, .. } if needs.contains(label) => Some(1),
            _ => Some(value),
        }
    }
}

/// All rules together.
pub(crate) struct Brute<'a> {
    pub(crate) rules: Vec<&'a Plain>,
    pub(crate) labels: Vec<Label>,
}

type State = Vec<u64>;

/// From which state to which by what.
pub(crate) type Moves = BTreeSet<(usize, usize, Label)>;

impl<'a> Brute<'a> {
    pub(crate) fn new(rules: impl IntoIterator<Item = &'a Plain>, labels: &[Label]) -> Self {
        Self { rules: rules.into_iter().collect(), labels: labels.to_vec() }
    }

    fn start(&self) -> State {
        self.rules.iter().map(|rule| rule.start()).collect()
    }

    fn step(&self, state: &State, label: Label) -> Option<State> {
        self.rules.iter().zip(state).map(|(rule, value)| rule.step(*value, label)).collect()
    }

    /// All states reachable without some labels, nearest first, with their distance.
    fn reachable(&self, forbidden: &[Label]) -> Option<Vec<(State, usize)>> {
        let mut known = BTreeSet::from([self.start()]);
        let mut order = vec![(self.start(), 0)];
        let mut next = 0;
        while next < order.len() {
            let (state, distance) = order[next].clone();
            next += 1;
            for label in self.labels.iter().filter(|label| !forbidden.contains(label)) {
                if let Some(after) = self.step(&state, *label)
                    && known.insert(after.clone())
                {
                    order.push((after, distance + 1));
                }
            }
            if order.len() > STATES_MAX {
                return None;
            }
        }
        Some(order)
    }

    /// How many states there are, nearest first, and every label that leads from one to another.
    pub(crate) fn moves(&self) -> Option<(usize, Moves)> {
        let states = self.reachable(&[])?;
        let place: HashMap<&State, usize> =
            states.iter().enumerate().map(|(at, (state, _))| (state, at)).collect();
        let mut moves = BTreeSet::new();
        for (from, (state, _)) in states.iter().enumerate() {
            for label in &self.labels {
                let to = self.step(state, *label).map(|after| place[&after]);
                moves.extend(to.filter(|to| *to != from).map(|to| (from, to, *label)));
            }
        }
        Some((states.len(), moves))
    }

    /// The length of the shortest session that ends with each callable label.
    pub(crate) fn callable(&self) -> Option<BTreeMap<Label, usize>> {
        let mut callable = BTreeMap::new();
        for (state, distance) in self.reachable(&[])? {
            for label in &self.labels {
                if self.step(&state, *label).is_some() {
                    callable.entry(*label).or_insert(distance + 1);
                }
            }
        }
        Some(callable)
    }

    /// The length of the shortest session that a further rule refuses at its last label.
    pub(crate) fn violates(&self, further: &'a Plain) -> Option<Option<usize>> {
        let both = Brute {
            rules: self.rules.iter().copied().chain([further]).collect(),
            labels: self.labels.clone(),
        };
        let own = self.rules.len();
        for (state, distance) in both.reachable(&[])? {
            let mine: State = state[..own].to_vec();
            let is_shown = |label: &Label| {
                self.step(&mine, *label).is_some() && further.step(state[own], *label).is_none()
            };
            if self.labels.iter().any(is_shown) {
                return Some(Some(distance + 1));
            }
        }
        Some(None)
    }

    /// The length of the shortest session without the goals after which none of them can happen.
    pub(crate) fn loses(&self, goals: &[Label]) -> Option<Option<usize>> {
        let states = self.reachable(goals)?;
        let place: HashMap<&State, usize> =
            states.iter().enumerate().map(|(at, (state, _))| (state, at)).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
        let mut open = Vec::new();
        for (at, (state, _)) in states.iter().enumerate() {
            for label in &self.labels {
                match self.step(state, *label) {
                    Some(_) if goals.contains(label) => open.push(at),
                    Some(after) => before[place[&after]].push(at),
                    None => {}
                }
            }
        }
        let mut is_fine = vec![false; states.len()];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut is_fine[at], true) {
                open.extend(&before[at]);
            }
        }
        Some(states.iter().zip(&is_fine).find(|(_, fine)| !**fine).map(|((_, distance), _)| *distance))
    }

    /// The length of the shortest session after which each of some labels is refused.
    pub(crate) fn refuses_all(&self, labels: &[Label]) -> Option<Option<usize>> {
        let is_stuck = |state: &State| labels.iter().all(|label| self.step(state, *label).is_none());
        Some(self.reachable(&[])?.iter().find(|(state, _)| is_stuck(state)).map(|(_, distance)| *distance))
    }

    /// Every label that waits for itself: each rule on the way wants one of some labels first, and none of
    /// them can be first.
    pub(crate) fn in_circles(&self) -> BTreeSet<Label> {
        // What each rule wants before what, while nothing has happened yet.
        let mut wants: Vec<(Vec<Label>, Vec<Label>)> = Vec::new();
        let mut refused: BTreeSet<Label> = BTreeSet::new();
        for rule in &self.rules {
            match rule {
                Plain::Rule(Rule::Require { before, then, .. }) => {
                    wants.push((then.iter().collect(), before.without(then).iter().collect()));
                }
                Plain::Rule(Rule::Since { needs, clears, then }) => {
                    let needs = needs.without(clears).without(then);
                    wants.push((then.iter().collect(), needs.iter().collect()));
                }
                Plain::Rule(Rule::Block(labels)) => refused.extend(labels.iter()),
                Plain::Rule(Rule::Limit { spend, count: 0 } | Rule::LimitPer { spend, count: 0, .. }) => {
                    refused.extend(spend.iter());
                }
                Plain::Rule(_) | Plain::Table(_) => {}
            }
        }
        let tables = || {
            self.rules.iter().filter_map(|rule| match rule {
                Plain::Table(table) => Some((*rule, table)),
                Plain::Rule(_) => None,
            })
        };
        // The states of a table that labels lead to which are not dead.
        let reached = |rule: &'a Plain, dead: &BTreeSet<Label>| {
            let labels = self.labels.iter().copied().filter(|label| !dead.contains(label)).collect();
            let states = Brute { rules: vec![rule], labels }.reachable(&[]).unwrap();
            states.into_iter().map(|(state, _)| state[0]).collect::<BTreeSet<u64>>()
        };
        let passes = |rule: &'a Plain, label: Label, dead: &BTreeSet<Label>| {
            reached(rule, dead).iter().any(|state| rule.step(*state, label).is_some())
        };
        let mut dead: BTreeSet<Label> = self.labels.iter().copied().collect();
        while let Some(alive) = dead.iter().copied().find(|label| {
            let is_met = |(then, before): &(Vec<Label>, Vec<Label>)| {
                !then.contains(label) || before.iter().any(|before| !dead.contains(before))
            };
            !refused.contains(label)
                && wants.iter().all(is_met)
                && tables().all(|(rule, _)| passes(rule, *label, &dead))
        }) {
            dead.remove(&alive);
        }
        let mut waits: BTreeSet<(Label, Label)> = BTreeSet::new();
        for (then, before) in
            wants.iter().filter(|(_, before)| before.iter().all(|label| dead.contains(label)))
        {
            for then in then {
                waits.extend(before.iter().map(|before| (*then, *before)));
            }
        }
        for (rule, table) in tables() {
            let reached = reached(rule, &dead);
            let leads_further = |label: &Label| {
                reached
                    .iter()
                    .any(|state| rule.step(*state, *label).is_some_and(|next| !reached.contains(&next)))
            };
            for then in table.alphabet.iter().filter(|label| !passes(rule, **label, &dead)) {
                waits.extend(
                    table.alphabet.iter().copied().filter(leads_further).map(|before| (*then, before)),
                );
            }
        }
        loop {
            let longer: Vec<_> = waits
                .iter()
                .flat_map(|(a, b)| waits.iter().filter(move |(c, _)| b == c).map(move |(_, d)| (*a, *d)))
                .collect();
            let known = waits.len();
            waits.extend(longer);
            if waits.len() == known {
                return waits.into_iter().filter(|(a, b)| a == b).map(|(a, _)| a).collect();
            }
        }
    }
}
