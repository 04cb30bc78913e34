//! How many instructions each function took. What the functions called is not in their numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The instructions of one case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profile {
    /// All of them.
    pub(crate) total: u64,
    /// Those of functions themselves; all functions, or those with the most.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl Profile {
    /// With so many functions only, those with the most; between equals, by name.
    pub(crate) fn greatest(&self, n_functions: usize) -> Self {
        let mut functions: Vec<(&String, &u64)> = self.functions.iter().collect();
        functions.sort_by_key(|(name, count)| (u64::MAX - **count, *name));
        let kept = functions.into_iter().take(n_functions).map(|(name, count)| (name.clone(), *count));
        Self { total: self.total, functions: kept.collect() }
    }

    /// Those of functions that are not listed.
    pub(crate) fn unlisted(&self) -> u64 {
        self.total.saturating_sub(self.functions.values().sum())
    }
}
