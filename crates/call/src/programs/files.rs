//! What a program does with the files its words name, and with those that they do not name.

use super::names::has;

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

/// What a program does with files.
#[derive(Clone, Copy, Debug)]
pub struct FileUse {
    /// What it does with each word that is not an option; none where such a word need not be a path.
    pub(crate) operands: Option<Access>,
    /// What it does with the files of words such as `of=x`.
    pub(crate) assigned: &'static [(&'static str, Access)],
    /// The most that it does to a file its words name.
    pub(crate) change: Change,
    /// Whether its first word is a pattern or a piece of code, as a rule.
    pub(crate) pattern_first: bool,
    /// Whether its short options are never written together, so that `-Isrc/a` is `src/a` and never `/a`.
    pub(crate) single_options: bool,
    /// How it shows whole files, where a rule may count on it.
    pub(crate) shows: Option<Shows>,
    /// Whether it takes commands of its own language while it shows a file, and `+x` among its words as one.
    pub(crate) is_pager: bool,
    /// When it goes into the folders below those it is given.
    pub(crate) walks: Walks,
    /// Whether it goes into the folder it stands in where it is given none.
    pub(crate) walks_here: bool,
    /// How it looks for something in files.
    pub(crate) search: Search,
    /// How it changes files that its words do not name.
    pub(crate) spread: Spread,
    /// Where it leaves the commands after it.
    pub(crate) moves: Option<Moves>,
    /// What it writes to its standard output.
    pub(crate) output: Output,
    /// Options by which it takes names of files from a file or from its standard input.
    pub(crate) lists: &'static str,
}

/// The most that a program does to a file its words name, from nothing to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing: its words are no files.
    Nothing,
    /// It reads them.
    Reads,
    /// It makes them where they are not there yet.
    Makes,
    /// It does not change what is in them, but may remove them or change who may use them.
    Keeps,
    /// It gives a file a second name or place.
    Copies,
    /// It may do anything to them.
    Anything,
}

/// How a program shows whole files.
#[derive(Clone, Copy, Debug)]
pub struct Shows {
    /// The letters of options under which it still shows all of a file.
    pub flags: &'static str,
    /// Whether it takes a count of lines or bytes.
    pub counts: bool,
}

/// When a program goes into the folders below those it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walks {
    /// Never.
    Never,
    /// With an option such as `-r`, `-R` or `-a`.
    IfRecursive,
    /// With `-R` alone: its `-r` and `-a` mean something else.
    IfListing,
    /// Always.
    Always,
}

/// How a program looks for something in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// It does not.
    None,
    /// Its first word is what it looks for in the contents of files.
    Contents,
    /// Its first word is what it looks for among the names of files.
    Names,
    /// What it looks for begins with its first option.
    Expression,
}

/// How a program changes files that its words do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// It does not.
    None,
    /// By what git is told to do.
    Git,
    /// By what `find` does with what it finds.
    Find,
    /// `cp -r a/. b`: it copies what lies in a folder.
    Copies,
    /// It fills the folder that its last word names.
    LastWord,
    /// It fills the folder it stands in.
    Here,
    /// The same, where its letters say that it extracts.
    Extracts,
    /// The same, where its first word has an `x`.
    ExtractsFirst,
    /// The same, unless it only lists; `-d` names another folder.
    Unzips,
    /// The same with `x` or `e`; `-oout` names another folder.
    ExtractsByWord,
    /// It changes files in the folder it stands in, or in that of `-d`.
    Patches,
    /// It does so with a module for archives: `python -m zipfile -e`.
    ExtractsByModule,
    /// `rm -r`: it removes all that is computed.
    Removes,
    /// The same without an option.
    Moves,
}

/// Where a program leaves the commands after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    /// In the folder it is given, or at home.
    IntoOrHome,
    /// In the folder it is given, or in one from before.
    Into,
    /// In a folder from before.
    Back,
}

/// What a program writes to its standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Something that only its run shows.
    Unknown,
    /// Its words and a new line.
    Words,
    /// Its first word, with the others put in.
    Format,
    /// The files it is given, or its standard input.
    Input,
    /// Its standard input, which it writes to the files it is given as well.
    Tee,
}

impl FileUse {
    /// A program of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        operands: None,
        assigned: &[],
        change: Change::Anything,
        pattern_first: false,
        single_options: false,
        shows: None,
        is_pager: false,
        walks: Walks::Never,
        walks_here: false,
        search: Search::None,
        spread: Spread::None,
        moves: None,
        output: Output::Unknown,
        lists: "",
    };

    /// A program whose words are no files.
    pub(crate) const NONE: Self = Self { change: Change::Nothing, ..Self::UNKNOWN };

    /// A program that only reads what its words name, some of which need not be files.
    pub(crate) const READ: Self = Self { change: Change::Reads, ..Self::UNKNOWN };

    /// A program that reads the files its words name.
    pub(crate) const READER: Self = Self { operands: Some(Access::Reads), ..Self::READ };

    /// A program that does not change what is in files.
    pub(crate) const KEEPER: Self = Self { change: Change::Keeps, ..Self::UNKNOWN };

    /// A program that makes, changes or removes the files its words name.
    pub(crate) const WRITER: Self = Self { operands: Some(Access::Writes), ..Self::UNKNOWN };

    /// Whether a word tells it to take names of files from elsewhere. Long options may be cut short, short ones glued
    /// together.
    pub(crate) fn takes_names(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or_default();
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        self.lists.split_ascii_whitespace().any(|option| match (option.strip_prefix("--"), letters) {
            (Some(_), None) => name.len() > 5 && option.starts_with(name),
            (None, Some(letters)) => letters.contains(option.trim_start_matches('-')),
            _ => false,
        })
    }

    /// The most that it does to a file its words name.
    #[must_use]
    pub fn change(&self) -> Change {
        self.change
    }

    /// How it shows whole files, where a rule may count on it.
    #[must_use]
    pub fn shows(&self) -> Option<Shows> {
        self.shows
    }

    /// When it goes into the folders below those it is given.
    #[must_use]
    pub fn walks(&self) -> Walks {
        self.walks
    }

    /// Whether it goes into the folder it stands in where it is given none.
    #[must_use]
    pub fn walks_here(&self) -> bool {
        self.walks_here
    }

    /// How it looks for something in files.
    #[must_use]
    pub fn search(&self) -> Search {
        self.search
    }

    /// How it changes files that its words do not name.
    #[must_use]
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Whether it leaves the commands after it in a folder that its words name.
    #[must_use]
    pub fn moves_into(&self) -> bool {
        matches!(self.moves, Some(Moves::IntoOrHome | Moves::Into))
    }
}

impl Search {
    /// Whether the word after an option of such a program is its value.
    #[must_use]
    pub fn takes_value(self, option: &str) -> bool {
        self == Self::Contents && has(SEARCH_VALUED, option)
    }

    /// Whether an option of such a program gives what it looks for.
    #[must_use]
    pub fn is_pattern(self, option: &str) -> bool {
        self == Self::Contents && has("-e -f --regexp --file", option)
    }

    /// Whether its first word is what it looks for, unless an option is.
    #[must_use]
    pub fn takes_pattern(self) -> bool {
        matches!(self, Self::Contents | Self::Names)
    }
}

/// Options with a value of programs that search in files.
const SEARCH_VALUED: &str = "-A -B -C -D -d -g -j -m -M -t -T --after-context --before-context --color --context \
    --exclude --exclude-dir --glob --include --max-count --type";
