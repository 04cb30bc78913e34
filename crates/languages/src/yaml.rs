//! A policy file in YAML or JSON, as a tree in which everything knows its place.
//!
//! [`parse`] reads one document; a [`Reader`] then takes the tree apart. Both report every mistake they meet
//! and go on. Anchors, aliases and merge keys let a file mean something else than it shows: they are refused
//! unless the file's language is known for them, and then the tree has copies in their place. Words mean what
//! YAML 1.2 says: `no` is a text, `true` is not. Missing on purpose: tags, and the words of older YAML; where
//! a file may have been read with those, [`Reader::text_strict`] has the author decide.

mod effects;
mod mapping;
pub(crate) mod older;
mod outline;
mod parse;
mod reader;
mod scalar;
pub(crate) mod steps;
mod tree;

pub(crate) use outline::{WalkEnd, comment_starts, walk_outermost};
pub(crate) use parse::{Dialect, parse};
pub(crate) use reader::{Fields, MISTAKES_MAX, Reader, did_you_mean};
pub(crate) use tree::{Entry, Node, Value};

/// Diagnostics the way tests read them, one a line: `line:column code message | remedy`.
#[cfg(test)]
pub(crate) fn told(diagnostics: &[lockgate_policy::Diagnostic]) -> String {
    let line = |diagnostic: &lockgate_policy::Diagnostic| {
        let place = diagnostic.source.place(diagnostic.span);
        let remedy = diagnostic.remedy.as_deref().unwrap_or("");
        format!("{}:{} {} {} | {remedy}", place.line, place.column, diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
