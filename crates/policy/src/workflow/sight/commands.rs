//! What a script runs, as far as it can be told: only what matches, or perhaps something that does.
//!
//! Both questions are answered for the text as it is written and for every simple command in it. That a pattern
//! matches somewhere in the whole says little: `npm test; rm -rf /` begins like `npm test`.

use lockgate_call::{Command, Known, Script, SeenCall, Word};
use lockgate_pattern::{Match, Pattern};

use super::trim::trimmed;

/// The most bytes of text in fields that need not be commands at all, which are read like commands.
pub(super) const LOOSE_BYTES_MAX: usize = 256 * 1024;

/// The most words of a pattern that are put in for what a script computes.
const PATTERN_WORDS_MAX: usize = 16;

/// Whether a script surely runs nothing but commands that match.
pub(super) fn only_matches(pattern: &Pattern, text: &str, script: &Script) -> bool {
    let text = trimmed(text);
    if exact_text(pattern).is_some_and(|exact| exact == text) {
        return true;
    }
    // A variable may make the same name another program.
    let names_variable = |name: &String| literal_text(pattern).contains(&format!("{name}="));
    !script.opaque
        && !script.commands.is_empty()
        && script.sets.iter().all(names_variable)
        && matches!(pattern.find(text), Match::At(_))
        && script.commands.iter().all(|command| is_allowed(pattern, command))
}

fn is_allowed(pattern: &Pattern, command: &Command) -> bool {
    let matches = |text: &str| matches!(pattern.find(text), Match::At(_));
    let by_text = matches(&command.text_with_path)
        || (command.is_trusted() && matches(&command.text))
        || (!command.assignments.is_empty() && matches(&with_assignments(command)));
    !command.opaque && by_text && is_settled(pattern, command)
}

/// Whether what is computed in a command cannot undo the match: it stands behind all that had to match.
fn is_settled(pattern: &Pattern, command: &Command) -> bool {
    if command.words.iter().all(|word| word.known == Known::Certain) {
        return true;
    }
    let certain = command.words.iter().take_while(|word| word.known == Known::Certain);
    let certain: Vec<&str> = certain.map(|word| word.text.as_str()).collect();
    // Look-around may see something in what comes later.
    pattern.is_linear() && matches!(pattern.find(&certain.join(" ")), Match::At(_))
}

/// Whether a script may run a command that matches.
pub(super) fn may_match(pattern: &Pattern, text: &str, script: &Script) -> bool {
    script.opaque || may_be(pattern, text) || may_run(pattern, script)
}

fn may_run(pattern: &Pattern, script: &Script) -> bool {
    script.commands.iter().any(|command| {
        command.opaque
            || forms(command).iter().any(|form| may_be(pattern, form))
            || may_become(pattern, command)
    })
}

/// Whether one of these texts, which need not be commands at all, may match as one. What cannot be read as a script is
/// no doubt here, or no sentence with an apostrophe could be written anywhere; it is searched piece by piece.
pub(super) fn may_match_loosely<'t>(
    pattern: &Pattern,
    texts: impl Iterator<Item = &'t str>,
    call: &SeenCall,
) -> bool {
    let mut bytes_left = LOOSE_BYTES_MAX;
    for text in texts {
        let Some(left) = bytes_left.checked_sub(text.len()) else { return true };
        bytes_left = left;
        let pieces = text.split([';', '&', '|', '\n', '(', ')', '{', '}', '`', '"', '\'']);
        if may_be(pattern, text)
            || pieces.map(str::trim).any(|piece| !piece.is_empty() && may_be(pattern, piece))
            || may_run_loosely(pattern, &call.script(text))
        {
            return true;
        }
    }
    false
}

fn may_run_loosely(pattern: &Pattern, script: &Script) -> bool {
    let commands = script.commands.iter();
    commands.flat_map(forms).any(|form| may_be(pattern, &form))
}

/// A command in every form that a pattern may have in mind: with and without its folder, its variables and what
/// stands around it.
fn forms(command: &Command) -> Vec<String> {
    let mut forms = vec![command.text.clone(), command.text_with_path.clone()];
    if !command.assignments.is_empty() {
        forms.push(with_assignments(command));
    }
    let mut around = command.text.clone();
    for by in command.reached_by.iter().rev() {
        around = format!("{by} {around}");
        forms.push(around.clone());
    }
    forms.extend(command.code.clone());
    forms
}

fn with_assignments(command: &Command) -> String {
    let assigned = command.assignments.iter().map(|(name, value)| format!("{name}={} ", value.text));
    assigned.chain([command.text_with_path.clone()]).collect()
}

/// Whether a text matches or may, with and without the space around it.
fn may_be(pattern: &Pattern, text: &str) -> bool {
    let may = |text: &str| pattern.find(text) != Match::No;
    may(text) || (text.trim() != text && may(text.trim()))
}

/// Whether a command may match once its computed words are known: words of the pattern are put in for them. The
/// match has to begin in what is known, or any command with a variable in it could be any other.
fn may_become(pattern: &Pattern, command: &Command) -> bool {
    let is_certain = |word: &&Word| word.known == Known::Certain;
    let is_fed = command.is_fed();
    let certain: usize = command.words.iter().take_while(is_certain).map(|word| word.text.len() + 1).sum();
    if !is_fed && command.words.iter().all(|word| is_certain(&word)) {
        return false;
    }
    let literal = literal_text(pattern);
    let is_end = |c: char| !(c.is_alphanumeric() || "_-./:=@~".contains(c));
    let words: Vec<&str> = literal.split(is_end).filter(|word| !word.is_empty()).collect();
    if words.len() > PATTERN_WORDS_MAX {
        return true;
    }
    let runs = (0..words.len()).flat_map(|from| (from + 1..=words.len()).map(move |to| (from, to)));
    runs.filter_map(|(from, to)| words.get(from..to)).any(|run| {
        let run = run.join(" ");
        let put_in = command.words.iter().map(|word| match word.known {
            Known::Certain => word.text.as_str(),
            Known::Glob | Known::Unknown => &run,
        });
        let text = put_in.collect::<Vec<_>>().join(" ");
        let fed = is_fed.then(|| format!("{text} {run}"));
        std::iter::once(text).chain(fed).any(|text| match pattern.find(&text) {
            Match::No => false,
            Match::At(start) => start < certain,
            Match::Unsure => true,
        })
    })
}

/// The text of an expression with what is escaped as itself, and without classes such as `\s`.
pub(super) fn literal_text(pattern: &Pattern) -> String {
    let written = pattern.to_string();
    let mut characters = written.chars();
    let mut literal = String::with_capacity(written.len());
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => literal.push(characters.next().filter(|c| !c.is_alphanumeric()).unwrap_or(' ')),
            (plain, false) => literal.push(plain),
        }
    }
    literal
}

/// The only text that an expression like `^make all$` matches; none where it has room for another.
fn exact_text(pattern: &Pattern) -> Option<String> {
    let written = pattern.to_string();
    let body = written.strip_prefix('^')?.strip_suffix('$')?;
    let mut characters = body.chars();
    let mut exact = String::with_capacity(body.len());
    while let Some(character) = characters.next() {
        exact.push(match character {
            '\\' => characters.next().filter(char::is_ascii_punctuation)?,
            special if ".^$*+?{}[]|()".contains(special) => return None,
            plain => plain,
        });
    }
    Some(exact)
}
