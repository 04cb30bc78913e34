//! Where an effect happens.

use crate::places::{hosts::TouchedHost, paths::TouchedPath};

/// Where an effect happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At no place of this machine's files, and at no host.
    Nothing,
    /// At a path.
    Path(TouchedPath),
    /// At this absolute path.
    At(String),
    /// At a host.
    Host(TouchedHost),
    /// In a program.
    Program(String),
    /// Somewhere that only the run will show.
    Unknown,
}

impl Target {
    /// The path, host or program, as far as it is known.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Path(path) => Some(&path.text),
            Self::At(path) => Some(path),
            Self::Host(host) => Some(&host.text),
            Self::Program(program) => Some(program),
            Self::Nothing | Self::Unknown => None,
        }
    }
}
