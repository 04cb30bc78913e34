//! What one row of the table says about a program.
//!
//! [`Program`] has a part for each question that is asked about a program: what it runs, what it does with files, where it
//! goes, what it does to the shell that runs it. A part that a row leaves out says nothing. The rows are in `table/`,
//! and how a command line is read by them in the files beside this one. Lists are words with spaces between them.

use super::consoles::Console;
use super::files::{Change, FileUse};
use super::interpreters::{Dialect, Interpreter};
use super::names::has;
use super::network::Network;
use super::wrappers::{Rest, Wrapper};

/// A row of the table: programs of which the same is known.
#[derive(Debug)]
pub struct Program {
    pub(crate) names: &'static str,
    /// Whether a version may stand behind its names: `python3.11`, `gcc-12`.
    pub(crate) has_versions: bool,
    /// Whether its names mean nothing but the program: then a rule about a tool of that name is a slip.
    pub(crate) is_only_a_program: bool,
    /// The rules of its own that its command line follows.
    pub(crate) grammar: Grammar,
    /// How it runs other programs. Where there are several ways, each is tried.
    pub(crate) wrappers: &'static [Wrapper],
    /// How it runs code in another language than the shell's.
    pub(crate) interpreter: Option<&'static Interpreter>,
    /// When it takes further commands while it runs.
    pub(crate) consoles: &'static [Console],
    /// The words between its name and a program that it starts and ends like; one empty list where there are none.
    pub(crate) launches: &'static [&'static str],
    /// Whether it wraps a program and succeeds only if that does.
    pub(crate) keeps_status: bool,
    /// Whether it runs what its files and settings say, whatever its words are.
    pub(crate) runs_unread: bool,
    /// What words begin with that make it leave its work out, or succeed without it.
    pub(crate) idle: &'static str,
    /// Files by which it is told what to run.
    pub(crate) settings: Option<&'static SettingsFiles>,
    /// What it does to the shell that runs it.
    pub(crate) builtin: &'static [Builtin],
    pub(crate) files: FileUse,
    pub(crate) network: Option<&'static Network>,
    /// Whether it fetches or sends by settings of its own.
    pub(crate) goes_unread: bool,
    /// What its first argument says, where that tells it what to do.
    pub(crate) verbs: Option<&'static Verbs>,
}

/// The rules of its own that a program's command line follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// None: the parts of its row say everything.
    Plain,
    /// A shell, which reads a script from `-c`, a file or its standard input.
    Shell(Language),
    /// `find`: commands between `-exec` and `;`.
    Find,
    /// `alias a='rm x'`
    Alias,
    /// `trap 'rm x' EXIT`
    Trap,
    /// `fc`: a line of the history.
    History,
    /// `source`: a file, in the same shell.
    Source,
    /// `tar`: letters without a dash that take the words after them in turn.
    Letters,
    /// `git`: settings name programs, and so does a verb that is not its own.
    Git,
    /// `tmux`: what it is told says whether it shows a terminal.
    Tmux,
    /// `screen`: its options say so.
    Screen,
}

/// Files that tell a program what to run, where the script writes one.
#[derive(Debug)]
pub(crate) struct SettingsFiles {
    /// The last names of files that it reads by itself.
    pub(crate) names: &'static str,
    /// The last names of files that it runs.
    pub(crate) scripts: &'static str,
    /// Options whose value is such a file.
    pub(crate) options: &'static str,
    /// Whether they are packages of npm, which name scripts.
    pub(crate) is_package: bool,
}

impl SettingsFiles {
    pub(crate) const PLAIN: Self = Self { names: "", scripts: "", options: "", is_package: false };
}

/// What a shell reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// What [`crate::read_script`] reads.
    Posix,
    /// A language of its own.
    Other,
}

/// What a program does to the shell that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    /// After it a name may mean another program, or the script ends before its last command.
    Spoils,
    /// It sets variables, gives them other meanings, or runs code that does.
    Sets,
    /// It takes names of variables, and so runs what stands in `name[$(…)]` once more.
    Names,
    /// Its words may be arrays: `declare a=(b c)`.
    Declares,
    /// After it the rest of the script may not run.
    Stops,
    /// Some shells keep the variables that are set for it alone.
    KeepsAssignments,
    /// `printf`: with `-v` it takes a name, and it puts words together by a format.
    Formats,
    /// `test`: with `-v` and `-R` it takes names.
    Tests,
    /// `let`: its words are sums.
    Sums,
    /// `compgen`: it expands the words it is given.
    Expands,
    /// `hash`: with some words it gives a name another program.
    Renames,
    /// `shopt`: it changes what names of files and folders mean.
    Options,
}

/// The first argument of a program that is told by it what to do, and the options that may stand before it.
#[derive(Debug)]
pub struct Verbs {
    /// Options with a value of their own.
    pub(crate) valued: &'static str,
    /// Options without one.
    pub(crate) flags: &'static str,
    /// What it can be told without running anything but itself; empty where that is not known. Every other verb is an
    /// alias, a program of that name, or runs what its settings say.
    pub(crate) own: &'static str,
    /// What makes it go to another machine.
    pub(crate) remote: &'static str,
    /// What may make it go there, if a word says so.
    pub(crate) perhaps_remote: &'static str,
    /// Those of them that are given names on both sides, as in `HEAD:main`.
    pub(crate) refs: &'static str,
}

impl Program {
    pub(crate) const PLAIN: Self = Self {
        names: "",
        has_versions: false,
        is_only_a_program: false,
        grammar: Grammar::Plain,
        wrappers: &[],
        interpreter: None,
        consoles: &[],
        launches: &[],
        keeps_status: false,
        runs_unread: false,
        idle: "",
        settings: None,
        builtin: &[],
        files: FileUse::UNKNOWN,
        network: None,
        goes_unread: false,
        verbs: None,
    };

    /// Whether its names mean nothing but the program. `git` does, `test` does not.
    #[must_use]
    pub fn is_only_a_program(&self) -> bool {
        self.is_only_a_program
    }

    /// Whether it is a shell.
    #[must_use]
    pub fn is_shell(&self) -> bool {
        matches!(self.grammar, Grammar::Shell(_))
    }

    /// Whether it is a shell that reads the language of [`crate::read_script`].
    #[must_use]
    pub fn is_posix_shell(&self) -> bool {
        self.grammar == Grammar::Shell(Language::Posix)
    }

    /// Whether it runs the code in the first file that it is given: `node x.js`, not `vim x`.
    #[must_use]
    pub fn runs_files(&self) -> bool {
        self.interpreter.is_some_and(|it| it.dialect == Dialect::Plain && it.data == 0 && !it.operand)
    }

    /// Whether it runs recipes of a makefile.
    #[must_use]
    pub fn is_make(&self) -> bool {
        self.interpreter.is_some_and(|it| it.dialect == Dialect::Make)
    }

    /// Whether it gives what it runs further words from elsewhere: `xargs`.
    #[must_use]
    pub fn feeds(&self) -> bool {
        let feeds = |wrapper: &Wrapper| matches!(wrapper.rest, Rest::WordsAndInput | Rest::ScriptAndInput);
        self.wrappers.iter().any(feeds)
    }

    /// Whether it is listed beside what it runs, whatever its words are.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.grammar == Grammar::Git || !self.wrappers.is_empty() && self.wrappers.iter().all(|it| it.own)
    }

    /// Whether it may run other programs by its words. Consoles do not count: what they run is typed into them.
    pub(crate) fn runs_by_words(&self) -> bool {
        self.grammar != Grammar::Plain || !self.wrappers.is_empty()
    }

    /// Whether it does this to the shell that runs it.
    pub(crate) fn is(&self, builtin: Builtin) -> bool {
        self.builtin.contains(&builtin)
    }

    /// What it does with files.
    #[must_use]
    pub fn files(&self) -> &FileUse {
        &self.files
    }

    /// Whether it never changes a file that its words name, and shows what it does at once: a program that `find` may
    /// run on what it finds.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        self.files.change <= Change::Reads && !self.files.is_pager
    }

    /// Whether a word makes it leave its work out, or succeed without it.
    #[must_use]
    pub fn is_idle_with(&self, word: &str) -> bool {
        self.idle.split_ascii_whitespace().any(|start| word.starts_with(start))
    }

    /// How it is told what to do, where its first argument says so.
    #[must_use]
    pub fn verbs(&self) -> Option<&'static Verbs> {
        self.verbs
    }
}

impl Verbs {
    pub(crate) const PLAIN: Self =
        Self { valued: "", flags: "", own: "", remote: "", perhaps_remote: "", refs: "" };

    /// Whether the program itself has this verb: any other is an alias, or a program of that name.
    #[must_use]
    pub fn is_own(&self, verb: &str) -> bool {
        has(self.own, verb)
    }

    /// Whether the word after this option is its value.
    #[must_use]
    pub fn takes_value(&self, option: &str) -> bool {
        has(self.valued, option)
    }

    /// Whether this is an option without a value.
    #[must_use]
    pub fn is_flag(&self, option: &str) -> bool {
        has(self.flags, option)
    }
}
