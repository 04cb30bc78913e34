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
    pub(crate) fn copy(&mut self, program: &Program, arguments: &[Field]) {
        if program.files.change != Change::Copies {
            return;
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
    command.words.iter().skip(1).filter(|word| names(&word.text)).count()
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
