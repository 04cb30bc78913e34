//! Files a script writes and then runs.
//!
//! `echo 'rm x' > s; sh s` runs `rm`, though `sh s` alone would be the deed of a file. [`Written`] remembers what
//! was written where, as far as the text says it. Files are told apart by their last name alone: folders change
//! under a script, and two files of one name are better taken for one than one for two.

use crate::programs::files::Change;
use crate::programs::names::is_trusted;
use crate::programs::program::Program;
use crate::programs::word::Field;
use crate::shell::script::Command;

/// The most files remembered; past them every file may have been written.
const FILES_MAX: usize = 32;

/// The most files looked for among the words of earlier commands.
const SEARCHES_MAX: usize = 32;

/// What the script has written so far.
#[derive(Default)]
pub(crate) struct Written {
    files: Vec<File>,
    searches: usize,
    /// Whether something was written to a file whose name is unknown.
    anywhere: bool,
}

struct File {
    /// As the script names it.
    name: String,
    /// What is in it; none when that is unknown.
    text: Option<String>,
    /// Whether its text has been read: once is enough.
    is_read: bool,
}

/// What a file holds that is run.
pub(crate) enum Content {
    /// Nothing of the script's: a file of its own.
    Foreign,
    /// This text.
    Text(String),
    /// A text that is already read.
    Read,
    /// Something the script computes.
    Unknown,
}

impl Written {
    /// Takes in that a file is written.
    pub(crate) fn write(&mut self, target: &Field, text: Option<String>, appends: bool) {
        let is_full = self.files.len() >= FILES_MAX;
        self.anywhere |= !target.is_certain() || is_full;
        let name = last_name(&target.text);
        match self.files.iter_mut().find(|file| last_name(&file.name) == name) {
            Some(file) if file.name != target.text => file.text = None,
            Some(file) => {
                file.text = match (file.text.take(), text) {
                    (Some(before), Some(after)) if appends => Some(before + &after),
                    (_, after) => after.filter(|_| !appends),
                };
                file.is_read = false;
            }
            None if !is_full => {
                // What stood in it before may still stand there.
                let text = text.filter(|_| !appends && target.is_certain());
                self.files.push(File { name: target.text.clone(), text, is_read: false });
            }
            None => {}
        }
    }

    /// Takes in that files are copied; what the script wrote, or a program, may now stand elsewhere.
    /// `input` is what certainly comes on its standard input.
    pub(crate) fn copy(&mut self, program: &Program, arguments: &[Field], input: Option<&str>) {
        if program.files.change != Change::Copies {
            return;
        }
        let is_stream = |word: &Field| {
            word.text == "-" || word.text.starts_with("/dev/") || word.text.starts_with("/proc/")
        };
        if let Some((target, sources)) = arguments.split_last()
            && sources.iter().any(is_stream)
        {
            let is_one = sources.iter().filter(|word| !word.text.starts_with('-')).count() == 1;
            let text = input.filter(|_| is_one && target.is_certain()).map(str::to_owned);
            return self.write(target, text, false);
        }
        let is_found = |text: &str| text.contains("which ") || text.contains("command -v");
        let is_program = |word: &Field| match word.is_certain() {
            true => word.text.contains('/') && is_trusted(&word.text),
            false => is_found(&word.text),
        };
        if let Some((target, sources)) = arguments.split_last()
            && target.is_certain()
            && sources.iter().any(is_program)
        {
            self.write(target, None, false);
        }
        if self.files.is_empty() {
            return;
        }
        let is_written = |word: &Field| self.holds(last_name(&word.text)) || !word.is_certain();
        if arguments.iter().any(is_written) {
            arguments.iter().for_each(|word| self.write(word, None, false));
        }
    }

    /// Whether it has written nothing so far, as far as that is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What a file holds that is not run as a whole, however often it is asked for.
    pub(crate) fn text(&self, name: &str) -> Content {
        match self.files.iter().find(|file| last_name(&file.name) == name) {
            Some(file) => file.text.clone().map_or(Content::Unknown, Content::Text),
            None => Content::Foreign,
        }
    }

    /// The texts of files that code brings in by their name, each with whether its name says that it is code, and
    /// whether one of such a name is unknown.
    pub(crate) fn brought_in(&self, code: &str) -> (Vec<(&str, bool)>, bool) {
        const CODE: [&str; 14] =
            ["py", "pm", "pl", "rb", "js", "mjs", "cjs", "ts", "php", "lua", "vim", "gdb", "tcl", "so"];
        let (mut texts, mut is_unknown) = (Vec::new(), false);
        for file in &self.files {
            let name = last_name(&file.name);
            let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
            if !has_token(code, stem) {
                continue;
            }
            match &file.text {
                Some(text) => texts.push((text.as_str(), CODE.contains(&ending))),
                None => is_unknown |= CODE.contains(&ending),
            }
        }
        (texts, is_unknown)
    }

    /// Whether the script wrote a file of this name.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.files.iter().any(|file| last_name(&file.name) == name)
    }

    /// What a file holds when it is run after the commands listed so far, and within those at `open`.
    pub(crate) fn read(&mut self, target: &Field, earlier: &[Command], open: &[usize]) -> Content {
        let name = last_name(&target.text);
        if let Some(file) = self.files.iter_mut().find(|file| last_name(&file.name) == name) {
            return match &file.text {
                Some(_) if file.is_read => Content::Read,
                Some(text) => {
                    file.is_read = true;
                    Content::Text(text.clone())
                }
                None => Content::Unknown,
            };
        }
        if self.anywhere || !target.is_certain() && !self.files.is_empty() {
            return Content::Unknown;
        }
        self.searches = self.searches.saturating_add(1);
        // Who runs the command that is given the file, names it once for that.
        let mut commands = earlier.iter().enumerate();
        let may_write = |(at, command)| mentions(command, name) > usize::from(open.contains(&at));
        if self.searches > SEARCHES_MAX || commands.any(may_write) {
            return Content::Unknown;
        }
        Content::Foreign
    }
}

/// How often a command is given the file in a way that may change it: `curl -o s`, `wget https://host/s`.
fn mentions(command: &Command, name: &str) -> usize {
    // Where copies lead is remembered.
    let is_harmless = |program: &Program| program.files.change <= Change::Copies;
    if name.is_empty() || command.row().is_some_and(is_harmless) {
        return 0;
    }
    let names = |text: &str| {
        text.rsplit(['/', '=', ':']).next() == Some(name) || text.starts_with('-') && text.ends_with(name)
    };
    // Code names its files within: `sed -n 'w s'`, `python -c 'open("s", "w")'`.
    let has_code = command.row().is_some_and(|row| row.interpreter.is_some());
    let is_named = |text: &str| names(text) || has_code && has_token(text, name);
    let arguments = || command.words.iter().skip(1);
    // A file that is run is not changed by that: `python manage.py a; python manage.py b`.
    let runs = command.row().is_some_and(|row| row.runs_files() || row.is_shell());
    let run = arguments().find(|word| !word.text.starts_with('-')).filter(|word| runs && names(&word.text));
    arguments().filter(|word| is_named(&word.text)).count().saturating_sub(usize::from(run.is_some()))
}

/// Whether an earlier command fetched a file of this name from another machine: `curl -O https://host/s`.
pub(crate) fn is_fetched(name: &str, earlier: &[Command]) -> bool {
    let fetches = |command: &&Command| command.row().is_some_and(|row| row.network.is_some());
    earlier.iter().filter(fetches).any(|command| mentions(command, name) > 0)
}

/// Whether a text has a name that is not part of a longer one.
fn has_token(text: &str, name: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at.saturating_add(name.len())..).unwrap_or_default();
            !before.ends_with(is_letter) && !after.starts_with(is_letter)
        })
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
