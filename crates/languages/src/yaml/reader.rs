//! Takes a tree apart and reports what is wrong with it.
//!
//! A [`Reader`] collects every mistake and goes on. It does not know any language: the caller names the keys that may be
//! there and how messages call a node.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use lockgate_policy::{Diagnostic, Severity, Source, Span, closest};
use serde_json::Number;

use super::{
    scalar::Plain,
    tree::{Entry, Node, Value},
};

/// How many mistakes of a file are reported: a report may look through the whole file.
pub(crate) const MISTAKES_MAX: usize = 100;

/// Takes a tree apart and collects what is wrong with it. Each method gives a value, or reports and gives none.
///
/// `what` is how messages call the node, such as `` `places` `` or `a transition`.
pub(crate) struct Reader<'s> {
    pub(crate) source: &'s Source,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A mapping with known keys.
pub(crate) struct Fields<'n> {
    what: &'static str,
    pub(super) span: Span,
    entries: &'n [Entry],
}

impl<'s> Reader<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self { source, diagnostics: Vec::new() }
    }

    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let told = match self.told(Severity::Error).cmp(&MISTAKES_MAX) {
            Ordering::Less => Diagnostic::error(code, self.source, span, message).remedy(remedy),
            Ordering::Equal => {
                let message = format!("there are more than {MISTAKES_MAX} mistakes");
                Diagnostic::error("too-many-mistakes", self.source, span, message)
                    .remedy("correct the others first")
            }
            Ordering::Greater => return,
        };
        self.diagnostics.push(told);
    }

    /// Something that does not stop the file from loading.
    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        // Errors are counted apart from these: no number of warnings hides one.
        if self.told(Severity::Warning) < MISTAKES_MAX {
            self.diagnostics.push(Diagnostic::warning(code, self.source, span, message).remedy(remedy));
        }
    }

    pub(super) fn told(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// A mapping whose keys are known: every other key is reported, with the one it is most likely a slip of.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        self.fields_where(node, what, known, |_| false)
    }

    /// The outermost mapping of a file, which may also have keys that only carry anchors: those of which
    /// an alias speaks, unless they look like a slip of a known key.
    pub(crate) fn outermost_fields<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let is_slip = |entry: &Entry| closest(&entry.key, known.iter().copied()).is_some();
        self.fields_where(node, what, known, |entry| entry.has_used_anchor && !is_slip(entry))
    }

    fn fields_where<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
        is_spare: impl Fn(&Entry) -> bool,
    ) -> Option<Fields<'n>> {
        let entries = self.map(node, what)?;
        let is_known = |entry: &Entry| known.contains(&entry.key.as_str());
        for entry in entries.iter().filter(|entry| !is_known(entry) && !is_spare(entry)) {
            let remedy = did_you_mean(&entry.key, known.iter().copied())
                .unwrap_or_else(|| format!("leave it out; the keys are {}", listed(known)));
            self.error("unknown-key", entry.key_span, format!("{what} has no key `{}`", entry.key), remedy);
        }
        Some(Fields { what, span: node.span, entries })
    }

    /// A mapping with keys of the author's choice.
    pub(crate) fn map<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Entry]> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            _ => self.wrong(node, what, "a mapping", "write `key: value` lines under it"),
        }
    }

    /// A list of anything.
    pub(crate) fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            _ => self.wrong(node, what, "a list", "write `[a, b]`, or one `- a` a line"),
        }
    }

    /// A list of texts, none of them twice.
    pub(crate) fn names(&mut self, node: &Node, what: &str) -> Vec<(String, Span)> {
        let mut names: Vec<(String, Span)> = Vec::new();
        let mut seen = BTreeMap::new();
        for item in self.list(node, what).unwrap_or_default() {
            let Some(name) = self.text(item, &format!("a name in {what}")) else {
                continue;
            };
            match seen.insert(name.clone(), item.span) {
                Some(first) => self.twice("duplicate-name", &name, what, first, item.span),
                None => names.push((name, item.span)),
            }
        }
        names
    }

    /// Reports a name that is already taken, with both places.
    pub(crate) fn twice(&mut self, code: &'static str, name: &str, what: &str, first: Span, second: Span) {
        if self.told(Severity::Error) > MISTAKES_MAX {
            return;
        }
        let line = self.source.place(first).line;
        let message = format!("`{name}` is already in {what}, in line {line}");
        self.error(code, second, message, "leave one of the two out, or rename it");
    }

    /// A text that is not empty.
    pub(crate) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match Plain::of(node) {
            Some(Plain::Text(text)) if !text.is_empty() => Some(text.to_owned()),
            Some(Plain::Null | Plain::Text(_)) | None => {
                self.wrong(node, what, "a text", "write a word or a quoted text")
            }
            Some(_) => self.wrong(node, what, "a text", "put it in quotes to make it a text"),
        }
    }

    /// One of the given words.
    pub(crate) fn choice<'c>(&mut self, node: &Node, what: &str, choices: &[&'c str]) -> Option<&'c str> {
        let text = self.text(node, what)?;
        let chosen = choices.iter().find(|choice| **choice == text);
        if chosen.is_none() {
            let remedy = did_you_mean(&text, choices.iter().copied())
                .unwrap_or_else(|| format!("write one of {}", listed(choices)));
            self.error("unknown-value", node.span, format!("{what} cannot be `{text}`"), remedy);
        }
        chosen.copied()
    }

    pub(crate) fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        match Plain::of(node) {
            Some(Plain::Boolean(value)) => Some(value),
            _ => self.wrong(node, what, "`true` or `false`", "write `true` or `false`, without quotes"),
        }
    }

    pub(crate) fn number(&mut self, node: &Node, what: &str) -> Option<Number> {
        match Plain::of(node) {
            Some(Plain::Number(number)) => Some(number),
            _ => self.wrong(node, what, "a number", "write it in digits, without quotes"),
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&mut self, node: &Node, what: &str) -> Option<u64> {
        match Plain::of(node) {
            Some(Plain::Number(number)) if number.as_u64().is_some() => number.as_u64(),
            _ => self.wrong(
                node,
                what,
                "a whole number",
                "write 0, 1, 2 or more, in digits and without quotes",
            ),
        }
    }

    /// Whatever stands there, as JSON has it.
    pub(crate) fn json(&mut self, node: &Node, what: &str) -> Option<serde_json::Value> {
        Some(match &node.value {
            Value::Scalar { .. } => match Plain::of(node)? {
                Plain::Null => serde_json::Value::Null,
                Plain::Boolean(value) => value.into(),
                Plain::Number(number) => number.into(),
                Plain::Text(text) => text.into(),
                Plain::OddNumber => {
                    let remedy = "write the number in plain digits, or put it in quotes to make it a text";
                    return self.wrong(node, what, "a plain value", remedy);
                }
            },
            // Invariant: a tree is never deeper than `DEPTH_MAX`.
            Value::List(items) => items.iter().map(|item| self.json(item, what)).collect::<Option<_>>()?,
            Value::Map(entries) => {
                let pairs =
                    entries.iter().map(|entry| Some((entry.key.clone(), self.json(&entry.value, what)?)));
                serde_json::Value::Object(pairs.collect::<Option<_>>()?)
            }
            Value::Refused => return None,
        })
    }

    pub(super) fn wrong<T>(&mut self, node: &Node, what: &str, expected: &str, remedy: &str) -> Option<T> {
        let found = match (&node.value, Plain::of(node)) {
            (Value::Refused, _) => return None,
            (Value::List(_), _) => "a list".into(),
            (Value::Map(_), _) => "a mapping".into(),
            (_, Some(Plain::Null)) => "nothing".into(),
            (_, Some(Plain::Text(""))) => "an empty text".into(),
            (_, Some(Plain::Text(text))) => format!("the text `{}`", shortened(text)),
            (Value::Scalar { text, .. }, _) => format!("`{}`", shortened(text)),
        };
        self.error("wrong-type", node.span, format!("{what} must be {expected}, not {found}"), remedy);
        None
    }
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key that must be there.
    pub(crate) fn require(&self, reader: &mut Reader<'_>, key: &str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            let start = Span::new(self.span.start, self.span.start);
            reader.error(
                "missing-key",
                start,
                format!("{} has no `{key}`", self.what),
                format!("add `{key}: …`"),
            );
        }
        found
    }

    /// The value of a key with two spellings, of which only one may be used.
    pub(crate) fn either(&self, reader: &mut Reader<'_>, key: &str, other: &str) -> Option<&'n Node> {
        if let (Some(first), Some(second)) = (self.entry(key), self.entry(other)) {
            let message = format!("`{}` and `{}` are two spellings of one key", first.key, second.key);
            reader.error("duplicate-key", second.key_span, message, format!("keep only `{key}`"));
        }
        self.get(key).or_else(|| self.get(other))
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// A remedy that names the candidate a word is most likely a slip of.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// As much of a text as fits into a message.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    const CHARS_MAX: usize = 40;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
