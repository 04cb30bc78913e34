//! Databases and debuggers.

use crate::programs::consoles::Console;
use crate::programs::interpreters::{Dialect, Interpreter};
use crate::programs::network::{Network, Words};
use crate::programs::program::Program;
use crate::programs::wrappers::Wrapper;

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "sqlite3 duckdb",
        is_only_a_program: true,
        interpreter: Some(&Interpreter {
            code: "-cmd -c -s",
            valued: "-separator -newline -nullvalue -mmap -vfs -maxsize -pagecache -lookaside -heap",
            loads: "-init",
            whole_options: true,
            data: 1,
            operand: true,
            shells: ".shell .system .sh .she .shel .sy .sys .syst .syste .load .excel .www .edit",
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "psql mysql mariadb",
        is_only_a_program: true,
        wrappers: &[Wrapper { scripts: "--pager", ..Wrapper::HOST }],
        interpreter: Some(&Interpreter {
            code: "-c --command -e --execute",
            valued: "-h -U -d -p -P -u -v -o -L -F -R -T --host --username --dbname --port --user --set --output",
            files: "-f --file",
            data: usize::MAX,
            leaves_with: "-f --file -l --list",
            shells: ".shell .system PROGRAM program",
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        network: Some(&Network { words: Words::Options, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "mongosh mongo",
        is_only_a_program: true,
        consoles: &[Console { unless: "--version --help --eval -f --file -i -Q -q", ..Console::PLAIN }],
        network: Some(&Network { words: Words::Names, values: "--eval -f --file -u -p", ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "sqlplus sqlcmd",
        consoles: &[Console { unless: "--version --help --eval -f --file -i -Q -q", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "redis-cli pg_dump mysqldump",
        is_only_a_program: true,
        network: Some(&Network { words: Words::Options, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "smbclient rpcclient",
        interpreter: Some(&Interpreter { files: "", code: "-c --command", ..super::network::TRANSFER }),
        network: Some(&Network {
            words: Words::Names,
            values: "-c -U -W -m -b -D -w -s --command --user",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "ldapsearch smbget mount.cifs",
        network: Some(&Network {
            words: Words::Names,
            values: "-c -U -W -m -b -D -w -s --command --user",
            ..Network::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "gdb lldb",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-ex -eval-command --eval-command -iex --init-eval-command -o --one-line -O",
            valued: "-p -c -s -e -cd -d",
            loads: "-x -command --command -ix --init-command -S --source",
            whole_options: true,
            data: usize::MAX,
            stays: true,
            leaves_with: "-batch --batch",
            shells: "shell system !shell make",
            evals: "python pi py",
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
];
