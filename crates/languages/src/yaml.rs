//! A policy file in YAML or JSON, as a tree in which everything knows its place.
//!
//! [`parse`] reads one document; a [`Reader`] then takes the tree apart. Both report every mistake they meet
//! and go on. Anchors, aliases and merge keys let a file mean something else than it shows: they are refused
//! unless the file's language is known for them, and then the tree has copies in their place. Words mean what
//! YAML 1.2 says: `no` is a text, `true` is not. Missing on purpose: tags, and the words of older YAML; where
//! a file may have been read with those, [`Reader::text_strict`] has the author decide.

pub(crate) mod older;
pub(crate) mod steps;

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, btree_map},
};

use serde_json::Number;

use self::steps::{Broken, DEPTH_MAX, Says, Step, steps};
use lockgate_policy::{Diagnostic, Severity, Source, Span, closest};

/// The largest file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 4 << 20;
/// How many values and keys a file may have, those that aliases copy included.
pub(crate) const NODES_MAX: usize = 200_000;

/// How many keys of a mapping are looked through to find one: a table would take longer to make.
const SCANNED_MAX: usize = 16;
/// The key whose value is merged into the mapping.
const MERGE: &str = "<<";

/// How many mistakes of a file are told: telling one may look through the whole file.
pub(crate) const MISTAKES_MAX: usize = 100;

/// A value and the text it was written as; what an alias copied was written at the anchor.
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
    /// Whether the value is or holds an anchor that an alias somewhere speaks of.
    pub(crate) has_used_anchor: bool,
}

/// What a language takes from YAML.
#[derive(Clone, Copy, Default)]
pub(crate) struct Dialect {
    /// Whether anchors, aliases and merge keys are followed instead of refused.
    pub(crate) anchors: bool,
}

/// Reads the one document of a file; no tree when its text cannot be followed to the end.
pub(crate) fn parse(source: &Source, dialect: Dialect) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder = Builder {
        reader: Reader::new(source),
        dialect,
        used: None,
        open: Vec::new(),
        root: None,
        nodes: 0,
        kept_nodes: 0,
        anchors_met: 0,
        anchors: BTreeMap::new(),
    };
    let read = builder.read();
    let root = read.and(builder.root);
    (root, builder.reader.diagnostics)
}

/// The word behind a key of the outermost mapping. `Err` when the text breaks off before the answer is known.
pub(crate) fn top_level_word<'s>(source: &'s Source, key: &str) -> Result<Option<Cow<'s, str>>, ()> {
    let (mut depth, mut is_key, mut found) = (0_usize, true, false);
    for step in steps(source) {
        match step.map_err(|_| ())?.says {
            Says::Scalar { text: word, .. } if depth == 1 && found => return Ok(Some(word)),
            Says::Scalar { text: word, .. } if depth == 1 => found = is_key && word == key,
            Says::Scalar { .. } | Says::List if depth == 0 => return Ok(None),
            Says::Map | Says::List => {
                depth += 1;
                continue;
            }
            Says::End => depth = depth.saturating_sub(1),
            Says::Scalar { .. } | Says::Alias(_) | Says::UnknownAlias(_) => {}
            Says::Document => continue,
        }
        // A whole node has ended: in the outermost mapping, keys and values take turns.
        if depth == 1 {
            is_key = !is_key;
            found &= !is_key;
        }
    }
    Ok(None)
}

/// The keys of the outermost mapping, and whether the text could be followed to its end.
pub(crate) fn top_level_keys(source: &Source) -> (Vec<String>, bool) {
    let mut keys = Vec::new();
    let is_whole = walk_top_level_keys(source, |key| {
        keys.push(key.to_owned());
        true
    });
    (keys, is_whole)
}

/// Whether a key of the outermost mapping is meant; nothing behind it is read.
pub(crate) fn has_top_level_key(source: &Source, is_meant: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    walk_top_level_keys(source, |key| {
        found = is_meant(key);
        !found
    });
    found
}

/// Tells the keys of the outermost mapping for as long as somebody wants more, and whether the text did not break off
/// until then.
fn walk_top_level_keys(source: &Source, mut wants_more: impl FnMut(&str) -> bool) -> bool {
    let (mut depth, mut is_key) = (0_usize, true);
    for step in steps(source) {
        let Ok(step) = step else { return false };
        match step.says {
            Says::Scalar { text: word, .. } if depth == 1 && is_key => {
                if !wants_more(&word) {
                    return true;
                }
            }
            Says::List if depth == 0 => return true,
            Says::Map | Says::List => {
                depth += 1;
                continue;
            }
            Says::End => depth = depth.saturating_sub(1),
            Says::Scalar { .. } | Says::Alias(_) | Says::UnknownAlias(_) => {}
            Says::Document => continue,
        }
        // A whole node has ended: in the outermost mapping, keys and values take turns.
        if depth == 1 {
            is_key = !is_key;
        }
    }
    true
}

/// Where comments start, in order. Of a text that breaks off, only those before that place are told.
pub(crate) fn comment_starts(source: &Source) -> Vec<usize> {
    let scalars = steps(source).map_while(Result::ok).filter_map(|step| match step.says {
        Says::Scalar { .. } => Some(step.span),
        _ => None,
    });
    let text = source.text();
    let mut starts: Vec<usize> = Vec::new();
    // Invariant: nothing but scalars can hold a `#` with white space before it, and they come in file order.
    let mut from = 0;
    for scalar in scalars {
        starts.extend(comments_between(text, from, scalar.start));
        from = from.max(scalar.end);
    }
    starts.extend(comments_between(text, from, text.len()));
    starts
}

/// Where comments start in a part of a file that has no scalars.
fn comments_between(text: &str, from: usize, to: usize) -> impl Iterator<Item = usize> {
    let part = text.get(from..to).unwrap_or_default();
    let mut line_end = 0;
    part.match_indices('#').filter_map(move |(at, _)| {
        let before = text.get(..from + at)?.chars().next_back();
        let is_start = at >= line_end && before.is_none_or(|before| " \t\n\r\u{feff}".contains(before));
        if is_start {
            line_end = part.get(at..)?.find('\n').map_or(part.len(), |length| at + length);
        }
        is_start.then_some(from + at)
    })
}

/// The anchors that aliases speak of, by the parser's numbers.
fn used_anchors(source: &Source) -> BTreeSet<usize> {
    let alias = |step: Step<'_>| match step.says {
        Says::Alias(anchor) => Some(anchor),
        _ => None,
    };
    steps(source).map_while(Result::ok).filter_map(alias).collect()
}

struct Builder<'s> {
    reader: Reader<'s>,
    dialect: Dialect,
    /// The anchors that aliases speak of; none until an anchor is met.
    used: Option<BTreeSet<usize>>,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    /// How many nodes `anchors` holds.
    kept_nodes: usize,
    /// How many used anchors there were so far.
    anchors_met: usize,
    anchors: BTreeMap<usize, Anchored>,
}

/// A node that aliases copy.
struct Anchored {
    node: Node,
    nodes: usize,
    depth: usize,
}

/// A list or mapping that has not ended.
struct Open {
    span: Span,
    anchor: Option<usize>,
    /// How many nodes there were before it.
    nodes_before: usize,
    /// Where the last thing in it ends.
    end: Option<usize>,
    members: Members,
}

enum Members {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, merged: Vec<Entry>, taken: Taken, key: Option<Key> },
}

/// The keys that a mapping has so far.
#[derive(Default)]
struct Taken {
    /// Where it has a merge key.
    merge: Option<Span>,
    /// The places of all other keys, once there are too many to look through.
    many: BTreeMap<String, Span>,
}

impl Taken {
    /// Takes a key, which then joins the entries; otherwise says where it stands already.
    fn take(&mut self, entries: &[Entry], key: &str, span: Span) -> Option<Span> {
        if key == MERGE && self.merge.is_some() {
            return self.merge;
        }
        if entries.len() < SCANNED_MAX {
            return entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_span);
        }
        if self.many.is_empty() {
            self.many = entries.iter().map(|entry| (entry.key.clone(), entry.key_span)).collect();
        }
        match self.many.entry(key.to_owned()) {
            btree_map::Entry::Occupied(first) => Some(*first.get()),
            btree_map::Entry::Vacant(free) => {
                free.insert(span);
                None
            }
        }
    }
}

struct Key {
    node: Node,
    /// How many used anchors there were before its value.
    anchors_before: usize,
}

impl Builder<'_> {
    /// Takes in the whole file. None when there is no use in going on, which has then been reported.
    fn read(&mut self) -> Option<()> {
        let source = self.reader.source;
        let start = Span::new(0, 0);
        if source.text().len() > FILE_BYTES_MAX {
            return self.too_large(start, &format!("more than {FILE_BYTES_MAX} bytes"));
        }
        for step in steps(source) {
            match step {
                Ok(step) => self.take(step)?,
                Err(Broken { at, reason }) => {
                    let remedy =
                        "look for a wrong indentation, a missing quote or bracket just before this place";
                    let message = format!("this cannot be read as YAML: {reason}");
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

    fn take(&mut self, step: Step<'_>) -> Option<()> {
        if !matches!(step.says, Says::Document | Says::End) {
            self.nodes += 1;
            if self.nodes > NODES_MAX {
                return self.too_large(step.span, &too_many_values());
            }
            self.refuse_decoration(&step);
        }
        let Step { says, span, anchor, .. } = step;
        let anchor = anchor.filter(|anchor| self.is_used(*anchor));
        self.anchors_met += usize::from(anchor.is_some());
        match says {
            Says::Document if self.root.is_some() => {
                let remedy = "keep one document, and put the others into files of their own";
                self.reader.error("second-document", span, "a second document begins here", remedy);
                return None;
            }
            Says::Document => {}
            Says::Scalar { text, quoted } => {
                let node = Node { span, value: Value::Scalar { text: text.into_owned(), quoted } };
                if let Some(anchor) = anchor {
                    self.keep(anchor, &node, 1)?;
                }
                self.put(node, span.end);
            }
            Says::Alias(anchor) if self.dialect.anchors => {
                let node = self.copied(anchor, span)?;
                self.put(node, span.end);
            }
            Says::UnknownAlias(name) if self.dialect.anchors => {
                let message = format!("no anchor before this place is called `{}`", shortened(&name));
                let remedy = format!("write `&{}` before the value that is meant", shortened(&name));
                self.reader.error("yaml-alias", span, message, remedy);
                self.put(Node { span, value: Value::Refused }, span.end);
            }
            Says::Alias(_) | Says::UnknownAlias(_) => {
                let remedy = "write the value out where it is needed";
                self.reader.error("yaml-alias", span, "aliases are not read in policies", remedy);
                self.put(Node { span, value: Value::Refused }, span.end);
            }
            Says::List | Says::Map if self.open.len() == DEPTH_MAX => return self.too_deep(span),
            Says::List => self.open(span, anchor, Members::List(Vec::new())),
            Says::Map => {
                let (entries, merged, taken) = (Vec::new(), Vec::new(), Taken::default());
                self.open(span, anchor, Members::Map { entries, merged, taken, key: None });
            }
            Says::End => self.close(span)?,
        }
        Some(())
    }

    /// Whether an alias speaks of this anchor. Finding out reads the file a second time, which one without
    /// anchors is spared.
    fn is_used(&mut self, anchor: usize) -> bool {
        let source = self.reader.source;
        self.dialect.anchors && self.used.get_or_insert_with(|| used_anchors(source)).contains(&anchor)
    }

    fn too_large<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.reader.error(
            "file-too-large",
            span,
            format!("{what} in one file"),
            "split it into several files",
        );
        None
    }

    fn too_deep<T>(&mut self, span: Span) -> Option<T> {
        self.too_large(span, &format!("more than {DEPTH_MAX} lists or mappings inside one another"))
    }

    fn refuse_decoration(&mut self, step: &Step<'_>) {
        if let Some((tag, span)) = &step.tag {
            let message = format!("the tag `{tag}` is not read in policies");
            self.reader.error("yaml-tag", *span, message, "leave the tag out; put a text in quotes instead");
        }
        if step.anchor.is_some() && !self.dialect.anchors {
            let remedy = "leave the anchor out, and write the value out where it is needed";
            self.reader.error("yaml-anchor", step.span, "anchors are not read in policies", remedy);
        }
    }

    fn open(&mut self, span: Span, anchor: Option<usize>, members: Members) {
        // The list or mapping itself is already counted.
        let nodes_before = self.nodes.saturating_sub(1);
        self.open.push(Open { span, anchor, nodes_before, end: None, members });
    }

    /// A list or mapping ends. In block style its end has no text, so it reaches to its last member.
    fn close(&mut self, end: Span) -> Option<()> {
        let Some(Open { span, anchor, nodes_before, end: last, members }) = self.open.pop() else {
            return Some(());
        };
        let end = if end.start == end.end { last.unwrap_or(span.end) } else { end.end };
        let value = match members {
            Members::List(items) => Value::List(items),
            Members::Map { entries, merged, .. } => Value::Map(joined(entries, merged)),
        };
        let node = Node { span: Span::new(span.start, end.max(span.start)), value };
        if let Some(anchor) = anchor {
            self.keep(anchor, &node, self.nodes.saturating_sub(nodes_before))?;
        }
        self.put(node, end);
        Some(())
    }

    /// Keeps a node for its aliases. Each of them is going to be copied, so what is kept counts like copies.
    fn keep(&mut self, anchor: usize, node: &Node, nodes: usize) -> Option<()> {
        self.kept_nodes = self.kept_nodes.saturating_add(nodes);
        if self.kept_nodes > NODES_MAX {
            return self.too_large(node.span, &too_many_values());
        }
        self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, depth: node.depth() });
        Some(())
    }

    /// A copy of what an alias speaks of.
    fn copied(&mut self, anchor: usize, span: Span) -> Option<Node> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            let remedy = "a value cannot hold itself: write out what is meant";
            self.reader.error("yaml-alias", span, "the alias stands inside its own anchor", remedy);
            return Some(Node { span, value: Value::Refused });
        };
        // The alias itself is already counted.
        self.nodes = self.nodes.saturating_add(anchored.nodes.saturating_sub(1));
        if self.nodes > NODES_MAX {
            return self.too_large(span, &too_many_values());
        }
        if self.open.len() + anchored.depth > DEPTH_MAX {
            return self.too_deep(span);
        }
        Some(anchored.node.clone())
    }

    /// Puts a finished node where the innermost open list or mapping wants it. `end` is where it ends there.
    fn put(&mut self, node: Node, end: usize) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        open.end = Some(end);
        match &mut open.members {
            Members::List(items) => items.push(node),
            Members::Map { key: waiting, entries, merged, taken } => match waiting.take() {
                None => *waiting = Some(Key { node, anchors_before: self.anchors_met }),
                Some(Key { node: key, anchors_before }) => {
                    let is_merge =
                        matches!(&key.value, Value::Scalar { text, quoted: false } if text == MERGE);
                    if is_merge && self.dialect.anchors {
                        match taken.take(entries, MERGE, key.span) {
                            Some(first) => {
                                self.reader.twice("duplicate-key", MERGE, "this mapping", first, key.span);
                            }
                            None => {
                                taken.merge = Some(key.span);
                                self.reader.merge(node, merged);
                            }
                        }
                        return;
                    }
                    let has_used_anchor = self.anchors_met > anchors_before;
                    let entry = self.reader.entry((taken, entries), key, node, has_used_anchor);
                    entries.extend(entry);
                }
            },
        }
    }
}

impl Node {
    /// How many lists and mappings stand inside one another here.
    fn depth(&self) -> usize {
        match &self.value {
            Value::Scalar { .. } | Value::Refused => 0,
            Value::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Value::Map(entries) => 1 + entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0),
        }
    }
}

/// A mapping's own entries after those merged into it, of which only what is not said again counts.
fn joined(entries: Vec<Entry>, mut merged: Vec<Entry>) -> Vec<Entry> {
    if merged.is_empty() {
        return entries;
    }
    let mut taken: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    merged.retain(|entry| taken.insert(entry.key.clone()));
    merged.extend(entries);
    merged
}

fn too_many_values() -> String {
    format!("more than {NODES_MAX} values")
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

    fn told(&self, severity: Severity) -> usize {
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

    /// Adds the entries of the mapping or mappings behind a merge key to those merged before.
    fn merge(&mut self, value: Node, merged: &mut Vec<Entry>) {
        let mappings = match value {
            Node { value: Value::List(items), .. } => items,
            other => vec![other],
        };
        for mapping in mappings {
            match mapping.value {
                Value::Map(entries) => {
                    merged.extend(entries.into_iter().map(|entry| Entry { has_used_anchor: false, ..entry }));
                }
                Value::Refused => {}
                _ => {
                    let remedy = "write `<<: *name` or `<<: [*name, *other]`";
                    self.error("yaml-merge", mapping.span, "only mappings can be merged", remedy);
                }
            }
        }
    }

    /// The entry for a key and its value, unless the key is none or is taken.
    fn entry(
        &mut self,
        (taken, before): (&mut Taken, &[Entry]),
        key: Node,
        value: Node,
        has_used_anchor: bool,
    ) -> Option<Entry> {
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
        if key == MERGE && !quoted {
            let remedy = "write the keys out where they are needed";
            self.error("yaml-merge", key_span, "merge keys are not read in policies", remedy);
            return None;
        }
        if let Some(first) = taken.take(before, &key, key_span) {
            self.twice("duplicate-key", &key, "this mapping", first, key_span);
            return None;
        }
        Some(Entry { key, key_span, value, has_used_anchor })
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
            text => match json_number(text) {
                Some(number) => Self::Number(number),
                None if is_odd_number(text) => Self::OddNumber,
                None => Self::Text(text),
            },
        })
    }
}

fn json_number(text: &str) -> Option<Number> {
    // Most texts are words, and being refused by the reader of numbers takes long.
    let may_be_one = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    if may_be_one { serde_json::from_str(text).ok() } else { None }
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
        told(&parse(&Source::new("x", text), Dialect::default()).1)
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
            let (root, diagnostics) = parse(&Source::new("x", text), Dialect::default());
            assert_eq!(told(&diagnostics), "", "{text}");
            assert_eq!(drawn(&root.unwrap()), tree, "{text}");
        }
    }

    #[test]
    fn every_node_knows_its_place() {
        let source = Source::new("x", "é: 'ü'\nlist:\n  - a\n  - {b: c}\nlast: x # comment\n");
        let (root, _) = parse(&source, Dialect::default());
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
    fn a_key_is_taken_however_many_there_are() {
        for count in [1, SCANNED_MAX - 1, SCANNED_MAX, SCANNED_MAX + 1, 10 * SCANNED_MAX] {
            let keys: String = (0..count).map(|key| format!("k{key}: 1\n")).collect();
            assert_eq!(mistakes(&keys), "", "{count}");
            for again in [0, count / 2, count - 1] {
                // Each time the place that counts is named, not that of one refused before.
                let told = mistakes(&format!("{keys}k{again}: 2\nlast: 3\nk{again}: 4\n"));
                let expected = [count + 1, count + 3].map(|line| {
                    let first = again + 1;
                    format!(
                        "{line}:1 duplicate-key `k{again}` is already in this mapping, in line {first} | \
                         leave one of the two out, or rename it"
                    )
                });
                assert_eq!(told, expected.join("\n"), "{count}");
            }
        }
    }

    /// Otherwise the time for a mapping would grow with the square of its keys.
    #[test]
    fn only_few_keys_are_looked_through() {
        let (mut taken, mut entries) = (Taken::default(), Vec::new());
        let (span, value) = (Span::new(0, 1), Value::Refused);
        for number in 0..10 * SCANNED_MAX {
            let key = format!("k{number}");
            assert_eq!(taken.take(&entries, &key, span), None);
            let value = Node { span, value: value.clone() };
            entries.push(Entry { key, key_span: span, value, has_used_anchor: false });
            let in_table = if number < SCANNED_MAX { 0 } else { entries.len() };
            assert_eq!(taken.many.len(), in_table, "{number}");
        }
    }

    const ANCHORS: Dialect = Dialect { anchors: true };

    fn mistakes_with_anchors(text: &str) -> String {
        told(&parse(&Source::new("x", text), ANCHORS).1)
    }

    #[test]
    fn anchors_and_merge_keys_are_copied_where_a_language_has_them() {
        let rows = [
            ("a: &x 1\nb: *x\n", "{a: 1, b: 1}"),
            ("a: &x [1, {c: d}]\nb: [*x, *x]\n", "{a: [1, {c: d}], b: [[1, {c: d}], [1, {c: d}]]}"),
            ("a: &x 'no'\n*x : 1\n", r#"{a: "no", no: 1}"#),
            ("a: &x 1\nb: &x 2\nc: *x\n", "{a: 1, b: 2, c: 2}"),
            ("a: &x\nb: *x\n", "{a: , b: }"),
            ("a: &x {b: &y 1, c: *y}\nd: *x\n", "{a: {b: 1, c: 1}, d: {b: 1, c: 1}}"),
            ("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x, r: 4}\n", "{a: {p: 1, q: 2}, b: {p: 1, q: 3, r: 4}}"),
            (
                "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n",
                "{a: {p: 1}, b: {p: 2, q: 2}, c: {p: 1, q: 2}}",
            ),
            ("a: {<<: {p: 1}, p: 2}\n", "{a: {p: 2}}"),
            (
                "a: &x {p: 1}\nb: &y {<<: *x, q: 2}\nc: {<<: *y, p: 3}\n",
                "{a: {p: 1}, b: {p: 1, q: 2}, c: {q: 2, p: 3}}",
            ),
            ("a: {'<<': 1}\n", "{a: {<<: 1}}"),
            ("- &unused 1\n", "[1]"),
        ];
        for (text, tree) in rows {
            let (root, diagnostics) = parse(&Source::new("x", text), ANCHORS);
            assert_eq!(told(&diagnostics), "", "{text}");
            assert_eq!(drawn(&root.unwrap()), tree, "{text}");
        }
    }

    #[test]
    fn an_alias_that_cannot_be_followed_is_told_with_its_place() {
        let text = "a: &x {b: *x}\nc: *unknown\nd: {<<: 1}\ne: {<<: [{f: 1}, [2]]}\ng: {<<: {}, <<: {}}\nh: !!str 7\ni: &y [*y]\nj: {<<: {}, '<<': 1}\nk: {'<<': 1, <<: {}}\n";
        insta::assert_snapshot!(mistakes_with_anchors(text), @"
        1:11 yaml-alias the alias stands inside its own anchor | a value cannot hold itself: write out what is meant
        2:4 yaml-alias no anchor before this place is called `unknown` | write `&unknown` before the value that is meant
        3:9 yaml-merge only mappings can be merged | write `<<: *name` or `<<: [*name, *other]`
        4:18 yaml-merge only mappings can be merged | write `<<: *name` or `<<: [*name, *other]`
        5:13 duplicate-key `<<` is already in this mapping, in line 5 | leave one of the two out, or rename it
        6:4 yaml-tag the tag `!!str` is not read in policies | leave the tag out; put a text in quotes instead
        7:8 yaml-alias the alias stands inside its own anchor | a value cannot hold itself: write out what is meant
        8:13 duplicate-key `<<` is already in this mapping, in line 8 | leave one of the two out, or rename it
        9:14 duplicate-key `<<` is already in this mapping, in line 9 | leave one of the two out, or rename it
        ");
    }

    #[test]
    fn a_copy_knows_where_its_anchor_was_written() {
        let source = Source::new("x", "a: &x {b: c}\nd:\n  - *x\ne:\n  <<: *x\n  f: *x\ng: 1\n");
        let (root, _) = parse(&source, ANCHORS);
        let Some(Node { span, value: Value::Map(entries) }) = root else { panic!("no mapping") };
        assert_eq!(source.slice(span), source.text().trim_end());
        let slices: Vec<&str> = entries.iter().map(|entry| source.slice(entry.value.span)).collect();
        assert_eq!(slices, ["{b: c}", "- *x", "<<: *x\n  f: *x", "1"]);
        let Value::List(items) = &entries[1].value.value else { panic!("no list") };
        assert_eq!(items[0].span, entries[0].value.span);
    }

    #[test]
    fn a_key_of_the_file_may_only_carry_anchors() {
        let fields = |text: &str| {
            let source = Source::new("x", text);
            let (root, diagnostics) = parse(&source, ANCHORS);
            assert_eq!(told(&diagnostics), "");
            let mut reader = Reader::new(&source);
            reader.outermost_fields(&root.unwrap(), "a file", &["rules"]);
            told(&reader.diagnostics)
        };
        for text in [
            "x: &x 1\nrules: *x\n",
            "base:\n  deep: [&x {a: 1}]\nrules: {<<: *x}\n",
            "x: &x 1\ny: &y [*x]\nrules: *y\n",
        ] {
            assert_eq!(fields(text), "", "{text}");
        }
        let refused = [
            "x: &x 1\nrules: 1\n",
            "x: &x 1\nrules: 1\nuses: *x\n",
            "&x x: 1\nrules: *x\n",
            "rulse: &x 1\nrules: *x\n",
            "rules: &x {bad: {deep: &y 1}, also: *y}\n<<: *x\n",
        ];
        insta::assert_snapshot!(refused.map(fields).join("\n"), @"
        1:1 unknown-key a file has no key `x` | leave it out; the keys are `rules`
        3:1 unknown-key a file has no key `uses` | did you mean `rules`?
        1:4 unknown-key a file has no key `x` | leave it out; the keys are `rules`
        1:1 unknown-key a file has no key `rulse` | did you mean `rules`?
        1:12 unknown-key a file has no key `bad` | leave it out; the keys are `rules`
        1:31 unknown-key a file has no key `also` | leave it out; the keys are `rules`
        ");
    }

    #[test]
    fn copies_count_towards_the_bounds() {
        // The outermost mapping, two keys, the list and its items; an alias counts as all it copies.
        let copied = |items: usize, aliases: usize| {
            mistakes_with_anchors(&format!(
                "a: &x [{}]\nb: [{}]\n",
                "1,".repeat(items),
                "*x,".repeat(aliases)
            ))
        };
        let aliases = 9;
        let items = (NODES_MAX - 4) / (aliases + 1) - 1;
        let rest = NODES_MAX - 4 - (items + 1) * (aliases + 1);
        assert_eq!(copied(items, aliases), "");
        assert!(rest < items + 1 && copied(items, aliases + 1).contains("file-too-large"));
        let exactly = |spare: usize| {
            let text = format!(
                "a: &x [{}]\nb: [{}{}]\n",
                "1,".repeat(items),
                "*x,".repeat(aliases),
                "1,".repeat(spare)
            );
            mistakes_with_anchors(&text)
        };
        assert_eq!(exactly(rest), "");
        assert!(exactly(rest + 1).contains("file-too-large"));

        let laughs: String = (1..30)
            .map(|level| format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(9)))
            .collect();
        assert!(mistakes_with_anchors(&format!("a0: &a0 x\n{laughs}")).contains("file-too-large"));
        let nested: String = (0..30).map(|level| format!("&n{level} [")).collect();
        let uses: String = (0..30).map(|level| format!(",*n{level}")).collect();
        let text = format!("[{nested}{}{}{uses}]", "1,".repeat(NODES_MAX / 20), "]".repeat(30));
        assert!(mistakes_with_anchors(&text).contains("file-too-large"));

        let lists =
            |depth: usize, inside: &str| format!("{}{inside}{}", "[".repeat(depth), "]".repeat(depth));
        let half = DEPTH_MAX / 2;
        let deep = |depth: usize| {
            mistakes_with_anchors(&format!("- &x {}\n- {}\n", lists(half, ""), lists(depth, "*x")))
        };
        assert_eq!(deep(DEPTH_MAX - half - 1), "");
        assert!(deep(DEPTH_MAX - half).contains("file-too-large"));
    }

    #[test]
    fn no_number_of_warnings_hides_a_mistake() {
        let source = Source::new("x", "a");
        let mut reader = Reader::new(&source);
        for _ in 0..=MISTAKES_MAX {
            reader.warning("two-readings", Span::new(0, 1), "two-readings", "look");
        }
        reader.error("wrong", Span::new(0, 1), "wrong", "look again");
        let (warnings, others): (Vec<_>, Vec<_>) =
            reader.diagnostics.iter().partition(|diagnostic| diagnostic.severity == Severity::Warning);
        assert_eq!(warnings.len(), MISTAKES_MAX);
        assert_eq!(others.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>(), ["wrong"]);
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
            let node = parse(&source, Dialect::default()).0.unwrap();
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
        fn no_text_makes_it_panic(text in r"[a\[\]{}:,'\x22&*!|>%#?~é\t <-]{0,40}|.{0,40}|(a: |- |\n|  |\[|\]|b|&x |\*x|<<: ){0,40}") {
            let source = Source::new("x", text);
            let diagnostics = [Dialect::default(), ANCHORS].map(|dialect| parse(&source, dialect).1);
            for diagnostic in diagnostics.into_iter().flatten() {
                proptest::prop_assert!(source.text().get(diagnostic.span.start..diagnostic.span.end).is_some());
            }
        }
    }
}
