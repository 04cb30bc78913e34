//! Finds the paths in fields and in the words and redirections of scripts.

use super::folders::{FOLDERS_MAX, Folders};
use super::look::{Look, Looked, look};
use super::shape::{
    PATH_BYTES_MAX, field_access, is_plausible, is_web_address, looks_like_a_path, starts_like_a_path,
};
use super::tables::STREAMS;
use super::touched::{Paths, TouchedPath};
use crate::call::Call;
use crate::contents::{Place, ReadScript, TOUCHED_MAX, Text, TextKind, Unseen, unseen};
use crate::places::path::PathDoubt;
use crate::programs::files::{Access, Change, FileUse, Moves};
use crate::programs::names::has;
use crate::programs::network::Words;
use crate::programs::program::{Grammar, Program};
use crate::programs::table::alike::TEXTS;
use crate::programs::word::{Field, Known, Word};
use crate::shell::script::{Command, RedirectionKind};

pub(super) struct Finder<'r> {
    pub(super) call: &'r Call,
    pub(super) found: Paths,
    /// Whether the script that is read makes `~` another folder.
    pub(super) home_may_change: bool,
    /// Whether it makes patterns fit names with a dot in front.
    pub(super) dots_fit: bool,
    /// Whether it gives programs for the network other settings.
    pub(super) is_led: bool,
    /// Where the commands of scripts stand.
    pub(super) standing: Vec<TouchedPath>,
}

impl<'r> Finder<'r> {
    pub(super) fn field(&mut self, text: &'r Text, folders: &Folders) {
        let known = match text.kind {
            TextKind::Number => return,
            TextKind::Key => None,
            TextKind::String => field_access(&text.key),
        };
        let has_lines = text.text.contains(['\n', '\r']);
        let (access, is_guess) = match known {
            Some((access, true)) if !is_web_address(&text.text) => (access, false),
            Some((access, false))
                if !is_web_address(&text.text) && (!has_lines || text.text.contains("../")) =>
            {
                (access, has_lines)
            }
            None if looks_like_a_path(&text.text) => (Access::Unknown, true),
            _ => return,
        };
        let place = Place::Field(text.selector.clone());
        self.add(&text.text, place, access, is_guess, look(&text.text, Look::Field, self.call), folders);
    }

    pub(super) fn script(&mut self, script: &'r ReadScript, folders: &Folders) {
        let commands = &script.script.commands;
        // In a loop or a function a command may run after any `cd`, and the same `cd ..` any number of times.
        let is_ordered = !commands.iter().any(|command| {
            let repeats = moves(command).is_some() && may_repeat(command);
            repeats || may_wait(command)
        });
        let chain = chain(script);
        let mut standing = folders.clone();
        self.home_may_change = script.script.sets.iter().any(|name| name == "HOME");
        let sets = |names: &[&str]| script.script.sets.iter().any(|name| names.contains(&name.as_str()));
        let has_search_path = sets(&["CDPATH", "BASHOPTS", "SHELLOPTS"]);
        self.dots_fit = sets(&["GLOBIGNORE", "BASHOPTS", "SHELLOPTS"]);
        self.is_led = sets(&["HOME", "XDG_CONFIG_HOME", "CURL_HOME", "WGETRC", "SYSTEM_WGETRC", "NETRC"]);
        // Then `cd x` may lead into a folder of that name anywhere.
        standing.unknown |= has_search_path;
        if !is_ordered {
            for _ in 0..FOLDERS_MAX {
                commands
                    .iter()
                    .filter_map(moves)
                    .for_each(|target| standing.join(self.after(&standing, target)));
            }
        }
        for (i, command) in commands.iter().enumerate() {
            self.stand(script, i, command, &standing);
            let mut here = standing.clone();
            option_folders(command).for_each(|target| here.join(self.after(&here, target)));
            // `env -C .. rm x`: wrappers may go somewhere first.
            for word in wrapper_folders(command) {
                here.join(self.after(&here, Target::Word(&word)));
            }
            self.wrappers(script, i, command, &standing);
            self.command(script, i, command, &here);
            // Where it goes without a word about it, it still goes.
            if let Some(target @ (Target::Home | Target::Unknown)) = moves(command) {
                let looked = self.look_at_target(target);
                let place = Place::Word { field: script.selector.clone(), command: i, word: 0 };
                self.add(&command.text, place, Access::Reads, false, looked, &here);
            }
            if is_ordered && let Some(target) = moves(command) {
                let after = self.after(&standing, target);
                if chain.get(i).is_some_and(|part| part.trim_start().starts_with("cd ")) {
                    standing = after;
                } else {
                    // It may have failed, or have run in a shell of its own.
                    standing.join(after);
                }
            }
        }
    }

    /// Notes the folder that a command stands in.
    fn stand(&mut self, script: &ReadScript, i: usize, command: &Command, folders: &Folders) {
        let own = option_folders(command).last().map(|target| self.after(folders, target));
        let looked = look(".", Look::Word, self.call);
        let spots = looked.and_then(|looked| own.as_ref().unwrap_or(folders).spots(&looked));
        let place = Place::Word { field: script.selector.clone(), command: i, word: 0 };
        let (text, access) = (".".to_owned(), Access::Unknown);
        self.standing.push(TouchedPath { text, place, access, is_guess: true, spots });
    }

    pub(super) fn command(&mut self, script: &'r ReadScript, i: usize, command: &Command, folders: &Folders) {
        let around = || Place::Around { field: script.selector.clone(), command: i };
        self.words(script, i, command, folders);
        for redirection in &command.redirections {
            let access = match redirection.kind {
                RedirectionKind::Reads => Access::Reads,
                RedirectionKind::Writes | RedirectionKind::Appends => Access::Writes,
            };
            self.word(&redirection.target, around(), access, false, folders);
        }
        for (_, value) in &command.assignments {
            if starts_like_a_path(&value.text) {
                self.word(value, around(), Access::Unknown, true, folders);
            }
            self.pieces(value, &around(), folders);
        }
    }

    /// The words of wrappers around a command are read where the wrapper stands, before it goes anywhere.
    pub(super) fn wrappers(
        &mut self,
        script: &'r ReadScript,
        i: usize,
        command: &Command,
        folders: &Folders,
    ) {
        let around = || Place::Around { field: script.selector.clone(), command: i };
        for word in &command.wrapper_places {
            if word.text.starts_with('-') {
                self.option(word, &FileUse::UNKNOWN, &around(), folders);
            } else {
                self.word(word, around(), Access::Unknown, false, folders);
            }
        }
    }

    pub(super) fn after(&self, folders: &Folders, target: Target<'_>) -> Folders {
        folders.after(self.look_at_target(target))
    }

    pub(super) fn look_at_target<'w>(&self, target: Target<'w>) -> Result<Vec<Looked<'w>>, PathDoubt>
    where
        'r: 'w,
    {
        match target {
            Target::Word(word) => self.look_at_word(word),
            Target::Home if self.home_may_change => Err(PathDoubt::Home),
            Target::Home => look("~", Look::Word, self.call),
            Target::Unknown => Err(PathDoubt::Computed),
        }
    }

    pub(super) fn words(&mut self, script: &ReadScript, i: usize, command: &Command, folders: &Folders) {
        let row = command.row();
        let files = row.map_or(&FileUse::UNKNOWN, |row| &row.files);
        let place = |word| Place::Word { field: script.selector.clone(), command: i, word };
        if let Some(first) = command.words.first()
            && first.text.contains('/')
        {
            self.word(first, place(0), Access::Runs, false, folders);
        }
        if files.change == Change::Nothing {
            // They do nothing with a file, but what a pattern fits is read from a folder.
            for (w, word) in command.words.iter().enumerate().skip(1) {
                if word.known == Known::Glob && word.text.contains(['/', '~']) {
                    self.word(word, place(w), Access::Reads, true, folders);
                }
            }
            return;
        }
        if row.is_some_and(|row| row.grammar == Grammar::Git) {
            self.git(command, &place(0), folders);
        }
        let read = self.code(command, &place(0), folders);
        let access = files.operands;
        let is_fed_below = command.is_fed_below && row.is_some_and(Program::is_harmless);
        let mut options_end = false;
        let mut is_pattern = files.pattern_first;
        for (w, word) in command.words.iter().enumerate().skip(1) {
            let is_option = !options_end && word.text.starts_with('-');
            // What `find` puts in lies below the folders it was given, which are words of its own.
            let is_found = word.text == "{}" && (command.is_run_by_find() || is_fed_below);
            if word.text == "-"
                || word.text.is_empty()
                || is_found
                || read.contains(&w)
                || is_said(command, w)
            {
                continue;
            }
            if is_option {
                options_end = word.text == "--";
                self.option(word, files, &place(w), folders);
                continue;
            }
            let starts = starts_like_a_path(&word.text);
            if access.is_some() || starts || is_plausible(word) {
                let is_guess = access.is_none() && (!starts || is_pattern);
                self.word(word, place(w), access.unwrap_or(Access::Unknown), is_guess, folders);
            }
            if let Some((operand, file)) = word.text.split_once('=').filter(|(_, file)| !file.is_empty())
                && let Some(access) = files.assigned.iter().find(|it| it.0 == operand)
            {
                let file = Word { text: file.to_owned(), known: word.known };
                self.word(&file, place(w), access.1, false, folders);
            }
            self.pieces(word, &place(w), folders);
            is_pattern = false;
        }
        let takes_names = command.words.iter().skip(1).any(|word| files.takes_names(&word.text));
        let is_bundle = row.is_some_and(|row| row.grammar == Grammar::Letters)
            && command
                .words
                .get(1)
                .is_some_and(|word| !word.text.starts_with('-') && word.text.contains('T'));
        let is_led = self.is_led && row.and_then(|row| row.network).is_some_and(|it| it.words == Words::Urls);
        if command.is_fed() && !is_fed_below || takes_names || is_bundle || is_led {
            let spots = Err(PathDoubt::Computed);
            self.add(&command.text, place(0), access.unwrap_or(Access::Unknown), true, spots, folders);
        }
    }

    /// The files that the code of `sed` and `awk` opens by itself. Gives the words that are nothing but such code:
    /// what is in there has been read.
    pub(super) fn code(&mut self, command: &Command, place: &Place, folders: &Folders) -> Vec<usize> {
        let none = Vec::new();
        let interpreter = command.row().and_then(|row| row.interpreter).filter(|it| it.is_filter());
        let Some(interpreter) = interpreter else { return none };
        let field =
            |word: &Word| Field { known: word.known, splits: false, ..Field::uncertain(word.text.clone()) };
        let arguments: Vec<Field> = command.words.iter().skip(1).map(field).collect();
        let parts = interpreter.sources(&arguments).inline;
        if parts.is_empty() {
            return none;
        }
        let code = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n");
        let files = interpreter.opens(&code).filter(|_| parts.iter().all(Field::is_certain));
        let Some(files) = files else {
            self.add(&code, place.clone(), Access::Unknown, true, Err(PathDoubt::Computed), folders);
            return none;
        };
        for file in files {
            let word = Word { text: file.to_owned(), known: Known::Certain };
            self.word(&word, place.clone(), Access::Unknown, false, folders);
        }
        // Each once: a file may be called like the code.
        let mut read = Vec::new();
        for part in parts {
            let is_part = |(w, word): &(usize, &Word)| word.text == part.text && !read.contains(w);
            read.extend(command.words.iter().enumerate().skip(1).find(is_part).map(|(w, _)| w));
        }
        read
    }

    /// The files of settings that git reads and writes when it is asked about settings.
    pub(super) fn git(&mut self, command: &Command, place: &Place, folders: &Folders) {
        let has = |option: &str| command.words.iter().any(|word| word.text == option);
        if !has("config") && !has("var") {
            return;
        }
        let files =
            [("--global", "~/.gitconfig"), ("--system", "/etc/gitconfig"), ("--local", ".git/config")];
        // Without a word about it, all of them are read.
        let all = !files.iter().any(|(option, _)| has(option)) && !has("--file") && !has("-f");
        for (_, file) in files.iter().filter(|(option, _)| all || has(option)) {
            let word = Word { text: (*file).to_owned(), known: Known::Certain };
            self.word(&word, place.clone(), Access::Unknown, false, folders);
        }
    }

    /// A path glued to an option: `--dir=/etc`, `-f/etc/shadow`.
    pub(super) fn option(&mut self, word: &Word, files: &FileUse, place: &Place, folders: &Folders) {
        let mut add = |text: &str| {
            let glued = Word { text: text.to_owned(), known: word.known };
            let is_guess = !starts_like_a_path(text);
            self.word(&glued, place.clone(), Access::Unknown, is_guess, folders);
        };
        if word.known == Known::Unknown {
            return add(&word.text);
        }
        if let Some((_, value)) = word.text.split_once('=') {
            if !value.is_empty() && !is_web_address(value) {
                add(value);
            }
        } else if !word.text.starts_with("--") {
            let mut letters = word.text.chars();
            let value = letters.by_ref().nth(1).map_or("", |_| letters.as_str());
            // What lies between fields, where a program takes a pattern: `awk -F/`.
            if value == "/" && files.pattern_first {
                return;
            }
            if value.contains('/') || starts_like_a_path(value) {
                add(value);
            }
            // `-rf/etc` may be `-r -f /etc`.
            if let Some(start) = [value.find(['/', '~']), value.find("..")].into_iter().flatten().min()
                && start > 0
                && !files.single_options
                && let Some(tail) = value.get(start..)
            {
                add(tail);
            }
        }
        self.pieces(word, place, folders);
    }

    /// Paths within a word: `if=/etc/passwd`, `host:/etc`, `@/etc/passwd`, `open('/etc/passwd')`.
    pub(super) fn pieces(&mut self, word: &Word, place: &Place, folders: &Folders) {
        let is_end = |c: char| c.is_whitespace() || "'\"`=:,;@()[]{}<>|&".contains(c);
        let mut before = ' ';
        for piece in word.text.split_inclusive(is_end) {
            let text = piece.trim_end_matches(is_end);
            let is_address = before == ':' && text.starts_with("//") && !text.starts_with("///");
            let leads_out = text.starts_with(['/', '~']) || text == ".." || text.contains("../");
            let is_part = text.len() > 1 && text.len() < word.text.len();
            if is_part && leads_out && !is_address && word.known != Known::Unknown {
                let inner = Word { text: text.to_owned(), known: word.known };
                self.word(&inner, place.clone(), Access::Unknown, true, folders);
            }
            before = piece.chars().next_back().unwrap_or(' ');
        }
    }

    pub(super) fn word(
        &mut self,
        word: &Word,
        place: Place,
        access: Access,
        is_guess: bool,
        folders: &Folders,
    ) {
        if !STREAMS.contains(&word.text.as_str()) && !is_web_address(&word.text) && !is_substitution(word) {
            let spots = self.look_at_word(word);
            self.add(&word.text, place, access, is_guess, spots, folders);
        }
    }

    pub(super) fn look_at_word<'w>(&self, word: &'w Word) -> Result<Vec<Looked<'w>>, PathDoubt>
    where
        'r: 'w,
    {
        match word.known {
            _ if self.home_may_change && word.text.starts_with('~') => Err(PathDoubt::Home),
            Known::Certain => look(&word.text, Look::Word, self.call),
            Known::Glob => {
                let mut looked = look(&word.text, Look::Glob, self.call)?;
                if self.dots_fit {
                    looked.iter_mut().for_each(|looked| looked.globs = None);
                }
                Ok(looked)
            }
            Known::Unknown
                if word.text.starts_with('~') && !word.text.contains(['$', '`', '(', '*', '?', '[']) =>
            {
                look(&word.text, Look::Word, self.call)
            }
            Known::Unknown => Err(PathDoubt::Computed),
        }
    }

    pub(super) fn add(
        &mut self,
        text: &str,
        place: Place,
        access: Access,
        is_guess: bool,
        looked: Result<Vec<Looked<'_>>, PathDoubt>,
        folders: &Folders,
    ) {
        if self.found.touched.len() >= TOUCHED_MAX {
            return unseen(&mut self.found.unseen, Unseen::TooManyPlaces);
        }
        let spots = looked.and_then(|looked| folders.spots(&looked));
        // A doubt says enough about a text that no system would take for a path.
        let text = text.chars().take(PATH_BYTES_MAX).collect();
        self.found.touched.push(TouchedPath { text, place, access, is_guess, spots });
    }
}

/// Whether a word is the output or the input of a command, which is listed for itself: `<(sort a)`.
fn is_substitution(word: &Word) -> bool {
    let inner = word.text.strip_prefix(['<', '>']).and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    // More than one, or brackets of another kind, may hide a path behind it.
    inner.is_some_and(|inner| word.known == Known::Unknown && !inner.contains(['(', ')']))
}

/// Whether a word is a text and names no file: a message, or what a package's own script is given.
fn is_said(command: &Command, w: usize) -> bool {
    let Some((_, verbs, options)) =
        TEXTS.iter().find(|(program, ..)| command.program.as_deref() == Some(program))
    else {
        return false;
    };
    let before = command.words.get(..w).unwrap_or_default();
    let is_verb = before.iter().skip(1).any(|word| has(verbs, &word.text));
    let is_unknown = command.words.get(w).is_some_and(|word| word.known == Known::Unknown);
    is_verb
        && match *options {
            "--" => is_unknown && before.iter().any(|word| word.text == "--"),
            options => before.last().is_some_and(|word| has(options, &word.text)),
        }
}

/// Where a command goes.
#[derive(Clone, Copy)]
pub(super) enum Target<'c> {
    Word(&'c Word),
    Home,
    Unknown,
}

/// Whether a command stands where it may run more than once, or later than it is written.
fn may_repeat(command: &Command) -> bool {
    const REPEATING: [&str; 12] = [
        "for",
        "while",
        "until",
        "select",
        "function",
        "alias",
        "trap",
        "repeat",
        "source",
        ".",
        "PROMPT_COMMAND=",
        "fc",
    ];
    let starts = |by: &String| by.split(' ').next().is_some_and(|first| REPEATING.contains(&first));
    command.reached_by.iter().any(starts)
}

/// Whether a command stands where it may run later than it is written: after any other.
fn may_wait(command: &Command) -> bool {
    let starts = |by: &String| {
        by.split(' ').next().is_some_and(|first| matches!(first, "function" | "alias" | "trap"))
    };
    command.reached_by.iter().any(starts)
}

/// Where a command leaves those after it.
pub(super) fn moves(command: &Command) -> Option<Target<'_>> {
    let target = command.words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.text == "-");
    Some(match (command.row()?.files.moves?, target) {
        (Moves::IntoOrHome | Moves::Into, Some(word)) if !word.text.starts_with(['-', '+']) => {
            Target::Word(word)
        }
        (Moves::IntoOrHome, None) if command.words.len() == 1 => Target::Home,
        _ => Target::Unknown,
    })
}

/// Where a command goes itself before it reads its other words: `tar -C /etc passwd`.
pub(super) fn option_folders(command: &Command) -> impl Iterator<Item = Target<'_>> {
    let is_flag = |word: &Word| matches!(word.text.as_str(), "-C" | "--directory" | "--chdir" | "--cwd");
    let targets = command.words.iter().skip(2);
    command
        .words
        .iter()
        .skip(1)
        .zip(targets)
        .filter(move |(flag, _)| is_flag(flag))
        .map(|(_, word)| Target::Word(word))
}

/// Where a wrapper around a command may go before it runs it.
fn wrapper_folders(command: &Command) -> Vec<Word> {
    if !command.reached_by.iter().any(|by| by.starts_with("env") || by.starts_with("sudo")) {
        return Vec::new();
    }
    let folder = |word: &Word| match word.text.split_once('=') {
        Some(("--chdir", folder)) => Word { text: folder.to_owned(), known: word.known },
        _ => word.clone(),
    };
    command.wrapper_places.iter().map(folder).filter(|word| !word.text.starts_with('-')).collect()
}

/// The first commands of a plain chain, `cd a && b && c`: each runs only after those before it, in one shell.
pub(super) fn chain(script: &ReadScript) -> Vec<&str> {
    let parts: Vec<&str> = script.source.split("&&").collect();
    if parts.len() != script.script.commands.len() || script.source.contains([';', '|', '\n', '(', '`']) {
        return Vec::new();
    }
    parts.into_iter().take_while(|part| !part.contains(['&', '$', '\'', '"', '\\', '<', '>', '{'])).collect()
}
