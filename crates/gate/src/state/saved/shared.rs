//! What all sessions share, at rest: by the keys of rules, like a session.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_call::Time;
use lockgate_policy::{Policy, RuleId, window::Window};
use serde::{Deserialize, Serialize};

use super::{SavedAnswer, SavedError, VERSION, Versioned, of_this_version, saved_windows, windows_of};
use crate::state::{parts::SavedWindows, shared::SharedState};

#[derive(Serialize, Deserialize)]
struct SavedSharedState {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halted: Option<String>,
    /// The moments of calls that limits over all sessions count, by the rule's key and the step's name.
    #[serde(default)]
    windows: SavedWindows,
    #[serde(default)]
    answers: Vec<SavedAnswer>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accepted: BTreeMap<String, String>,
}

impl Versioned for SavedSharedState {
    fn version(&self) -> u32 {
        self.version
    }
}

impl SharedState {
    /// What all sessions share as bytes, to be kept.
    pub fn to_bytes(&self, policy: &Policy) -> Vec<u8> {
        let mut windows = self.strangers.clone();
        let rules: BTreeSet<RuleId> = self.windows.keys().map(|window| window.rule).collect();
        for rule in rules.into_iter().filter_map(|rule| policy.rule(rule)) {
            windows.insert(rule.key.clone(), saved_windows(policy, rule, &self.windows));
        }
        let answers = self.answers.iter().map(|answer| SavedAnswer::of(answer, policy)).collect();
        let (halted, accepted) = (self.halted.clone(), self.accepted.clone());
        let saved = SavedSharedState { version: VERSION, halted, windows, answers, accepted };
        // Maps with text keys and plain values always have a JSON form.
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// Reads what was kept, under a policy which may be an edited one.
    ///
    /// # Errors
    /// When the bytes are not of this version.
    pub fn from_bytes(bytes: &[u8], policy: &Policy) -> Result<Self, SavedError> {
        let saved: SavedSharedState = of_this_version(bytes)?;
        let mut shared_state = Self { halted: saved.halted, accepted: saved.accepted, ..Self::default() };
        for (key, windows) in saved.windows {
            let Some(rule) = policy.rule_kept_under(&key) else {
                shared_state.strangers.insert(key, windows);
                continue;
            };
            for (name, id) in windows_of(policy, rule) {
                if let Some(times) = windows.get(name) {
                    let times = times.iter().copied().map(Time).collect();
                    shared_state.windows.insert(id, Window { times, ..Window::default() });
                }
            }
        }
        shared_state.answers =
            saved.answers.into_iter().filter_map(|answer| answer.restored(policy)).collect();
        Ok(shared_state)
    }
}
