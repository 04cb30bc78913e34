//! Shells, terminals and editors for them: what runs in them is typed later.

use crate::programs::consoles::Console;
use crate::programs::files::FileUse;
use crate::programs::interpreters::{Dialect, Interpreter};
use crate::programs::program::{Grammar, Language, Program};
use crate::programs::wrappers::{Rest, Wrapper};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "sh zsh",
        is_only_a_program: true,
        has_versions: true,
        grammar: Grammar::Shell(Language::Posix),
        files: FileUse::KEEPER,
        ..Program::PLAIN
    },
    Program {
        names: "bash dash ash ksh mksh rbash yash posh bash-static zsh-static ksh93 lksh oksh loksh pdksh sash rzsh rksh \
            bash.exe sh.exe hush ion osh",
        has_versions: true,
        grammar: Grammar::Shell(Language::Posix),
        files: FileUse::KEEPER,
        ..Program::PLAIN
    },
    Program {
        names: "fish csh tcsh pwsh powershell pwsh.exe powershell.exe pwsh-preview elvish nu xonsh scsh",
        has_versions: true,
        grammar: Grammar::Shell(Language::Other),
        ..Program::PLAIN
    },
    Program {
        names: "tmux",
        grammar: Grammar::Tmux,
        wrappers: &[
            Wrapper {
                verb: "new-session",
                valued: "-s -n -c -t -e -x -y -F",
                rest: Rest::Script,
                ..Wrapper::RUNNER
            },
            Wrapper { verb: "neww", valued: "-n -c -t -e -F", rest: Rest::Script, ..Wrapper::RUNNER },
            Wrapper { verb: "splitw", valued: "-c -t -e -l -p -F", rest: Rest::Script, ..Wrapper::RUNNER },
            Wrapper { verb: "send", valued: "-t -N", rest: Rest::Scripts, ..Wrapper::RUNNER },
            Wrapper { verb: "new", valued: "-s -n -c -t -e -x -y -F", rest: Rest::Script, ..Wrapper::RUNNER },
            Wrapper { verb: "new-window", valued: "-n -c -t -e -F", rest: Rest::Script, ..Wrapper::RUNNER },
            Wrapper {
                verb: "split-window",
                valued: "-c -t -e -l -p -F",
                rest: Rest::Script,
                ..Wrapper::RUNNER
            },
            Wrapper { verb: "run-shell", valued: "-t -d", rest: Rest::Script, ..Wrapper::RUNNER },
            Wrapper { verb: "send-keys", valued: "-t -N", rest: Rest::Scripts, ..Wrapper::RUNNER },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "screen",
        grammar: Grammar::Screen,
        wrappers: &[Wrapper { valued: "-S -t -c -s -e -h -p", ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "zellij",
        consoles: &[Console {
            unless: "ls list-sessions kill-session delete-session --version --help",
            ..Console::PLAIN
        }],
        ..Program::PLAIN
    },
    Program {
        names: "dtach abduco byobu login minicom picocom",
        consoles: &[Console::PLAIN],
        ..Program::PLAIN
    },
    Program { names: "newgrp", wrappers: &[Wrapper::RUNNER], consoles: &[Console::PLAIN], ..Program::PLAIN },
    Program {
        names: "xterm gnome-terminal konsole alacritty kitty",
        wrappers: &[Wrapper { verb: "-e", rest: Rest::Script, ..Wrapper::RUNNER }],
        consoles: &[Console { unless: "-e --version --help", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "nano pico micro hx helix kak joe mcedit ranger nnn lf mc vifm",
        consoles: &[Console::PLAIN],
        ..Program::PLAIN
    },
    Program {
        names: "vim vi nvim view ex vimdiff gvim vim.basic vim.tiny vim.nox",
        interpreter: Some(&Interpreter {
            code: "-c --cmd",
            valued: "-u -U -i -t -T -W",
            loads: "-S",
            data: usize::MAX,
            stays: true,
            shells: "system systemlist job_start termopen jobstart",
            evals: "eval execute",
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "emacs",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e --eval -eval --execute",
            valued: "-f --funcall",
            loads: "-l --load --script -script",
            whole_options: true,
            data: usize::MAX,
            stays: true,
            leaves_with: "-batch --batch --script",
            shells: "start-process shell-command call-process",
            evals: "eval load",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "ed",
        interpreter: Some(&Interpreter {
            data: 1,
            stays: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
];
