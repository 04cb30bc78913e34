//! Every path a call touches.
//!
//! [`paths`] finds them in fields, nested values and the words and redirections of scripts, and says for each
//! where it may lead, or why that cannot be told. What is merely taken for a path is marked as a guess, so
//! that a rule can be strict where a display is quiet. Looking at files is missing on purpose: a door on the
//! same machine lends its eyes as [`Files`].

use std::borrow::Cow;

use url::Url;

use crate::call::Call;
use crate::glob::fits;
use crate::places::path::{PathDoubt, lies_in, normalise};
use crate::programs::interpreters::{Source, interpreter};
use crate::programs::word::Field;
use crate::programs::word::{Known, Word};
use crate::shell::reading::{Place, ReadScript, Reading, TOUCHED_MAX, Text, TextKind, Unseen, unseen};
use crate::shell::script::{Command, RedirectionKind};

/// The longest path that is read. No system takes longer ones.
const PATH_BYTES_MAX: usize = 4_096;

/// The most folders a relative path may start from.
const FOLDERS_MAX: usize = 8;

/// Keys that hold a path by custom, and what is done to it.
const FIELDS: &[(&str, Access)] = &[
    ("path", Access::Unknown),
    ("pathname", Access::Unknown),
    ("filepath", Access::Unknown),
    ("filename", Access::Unknown),
    ("file", Access::Unknown),
    ("directory", Access::Unknown),
    ("dir", Access::Unknown),
    ("dirname", Access::Unknown),
    ("folder", Access::Unknown),
    ("root", Access::Unknown),
    ("cwd", Access::Unknown),
    ("workdir", Access::Unknown),
    ("notebook", Access::Unknown),
    ("symlink", Access::Unknown),
    ("infile", Access::Reads),
    ("outfile", Access::Writes),
];

/// Keys that often hold a path, and as often a name, a person or a whole text.
const LOOSE_FIELDS: &[(&str, Access)] = &[
    ("target", Access::Unknown),
    ("workspace", Access::Unknown),
    ("location", Access::Unknown),
    ("archive", Access::Unknown),
    ("source", Access::Reads),
    ("src", Access::Reads),
    ("input", Access::Reads),
    ("from", Access::Reads),
    ("attachment", Access::Reads),
    ("destination", Access::Writes),
    ("dest", Access::Writes),
    ("dst", Access::Writes),
    ("output", Access::Writes),
    ("to", Access::Writes),
];

/// Keys that say where a call runs.
const FOLDER_FIELDS: &[&str] =
    &["cwd", "workdir", "working_dir", "working_directory", "work_dir", "current_directory"];

/// Programs whose every word that is no option is a path.
const FILE_PROGRAMS: &[(&str, Access)] = &[
    ("cat", Access::Reads),
    ("tac", Access::Reads),
    ("nl", Access::Reads),
    ("bat", Access::Reads),
    ("batcat", Access::Reads),
    ("less", Access::Reads),
    ("more", Access::Reads),
    ("head", Access::Reads),
    ("tail", Access::Reads),
    ("ls", Access::Reads),
    ("cd", Access::Reads),
    ("pushd", Access::Reads),
    ("source", Access::Reads),
    (".", Access::Reads),
    ("stat", Access::Reads),
    ("wc", Access::Reads),
    ("cp", Access::Unknown),
    ("mv", Access::Writes),
    ("ln", Access::Writes),
    ("rm", Access::Writes),
    ("rmdir", Access::Writes),
    ("mkdir", Access::Writes),
    ("touch", Access::Writes),
    ("tee", Access::Writes),
    ("truncate", Access::Writes),
    ("shred", Access::Writes),
];

/// Programs that do nothing with the files their words may name.
const WORD_PROGRAMS: &[&str] = &["echo", "printf", "true", "false", ":", "sleep", "exit", "return", "kill"];

/// Programs whose first word is a pattern or a piece of code, as a rule.
const PATTERN_PROGRAMS: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "mawk", "perl", "jq", "yq", "tr", "expr"];

/// Programs whose short options are never written together, so that `-Isrc/a` is `src/a` and never `/a`.
const SINGLE_OPTION_PROGRAMS: &[&str] =
    &["cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac"];

/// Programs that run others with words from elsewhere.
const FEEDERS: &[&str] = &["xargs", "parallel"];

/// Files that are none: nothing is read from them and nothing kept.
const STREAMS: &[&str] = &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// What a call does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is only read.
    Reads,
    /// It is made, changed or removed.
    Writes,
    /// It is run as a program.
    Runs,
    /// It may be any of these.
    Unknown,
}

/// The paths of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Each path, in the order it is found.
    pub touched: Vec<TouchedPath>,
    /// Why there may be more.
    pub unseen: Vec<Unseen>,
}

/// One path a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedPath {
    /// The text as it stands in the call.
    pub text: String,
    /// Where it stands.
    pub place: Place,
    /// What is done to it.
    pub access: Access,
    /// Whether it is only taken for a path, by its look or because a program might.
    pub is_guess: bool,
    /// Every place it may lead to, at least one; or why that cannot be told.
    pub spots: Result<Vec<Spot>, PathDoubt>,
}

/// A place a path may lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The path without `.`, `..` and doubled slashes; relative only if nobody knows where the call runs.
    pub path: String,
    /// Whether it is a folder, and some files below it are meant.
    pub is_pattern: bool,
    /// The path as a system walks it: with every `..`, which after a link leads elsewhere than the text says.
    pub(crate) walked: String,
    /// What a shell matches below the folder, part by part; none where it may be anything.
    globs: Option<Vec<String>>,
}

/// The files of the machine the call runs on, as a door on the same machine sees them.
pub trait Files {
    /// The path without links, where its last parts need not exist yet; none if it cannot be told.
    fn canonical(&self, path: &str) -> Option<String>;
}

/// Every path a call touches.
///
/// Relative ones start at the call's working folder; `~` and variables are those the host tells in
/// `about.context.env`, such as `{"env": {"HOME": "/home/me"}}`.
#[must_use]
pub fn paths(call: &Call) -> Paths {
    Reading::of(call).paths()
}

impl TouchedPath {
    /// Whether the path certainly lies in the folder or is it: by its text, and behind all links where `files`
    /// are at hand. Any doubt is a no.
    #[must_use]
    pub fn is_under(&self, folder: &str, files: Option<&dyn Files>) -> bool {
        self.spots.as_ref().is_ok_and(|spots| {
            !spots.is_empty() && spots.iter().all(|spot| spot.lies(folder, files) == Some(true))
        })
    }

    /// Whether the path may lie in the folder or be it: by its text or behind links. Any doubt is a yes.
    #[must_use]
    pub fn may_be_under(&self, folder: &str, files: Option<&dyn Files>) -> bool {
        self.spots
            .as_ref()
            .map_or(true, |spots| spots.is_empty() || spots.iter().any(|spot| spot.may_lie(folder, files)))
    }
}

impl Spot {
    /// Whether both the text and the file behind it lie in the folder; none where the file cannot be told.
    fn lies(&self, folder: &str, files: Option<&dyn Files>) -> Option<bool> {
        let by_text = lies_in(&self.path, folder)?;
        let Some(files) = files else {
            return Some(by_text);
        };
        Some(by_text && lies_in(&self.canonical(files)?, &files.canonical(folder)?)?)
    }

    fn may_lie(&self, folder: &str, files: Option<&dyn Files>) -> bool {
        // What a pattern in a folder may match includes what the folder below it holds.
        let overlaps = |path: &str, folder: &str| {
            lies_in(path, folder) != Some(false) || (self.is_pattern && self.may_match_in(path, folder))
        };
        overlaps(&self.path, folder)
            || files.is_some_and(|files| match (self.canonical(files), files.canonical(folder)) {
                (Some(path), Some(folder)) => overlaps(&path, &folder),
                _ => true,
            })
    }

    /// Whether the pattern, which starts at `start`, may match the folder or something in it.
    fn may_match_in(&self, start: &str, folder: &str) -> bool {
        let below = match (lies_in(folder, start), normalise(folder, None)) {
            (Some(false), _) => return false,
            (Some(true), Ok(folder)) => folder.strip_prefix(start).map(ToOwned::to_owned),
            _ => None,
        };
        let (Some(globs), Some(below)) = (&self.globs, below) else { return true };
        let parts = below.split('/').filter(|part| !part.is_empty());
        // A shell's star fits no name with a dot in front, unless it says so itself.
        let fits_part = |(glob, part): (&String, &str)| {
            fits(glob, part) && (!part.starts_with('.') || glob.starts_with(['.', '[']))
        };
        globs.iter().zip(parts).all(fits_part)
    }

    /// The file behind the path, without links; none if it cannot be told.
    #[must_use]
    pub fn canonical(&self, files: &dyn Files) -> Option<String> {
        // A relative path would be looked up where the door runs, not where the call does.
        if self.walked.starts_with('/') { files.canonical(&self.walked) } else { None }
    }
}

impl Reading<'_> {
    /// Every path the call touches.
    #[must_use]
    pub fn paths(&self) -> Paths {
        let start = Folders { known: vec![self.call.about.cwd.clone()], unknown: false };
        let folders = start.with_fields(self);
        let mut finder =
            Finder { reading: self, found: Paths::default(), home_may_change: false, standing: None };
        finder.found.unseen.clone_from(&self.unseen);
        for text in &self.texts {
            // What names the folder starts where the call would stand without it.
            let names_folder = FOLDER_FIELDS.contains(&text.key.as_str());
            finder.field(text, if names_folder { &start } else { &folders });
        }
        for script in &self.scripts {
            finder.script(script, &folders);
        }
        finder.found
    }

    /// The folder that each command of the call's scripts stands in, as the path `.` at the command's first word; with
    /// `-C` and the like, the folder it goes to itself.
    #[must_use]
    pub fn standing(&self) -> Vec<TouchedPath> {
        let start = Folders { known: vec![self.call.about.cwd.clone()], unknown: false };
        let folders = start.with_fields(self);
        let mut finder = Finder {
            reading: self,
            found: Paths::default(),
            home_may_change: false,
            standing: Some(Vec::new()),
        };
        for script in &self.scripts {
            finder.script(script, &folders);
        }
        finder.standing.unwrap_or_default()
    }

    /// Every text of a field that is no path by its name or look, read as one: a tool may take any of them for
    /// the name of a file. What cannot be one is left out.
    ///
    /// # Errors
    /// When there are more of them than we list: any of the rest may be one.
    pub fn names(&self) -> Result<Vec<TouchedPath>, Unseen> {
        let start = Folders { known: vec![self.call.about.cwd.clone()], unknown: false };
        let folders = start.with_fields(self);
        let is_name = |text: &&Text<'_>| {
            text.kind != TextKind::Number
                && (text.kind == TextKind::Key || field_access(&text.key).is_none())
                && !looks_like_a_path(&text.text)
                && !is_web_address(&text.text)
        };
        let touched = |text: &Text<'_>| {
            let spots = look(&text.text, Look::Field, self).and_then(|looked| folders.spots(&looked)).ok()?;
            Some(TouchedPath {
                text: text.text.to_string(),
                place: Place::Field(text.selector.clone()),
                access: Access::Unknown,
                is_guess: true,
                spots: Ok(spots),
            })
        };
        let names = self.texts.iter().filter(is_name).filter_map(touched);
        let names: Vec<TouchedPath> = names.take(TOUCHED_MAX + 1).collect();
        if names.len() > TOUCHED_MAX { Err(Unseen::TooManyPlaces) } else { Ok(names) }
    }

    /// A variable of the place where the call runs, if the host tells it.
    fn variable(&self, name: &str) -> Option<&str> {
        self.call.about.context.as_ref()?.get("env")?.get(name)?.as_str()
    }
}

/// The folders a relative path may start from. None stands for one that nobody told us.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folders {
    known: Vec<Option<String>>,
    /// Whether it may also start from a folder that is computed.
    unknown: bool,
}

impl Folders {
    /// These, and those that fields of the call name: a tool may heed such a field or not.
    fn with_fields(&self, reading: &Reading<'_>) -> Self {
        let mut folders = self.clone();
        for text in reading.texts.iter().filter(|text| FOLDER_FIELDS.contains(&text.key.as_str())) {
            folders.join(self.after(look(&text.text, Look::Field, reading)));
        }
        folders
    }

    /// What each folder becomes by going to another one.
    fn after(&self, target: Result<Vec<Looked<'_>>, PathDoubt>) -> Self {
        let Ok(looked) = target else {
            return Self { known: Vec::new(), unknown: true };
        };
        let unknown = self.unknown || looked.iter().any(|target| target.is_pattern);
        let from = |target: Looked<'_>| {
            self.known
                .iter()
                .map(move |folder| Some(join(folder.as_deref(), &target.text)))
                .collect::<Vec<_>>()
        };
        let mut after = Self { known: Vec::new(), unknown };
        after.extend(looked.into_iter().flat_map(from));
        after
    }

    /// Adds folders, each once, up to the limit.
    fn extend(&mut self, folders: impl IntoIterator<Item = Option<String>>) {
        for folder in folders {
            let is_full = self.known.len() >= FOLDERS_MAX;
            match self.known.contains(&folder) {
                true => {}
                false if is_full => self.unknown = true,
                false => self.known.push(folder),
            }
        }
    }

    fn join(&mut self, others: Self) {
        self.unknown |= others.unknown;
        self.extend(others.known);
    }

    fn spots(&self, looked: &[Looked<'_>]) -> Result<Vec<Spot>, PathDoubt> {
        let mut spots = Vec::with_capacity(looked.len());
        for looked in looked {
            if looked.text.starts_with('/') {
                spots.push(spot(looked, None)?);
            } else if self.unknown {
                return Err(PathDoubt::Folder);
            } else {
                for folder in &self.known {
                    spots.push(spot(looked, folder.as_deref())?);
                }
            }
        }
        Ok(spots)
    }
}

fn spot(looked: &Looked<'_>, folder: Option<&str>) -> Result<Spot, PathDoubt> {
    let Looked { text, is_pattern, globs } = looked;
    let path = normalise(text, folder)?;
    let walked = join(folder, text);
    if is_magic(&path, &walked) {
        return Err(PathDoubt::Magic);
    }
    Ok(Spot { path, is_pattern: *is_pattern, walked, globs: globs.clone() })
}

fn join(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

/// Whether a path leads through what another process or an open file stands for.
fn is_magic(path: &str, walked: &str) -> bool {
    let leads = |part: &str| matches!(part, "root" | "cwd" | "exe" | "fd" | "map_files" | "task");
    // Behind such a name `..` leads elsewhere than the text says, so folding may not hide it.
    let is_hidden = || {
        let mut parts = walked.split('/').skip_while(|part| *part != "proc");
        parts.any(leads) && parts.any(|part| part == "..")
    };
    path.starts_with("/dev/fd/")
        || path.strip_prefix("/proc/").is_some_and(|rest| rest.split('/').any(leads))
        || is_hidden()
}

struct Finder<'r, 'a> {
    reading: &'r Reading<'a>,
    found: Paths,
    /// Whether the script that is read makes `~` another folder.
    home_may_change: bool,
    /// Where commands stand, if that is what is looked for.
    standing: Option<Vec<TouchedPath>>,
}

impl<'r> Finder<'r, '_> {
    fn field(&mut self, text: &'r Text<'_>, folders: &Folders) {
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
        self.add(&text.text, place, access, is_guess, look(&text.text, Look::Field, self.reading), folders);
    }

    fn script(&mut self, script: &'r ReadScript<'_>, folders: &Folders) {
        let commands = &script.script.commands;
        // In a loop or a function a command may run after any `cd`, and the same `cd ..` any number of times.
        let is_ordered = !script.source.contains("done") && !script.source.contains("()");
        let chain = chain(script);
        let mut standing = folders.clone();
        self.home_may_change = script.script.sets.iter().any(|name| name == "HOME");
        let has_search_path = script.script.sets.iter().any(|name| name == "CDPATH");
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
            if self.standing.is_some() {
                let own = option_folders(command).last().map(|target| self.after(&standing, target));
                let stands = own.unwrap_or_else(|| standing.clone());
                let spots = look(".", Look::Word, self.reading).and_then(|looked| stands.spots(&looked));
                let place = Place::Word { field: script.selector.clone(), command: i, word: 0 };
                let (text, access) = (".".to_owned(), Access::Unknown);
                let here = TouchedPath { text, place, access, is_guess: true, spots };
                self.standing.get_or_insert_default().push(here);
            }
            let mut here = standing.clone();
            option_folders(command).for_each(|target| here.join(self.after(&here, target)));
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

    fn command(&mut self, script: &'r ReadScript<'_>, i: usize, command: &Command, folders: &Folders) {
        let around = || Place::Around { field: script.selector.clone(), command: i };
        self.words(script, i, command, folders);
        for redirection in &command.redirections {
            let access = match redirection.kind {
                RedirectionKind::Reads => Access::Reads,
                RedirectionKind::Writes | RedirectionKind::Appends => Access::Writes,
            };
            self.word(&redirection.target, around(), access, false, folders);
        }
        for word in &command.wrapper_places {
            if word.text.starts_with('-') {
                self.option(word, "", &around(), folders);
            } else {
                self.word(word, around(), Access::Unknown, false, folders);
            }
        }
        for (_, value) in &command.assignments {
            if starts_like_a_path(&value.text) {
                self.word(value, around(), Access::Unknown, true, folders);
            }
            self.pieces(value, &around(), folders);
        }
    }

    fn after(&self, folders: &Folders, target: Target<'_>) -> Folders {
        folders.after(self.look_at_target(target))
    }

    fn look_at_target<'w>(&self, target: Target<'w>) -> Result<Vec<Looked<'w>>, PathDoubt>
    where
        'r: 'w,
    {
        match target {
            Target::Word(word) => self.look_at_word(word),
            Target::Home if self.home_may_change => Err(PathDoubt::Home),
            Target::Home => look("~", Look::Word, self.reading),
            Target::Unknown => Err(PathDoubt::Computed),
        }
    }

    fn words(&mut self, script: &ReadScript<'_>, i: usize, command: &Command, folders: &Folders) {
        let program = command.program.as_deref().unwrap_or_default();
        let place = |word| Place::Word { field: script.selector.clone(), command: i, word };
        if let Some(first) = command.words.first()
            && first.text.contains('/')
        {
            self.word(first, place(0), Access::Runs, false, folders);
        }
        if WORD_PROGRAMS.contains(&program) {
            // They do nothing with a file, but what a pattern fits is read from a folder.
            for (w, word) in command.words.iter().enumerate().skip(1) {
                if word.known == Known::Glob && word.text.contains(['/', '~']) {
                    self.word(word, place(w), Access::Reads, true, folders);
                }
            }
            return;
        }
        if program == "git" {
            self.git(command, &place(0), folders);
        }
        let read = self.code(command, program, &place(0), folders);
        let access = FILE_PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, access)| *access);
        let mut options_end = false;
        let mut is_pattern = PATTERN_PROGRAMS.contains(&program);
        for (w, word) in command.words.iter().enumerate().skip(1) {
            let is_option = !options_end && word.text.starts_with('-');
            // What `find` puts in lies below the folders it was given, which are words of its own.
            let is_found = word.text == "{}" && is_reached_by(command, &["find"]);
            if word.text == "-" || word.text.is_empty() || is_found || read.contains(&w) {
                continue;
            }
            if is_option {
                options_end = word.text == "--";
                self.option(word, program, &place(w), folders);
                continue;
            }
            let starts = starts_like_a_path(&word.text);
            if access.is_some() || starts || is_plausible(word) {
                let is_guess = access.is_none() && (!starts || is_pattern);
                self.word(word, place(w), access.unwrap_or(Access::Unknown), is_guess, folders);
            }
            if program == "dd"
                && let Some((operand, file)) = word.text.split_once('=').filter(|(_, file)| !file.is_empty())
                && let Some(access) =
                    [("if", Access::Reads), ("of", Access::Writes)].iter().find(|it| it.0 == operand)
            {
                let file = Word { text: file.to_owned(), known: word.known };
                self.word(&file, place(w), access.1, false, folders);
            }
            self.pieces(word, &place(w), folders);
            is_pattern = false;
        }
        if is_reached_by(command, FEEDERS) {
            let spots = Err(PathDoubt::Computed);
            self.add(&command.text, place(0), access.unwrap_or(Access::Unknown), true, spots, folders);
        }
    }

    /// The files that the code of `sed` and `awk` opens by itself. Gives the words that are nothing but such code:
    /// what is in there has been read.
    fn code(&mut self, command: &Command, program: &str, place: &Place, folders: &Folders) -> Vec<usize> {
        let none = Vec::new();
        let Some(interpreter) = interpreter(program).filter(|interpreter| interpreter.is_filter()) else {
            return none;
        };
        let field =
            |word: &Word| Field { known: word.known, splits: false, ..Field::uncertain(word.text.clone()) };
        let arguments: Vec<Field> = command.words.iter().skip(1).map(field).collect();
        let Source::Inline(parts, _) = interpreter.source(&arguments) else { return none };
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
    fn git(&mut self, command: &Command, place: &Place, folders: &Folders) {
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
    fn option(&mut self, word: &Word, program: &str, place: &Place, folders: &Folders) {
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
            if value.contains('/') || starts_like_a_path(value) {
                add(value);
            }
            // `-rf/etc` may be `-r -f /etc`.
            if let Some(start) = [value.find(['/', '~']), value.find("..")].into_iter().flatten().min()
                && start > 0
                && !SINGLE_OPTION_PROGRAMS.contains(&program)
                && let Some(tail) = value.get(start..)
            {
                add(tail);
            }
        }
        self.pieces(word, place, folders);
    }

    /// Paths within a word: `if=/etc/passwd`, `host:/etc`, `@/etc/passwd`, `open('/etc/passwd')`.
    fn pieces(&mut self, word: &Word, place: &Place, folders: &Folders) {
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

    fn word(&mut self, word: &Word, place: Place, access: Access, is_guess: bool, folders: &Folders) {
        if !STREAMS.contains(&word.text.as_str()) && !is_web_address(&word.text) {
            let spots = self.look_at_word(word);
            self.add(&word.text, place, access, is_guess, spots, folders);
        }
    }

    fn look_at_word<'w>(&self, word: &'w Word) -> Result<Vec<Looked<'w>>, PathDoubt>
    where
        'r: 'w,
    {
        match word.known {
            _ if self.home_may_change && word.text.starts_with('~') => Err(PathDoubt::Home),
            Known::Certain => look(&word.text, Look::Word, self.reading),
            Known::Glob => look(&word.text, Look::Glob, self.reading),
            Known::Unknown
                if word.text.starts_with('~') && !word.text.contains(['$', '`', '(', '*', '?', '[']) =>
            {
                look(&word.text, Look::Word, self.reading)
            }
            Known::Unknown => Err(PathDoubt::Computed),
        }
    }

    fn add(
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

/// Whether one of these programs runs the command.
fn is_reached_by(command: &Command, programs: &[&str]) -> bool {
    command.reached_by.iter().filter_map(|by| by.split_whitespace().next()).any(|by| programs.contains(&by))
}

/// Where a command goes.
#[derive(Clone, Copy)]
enum Target<'c> {
    Word(&'c Word),
    Home,
    Unknown,
}

/// Where a command leaves those after it.
fn moves(command: &Command) -> Option<Target<'_>> {
    let target = command.words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.text == "-");
    match (command.program.as_deref()?, target) {
        ("cd" | "pushd", Some(word)) if !word.text.starts_with(['-', '+']) => Some(Target::Word(word)),
        ("cd", None) if command.words.len() == 1 => Some(Target::Home),
        ("cd" | "pushd" | "popd", _) => Some(Target::Unknown),
        _ => None,
    }
}

/// Where a command goes itself before it reads its other words: `tar -C /etc passwd`.
fn option_folders(command: &Command) -> impl Iterator<Item = Target<'_>> {
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

/// The first commands of a plain chain, `cd a && b && c`: each runs only after those before it, in one shell.
fn chain<'s>(script: &'s ReadScript<'_>) -> Vec<&'s str> {
    let parts: Vec<&str> = script.source.split("&&").collect();
    if parts.len() != script.script.commands.len() || script.source.contains([';', '|', '\n', '(', '`']) {
        return Vec::new();
    }
    parts.into_iter().take_while(|part| !part.contains(['&', '$', '\'', '"', '\\', '<', '>', '{'])).collect()
}

/// What is done to the path in a field of this name, and whether it is surely one; none for other fields.
fn field_access(key: &str) -> Option<(Access, bool)> {
    let in_table = |table: &[(&str, Access)], name: &str| {
        let singular = name.strip_suffix('s').unwrap_or(name);
        table.iter().find(|(known, _)| *known == name || *known == singular).map(|(_, access)| *access)
    };
    let joined: String = key.split('_').collect();
    let (first, last) = (key.split('_').next().unwrap_or(key), key.rsplit('_').next().unwrap_or(key));
    if let Some(access) = in_table(FIELDS, &joined).or_else(|| in_table(FIELDS, last)) {
        // `output_path` writes, whatever is done to a `path` alone.
        return Some((in_table(LOOSE_FIELDS, first).unwrap_or(access), true));
    }
    in_table(LOOSE_FIELDS, &joined).or_else(|| in_table(LOOSE_FIELDS, last)).map(|access| (access, false))
}

/// Whether a value is a path by its look, whatever its field is called.
fn looks_like_a_path(text: &str) -> bool {
    let text = text.trim();
    let is_one_word = || !text.contains(char::is_whitespace);
    text.len() <= PATH_BYTES_MAX
        && !text.contains(['\n', '\r'])
        && ((starts_like_a_path(text) && text.len() > 1)
            || has_drive(text)
            || text.starts_with("\\\\")
            || is_file_address(text)
            || ((text.contains("../") || text.contains("..\\")) && is_one_word()))
}

fn starts_like_a_path(text: &str) -> bool {
    matches!(text, "." | ".." | "~")
        || ["/", "~", "./", "../", "$HOME", "${HOME}"].iter().any(|start| text.starts_with(start))
}

/// Whether a bare word of a command might be a path: words of prose and code are none.
fn is_plausible(word: &Word) -> bool {
    word.known != Known::Certain
        || !word.text.contains(|c: char| c.is_whitespace() || "'\"`(){};<>|".contains(c))
}

/// Whether a text is a URL of a kind that names no file here.
fn is_web_address(text: &str) -> bool {
    // A tool that takes it for a path after all would climb.
    !text.contains("..")
        && !is_file_address(text)
        && text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
}

fn is_file_address(text: &str) -> bool {
    text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"))
}

fn has_drive(text: &str) -> bool {
    let mut start = text.chars();
    start.next().is_some_and(|c| c.is_ascii_alphabetic())
        && start.next() == Some(':')
        && start.next().is_none_or(|c| c == '/' || c == '\\')
}

/// How a text comes to whoever opens it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// As a field of a tool we know nothing of: it may trim, decode and expand.
    Field,
    /// As a word of a command, which is taken as it is.
    Word,
    /// As a pattern a shell replaces by the files it fits.
    Glob,
}

/// A path as it will be opened, still relative if it was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Looked<'t> {
    text: Cow<'t, str>,
    is_pattern: bool,
    /// What is matched below, where a shell does it.
    globs: Option<Vec<String>>,
}

/// The paths a text may stand for.
fn look<'t>(text: &'t str, how: Look, reading: &'t Reading<'_>) -> Result<Vec<Looked<'t>>, PathDoubt> {
    if text.len() > PATH_BYTES_MAX {
        return Err(PathDoubt::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(PathDoubt::ControlCharacter);
    }
    if text.chars().any(is_look_alike) {
        return Err(PathDoubt::LookAlike);
    }
    if is_file_address(text) {
        let text = Cow::Owned(file_of_address(text)?);
        return Ok(vec![Looked { text, is_pattern: false, globs: None }]);
    }
    if how == Look::Field {
        check_field(text)?;
    } else {
        check_word(text)?;
    }
    let mut looked = Vec::with_capacity(1);
    if let Some(expanded) = expand(text, how, reading)? {
        looked.push(pattern(expanded, how)?);
        if how != Look::Field {
            return Ok(looked);
        }
        // The tool may as well open a folder that is really called `$HOME`.
        looked.push(pattern(Cow::Owned(format!("./{text}")), how)?);
    } else {
        looked.push(pattern(Cow::Borrowed(text), how)?);
    }
    Ok(looked)
}

/// Doubts about a text that an unknown tool will read in its own way.
fn check_field(text: &str) -> Result<(), PathDoubt> {
    if has_drive(text) || text.starts_with("\\\\") || (text.starts_with("//") && !text.starts_with("///")) {
        return Err(PathDoubt::Elsewhere);
    }
    if text.contains('\\') {
        return Err(PathDoubt::Backslash);
    }
    if has_escapes(text) {
        return Err(PathDoubt::Encoded);
    }
    let is_loose = |part: &str| {
        part.starts_with(' ') || part.ends_with(' ') || (part.ends_with('.') && !matches!(part, "." | ".."))
    };
    if text.trim() != text || text.split('/').any(is_loose) {
        return Err(PathDoubt::LooseEnd);
    }
    Ok(())
}

/// A shell hands on a backslash as it is; some programs then take it for a slash.
fn check_word(text: &str) -> Result<(), PathDoubt> {
    let folded = || text.replace('\\', "/");
    if text.contains('\\')
        && (has_drive(text) || text.starts_with('\\') || folded().split('/').any(|part| part == ".."))
    {
        return Err(PathDoubt::Backslash);
    }
    Ok(())
}

/// The text with a home folder or variable at its start put in; none if it has none.
fn expand<'t>(text: &'t str, how: Look, reading: &'t Reading<'_>) -> Result<Option<Cow<'t, str>>, PathDoubt> {
    let put_in = |name: &str, rest: &str| {
        let value =
            reading.variable(name).filter(|value| value.starts_with('/') && !value.contains(['$', '\0']))?;
        Some(Cow::Owned(format!("{value}{rest}")))
    };
    if let Some(rest) = text.strip_prefix('~') {
        let home = if rest.is_empty() || rest.starts_with('/') { put_in("HOME", rest) } else { None };
        return home.map(Some).ok_or(PathDoubt::Home);
    }
    // In a script `$` is only left where it means itself.
    if how != Look::Field || !text.contains(['$', '%']) {
        return Ok(None);
    }
    let named = text.strip_prefix('$').and_then(|rest| match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}'),
        None => rest.split_at_checked(
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()),
        ),
    });
    match named {
        Some((name, rest)) if !rest.contains('$') && (rest.is_empty() || rest.starts_with('/')) => {
            put_in(name, rest).map(Some).ok_or(PathDoubt::Variable)
        }
        _ if text.contains('$') || text.matches('%').count() > 1 => Err(PathDoubt::Variable),
        _ => Ok(None),
    }
}

/// Cuts a pattern down to the folder that all it fits lies in.
fn pattern(text: Cow<'_, str>, how: Look) -> Result<Looked<'_>, PathDoubt> {
    let has_braces = |part: &str| part.contains('{') && !part.starts_with("${");
    let is_glob = |part: &&str| part.contains(['*', '?', '[']) || has_braces(part);
    if how == Look::Word || !text.split('/').any(|part| is_glob(&part)) {
        return Ok(Looked { text, is_pattern: false, globs: None });
    }
    let fixed: Vec<&str> = text.split('/').take_while(|part| !is_glob(part)).collect();
    let mut after = text.split('/').skip(fixed.len());
    // `.*` fits `..` in some shells, and braces may hold anything.
    if after.any(|part| part == ".." || has_braces(part) || may_climb(part)) {
        return Err(PathDoubt::Glob);
    }
    let folder = match fixed.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        fixed => fixed.join("/"),
    };
    // A tool that is no shell may match in its own way.
    let globs = (how == Look::Glob && !text.contains("**"))
        .then(|| text.split('/').skip(fixed.len()).map(ToOwned::to_owned).collect());
    Ok(Looked { text: Cow::Owned(folder), is_pattern: true, globs })
}

/// Whether a pattern may fit `..`: only one that starts with a dot can, and not if it holds a name.
fn may_climb(part: &str) -> bool {
    part.starts_with('.') && !part.contains(|c: char| c.is_alphanumeric())
}

/// The path in a `file:` URL, decoded once.
fn file_of_address(text: &str) -> Result<String, PathDoubt> {
    let address = Url::parse(text).map_err(|_| PathDoubt::Encoded)?;
    let after_scheme = text.trim_start().get(5..).unwrap_or_default();
    if !after_scheme.starts_with('/') {
        // By the rules it starts at the root; programs that merely cut `file:` off start elsewhere.
        return Err(PathDoubt::Folder);
    }
    if text.contains('\\') {
        return Err(PathDoubt::Backslash);
    }
    if address.host_str().is_some_and(|host| !host.is_empty() && host != "localhost") {
        return Err(PathDoubt::Elsewhere);
    }
    let path = decode(address.path()).ok_or(PathDoubt::Encoded)?;
    if has_escapes(&path) {
        return Err(PathDoubt::Encoded);
    }
    if path.chars().any(is_look_alike) {
        return Err(PathDoubt::LookAlike);
    }
    if has_drive(path.trim_start_matches('/')) {
        return Err(PathDoubt::Elsewhere);
    }
    Ok(path)
}

/// Whether a `%` with two digits behind it is in the text.
fn has_escapes(text: &str) -> bool {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    bytes
        .iter()
        .enumerate()
        .any(|(i, byte)| *byte == b'%' && is_hex(bytes.get(i + 1)) && is_hex(bytes.get(i + 2)))
}

/// Replaces each `%2e` by what it stands for, once. None if the outcome is no text.
fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        decoded.push(escaped.unwrap_or(*first));
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8(decoded).ok()
}

/// Whether some program may take the character for a slash, a dot, a tilde or a dollar, or nobody can see it.
fn is_look_alike(c: char) -> bool {
    matches!(
        c,
        '\u{2024}'..='\u{2026}' // dot leaders
        | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{2571}' | '\u{1735}' // slashes
        | '\u{2100}' | '\u{2101}' | '\u{2105}' | '\u{2106}' // letters about a slash
        | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}' // backslashes
        | '\u{3002}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}' // full stops
        | '\u{2488}'..='\u{249b}' // digits with a full stop
        | '\u{223c}' | '\u{ff5e}' | '\u{ff04}' | '\u{fe69}' | '\u{ff05}' | '\u{fe6a}'
        | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::json::selector::Selector;
    use crate::shell::script::{Redirection, Script};

    /// The paths of one command as a script's reader would hand it on.
    fn see(command: Command) -> Vec<(String, Access)> {
        let mut call = Call::new("1", "bash");
        call.about.cwd = Some("/desk".into());
        let mut reading = Reading::of(&call);
        let script = Script { commands: vec![command], ..Script::default() };
        let selector = Selector::parse("command").unwrap();
        reading.scripts.push(ReadScript { source: Cow::Borrowed(""), selector, script });
        let shown = |path: TouchedPath| match path.spots {
            Ok(spots) => (spots[0].path.clone(), path.access),
            Err(doubt) => (format!("?{doubt:?}"), path.access),
        };
        reading.paths().touched.into_iter().map(shown).collect()
    }

    fn word(text: &str, known: Known) -> Word {
        Word { text: text.into(), known }
    }

    fn cat() -> Command {
        let mut command = crate::read_script("cat").commands.remove(0);
        command.redirections.clear();
        command
    }

    #[test]
    fn a_redirection_touches_its_file() {
        let rows = [
            (RedirectionKind::Reads, "../x", Known::Certain, vec![("/x", Access::Reads)]),
            (RedirectionKind::Writes, "/etc/x", Known::Certain, vec![("/etc/x", Access::Writes)]),
            (RedirectionKind::Appends, "a", Known::Certain, vec![("/desk/a", Access::Writes)]),
            (RedirectionKind::Writes, "$x", Known::Unknown, vec![("?Computed", Access::Writes)]),
            (RedirectionKind::Writes, "/dev/null", Known::Certain, vec![]),
        ];
        for (kind, target, known, seen) in rows {
            let redirections = vec![Redirection { kind, target: word(target, known) }];
            let expected: Vec<_> = seen.into_iter().map(|(path, access)| (path.to_owned(), access)).collect();
            assert_eq!(see(Command { redirections, ..cat() }), expected, "{target}");
        }
    }

    #[test]
    fn a_shell_pattern_stands_for_the_folder_it_looks_in() {
        for (pattern, seen) in
            [("src/*.rs", "/desk/src"), ("../*/x", "/"), ("*/../../x", "?Glob"), (".*", "?Glob")]
        {
            let words = vec![word("cat", Known::Certain), word(pattern, Known::Glob)];
            assert_eq!(see(Command { words, ..cat() }), [(seen.to_owned(), Access::Reads)], "{pattern}");
        }
    }

    #[test]
    fn what_comes_from_elsewhere_is_a_doubt() {
        let reached_by = vec!["xargs".to_owned()];
        assert_eq!(see(Command { reached_by, ..cat() }), [("?Computed".to_owned(), Access::Reads)]);
    }

    #[test]
    fn what_find_puts_in_is_seen_where_it_starts() {
        let words = vec![word("cat", Known::Certain), word("{}", Known::Unknown), word("a", Known::Certain)];
        let reached_by = vec!["find -exec".to_owned()];
        assert_eq!(see(Command { words, reached_by, ..cat() }), [("/desk/a".to_owned(), Access::Reads)]);
    }

    #[test]
    fn what_is_set_for_a_command_may_name_a_file() {
        let assignments = vec![("A".to_owned(), word("/etc/x", Known::Certain))];
        assert_eq!(see(Command { assignments, ..cat() }), [("/etc/x".to_owned(), Access::Unknown)]);
    }
}
