//! Commands of the shell itself: of bash, and of other shells that may stand behind a tool.

use crate::programs::files::{Access, FileUse, Moves, Output};
use crate::programs::program::{Builtin, Grammar, Program};
use crate::programs::wrappers::{Rest, Wrapper};

pub(super) const ROWS: &[Program] = &[
    Program { names: "echo", files: FileUse { output: Output::Words, ..FileUse::NONE }, ..Program::PLAIN },
    Program {
        names: "printf",
        builtin: &[Builtin::Sets, Builtin::Formats],
        files: FileUse { output: Output::Format, ..FileUse::NONE },
        ..Program::PLAIN
    },
    Program { names: "true false sleep", files: FileUse::NONE, ..Program::PLAIN },
    Program { names: ":", builtin: &[Builtin::KeepsAssignments], files: FileUse::NONE, ..Program::PLAIN },
    Program {
        names: "exit return",
        builtin: &[Builtin::Spoils, Builtin::Stops, Builtin::KeepsAssignments],
        files: FileUse::NONE,
        ..Program::PLAIN
    },
    Program {
        names: "kill",
        is_only_a_program: true,
        builtin: &[Builtin::Stops],
        files: FileUse::NONE,
        ..Program::PLAIN
    },
    Program { names: "killall pkill", is_only_a_program: true, ..Program::PLAIN },
    Program { names: "test [", builtin: &[Builtin::Tests], files: FileUse::READ, ..Program::PLAIN },
    Program { names: "[[", files: FileUse::READ, ..Program::PLAIN },
    Program { names: "pwd type which", files: FileUse::READ, ..Program::PLAIN },
    Program {
        names: "cd",
        files: FileUse { operands: Some(Access::Reads), moves: Some(Moves::IntoOrHome), ..FileUse::KEEPER },
        ..Program::PLAIN
    },
    Program {
        names: "pushd",
        files: FileUse { operands: Some(Access::Reads), moves: Some(Moves::Into), ..FileUse::KEEPER },
        ..Program::PLAIN
    },
    Program {
        names: "popd",
        files: FileUse { moves: Some(Moves::Back), ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: ". source",
        grammar: Grammar::Source,
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::KeepsAssignments],
        files: FileUse { operands: Some(Access::Reads), ..FileUse::KEEPER },
        ..Program::PLAIN
    },
    Program {
        names: "alias",
        grammar: Grammar::Alias,
        builtin: &[Builtin::Spoils, Builtin::Sets],
        ..Program::PLAIN
    },
    Program {
        names: "trap",
        grammar: Grammar::Trap,
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::Stops, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program {
        names: "fc",
        grammar: Grammar::History,
        builtin: &[Builtin::Spoils, Builtin::Sets],
        ..Program::PLAIN
    },
    Program {
        names: "eval",
        wrappers: &[Wrapper { rest: Rest::Script, ..Wrapper::PLAIN }],
        files: FileUse::NONE,
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program {
        names: "exec",
        wrappers: &[Wrapper { flags: "-c -l", valued: "-a", ..Wrapper::PLAIN }],
        builtin: &[Builtin::Spoils, Builtin::Stops, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program {
        names: "command",
        wrappers: &[Wrapper { flags: "-p", queries: "-v -V", ..Wrapper::PLAIN }],
        keeps_status: true,
        ..Program::PLAIN
    },
    Program { names: "builtin", wrappers: &[Wrapper::PLAIN], builtin: &[Builtin::Spoils], ..Program::PLAIN },
    Program { names: "nocorrect noglob", wrappers: &[Wrapper::PLAIN], ..Program::PLAIN },
    Program {
        names: "repeat",
        wrappers: &[Wrapper { operands: 1, repeats: true, ..Wrapper::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "mapfile readarray",
        wrappers: &[Wrapper { valued: "-d -n -O -s -u -c", scripts: "-C", repeats: true, ..Wrapper::HOST }],
        builtin: &[Builtin::Sets, Builtin::Names],
        ..Program::PLAIN
    },
    Program {
        names: "compgen complete",
        wrappers: &[Wrapper {
            valued: "-A -F -G -P -S -W -X -o",
            scripts: "-C",
            repeats: true,
            ..Wrapper::HOST
        }],
        builtin: &[Builtin::Expands],
        ..Program::PLAIN
    },
    Program { names: "hash enable", builtin: &[Builtin::Spoils, Builtin::Renames], ..Program::PLAIN },
    Program { names: "let", builtin: &[Builtin::Sets, Builtin::Names, Builtin::Sums], ..Program::PLAIN },
    Program { names: "read getopts", builtin: &[Builtin::Sets, Builtin::Names], ..Program::PLAIN },
    Program {
        names: "unset",
        builtin: &[Builtin::Sets, Builtin::Names, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program { names: "wait", builtin: &[Builtin::Names], ..Program::PLAIN },
    Program { names: "print", builtin: &[Builtin::Sets], ..Program::PLAIN },
    Program {
        names: "declare local typeset",
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::Names, Builtin::Declares],
        ..Program::PLAIN
    },
    Program { names: "float integer vared", builtin: &[Builtin::Spoils, Builtin::Sets], ..Program::PLAIN },
    Program {
        names: "export readonly",
        builtin: &[
            Builtin::Spoils,
            Builtin::Sets,
            Builtin::Names,
            Builtin::Declares,
            Builtin::KeepsAssignments,
        ],
        ..Program::PLAIN
    },
    Program {
        names: "set",
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::Stops, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program {
        names: "shopt",
        builtin: &[Builtin::Spoils, Builtin::Sets, Builtin::Options],
        ..Program::PLAIN
    },
    Program {
        names: "emulate setopt unsetopt",
        builtin: &[Builtin::Spoils, Builtin::Sets],
        ..Program::PLAIN
    },
    Program {
        names: "autoload coproc disable functions rehash suspend unalias unfunction unhash zmodload",
        builtin: &[Builtin::Spoils],
        ..Program::PLAIN
    },
    Program {
        names: "break continue",
        builtin: &[Builtin::Spoils, Builtin::Stops, Builtin::KeepsAssignments],
        ..Program::PLAIN
    },
    Program { names: "logout", builtin: &[Builtin::Spoils, Builtin::Stops], ..Program::PLAIN },
    Program { names: "shift times", builtin: &[Builtin::KeepsAssignments], ..Program::PLAIN },
];
