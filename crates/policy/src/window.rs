//! When things happened, as far as some rule still wants to know.
//!
//! A [`Window`] keeps the moments of calls that one step of a chain, or one rate limit, counts: never more than the
//! count it asks for, because "at least `n` within a minute" is the same as "the `n`-th last is not older than
//! a minute". So nothing is washed out by other calls, and memory does not grow with the session. What a call
//! counts for is decided elsewhere; a [`Mark`] carries that decision.

use std::collections::VecDeque;

use lockgate_call::Time;
use smallvec::SmallVec;

use crate::{
    log::{Log, LogChange},
    rule::RuleId,
};

/// The largest count a chain step or a rate limit may ask for.
pub const CHAIN_COUNT_MAX: u32 = 10_000;
/// The most calls an ordered chain may ask for in all.
pub const ORDERED_CALLS_MAX: u32 = 100;

/// The name of a window: a rule, and which of its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId {
    /// The rule.
    pub rule: RuleId,
    /// The number of its step.
    pub step: u16,
}

/// The latest moments at which something happened, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The moments that count; of an ordered chain, the latest way through its steps so far.
    pub times: VecDeque<Time>,
    /// Earlier calls with their values, where a rule asks for more than their moments.
    pub log: Log,
}

/// A call that counts for a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The window.
    pub window: WindowId,
    /// What the window holds from now on.
    pub change: Change,
}

/// How a window changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more moment, and only so many are kept.
    Push {
        /// How many are kept.
        keep: u32,
    },
    /// All of it anew.
    Set(SmallVec<[Time; 4]>),
    /// The log of earlier calls.
    Log(LogChange),
}

/// The calls that count for something, found by one look at the tool's name.
pub type Marks = SmallVec<[Mark; 1]>;

impl Window {
    /// Takes in a call at a moment.
    pub fn change(&mut self, at: Time, change: &Change) {
        match change {
            Change::Push { keep } => {
                self.times.push_back(at);
                while self.times.len() > *keep as usize {
                    self.times.pop_front();
                }
            }
            Change::Set(times) => self.times = times.iter().copied().collect(),
            Change::Log(change) => self.log.change(at, change),
        }
    }

    /// Whether the `count`-th last moment is there, and is not before `since`.
    pub fn has(&self, count: u32, since: Time) -> bool {
        let back = self.times.len().checked_sub(count as usize);
        back.and_then(|index| self.times.get(index)).is_some_and(|time| *time >= since)
    }
}
