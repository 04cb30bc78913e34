//! A YAML file of recorded cases as JSON.
//!
//! Plain scalars are what the core schema of YAML 1.2 makes of them. There are no bounds in here, so it is for files
//! we trust; policies are read by the policy's own reader.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

use super::BadRecording;

/// Reads the first document of a file.
///
/// # Errors
/// When it is no YAML: where and why.
pub fn read(text: &str) -> Result<Value, BadRecording> {
    let mut reader = Reader { events: Parser::new_from_str(text), anchors: HashMap::new(), line: 1 };
    reader.node()?.ok_or_else(|| reader.bad("there is nothing in this file"))
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// What aliases stand for.
    anchors: HashMap<usize, Value>,
    line: usize,
}

impl Reader<'_> {
    fn bad(&self, why: impl Into<String>) -> BadRecording {
        BadRecording { line: self.line, why: why.into() }
    }

    /// The next whole node; nothing at the end of what it would stand in.
    fn node(&mut self) -> Result<Option<Value>, BadRecording> {
        while let Some(event) = self.events.next() {
            let (event, span) = event.map_err(|error| BadRecording {
                line: error.marker().line(),
                why: format!("no YAML: {}", error.info()),
            })?;
            self.line = span.start.line();
            let (value, anchor) = match event {
                Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
                Event::SequenceStart(_, anchor, _) => (self.list()?, anchor),
                Event::MappingStart(_, anchor, _) => (self.map()?, anchor),
                Event::Alias(anchor) => {
                    let known = self.anchors.get(&anchor).cloned();
                    (known.ok_or_else(|| self.bad("this stands for nothing"))?, 0)
                }
                Event::SequenceEnd | Event::MappingEnd | Event::DocumentEnd => return Ok(None),
                _ => continue,
            };
            // Anchors are numbered from 1.
            if anchor > 0 {
                self.anchors.insert(anchor, value.clone());
            }
            return Ok(Some(value));
        }
        Ok(None)
    }

    fn list(&mut self) -> Result<Value, BadRecording> {
        let mut items = Vec::new();
        while let Some(item) = self.node()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self) -> Result<Value, BadRecording> {
        let mut fields = Map::new();
        while let Some(key) = self.node()? {
            let key = match key {
                Value::String(key) => key,
                other => other.to_string(),
            };
            let value = self.node()?.ok_or_else(|| self.bad(format!("`{key}` has no value")))?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(self.bad(format!("`{key}` is there twice")));
            }
        }
        Ok(Value::Object(fields))
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        // JSON's numbers are YAML's, but for spellings that nobody uses.
        _ => serde_json::from_str(text).ok().map_or_else(|| Value::from(text), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_lists_mappings_and_aliases_are_read() {
        let list = serde_json::json!([1, 2.5, "3", true, null, "on"]);
        let text = "a: &x [1, 2.5, '3', true, ~, on]\nb: *x\nc: {1: ''}\nd: |\n  e\n  f\n";
        let expected = serde_json::json!({"a": list, "b": list, "c": {"1": ""}, "d": "e\nf\n"});
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        let bad = |text: &str| read(text).unwrap_err().to_string();
        insta::assert_snapshot!(bad(""), @"line 1: there is nothing in this file");
        insta::assert_snapshot!(bad("a: 1\na: 2"), @"line 2: `a` is there twice");
        insta::assert_snapshot!(bad("a: 1\nb: 'x"), @"line 2: no YAML: unclosed quote");
    }
}
