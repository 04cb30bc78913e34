//! What a workflow file says, before files are joined.

use lockgate_policy::{Span, workflow::Stage};

/// What a workflow file says.
#[derive(Clone, Debug)]
pub struct DraftWorkflow {
    /// Its name.
    pub name: String,
    /// Which edition of it this is, in its author's words.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its stages, in order; at least one.
    pub stages: Vec<Stage>,
    /// Where its name is written.
    pub span: Span,
}
