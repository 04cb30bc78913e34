//! Files that only their user may change, and folders that only their user may look into.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{environment::Environment, platform};

/// Makes a folder and those above it, as far as they are missing.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    platform::keep_folder_private(&mut builder);
    builder.recursive(true).create(folder)
}

/// Options to make a new file that only its user may read.
pub(crate) fn new_private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    platform::keep_private(&mut options);
    options
}

/// A file that must not be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}; {remedy}", .file.display())]
pub(crate) struct UnusableFile {
    pub(crate) file: PathBuf,
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

impl UnusableFile {
    pub(crate) fn new(file: &Path, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { file: file.to_path_buf(), reason: reason.into(), remedy: remedy.into() }
    }

    pub(crate) fn io(file: &Path, error: &io::Error) -> Self {
        Self::new(file, format!("it cannot be read: {error}"), "let this user read it, or take it away")
    }
}

/// Whether something is there. What another user could have put there, or could change, is an error.
pub(crate) fn is_there(path: &Path, environment: &Environment) -> Result<bool, UnusableFile> {
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(UnusableFile::io(path, &error)),
    };
    if data.is_symlink() {
        return Err(UnusableFile::new(path, "it is a link", "put what it leads to in its place"));
    }
    owned(path, &data, environment)?;
    Ok(true)
}

fn owned(path: &Path, data: &fs::Metadata, environment: &Environment) -> Result<(), UnusableFile> {
    const ROOT: u32 = 0;
    let Some((owner, mode)) = platform::owner_and_mode(data) else {
        return Ok(());
    };
    let is_own = environment.user.is_none_or(|user| user == owner);
    if !is_own && owner != ROOT {
        let reason = format!("it belongs to another user (number {owner})");
        return Err(UnusableFile::new(
            path,
            reason,
            "give it to the user who runs the agent, or take it away",
        ));
    }
    let (by_group, by_all) = (mode & 0o020 != 0, mode & 0o002 != 0);
    // In one's own files the group may write: many systems give every user a group of their own.
    if by_all || (by_group && !is_own) {
        return Err(UnusableFile::new(path, "other users may change it", "run `chmod go-w` on it"));
    }
    Ok(())
}
