//! What a success of a script proves.
//!
//! Only a command that must have succeeded if the script did, and that matches from its start: `echo pytest` is no
//! test, and neither is `pytest --version`. Knowing what each program makes of its arguments is left out on purpose,
//! but for a few words with which most do nothing.

use lockgate_call::{Command, Known, Script, Word, launched_at};
use lockgate_pattern::Pattern;

use super::{commands::literal_text, trim::trimmed};

/// Words with which a program only talks about what it would do, or finds that there is nothing to do.
const IDLE_OPTIONS: &[&str] = &[
    "--co",
    "--collect-only",
    "--collectonly",
    "--dry-run",
    "--dryrun",
    "--fixtures",
    "--help",
    "--if-present",
    "--just-print",
    "--list",
    "--list-tests",
    "--listTests",
    "--markers",
    "--no-run",
    "--pass-with-no-tests",
    "--passWithNoTests",
    "--print-config",
    "--recon",
    "--setup-only",
    "--setup-plan",
    "--show-config",
    "--showConfig",
    "--usage",
    "--version",
];

/// The same, where they are the only argument: elsewhere they mean something else.
const IDLE_ALONE: &[&str] = &["-?", "-V", "-h", "help", "version"];

/// The longest of them, which many programs know by any of their beginnings.
const ABBREVIATED: &[&str] =
    &["--collect-only", "--dry-run", "--help", "--ignore-errors", "--just-print", "--version"];

/// The shortest beginning that is taken for one of these.
const ABBREVIATION_BYTES_MIN: usize = 5;

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
    let mut words = command.words.as_slice();
    while let Some(launched) = launched_at(words).and_then(|at| words.get(at..)) {
        words = launched;
    }
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = program.text.rsplit('/').next().unwrap_or_default();
    let idles = |word: &Word| {
        let option = word.text.split_once('=').map_or(word.text.as_str(), |(option, _)| option);
        let is_alone = arguments.len() == 1 && IDLE_ALONE.contains(&option);
        (is_idle(option) || is_alone || is_idle_of(program, &word.text)) && !is_asked(option)
    };
    !arguments.iter().any(|word| idles(word) || may_be_option(word))
}

fn is_idle(option: &str) -> bool {
    let is_beginning = |whole: &&str| option.len() >= ABBREVIATION_BYTES_MIN && whole.starts_with(option);
    IDLE_OPTIONS.contains(&option) || ABBREVIATED.iter().any(is_beginning)
}

fn is_idle_of(program: &str, word: &str) -> bool {
    let Some(row) = lockgate_call::program(program) else { return false };
    // Its short options may be written together, and its variables set by a word.
    row.is_idle_with(word) || (row.is_make() && is_idle_of_make(word))
}

/// `make -n`, `-q` and `-t` run nothing, `-i` succeeds in spite of failures, and with `SHELL=true` every line does.
fn is_idle_of_make(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.contains(['e', 'i', 'n', 'q', 't']))
        || (letters.is_none() && word.contains('='))
        || ["--eval", "--question", "--touch"].contains(&word)
}

/// Whether a word that is known only at run time may turn out an option: a file may be called `--version`.
fn may_be_option(word: &Word) -> bool {
    match word.known {
        Known::Certain => false,
        Known::Unknown => true,
        Known::Glob => word.text.starts_with(['*', '?', '[', '-', '+', '@', '!', '(']),
    }
}
