//! What can be seen in an expression without building an engine for it, or even having one read it.
//!
//! [`Expression::glance`] errs on one side only: an engine never takes more than it says, and what it calls
//! possible is. Loading a policy rests on this, because an engine that is built later can no longer be refused.
//! Missing on purpose: every doubtful case, which is left to those who look closely.

use super::{
    Expression,
    tree::{Anchor, Manner, Node},
};
use crate::limits::CHARACTER_STATES_MAX;

/// How deep an expression may be nested: half of what the engine reads, which counts what we write around it too.
pub(super) const NESTED_MAX: usize = 125;
/// More states than an anchor needs; `$` also reads a newline.
const ANCHOR_STATES_MAX: usize = 16;

/// What is seen at a glance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    /// How many states an engine's automaton has at most.
    pub(crate) states_max: usize,
    /// Whether some text certainly matches.
    pub(crate) is_surely_possible: bool,
}

impl Expression {
    /// None where one has to look closely, and for what no linear engine runs.
    pub(crate) fn glance(&self) -> Option<Glance> {
        let states_max = self.root.states_max(0)?.saturating_add(ANCHOR_STATES_MAX);
        Some(Glance { states_max, is_surely_possible: self.root.is_surely_possible() })
    }
}

impl Node {
    fn states_max(&self, depth: usize) -> Option<usize> {
        if depth > NESTED_MAX {
            return None;
        }
        Some(match self {
            Self::Character(_) => CHARACTER_STATES_MAX,
            Self::One(set) => set.states_max?,
            Self::At(_) => ANCHOR_STATES_MAX,
            Self::Plain(of) | Self::Capturing(of) => of.states_max(depth + 1)?.saturating_add(2),
            Self::Sequence(nodes) | Self::Choice(nodes) => {
                let add = |sum: usize, node: &Self| {
                    Some(sum.saturating_add(node.states_max(depth + 1)?).saturating_add(1))
                };
                nodes.iter().try_fold(1, add)?
            }
            Self::Repeat { manner: Manner::Possessive, .. } => return None,
            Self::Repeat { of, least, most, .. } => {
                let times = most.unwrap_or(*least).max(1) as usize;
                of.states_max(depth + 1)?.saturating_add(2).saturating_mul(times.saturating_add(1))
            }
            Self::Atomic(_) | Self::Look { .. } | Self::Reference { .. } | Self::Condition { .. } => {
                return None;
            }
        })
    }

    /// Whether some text matches. Starts at the front and ends at the back restrict nothing.
    fn is_surely_possible(&self) -> bool {
        match self {
            Self::Choice(nodes) => nodes.iter().any(Self::is_surely_possible),
            Self::Plain(of) | Self::Capturing(of) => of.is_surely_possible(),
            Self::Sequence(nodes) => {
                let is_start = |node: &&Self| matches!(node, Self::At(Anchor::TextStart | Anchor::LineStart));
                let starts = nodes.iter().take_while(is_start).count();
                nodes.get(starts..).is_some_and(all_end_well)
            }
            other => other.ends_well(),
        }
    }

    /// Whether it matches some text after any other, where nothing comes after it.
    fn ends_well(&self) -> bool {
        match self {
            Self::At(Anchor::End | Anchor::TextEnd | Anchor::LineEnd) => true,
            Self::Plain(of) | Self::Capturing(of) => of.ends_well(),
            Self::Sequence(nodes) => all_end_well(nodes),
            Self::Choice(nodes) => nodes.iter().any(Self::ends_well),
            Self::Repeat { least: 0, .. } => true,
            other => other.is_plain(),
        }
    }

    /// Whether it matches some text wherever that stands.
    fn is_plain(&self) -> bool {
        match self {
            Self::Character(_) => true,
            Self::One(set) => set.states_max.is_some(),
            Self::Plain(of) | Self::Capturing(of) | Self::Repeat { of, .. } => of.is_plain(),
            Self::Sequence(nodes) | Self::Choice(nodes) => nodes.iter().all(Self::is_plain),
            _ => false,
        }
    }
}

/// The same as [`Node::ends_well`] for nodes in a row.
fn all_end_well(nodes: &[Node]) -> bool {
    let is_end = |node: &&Node| matches!(node, Node::At(Anchor::End | Anchor::TextEnd | Anchor::LineEnd));
    let ends = nodes.iter().rev().take_while(is_end).count();
    let before = nodes.len().saturating_sub(ends);
    match nodes.get(..before).and_then(<[Node]>::split_last) {
        // Behind the last one stand at most ends, so it is at the end too.
        Some((last, before)) => before.iter().all(Node::is_plain) && last.ends_well(),
        None => true,
    }
}
