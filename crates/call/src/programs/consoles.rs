//! Programs that take further commands while they run and are neither a shell nor an interpreter.
//!
//! An agent that starts one can type anything into it later, and most agents show that to no hook. [`Console`]
//! says with which words that is so. Pagers (`less x`, `man x`, `git log`) are missing on purpose: most runs of them have no
//! terminal, and a gate that doubts each of them would be switched off.

use super::names::has;
use super::word::Field;

/// When a program takes further commands. Lists are words with spaces between them.
#[derive(Debug)]
pub(crate) struct Console {
    /// The words one of which makes it a console, wherever they stand: `rails console`. None is always.
    pub(crate) verbs: &'static str,
    /// The options one of which makes it a console; none is always.
    pub(crate) only_with: &'static str,
    /// Words of the command line with which it takes no commands: `mongosh --eval x`.
    pub(crate) unless: &'static str,
    /// Whether a word that is not an option means that it takes none.
    pub(crate) takes_files: bool,
}

impl Console {
    pub(crate) const PLAIN: Self =
        Self { verbs: "", only_with: "", unless: "--version --help", takes_files: false };

    /// Whether these words make it one.
    pub(crate) fn is_one(&self, arguments: &[Field]) -> bool {
        let says = |list: &str| arguments.iter().any(|word| has(list, &word.text));
        let is_letter = |letter: char| has(self.only_with, &format!("-{letter}"));
        let is_given = self.only_with.is_empty() || says(self.only_with) || letters(arguments).any(is_letter);
        let has_file = || arguments.iter().any(|word| !word.text.starts_with('-') && !word.text.is_empty());
        (self.verbs.is_empty() || says(self.verbs))
            && is_given
            && !says(self.unless)
            && !(self.takes_files && has_file())
    }
}

/// What can be said to a running `tmux` that starts nothing, or nothing that is not read elsewhere.
pub(super) const TMUX_KNOWN: &str = "ls list-sessions lsw list-windows lsp list-panes kill-session kill-server kill-window \
    kill-pane has has-session capture-pane capturep display-message display show-options show rename-session \
    rename-window select-window select-pane resize-pane new-window neww split-window splitw run-shell run send-keys \
    send start-server detach-client detach show-environment showenv set-environment setenv move-window movew swap-window \
    swapw swap-pane swapp list-keys lsk list-clients lsc list-buffers lsb list-commands lscm display-panes displayp \
    clear-history clearhist wait-for -V";

/// Options of `tmux` before its verb whose value is the next word.
const TMUX_VALUED: &str = "-L -S -f -T";

/// Whether it shows a terminal. A word in no list may be the short form of one that does.
pub(crate) fn tmux(arguments: &[Field]) -> bool {
    let mut words = arguments.iter().map(|word| word.text.as_str());
    let verb = loop {
        match words.next() {
            Some(option) if has(TMUX_VALUED, option) => drop(words.next()),
            Some("-V") => break "-V",
            Some(option) if option.starts_with('-') => {}
            Some(verb) => break verb,
            None => return true,
        }
    };
    match verb {
        "new" | "new-session" => !words.any(|word| word.starts_with('-') && word.contains('d')),
        verb => !has(TMUX_KNOWN, verb),
    }
}

/// Whether it shows a terminal, or types into one by itself: `screen -X stuff 'rm x'`.
pub(crate) fn screen(arguments: &[Field]) -> bool {
    const LISTS: &str = "-ls -list -wipe -v --version --help";
    if arguments.iter().any(|word| has(LISTS, &word.text)) && arguments.len() <= 2 {
        return false;
    }
    !letters(arguments).any(|letter| letter == 'm')
        || letters(arguments).any(|letter| "XrRx".contains(letter))
}

/// The letters of the options that are written as such.
fn letters(arguments: &[Field]) -> impl Iterator<Item = char> {
    let options = arguments.iter().filter_map(|word| word.text.strip_prefix('-'));
    options.filter(|letters| !letters.starts_with('-')).flat_map(str::chars)
}
