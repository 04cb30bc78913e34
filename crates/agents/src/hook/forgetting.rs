//! Unused sessions are forgotten, and the audit log says so.

use lockgate::engine::{
    Time,
    gate::audit_log::{LogEntry, LogEvent},
};
use serde_json::{Value, json};

use crate::environment::now;

/// So many sessions are forgotten at a time: an entry names them all, and must not become too long.
pub const FORGET_BATCH: usize = 100;

/// The entry about sessions that were forgotten.
pub fn forgotten(before: Time, sessions: &[String]) -> String {
    operator("forget", json!({ "before": before.0, "sessions": sessions }))
}

/// An entry about what an operator did to everything.
pub fn operator(act: &str, about: Value) -> String {
    let Value::Object(about) = about else { return String::new() };
    let what = LogEvent::Operator { act: act.to_owned(), about };
    LogEntry { at: now().0, session: None, policy: None, what }.to_json()
}
