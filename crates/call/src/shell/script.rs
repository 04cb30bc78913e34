//! What a script would run: commands with their words, files and variables.
//!
//! [`Script`] is what [`super::read::read_script`] gives. What cannot be known is said aloud: a command whose program is
//! named only at run time is opaque, and so is its script. Nothing is read in here.

use crate::glob::fits;
use crate::programs::names::is_trusted;
use crate::programs::program::{Grammar, Program};
use crate::programs::table::program;
use crate::programs::word::{Known, Word};

/// The longest script that is read.
pub(crate) const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// Why a longer one is not.
pub(crate) const TOO_LONG: &str = "the script is too long to be read";

/// What a script would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands it may run, roughly as a shell would come to them: `$(a)` before `echo $(a)`.
    pub commands: Vec<Command>,
    /// Whether it may run more than is listed: it could not be read, or a program is named only at run time.
    pub opaque: bool,
    /// Why it is opaque, in words.
    pub doubts: Vec<String>,
    /// Whether all that is not known is what somebody may type into a console that it starts in plain sight: `psql shop`.
    pub only_waits: bool,
    /// The variables it sets, for itself or for one of its programs, each once; what is computed stands as
    /// written.
    pub sets: Vec<String>,
}

/// One program a script may run, as seen after taking off `sudo`, `env`, `xargs`, `sh -c` and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name of the program without its folder; none when it is computed at run time.
    pub program: Option<String>,
    /// The program without its folder and the words that reach it, unquoted and joined by one space.
    /// What is not known before the script runs stands as it is written.
    pub text: String,
    /// The same with the program's folder, where one is written: `/bin/rm x`.
    pub text_with_path: String,
    /// The program and its arguments, each as far as it is known; none where files are all there is: `> log`.
    pub words: Vec<Word>,
    /// The files it is connected to. What a wrapper or a script around is connected to stands with the first
    /// command in there; what a group, a loop or a subshell is, with a command of its own, without words.
    pub redirections: Vec<Redirection>,
    /// Variables set for it alone: `A=1 make`, `env A=1 make`.
    pub assignments: Vec<(String, Word)>,
    /// Words of the wrappers around it that may name a place: the `/etc` of `env -C /etc ls`.
    pub wrapper_places: Vec<Word>,
    /// Whether it runs whenever the script does, as far as the text tells: in no branch, loop or function and
    /// behind no `&&` or `||`.
    pub is_unconditional: bool,
    /// What stands around it, from the outside in: `sudo`, `bash -c`, `$(…)`.
    pub reached_by: Vec<String>,
    /// The code it is given in another language, as `python -c` is.
    pub code: Option<String>,
    /// Whether it may run something other than what is listed.
    pub opaque: bool,
    /// Whether the script gives it something to read on its standard input: a pipe, a file, a text.
    pub is_told: bool,
    /// Whether the words that it is fed are files below the folders of the command before it: `find src | xargs cat`.
    pub is_fed_below: bool,
    /// Whether it stands for a group, a loop or a subshell, whose files these are.
    pub is_group: bool,
    /// Whether a success of the whole script proves that this command ran and succeeded.
    pub is_confirmed: bool,
}

impl Command {
    /// The glob its program's name fits, where it is written as one: `r?` of `/bin/r?`.
    #[must_use]
    pub fn program_glob(&self) -> Option<&str> {
        let first = self.words.first().filter(|word| self.program.is_none() && word.known == Known::Glob)?;
        first.text.rsplit('/').next()
    }

    /// What is known about its program.
    #[must_use]
    pub fn row(&self) -> Option<&'static Program> {
        program(self.program.as_deref()?)
    }

    /// Whether a program around it gives it further words from elsewhere, as `xargs` does.
    #[must_use]
    pub fn is_fed(&self) -> bool {
        self.rows_around().any(Program::feeds)
    }

    /// Whether `find` runs it on what it finds.
    pub(crate) fn is_run_by_find(&self) -> bool {
        self.rows_around().any(|row| row.grammar == Grammar::Find)
    }

    /// What is known about the programs around it.
    fn rows_around(&self) -> impl Iterator<Item = &'static Program> {
        self.reached_by.iter().filter_map(|by| program(by.split_whitespace().next()?))
    }

    /// Whether its program is the one its name says: written without a folder, or right in a folder of the
    /// system. `./ls` is not, nor is `/bin/../tmp/ls`.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.program.is_some() && self.words.first().is_some_and(|first| is_trusted(&first.text))
    }

    /// Whether it may run the program of this name.
    #[must_use]
    pub fn may_run(&self, name: &str) -> bool {
        match self.program_glob() {
            Some(glob) => fits(glob, name),
            None => self.opaque || self.program.as_deref() == Some(name),
        }
    }
}

/// A file a command is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What happens to the file.
    pub kind: RedirectionKind,
    /// Its name.
    pub target: Word,
}

/// What a redirection does to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionKind {
    /// It is read.
    Reads,
    /// It is emptied and written.
    Writes,
    /// It is written at its end.
    Appends,
}
