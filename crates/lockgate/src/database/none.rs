//! The same without a store: no [`Database`] can exist, so sessions are in memory.

use std::sync::Arc;

use lockgate_gate::{Backend, BoundPolicy, PolicyChanges, Rulebook};
use serde_json::{Map, Value};

use crate::policy::Policy;

/// Where sessions are stored; there is none in this build.
#[derive(Clone, Copy)]
pub(crate) enum Database {}

impl Database {
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        match *self {}
    }

    pub(crate) fn bound_policy(
        &self,
        _: &Policy,
        _: &str,
        _: Map<String, Value>,
        _: PolicyChanges,
        _: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
    ) -> BoundPolicy {
        match *self {}
    }
}
