//! Single values: words in any case, texts that must be texts, numbers in a range.
//!
//! Nothing here knows what a value is for; callers say what messages shall call it.

use std::num::NonZeroU32;

use lockgate_pattern::{Pattern, PatternError};
use lockgate_policy::Span;
use serde_json::Value as Json;

use super::File;
use crate::yaml::{Fields, Node, Value};

/// Words that YAML 1.1 takes for booleans and YAML 1.2 for texts: an author who writes one without quotes cannot know.
const AMBIGUOUS_WORDS: [&str; 4] = ["yes", "no", "on", "off"];

impl File<'_> {
    /// One of the given words, in any case, as what it stands for.
    pub(super) fn choice<T: Copy>(&mut self, node: &Node, what: &str, choices: &[(&str, T)]) -> Option<T> {
        let mut lower = node.clone();
        if let Value::Scalar { text, .. } = &mut lower.value {
            *text = text.to_lowercase();
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let chosen = self.reader.choice(&lower, what, &words)?;
        choices.iter().find(|(word, _)| *word == chosen).map(|(_, meant)| *meant)
    }

    /// A text, which may be empty.
    pub(super) fn words(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.value {
            Value::Scalar { text, quoted: true } if text.is_empty() => Some(String::new()),
            _ => self.reader.text_strict(node, what),
        }
    }

    /// A text of a mapping, if it is there.
    pub(super) fn optional_words(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        fields.get(key).and_then(|node| self.words(node, &format!("`{key}`")))
    }

    /// Any value but null, also inside of lists and mappings.
    pub(super) fn value(&mut self, node: &Node, what: &str) -> Option<Json> {
        self.is_plain(node, what).then(|| self.reader.json(node, what)).flatten()
    }

    /// Whether a value means the same to everybody; otherwise that is reported.
    fn is_plain(&mut self, node: &Node, what: &str) -> bool {
        match &node.value {
            Value::List(items) => items.iter().all(|item| self.is_plain(item, what)),
            Value::Map(entries) => entries.iter().all(|entry| self.is_plain(&entry.value, what)),
            Value::Scalar { text, quoted: false }
                if AMBIGUOUS_WORDS.contains(&text.to_lowercase().as_str()) =>
            {
                let message = format!("`{text}` is a text to some programs and a truth value to others");
                let remedy = format!("write `\"{text}\"` for the text, or `true` or `false`");
                self.reader.error("ambiguous-word", node.span, message, remedy);
                false
            }
            Value::Scalar { .. } if is_null(node) => {
                let message = format!("{what} must be a value, not nothing");
                let remedy = "write a value, or `exists: false` for a field that must not be there";
                self.reader.error("wrong-type", node.span, message, remedy);
                false
            }
            _ => true,
        }
    }

    /// A whole number from 1 to a bound.
    pub(super) fn count_to(&mut self, node: &Node, what: &str, max: u32, remedy: &str) -> Option<NonZeroU32> {
        let count = self.reader.count(node, what)?;
        let fitting = u32::try_from(count).ok().filter(|count| *count <= max).and_then(NonZeroU32::new);
        if fitting.is_none() {
            let message = format!("{what} must be from 1 to {max}, not {count}");
            self.reader.error("out-of-range", node.span, message, remedy);
        }
        fitting
    }

    /// A regular expression found anywhere in a text.
    pub(super) fn regex(&mut self, node: &Node, what: &str) -> Option<Pattern> {
        let text = self.words(node, what)?;
        let remedy = "write a regular expression as Python has it";
        self.compiled(node, &text, Pattern::python(&text), remedy)
    }

    /// A pattern, or a report that points into it where it can.
    pub(super) fn compiled(
        &mut self,
        node: &Node,
        text: &str,
        built: Result<Pattern, PatternError>,
        remedy: &str,
    ) -> Option<Pattern> {
        let error = match built {
            Ok(pattern) => return Some(pattern),
            Err(error) => error,
        };
        // The place is exact where the expression stands in the file just as it is read.
        let start = self.reader.source.slice(node.span).find(text).map(|at| node.span.start + at);
        let span = match (start, error.at) {
            (Some(start), Some(at)) => Span::new(start + at.start, start + at.end),
            _ => node.span,
        };
        self.reader.error("bad-pattern", span, error.message, remedy);
        None
    }

    /// A list that says at least one thing.
    pub(super) fn filled_list<'n>(&mut self, node: &'n Node, what: &str, remedy: &str) -> Option<&'n [Node]> {
        let items = self.reader.list(node, what)?;
        if items.is_empty() {
            self.reader.error("empty-list", node.span, format!("{what} names nothing"), remedy);
            return None;
        }
        Some(items)
    }
}

/// Whether nothing is written there.
pub(super) fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, quoted: false }
        if ["", "~", "null", "Null", "NULL"].contains(&text.as_str()))
}

/// Whether nothing or an empty text is written there.
pub(super) fn is_blank(node: &Node) -> bool {
    is_null(node) || matches!(&node.value, Value::Scalar { text, .. } if text.is_empty())
}
