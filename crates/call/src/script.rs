//! The commands of a shell script.
//!
//! [`read_script`] lists every simple command a script may run, wherever it hides. What it cannot know is
//! said aloud: a command whose program is named only at run time is opaque, and so is its script. Nothing
//! is ever run, matched against files or looked up, and a script past one of the limits below is opaque.

use std::thread;

use crate::confirm::{confirm_words, is_trusted};
use crate::glob::fits;
use crate::reader::{Input, Reader};
use crate::words::Field;
use crate::wrappers::is_shell;

/// The longest script that is read.
pub(crate) const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// How far the parser may go down where we stand. It goes one call deeper for every bracket, so a script with
/// many could use up the stack of a thread, which ends the process; it gets a stack of its own.
const STEPS_HERE: usize = 1_024;

/// Enough for the longest script made of nothing but brackets, twice over. Only what is used is ever taken.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// What a script would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The simple commands it may run, roughly as a shell would come to them: `$(a)` before `echo $(a)`.
    pub commands: Vec<Command>,
    /// Whether it may run more than is listed: it could not be read, or a program is named only at run time.
    pub opaque: bool,
    /// Why it is opaque, in words.
    pub doubts: Vec<String>,
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

/// One word as a program would get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes; what is not known stands as written.
    pub text: String,
    /// How much of it is known.
    pub known: Known,
}

/// How much of a word is known before the script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The program gets exactly this text.
    Certain,
    /// The program gets the names of files that match.
    Glob,
    /// Some part of it is computed when the script runs.
    Unknown,
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

/// Reads a script and lists the simple commands it may run.
#[must_use]
pub fn read_script(text: &str) -> Script {
    read(text.len(), |reader| reader.script(text, &Input::Open))
}

/// Reads a command given as a list of words, none of which a shell will touch: `["rm", "-rf", "/"]`.
#[must_use]
pub fn read_words(words: &[String]) -> Script {
    if let Some(script) = shell_script(words) {
        let shell = words.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let mut script = read_script(script);
        for command in &mut script.commands {
            command.reached_by.insert(0, format!("{shell} -c"));
        }
        return script;
    }
    let bytes = words.iter().map(String::len).fold(0, usize::saturating_add);
    let fields: Vec<Field> = words.iter().map(Field::certain).collect();
    let mut script = read(bytes, |reader| reader.run(fields.clone(), &Input::Open));
    confirm_words(&mut script, words);
    script
}

/// The script in words such as `["bash", "-lc", "make"]`. So hosts hand one to a shell: nothing else stands around
/// it, and its success is the script's.
pub(crate) fn shell_script(words: &[String]) -> Option<&str> {
    let [path, option, script] = words else { return None };
    let shell = path.rsplit('/').next().unwrap_or_default();
    (matches!(option.as_str(), "-c" | "-lc") && is_shell(shell) && is_trusted(path)).then_some(script)
}

/// Whether a field of this name holds a script by custom: `command`, `cmd`, `script`, `shell_command`, `bash_command`.
#[must_use]
pub fn is_script_field(name: &str) -> bool {
    ["command", "cmd", "script", "shell_command", "bash_command"].contains(&name)
}

/// Reads where we stand if that is safe, else on a stack of its own.
fn read(bytes: usize, start: impl Fn(&mut Reader) + Sync) -> Script {
    if bytes > SCRIPT_BYTES_MAX {
        return Script { opaque: true, doubts: vec![TOO_LONG.into()], ..Script::default() };
    }
    let read_up_to = |steps_max| {
        let mut reader = Reader::new(steps_max);
        start(&mut reader);
        reader.read_quoted();
        reader
    };
    let reader = read_up_to(STEPS_HERE);
    if !reader.is_cramped() {
        return reader.found();
    }
    let read_all = || read_up_to(usize::MAX).found();
    thread::scope(|scope| {
        let reading = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read_all).ok()?;
        reading.join().ok()
    })
    .unwrap_or_else(|| Script {
        opaque: true,
        doubts: vec!["there was no room to read the script".into()],
        ..Script::default()
    })
}

pub(crate) const TOO_LONG: &str = "the script is too long to be read";
