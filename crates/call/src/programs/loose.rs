//! What a program runs whose options nobody wrote down.
//!
//! The command begins at one of its words, and each word may be the one. Where nothing is known of a program, only the
//! ways count in which most say it. Guessing further is left out on purpose: `frob rm x` is a verb of `frob`.

use super::consoles::TMUX_KNOWN;
use super::inner::{Inner, Unwrapped};
use super::names::{has, is_trusted};
use super::table;
use super::word::Field;
use super::wrappers::Wrapper;

/// What a program runs of which nothing is known, by the ways in which most say it: behind `--`, by a path of the system,
/// and as the value of an option that is called like it. None where it shows nothing of the kind.
pub(crate) fn unwrap_unknown(words: &[Field]) -> Option<Unwrapped> {
    let arguments = words.get(1..).unwrap_or_default();
    let mut inner = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let after = || arguments.get(at.saturating_add(1)..).unwrap_or_default();
        let text = word.text.as_str();
        if inner.len() >= BEGINNINGS_MAX {
            inner.push(Inner::Unknown);
            break;
        }
        if text == "--" && after().first().is_some_and(|first| is_known(&first.text)) {
            inner.push(Inner::Perhaps(after().to_vec()));
        } else if text.starts_with('/') && is_trusted(text) && word.is_certain() && is_known(text) {
            inner.push(Inner::Perhaps(arguments.get(at..).unwrap_or_default().to_vec()));
        } else if let Some(option) = text.strip_prefix("--").filter(|option| option.len() > 2) {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, it)| (name, Some(it)));
            let runs = name.split('-').any(|part| has("exec execute cmd script hook", part));
            let value = match value {
                Some(value) => Some(Field { text: value.to_owned(), ..word.clone() }),
                None => after().first().filter(|next| !next.text.starts_with('-')).cloned(),
            };
            let is_script = |value: &Field| {
                value.is_certain() && value.text.split_whitespace().next().is_some_and(is_known)
            };
            inner.extend(value.filter(|value| runs && is_script(value)).map(Inner::Script));
        }
    }
    (!inner.is_empty()).then(|| Unwrapped { inner, own: true, repeats: true, ..Unwrapped::default() })
}

/// Whether a name is that of a program in the table.
fn is_known(path: &str) -> bool {
    table::program(path.rsplit('/').next().unwrap_or_default()).is_some()
}

/// The most words at which a command may begin.
const BEGINNINGS_MAX: usize = 16;

/// What runs where it cannot be told at which word the command begins.
pub(super) fn somewhere(arguments: &[Field]) -> Vec<Inner> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if found.len() >= BEGINNINGS_MAX {
            found.push(Inner::Unknown);
            break;
        }
        let rest = arguments.get(at.saturating_add(1)..).unwrap_or_default();
        let value = text.split_once('=').map(|(_, value)| value).filter(|value| !value.is_empty());
        let begins = match (text.starts_with('-'), value) {
            (true, None) => continue,
            (true, Some(value)) => value,
            // A variable for what it runs, or a setting.
            (false, Some(_)) if !text.contains(' ') => continue,
            (false, _) => text,
        };
        if begins.contains([' ', '\t', '\n', ';', '|', '&']) {
            // A setting may hold it: `-a 'cmd=rm x'`.
            let script = value.filter(|_| !text.starts_with('-'));
            let script = script.map(|script| Field { text: script.to_owned(), ..word.clone() });
            found.extend(script.map(Inner::Script));
            found.push(Inner::Script(Field { text: begins.to_owned(), ..word.clone() }));
            continue;
        }
        let name = begins.rsplit('/').next().unwrap_or_default();
        let is_name = !name.is_empty()
            && !begins.starts_with("/dev/")
            && !begins.starts_with(|c: char| c.is_ascii_digit());
        if is_name && !name.contains([':', '@', '%', ',']) {
            let first = Field { text: begins.to_owned(), ..word.clone() };
            found.push(Inner::Perhaps(std::iter::once(first).chain(rest.iter().cloned()).collect()));
        }
        // What it runs begins here or further on, and is seen from there.
        if table::program(name).is_some_and(|row| row.wrappers.iter().any(Wrapper::is_loose)) {
            break;
        }
    }
    found
}

/// The scripts that `tmux` is told to run, by whatever short form of a verb, behind a `;` and within `#(…)`.
pub(super) fn tmux_scripts(arguments: &[Field]) -> Vec<Inner> {
    const RUNS: [&str; 6] =
        ["run-shell", "if-shell", "respawn-pane", "respawn-window", "pipe-pane", "display-popup"];
    const SHORT: &str = "if respawnp respawnw pipep popup";
    let mut found = Vec::new();
    let mut is_verb = true;
    let mut runs = false;
    for word in arguments {
        let text = word.text.as_str();
        if text.contains("#(") {
            found.push(Inner::Unknown);
        }
        if is_verb && text.starts_with('-') {
            continue;
        }
        if is_verb && text.len() > 1 && !text.contains('/') {
            runs = has(SHORT, text) || text.len() > 2 && RUNS.iter().any(|verb| verb.starts_with(text));
            // What stands before it may be the value of an option.
            is_verb = !runs && !has(TMUX_KNOWN, text);
            continue;
        }
        if text == ";" || text.ends_with(';') {
            is_verb = true;
        }
        if runs && !text.starts_with('-') {
            found.push(Inner::Script(Field { text: text.trim_end_matches(';').to_owned(), ..word.clone() }));
        }
    }
    found
}
