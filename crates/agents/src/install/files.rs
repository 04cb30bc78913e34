//! The files of an installation: read first, shown as a whole, then written one by one.
//!
//! [`Plan`] holds what every file was and shall be. Each is replaced by a new file with the old one's permissions, so
//! a reader sees one or the other. A link is followed only to a file inside the same folder tree: a
//! project could otherwise have us write anywhere. There is no undo: a file that fails after others were written is
//! told, with the others.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use lockgate::engine::call::visible;
use similar::TextDiff;

use crate::{
    agents::Agent,
    edit::{Mistake, SETTINGS_BYTES_MAX},
};

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// For whom; none for files of Lockgate itself.
    pub agent: Option<Agent>,
    /// The file.
    pub path: PathBuf,
    /// None: there is no such file.
    pub before: Option<String>,
    /// None: the file is deleted.
    pub after: Option<String>,
}

impl Change {
    /// What happens to the file, in a word.
    pub fn word(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        }
    }

    /// The change as people know it from `diff -u`.
    pub fn diff(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = |text: &Option<String>| match text {
            Some(_) => self.path.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let (before, after) = (text(&self.before), text(&self.after));
        let diff = TextDiff::from_lines(&before, &after);
        diff.unified_diff().header(&name(&self.before), &name(&self.after)).to_string()
    }
}

/// Why a file cannot be edited.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FileError(String);

impl FileError {
    pub(crate) fn mistaken(file: &Path, mistake: Mistake) -> Self {
        let Mistake { line, reason, remedy } = mistake;
        let line = if line == 0 { String::new() } else { format!(":{line}") };
        Self(visible(&format!("{}{line}: {reason}; {remedy}", file.display())))
    }

    pub(crate) fn no_home() -> Self {
        Self("the home folder is not known; set `HOME`, or leave `--user` out".to_owned())
    }

    fn io(what: &str, file: &Path, error: &io::Error) -> Self {
        Self(visible(&format!("cannot {what} `{}`: {error}", file.display())))
    }

    fn said(file: &Path, text: &str) -> Self {
        Self(visible(&format!("{}: {text}", file.display())))
    }
}

/// All changes, none of them made yet.
#[derive(Debug)]
pub struct Plan {
    /// The folder that files have to lie in where links lead somewhere.
    top: PathBuf,
    changes: Vec<Change>,
}

impl Plan {
    pub(crate) fn new(top: &Path) -> Self {
        Self { top: top.to_path_buf(), changes: Vec::new() }
    }

    /// What is to be changed; files that stay as they are are not among it.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.before != change.after)
    }

    /// All files that were looked at.
    pub fn all(&self) -> &[Change] {
        &self.changes
    }

    /// Adds a change; one of the same file goes on from where the other ended.
    pub fn put(&mut self, change: Change) {
        match self.changes.iter_mut().find(|other| other.path == change.path) {
            Some(other) => other.after = change.after,
            None => self.changes.push(change),
        }
    }

    /// The text that a file will have after all that is planned so far.
    pub(crate) fn planned(&self, file: &Path) -> Result<Option<String>, FileError> {
        match self.changes.iter().find(|change| change.path == file) {
            Some(change) => Ok(change.after.clone()),
            None => self.read(file),
        }
    }

    /// The text of a file; none where there is no such file.
    pub fn read(&self, file: &Path) -> Result<Option<String>, FileError> {
        let real = self.real(file)?;
        match fs::metadata(&real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileError::io("read", file, &error)),
            Ok(data) if !data.is_file() => {
                return Err(FileError::said(file, "it is not a file; move it away"));
            }
            Ok(data) if data.len() > SETTINGS_BYTES_MAX as u64 => {
                let text = format!(
                    "it is larger than {SETTINGS_BYTES_MAX} bytes; check that this is the right file"
                );
                return Err(FileError::said(file, &text));
            }
            Ok(_) => {}
        }
        fs::read_to_string(&real).map(Some).map_err(|error| FileError::io("read", file, &error))
    }

    /// Makes every change, in order; what was made before a failure stays.
    pub fn carry_out(&self) -> Result<(), FileError> {
        // A change that was written meanwhile must not be lost.
        for change in self.changes() {
            if self.read(&change.path)? != change.before {
                return Err(FileError::said(&change.path, "it has changed meanwhile; try again"));
            }
        }
        for change in self.changes() {
            let real = self.real(&change.path)?;
            let done = match &change.after {
                Some(text) => replace(&real, text),
                None => self.delete(&real),
            };
            done.map_err(|error| FileError::io("write", &change.path, &error))?;
        }
        Ok(())
    }

    /// Where a file really is, all links followed. One outside of the folder we work in is refused, unless only its
    /// own name led there.
    fn real(&self, file: &Path) -> Result<PathBuf, FileError> {
        let mut existing = file;
        let mut missing: Vec<&OsStr> = Vec::new();
        let found = loop {
            match fs::symlink_metadata(existing) {
                Ok(_) => {
                    break fs::canonicalize(existing)
                        .map_err(|error| FileError::io("follow", file, &error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FileError::io("read", file, &error)),
            }
            let (Some(folder), Some(name)) = (existing.parent(), existing.file_name()) else {
                return Err(FileError::said(file, "it is not in any folder"));
            };
            missing.push(name);
            existing = folder;
        };
        let real = missing.iter().rev().fold(found, |path, name| path.join(name));
        // A folder that a variable names, as that of Codex, need not lie below the home folder.
        let top =
            if file.starts_with(&self.top) { self.top.as_path() } else { file.parent().unwrap_or(&self.top) };
        let top = fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
        match real.starts_with(&top) {
            true => Ok(real),
            false => {
                let text =
                    format!("it is a link that leads out to `{}`; edit that file yourself", real.display());
                Err(FileError::said(file, &text))
            }
        }
    }

    /// Deletes a file and the folders above it that are empty then and carry our name.
    fn delete(&self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)?;
        if let Some(folder) = file.parent().filter(|folder| folder.ends_with("lockgate")) {
            // It stays where something else is in it.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// Replaces a file at once, or makes it.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    fs::create_dir_all(folder)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".lockgate-{}", std::process::id()));
    let beside = folder.join(name);
    let written = write_new(&beside, text, fs::metadata(file).ok()).and_then(|()| fs::rename(&beside, file));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_new(file: &Path, text: &str, like: Option<fs::Metadata>) -> io::Result<()> {
    // Never through something that stands there already, a link perhaps.
    let mut new = fs::OpenOptions::new().write(true).create_new(true).open(file)?;
    if let Some(like) = like {
        new.set_permissions(like.permissions())?;
    }
    io::Write::write_all(&mut new, text.as_bytes())?;
    new.sync_all()
}
