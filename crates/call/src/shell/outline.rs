//! Two readings of one script, compared.
//!
//! A parser that reads a script differently from the shell lists the wrong commands without noticing. So every script
//! is read twice: by the grammar of [`rable`], whose tree the rest of this crate walks, and by [`source`], a small
//! scanner of our own that shares nothing with it and gives up on whatever is unusual. Each reading is written down as
//! an outline: the commands, words, files and brackets, in order. Where the outlines differ, or the scanner gave up,
//! the script counts as unreadable. Neither reading runs, expands or resolves anything.

mod commands;
mod form;
mod scanner;
mod source;
mod tree;
mod words;

use rable::Node;

pub(crate) use form::Reading;

/// Reads a script by our own scanner; none if it gave up.
pub(crate) fn of_script(text: &str) -> Option<Reading> {
    source::script(text)
}

/// Reads the scripts in a text that is expanded like one in double quotes; none if the scanner gave up.
pub(crate) fn of_quoted(text: &str) -> Option<Reading> {
    source::quoted(text)
}

/// The outline of one script, by the grammar. What stands in its substitutions has outlines of its own.
pub(crate) fn of_nodes(nodes: &[Node]) -> String {
    tree::outline(nodes)
}
