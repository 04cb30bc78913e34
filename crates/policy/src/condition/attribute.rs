//! What a session knows about itself.

use std::sync::Arc;

use super::found::Found;
use crate::view::Memory;

/// What a session knows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// What the trusted caller said.
    Named(String),
    /// How many calls were asked for, whatever was decided.
    Attempts,
    /// How many calls were let pass.
    Calls,
    /// How many calls of this tool, or of the tools of this pattern together, were let pass.
    CallsOf(Arc<str>),
    /// The kinds of sensitive data seen.
    Taints,
}

impl Attribute {
    pub(super) fn look<'a>(&self, memory: &'a dyn Memory) -> Found<'a> {
        match self {
            Self::Named(name) => memory.attribute(name).into(),
            Self::Attempts => Found::Own(memory.attempts().into()),
            Self::Calls => Found::Own(memory.calls().into()),
            Self::CallsOf(tool) => {
                memory.calls_of(tool).map_or(Found::Missing, |count| Found::Own(count.into()))
            }
            Self::Taints => Found::Kinds(memory.taints()),
        }
    }
}
