//! Why an expression cannot be used.

use std::ops::Range;

/// Why a regular expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The bytes of the expression it is about; none if all of it.
    pub at: Option<Range<usize>>,
}

impl PatternError {
    pub(crate) fn whole(message: String) -> Self {
        Self { message, at: None }
    }
}
