//! A sample session: the calls before, and the last call, which is the one of interest.

use lockgate_call::{Call, Time};
use serde_json::{Map, Value};

/// Monday, the first of January 2024: long enough after the beginning of time for every window.
pub(super) const START: Time = Time(1_704_067_200_000);

/// A session that ends with a call that a rule may decide about.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the trusted caller says about the session.
    pub attributes: Map<String, Value>,
    /// When it begins.
    pub start: Time,
    /// Its calls, the one meant last.
    pub runs: Vec<Run>,
}

impl Sample {
    /// These calls, at any time in any session.
    pub fn of(runs: Vec<Run>) -> Self {
        Self { attributes: Map::new(), start: START, runs }
    }
}

/// One call, several times in a row.
#[derive(Clone, Debug)]
pub struct Run {
    /// The call.
    pub call: Call,
    /// How often.
    pub times: u64,
    /// How long the session waits before the first of them.
    pub wait_ms: u64,
    /// What it returns.
    pub output: Option<Value>,
}
