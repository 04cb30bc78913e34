//! The files of a store: who owns them, who may write them, how they come to be.
//!
//! Files and folders are made with the right permissions from their first moment, never afterwards.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use crate::error::{OpenError, OpenErrorKind};

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
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a file for reading; a link in its place is none.
#[cfg(unix)]
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    // Without waiting: a pipe in a file's place must not keep the gate from answering.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("it is a symbolic link"));
    }
    File::open(path)
}

/// Puts on disk which files are in a folder.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
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

#[cfg(unix)]
fn check_owner(path: &Path, metadata: &Metadata, forbidden: u32) -> Result<(), OpenError> {
    use std::os::unix::fs::MetadataExt;

    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() != me {
        let owner = metadata.uid();
        let reason = format!(
            "belongs to user {owner}, and this process runs as user {me}; run as its owner, or name a file of your own"
        );
        return Err(OpenError::new(path, OpenErrorKind::ForeignOwner, reason));
    }
    if metadata.mode() & forbidden != 0 {
        let mode = metadata.mode() & 0o777;
        let reason =
            format!("has mode {mode:03o}, so others can use it; look whether they have, then `chmod 600` it");
        return Err(OpenError::new(path, OpenErrorKind::OpenToOthers, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Metadata, _: u32) -> Result<(), OpenError> {
    Ok(())
}

/// A folder that only its owner can use, unless it is there already.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
