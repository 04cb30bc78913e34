//! Keys that some readers take for one another.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Two keys of one object, at any depth, that differ only in case: `command` and `Command`. A tool that ignores case reads
/// one of them, and it is not known which.
#[must_use]
pub fn keys_alike(object: &Map<String, Value>) -> Option<(String, String)> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for key in object.keys() {
        // Through capitals, because some small letters share one: `s` and the long s.
        if let Some(other) = seen.insert(key.to_uppercase().to_lowercase(), key) {
            return Some((other.to_owned(), key.clone()));
        }
    }
    object.values().find_map(keys_alike_in)
}

fn keys_alike_in(value: &Value) -> Option<(String, String)> {
    match value {
        Value::Object(object) => keys_alike(object),
        Value::Array(items) => items.iter().find_map(keys_alike_in),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Why a call with such keys is blocked, where its tool may ignore case.
#[must_use]
pub fn keys_objection(input: &Map<String, Value>) -> Option<String> {
    let (one, other) = keys_alike(input)?;
    Some(format!(
        "the input has the keys `{}` and `{}`, which differ only in case, and a tool may take either: leave one out",
        crate::visible::visible(&one),
        crate::visible::visible(&other)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_differ_only_in_case_are_found_at_any_depth() {
        for (input, is_found) in [
            (json!({"command": "ls", "Command": "rm"}), true),
            (json!({"a": [{"b": {"path": 1, "PATH": 2}}]}), true),
            (json!({"s": 1, "\u{17f}": 2}), true),
            (json!({"k": 1, "\u{212a}": 2}), true),
            (json!({"a": {"x": 1}, "b": {"X": 1}}), false),
            (json!({"file_path": 1, "filepath": 2}), false),
            (json!({}), false),
        ] {
            assert_eq!(keys_alike(input.as_object().unwrap()).is_some(), is_found, "{input}");
        }
    }
}
