//! Where the tokens of a net lie.
//!
//! A [`Marking`] is one count per place, in the order the places were declared, and stays on the
//! stack for nets of up to four places. It does not know its net: the net reads and changes it.

use smallvec::SmallVec;

use crate::id::PlaceId;

/// The tokens on every place of a net.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marking(SmallVec<[u64; 4]>);

impl Marking {
    /// A marking with these tokens, in the order the places were declared.
    pub fn from_tokens(tokens: impl IntoIterator<Item = u64>) -> Self {
        Self(tokens.into_iter().collect())
    }

    /// The tokens on one place; a place this marking does not cover holds none.
    pub fn tokens(&self, place: PlaceId) -> u64 {
        self.0.get(place.index()).copied().unwrap_or(0)
    }

    /// All tokens, in the order the places were declared.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    pub(crate) fn tokens_mut(&mut self, place: PlaceId) -> Option<&mut u64> {
        self.0.get_mut(place.index())
    }

    pub(crate) fn covers(&self, place: PlaceId) -> bool {
        place.index() < self.0.len()
    }
}
