//! Every state that some rules of a system can reach together, written out, where there are few enough to look at.
//!
//! [`System::behaviour`] walks from the start by [`System::step`] and stops at the first state too many, so a
//! counter of a thousand million is known to be too large after a few steps. [`Behaviour::standing`] says what a
//! rule is about in a state. Nothing is folded together in here, and nothing is proved: that is the prover's work.

use hashbrown::HashMap;

use super::{
    label::{Label, LabelSet},
    rule::{Cell, Kind, Rule},
    state::State,
    structure::{RuleId, System},
};

/// The states that rules reach together, and the moves between them.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The rules that were walked, by themselves.
    system: System,
    /// Which rules of the whole system they are.
    rules: Vec<RuleId>,
    states: Vec<State>,
    moves: Vec<Move>,
}

/// What leads from one state to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The number of the state it leaves.
    pub from: usize,
    /// The number of the state it leads to, never the same.
    pub to: usize,
    /// All labels that do.
    pub labels: LabelSet,
}

/// There are more states than were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {0} states")]
pub struct TooManyStates(pub usize);

/// What a rule says in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It refuses nothing now.
    Open,
    /// It refuses some labels until another one happens.
    Waits {
        /// What it refuses.
        closed: LabelSet,
        /// What would open it; never empty.
        needs: LabelSet,
    },
    /// It refuses these now; whether that ends is not told.
    Closed(LabelSet),
    /// It refuses these for good.
    Shut(LabelSet),
    /// It counts, and lets so many of `count` pass before it refuses.
    Left {
        /// What is counted.
        spend: LabelSet,
        /// How many are left.
        left: u64,
        /// How many there are at most.
        count: u64,
    },
}

impl System {
    /// Every state that these rules reach together from the start, in the order of how soon. Labels that only
    /// other rules know play no part, and what those would refuse happens.
    ///
    /// # Errors
    /// When there are more than `states_max`.
    pub fn behaviour(&self, rules: &[RuleId], states_max: usize) -> Result<Behaviour, TooManyStates> {
        let mut rules: Vec<RuleId> =
            rules.iter().copied().filter(|rule| rule.0 < self.rules().len()).collect();
        rules.sort_unstable();
        rules.dedup();
        let alone: Vec<Rule> = rules.iter().filter_map(|rule| self.rules().get(rule.0)).cloned().collect();
        // A part of a system that was accepted is never too large.
        let system = Self::new(alone).map_err(|_| TooManyStates(states_max))?;
        let (states, moves) = walk(&system, states_max)?;
        Ok(Behaviour { system, rules, states, moves })
    }
}

fn walk(system: &System, states_max: usize) -> Result<(Vec<State>, Vec<Move>), TooManyStates> {
    let mut states = vec![State::default()];
    let mut numbers: HashMap<State, usize, foldhash::fast::FixedState> = HashMap::default();
    numbers.insert(State::default(), 0);
    if states.len() > states_max {
        return Err(TooManyStates(states_max));
    }
    let mut moves: Vec<Move> = Vec::new();
    let mut from = 0;
    while let Some(state) = states.get(from).cloned() {
        let mut leaving: Vec<(usize, Vec<Label>)> = Vec::new();
        for label in system.labels() {
            let Ok(next) = system.step(&state, *label) else { continue };
            if next == state {
                continue;
            }
            let to = match numbers.get(&next) {
                Some(number) => *number,
                None if states.len() == states_max => return Err(TooManyStates(states_max)),
                None => {
                    numbers.insert(next.clone(), states.len());
                    states.push(next);
                    states.len() - 1
                }
            };
            match leaving.iter_mut().find(|(known, _)| *known == to) {
                Some((_, labels)) => labels.push(*label),
                None => leaving.push((to, vec![*label])),
            }
        }
        moves.extend(leaving.into_iter().map(|(to, labels)| Move {
            from,
            to,
            labels: labels.into_iter().collect(),
        }));
        from += 1;
    }
    Ok((states, moves))
}

impl Behaviour {
    /// The rules that were walked, in ascending order.
    pub fn rules(&self) -> &[RuleId] {
        &self.rules
    }

    /// Every label these rules know, in ascending order.
    pub fn labels(&self) -> &[Label] {
        self.system.labels()
    }

    /// How many states there are, the start first; always one or more.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// What leads from one state to another, in the order of where it leaves. Labels that change nothing are
    /// not among them.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// What each rule says in a state; nothing where there is no such state.
    pub fn standing(&self, state: usize) -> impl Iterator<Item = (RuleId, Standing)> + '_ {
        let state = self.states.get(state);
        let numbered = self.rules.iter().enumerate();
        numbered.filter_map(move |(place, rule)| Some((*rule, self.standing_of(state?, place)?)))
    }

    fn standing_of(&self, state: &State, place: usize) -> Option<Standing> {
        let (rule, cell) = (self.system.rules().get(place)?, self.system.cells.get(place)?);
        let value = state.value(&self.system, place);
        Some(match rule {
            Rule::Limit { spend, count } | Rule::LimitPer { spend, count, .. } => {
                Standing::Left { spend: spend.clone(), left: value, count: *count }
            }
            Rule::Table(_) => refused_now(cell, value),
            _ if value > 0 => Standing::Open,
            _ if cell.gains.is_empty() => Standing::Shut(cell.needs.clone()),
            _ => Standing::Waits { closed: cell.needs.clone(), needs: cell.gains.clone() },
        })
    }
}

fn refused_now(cell: &Cell, value: u64) -> Standing {
    debug_assert!(matches!(cell.kind, Kind::Table(_)), "the others say what they wait for");
    let refused: LabelSet =
        cell.alphabet().iter().filter(|label| cell.step(value, *label).is_none()).collect();
    if refused.is_empty() { Standing::Open } else { Standing::Closed(refused) }
}
