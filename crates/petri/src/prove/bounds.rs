//! How much one question may cost.

use super::question::REASON_TRIED_MAX;

/// How many states a search keeps unless told otherwise.
pub const STATES_MAX: usize = 200_000;

/// How many states a question about what can be lost looks at unless told otherwise.
pub const LOSE_STATES_MAX: usize = 20_000;

/// Questions that start with more rules than this are first tried without a search.
const SEARCHED_AT_ONCE_MAX: usize = 8;

/// How far to go for one question, and with how many threads for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most states of one search.
    pub states_max: usize,
    /// Most states of all that one question about what can be lost looks at, or whether a system gets stuck.
    /// Those questions look at every state there is, where the others look for one.
    pub lose_states_max: usize,
    /// Questions that start with more rules than this are first tried without a search; the answers are as good.
    pub searched_at_once_max: usize,
    /// How many questions are worked on at once; the answers do not depend on it.
    pub threads: usize,
}

impl Bounds {
    /// So few rules are cut down one by one to those that are a reason.
    pub(super) fn reasoned_at_once_max(&self) -> usize {
        self.searched_at_once_max.saturating_mul(REASON_TRIED_MAX / SEARCHED_AT_ONCE_MAX)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            states_max: STATES_MAX,
            lose_states_max: LOSE_STATES_MAX,
            searched_at_once_max: SEARCHED_AT_ONCE_MAX,
            threads,
        }
    }
}
