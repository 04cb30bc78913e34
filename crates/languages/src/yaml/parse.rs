//! From the text of a YAML file to its tree.
//!
//! [`parse`] reads one document and bounds everything: the bytes, the values, the depth, and the copies that aliases make.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_policy::{Diagnostic, Source, Span};

use super::{
    mapping::{MERGE, MappingKeys, joined},
    reader::{Reader, shortened},
    steps::{Break, DEPTH_MAX, Step, StepKind, steps},
    tree::{Entry, Node, Value},
};

/// The largest file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 4 << 20;

/// How many values and keys a file may have, those that aliases copy included.
pub(crate) const NODES_MAX: usize = 200_000;

/// What a language takes from YAML.
#[derive(Clone, Copy, Default)]
pub(crate) struct Dialect {
    /// Whether anchors, aliases and merge keys are followed instead of refused.
    pub(crate) anchors: bool,
}

/// Reads the one document of a file; no tree when its text cannot be followed to the end.
pub(crate) fn parse(source: &Source, dialect: Dialect) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder = TreeBuilder {
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

struct TreeBuilder<'s> {
    reader: Reader<'s>,
    dialect: Dialect,
    /// The anchors that aliases speak of; none until an anchor is met.
    used: Option<BTreeSet<usize>>,
    open: Vec<OpenNode>,
    root: Option<Node>,
    nodes: usize,
    /// How many nodes `anchors` holds.
    kept_nodes: usize,
    /// How many used anchors there were so far.
    anchors_met: usize,
    anchors: BTreeMap<usize, AnchoredNode>,
}

/// A node that aliases copy.
struct AnchoredNode {
    node: Node,
    nodes: usize,
    depth: usize,
}

/// A list or mapping that has not ended.
struct OpenNode {
    pub(super) span: Span,
    anchor: Option<usize>,
    /// How many nodes there were before it.
    nodes_before: usize,
    /// Where the last thing in it ends.
    pub(super) end: Option<usize>,
    members: Members,
}

enum Members {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, merged: Vec<Entry>, taken: MappingKeys, key: Option<WaitingKey> },
}

struct WaitingKey {
    node: Node,
    /// How many used anchors there were before its value.
    anchors_before: usize,
}

impl TreeBuilder<'_> {
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
                Err(Break { at, reason }) => {
                    // JSON is read as YAML, but its author knows it as JSON.
                    let (form, remedy) = match source.name().ends_with(".json") {
                        true => ("JSON", "look for a missing quote, comma or bracket just before this place"),
                        false => (
                            "YAML",
                            "look for a wrong indentation, a missing quote or bracket just before this place",
                        ),
                    };
                    let message = format!("this cannot be read as {form}: {reason}");
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

    pub(super) fn take(&mut self, step: Step<'_>) -> Option<()> {
        if !matches!(step.kind, StepKind::Document | StepKind::End) {
            self.nodes += 1;
            if self.nodes > NODES_MAX {
                return self.too_large(step.span, &too_many_values());
            }
            self.refuse_decoration(&step);
        }
        let Step { kind, span, anchor, .. } = step;
        let anchor = anchor.filter(|anchor| self.is_used(*anchor));
        self.anchors_met += usize::from(anchor.is_some());
        match kind {
            StepKind::Document if self.root.is_some() => {
                let remedy = "keep one document, and put the others into files of their own";
                self.reader.error("second-document", span, "a second document begins here", remedy);
                return None;
            }
            StepKind::Document => {}
            StepKind::Scalar { text, quoted } => {
                let node = Node { span, value: Value::Scalar { text: text.into_owned(), quoted } };
                if let Some(anchor) = anchor {
                    self.keep(anchor, &node, 1)?;
                }
                self.put(node, span.end);
            }
            StepKind::Alias(anchor) if self.dialect.anchors => {
                let node = self.copied(anchor, span)?;
                self.put(node, span.end);
            }
            StepKind::UnknownAlias(name) if self.dialect.anchors => {
                let message = format!("no anchor before this place is called `{}`", shortened(&name));
                let remedy = format!("write `&{}` before the value that is meant", shortened(&name));
                self.reader.error("yaml-alias", span, message, remedy);
                self.put(Node { span, value: Value::Refused }, span.end);
            }
            StepKind::Alias(_) | StepKind::UnknownAlias(_) => {
                let remedy = "write the value out where it is needed";
                self.reader.error("yaml-alias", span, "aliases are not read in policies", remedy);
                self.put(Node { span, value: Value::Refused }, span.end);
            }
            StepKind::List | StepKind::Map if self.open.len() == DEPTH_MAX => return self.too_deep(span),
            StepKind::List => self.open(span, anchor, Members::List(Vec::new())),
            StepKind::Map => {
                let (entries, merged, taken) = (Vec::new(), Vec::new(), MappingKeys::default());
                self.open(span, anchor, Members::Map { entries, merged, taken, key: None });
            }
            StepKind::End => self.close(span)?,
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
        self.open.push(OpenNode { span, anchor, nodes_before, end: None, members });
    }

    /// A list or mapping ends. In block style its end has no text, so it reaches to its last member.
    fn close(&mut self, end: Span) -> Option<()> {
        let Some(OpenNode { span, anchor, nodes_before, end: last, members }) = self.open.pop() else {
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
        self.anchors.insert(anchor, AnchoredNode { node: node.clone(), nodes, depth: node.depth() });
        Some(())
    }

    /// A copy of what an alias speaks of.
    pub(super) fn copied(&mut self, anchor: usize, span: Span) -> Option<Node> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            let remedy = "a value cannot hold itself: write out what is meant";
            self.reader.error("yaml-alias", span, "the alias is inside its own anchor", remedy);
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
                None => *waiting = Some(WaitingKey { node, anchors_before: self.anchors_met }),
                Some(WaitingKey { node: key, anchors_before }) => {
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

fn too_many_values() -> String {
    format!("more than {NODES_MAX} values")
}

/// The anchors that aliases speak of, by the parser's numbers.
fn used_anchors(source: &Source) -> BTreeSet<usize> {
    let alias = |step: Step<'_>| match step.kind {
        StepKind::Alias(anchor) => Some(anchor),
        _ => None,
    };
    steps(source).map_while(Result::ok).filter_map(alias).collect()
}
