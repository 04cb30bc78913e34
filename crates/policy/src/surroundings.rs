//! What rules look at that is neither in the call nor in the session: where the gate stands.
//!
//! It is handed in once, so that judging needs no clock, no environment and no I/O.

use std::{collections::BTreeMap, fmt};

use jiff::tz::TimeZone;
use lockgate_call::Call;
use serde_json::Value;

use crate::ruleset::RulesetFacts;

/// Where the gate stands.
pub struct Surroundings {
    /// The zone of rules that speak of times and name none.
    pub zone: TimeZone,
    /// The variables of the gate's environment that rules look at.
    pub variables: BTreeMap<String, String>,
    /// What the host says about calls under names of its own.
    pub custom: BTreeMap<String, Box<Describe>>,
}

/// Says something about a call that only the host knows.
pub type Describe = dyn Fn(&Call) -> Option<Value> + Send + Sync;

impl Default for Surroundings {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, variables: BTreeMap::new(), custom: BTreeMap::new() }
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom: Vec<&String> = self.custom.keys().collect();
        formatter
            .debug_struct("Surroundings")
            .field("zone", &self.zone)
            .field("variables", &self.variables)
            .field("custom", &custom)
            .finish()
    }
}

impl Surroundings {
    /// Lets an expression look at a call, at its output and around.
    pub fn with_facts<T>(
        &self,
        call: &Call,
        output: Option<&Value>,
        ask: impl FnOnce(&RulesetFacts<'_>) -> T,
    ) -> T {
        let variable = |name: &str| self.variables.get(name).cloned();
        let custom = |prefix: &str, call: &Call| self.custom.get(prefix).and_then(|describe| describe(call));
        ask(&RulesetFacts { call, environment_variables: &variable, output, custom: &custom })
    }
}
