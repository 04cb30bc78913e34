//! Claims and examples are written behind a word, or as entries of a list in YAML.

use lockgate_policy::Span;

/// What leads a claim or an example in. The words behind it are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// `claim` or `example:` at the start of a line.
    Word,
    /// Nothing: a key of the file has said what the texts of its list are.
    Key,
}

impl Lead {
    /// A claim as it would have to be written here.
    pub(super) fn claim(self, text: &str) -> String {
        match self {
            Self::Word => format!("`claim {text}`"),
            Self::Key => format!("`{text}`"),
        }
    }

    /// The same for an example.
    pub(super) fn example(self, text: &str) -> String {
        match self {
            Self::Word => format!("`example: {text}`"),
            Self::Key => format!("`{text}`"),
        }
    }
}

/// What is wrong with a claim or an example.
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    /// The words it is about, counted as they are.
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) remedy: String,
}
