//! A policy file in YAML or JSON, as a tree in which everything knows its place.
//!
//! [`parse`] reads one document; a [`Reader`] then takes the tree apart. Both report every mistake they meet
//! and go on. Missing on purpose: anchors, aliases, merge keys and tags. They let a file mean something else
//! than it shows, so they are refused. Words mean what YAML 1.2 says: `no` is a text, `true` is not.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;

use crate::{
    diagnostic::{Diagnostic, closest},
    source::{Source, Span},
};

/// The largest file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 4 << 20;
/// How deep lists and mappings may be nested.
pub(crate) const DEPTH_MAX: usize = 64;
/// How many values and keys a file may have.
pub(crate) const NODES_MAX: usize = 200_000;

/// How many mistakes of a file are told: telling one may look through the whole file.
pub(crate) const MISTAKES_MAX: usize = 100;

/// A value and the text it was written as.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// What a file can say somewhere.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A word, a number or a text; what it is without quotes, [`Plain`] decides.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Something already reported: it is neither read nor reported again.
    Refused,
}

/// A key of a mapping with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Node,
}

/// Reads the one document of a file; no tree when its text cannot be followed to the end.
pub(crate) fn parse(source: &Source) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder = Builder { reader: Reader::new(source), open: Vec::new(), root: None, nodes: 0 };
    let read = builder.read();
    let root = read.and(builder.root);
    (root, builder.reader.diagnostics)
}

/// The word behind a key of the outermost mapping. `Err` when the text breaks off before the answer is known.
pub(crate) fn top_level_word<'s>(source: &'s Source, key: &str) -> Result<Option<Cow<'s, str>>, ()> {
    let (mut depth, mut is_key, mut found) = (0_usize, true, false);
    for event in events(source) {
        match event.map_err(|_| ())?.0 {
            Event::Scalar(word, ..) if depth == 1 && found => return Ok(Some(word)),
            Event::Scalar(word, ..) if depth == 1 => found = is_key && word == key,
            Event::Scalar(..) | Event::SequenceStart(..) if depth == 0 => return Ok(None),
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                depth += 1;
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {}
            _ => continue,
        }
        // A whole node has ended: in the outermost mapping, keys and values take turns.
        if depth == 1 {
            is_key = !is_key;
            found &= !is_key;
        }
    }
    Ok(None)
}

fn events(source: &Source) -> Parser<'_, granit_parser::StrInput<'_>> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        // One more than ours, so that our own message comes first.
        flow_nesting_limit: DEPTH_MAX + 1,
        block_nesting_limit: DEPTH_MAX + 1,
    };
    Parser::new_from_str_with_options(source.text(), options)
}

struct Builder<'s> {
    reader: Reader<'s>,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
}

enum Open {
    List { span: Span, items: Vec<Node> },
    Map { span: Span, entries: Vec<Entry>, keys: BTreeMap<String, Span>, key: Option<Node> },
}

impl Builder<'_> {
    /// Takes in the whole file. None when there is no use in going on, which has then been reported.
    fn read(&mut self) -> Option<()> {
        let source = self.reader.source;
        let start = Span::new(0, 0);
        if source.text().len() > FILE_BYTES_MAX {
            return self.too_large(start, &format!("more than {FILE_BYTES_MAX} bytes"));
        }
        for event in events(source) {
            match event {
                Ok((event, span)) => self.take(event, &span)?,
                Err(error) => {
                    let at = error.marker().byte_offset().unwrap_or_default();
                    let remedy =
                        "look for a wrong indentation, a missing quote or bracket just before this place";
                    let message = format!("this cannot be read as YAML: {}", error.info());
                    self.reader.error("yaml-syntax", Span::new(at, at), message, remedy);
                    return None;
                }
            }
        }
        if self.root.is_none() {
            self.reader.error(
                "file-empty",
                start,
                "the file says nothing",
                "write a mapping such as `kind: Net`",
            );
        }
        Some(())
    }

    fn take(&mut self, event: Event<'_>, at: &granit_parser::Span) -> Option<()> {
        let span = span(at);
        if event.is_node() {
            self.nodes += 1;
            if self.nodes > NODES_MAX {
                return self.too_large(span, &format!("more than {NODES_MAX} values"));
            }
            self.refuse_decoration(&event, at, span);
        }
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let remedy = "keep one document, and put the others into files of their own";
                self.reader.error("second-document", span, "a second document begins here", remedy);
                return None;
            }
            Event::Scalar(text, style, ..) => {
                let quoted = style != ScalarStyle::Plain;
                // The parser writes `~` where nothing is written.
                let text = if span.start == span.end && !quoted { String::new() } else { text.into_owned() };
                self.put(Node { span, value: Value::Scalar { text, quoted } });
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let remedy = "write the value out where it is needed";
                self.reader.error("yaml-alias", span, "aliases are not read in policies", remedy);
                self.put(Node { span, value: Value::Refused });
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if self.open.len() == DEPTH_MAX => {
                return self
                    .too_large(span, &format!("more than {DEPTH_MAX} lists or mappings inside one another"));
            }
            Event::SequenceStart(..) => self.open.push(Open::List { span, items: Vec::new() }),
            Event::MappingStart(..) => {
                self.open.push(Open::Map { span, entries: Vec::new(), keys: BTreeMap::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            _ => {}
        }
        Some(())
    }

    fn too_large(&mut self, span: Span, what: &str) -> Option<()> {
        self.reader.error(
            "file-too-large",
            span,
            format!("{what} in one file"),
            "split it into several files",
        );
        None
    }

    fn refuse_decoration(&mut self, event: &Event<'_>, at: &granit_parser::Span, node: Span) {
        if let Some(tag) = event.tag() {
            let span = at.tag_span().map_or(node, |tag| span(&tag));
            let message = format!("the tag `{}` is not read in policies", tag.original());
            self.reader.error("yaml-tag", span, message, "leave the tag out; put a text in quotes instead");
        }
        if event.anchor_id().is_some() {
            let remedy = "leave the anchor out, and write the value out where it is needed";
            self.reader.error("yaml-anchor", node, "anchors are not read in policies", remedy);
        }
    }

    /// A list or mapping ends. In block style its end has no text, so it reaches to its last member.
    fn close(&mut self, end: Span) {
        let (span, last, value) = match self.open.pop() {
            Some(Open::List { span, items }) => {
                (span, items.last().map(|item| item.span), Value::List(items))
            }
            Some(Open::Map { span, entries, .. }) => {
                (span, entries.last().map(|entry| entry.value.span), Value::Map(entries))
            }
            None => return,
        };
        let end = if end.start == end.end { last.map_or(span.end, |last| last.end) } else { end.end };
        self.put(Node { span: Span::new(span.start, end.max(span.start)), value });
    }

    /// Puts a finished node where the innermost open list or mapping wants it.
    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { key: waiting, entries, keys, .. }) => match waiting.take() {
                None => *waiting = Some(node),
                Some(key) => entries.extend(self.reader.entry(keys, key, node)),
            },
        }
    }
}

fn span(span: &granit_parser::Span) -> Span {
    let start = span.start.byte_offset().unwrap_or_default();
    Span::new(start, span.end.byte_offset().unwrap_or_default().max(start))
}

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
    span: Span,
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
        let told = match self.diagnostics.len().cmp(&MISTAKES_MAX) {
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

    /// A mapping whose keys are known: every other key is reported, with the one it is most likely a slip of.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &'static str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let entries = self.map(node, what)?;
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
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
        if self.diagnostics.len() > MISTAKES_MAX {
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

    /// The entry for a key and its value, unless the key is none or is taken.
    fn entry(&mut self, keys: &mut BTreeMap<String, Span>, key: Node, value: Node) -> Option<Entry> {
        let Node { span: key_span, value: Value::Scalar { text: key, quoted } } = key else {
            if !matches!(key.value, Value::Refused) {
                self.error(
                    "wrong-type",
                    key.span,
                    "a key must be a text",
                    "write a word or a quoted text before the `:`",
                );
            }
            return None;
        };
        if key == "<<" && !quoted {
            let remedy = "write the keys out where they are needed";
            self.error("yaml-merge", key_span, "merge keys are not read in policies", remedy);
            return None;
        }
        if let Some(first) = keys.insert(key.clone(), key_span) {
            self.twice("duplicate-key", &key, "this mapping", first, key_span);
            return None;
        }
        Some(Entry { key, key_span, value })
    }

    fn wrong<T>(&mut self, node: &Node, what: &str, expected: &str, remedy: &str) -> Option<T> {
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

    fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// What a scalar means.
enum Plain<'n> {
    Null,
    Boolean(bool),
    Number(Number),
    /// A number that YAML reads in another way than JSON, or that fits no number: `0x1F`, `007`, `1e999`.
    OddNumber,
    Text(&'n str),
}

impl<'n> Plain<'n> {
    fn of(node: &'n Node) -> Option<Self> {
        let Value::Scalar { text, quoted } = &node.value else {
            return None;
        };
        Some(match text.as_str() {
            text if *quoted => Self::Text(text),
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "true" | "True" | "TRUE" => Self::Boolean(true),
            "false" | "False" | "FALSE" => Self::Boolean(false),
            text => match serde_json::from_str(text) {
                Ok(number) => Self::Number(number),
                Err(_) if is_odd_number(text) => Self::OddNumber,
                Err(_) => Self::Text(text),
            },
        })
    }
}

fn is_odd_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    let in_base = |prefix, base| {
        unsigned.strip_prefix(prefix).is_some_and(|digits: &str| {
            !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
        })
    };
    let decimal = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    (decimal && text.parse::<f64>().is_ok())
        || in_base("0x", 16)
        || in_base("0o", 8)
        || [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&unsigned)
}

/// A remedy that names the candidate a word is most likely a slip of.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// As much of a text as fits into a message.
fn shortened(text: &str) -> Cow<'_, str> {
    const CHARS_MAX: usize = 40;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// Diagnostics the way tests read them, one a line: `line:column code message | remedy`.
#[cfg(test)]
pub(crate) fn told(diagnostics: &[Diagnostic]) -> String {
    let line = |diagnostic: &Diagnostic| {
        let place = diagnostic.source.place(diagnostic.span);
        let remedy = diagnostic.remedy.as_deref().unwrap_or("");
        format!("{}:{} {} {} | {remedy}", place.line, place.column, diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> String {
        told(&parse(&Source::new("x", text)).1)
    }

    /// The tree on one line; quoted texts keep quotes.
    fn drawn(node: &Node) -> String {
        match &node.value {
            Value::Scalar { text, quoted: true } => format!("{text:?}"),
            Value::Scalar { text, .. } => text.clone(),
            Value::List(items) => format!("[{}]", items.iter().map(drawn).collect::<Vec<_>>().join(", ")),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|entry| format!("{}: {}", entry.key, drawn(&entry.value)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::Refused => "refused".into(),
        }
    }

    #[test]
    fn yaml_and_json_give_the_same_tree() {
        let rows = [
            ("a: 1\nb: [x, 'y']\nc:\n  - d: null\n  -\n", r#"{a: 1, b: [x, "y"], c: [{d: null}, ]}"#),
            ("{\n\t\"a\": 1,\n\t\"b\": [true, \"x\\u0041\"]\n}", r#"{a: 1, b: [true, "xA"]}"#),
            ("\u{feff}a: é\r\nb: |\r\n  two\r\n  lines\r\n", "{a: é, b: \"two\\nlines\\n\"}"),
            ("# only\n---\nword\n...\n", "word"),
        ];
        for (text, tree) in rows {
            let (root, diagnostics) = parse(&Source::new("x", text));
            assert_eq!(told(&diagnostics), "", "{text}");
            assert_eq!(drawn(&root.unwrap()), tree, "{text}");
        }
    }

    #[test]
    fn every_node_knows_its_place() {
        let source = Source::new("x", "é: 'ü'\nlist:\n  - a\n  - {b: c}\nlast: x # comment\n");
        let (root, _) = parse(&source);
        let Some(Node { span, value: Value::Map(entries) }) = root else { panic!("no mapping") };
        assert_eq!(source.slice(span), "é: 'ü'\nlist:\n  - a\n  - {b: c}\nlast: x");
        let slices: Vec<&str> = entries
            .iter()
            .flat_map(|entry| [source.slice(entry.key_span), source.slice(entry.value.span)])
            .collect();
        assert_eq!(slices, ["é", "'ü'", "list", "- a\n  - {b: c}", "last", "x"]);
    }

    #[test]
    fn what_hides_a_meaning_is_refused() {
        let text = "a: &x 1\nb: *x\nc: *unknown\n<<: {d: 1}\ne: !!str 7\nf: !mine {}\na: 2\n[1]: 3\n";
        insta::assert_snapshot!(mistakes(text), @"
        1:7 yaml-anchor anchors are not read in policies | leave the anchor out, and write the value out where it is needed
        2:4 yaml-alias aliases are not read in policies | write the value out where it is needed
        3:4 yaml-alias aliases are not read in policies | write the value out where it is needed
        4:1 yaml-merge merge keys are not read in policies | write the keys out where they are needed
        5:4 yaml-tag the tag `!!str` is not read in policies | leave the tag out; put a text in quotes instead
        6:4 yaml-tag the tag `!mine` is not read in policies | leave the tag out; put a text in quotes instead
        7:1 duplicate-key `a` is already in this mapping, in line 1 | leave one of the two out, or rename it
        8:1 wrong-type a key must be a text | write a word or a quoted text before the `:`
        ");
    }

    #[test]
    fn a_text_that_breaks_off_is_told_with_its_place() {
        insta::assert_snapshot!(mistakes("a: [1, 2\nb: 3\n"), @"
        2:2 yaml-syntax this cannot be read as YAML: illegal placement of ':' indicator | look for a wrong indentation, a missing quote or bracket just before this place
        ");
        insta::assert_snapshot!(mistakes("a: 1\n---\nb: 2\n"), @"
        2:1 second-document a second document begins here | keep one document, and put the others into files of their own
        ");
        insta::assert_snapshot!(mistakes("# nothing\n"), @"
        1:1 file-empty the file says nothing | write a mapping such as `kind: Net`
        ");
    }

    #[test]
    fn words_mean_what_yaml_1_2_says() {
        let rows = [
            ("no", "no"),
            ("yes", "yes"),
            ("inf", "inf"),
            ("1.2.3", "1.2.3"),
            ("2024-01-02", "2024-01-02"),
            ("'1'", "1"),
            ("~", "a text, not nothing"),
            ("true", "quotes"),
            ("12", "quotes"),
            ("-1.5e3", "quotes"),
            ("0x1F", "quotes"),
            ("007", "quotes"),
            ("+1", "quotes"),
            (".5", "quotes"),
            (".inf", "quotes"),
            ("1e999", "quotes"),
            ("''", "an empty text"),
            ("[a]", "a list"),
        ];
        for (text, expected) in rows {
            let source = Source::new("x", text);
            let node = parse(&source).0.unwrap();
            let mut reader = Reader::new(&source);
            match reader.text(&node, "it") {
                Some(read) => assert_eq!(read, expected),
                None => {
                    assert!(told(&reader.diagnostics).contains(expected), "{}", told(&reader.diagnostics))
                }
            }
        }
    }

    #[test]
    fn every_bound_holds_one_past_it() {
        let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(mistakes(&lists(DEPTH_MAX)), "");
        assert!(mistakes(&lists(DEPTH_MAX + 1)).contains("file-too-large"));
        let mixed = format!("{}{}", "- ".repeat(DEPTH_MAX / 2 + 1), lists(DEPTH_MAX / 2));
        assert!(mistakes(&mixed).contains("file-too-large"));

        let items = |count: usize| format!("[{}]", "1,".repeat(count));
        assert_eq!(mistakes(&items(NODES_MAX - 1)), "");
        assert!(mistakes(&items(NODES_MAX)).contains("file-too-large"));

        let aliases = |count: usize| mistakes(&format!("[{}]", "*a,".repeat(count))).lines().count();
        assert_eq!(aliases(MISTAKES_MAX), MISTAKES_MAX);
        assert_eq!(aliases(MISTAKES_MAX + 9), MISTAKES_MAX + 1);

        let text = |bytes: usize| format!("a{}", "#".repeat(bytes - 1));
        assert_eq!(mistakes(&text(FILE_BYTES_MAX)), "");
        assert!(mistakes(&text(FILE_BYTES_MAX + 1)).contains("file-too-large"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"[a\[\]{}:,'\x22&*!|>%#?~é\t <-]{0,40}|.{0,40}|(a: |- |\n|  |\[|\]|b){0,40}") {
            let source = Source::new("x", text);
            let (_, diagnostics) = parse(&source);
            for diagnostic in diagnostics {
                proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
            }
        }
    }
}
