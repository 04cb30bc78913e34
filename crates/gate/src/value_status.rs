//! What rules remember of single values, for people: which values, and how often.

use std::collections::BTreeMap;

use lockgate_policy::{
    Clause, Condition, Memory, Policy,
    past::{Log, Past},
};
use serde::Serialize;

use crate::state::Stand;

/// How many values of a rule are shown, the latest.
const SHOWN_MAX: usize = 20;

/// What a rule `for each` value, or `for the same`, remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleValues {
    /// The rule.
    pub rule: String,
    /// How many different values there are.
    pub different: usize,
    /// The latest of them, the latest last.
    pub values: Vec<ValueCount>,
    /// Whether it remembers so many that it stays closed for all others.
    #[serde(rename = "full", skip_serializing_if = "std::ops::Not::not")]
    pub is_full: bool,
}

/// A value, and how many calls with it count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ValueCount {
    /// The value, or the values of a rule with several fields.
    pub value: String,
    /// How many calls.
    pub count: usize,
}

/// What the rules of a policy remember of single values.
pub(crate) fn values_of(policy: &Policy, stand: Stand<'_>) -> Vec<RuleValues> {
    let of = |clause: &Clause| {
        let asked = clause.conditions.iter().flat_map(Condition::parts).filter_map(per_value);
        let logs: Vec<&Log> = asked.filter_map(|past| Some(&stand.window(past.window)?.log)).collect();
        logs.into_iter().filter_map(|log| remembered(clause, log)).collect::<Vec<_>>()
    };
    policy.clauses().iter().flat_map(of).collect()
}

fn per_value(condition: &Condition) -> Option<&Past> {
    match condition {
        Condition::Past(past) if !past.keys.is_empty() => Some(past),
        _ => None,
    }
}

fn remembered(clause: &Clause, log: &Log) -> Option<RuleValues> {
    // The latest entry of a value says where it stands among the others.
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, entry) in log.entries.iter().enumerate().filter(|(_, entry)| entry.awaited.is_none()) {
        let (latest, count) = found.entry(entry.key.as_deref().unwrap_or_default()).or_default();
        (*latest, *count) = (at, *count + 1);
    }
    let mut values: Vec<(&str, (usize, usize))> = found.into_iter().collect();
    values.sort_by_key(|(_, (latest, _))| *latest);
    let shown = values.iter().skip(values.len().saturating_sub(SHOWN_MAX));
    let shown = shown.map(|(key, (_, count))| ValueCount { value: plain(key), count: *count });
    (!values.is_empty() || log.is_full).then(|| RuleValues {
        rule: clause.name.clone(),
        different: values.len(),
        values: shown.collect(),
        is_full: log.is_full,
    })
}

/// A key as people read it: texts that are the same to the letter are kept in quotes.
fn plain(key: &str) -> String {
    let part = |part: &str| serde_json::from_str::<String>(part).unwrap_or_else(|_| part.to_owned());
    match key.is_empty() {
        true => "unknown".to_owned(),
        false => key.split('\u{1f}').map(part).collect::<Vec<_>>().join(", "),
    }
}
