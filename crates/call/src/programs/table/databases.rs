//! Databases and debuggers.

use crate::programs::consoles::Console;
use crate::programs::interpreters::{Dialect, Interpreter};
use crate::programs::network::{Network, Words};
use crate::programs::program::Program;

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "sqlite3 duckdb",
        is_only_a_program: true,
        interpreter: Some(&Interpreter {
            code: "-cmd -c",
            valued: "-separator -newline -nullvalue -init -mmap -vfs -maxsize",
            data: 1,
            operand: true,
            shells: ".shell .system",
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "psql mysql mariadb",
        is_only_a_program: true,
        interpreter: Some(&Interpreter {
            code: "-c --command -e --execute",
            valued: "-h -U -d -p -P -u -v -f -o -L -F -R -T --host --username --dbname --port --user --file \
                --set",
            data: usize::MAX,
            leaves_with: "-f --file -l --list",
            shells: ".shell .system",
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
        network: Some(&Network { words: Words::Options, ..Network::PLAIN }),
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
        names: "smbclient ldapsearch",
        network: Some(&Network { words: Words::Options, ..Network::PLAIN }),
        ..Program::PLAIN
    },
    Program {
        names: "gdb lldb",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-ex -eval-command -iex -o --one-line",
            valued: "-x -p -c -s --command",
            data: usize::MAX,
            stays: true,
            leaves_with: "-batch --batch",
            shells: "shell system",
            evals: "python pi py",
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
];
