//! One text for equal inputs.
//!
//! [`canonical_json`] sorts the keys of every object and leaves out all white space, so that two inputs
//! that mean the same have the same text and thus the same hash. Numbers stay as they were written: `1`
//! and `1.0` are different inputs, and a grant for one is no grant for the other.

use serde_json::{Map, Value};

/// The input as text: keys sorted at every level, no white space, numbers as `serde_json` prints them.
#[must_use]
pub fn canonical_json(input: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(input, &mut text);
    text
}

/// Any value as text, in the same way.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

// Recursion is bounded: `serde_json` refuses to read anything nested deeper than 128.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => write_object(object, text),
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn write_object(object: &Map<String, Value>, text: &mut String) {
    let mut fields: Vec<_> = object.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    text.push('{');
    for (i, (key, value)) in fields.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push(':');
        write(value, text);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(json: &str) -> String {
        canonical_json(serde_json::from_str::<Value>(json).unwrap().as_object().unwrap())
    }

    #[test]
    fn equal_inputs_have_equal_text() {
        let rows = [
            ("{}", "{}"),
            (r#"{ "b": 1, "a": 2 }"#, r#"{"a":2,"b":1}"#),
            (
                r#"{"x": {"b": [1, {"d": 4, "c": 3}], "a": null}}"#,
                r#"{"x":{"a":null,"b":[1,{"c":3,"d":4}]}}"#,
            ),
            (r#"{"a": "é\u00e9 \"q\"\n"}"#, r#"{"a":"éé \"q\"\n"}"#),
            (r#"{"n": 1.0, "m": 1, "t": true}"#, r#"{"m":1,"n":1.0,"t":true}"#),
            (r#"{"a\"b": 1}"#, r#"{"a\"b":1}"#),
        ];
        for (json, text) in rows {
            assert_eq!(canonical(json), text, "{json}");
        }
    }

    #[test]
    fn the_order_of_a_list_is_part_of_its_meaning() {
        assert_ne!(canonical(r#"{"a": [1, 2]}"#), canonical(r#"{"a": [2, 1]}"#));
    }
}
