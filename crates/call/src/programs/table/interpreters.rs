//! Programs that run code in a language of their own.

use crate::programs::consoles::Console;
use crate::programs::files::{FileUse, Spread};
use crate::programs::interpreters::{Dialect, Interpreter};
use crate::programs::program::Program;
use crate::programs::wrappers::Wrapper;

const PYTHON: Interpreter = Interpreter {
    code: "-c",
    valued: "-W -X --check-hash-based-pycs",
    elsewhere: "-m",
    ends_with_code: true,
    has_modules: true,
    stays_with: "-i",
    talks_with: "--version --help --help-all -V -VV -h -?",
    shells: "system popen getoutput getstatusoutput execv execve execvp execvpe execl execle execlp execlpe \
        spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp Popen \
        check_call check_output create_subprocess_shell create_subprocess_exec startfile CDLL PyDLL LoadLibrary",
    harmless: "print len sum min max abs round range str int float bool for in if else and or not True False None import sys \
        sys.version sys.version_info sys.platform sys.executable",
    typed: "interact breakpoint set_trace embed start_ipython",
    evals: "eval exec getattr __import__ import_module __getattribute__ globals __builtins__ __dict__ \
        runsource runcode",
    modules: "subprocess pty plumbum pexpect ctypes",
    ..Interpreter::PLAIN
};

const JAVASCRIPT: Interpreter = Interpreter {
    code: "-e -p --eval --print -pe eval",
    valued: "-C --conditions --env-file --input-type",
    loads: "-r --require --import --loader --experimental-loader --preload",
    elsewhere: "run test x install add --test",
    stays_with: "-i --interactive inspect",
    talks_with: "--version --help -v -V -h --v8-options",
    shells: "execSync execFile execFileSync spawn spawnSync fork exec",
    harmless: "console.log JSON.stringify Math.max Math.min Math.round Math.floor process.version process.versions \
        process.versions.node process.platform process.arch true false null undefined",
    evals: "eval Function require import runInThisContext runInNewContext runInContext",
    modules: "child_process execa shelljs zx Deno.Command Deno.run Bun.spawn Bun.spawnSync",
    ..Interpreter::PLAIN
};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: "python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 \
            python3.13 python3.14",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&PYTHON),
        launches: &["-m"],
        files: FileUse { spread: Spread::ExtractsByModule, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program { names: "ipython ipython3", has_versions: true, interpreter: Some(&PYTHON), ..Program::PLAIN },
    Program {
        names: "perl perl5",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e -E",
            valued: "-I",
            glued: "-M -m -i -F -C -D -x -V",
            stays_with: "-d",
            talks_with: "--version --help -v -V -h",
            shells: "system exec qx popen open open2 open3 readpipe",
            evals: "eval do require",
            bare: true,
            backticks: true,
            interpolates: true,
            opens_pipes: true,
            ..Interpreter::PLAIN
        }),
        files: FileUse { pattern_first: true, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "ruby irb jruby",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e",
            valued: "-I -C -E",
            loads: "-r",
            glued: "-i -F -x -T -W -K",
            talks_with: "--version --help -v -h",
            typed: "irb pry byebug debugger",
            shells: "system exec spawn popen popen2 popen2e popen3 capture2 capture2e capture3 pipeline %x",
            evals: "eval instance_eval class_eval module_eval send public_send __send__ method",
            opens_pipes: true,
            bare: true,
            backticks: true,
            interpolates: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "node nodejs deno ts-node tsx",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&JAVASCRIPT),
        ..Program::PLAIN
    },
    Program {
        names: "bun",
        is_only_a_program: true,
        wrappers: &[
            Wrapper { verb: "exec", scripts: "-c --call", ..Wrapper::RUNNER },
            Wrapper { verb: "dlx", ..Wrapper::RUNNER },
            Wrapper { verb: "x", ..Wrapper::RUNNER },
        ],
        interpreter: Some(&JAVASCRIPT),
        settings: Some(&super::packages::PACKAGE),
        goes_unread: true,
        ..Program::PLAIN
    },
    Program {
        names: "php php7 php8",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-r -B -R -E",
            valued: "-d -c -t -S -z",
            files: "-f --file -F",
            stays_with: "-a --interactive",
            leaves_with: "-i -m -l -S --ini --rf --ri --info --modules",
            talks_with: "--version --help -v -h",
            shells: "system exec shell_exec passthru popen proc_open pcntl_exec",
            evals: "eval assert create_function call_user_func call_user_func_array include require",
            backticks: true,
            interpolates: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "awk gawk mawk nawk original-awk goawk",
        is_only_a_program: true,
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e --source",
            valued: "-v -F -l --assign --field-separator --load",
            files: "-f --file -E --exec",
            loads: "-i --include",
            operand: true,
            input: false,
            shells: "system",
            dialect: Dialect::Awk,
            ..Interpreter::PLAIN
        }),
        files: FileUse { pattern_first: true, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "sed gsed",
        is_only_a_program: true,
        interpreter: Some(&Interpreter {
            code: "-e --expression",
            valued: "-l --line-length",
            glued: "-i",
            files: "-f --file",
            operand: true,
            input: false,
            dialect: Dialect::Sed,
            ..Interpreter::PLAIN
        }),
        files: FileUse { pattern_first: true, ..FileUse::UNKNOWN },
        ..Program::PLAIN
    },
    Program {
        names: "lua luajit lua5.1 lua5.3 lua5.4 texlua",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e",
            loads: "-l",
            stays_with: "-i",
            talks_with: "-v",
            shells: "execute popen",
            evals: "load loadstring dofile loadfile require",
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "osascript",
        interpreter: Some(&Interpreter {
            code: "-e",
            valued: "-l -s",
            shells: "script",
            evals: "run",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "make gmake bmake",
        interpreter: Some(&Interpreter {
            code: "--eval -E",
            valued: "-C -I -j -l -o -W --directory --include-dir --old-file --what-if --jobs",
            files: "-f --file --makefile",
            elsewhere: "-v --version",
            input: false,
            dialect: Dialect::Make,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "Rscript R littler r",
        interpreter: Some(&Interpreter {
            code: "-e",
            shells: "system system2 shell",
            evals: "eval parse",
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "julia",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e -E --eval --print",
            valued: "-L -J -t -p",
            stays_with: "-i",
            talks_with: "--version --help -v -h",
            shells: "run",
            evals: "eval include_string",
            backticks: true,
            interpolates: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "expect",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-c",
            shells: "spawn exec system",
            evals: "eval",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    // They know no options: whatever is not a file starts a prompt.
    Program {
        names: "tclsh wish erl",
        has_versions: true,
        interpreter: Some(&Interpreter {
            talks_with: "",
            shells: "exec open os:cmd",
            evals: "eval",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "groovy scala elixir swift ghc runghc jshell kotlin guile racket sbcl clojure ocaml",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "-e --eval -eval --execute",
            shells: "exec execute system cmd os:cmd run-program start-process shell-command readProcess \
                callCommand ProcessBuilder !",
            evals: "eval evaluate load",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "bpython ptpython ghci maxima gp sage utop hy coffee",
        has_versions: true,
        consoles: &[Console { unless: "--version --help -e --eval", takes_files: true, ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "pry iex",
        consoles: &[
            Console { unless: "--version --help -e --eval", takes_files: true, ..Console::PLAIN },
            // It runs what follows and goes on: `iex -S mix`.
            Console { verbs: "-S -r", ..Console::PLAIN },
        ],
        ..Program::PLAIN
    },
    Program {
        names: "rails jupyter heroku fly flyctl",
        consoles: &[Console { verbs: "console c dbconsole", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "cabal stack sbt lein",
        consoles: &[Console { verbs: "repl ghci console", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "dotnet",
        consoles: &[Console { verbs: "fsi repl", ..Console::PLAIN }],
        ..Program::PLAIN
    },
    Program {
        names: "raku rakudo perl6",
        interpreter: Some(&Interpreter {
            code: "-e",
            shells: "shell run qx Proc QX qqx",
            evals: "EVAL EVALFILE",
            bare: true,
            interpolates: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "octave octave-cli matlab scilab",
        has_versions: true,
        interpreter: Some(&Interpreter {
            code: "--eval -r -batch -e",
            whole_options: true,
            shells: "system shell_cmd dos unix popen popen2 exec unix_g unix_s",
            evals: "eval evalin feval",
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "clisp ecl abcl ccl gcl newlisp scheme csi chez gsi mit-scheme",
        interpreter: Some(&Interpreter {
            code: "-x -e -eval --eval -p --expression",
            loads: "-l -i --load",
            shells: "shell run-program run-shell-command execute system exec process! !",
            evals: "eval load",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "dc",
        runs_unread: true,
        interpreter: Some(&Interpreter {
            trusts_input: true,
            code: "-e --expression",
            files: "-f --file",
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "gnuplot",
        runs_unread: true,
        interpreter: Some(&Interpreter {
            trusts_input: true,
            code: "-e",
            shells: "system shell",
            backticks: true,
            bare: true,
            dialect: Dialect::Editor,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "m4 gm4",
        runs_unread: true,
        interpreter: Some(&Interpreter {
            trusts_input: true,
            shells: "syscmd esyscmd",
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "rpm rpmbuild rpmspec",
        runs_unread: true,
        interpreter: Some(&Interpreter {
            code: "-E --eval -D --define",
            data: usize::MAX,
            input: false,
            shells: "%",
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
    Program {
        names: "pic troff groff nroff",
        runs_unread: true,
        interpreter: Some(&Interpreter {
            trusts_input: true,
            shells: ".sy .pso .pi sh",
            bare: true,
            ..Interpreter::PLAIN
        }),
        ..Program::PLAIN
    },
];
