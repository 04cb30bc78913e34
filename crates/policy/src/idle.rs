//! Whether a command does its work: `pytest --version` tests nothing, and `cp --help` copies nothing.
//!
//! A few words are known with which most programs only talk, and more for some programs in the table. Knowing what
//! each program makes of its arguments is left out on purpose.

use lockgate_call::{Command, Known, Word, launched_at};

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

/// Whether a command was surely told to do its work, unless it is asked for one of these words itself.
pub(crate) fn works_unless(command: &Command, is_asked: impl Fn(&str) -> bool) -> bool {
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
        // No such word ends like the name of a file.
        Known::Glob => {
            word.text.starts_with(['*', '?', '[', '-', '+', '@', '!', '('])
                && word.text.ends_with(['*', '?', ']', ')'])
        }
    }
}
