//! Which texts are paths by the name of their field or by their look.

use super::tables::{FIELDS, LOOSE_FIELDS};
use crate::programs::files::Access;
use crate::programs::word::{Known, Word};

/// The longest path that is read. No system takes longer ones.
pub(super) const PATH_BYTES_MAX: usize = 4_096;

/// What is done to the path in a field of this name, and whether it is surely one; none for other fields.
pub(super) fn field_access(key: &str) -> Option<(Access, bool)> {
    let in_table = |table: &[(&str, Access)], name: &str| {
        let singular = name.strip_suffix('s').unwrap_or(name);
        table.iter().find(|(known, _)| *known == name || *known == singular).map(|(_, access)| *access)
    };
    let joined: String = key.split('_').collect();
    let (first, last) = (key.split('_').next().unwrap_or(key), key.rsplit('_').next().unwrap_or(key));
    if let Some(access) = in_table(FIELDS, &joined).or_else(|| in_table(FIELDS, last)) {
        // `output_path` writes, whatever is done to a `path` alone.
        return Some((in_table(LOOSE_FIELDS, first).unwrap_or(access), true));
    }
    in_table(LOOSE_FIELDS, &joined).or_else(|| in_table(LOOSE_FIELDS, last)).map(|access| (access, false))
}

/// Whether a value is a path by its look, whatever its field is called.
pub(super) fn looks_like_a_path(text: &str) -> bool {
    let text = text.trim();
    let is_one_word = || !text.contains(char::is_whitespace);
    text.len() <= PATH_BYTES_MAX
        && !text.contains(['\n', '\r'])
        && ((starts_like_a_path(text) && text.len() > 1)
            || has_drive(text)
            || text.starts_with("\\\\")
            || is_file_address(text)
            || ((text.contains("../") || text.contains("..\\")) && is_one_word()))
}

pub(super) fn starts_like_a_path(text: &str) -> bool {
    matches!(text, "." | ".." | "~")
        || ["/", "~", "./", "../", "$HOME", "${HOME}"].iter().any(|start| text.starts_with(start))
}

/// Whether a bare word of a command might be a path: words of prose and code are none.
pub(super) fn is_plausible(word: &Word) -> bool {
    word.known != Known::Certain
        || !word.text.contains(|c: char| c.is_whitespace() || "'\"`(){};<>|".contains(c))
}

/// Whether a text is a URL of a kind that names no file here.
pub(super) fn is_web_address(text: &str) -> bool {
    // A tool that takes it for a path after all would climb.
    !text.contains("..")
        && !is_file_address(text)
        && text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

pub(super) fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
}

pub(super) fn is_file_address(text: &str) -> bool {
    text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"))
}

pub(super) fn has_drive(text: &str) -> bool {
    let mut start = text.chars();
    start.next().is_some_and(|c| c.is_ascii_alphabetic())
        && start.next() == Some(':')
        && start.next().is_none_or(|c| c == '/' || c == '\\')
}
