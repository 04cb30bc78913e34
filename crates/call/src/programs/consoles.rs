//! Programs that take further commands while they run: the table of those that are no shell and no interpreter.
//!
//! Whoever has let one start has let everything happen that is typed into it later, because most hosts show nobody
//! what that is. [`takes_commands`] says so of a command line. Pagers (`less x`, `man x`, `git log`) are missing on
//! purpose: most runs of them have no terminal, and a gate that doubts each of them would be switched off.

use super::names::has;
use super::word::Field;

/// How one is recognised. Lists are words with spaces between them.
struct Console {
    names: &'static str,
    /// The words one of which makes it a console, wherever they stand: `rails console`. None is always.
    verbs: &'static str,
    /// Words of the command line with which it takes no commands: `mongosh --eval x`.
    unless: &'static str,
    /// Whether a word that is no option means that it takes none.
    takes_files: bool,
}

const PLAIN: Console = Console { names: "", verbs: "", unless: "--version --help", takes_files: false };

const CONSOLES: &[Console] = &[
    Console {
        names: "bpython ptpython pry ghci iex octave maxima gp sage utop hy coffee",
        unless: "--version --help -e --eval",
        takes_files: true,
        ..PLAIN
    },
    // It runs what follows and goes on: `iex -S mix`.
    Console { names: "iex pry", verbs: "-S -r", ..PLAIN },
    Console {
        names: "mongosh mongo sqlplus sqlcmd",
        unless: "--version --help --eval -f --file -i -Q -q",
        ..PLAIN
    },
    Console { names: "nano pico micro hx helix kak joe mcedit ranger nnn lf mc vifm", ..PLAIN },
    Console { names: "sftp", unless: "-b", ..PLAIN },
    Console { names: "lftp", unless: "-c -f --version --help", ..PLAIN },
    Console { names: "ftp telnet mosh login newgrp minicom picocom dtach abduco byobu", ..PLAIN },
    Console { names: "socat", verbs: "- STDIO STDIN READLINE", ..PLAIN },
    Console { names: "xterm gnome-terminal konsole alacritty kitty", unless: "-e --version --help", ..PLAIN },
    Console {
        names: "zellij",
        unless: "ls list-sessions kill-session delete-session --version --help",
        ..PLAIN
    },
    Console { names: "docker podman nerdctl", verbs: "attach", ..PLAIN },
    Console { names: "kubectl oc", verbs: "attach", ..PLAIN },
    Console { names: "toolbox distrobox", verbs: "enter", unless: "--", ..PLAIN },
    Console { names: "nix", verbs: "develop shell repl", unless: "-c --command", ..PLAIN },
    Console {
        names: "poetry pipenv hatch pixi nix railway",
        verbs: "shell",
        unless: "-c --command",
        ..PLAIN
    },
    Console { names: "rails jupyter bundle heroku fly flyctl", verbs: "console c dbconsole", ..PLAIN },
    Console { names: "cabal stack sbt lein dotnet", verbs: "repl ghci console", ..PLAIN },
    Console { names: "aws", verbs: "start-session execute-command", ..PLAIN },
];

/// What can be said to a running `tmux` that starts nothing, or nothing that is not read elsewhere.
const TMUX_KNOWN: &str = "ls list-sessions lsw list-windows lsp list-panes kill-session kill-server kill-window \
    kill-pane has has-session capture-pane capturep display-message display show-options show rename-session \
    rename-window select-window select-pane resize-pane new-window neww split-window splitw run-shell run send-keys \
    send start-server detach-client detach -V";

/// Options of `tmux` before its verb whose value is the next word.
const TMUX_VALUED: &str = "-L -S -f -T";

/// Whether a program goes on to take commands from whoever sits at its terminal.
pub(crate) fn takes_commands(program: &str, arguments: &[Field]) -> bool {
    let says = |list: &str| arguments.iter().any(|word| has(list, &word.text));
    match program {
        "tmux" => tmux(arguments),
        "screen" => screen(arguments),
        // `docker start -ai web`
        "docker" | "podman" | "nerdctl" if says("start") && !says("run exec") => {
            says("--interactive") || letters(arguments).any(|letter| letter == 'i')
        }
        _ => CONSOLES.iter().filter(|console| has(console.names, program)).any(|console| {
            let is_one = console.verbs.is_empty() || says(console.verbs);
            let has_file = arguments.iter().any(|word| !word.text.starts_with('-') && !word.text.is_empty());
            is_one && !says(console.unless) && !(console.takes_files && has_file)
        }),
    }
}

/// Whether it shows a terminal. A word in no list may be the short form of one that does.
fn tmux(arguments: &[Field]) -> bool {
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
fn screen(arguments: &[Field]) -> bool {
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
