//! What is found where a subject points, and whether it passes a test.

use std::sync::Arc;

use lockgate_pattern::python_text;
use serde_json::Value;

use super::test::{Operator, Test};
use crate::decision::Truth;

/// What is found where a subject points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found<'a> {
    /// Nothing, or null.
    Missing,
    /// Something that may well hold the field, but not as a field.
    Unclear,
    Text(&'a str),
    Value(&'a Value),
    /// Several behind a wildcard.
    Values(Vec<&'a Value>),
    /// A value that was made up just now.
    Own(Value),
    /// The whole result, to be looked at as a text.
    Output(&'a Value),
    /// The kinds of sensitive data that a session has seen.
    Kinds(&'a [Arc<str>]),
}

impl<'a> Found<'a> {
    pub(super) fn of(values: Vec<&'a Value>) -> Self {
        match values.as_slice() {
            [] => Self::Missing,
            [value] => Self::Value(value),
            _ => Self::Values(values),
        }
    }
}

impl<'a> From<Option<&'a Value>> for Found<'a> {
    fn from(value: Option<&'a Value>) -> Self {
        value.filter(|value| !value.is_null()).map_or(Self::Missing, Self::Value)
    }
}

impl Found<'_> {
    /// What a test says of it.
    pub(super) fn passes(&self, test: &Test) -> Truth {
        if let (Operator::Exists(wanted), false) = (&test.operator, *self == Self::Unclear) {
            return (self.is_there() == *wanted).into();
        }
        match self {
            Self::Missing => Truth::No,
            Self::Unclear => Truth::Doubt,
            Self::Text(text) => test.truth_of_text(text),
            Self::Value(value) => test.truth(value),
            Self::Own(value) => test.truth(value),
            Self::Values(values) => {
                Truth::together(values.iter().map(|value| test.truth(value))).unwrap_or(Truth::No)
            }
            Self::Output(output) => passes_as_output(test, output),
            Self::Kinds(kinds) => kinds_pass(kinds, test),
        }
    }

    fn is_there(&self) -> bool {
        match self {
            Self::Missing => false,
            Self::Own(value) => !value.is_null(),
            Self::Value(value) => !value.is_null(),
            Self::Values(values) => values.iter().any(|value| !value.is_null()),
            Self::Kinds(kinds) => !kinds.is_empty(),
            Self::Unclear | Self::Text(_) | Self::Output(_) => true,
        }
    }
}

/// A structured result is its JSON text. That text hides what it escapes, and others write the same result
/// with other spaces and quotes: where one of those fits, and each text within is one, there is a doubt.
fn passes_as_output(test: &Test, output: &Value) -> Truth {
    let truth = test.truth_of_text(&output.to_string());
    if truth != Truth::No || test.is_negated {
        return truth;
    }
    let fits = |text: &str| test.truth_of_text(text) != Truth::No;
    let is_found =
        fits(&python_text(output)) || fits(&spaced(output)) || texts_in(output).into_iter().any(fits);
    if is_found { Truth::Doubt } else { Truth::No }
}

/// What a test says of a set of kinds: the order in which they were found does not matter.
fn kinds_pass(kinds: &[Arc<str>], test: &Test) -> Truth {
    let has = |kind: &str| kinds.iter().any(|it| &**it == kind);
    let truth: Truth = match &test.operator {
        Operator::Equals(Value::Array(wanted)) => {
            let all = wanted.iter().all(|kind| kind.as_str().is_some_and(has));
            let only = kinds.iter().all(|kind| wanted.iter().any(|it| it == &**kind));
            (all && only).into()
        }
        Operator::Contains(wanted) => wanted.iter().any(|kind| has(kind)).into(),
        Operator::Exists(wanted) => return (kinds.is_empty() != *wanted).into(),
        _ => return Truth::Doubt,
    };
    if test.is_negated { !truth } else { truth }
}

/// Every text in a value, names of fields too.
fn texts_in(value: &Value) -> Vec<&str> {
    let (mut texts, mut open) = (Vec::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                texts.extend(fields.keys().map(String::as_str));
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

/// JSON with a space after `:` and `,`, as most people write it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}
