//! Names and words that can hardly be meant as they are written.

use lockgate_policy::{Diagnostic, Map, Takes, is_phrase};

use super::file::{File, Name};

impl<'d> File<'d> {
    /// A name that only makes sense in a language with quotes, wildcards or lists.
    pub(super) fn literal_name(&self, name: &Name<'d>) -> Option<Diagnostic> {
        if is_phrase(name.text) {
            return None;
        }
        let stop = || name.text.ends_with('.').then(|| "the full stop is part of the name".to_owned());
        let label = taken_literally(name.text).or_else(stop)?;
        Some(
            self.warning(
                "literal-name",
                self.span_in(name.statement, name.text),
                "this name is taken letter by letter".into(),
            )
            .label(label)
            .remedy(remedy(name.text)),
        )
    }

    /// The same for the words of what runs: they are compared with words a shell has already unquoted.
    pub(super) fn literal_word(&self, map: &Map) -> Option<Diagnostic> {
        let Takes::Running { program, words } = &map.takes else { return None };
        let (word, label) =
            std::iter::once(program).chain(words).find_map(|word| Some((word, taken_literally(word)?)))?;
        Some(
            self.warning(
                "literal-name",
                self.span_in(map.span, word),
                "this word is taken letter by letter".into(),
            )
            .label(label)
            .remedy("write the word as the program gets it"),
        )
    }
}

/// `backup(path)`: a tool and a field of it, as other languages write them.
fn parameter(text: &str) -> Option<(&str, &str)> {
    let (tool, field) = text.strip_suffix(')')?.split_once('(')?;
    let is_name = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (is_name(tool) && is_name(field)).then_some((tool, field))
}

/// What to write instead of a name.
fn remedy(text: &str) -> String {
    if let Some((tool, field)) = parameter(text) {
        return format!("write `{tool}`, and `for each {field}` at the end of the line");
    }
    let parts: Vec<&str> = text.split(',').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [_, _, ..] => format!("write `{}`", parts.join(", ")),
        _ => "write the name as the tool spells it".to_owned(),
    }
}

/// Why a name or word can hardly be meant as it is written.
fn taken_literally(text: &str) -> Option<String> {
    let is_invisible =
        |c: char| c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}');
    Some(if let Some((tool, field)) = parameter(text) {
        format!("`{tool}({field})` is one name here")
    } else if text.contains(is_invisible) {
        format!("`{}` has an invisible character", text.escape_debug())
    } else if text.contains('*') {
        "there are no wildcards".into()
    } else if text.contains(['"', '\'', '`']) {
        "quotes are part of the name".into()
    } else if text.ends_with([',', ';', '!']) {
        "the last character is part of the name".into()
    } else if text.contains(',') {
        "a comma without a space behind it is part of the name".into()
    } else {
        return None;
    })
}
