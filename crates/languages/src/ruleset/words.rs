//! Bare words that other programs take for something else.
//!
//! Rulesets were first read by a program that follows YAML 1.1, where `no` is false and `1:30` is ninety. Here
//! they follow YAML 1.2. [`other_readings`] finds the values on which the two disagree. Missing on purpose: keys,
//! which are names of tools and fields and never numbers.

use lockgate_policy::Span;

use crate::yaml::{Node, Value, older::older_reading};

/// How many such words of a file are reported.
pub(super) const READINGS_MAX: usize = 50;

/// The bare words of a tree that YAML 1.1 reads in another way, in file order, each with what it is there.
pub(super) fn other_readings(root: &Node) -> Vec<(Span, String, &'static str)> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.value {
            Value::Scalar { text, quoted: false } => {
                found.extend(other_reading(text).map(|reading| (node.span, text.clone(), reading)));
            }
            Value::List(items) => open.extend(items),
            Value::Map(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
            Value::Scalar { .. } | Value::Refused => {}
        }
    }
    found.sort_by_key(|(span, ..)| span.start);
    found.truncate(READINGS_MAX);
    found
}

fn other_reading(text: &str) -> Option<&'static str> {
    // No reader of rulesets takes a single letter for a truth value, although YAML 1.1 says so.
    let older = older_reading(text).filter(|_| !["y", "Y", "n", "N"].contains(&text));
    older.or_else(|| is_fraction_only_here(text).then_some("a text"))
}

/// There, a number with an exponent has a dot, and its exponent a sign.
fn is_fraction_only_here(text: &str) -> bool {
    let exponent =
        text.split_once(['e', 'E']).filter(|_| serde_json::from_str::<serde_json::Number>(text).is_ok());
    exponent.is_some_and(|(digits, exponent)| !digits.contains('.') || !exponent.starts_with(['+', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{self, Dialect};
    use lockgate_policy::Source;

    #[test]
    fn words_with_two_readings_are_found_out() {
        for (word, reading) in [
            ("yes", Some("true")),
            ("OFF", Some("false")),
            ("oN", None),
            ("y", None),
            ("true", None),
            ("1:30", Some("a number")),
            ("1:90", None),
            ("2024-01-01", Some("a date")),
            ("1_000", Some("a number")),
            ("0b11", Some("a number")),
            ("1e3", Some("a text")),
            ("1.5e3", Some("a text")),
            ("1.5e+3", None),
            ("12", None),
            ("every", None),
            ("a_b", None),
        ] {
            assert_eq!(other_reading(word), reading, "{word}");
        }
    }

    #[test]
    fn quoted_words_are_not_told_and_no_more_than_the_bound() {
        let count = |text: String| {
            let source = Source::new("x", text);
            other_readings(&yaml::parse(&source, Dialect::default()).0.unwrap()).len()
        };
        assert_eq!(count("[yes, 'no', {a: on, b: \"off\"}]".into()), 2);
        assert_eq!(count(format!("[{}]", "yes,".repeat(READINGS_MAX))), READINGS_MAX);
        assert_eq!(count(format!("[{}]", "yes,".repeat(READINGS_MAX + 1))), READINGS_MAX);
    }
}
