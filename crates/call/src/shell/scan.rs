//! Finds command substitutions in text the grammar hands over unread.
//!
//! The parser stops looking after two levels of `$(…)`, leaves heredocs, arithmetic and the inside of
//! `${…}` as text, and keeps the backslashes of backticks. [`substitutions`] finds what such text would
//! run. It gives what stands *inside* the brackets, so every further round has less to read. A heredoc
//! within such a substitution is not understood, on purpose: it says that it does not know, and a `case`
//! is cut at its first pattern, which then cannot be parsed.

use std::iter::Peekable;
use std::str::CharIndices;

/// Where a text stands, which decides what its quotes mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A word of a command: single quotes hide what is in them.
    Word,
    /// A heredoc, arithmetic, the inside of `"…"` or `${…}`: single quotes are plain characters, or may be.
    Quoted,
}

/// The scripts that the text would run while it is expanded; none when it cannot be told where they end.
pub(crate) fn substitutions(text: &str, place: Place) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut in_quotes = place == Place::Quoted;
    while let Some((_, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' if place == Place::Word => in_quotes = !in_quotes,
            '\'' if !in_quotes => chars.find(|(_, c)| *c == '\'').map(drop)?,
            '`' => found.push(backticks(&mut chars, in_quotes)?),
            '$' | '<' | '>' if (c == '$' || !in_quotes) && chars.next_if(|(_, c)| *c == '(').is_some() => {
                let script = brackets(text, &mut chars)?;
                match arithmetic(script) {
                    Some(sum) => found.extend(substitutions(sum, Place::Quoted)?),
                    None => found.push(script.to_owned()),
                }
            }
            _ => {}
        }
    }
    Some(found)
}

type Chars<'a> = Peekable<CharIndices<'a>>;

/// Reads up to the closing backtick; a backslash in front of `$`, `` ` ``, `\` and a quoted `"` goes away.
fn backticks(chars: &mut Chars<'_>, in_quotes: bool) -> Option<String> {
    let mut script = String::new();
    loop {
        match chars.next()?.1 {
            '`' => return Some(script),
            '\\' => {
                let next = chars.next()?.1;
                if !(matches!(next, '$' | '`' | '\\') || next == '"' && in_quotes) {
                    script.push('\\');
                }
                script.push(next);
            }
            c => script.push(c),
        }
    }
}

/// Reads up to the bracket that closes the one just opened. The caller's limit on the number of
/// substitutions in a text bounds the recursion.
fn brackets<'t>(text: &'t str, chars: &mut Chars<'_>) -> Option<&'t str> {
    let start = chars.peek()?.0;
    let mut depth = 1_usize;
    let mut in_quotes = false;
    let mut at_word_start = true;
    loop {
        let (at, c) = chars.next()?;
        match c {
            '\\' => drop(chars.next()),
            '"' => in_quotes = !in_quotes,
            // Within double quotes another substitution may open, with quotes of its own.
            '$' if in_quotes && chars.next_if(|(_, c)| *c == '(').is_some() => drop(brackets(text, chars)?),
            '`' => drop(backticks(chars, in_quotes)?),
            _ if in_quotes => {}
            '\'' => chars.find(|(_, c)| *c == '\'').map(drop)?,
            '#' if at_word_start => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '(' => depth = depth.checked_add(1)?,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let script = text.get(start..at)?;
                    return Some(script).filter(|script| !script.contains("<<"));
                }
            }
            _ => {}
        }
        at_word_start = c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')');
    }
}

/// The sum within `$((…))`: as in bash, the inner brackets must be one pair from end to end.
fn arithmetic(script: &str) -> Option<&str> {
    let inner = script.strip_prefix('(')?;
    let mut chars = inner.char_indices().peekable();
    let sum = brackets(inner, &mut chars)?;
    chars.peek().is_none().then_some(sum)
}
