//! One line of the result, or what could not be said.

/// Something that one-line rules could not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaid {
    /// What it is, as it is written.
    pub what: String,
    /// Why it could not be said.
    pub why: String,
}

/// One rule, or what could not be said.
pub(super) type Line = Result<String, Unsaid>;

pub(super) fn unsaid(what: impl Into<String>, why: impl Into<String>) -> Line {
    Err(Unsaid { what: what.into(), why: why.into() })
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A name as a sentence writes it: in quotes where it has odd letters.
pub(super) fn name(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:".contains(c));
    if is_plain { text.to_owned() } else { quoted(text) }
}
