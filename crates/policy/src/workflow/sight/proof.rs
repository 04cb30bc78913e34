//! What a success of a script proves.
//!
//! Only a command that must have succeeded if the script did, and that matches from its start: `echo pytest` is no
//! test, and neither is `pytest --version`. Knowing what each program makes of its arguments is left out on purpose,
//! but for a few words with which most do nothing.

use lockgate_call::{Command, Script, Word, launched_at};
use lockgate_pattern::Pattern;

use super::{commands::literal_text, trim::trimmed};
use crate::idle::works_unless;

/// Whether a success of the script proves that a command that matches has succeeded.
pub(super) fn proves(pattern: &Pattern, text: &str, script: &Script) -> bool {
    let text = trimmed(text);
    script.commands.iter().any(|command| {
        let is_meant = if command.is_confirmed {
            starts(pattern, command) || (is_one_command(text, script) && pattern.matches_at_start(text))
        } else {
            is_plain(text, script) && names_folder(pattern, command) && pattern.matches_at_start(text)
        };
        is_meant && works(pattern, command)
    })
}

/// Whether a text is nothing but one command as it is written: no wrapper, no comment, no file.
fn is_one_command(text: &str, script: &Script) -> bool {
    let [command] = script.commands.as_slice() else { return false };
    let program = command.words.first().map_or("", |first| first.text.as_str());
    command.reached_by.is_empty() && text.starts_with(program) && !text.contains(['#', '<', '>', '\n'])
}

/// Whether the pattern matches a command from its start, or what a launcher starts.
fn starts(pattern: &Pattern, command: &Command) -> bool {
    let mut words = command.words.as_slice();
    let folder = words.first().and_then(|first| first.text.rsplit_once('/'));
    if pattern.matches_at_start(&spelt(words)) {
        return true;
    }
    // By its bare name: the folder is one of the system's, or it would not be confirmed.
    if let Some((_, name)) = folder
        && let Some((first, rest)) = words.split_first()
    {
        let bare = Word { text: name.to_owned(), known: first.known };
        let bare: Vec<Word> = std::iter::once(bare).chain(rest.iter().cloned()).collect();
        return pattern.matches_at_start(&spelt(&bare));
    }
    while let Some(launched) = launched_at(words).and_then(|at| words.get(at..)) {
        if pattern.matches_at_start(&spelt(launched)) {
            return true;
        }
        words = launched;
    }
    false
}

/// Words as a text in which a word with spaces cannot be taken for several.
fn spelt(words: &[Word]) -> String {
    let quoted = |word: &Word| match word.text.is_empty() || word.text.contains(char::is_whitespace) {
        true => format!("'{}'", word.text),
        false => word.text.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Whether a script is one command and nothing around it, without quotes and computed words.
fn is_plain(text: &str, script: &Script) -> bool {
    let is_single = |word: &Word| !word.text.contains(char::is_whitespace);
    matches!(script.commands.as_slice(), [command] if command.text_with_path == text
        && command.words.iter().all(is_single)
        && !script.opaque
        && !command.opaque
        && script.sets.is_empty()
        && command.reached_by.is_empty()
        && command.redirections.is_empty())
}

/// Whether the author has written the folder of the program himself, and so means the program in there.
fn names_folder(pattern: &Pattern, command: &Command) -> bool {
    let folder = command.words.first().and_then(|first| first.text.rsplit_once('/'));
    folder.is_some_and(|(folder, _)| literal_text(pattern).contains(&format!("{folder}/")))
}

/// Whether a command was surely told to do its work, unless the pattern asks for another thing itself.
fn works(pattern: &Pattern, command: &Command) -> bool {
    let literal = literal_text(pattern);
    let is_asked = |option: &str| {
        let is_end = |c: char| !(c.is_alphanumeric() || "-_?".contains(c));
        literal.split(is_end).any(|word| word == option)
    };
    works_unless(command, is_asked)
}
