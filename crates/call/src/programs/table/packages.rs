//! Package managers, build tools and compilers.

use crate::programs::consoles::Console;
use crate::programs::files::FileUse;
use crate::programs::program::{Program, SettingsFiles};
use crate::programs::wrappers::{Rest, Wrapper};

/// They fetch a package and run a program of it.
const FETCHED: &[Wrapper] = &[Wrapper {
    flags: "-y -q --yes --no --no-install --quiet --bun --ignore-existing",
    valued: "-p --package --from --with --python",
    scripts: "-c --call",
    ..Wrapper::RUNNER
}];

/// What a package of npm runs by its verbs.
pub(super) const PACKAGE: SettingsFiles =
    SettingsFiles { names: "package.json", is_package: true, ..SettingsFiles::PLAIN };

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "npx bunx",
        is_only_a_program: true,
        wrappers: FETCHED,
        launches: &[""],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "uvx pnpx",
        is_only_a_program: true,
        wrappers: FETCHED,
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "npm",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "exec", scripts: "-c --call", ..Wrapper::RUNNER },
            Wrapper { verb: "x", scripts: "-c --call", ..Wrapper::RUNNER },
            Wrapper { scripts: "--script-shell", ..Wrapper::HOST },
        ],
        settings: Some(&PACKAGE),
        launches: &["exec --"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "pnpm",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "exec", scripts: "-c --call", ..Wrapper::RUNNER },
            Wrapper { verb: "dlx", ..Wrapper::RUNNER },
            Wrapper { scripts: "--script-shell", ..Wrapper::HOST },
        ],
        settings: Some(&PACKAGE),
        launches: &["dlx", "exec"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "yarn",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "exec", scripts: "-c --call", ..Wrapper::RUNNER },
            Wrapper { verb: "dlx", ..Wrapper::RUNNER },
            Wrapper { scripts: "--script-shell", ..Wrapper::HOST },
        ],
        settings: Some(&PACKAGE),
        launches: &["dlx"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "uv",
        is_only_a_program: true,
        wrappers: &[
            Wrapper {
                verb: "run",
                flags: "--isolated --no-project --no-sync --frozen --locked --offline --active --exact \
                    --no-dev --quiet -q",
                valued: "-p -m --python --with --with-editable --with-requirements --extra --group \
                    --package --project --directory --env-file --module",
                ..Wrapper::RUNNER
            },
            Wrapper { verb: "tool run", valued: "--from --with --python -p", ..Wrapper::RUNNER },
        ],
        launches: &["run"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "poetry",
        wrappers: &[Wrapper { verb: "run", ..Wrapper::RUNNER }],
        consoles: &[Console { verbs: "shell", unless: "-c --command", ..Console::PLAIN }],
        launches: &["run"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "pipenv hatch",
        wrappers: &[Wrapper { verb: "run", ..Wrapper::RUNNER }],
        consoles: &[Console { verbs: "shell", unless: "-c --command", ..Console::PLAIN }],
        launches: &["run"],
        ..Program::PLAIN
    },
    Program {
        names: "pdm",
        wrappers: &[Wrapper { verb: "run", ..Wrapper::RUNNER }],
        launches: &["run"],
        ..Program::PLAIN
    },
    Program {
        names: "pixi",
        wrappers: &[Wrapper { verb: "run", ..Wrapper::RUNNER }],
        consoles: &[Console { verbs: "shell", unless: "-c --command", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "rye conda mamba micromamba op doppler infisical",
        wrappers: &[Wrapper { verb: "run", ..Wrapper::RUNNER }],
        ..Program::PLAIN
    },
    Program {
        names: "pip pip3",
        is_only_a_program: true,
        has_versions: true,
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "pipx",
        is_only_a_program: true,
        wrappers: &[Wrapper { verb: "run", valued: "--spec --python --index-url", ..Wrapper::RUNNER }],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program { names: "twine", is_only_a_program: true, goes_unread: true, ..Program::PLAIN },
    Program {
        names: "bundle",
        wrappers: &[Wrapper { verb: "exec", ..Wrapper::RUNNER }],
        consoles: &[Console { verbs: "console c dbconsole", ..Console::PLAIN }],
        launches: &["exec"],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program { names: "gem", has_versions: true, goes_unread: true, ..Program::PLAIN },
    Program {
        names: "rbenv pyenv nodenv asdf rtx fnm volta sops nvm",
        wrappers: &[
            Wrapper { verb: "exec", ..Wrapper::LOOSE },
            Wrapper { verb: "exec-env", ..Wrapper::LOOSE },
            Wrapper { verb: "exec-file", ..Wrapper::LOOSE },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "mise",
        wrappers: &[
            Wrapper { verb: "exec", ..Wrapper::LOOSE },
            Wrapper { verb: "x", ..Wrapper::LOOSE },
            Wrapper { verb: "watch", ..Wrapper::LOOSE },
        ],
        launches: &["exec --"],
        ..Program::PLAIN
    },
    Program {
        names: "aws-vault",
        wrappers: &[
            Wrapper { verb: "exec", ..Wrapper::RUNNER },
            Wrapper { verb: "exec", operands: 1, ..Wrapper::RUNNER },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "cargo",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "exec", ..Wrapper::RUNNER },
            Wrapper { verb: "watch", scripts: "-s --shell", ..Wrapper::HOST },
            Wrapper { settings: "--config", ..Wrapper::HOST },
        ],
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "go",
        wrappers: &[Wrapper {
            scripts: "-exec --exec -toolexec --toolexec -vettool --vettool",
            ..Wrapper::HOST
        }],
        idle: "-c -exec -list -n -toolexec",
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "nix-shell",
        wrappers: &[Wrapper {
            scripts: "--run --command",
            valued: "-A -I --attr",
            rest: Rest::Shell,
            ..Wrapper::HOST
        }],
        ..Program::PLAIN
    },
    Program {
        names: "nix",
        wrappers: &[
            Wrapper { verb: "-c", ..Wrapper::RUNNER },
            Wrapper { verb: "--command", ..Wrapper::RUNNER },
        ],
        consoles: &[
            Console { verbs: "develop shell repl", unless: "-c --command", ..Console::PLAIN },
            Console { verbs: "shell", unless: "-c --command", ..Console::PLAIN },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "apt apt-get brew yum apk dnf",
        is_only_a_program: true,
        goes_unread: true,
        ..Program::PLAIN
    },
    Program { names: "gradle gradlew", idle: "--exclude-task -m -x", ..Program::PLAIN },
    Program { names: "mvn mvnw", idle: "-Dmaven.test -DskipTests -Dskip -fae -fn", ..Program::PLAIN },
    Program { names: "ninja", idle: "-n -t", ..Program::PLAIN },
    Program {
        names: "cc gcc g++ c++ clang clang++ ld rustc javac",
        has_versions: true,
        wrappers: &[Wrapper { opaque: "-wrapper -fplugin -specs --specs", ..Wrapper::HOST }],
        files: FileUse { single_options: true, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
];
