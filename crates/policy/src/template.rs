//! Messages with placeholders: `Cannot read {args.path}`.
//!
//! [`Template::expand`] puts in what a placeholder stands for, once: what it puts in is never read as a template.
//! Secrets are masked, by what they look like and by what their field is called, long values are cut, and what a
//! terminal would obey is spelt out.
//! A placeholder for something that is not there stays as it is written.

use std::sync::LazyLock;

use lockgate_call::visible;
use lockgate_pattern::python_text;
use regex::Regex;
use serde_json::Value;

use crate::{
    condition::{Found, Subject},
    view::View,
};

/// The longest message, in characters.
pub const MESSAGE_CHARS_MAX: usize = 500;
/// The longest value a placeholder shows, in characters.
const VALUE_CHARS_MAX: usize = 200;
/// How many placeholders a message may have; further ones stay as they are written.
pub const PLACEHOLDERS_MAX: usize = 50;

const MASKED: &str = "[REDACTED]";

/// Parts of names that say that a value is a secret, without what may stand between their words.
const SENSITIVE_NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "cookie",
    "signature",
];

/// What secrets look like, wherever in a text they stand.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|eyJ[\w-]{20,}\.|gh[pousr]_[A-Za-z0-9]{36}|xox[a-z]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@",
    )
    .ok()
});

/// A message with placeholders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A placeholder.
    Value {
        /// As written, without its braces.
        written: String,
        /// What it stands for.
        subject: Subject,
    },
}

impl Template {
    /// A message without placeholders, whatever braces it has.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { parts: vec![Part::Text(text.clone())], text }
    }

    /// Reads a message. What stands in braces and stands for nothing is part of the words; with a remedy it is reported.
    pub fn parse(
        text: &str,
        mut read: impl FnMut(&str) -> Result<Subject, Option<String>>,
    ) -> (Self, Vec<(String, String)>) {
        let (mut parts, mut odd) = (Vec::new(), Vec::new());
        let mut words = String::new();
        let mut rest = text;
        let mut placeholders = 0;
        while let Some((before, inside)) = rest.split_once('{') {
            words.push_str(before);
            let Some((written, after)) = inside.split_once('}').filter(|_| placeholders < PLACEHOLDERS_MAX)
            else {
                words.push('{');
                rest = inside;
                continue;
            };
            match read(written) {
                Ok(subject) => {
                    parts.push(Part::Text(std::mem::take(&mut words)));
                    parts.push(Part::Value { written: written.to_owned(), subject });
                    placeholders += 1;
                }
                Err(remedy) => {
                    odd.extend(remedy.map(|remedy| (written.to_owned(), remedy)));
                    words.push_str(&format!("{{{written}}}"));
                }
            }
            rest = after;
        }
        words.push_str(rest);
        parts.push(Part::Text(words));
        parts.retain(|part| !matches!(part, Part::Text(words) if words.is_empty()));
        (Self { text: text.to_owned(), parts }, odd)
    }

    /// The message as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What its placeholders stand for.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.parts().iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value { subject, .. } => Some(subject),
        })
    }

    /// Its parts in order; no words are empty.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The message for one call.
    pub fn expand(&self, view: &View<'_>) -> String {
        let shown = |part: &Part| match part {
            Part::Text(words) => words.clone(),
            Part::Value { written, subject } => {
                shown(written, subject, view).unwrap_or_else(|| format!("{{{written}}}"))
            }
        };
        cut(self.parts.iter().map(shown).collect(), MESSAGE_CHARS_MAX)
    }
}

/// What a placeholder shows; none if there is nothing to show.
fn shown(written: &str, subject: &Subject, view: &View<'_>) -> Option<String> {
    let values: Vec<Value> = match subject.look(view) {
        Found::Missing | Found::Unclear => return None,
        Found::Text(text) => vec![text.into()],
        Found::Values(values) => values.into_iter().filter(|value| !value.is_null()).cloned().collect(),
        Found::Value(value) => vec![value.clone()],
        Found::Own(value) => vec![value],
        Found::Kinds(kinds) => kinds.iter().map(|kind| Value::from(&**kind)).collect(),
        Found::Output(value) => vec![value.clone()],
    };
    if is_sensitive(written) {
        return Some(MASKED.to_owned());
    }
    let texts = values.into_iter().map(|mut value| {
        mask_fields(&mut value);
        let text = python_text(&value);
        let is_secret = SECRETS.as_ref().is_none_or(|secrets| secrets.is_match(&text));
        if is_secret { MASKED.to_owned() } else { visible(&text) }
    });
    Some(cut(texts.collect::<Vec<_>>().join(", "), VALUE_CHARS_MAX))
}

/// Whether a name, or one on the way to a field, says that its value is a secret.
fn is_sensitive(name: &str) -> bool {
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SENSITIVE_NAMES.iter().any(|part| name.contains(part))
}

fn mask_fields(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if is_sensitive(name) {
                        *value = MASKED.into();
                    } else {
                        open.push(value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// At most so many characters, the last three of them dots where some are left out.
fn cut(text: String, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text;
    }
    text.chars().take(chars_max.saturating_sub(3)).chain("...".chars()).collect()
}
