//! How far an exploration goes, how far it has come, and why it stopped.

/// How far to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most markings to keep; the initial one is kept always. More than three billion are never kept.
    pub states_max: usize,
    /// Most firings on the way to a marking.
    pub depth_max: usize,
}

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many markings were reached.
    pub states: usize,
    /// From how many of them every firing was followed.
    pub looked_at: usize,
    /// How many bytes they take.
    pub bytes: usize,
}

/// Why an exploration is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// There are more markings than were to be kept.
    States,
    /// There are markings that need more firings.
    Depth,
    /// There was no more memory to be taken.
    Bytes,
    /// The caller stopped it.
    Told,
}
