//! What calls may reach, as an author writes it and ready to judge.

use lockgate_call::{Files, HostPattern, SeenCall, TouchedHost, path::is_under, visible};
use regex::Regex;

use super::places::Place;

/// How many of the commands that may run are named in a refusal.
const COMMANDS_SHOWN_MAX: usize = 12;

/// What calls may reach, as an author writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundaries {
    /// Folders that every path must lie in; empty for no boundary.
    pub within: Vec<String>,
    /// Folders that no path may lie in.
    pub not_within: Vec<String>,
    /// Programs that may run, by name or, with a folder, as written; none for no boundary.
    pub commands: Option<Vec<String>>,
    /// Hosts that may be reached, as globs; none for no boundary.
    pub domains: Option<Vec<String>>,
    /// Hosts that may not be reached, as globs.
    pub not_domains: Vec<String>,
}

/// What calls may reach, ready to judge.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub(super) boundaries: Boundaries,
    pub(super) within: Vec<Folder>,
    pub(super) not_within: Vec<Folder>,
    pub(super) domains: Option<Vec<Domain>>,
    pub(super) not_domains: Vec<Domain>,
    /// Whether its folders are places of each call: `./src`, `project`, `secrets`.
    pub(super) has_places: bool,
}

/// An entry of a boundary that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// A folder that no path could lie in.
    #[error("`{0}` is not a folder: write a path without control characters, from `/` on")]
    Folder(String),
    /// A host that no address could have.
    #[error("`{0}` is not a host: write a name such as `example.com`, or a pattern such as `*.example.com`")]
    Domain(String),
    /// A program without a name.
    #[error("`{0}` is not a program: write its name, without options")]
    Command(String),
}

#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) text: String,
    /// The folder behind all links.
    pub(super) real: String,
    /// What lies in it, where it is not one folder: `secrets`, `**/dist`.
    pub(super) place: Option<Place>,
}

#[derive(Clone, Debug)]
pub(super) enum Domain {
    Host(HostPattern),
    Glob(Regex),
}

impl Sandbox {
    /// Reads the boundaries.
    ///
    /// # Errors
    /// A [`SandboxError`] for the first entry that means nothing: one that never fits would silently open a gate,
    /// or close it.
    pub fn new(boundaries: Boundaries) -> Result<Self, SandboxError> {
        let folders = |folders: &[String]| {
            folders.iter().map(|text| Folder::parse(text)).collect::<Result<Vec<_>, _>>()
        };
        let domains = |domains: &[String]| {
            domains.iter().map(|text| Domain::parse(text)).collect::<Result<Vec<_>, _>>()
        };
        let is_program = |name: &&String| !name.is_empty() && !name.contains(char::is_whitespace);
        if let Some(name) = boundaries.commands.iter().flatten().find(|name| !is_program(name)) {
            return Err(SandboxError::Command(name.clone()));
        }
        Ok(Self {
            within: folders(&boundaries.within)?,
            not_within: folders(&boundaries.not_within)?,
            domains: boundaries.domains.as_deref().map(domains).transpose()?,
            not_domains: domains(&boundaries.not_domains)?,
            has_places: false,
            boundaries,
        })
    }

    /// Reads boundaries as sentences write them: `./src` lies below the folder of the call, `~/notes` in the home of its
    /// user, and `project`, `home`, `temp`, `system`, `secrets`, `startup`, `artifacts` and globs are places.
    ///
    /// # Errors
    /// As of [`Sandbox::new`].
    pub fn of_places(boundaries: Boundaries) -> Result<Self, SandboxError> {
        let is_folder = |text: &String| text.starts_with('/') && !text.contains(['*', '?']);
        if boundaries.within.iter().chain(&boundaries.not_within).all(is_folder) {
            return Self::new(boundaries);
        }
        let has_text = |text: &String| !text.is_empty() && !text.chars().any(char::is_control);
        let folders = |folders: &[String]| -> Result<Vec<Folder>, SandboxError> {
            let wrong = folders.iter().find(|text| !has_text(text));
            wrong.map_or(Ok(Vec::new()), |text| Err(SandboxError::Folder(visible(text))))
        };
        let (within, not_within) = (folders(&boundaries.within)?, folders(&boundaries.not_within)?);
        let Boundaries { within: inner, not_within: outer, .. } = boundaries.clone();
        let rest = Self::new(Boundaries { within: Vec::new(), not_within: Vec::new(), ..boundaries })?;
        let boundaries = Boundaries { within: inner, not_within: outer, ..rest.boundaries };
        Ok(Self { boundaries, within, not_within, has_places: true, ..rest })
    }

    /// The same with the folders that its places are to a call; none where it has no places.
    pub(super) fn at(&self, call: &SeenCall) -> Option<Self> {
        let folders = |places: &[String]| places.iter().flat_map(|place| Folder::at(place, call)).collect();
        self.has_places.then(|| Self {
            within: folders(&self.boundaries.within),
            not_within: folders(&self.boundaries.not_within),
            ..self.clone()
        })
    }

    /// Whether its folders are places of each call, as sentences write them.
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.has_places
    }

    /// The boundaries as they were written.
    #[must_use]
    pub fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    /// Follows the links of the boundaries themselves, once: a folder is then known by both its names. For policies
    /// that are opened on the machine that the tools run on.
    pub fn resolve(&mut self, files: &dyn Files) {
        for folder in self.within.iter_mut().chain(&mut self.not_within) {
            if let Some(real) = files.canonical(&folder.text) {
                folder.real = real;
            }
        }
    }

    pub(super) fn bounds_paths(&self) -> bool {
        !self.boundaries.within.is_empty() || !self.boundaries.not_within.is_empty()
    }

    pub(super) fn bounds_hosts(&self) -> bool {
        self.domains.is_some() || !self.not_domains.is_empty()
    }

    /// The commands that may run, as they are shown.
    pub(super) fn may_run(&self) -> String {
        let all = self.boundaries.commands.iter().flatten();
        let names: Vec<String> =
            all.clone().take(COMMANDS_SHOWN_MAX).map(|name| format!("`{name}`")).collect();
        match all.count().saturating_sub(names.len()) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

impl Folder {
    fn parse(text: &str) -> Result<Self, SandboxError> {
        // What nothing can lie in, not even itself, is not a folder.
        if !is_under(text, text, None) {
            return Err(SandboxError::Folder(visible(text)));
        }
        Ok(Self { text: text.to_owned(), real: text.to_owned(), place: None })
    }

    /// The folders that a place is to a call.
    fn at(place: &str, call: &SeenCall) -> Vec<Self> {
        let Some(folders) = Place::folders(place, call) else {
            let text = place.to_owned();
            return vec![Self { real: text.clone(), text, place: Some(Place::new(place, call)) }];
        };
        let links = call.links();
        let real = |folder: &str| links.and_then(|links| links.canonical(folder));
        let folder =
            |text: String| Self { real: real(&text).unwrap_or_else(|| text.clone()), text, place: None };
        folders.into_iter().map(folder).collect()
    }

    /// Whether a path, as text, is the folder or lies in it, under one of its names.
    pub(super) fn holds(&self, path: &str) -> bool {
        if let Some(place) = &self.place {
            return place.holds(path);
        }
        is_under(path, &self.text, None) || is_under(path, &self.real, None)
    }

    /// The same where capital letters are small ones, as on some machines.
    pub(super) fn may_hold(&self, path: &str) -> bool {
        if let Some(place) = &self.place {
            return place.may_hold(path);
        }
        let path = path.to_lowercase();
        [&self.text, &self.real].iter().any(|folder| is_under(&path, &folder.to_lowercase(), None))
    }

    /// Whether it lies in the folder at a path.
    pub(super) fn lies_below(&self, path: &str) -> bool {
        // Where such a place is, is known path by path only.
        if self.place.is_some() {
            return true;
        }
        is_under(&self.text, path, None) || is_under(&self.real, path, None)
    }
}

impl Domain {
    fn parse(text: &str) -> Result<Self, SandboxError> {
        let wrong = || SandboxError::Domain(visible(text));
        if let Ok(pattern) = HostPattern::parse(text) {
            return Ok(Self::Host(pattern));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.*?[]!:".contains(c);
        if !text.contains(['*', '?', '[']) || !text.chars().all(is_plain) {
            return Err(wrong());
        }
        Regex::new(&glob_as_regex(text)).map(Self::Glob).map_err(|_| wrong())
    }

    pub(super) fn fits(&self, host: &TouchedHost) -> bool {
        match self {
            Self::Host(pattern) => host.matches(pattern),
            Self::Glob(glob) => host.host.as_ref().is_ok_and(|host| glob.is_match(host.name())),
        }
    }
}

/// A glob over host names: a star also stands for dots.
fn glob_as_regex(glob: &str) -> String {
    let mut regex = String::from("(?i)^");
    let mut letters = glob.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => match letters.as_str().split_once(']').filter(|(set, _)| !set.is_empty()) {
                Some((set, after)) => {
                    let (sign, set) = set.strip_prefix('!').map_or(("", set), |set| ("^", set));
                    regex.push_str(&format!("[{sign}{}]", set.replace(['[', '^', '&'], "")));
                    letters = after.chars();
                }
                None => regex.push_str(r"\["),
            },
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    regex + "$"
}
