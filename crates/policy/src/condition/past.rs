//! Questions about earlier calls.

use std::collections::BTreeSet;

use lockgate_call::plain_text;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use super::{found::Found, subject::Subject, test::Test};
use crate::{
    decision::Truth,
    log::{ClearingCall, Entry, Measure},
    view::View,
    window::WindowId,
};

/// The longest value that is kept as it is, in bytes; of longer ones the hash is kept.
const VALUE_BYTES_MAX: usize = 64;

/// A question about earlier calls.
#[derive(Clone, Debug)]
pub struct Past {
    /// The log.
    pub window: WindowId,
    /// What is measured.
    pub measure: Measure,
    /// What the measured number must be like.
    pub amount: Test,
    /// How long ago at most.
    pub within_ms: Option<u64>,
    /// The values of the call that entries must have, too; empty where any will do.
    pub keys: Vec<Subject>,
    /// Whether the call itself counts, and with which value.
    pub itself: Option<Option<Subject>>,
    /// Whether the answer yes opens something. Then values are the same only to the letter.
    pub is_credit: bool,
}

impl Past {
    /// Whether it holds of the call that is judged.
    pub(crate) fn truth(&self, view: &View<'_>) -> Truth {
        let log = view.memory.window(self.window).map(|window| &window.log);
        let key = key_of(&self.keys, view, self.is_credit);
        if key.is_none() && self.is_credit {
            return Truth::No;
        }
        let clears = |call: &ClearingCall| {
            let is_other = call.key.is_some() && call.key != key;
            !is_other && view.memory.is_running(&call.id)
        };
        if self.is_credit && log.is_some_and(|log| log.clearing.iter().any(clears)) {
            return Truth::No;
        }
        // A moment exactly as old as the window is long still counts.
        let oldest = self.within_ms.map_or(0, |within_ms| view.now.0.saturating_sub(within_ms));
        let (mut certain, mut possible): (Vec<&Entry>, Vec<&Entry>) = (Vec::new(), Vec::new());
        for entry in log.iter().flat_map(|log| &log.entries) {
            if entry.at_ms < oldest || entry.awaited.is_some() {
                continue;
            }
            match (&key, &entry.key) {
                (Some(one), Some(other)) if one != other => {}
                (Some(_), Some(_)) if !entry.is_possible => certain.push(entry),
                _ => possible.push(entry),
            }
        }
        let own = self.itself.as_ref().map(|subject| subject.as_ref().and_then(|it| value_of(it, view)));
        let truth = match self.measure {
            Measure::Count => {
                let fewest = certain.len() + usize::from(own.is_some());
                self.between(fewest, fewest + possible.len())
            }
            Measure::Different => {
                let mut values: BTreeSet<&str> = BTreeSet::new();
                let mut unknown = 0;
                for value in certain.iter().map(|it| &it.value).chain(own.as_ref()) {
                    match value {
                        Some(value) => drop(values.insert(value)),
                        None => unknown += 1,
                    }
                }
                self.between(values.len(), values.len() + unknown + possible.len())
            }
            Measure::Sum => {
                let numbers: Option<Vec<Number>> = certain
                    .iter()
                    .map(|it| it.value.as_ref())
                    .chain(own.iter().map(Option::as_ref))
                    .map(|value| serde_json::from_str(value?).ok())
                    .collect();
                match numbers.and_then(|numbers| sum(&numbers)).filter(|_| possible.is_empty()) {
                    Some(sum) => self.amount.truth(&Value::Number(sum)),
                    None => Truth::Doubt,
                }
            }
        };
        let is_full = log.is_some_and(|log| log.is_full);
        if is_full && truth == Truth::No { Truth::Doubt } else { truth }
    }

    /// What the test says of a number that is known to lie between two.
    fn between(&self, fewest: usize, most: usize) -> Truth {
        let of = |count: usize| self.amount.truth(&Value::from(count));
        match (of(fewest), of(most)) {
            (low, _) if fewest == most => low,
            (Truth::Yes, Truth::Yes) => Truth::Yes,
            // `exactly` may hold of a number between two of which it does not.
            (Truth::No, Truth::No) if (fewest..=most).all(|count| of(count) == Truth::No) => Truth::No,
            _ => Truth::Doubt,
        }
    }
}

/// Whole numbers are added as such; others, and sums that are too large, as floating point.
fn sum(numbers: &[Number]) -> Option<Number> {
    let whole: Option<Vec<i64>> = numbers.iter().map(Number::as_i64).collect();
    let whole = whole.and_then(|whole| whole.into_iter().try_fold(0_i64, i64::checked_add));
    match whole {
        Some(sum) => Some(Number::from(sum)),
        None => Number::from_f64(numbers.iter().filter_map(Number::as_f64).sum()),
    }
}

/// The values by which calls are told apart, as one text; none where one is missing or unknown.
pub(crate) fn key_of(keys: &[Subject], view: &View<'_>, is_credit: bool) -> Option<String> {
    let values: Option<Vec<String>> =
        keys.iter().map(|subject| text_of(&found_value(subject, view)?, is_credit, view)).collect();
    values.map(|values| values.join("\u{1f}"))
}

/// A value that is measured, as a text: a number as one.
pub(crate) fn value_of(subject: &Subject, view: &View<'_>) -> Option<String> {
    text_of(&found_value(subject, view)?, false, view)
}

fn found_value(subject: &Subject, view: &View<'_>) -> Option<Value> {
    match subject.look(view) {
        Found::Text(text) => Some(Value::from(text)),
        Found::Value(value) => Some(value.clone()),
        Found::Own(value) => Some(value),
        Found::Missing | Found::Unclear | Found::Values(_) | Found::Output(_) | Found::Kinds(_) => None,
    }
}

/// A plain value as a text. Where the same value opens something, it is the same to the letter; where it closes, the
/// spellings of one thing are one.
fn text_of(value: &Value, is_credit: bool, view: &View<'_>) -> Option<String> {
    let text = match value {
        Value::String(text) if is_credit => Value::from(text.as_str()).to_string(),
        Value::String(text) => folded(text, view.call.about.cwd.as_deref()),
        Value::Number(number) => plain_number(number),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    if text.len() <= VALUE_BYTES_MAX {
        return Some(text);
    }
    let hash = Sha256::digest(&text);
    Some(hash.iter().fold("sha256:".to_owned(), |so_far, byte| format!("{so_far}{byte:02x}")))
}

/// One text for the spellings of one thing: form and case of letters, white space around it, numbers, and the ways to write a
/// path. What is one too often only closes.
fn folded(text: &str, cwd: Option<&str>) -> String {
    let text = plain_text(text).trim().to_lowercase();
    if let Ok(number) = serde_json::from_str::<Number>(&text) {
        return plain_number(&number);
    }
    if text.contains("://") || !text.contains(['/', '\\', '.']) {
        return text;
    }
    let slashed = text.replace('\\', "/");
    let cwd = cwd.map(str::to_lowercase);
    let below = cwd.as_deref().and_then(|cwd| slashed.strip_prefix(cwd)).filter(|rest| rest.starts_with('/'));
    let (root, rest) = match below {
        Some(rest) => ("", rest),
        None if slashed.starts_with('/') => ("/", slashed.as_str()),
        None => ("", slashed.as_str()),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{root}{}", parts.join("/"))
}

/// `1.0` is `1`.
fn plain_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}
