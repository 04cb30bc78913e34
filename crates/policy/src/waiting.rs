//! What an untrusted file says that does not count yet.

use std::fmt;

use crate::source::{Source, Span};

/// Something in an untrusted file that does not count until a human trusts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The file.
    pub source: Source,
    /// Where; the beginning of the file where that is not known.
    pub span: Span,
    /// What waits.
    pub what: &'static str,
}

impl fmt::Display for Waiting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.source.place(self.span);
        write!(out, "{}:{}: {}", place.file, place.line, self.what)
    }
}
