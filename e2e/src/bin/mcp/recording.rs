//! What a client saw of a session, step by step, and where two sessions differ.
//!
//! Some things differ from run to run without anybody's doing, such as names of sessions. [`compare`] is not told which:
//! it takes two recordings of the same thing and lets a third differ only where those two do, and only in a text or a
//! number. What has another shape each time cannot be compared, and is said to be so.

use serde_json::Value;

/// What a client saw: a value for each step.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) steps: Vec<Value>,
}

impl Recording {
    /// Reads what a driver has written.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let step = |line: &str| {
            serde_json::from_str(line).map_err(|error| format!("not a line of a recording: {error}: {line}"))
        };
        Ok(Self { steps: text.lines().map(step).collect::<Result<_, _>>()? })
    }

    /// The same where the order of what was heard within a step says nothing, because it came over several streams.
    pub(crate) fn in_any_order(mut self) -> Self {
        for step in &mut self.steps {
            if let Some(Value::Array(heard)) = step.get_mut("heard") {
                heard.sort_by_key(Value::to_string);
            }
        }
        self
    }

    /// The same without all steps of one kind.
    pub(crate) fn without(mut self, verb: &str) -> Self {
        self.steps.retain(|step| step.pointer("/step/do").and_then(Value::as_str) != Some(verb));
        self
    }
}

/// In what `through` differs from `first` and `second`, which are recordings of the same session.
pub(crate) fn compare(first: &Recording, second: &Recording, through: &Recording) -> Result<(), String> {
    let mut found = Vec::new();
    let value = |recording: &Recording| Value::Array(recording.steps.clone());
    walk(&value(first), &value(second), Some(&value(through)), &mut Place::default(), &mut found);
    match found.is_empty() {
        true => Ok(()),
        false => Err(found.join("\n")),
    }
}

/// Where in a recording something is.
#[derive(Default)]
struct Place(Vec<String>);

impl Place {
    fn inside(&mut self, part: &str, look: impl FnOnce(&mut Self)) {
        self.0.push(part.to_owned());
        look(self);
        self.0.pop();
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

fn walk(first: &Value, second: &Value, through: Option<&Value>, place: &mut Place, found: &mut Vec<String>) {
    let Some(through) = through else {
        return found.push(format!("{place}: missing with the gate: {}", short(first)));
    };
    match (first, second, through) {
        (Value::Array(a), Value::Array(b), Value::Array(c)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                place.inside(&label(index, a), |place| walk(a, b, c.get(index), place, found));
            }
            for extra in c.iter().skip(a.len()) {
                found.push(format!("{place}: only with the gate: {}", short(extra)));
            }
        }
        (Value::Object(a), Value::Object(b), Value::Object(c)) if a.keys().eq(b.keys()) => {
            for (name, a) in a {
                let (b, c) = (b.get(name).unwrap_or(&Value::Null), c.get(name));
                place.inside(name, |place| walk(a, b, c, place, found));
            }
            for (name, extra) in c.iter().filter(|(name, _)| !a.contains_key(*name)) {
                found.push(format!("{place}.{name}: only with the gate: {}", short(extra)));
            }
        }
        (Value::String(a), Value::String(b), Value::String(_)) if a != b => {}
        (Value::Number(a), Value::Number(b), Value::Number(_)) if a != b => {}
        _ if first != second => {
            found.push(format!(
                "{place}: not the same twice without the gate: {} and {}",
                short(first),
                short(second)
            ));
        }
        _ if first != through => {
            found.push(format!(
                "{place}:\n  without the gate: {}\n  with the gate:    {}",
                short(first),
                short(through)
            ));
        }
        _ => {}
    }
}

/// A step by what it does, anything else by its number.
fn label(index: usize, value: &Value) -> String {
    let step = value.get("step");
    let word = |name: &str| step.and_then(|step| step.get(name)).and_then(Value::as_str);
    match (word("do"), word("name").or_else(|| word("method")).or_else(|| word("uri"))) {
        (Some(verb), Some(what)) => format!("step {index} ({verb} {what})"),
        (Some(verb), None) => format!("step {index} ({verb})"),
        _ => index.to_string(),
    }
}

fn short(value: &Value) -> String {
    const SHOWN_MAX: usize = 400;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_anyway_may_differ() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 2}), false),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 3}), true),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": "3"}), false),
            (json!({"a": 1}), json!({"a": 2}), json!({}), false),
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "b": 1}), false),
            (json!({"id": "x", "b": 1}), json!({"id": "y", "b": 1}), json!({"id": "z", "b": 2}), false),
            (json!([1, 2]), json!([1, 2]), json!([1, 2, 3]), false),
            (json!([1, 2]), json!([1]), json!([1, 2]), false),
            (json!(null), json!(null), json!(false), false),
        ];
        let recording = |value: Value| Recording { steps: vec![value] };
        for (first, second, through, is_same) in table {
            let found = compare(&recording(first), &recording(second), &recording(through.clone()));
            assert_eq!(found.is_ok(), is_same, "{through}: {found:?}");
        }
    }

    #[test]
    fn a_difference_is_told_with_its_place() {
        let step = |text: &str| Recording {
            steps: vec![
                json!({"step": {"do": "call", "name": "echo"}, "result": {"content": [{"text": text}]}}),
            ],
        };
        insta::assert_snapshot!(compare(&step("a"), &step("a"), &step("b")).unwrap_err(), @r#"
        step 0 (call echo).result.content.0.text:
          without the gate: "a"
          with the gate:    "b"
        "#);
    }
}
