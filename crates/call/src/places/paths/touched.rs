//! A path that a call touches, and the places where it may lead.

use crate::contents::{Place, Unseen};
use crate::glob::fits;
use crate::places::path::{PathDoubt, lies_in, normalise};
use crate::places::version_change::VersionChange;
use crate::programs::files::Access;

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
    pub(super) globs: Option<Vec<String>>,
}

/// The files of the machine the call runs on, as a door on the same machine sees them.
pub trait Files {
    /// The path without links, where its last parts need not exist yet; none if it cannot be told.
    fn canonical(&self, path: &str) -> Option<String>;

    /// The text of a small file; none where it cannot be read or is too long.
    fn text(&self, _path: &str) -> Option<String> {
        None
    }

    /// The absolute paths of the files that a change by version control would make others, from a folder; none if it
    /// cannot be told. The command is not run, nor anything that the settings of the work tree name.
    fn changed_by(&self, _folder: &str, _change: &VersionChange) -> Option<Vec<String>> {
        None
    }
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
    pub(super) fn lies(&self, folder: &str, files: Option<&dyn Files>) -> Option<bool> {
        let by_text = lies_in(&self.path, folder)?;
        let Some(files) = files else {
            return Some(by_text);
        };
        Some(by_text && lies_in(&self.canonical(files)?, &files.canonical(folder)?)?)
    }

    pub(super) fn may_lie(&self, folder: &str, files: Option<&dyn Files>) -> bool {
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
    pub(crate) fn may_match_in(&self, start: &str, folder: &str) -> bool {
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
