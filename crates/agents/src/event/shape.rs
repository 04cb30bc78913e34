//! Outputs without their content: an agent that checks shapes drops an output of another shape, and shows the original.

use serde_json::Value;

use super::answer::sentence;

/// The value as the agent would read it.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Words that say which of several shapes a value has. A host that checks shapes drops an output without them, and
/// shows the one we meant to hide.
const SHAPE_WORDS: &[(&str, &[&str])] = &[
    ("type", &["text", "image", "audio", "resource", "resource_link", "create", "update", "notebook", "pdf"]),
    ("mode", &["content", "files_with_matches", "count"]),
    ("status", &["completed", "async_launched", "pending", "in_progress"]),
];

/// A picture of one transparent dot: it stands in for pictures, because an agent refuses anything else.
const EMPTY_PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// The value with every text and number taken out and its shape kept: the reason stands in the first text.
pub(crate) fn withheld(value: &Value, reason: &str) -> Value {
    let mut reason = Some(sentence(reason));
    hollow(value, "", &mut reason)
}

fn hollow(value: &Value, key: &str, reason: &mut Option<&str>) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => Value::from(0),
        Value::String(text) if text.is_empty() || is_shape_word(key, text) => value.clone(),
        Value::String(_) if key == "base64" || key == "data" => Value::from(EMPTY_PICTURE),
        Value::String(text) if text.starts_with("image/") => Value::from("image/png"),
        Value::String(_) => Value::from(reason.take().unwrap_or("[withheld]")),
        Value::Array(values) => values.iter().map(|value| hollow(value, key, reason)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), hollow(value, key, reason))).collect()
        }
    }
}

fn is_shape_word(key: &str, text: &str) -> bool {
    SHAPE_WORDS.iter().any(|(name, words)| *name == key && words.contains(&text))
}

/// Whether two values have the same keys and types all the way down.
pub(crate) fn same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => true,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_shape(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same_shape(one, other)))
        }
        _ => false,
    }
}
