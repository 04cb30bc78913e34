//! A session under a policy that is not the one it is bound to.
//!
//! While a changed policy waits to be accepted, a session is kept twice: under the accepted policy and under the one in
//! force. [`Session::under_changed`] makes the second from the first, [`Session::accepting`] makes it the only one.

use std::{collections::BTreeMap, sync::Arc};

use lockgate_policy::{Policy, Rule, Statement};
use serde::Deserialize;
use serde_json::Value;

use super::{SavedError, SavedSession, Versioned, of_this_version};
use crate::state::{
    binding::{Binding, BoundState},
    session::Session,
};

/// What a session at rest says of its bindings.
#[derive(Deserialize)]
struct SavedBindings {
    version: u32,
    #[serde(default)]
    bound: BTreeMap<String, BoundState>,
}

impl Versioned for SavedBindings {
    fn version(&self) -> u32 {
        self.version
    }
}

impl Session {
    /// What a stored session is bound to, without reading the rest of it.
    ///
    /// # Errors
    /// When the bytes are not of this version.
    pub fn bindings_in(bytes: &[u8]) -> Result<Vec<Binding>, SavedError> {
        let bound = Self::bindings_at_rest(bytes)?;
        Ok(bound.into_values().map(|state| Arc::unwrap_or_clone(state.binding)).collect())
    }

    /// The policies that a session at rest is bound to, by place. The session is not read.
    pub(crate) fn bindings_at_rest(bytes: &[u8]) -> Result<BTreeMap<String, BoundState>, SavedError> {
        let SavedBindings { bound, .. } = of_this_version(bytes)?;
        Ok(bound)
    }

    /// The session as a value inside another one, without what belongs to rules of other policies.
    pub(crate) fn to_value(&self, policy: &Policy) -> Result<Value, SavedError> {
        let own = Self { strangers: BTreeMap::new(), bound: BTreeMap::new(), ..self.clone() };
        Ok(serde_json::to_value(own.saved(policy))?)
    }

    pub(crate) fn from_value(value: &Value, policy: &Policy) -> Result<Self, SavedError> {
        Self::from_bytes(&serde_json::to_vec(value)?, policy)
    }

    /// This session, which is under `accepted`, as it stands under `current`. Of `waiting`, the session under another policy
    /// that waited before, only what was spent is taken over: nothing that it has opened.
    ///
    /// # Errors
    /// When a net was redrawn so that its state fits no more.
    pub(crate) fn under_changed(
        &self,
        accepted: &Policy,
        waiting: Option<&Value>,
        current: &Policy,
    ) -> Result<Self, SavedError> {
        let mut saved = self.saved(accepted);
        saved.bound.clear();
        // A human's yes is about what the rule said when it was given.
        let is_same = |key: &str| {
            let (then, now) = (accepted.rule_kept_under(key), current.rule_kept_under(key));
            then.zip(now).is_some_and(|(then, now)| says(then) == says(now))
        };
        saved.answers.retain(|answer| !answer.granted || answer.rule.as_deref().is_some_and(is_same));
        if let Some(waiting) = waiting {
            let waiting: SavedSession = serde_json::from_value(waiting.clone())?;
            let is_limit = |key: &str| {
                let net = current.rule_kept_under(key).and_then(|rule| current.net(rule.id));
                net.is_some_and(|net| matches!(net.statement, Statement::Limit { .. }))
            };
            for (key, net) in waiting.nets {
                if accepted.rule_kept_under(&key).is_none() && net.limit.is_some() && is_limit(&key) {
                    saved.nets.insert(key, net);
                }
            }
            for (tool, calls) in waiting.per_tool {
                let known = saved.per_tool.entry(tool).or_default();
                *known = calls.max(*known);
            }
        }
        let mut session = Self::from_bytes(&serde_json::to_vec(&saved)?, current)?;
        // What belongs to rules that only the accepted policy has goes on there.
        session.strangers.clear();
        Ok(session)
    }

    /// The session under `current` alone, which a human has accepted: what rules have remembered that only `accepted`
    /// has is kept for the day they come back.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub(crate) fn accepting(
        &self,
        accepted: &Policy,
        changed: &Self,
        current: &Policy,
    ) -> Result<Self, SavedError> {
        let mut saved = changed.saved(current);
        for (key, net) in self.saved(accepted).nets {
            if current.rule_kept_under(&key).is_none() {
                saved.nets.insert(key, net);
            }
        }
        saved.bound = self.bound.clone();
        Self::from_bytes(&serde_json::to_vec(&saved)?, current)
    }
}

/// What a rule says, in which layer and whether it acts.
fn says(rule: &Rule) -> (&str, lockgate_policy::Layer, lockgate_policy::Mode) {
    (rule.source.slice(rule.span), rule.source.layer(), rule.mode)
}
