//! Programs that run code in another language than the shell's: the table, and what that code hands on.
//!
//! We do not parse these languages. [`Interpreter::handed_on`] looks for calls of functions that start a shell or
//! a program: what they are given in plain literals is read on, anything else is a doubt. Code that mentions no
//! such function is a deed of its own. Names built at run time from pieces (`getattr(os, "sys" + "tem")`) are
//! doubts where they go through a function of the table, and not seen otherwise.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::inner::Inner;
use super::names::has;
use super::sed;
use super::word::Field;

/// The most calls looked at in one piece of code.
const CALLS_MAX: usize = 64;

/// The most arguments looked at in one call, and the most text.
const ARGUMENTS_MAX: usize = 64;
const CALL_BYTES_MAX: usize = 4 * 1024;

/// Commands that end an editor or a debugger.
const ENDINGS: &str = "q qa qall quit quitall wq wqa wqall x xa xall exit cq";

/// Modules of Python that are a prompt.
const PROMPTS: &str = "pdb code asyncio IPython ptpython bpython";

/// How an interpreter's command line and its language are built. Lists are words with spaces between them.
pub(crate) struct Interpreter {
    names: &'static str,
    /// Options whose value is code.
    code: &'static str,
    /// Options whose value is the next word.
    valued: &'static str,
    /// Options whose value, if any, is glued to them.
    glued: &'static str,
    /// Options that name what is run, so that neither standard input nor a file is code.
    elsewhere: &'static str,
    /// Whether the first word that is no option is code, not a file.
    operand: bool,
    /// Whether standard input is code when nothing else is.
    input: bool,
    /// How many words that are no options name what it works on, before one could name its code: `sqlite3 x.db`.
    data: usize,
    /// Whether it takes commands from its standard input after all it was given, until one of them ends it.
    stays: bool,
    /// Options and words with which it does so: `python -i x.py`.
    stays_with: &'static str,
    /// Options with which it does nothing of the kind, and takes none from there at all.
    leaves_with: &'static str,
    /// Options with which, where they stand alone, it only talks about itself.
    talks_with: &'static str,
    /// Functions that run a shell or a program.
    shells: &'static str,
    /// Functions that take code from a terminal.
    typed: &'static str,
    /// Functions that run code of the same language, or find a function by its name: a plain literal says all.
    evals: &'static str,
    /// Modules of such functions: any function of theirs counts.
    modules: &'static str,
    /// Whether functions are called without brackets too.
    bare: bool,
    /// Whether backticks run a command.
    backticks: bool,
    /// Whether variables are put into double quotes.
    interpolates: bool,
    /// What the language does beside calling functions.
    dialect: Dialect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Plain,
    /// A pipe in the code runs a command.
    Awk,
    /// The command `e`, and the flag of that name.
    Sed,
    /// Lines that start with a tab are scripts.
    Make,
    /// What follows a `!` is a script.
    Editor,
}

const PLAIN: Interpreter = Interpreter {
    names: "",
    code: "",
    valued: "",
    glued: "",
    elsewhere: "",
    operand: false,
    input: true,
    data: 0,
    stays: false,
    stays_with: "",
    leaves_with: "",
    talks_with: "--version --help -version -help",
    shells: "",
    typed: "",
    evals: "",
    modules: "",
    bare: false,
    backticks: false,
    interpolates: false,
    dialect: Dialect::Plain,
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: "python python2 python3 pypy pypy3 ipython ipython3 python3.8 python3.9 python3.10 python3.11 \
            python3.12 python3.13 python3.14",
        code: "-c",
        valued: "-W -X --check-hash-based-pycs",
        elsewhere: "-m",
        stays_with: "-i",
        talks_with: "--version --help --help-all -V -VV -h -?",
        shells: "system popen getoutput getstatusoutput execv execve execvp execvpe execl execle execlp execlpe \
            spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp Popen \
            check_call check_output create_subprocess_shell create_subprocess_exec startfile",
        typed: "interact breakpoint set_trace embed start_ipython",
        evals: "eval exec getattr __import__ import_module __getattribute__ globals __builtins__",
        modules: "subprocess pty plumbum pexpect",
        ..PLAIN
    },
    Interpreter {
        names: "perl perl5",
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
        ..PLAIN
    },
    Interpreter {
        names: "ruby irb jruby",
        code: "-e",
        valued: "-I -C -E -r",
        glued: "-i -F -x -T -W -K",
        talks_with: "--version --help -v -h",
        typed: "irb pry byebug debugger",
        shells: "system exec spawn popen popen2 popen2e popen3 capture2 capture2e capture3 pipeline %x",
        evals: "eval instance_eval class_eval module_eval send public_send __send__ method",
        bare: true,
        backticks: true,
        interpolates: true,
        ..PLAIN
    },
    Interpreter {
        names: "node nodejs bun deno ts-node tsx",
        code: "-e -p --eval --print -pe eval",
        valued: "-r --require --import --loader -C --conditions --env-file --input-type",
        elsewhere: "run test x install add --test",
        stays_with: "-i --interactive inspect",
        talks_with: "--version --help -v -V -h --v8-options",
        shells: "execSync execFile execFileSync spawn spawnSync fork exec",
        evals: "eval Function require import runInThisContext runInNewContext runInContext",
        modules: "child_process execa shelljs zx Deno.Command Deno.run Bun.spawn Bun.spawnSync",
        ..PLAIN
    },
    Interpreter {
        names: "php php7 php8",
        code: "-r -B -R -E",
        valued: "-d -c -f -t -S -z",
        stays_with: "-a --interactive",
        leaves_with: "-i -m -l --ini --rf --ri --info --modules",
        talks_with: "--version --help -v -h",
        shells: "system exec shell_exec passthru popen proc_open pcntl_exec",
        evals: "eval assert create_function call_user_func call_user_func_array include require",
        backticks: true,
        interpolates: true,
        ..PLAIN
    },
    Interpreter {
        names: "awk gawk mawk nawk original-awk goawk",
        code: "-e --source",
        valued: "-v -F -i -l --assign --field-separator --include --load",
        elsewhere: "-f --file -E --exec",
        operand: true,
        input: false,
        shells: "system",
        dialect: Dialect::Awk,
        ..PLAIN
    },
    Interpreter {
        names: "sed gsed",
        code: "-e --expression",
        valued: "-l --line-length",
        glued: "-i",
        elsewhere: "-f --file",
        operand: true,
        input: false,
        dialect: Dialect::Sed,
        ..PLAIN
    },
    Interpreter {
        names: "lua luajit lua5.1 lua5.3 lua5.4 texlua",
        code: "-e",
        valued: "-l",
        stays_with: "-i",
        talks_with: "-v",
        shells: "execute popen",
        evals: "load loadstring dofile loadfile require",
        ..PLAIN
    },
    Interpreter {
        names: "osascript",
        code: "-e",
        valued: "-l -s",
        shells: "script",
        evals: "run",
        bare: true,
        ..PLAIN
    },
    Interpreter {
        names: "make gmake bmake",
        code: "--eval -E",
        valued: "-C -I -j -l -o -W --directory --include-dir --old-file --what-if --jobs",
        elsewhere: "-v --version",
        input: false,
        dialect: Dialect::Make,
        ..PLAIN
    },
    Interpreter {
        names: "vim vi nvim view ex vimdiff gvim",
        code: "-c --cmd",
        valued: "-S -s -u -U -i -t -T -w -W",
        data: usize::MAX,
        stays: true,
        shells: "system systemlist job_start termopen jobstart",
        evals: "eval execute",
        dialect: Dialect::Editor,
        ..PLAIN
    },
    Interpreter {
        names: "gdb lldb",
        code: "-ex -eval-command -iex -o --one-line",
        valued: "-x -p -c -s --command",
        data: usize::MAX,
        stays: true,
        leaves_with: "-batch --batch",
        shells: "shell system",
        evals: "python pi py",
        bare: true,
        dialect: Dialect::Editor,
        ..PLAIN
    },
    Interpreter { names: "ed", data: 1, stays: true, dialect: Dialect::Editor, ..PLAIN },
    Interpreter {
        names: "sqlite3 duckdb",
        code: "-cmd -c",
        valued: "-separator -newline -nullvalue -init -mmap -vfs -maxsize",
        data: 1,
        operand: true,
        shells: ".shell .system",
        bare: true,
        dialect: Dialect::Editor,
        ..PLAIN
    },
    Interpreter {
        names: "psql mysql mariadb",
        code: "-c --command -e --execute",
        valued: "-h -U -d -p -P -u -v -f -o -L -F -R -T --host --username --dbname --port --user --file --set",
        data: usize::MAX,
        leaves_with: "-f --file -l --list",
        shells: ".shell .system",
        bare: true,
        dialect: Dialect::Editor,
        ..PLAIN
    },
    Interpreter {
        names: "Rscript R littler r",
        code: "-e",
        shells: "system system2 shell",
        evals: "eval parse",
        ..PLAIN
    },
    Interpreter {
        names: "julia",
        code: "-e -E --eval --print",
        valued: "-L -J -t -p",
        stays_with: "-i",
        talks_with: "--version --help -v -h",
        shells: "run",
        evals: "eval include_string",
        backticks: true,
        interpolates: true,
        ..PLAIN
    },
    Interpreter {
        names: "expect",
        code: "-c",
        shells: "spawn exec system",
        evals: "eval",
        bare: true,
        ..PLAIN
    },
    // They know no options: whatever is no file starts a prompt.
    Interpreter {
        names: "tclsh wish erl",
        talks_with: "",
        shells: "exec open os:cmd",
        evals: "eval",
        bare: true,
        ..PLAIN
    },
    Interpreter {
        names: "emacs",
        code: "-e --eval -eval --execute",
        valued: "-l --load -f --funcall --script",
        data: usize::MAX,
        stays: true,
        leaves_with: "-batch --batch --script",
        shells: "start-process shell-command call-process",
        evals: "eval load",
        bare: true,
        ..PLAIN
    },
    Interpreter {
        names: "groovy scala elixir swift ghc runghc jshell kotlin guile racket sbcl clojure ocaml",
        code: "-e --eval -eval --execute",
        shells: "exec execute system cmd os:cmd run-program start-process shell-command readProcess callCommand \
            ProcessBuilder !",
        evals: "eval evaluate load",
        bare: true,
        ..PLAIN
    },
];

static ROWS: LazyLock<HashMap<&str, &Interpreter>> = LazyLock::new(|| {
    let rows = INTERPRETERS.iter();
    rows.flat_map(|row| row.names.split_ascii_whitespace().map(move |name| (name, row))).collect()
});

/// The row of a program.
pub(crate) fn interpreter(program: &str) -> Option<&'static Interpreter> {
    ROWS.get(program).copied()
}

/// All names of interpreters.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.keys().copied()
}

/// Where an interpreter takes its code from.
pub(crate) enum Source {
    /// These words, and what to call the option.
    Inline(Vec<Field>, &'static str),
    File(Field),
    Input,
    /// A makefile of the usual name.
    Makefile,
    /// A module, a project or a prompt: nothing we could read.
    Elsewhere,
}

impl Interpreter {
    /// The files its code opens by itself; none if that cannot be told.
    pub(crate) fn opens<'c>(&self, code: &'c str) -> Option<Vec<&'c str>> {
        match self.dialect {
            Dialect::Sed => {
                let file = |deed| match deed {
                    sed::Deed::Opens(file) => Some(file),
                    sed::Deed::Runs(_) => None,
                };
                Some(sed::deeds(code)?.into_iter().filter_map(file).collect())
            }
            Dialect::Awk => awk_opens_none(code).then(Vec::new),
            _ => None,
        }
    }

    /// Whether code that is partly unknown is still read as it stands: in `sed "s/$a/b/"` the unknown is data.
    pub(crate) fn is_filter(&self) -> bool {
        matches!(self.dialect, Dialect::Awk | Dialect::Sed)
    }

    /// Whether its code is mostly text, in which the name of a program says nothing.
    pub(crate) fn is_text(&self) -> bool {
        self.dialect == Dialect::Sed
    }

    /// Where the code comes from.
    pub(crate) fn source(&self, arguments: &[Field]) -> Source {
        let mut words = arguments.iter();
        let mut code = Vec::new();
        let mut label = "";
        let mut file = None;
        let mut data = self.data;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if self.dialect == Dialect::Make && matches!(text, "-f" | "--file" | "--makefile") {
                file = words.next();
                continue;
            }
            let is_code = |text: &str| {
                text.starts_with("-e")
                    || matches!(self.option(text), Meaning::Code(_, glued) if !glued.is_empty())
            };
            if !text.starts_with('-') || text == "-" || !word.is_certain() && !is_code(text) {
                if has(self.elsewhere, text) {
                    return Source::Elsewhere;
                }
                if has(self.code, text) {
                    code.extend(words.next().cloned());
                }
                if self.dialect == Dialect::Make || !code.is_empty() {
                    continue;
                }
                if data > 0 && !(self.data == usize::MAX && is_input(text)) {
                    data = data.saturating_sub(1);
                    continue;
                }
                file = file.or(Some(word));
                // Where options may follow files, code may still come.
                if self.dialect == Dialect::Sed {
                    continue;
                }
                break;
            }
            match self.option(text) {
                Meaning::Code(option, "") => {
                    code.extend(words.next().cloned());
                    label = option;
                }
                Meaning::Code(option, glued) => {
                    code.push(Field { text: glued.to_owned(), ..word.clone() });
                    label = option;
                }
                Meaning::Elsewhere => return Source::Elsewhere,
                Meaning::ValueFollows => drop(words.next()),
                Meaning::Flag => {}
            }
        }
        match file {
            _ if !code.is_empty() => Source::Inline(code, label),
            // A name with such characters is more likely code behind an option we misread.
            Some(word) if self.operand || word.text.contains(['(', ';', '"', '`']) => {
                Source::Inline(vec![word.clone()], "")
            }
            Some(word) if is_input(&word.text) => Source::Input,
            Some(word) => Source::File(word.clone()),
            None if self.dialect == Dialect::Make => Source::Makefile,
            None if self.takes_none(arguments) => Source::Elsewhere,
            None if self.input => Source::Input,
            None => Source::Elsewhere,
        }
    }

    /// Whether it takes commands from its standard input after what it was given, this code among it.
    pub(crate) fn goes_on(&self, arguments: &[Field], code: &str) -> bool {
        let ends = |line: &str| has(ENDINGS, line.trim().trim_start_matches(':').trim_end_matches('!'));
        if self.is_given(self.stays_with, arguments) {
            return true;
        }
        self.stays && !self.takes_none(arguments) && !code.lines().any(ends)
    }

    /// Whether its options say that it takes no commands from its standard input.
    fn takes_none(&self, arguments: &[Field]) -> bool {
        let alone = matches!(arguments, [only] if only.is_certain() && has(self.talks_with, &only.text));
        alone || self.is_given(self.leaves_with, arguments) && !self.is_given(self.stays_with, arguments)
    }

    /// Whether one of these stands among the options, or right behind them.
    fn is_given(&self, list: &str, arguments: &[Field]) -> bool {
        if list.is_empty() {
            return false;
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let name = text.split('=').next().unwrap_or_default();
            let is_option = text.starts_with('-') && text != "--";
            // What follows is for a file or a module: `python x.py -i`.
            if has(list, name) || !is_option && self.data == 0 {
                return has(list, name);
            }
            for letter in text.chars().skip(1).take_while(|_| is_option && !text.starts_with("--")) {
                let option = format!("-{letter}");
                if has(list, &option) && !text.contains(':') {
                    return true;
                }
                if has(self.code, &option) || has(self.glued, &option) || has(self.valued, &option) {
                    break;
                }
            }
            match self.option(text) {
                _ if !is_option => {}
                Meaning::Code(_, "") | Meaning::ValueFollows => drop(words.next()),
                // Some modules are prompts.
                Meaning::Elsewhere => return words.next().is_some_and(|module| has(PROMPTS, &module.text)),
                Meaning::Code(..) | Meaning::Flag => {}
            }
        }
        false
    }

    fn option<'a>(&self, text: &'a str) -> Meaning<'a> {
        // Long options may be cut short: `--expr`.
        let named = |list: &'static str, name: &str| {
            let is_cut = self.is_filter() && name.len() > 2 && name.starts_with("--");
            let is = |item: &&str| *item == name || is_cut && item.starts_with(name);
            list.split_ascii_whitespace().find(is)
        };
        let (name, value) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, value),
            None => (text, ""),
        };
        if let Some(option) = named(self.code, name) {
            return Meaning::Code(option, value);
        } else if named(self.elsewhere, name).is_some() {
            return Meaning::Elsewhere;
        } else if named(self.valued, name).is_some() && value.is_empty() {
            return Meaning::ValueFollows;
        } else if text.starts_with("--") {
            return Meaning::Flag;
        }
        // Letters may be glued together, and a value to the last of them: `-lane 'print'`.
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let glued = text.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if let Some(option) = named(self.code, &name) {
                return Meaning::Code(option, glued);
            } else if has(self.elsewhere, &name) {
                return Meaning::Elsewhere;
            } else if has(self.valued, &name) {
                return if glued.is_empty() { Meaning::ValueFollows } else { Meaning::Flag };
            } else if has(self.glued, &name) {
                return Meaning::Flag;
            }
        }
        Meaning::Flag
    }

    /// What the code runs.
    pub(crate) fn handed_on(&self, code: &str) -> Vec<Inner> {
        let mut found = match self.dialect {
            Dialect::Plain => vec![],
            Dialect::Awk => awk(code),
            Dialect::Sed => sed(code),
            Dialect::Make => make(code),
            Dialect::Editor => editor(code),
        };
        let mut looked_at = 0_usize;
        for (list, kind) in [
            (self.shells, Kind::Shell),
            (self.typed, Kind::Typed),
            (self.evals, Kind::Eval),
            (self.modules, Kind::Module),
        ] {
            for name in list.split_ascii_whitespace().filter(|name| code.contains(*name)) {
                for (before, after) in mentions(code, name) {
                    looked_at = looked_at.saturating_add(1);
                    if looked_at > CALLS_MAX {
                        found.push(Inner::Unknown);
                        return found;
                    }
                    found.extend(self.call(kind, before, after));
                }
            }
        }
        if self.backticks && code.contains('`') {
            found.extend(code.split('`').skip(1).step_by(2).take(CALLS_MAX).map(|script| {
                if script.contains(['$', '#', '@', '\\']) { Inner::Unknown } else { script_of(script) }
            }));
        }
        found
    }

    /// What one mention of a function or module runs.
    fn call(&self, kind: Kind, before: &str, after: &str) -> Option<Inner> {
        let after = after.trim_start_matches([' ', '\t']);
        if kind == Kind::Module {
            return self.module(before, after);
        }
        if kind == Kind::Typed {
            return Some(Inner::Typed);
        }
        let bracket = after.strip_prefix('(');
        let is_named =
            before.ends_with('.') || before.ends_with("::") || before.trim_end().ends_with("import");
        let given = match bracket {
            Some(inner) => inner,
            None if self.bare
                && after.starts_with(['"', '\'', '[', '{', '$', '/', '%', '<', '(', '@', ',']) =>
            {
                after
            }
            None if self.bare && kind == Kind::Shell && after.starts_with(|c: char| c.is_alphanumeric()) => {
                return Some(Inner::Unknown);
            }
            // A function that is only named may be called later by another name.
            None => return (is_named && kind == Kind::Shell).then_some(Inner::Unknown),
        };
        let (fields, is_list) = self.arguments(given);
        match (kind, fields.as_slice()) {
            (Kind::Shell, []) => None,
            (Kind::Shell, [first, ..]) if !first.is_certain() => Some(Inner::Unknown),
            (Kind::Shell, [only]) if !is_list => Some(Inner::Script(only.clone())),
            (Kind::Shell, [first, ..]) if !is_list && first.text.contains(' ') => {
                Some(Inner::Script(first.clone()))
            }
            (Kind::Shell, _) => Some(Inner::Words(fields)),
            // The scan of the whole code has seen what stands in the literal.
            (Kind::Eval, fields) => (!fields.iter().all(Field::is_certain)).then_some(Inner::Unknown),
            (Kind::Module | Kind::Typed, _) => None,
        }
    }

    /// What a mention of a module runs: `subprocess.run(["rm"])` does, `import subprocess` does not yet.
    fn module(&self, before: &str, after: &str) -> Option<Inner> {
        let after = after.trim_start_matches(['"', '\'', ')', ' ']);
        let ends = after.is_empty() || after.starts_with([';', ',', '\n']);
        if ends && before.trim_end().ends_with([',', 't']) && before.contains("import") {
            return None;
        }
        let name_end =
            |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        match after.strip_prefix('.').map(|rest| rest.split_at_checked(name_end(rest))) {
            // Names in capitals are constants and errors.
            Some(Some((name, _))) if name.starts_with(|c: char| c.is_uppercase()) && name != "Popen" => None,
            Some(Some((_, rest))) => self.call(Kind::Shell, ".", rest),
            _ => Some(Inner::Unknown),
        }
    }

    /// The arguments of a call as far as they are plain literals, and whether they are a list.
    fn arguments(&self, given: &str) -> (Vec<Field>, bool) {
        // A literal that is cut off does not end, so it is none.
        let mut rest =
            given.get(..given.floor_char_boundary(CALL_BYTES_MAX)).unwrap_or_default().trim_start();
        let is_list = rest.starts_with(['[', '{']) || rest.starts_with("(\"") || rest.starts_with("('");
        let mut fields = Vec::new();
        while fields.len() < ARGUMENTS_MAX {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '('));
            match rest.chars().next() {
                None | Some(')' | ']' | '}' | ';') => break,
                _ => {}
            }
            let (field, after) = match self.literal(rest) {
                Some((text, after)) => (Field::certain(text), after),
                None => {
                    let end = rest.find([',', ')', ']', ';', '\n']).unwrap_or(rest.len());
                    let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    if text.contains(['=', ':', '{', '}']) && !fields.is_empty() {
                        // A named argument or an object of settings; no word of the command.
                        rest = after.trim_start_matches(['}', ' ']);
                        if rest.is_empty() || rest == after && !rest.starts_with([',', ')', ']', ';', '\n']) {
                            break;
                        }
                        continue;
                    }
                    (Field::uncertain(text), after)
                }
            };
            fields.push(field);
            rest = after;
            if rest.trim_start().starts_with([')', ';', '}']) || rest.starts_with('\n') && self.bare {
                break;
            }
        }
        let is_cut = given.len() > CALL_BYTES_MAX && rest.trim_start().is_empty();
        if is_cut || fields.len() >= ARGUMENTS_MAX {
            // What comes after them may be what is run.
            return (vec![Field::uncertain("")], is_list);
        }
        (fields, is_list)
    }

    /// A plain literal at the start of the text and what follows it: nothing is put in, nothing is added.
    fn literal<'c>(&self, text: &'c str) -> Option<(&'c str, &'c str)> {
        let unprefixed = text.trim_start_matches(['r', 'R', 'b', 'B', 'u', 'U', 'f', 'F']);
        let prefix = text.get(..text.len().saturating_sub(unprefixed.len())).unwrap_or_default();
        let quote =
            ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| unprefixed.starts_with(quote))?;
        let inner = unprefixed.strip_prefix(quote)?;
        let (inner, after) = inner.split_once(quote)?;
        let puts_in = inner.contains('\\')
            || prefix.contains(['f', 'F']) && inner.contains('{')
            || quote == "`" && inner.contains('$')
            || self.interpolates && quote == "\"" && inner.contains(['$', '@', '#']);
        let follows = after.trim_start();
        let ends = follows.is_empty()
            || follows.starts_with([')', ']', '}', ',', ';', '\n'])
            || after.starts_with(char::is_whitespace)
                && follows.starts_with(|c: char| c.is_ascii_lowercase() && c != 'x');
        (!puts_in && ends).then_some((inner, after))
    }
}

/// Whether a word names the standard input.
fn is_input(word: &str) -> bool {
    matches!(word, "-" | "/dev/stdin" | "/dev/fd/0")
}

/// What an option of an interpreter means.
enum Meaning<'a> {
    Flag,
    ValueFollows,
    Elsewhere,
    /// Its value is code, here if it is glued.
    Code(&'static str, &'a str),
}

/// What a function of the table does with what it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shell,
    Typed,
    Eval,
    Module,
}

/// What stands before and after each mention of a name that is no part of a longer one.
fn mentions<'c>(code: &'c str, name: &str) -> impl Iterator<Item = (&'c str, &'c str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let needs_start = name.starts_with(is_letter);
    let length = name.len();
    let starts: Vec<usize> =
        code.match_indices(name).map(|(at, _)| at).take(CALLS_MAX.saturating_add(1)).collect();
    starts.into_iter().filter_map(move |at| {
        let (before, rest) = code.split_at_checked(at)?;
        let after = rest.get(length..)?;
        let is_part = after.starts_with(is_letter) || needs_start && before.ends_with(is_letter);
        (!is_part).then_some((before, after))
    })
}

fn script_of(text: &str) -> Inner {
    Inner::Script(Field::certain(text))
}

/// Pipes: `print | "sort"`, `"date" | getline`.
fn awk(code: &str) -> Vec<Inner> {
    let is_plain = |script: &str| !script.contains('\\');
    let command = |(left, right): (&str, &str)| {
        let (left, right) = (left.trim_end(), right.trim_start_matches('&').trim_start());
        if right.starts_with("getline") {
            let literal = left.strip_suffix('"').and_then(|left| left.rsplit_once('"'));
            // What stands before it may be added to it.
            let starts =
                |before: &str| before.trim_end().ends_with(['{', ';', '(', '\n']) || before.is_empty();
            return match literal {
                Some((before, script)) if is_plain(script) && starts(before) => script_of(script),
                _ => Inner::Unknown,
            };
        }
        let literal = right.strip_prefix('"').and_then(|right| right.split_once('"'));
        let ends = |after: &str| {
            let follows = after.trim_start_matches([' ', '\t']);
            follows.is_empty() || follows.starts_with([';', '}', '\n', ')'])
        };
        match literal {
            Some((script, after)) if is_plain(script) && ends(after) => script_of(script),
            _ => Inner::Unknown,
        }
    };
    let mut found: Vec<Inner> = pipes(code).into_iter().map(command).collect();
    // `@f(x)` calls the function whose name stands in `f`, and `@load` brings others in.
    found.extend(code.contains('@').then_some(Inner::Unknown));
    found
}

/// Whether awk code opens no files but those among the words of the command. Names of files are computed like any
/// text in there, so what might open one is not looked at any closer.
fn awk_opens_none(code: &str) -> bool {
    let is_number_test = |after: &str| {
        let number = after.trim_start_matches(['=', ' ', '-']);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        number.starts_with(|c: char| c.is_ascii_digit())
            && (rest.is_empty() || rest.starts_with([')', '{', '&', '|', ';', '}']))
    };
    let writes = code.contains("print")
        && code
            .match_indices('>')
            .any(|(at, _)| !code.get(at.saturating_add(1)..).is_some_and(is_number_test));
    !writes && !["getline", "ARGV", "ARGC", "@"].iter().any(|word| code.contains(word))
}

/// What stands on either side of each pipe: a bar that is no part of a string, of a pattern or of `||`.
fn pipes(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut within = None;
    let mut before = '\n';
    let mut chars = code.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (within, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(mark), _) if c == mark || c == '\n' => within = None,
            (Some(_), _) => {}
            (None, '"') => within = Some('"'),
            // After an operand it divides.
            (None, '/') if !before.is_alphanumeric() && !")]$_\"".contains(before) => within = Some('/'),
            (None, '#') => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            (None, '|') if chars.next_if(|(_, c)| *c == '|').is_some() => {}
            (None, '|') if found.len() <= CALLS_MAX => {
                let sides = code.split_at_checked(at).and_then(|(left, right)| Some((left, right.get(1..)?)));
                found.extend(sides);
            }
            _ => {}
        }
        if !matches!(c, ' ' | '\t') {
            before = c;
        }
    }
    found
}

/// What `sed` runs: the command `e` and the flag `e` of `s`.
fn sed(code: &str) -> Vec<Inner> {
    let Some(deeds) = sed::deeds(code) else { return vec![Inner::Unknown] };
    let run = |deed| match deed {
        sed::Deed::Runs(Some(script)) => Some(script_of(script)),
        sed::Deed::Runs(None) => Some(Inner::Unknown),
        sed::Deed::Opens(_) => None,
    };
    deeds.into_iter().filter_map(run).take(CALLS_MAX).collect()
}

/// Recipes, and `$(shell …)`.
fn make(code: &str) -> Vec<Inner> {
    let mut found = Vec::new();
    if ["$(shell", "${shell", "!=", ".RECIPEPREFIX", "$(eval", "$(file"]
        .iter()
        .any(|mark| code.contains(mark))
    {
        found.push(Inner::Unknown);
    }
    for line in code.lines() {
        let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        let Some(recipe) = recipe.map(|recipe| recipe.trim_start_matches(['@', '-', '+', ' ', '\t'])) else {
            continue;
        };
        if found.len() >= CALLS_MAX {
            found.push(Inner::Unknown);
            break;
        }
        let shell = recipe.replace("$$", "\0");
        found.push(if shell.contains('$') { Inner::Unknown } else { script_of(&shell.replace('\0', "$")) });
    }
    found
}

/// `:!rm x`, `\! rm x`, `:r !ls`.
fn editor(code: &str) -> Vec<Inner> {
    let script = |line: &str| {
        let (before, script) = line.split_once('!')?;
        let before = before.trim();
        let runs = before.is_empty()
            || before.ends_with([':', '\\', '%', ' ', 'r', 'w', ','])
            || before.chars().all(|c| c.is_ascii_digit() || ",.$%:".contains(c));
        // `:q!` and `:wq!` end with the mark.
        (runs && !script.trim().is_empty()).then(|| script_of(script.trim()))
    };
    code.split(['\n', '|']).take(CALLS_MAX).filter_map(script).collect()
}
