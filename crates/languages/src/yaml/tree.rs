//! The tree of a YAML file, in which everything knows its place.

use lockgate_policy::Span;

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

impl Node {
    /// How many lists and mappings stand inside one another here.
    pub(super) fn depth(&self) -> usize {
        match &self.value {
            Value::Scalar { .. } | Value::Refused => 0,
            Value::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Value::Map(entries) => 1 + entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0),
        }
    }
}
