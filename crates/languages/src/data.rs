//! A file in YAML or JSON as plain data, for programs that show or change rules.

use lockgate_policy::{Diagnostic, Severity, Source};
use serde_json::Value;

use crate::yaml::{Dialect, Reader, parse};

/// What a file in YAML or JSON holds, read by the parser that reads policies.
///
/// # Errors
/// Every mistake of the text.
pub fn data(source: &Source) -> Result<Value, Vec<Diagnostic>> {
    let (root, mut mistakes) = parse(source, Dialect { anchors: true });
    let mut reader = Reader::new(source);
    let value = root.and_then(|root| reader.json(&root, "the file"));
    mistakes.append(&mut reader.diagnostics);
    match value {
        Some(value) if mistakes.iter().all(|it| it.severity != Severity::Error) => Ok(value),
        _ => Err(mistakes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_what_a_policy_says() {
        let read = |text: &str| data(&Source::new("a.yaml", text));
        let told = read("rules: [{id: no, count: 3, on: true, parts: [a, 1.5, null]}]").unwrap();
        assert_eq!(
            told,
            serde_json::json!({ "rules": [{ "id": "no", "count": 3, "on": true, "parts": ["a", 1.5, null] }] })
        );
        for text in ["a: [", "a: 1\na: 2", "- &x [*x]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
