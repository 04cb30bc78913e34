//! What a listed command may still do unseen.
//!
//! Most programs do what their words say. Some run others, or go to other machines, by words we do not follow:
//! code in a language of its own, an alias of git, a package manager's settings. A rule that lists what may run
//! has to know of those. What a program does by itself once it runs is left out on purpose: nobody can read that.

use crate::programs::interpreters::Interpreter;
use crate::programs::names::has;
use crate::programs::program::{Grammar, Program, Verbs};
use crate::programs::word::Known;
use crate::shell::script::Command;

impl Command {
    /// Why it may run something that is not listed, or read and write what its words do not name; none if its
    /// words tell.
    #[must_use]
    pub fn runs_unread(&self) -> Option<&'static str> {
        let row = self.row();
        let interpreter = row.and_then(|row| row.interpreter);
        let is_filter = interpreter.is_some_and(Interpreter::is_filter);
        if self.is_harmless_code(interpreter) {
            return None;
        }
        if self.code.is_some() && !is_filter {
            return Some("it is given code in another language, which may do anything");
        }
        let may_be_code = |text: &str| text.contains(['(', ';', '`', '\n']);
        if interpreter.is_some()
            && !is_filter
            && self.words.iter().skip(1).any(|word| may_be_code(&word.text))
        {
            return Some("a word of it may be code in another language");
        }
        if is_filter && self.words.iter().any(|word| word.known == Known::Unknown) {
            return Some("its code is only known when the script runs");
        }
        let row = row?;
        if row.files.is_pager && self.words.iter().skip(1).any(|word| word.text.starts_with('+')) {
            return Some("it is given a command of its own language");
        }
        if row.runs_unread {
            return Some("it runs what its files and settings say");
        }
        row.verbs.filter(|_| row.grammar == Grammar::Git).and_then(|verbs| self.git_runs(verbs))
    }

    /// Whether it is given code that does nothing but print, and nothing else: `python3 -c 'print(1)'`.
    fn is_harmless_code(&self, interpreter: Option<&Interpreter>) -> bool {
        let [_, option, code] = self.words.as_slice() else { return false };
        let is_certain = self.words.iter().all(|word| word.known == Known::Certain) && !self.opaque;
        let is_plain = self.assignments.is_empty() && self.redirections.is_empty();
        let Some(interpreter) = interpreter.filter(|it| is_certain && is_plain && has(it.code, &option.text))
        else {
            return false;
        };
        self.code.as_ref() == Some(&code.text) && interpreter.is_harmless(&code.text)
    }

    /// Whether it goes to another machine that its words need not name.
    #[must_use]
    pub fn goes_unread(&self) -> bool {
        let goes = |verbs: &Verbs, verb: &str| {
            has(verbs.remote, verb) || !verbs.own.is_empty() && !has(verbs.own, verb)
        };
        let is_told = |verbs: &Verbs| self.verb(verbs).is_some_and(|verb| goes(verbs, verb));
        let goes = |row: &Program| row.goes_unread || row.verbs.is_some_and(is_told);
        self.row().is_some_and(goes)
    }

    fn git_runs(&self, verbs: &Verbs) -> Option<&'static str> {
        let starts = |start: &str| self.words.iter().any(|word| word.text.starts_with(start));
        if starts("--exec-path=") || starts("--config-env") {
            return Some("git is configured to take programs or settings from elsewhere");
        }
        if self.words.iter().any(|word| word.text.contains("ext::") || word.text.contains("fd::")) {
            return Some("git is given a remote that is a program");
        }
        let verb = self.verb(verbs)?;
        if verb == "grep" && (starts("-O") || starts("--open")) {
            return Some("git is configured to open files with a program");
        }
        (!has(verbs.own, verb)).then_some("what git does by this name, its settings say")
    }

    /// What it is told to do: the first word that is neither an option nor the value of one.
    fn verb(&self, verbs: &Verbs) -> Option<&str> {
        let mut words = self.words.iter().skip(1).map(|word| word.text.as_str());
        loop {
            let word = words.next()?;
            if verbs.takes_value(word) {
                words.next();
            } else if !word.starts_with('-') {
                return Some(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::read_script;

    #[test]
    fn a_command_that_may_do_more_than_it_says_is_told_apart() {
        let rows = [
            ("git status", false, false),
            ("git -C sub -c a=b log --oneline", false, false),
            ("git --version", false, false),
            ("git x", true, true),
            ("git -c user.name=status x", true, true),
            ("git --exec-path=. status", true, false),
            ("git grep -Oid x", true, false),
            ("git grep x", false, false),
            ("git clone ext::id", true, true),
            ("git push origin main", false, true),
            ("npm install", false, true),
            ("ls -la", false, false),
            ("python3 -c 'print(1)'", false, false),
            ("python3 -c 'import sys; print(sys.version, \"a\")'", false, false),
            ("python3 -c 'print(open(1))'", true, false),
            ("python3 -c 'import os'", true, false),
            ("python3 -c 'print(\"\".__class__)'", true, false),
            ("python3 -c \"print(f'{x}')\"", true, false),
            ("python3 -c \"print($x)\"", true, false),
            ("python3 -c 'print(1)' > x", true, false),
            ("PYTHONPATH=x python3 -c 'import sys'", true, false),
            ("python3 x.py", false, false),
            ("python3 -m timeit 'f(x)'", true, false),
            ("node -e 1", false, false),
            ("node -e 'console.log(process.version)'", false, false),
            ("node -e 'f(1)'", true, false),
            ("node -e '\"\"[\"constructor\"][\"constructor\"](\"x\")()'", true, false),
            ("awk '{print $1}' x", false, false),
            ("awk \"{print $x}\" x", true, false),
            ("sed s/a/b/ x", false, false),
            ("sed \"s/$a/b/\" x", true, false),
            ("less '+!id' x", true, false),
            ("less x", false, false),
            ("m4 x", true, false),
        ];
        for (script, runs, goes) in rows {
            let command = read_script(script).commands.remove(0);
            assert_eq!((command.runs_unread().is_some(), command.goes_unread()), (runs, goes), "{script}");
        }
    }
}
