//! Which tools a rule is about.

use std::fmt;

use lockgate_pattern::Pattern;

/// The tools a rule is about.
#[derive(Clone, Debug)]
pub enum Tools {
    /// All of them.
    Every,
    /// Any that one of these takes.
    Any(Vec<ToolName>),
}

/// One way to name tools.
#[derive(Clone, Debug)]
pub enum ToolName {
    /// This tool.
    Exact(String),
    /// Every tool whose whole name matches.
    Matching(Pattern),
}

/// As written.
impl fmt::Display for ToolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(out, "{name}"),
            Self::Matching(pattern) => write!(out, "{pattern}"),
        }
    }
}
