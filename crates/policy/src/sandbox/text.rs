//! Texts of a call: compared in one spelling, and shown to people.

use lockgate_call::visible;
use serde_json::Value;

/// The most characters of a call that are shown in a sentence.
pub(super) const SHOWN_CHARS_MAX: usize = 120;

/// A name in one spelling: small letters, nothing between words.
pub(super) fn fold(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '_' && *c != '-')
        .flat_map(char::to_lowercase)
        .collect()
}

/// A text as it is shown: without characters a terminal would obey, and not too long.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = visible(text).chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Whether a value holds a text that could name something.
pub(super) fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(object) => {
            object.iter().any(|(key, value)| has_text(value) || !key.is_empty() && value.is_object())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
