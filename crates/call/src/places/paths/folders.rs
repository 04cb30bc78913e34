//! The folders that a relative path may start from.

use super::look::{Look, Looked, look};
use super::tables::FOLDER_FIELDS;
use super::touched::Spot;
use crate::call::Call;
use crate::contents::Contents;
use crate::places::path::{PathDoubt, normalise};

/// The most folders a relative path may start from.
pub(super) const FOLDERS_MAX: usize = 8;

/// The folders a relative path may start from. None stands for one that nobody told us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    pub(super) known: Vec<Option<String>>,
    /// Whether it may also start from a folder that is computed.
    pub(super) unknown: bool,
}

impl Folders {
    /// These, and those that fields of the call name: a tool may heed such a field or not.
    pub(super) fn with_fields(&self, call: &Call, contents: &Contents) -> Self {
        let mut folders = self.clone();
        for text in contents.texts.iter().filter(|text| FOLDER_FIELDS.contains(&text.key.as_str())) {
            folders.join(self.after(look(&text.text, Look::Field, call)));
        }
        folders
    }

    /// What each folder becomes by going to another one.
    pub(super) fn after(&self, target: Result<Vec<Looked<'_>>, PathDoubt>) -> Self {
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
    pub(super) fn extend(&mut self, folders: impl IntoIterator<Item = Option<String>>) {
        for folder in folders {
            let is_full = self.known.len() >= FOLDERS_MAX;
            match self.known.contains(&folder) {
                true => {}
                false if is_full => self.unknown = true,
                false => self.known.push(folder),
            }
        }
    }

    pub(super) fn join(&mut self, others: Self) {
        self.unknown |= others.unknown;
        self.extend(others.known);
    }

    pub(super) fn spots(&self, looked: &[Looked<'_>]) -> Result<Vec<Spot>, PathDoubt> {
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

pub(super) fn spot(looked: &Looked<'_>, folder: Option<&str>) -> Result<Spot, PathDoubt> {
    let Looked { text, is_pattern, globs } = looked;
    let path = normalise(text, folder)?;
    let walked = join(folder, text);
    if is_magic(&path, &walked) {
        return Err(PathDoubt::Magic);
    }
    Ok(Spot { path, is_pattern: *is_pattern, walked, globs: globs.clone() })
}

pub(super) fn join(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

/// Whether a path leads through what another process or an open file stands for.
pub(super) fn is_magic(path: &str, walked: &str) -> bool {
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
