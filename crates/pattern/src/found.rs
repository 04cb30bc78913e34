//! What a pattern says about a text.

/// What a pattern says about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The text does not match.
    No,
    /// The leftmost match begins at this byte.
    At(usize),
    /// The engine gave up: a restriction takes this as a match, a credit as none.
    Unsure,
}
