//! What policies compare texts with: regular expressions as JavaScript and Python read them, globs, words and texts.
//!
//! [`Pattern::find`] answers for a text; [`ToolGlob`] is a tool's name with wildcards; [`python_text`] is a value as
//! Python's `str()` writes it. Nothing else of Lockgate is known here.

mod characters;
mod error;
mod found;
mod javascript;
mod limits;
mod linear;
mod pattern;
mod python;
mod python_text;
mod sample;
mod tool_glob;
mod word_edges;

pub use error::PatternError;
pub use found::Match;
pub use pattern::Pattern;
pub use python::{PYTHON_CHARS_MAX, python_length};
pub use python_text::python_text;
pub use tool_glob::ToolGlob;
