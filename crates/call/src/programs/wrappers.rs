//! How programs run other programs.
//!
//! A [`Wrapper`] says how a command line is built, so that what it runs can be found in there. A program without one is
//! seen as an ordinary program. Command lines that follow rules of their own, such as those of shells and `find`, are
//! read in `unwrap.rs`; languages other than the shell's in `interpreters.rs`.

use super::names::has;

/// How a wrapper's command line is built. Lists are words with spaces between them.
#[derive(Debug)]
pub(crate) struct Wrapper {
    /// The words that make it one: `docker` runs something with `exec`, not with `ps`. They may stand anywhere.
    pub(crate) verb: &'static str,
    /// What one of its words must begin with; nothing where that is not asked.
    pub(crate) only_with: &'static str,
    /// What none of its words may begin with.
    pub(crate) never_with: &'static str,
    /// Options without a value. After one in no list, the next word may be its value or the command.
    pub(crate) flags: &'static str,
    /// Options whose value is the next word.
    pub(crate) valued: &'static str,
    /// Options whose value is a script.
    pub(crate) scripts: &'static str,
    /// Options whose value is a setting, `key=value`, and some of those name a program.
    pub(crate) settings: &'static str,
    /// Options whose value is a file that it runs as a script.
    pub(crate) files: &'static str,
    /// Options whose value is a file that it writes; `.` where its operands are such files.
    pub(crate) writes: &'static str,
    /// Options with which what it runs cannot be told, by how they begin.
    pub(crate) opaque: &'static str,
    /// Options with which it only talks about its arguments.
    pub(crate) queries: &'static str,
    /// Options with which it starts no shell where it is given no command.
    pub(crate) shellless: &'static str,
    /// What an operand begins with whom no shell is given: the account that hosts of git have for everybody.
    pub(crate) guest: Option<&'static str>,
    /// Options without which it starts no shell then; any, if the list is empty.
    pub(crate) shell_only_with: &'static str,
    /// Words between the options and the command, such as the time limit of `timeout`.
    pub(crate) operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assignments: bool,
    /// How the rest is run.
    pub(crate) rest: Rest,
    /// Whether it does something of its own that a rule could mean, and is listed beside what it runs.
    pub(crate) own: bool,
    /// Whether it may run nothing at all, or more than once.
    pub(crate) repeats: bool,
}

/// How a wrapper runs the words after its options.
#[derive(Debug)]
pub(crate) enum Rest {
    /// As a program and its arguments.
    Words,
    /// As a program with further arguments taken from standard input.
    WordsAndInput,
    /// As words; a shell that reads standard input when there are none.
    WordsOrShell,
    /// As words; when there are none, as something made for it, which may well be a shell.
    WordsOrEntry,
    /// As further words of the script in an option, else as words.
    WordsOfScript,
    /// Joined by spaces, as a script.
    Script,
    /// Joined as a script, into which arguments are put that stand after `:::` or come from standard input.
    ScriptAndInput,
    /// Joined as a script; a shell that reads standard input when there is none.
    ScriptOrShell,
    /// Each word is a script of its own.
    Scripts,
    /// Not at all: only the script of an option is run, else a shell that reads standard input.
    Shell,
    /// Not at all, but standard input is a script.
    Input,
    /// As a program and its arguments, which begin at a word that only the program knows: each may be the one. A word
    /// with blanks is a script.
    Somewhere,
    /// Not at all, but a table of times and scripts: a file, or standard input.
    Timetable,
    /// Not at all, but a key and a value that may name a program.
    Setting,
    /// Not at all.
    Nothing,
}

impl Wrapper {
    pub(crate) const PLAIN: Self = Self {
        verb: "",
        only_with: "",
        never_with: "",
        flags: "",
        valued: "",
        scripts: "",
        settings: "",
        files: "",
        writes: "",
        opaque: "",
        queries: "",
        shellless: "",
        guest: None,
        shell_only_with: "",
        operands: 0,
        assignments: false,
        rest: Rest::Words,
        own: false,
        repeats: false,
    };

    /// A program with deeds of its own that runs something only where an option says so.
    pub(crate) const HOST: Self = Self { rest: Rest::Nothing, own: true, ..Self::PLAIN };

    /// A program with deeds of its own that runs what stands after a verb.
    pub(crate) const RUNNER: Self = Self { own: true, ..Self::PLAIN };

    /// A program that runs some of its words, and whose options nobody wrote down.
    pub(crate) const LOOSE: Self = Self { rest: Rest::Somewhere, own: true, repeats: true, ..Self::PLAIN };

    /// Whether it always runs some of its words, and nobody knows at which of them the command begins.
    pub(crate) fn is_loose(&self) -> bool {
        matches!(self.rest, Rest::Somewhere) && self.verb.is_empty()
    }
}

/// The script a setting makes its program run: `core.pager=less` does, `user.name=x` does not.
pub(crate) fn script_of_setting<'a>(key: &str, value: &'a str) -> Option<&'a str> {
    let key = key.to_ascii_lowercase();
    let runs = has(RUNNING_KEYS, &key)
        || RUNNING_KEYS_STARTING.iter().any(|start| key.starts_with(start))
        || RUNNING_KEYS_ENDING.iter().any(|end| key.ends_with(end));
    match value.strip_prefix('!') {
        Some(script) => Some(script),
        // Without the mark it is one of git's own commands.
        None if key.starts_with("alias.") => None,
        None => runs.then_some(value),
    }
}

/// Keys of settings whose value names a program: whole, by their start and by their end.
const RUNNING_KEYS: &str = "exec proxycommand localcommand remotecommand knownhostscommand core.pager core.editor \
    core.sshcommand core.fsmonitor core.askpass core.gitproxy sequence.editor diff.external credential.helper \
    include.path core.hookspath init.templatedir browser.cmd interactive.difffilter uploadpack.packobjectshook \
    core.alternaterefscommand web.browser sendemail.smtpserver sendemail.tocmd sendemail.cccmd gc.recentobjectshook \
    script-shell pinentry-program ssh_command";
const RUNNING_KEYS_STARTING: [&str; 3] = ["alias.", "pager.", "includeif."];
const RUNNING_KEYS_ENDING: [&str; 19] = [
    ".uploadpack",
    ".receivepack",
    ".proxycommand",
    ".path",
    ".sshcommand",
    ".program",
    ".command",
    ".cmd",
    ".clean",
    ".smudge",
    ".process",
    ".textconv",
    ".driver",
    ".helper",
    ".runner",
    ".linker",
    ".rustc",
    ".rustc-wrapper",
    ".rustc-workspace-wrapper",
];
