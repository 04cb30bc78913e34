//! Programs that run other programs: the table.
//!
//! A row says how a wrapper's command line is built, so that what it runs can be found in there; a wrapper
//! that is missing is seen as an ordinary program. Those whose command lines follow rules of their own, such
//! as shells and `find`, stand in [`crate::unwrap`].

/// How a wrapper's command line is built. Lists are words with spaces between them.
pub(crate) struct Wrapper {
    pub(crate) names: &'static str,
    /// Options whose value is the next word.
    pub(crate) valued: &'static str,
    /// Options whose value is a script.
    pub(crate) scripts: &'static str,
    /// Options with which it only talks about its arguments.
    pub(crate) queries: &'static str,
    /// Words between the options and the command, such as the time limit of `timeout`.
    pub(crate) operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assignments: bool,
    /// How the rest is run.
    pub(crate) rest: Rest,
    /// Whether it does something of its own that a rule could mean, and is listed beside what it runs.
    pub(crate) own: bool,
}

/// How a wrapper runs the words after its options.
pub(crate) enum Rest {
    /// As a program and its arguments.
    Words,
    /// As a program with further arguments taken from standard input.
    WordsAndInput,
    /// As words; a shell that reads standard input when there are none.
    WordsOrShell,
    /// As further words of the script in an option, else as words.
    WordsOfScript,
    /// Joined by spaces, as a script.
    Script,
    /// Joined as a script, into which arguments are put that stand after `:::` or come from standard input.
    ScriptAndInput,
    /// Joined as a script; a shell that reads standard input when there is none.
    ScriptOrShell,
    /// Not at all: only the script of an option is run, else a shell that reads standard input.
    Shell,
}

const PLAIN: Wrapper = Wrapper {
    names: "",
    valued: "",
    scripts: "",
    queries: "",
    operands: 0,
    assignments: false,
    rest: Rest::Words,
    own: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: "nohup setsid builtin busybox toybox unbuffer fakeroot catchsegv dbus-run-session torsocks \
            nocorrect noglob",
        ..PLAIN
    },
    Wrapper {
        names: "sudo doas pkexec run0",
        valued: "-u -g -h -p -C -T -R -D -r -t -U -a -c --user --group --host --prompt --close-from \
            --command-timeout --chroot --chdir --role --type --other-user",
        assignments: true,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "env",
        valued: "-u -C -a --unset --chdir --argv0",
        scripts: "-S --split-string",
        assignments: true,
        rest: Rest::WordsOfScript,
        ..PLAIN
    },
    Wrapper { names: "time", valued: "-f -o --format --output", ..PLAIN },
    Wrapper { names: "timeout", valued: "-k -s --kill-after --signal", operands: 1, ..PLAIN },
    Wrapper { names: "nice", valued: "-n --adjustment", ..PLAIN },
    Wrapper { names: "ionice", valued: "-c -n -p -P -u --class --classdata --pid", ..PLAIN },
    Wrapper { names: "taskset chrt", operands: 1, ..PLAIN },
    Wrapper { names: "stdbuf", valued: "-i -o -e --input --output --error", ..PLAIN },
    Wrapper { names: "command", queries: "-v -V", ..PLAIN },
    Wrapper { names: "exec", valued: "-a", ..PLAIN },
    Wrapper {
        names: "xargs",
        valued: "-I -n -P -d -s -L -E -a -R -S -J --max-args --max-procs --delimiter --max-chars --max-lines \
            --arg-file --process-slot-var",
        rest: Rest::WordsAndInput,
        ..PLAIN
    },
    Wrapper { names: "watch", valued: "-n -q --interval --equexit", rest: Rest::Script, ..PLAIN },
    Wrapper {
        names: "flock",
        valued: "-w -E --wait --timeout --conflict-exit-code",
        scripts: "-c --command",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: "chroot",
        valued: "--userspec --groups",
        operands: 1,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "unshare nsenter",
        valued: "-S -G -R -w -t --setuid --setgid --root --wd --target",
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "strace ltrace",
        valued: "-o -e -p -s -u -E -a -b -P -I -O -S -X -n -A -F -l -x -U",
        ..PLAIN
    },
    Wrapper {
        names: "ssh",
        valued: "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -P",
        operands: 1,
        rest: Rest::ScriptOrShell,
        own: true,
        ..PLAIN
    },
    Wrapper {
        names: "su",
        valued: "-s -g -G -w --shell --group --supp-group --whitelist-environment",
        scripts: "-c --command --session-command",
        rest: Rest::Shell,
        ..PLAIN
    },
    Wrapper {
        names: "script",
        valued: "-E -I -O -B -T -m -o --echo --log-in --log-out --log-io --log-timing",
        scripts: "-c --command",
        operands: 1,
        rest: Rest::WordsOrShell,
        ..PLAIN
    },
    Wrapper {
        names: "parallel",
        valued: "-j -N -n -P -S -a -I -d -C -L -s --jobs --max-procs --colsep --delimiter --arg-file --joblog \
            --results --delay --timeout --retries --sshlogin --max-args --workdir --wd --tmpdir --load \
            --memfree --halt --env --tagstring",
        rest: Rest::ScriptAndInput,
        ..PLAIN
    },
    Wrapper { names: "eval", rest: Rest::Script, ..PLAIN },
];

/// Shells that read a script from `-c`, a file or their standard input.
const SHELLS: &str = "sh bash zsh dash ksh mksh ash rbash fish csh tcsh";

/// The row of a program.
pub(crate) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| has(wrapper.names, program))
}

pub(crate) fn is_shell(program: &str) -> bool {
    has(SHELLS, program)
}

/// Whether the list holds the word.
pub(crate) fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|item| item == word)
}
