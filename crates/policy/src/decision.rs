//! What can be decided about a call.

use serde::Serialize;

/// What is decided about a call; the later one is the stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The tool may run.
    #[default]
    Allow,
    /// The tool may run on a changed input.
    Redact,
    /// A human has to agree first.
    Ask,
    /// The tool must not run.
    Block,
}

impl Decision {
    /// The word every door and the audit log use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redact => "redact",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }
}

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It does not.
    No,
    /// Unknown: a value of the wrong type, an engine that gave up, some items that do and some that
    /// do not. A restriction takes this for yes, and what would open a gate takes it for no.
    Doubt,
    /// It does.
    Yes,
}

impl Truth {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Doubt,
        }
    }

    /// Either holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        !((!self).and(!other))
    }

    /// What several values of one field say together: a doubt where they differ.
    pub fn together(truths: impl IntoIterator<Item = Self>) -> Option<Self> {
        truths.into_iter().reduce(|one, other| if one == other { one } else { Self::Doubt })
    }
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Doubt => Self::Doubt,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}
