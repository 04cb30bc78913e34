//! One thing that can happen in a session: a call, and how it ends.

use std::sync::Arc;

use super::ways::Way;

/// One thing that can happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Act {
    /// The call.
    pub way: Arc<Way>,
    /// How it ends.
    pub end: End,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// It is made, and succeeds at once.
    Success,
    /// It is made, and does not succeed, or not yet.
    NoSuccess,
    /// It was made before, and succeeds now.
    LateSuccess,
}
