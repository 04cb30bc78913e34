//! What rules look at: the call, its result, the moment, what the session remembers, and where the gate stands.
//!
//! Everything is handed in, so judging needs no clock, no environment and no I/O.

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::tz::TimeZone;
use lockgate_call::{Call, SeenCall, Time};
use serde_json::Value;

use crate::{
    audience::Groups,
    provenance::Origins,
    window::{Window, WindowId},
};

/// A call as rules look at it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The call.
    pub call: &'a SeenCall,
    /// What the tool answered, once it has.
    pub output: Option<&'a Value>,
    /// Now: not before anything the session has seen.
    pub now: Time,
    /// Where the gate stands.
    pub around: &'a Surroundings,
    /// What the session remembers.
    pub memory: &'a dyn Memory,
    /// What the call amounts to, where that is known; a rule that asks for it is in doubt otherwise.
    pub deeds: Option<&'a Groups>,
}

impl<'a> View<'a> {
    /// A call and its result, for rules that ask neither the session nor the clock.
    pub fn of_result(call: &'a SeenCall, output: Option<&'a Value>, around: &'a Surroundings) -> Self {
        Self { call, output, now: Time(0), around, memory: &NewSession, deeds: None }
    }
}

/// What a session remembers, as far as rules look at it.
pub trait Memory {
    /// What the trusted caller said about the session.
    fn attribute(&self, name: &str) -> Option<&Value>;
    /// How many calls were asked for, whatever was decided.
    fn attempts(&self) -> u64;
    /// How many calls were let pass.
    fn calls(&self) -> u64;
    /// How many calls of a tool were let pass; none if there was none yet.
    fn calls_of(&self, tool: &str) -> Option<u64>;
    /// The kinds of sensitive data seen, in the order in which they were.
    fn taints(&self) -> &[Arc<str>];
    /// Whether a result held sensitive data, and no human has cleared that since.
    fn is_tainted(&self) -> bool;
    /// What a window of this session holds.
    fn window(&self, id: WindowId) -> Option<&Window>;
    /// What a window that all sessions share holds.
    fn shared_window(&self, id: WindowId) -> Option<&Window>;
    /// What the session has seen of values; none where it has seen nothing.
    fn origins(&self) -> Option<&Origins>;
    /// Whether a call that was let pass has no result yet.
    fn is_running(&self, id: &str) -> bool;
}

/// A session that has just begun.
pub struct NewSession;

impl Memory for NewSession {
    fn attribute(&self, _: &str) -> Option<&Value> {
        None
    }
    fn attempts(&self) -> u64 {
        0
    }
    fn calls(&self) -> u64 {
        0
    }
    fn calls_of(&self, _: &str) -> Option<u64> {
        None
    }
    fn taints(&self) -> &[Arc<str>] {
        &[]
    }
    fn is_tainted(&self) -> bool {
        false
    }
    fn window(&self, _: WindowId) -> Option<&Window> {
        None
    }
    fn shared_window(&self, _: WindowId) -> Option<&Window> {
        None
    }
    fn origins(&self) -> Option<&Origins> {
        None
    }
    fn is_running(&self, _: &str) -> bool {
        false
    }
}

/// Where the gate stands.
pub struct Surroundings {
    /// The time zone of rules about times that name none.
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
