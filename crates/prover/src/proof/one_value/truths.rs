//! Sets of truth values: what a test may answer.

use lockgate_policy::Truth;

/// Some of yes, doubt and no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proof) struct Truths(u8);

impl Truths {
    pub(in crate::proof) const NONE: Self = Self(0);
    pub(in crate::proof) const YES: Self = Self(1);
    pub(in crate::proof) const DOUBT: Self = Self(2);
    pub(in crate::proof) const NO: Self = Self(4);

    pub(in crate::proof) fn has(self, truth: Truth) -> bool {
        self.meets(truth.into())
    }

    pub(in crate::proof) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(in crate::proof) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::proof) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What the opposite may be.
    pub(in crate::proof) fn opposite(self) -> Self {
        let swap = |from: Self, to: Self| if self.meets(from) { to } else { Self::NONE };
        swap(Self::YES, Self::NO).or(swap(Self::NO, Self::YES)).or(self.and(Self::DOUBT))
    }
}

impl From<Truth> for Truths {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::Yes => Self::YES,
            Truth::Doubt => Self::DOUBT,
            Truth::No => Self::NO,
        }
    }
}

impl From<bool> for Truths {
    fn from(holds: bool) -> Self {
        Truth::from(holds).into()
    }
}
