//! The numbers that name the places and transitions of a net.

/// A place of one net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub(crate) u32);

/// A transition of one net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionId(pub(crate) u32);

impl PlaceId {
    /// The position of this place among the places of its net.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl TransitionId {
    /// The position of this transition among the transitions of its net.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
