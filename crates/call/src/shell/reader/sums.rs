//! What sums set, and what could be one.

use std::borrow::Cow;

/// Whether a sum could be meant as a command: `rm -rf /x` is both.
pub(super) fn looks_like_a_command(sum: &str) -> bool {
    let mut words = sum.split_whitespace();
    let is_name = |word: &str| !word.contains(|c: char| !c.is_ascii_alphanumeric() && !"_/.-".contains(c));
    let is_argument = |word: &str| {
        word.trim_start_matches(['-', '/']).starts_with(|c: char| c.is_alphabetic() || "_.~\"'$".contains(c))
    };
    words.next().is_some_and(|first| is_name(first) && !first.starts_with(|c: char| c.is_ascii_digit()))
        && words.next().is_none_or(is_argument)
}

/// Variables that a sum or an expansion may set: `((PATH = 5))`, `((IFS++))`, `${PATH:=.}`. Those with a small letter
/// are the script's own.
pub(super) fn set_in_sums(text: &str) -> Vec<String> {
    if text.contains("\\\n") {
        return set_in_sums(&text.replace("\\\n", ""));
    }
    if !text.contains(['[', '{']) && !text.contains("((") {
        return Vec::new();
    }
    // Quotes go away: `(("IF"S = 1))`.
    let text = if text.contains(QUOTES) { Cow::Owned(text.replace(QUOTES, "")) } else { Cow::Borrowed(text) };
    let assigned = targets(&text).filter_map(name_at_end);
    let counted = ["++", "--"].into_iter().flat_map(|sign| {
        text.match_indices(sign).filter_map(|(at, sign)| {
            let after = text.get(at.checked_add(sign.len())?..)?;
            name_at_end(text.get(..at)?.trim_end()).or_else(|| name_at_start(after.trim_start()))
        })
    });
    assigned.chain(counted).map(str::to_owned).collect()
}

/// Whether a sum may set a variable whose name is only known when the script runs: `(($x = 1))`, `((IF${x}S = 1))`.
pub(super) fn sets_unknown_in_sums(text: &str) -> bool {
    if text.contains("\\\n") {
        return sets_unknown_in_sums(&text.replace("\\\n", ""));
    }
    let is_computed = |target: &str| {
        let start = target.trim_end_matches(is_letter);
        start.ends_with(['$', '}', ')', '`'])
    };
    let sums = text.split("((").skip(1).chain(text.split("$[").skip(1));
    sums.map(|sum| sum.replace(QUOTES, "")).any(|sum| targets(&sum).any(is_computed))
}

const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// What stands before each `=` that may assign.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('=').filter_map(|(at, _)| {
        let (before, after) = text.split_at_checked(at)?;
        let compares = after.starts_with("==") || before.ends_with(['=', '!']);
        let is_operator = |c: char| c.is_whitespace() || "+-*/%&|^<>:".contains(c);
        (!compares).then(|| before.trim_end_matches(is_operator))
    })
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn name_at_end(text: &str) -> Option<&str> {
    let start = text.trim_end_matches(is_letter);
    text.get(start.len()..).filter(|name| is_of_the_shell(name) && !start.ends_with('$'))
}

fn name_at_start(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_letter(c)).unwrap_or(text.len());
    text.get(..end).filter(|name| is_of_the_shell(name))
}

fn is_of_the_shell(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.chars().any(|c| c.is_ascii_lowercase())
}
