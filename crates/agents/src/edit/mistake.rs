//! What keeps a text from being edited.

/// A reason and a remedy, for the line where the reason stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub(crate) struct Mistake {
    /// 0 where it is about no line.
    pub(crate) line: usize,
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

impl Mistake {
    pub(crate) fn new(line: usize, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line, reason: reason.into(), remedy: remedy.into() }
    }
}
