//! The text of a policy file and places in it.
//!
//! A [`Source`] is a name and its text; a [`Span`] is a range of bytes in that text. Nothing here reads
//! files: a door does that and hands the text in, so that the same policy can come from a disk, a test
//! or a socket.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde::Serialize;

/// One policy file: the name people know it by, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    layer: Layer,
    lines: Lines,
}

/// Whose policy a file belongs to. Files of one layer are composed with each other; layers are joined, and all of them
/// must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The user's own.
    #[default]
    User,
    /// A project's that a human has trusted.
    Project,
    /// A project's that no human has trusted: it counts only as far as it restricts.
    Untrusted,
}

impl Layer {
    const ALL: [Self; 3] = [Self::User, Self::Project, Self::Untrusted];

    /// The word for it in stored sessions.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Untrusted => "untrusted",
        }
    }

    /// The layer of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.word() == word)
    }
}

/// Where each line but the first starts, once they are needed: a thousand places are found without reading the text
/// a thousand times.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<OnceLock<Vec<usize>>>);

/// It follows from the text.
impl PartialEq for Lines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Lines {}

impl Lines {
    fn starts(&self, text: &str) -> &[usize] {
        let newlines = || text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        self.0.get_or_init(|| newlines().map(|(at, _)| at + 1).collect())
    }
}

impl Source {
    /// Takes a file's text under the name that messages shall call it.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into(), layer: Layer::default(), lines: Lines::default() }
    }

    /// The same as a file of another layer.
    #[must_use]
    pub fn in_layer(mut self, layer: Layer) -> Self {
        self.layer = layer;
        self
    }

    /// Whose policy it belongs to.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Whether everything in it counts, and not only what restricts.
    pub fn is_trusted(&self) -> bool {
        self.layer != Layer::Untrusted
    }

    /// The name messages call this file by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything the file says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place of a span, counted the way editors count: lines and columns from 1, columns in characters.
    pub fn place(&self, span: Span) -> Place {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
        let line = self.lines.starts(&self.text).partition_point(|start| *start <= before.len()) + 1;
        Place { file: self.name.clone(), line, column }
    }

    /// Where a span ends: the place right behind it.
    pub fn end_place(&self, span: Span) -> Place {
        self.place(Span::new(span.end, span.end))
    }

    /// Where a word stands by itself in a part of the file, if it does.
    pub fn span_of_word(&self, part: Span, word: &str) -> Option<Span> {
        let text = self.slice(part);
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c));
        let (at, _) = text.match_indices(word).find(|(at, _)| {
            let before = text.get(..*at).and_then(|before| before.chars().next_back());
            let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
            !word.is_empty() && !is_word(before) && !is_word(after)
        })?;
        Some(Span::new(part.start + at, part.start + at + word.len()))
    }

    /// The text a span covers; empty where the span does not fit this file.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }
}

/// A range of bytes in a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// Where a rule stands, for messages and the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// The file's name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The way compilers and editors write it: `file:line:column`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
