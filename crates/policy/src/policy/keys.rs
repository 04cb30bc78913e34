//! The keys that rules keep their state under.

use crate::{hash::HashMap, rule::RuleId};

/// Whose each key is; no two rules share one.
#[derive(Debug, Default)]
pub(super) struct Keys(pub(super) HashMap<String, Owner>);

#[derive(Debug)]
pub(super) struct Owner {
    pub(super) rule: RuleId,
    /// How many rules wanted the key so far.
    wanted: u32,
}

impl Keys {
    /// Gives a rule the key it wants, or that key with a number that makes it no other rule's.
    pub(super) fn give(&mut self, wanted: &str, rule: RuleId) -> String {
        let mut key = wanted.to_owned();
        // A rule may want what looks like a key with a number, so the next number may be taken as well.
        while self.0.contains_key(&key) {
            let Some(first) = self.0.get_mut(wanted) else { break };
            first.wanted += 1;
            key = format!("{wanted} #{}", first.wanted);
        }
        self.0.insert(key.clone(), Owner { rule, wanted: 1 });
        key
    }
}
