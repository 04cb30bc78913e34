//! The files of a store: who owns them, who may write them, how they come to be.
//!
//! Files and folders are made with the right permissions from their first moment, never afterwards.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use crate::{
    error::{OpenError, OpenErrorKind},
    platform,
};

/// A path with something added to its file name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// How long a file is; nothing if there is none.
pub(crate) fn length_of(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.len())
}

/// A new file that only its owner can read and write.
pub(crate) fn make(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::keep_private(&mut options);
    options.open(path)
}

/// Bits of a mode that let others do anything.
pub(crate) const OPEN_TO_OTHERS: u32 = 0o077;

/// Refuses a file that is none, that is not ours, or that others can use in a way they must not.
pub(crate) fn check_file(path: &Path, metadata: &Metadata, forbidden: u32) -> Result<(), OpenError> {
    if !metadata.is_file() {
        let what = if metadata.is_symlink() { "a symbolic link" } else { "no regular file" };
        let reason = format!("is {what}; name the file itself");
        return Err(OpenError::new(path, OpenErrorKind::NotAFile, reason));
    }
    check_owner(path, metadata, forbidden)
}

fn check_owner(path: &Path, metadata: &Metadata, forbidden: u32) -> Result<(), OpenError> {
    let (Some((owner, mode)), Some(me)) = (platform::owner_and_mode(metadata), platform::user()) else {
        return Ok(());
    };
    if owner != me {
        let reason = format!(
            "belongs to user {owner}, and this process runs as user {me}; run as its owner, or name a file of your own"
        );
        return Err(OpenError::new(path, OpenErrorKind::ForeignOwner, reason));
    }
    if mode & forbidden != 0 {
        let mode = mode & 0o777;
        let reason =
            format!("has mode {mode:03o}, so others can use it; look whether they have, then `chmod 600` it");
        return Err(OpenError::new(path, OpenErrorKind::OpenToOthers, reason));
    }
    Ok(())
}

/// A folder that only its owner can use, unless it is there already.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    platform::keep_folder_private(&mut builder);
    builder.create(folder)
}
