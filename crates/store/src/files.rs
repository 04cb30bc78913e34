//! The files of a store: who owns them, who may write them, how they come to be.
//!
//! [`prepare`] makes what is missing with the right permissions from its first moment, never afterwards, and
//! refuses what somebody else could have put there. It never opens a database that exists: closing a file gives
//! up all locks this process has on it, also those of another connection.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use crate::{
    error::{OpenError, OpenErrorKind},
    key,
};

/// What SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Makes the folder and the file where they are missing, and looks at them where they are not. Where the file
/// really is.
pub(crate) fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
    let Some(name) = path.file_name() else {
        let reason = "does not name a file; name the file of the database";
        return Err(OpenError::new(path, OpenErrorKind::NotAFile, reason));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // SQLite refuses links anywhere in a path; which folder we are told is the caller's choice, so it is found
    // first, and only the file itself must be none.
    let folder = real_folder(folder)?;
    let path = folder.join(name);
    check_folder(&folder)?;
    for ending in BESIDE {
        check(&beside(&path, ending))?;
    }
    if check(&path)? {
        return Ok(path);
    }
    // A database is made before its key: only if it is still not there was it taken away.
    if key::exists(&path) && !check(&path)? {
        return Err(key::without_database(&path));
    }
    match make(&path) {
        Ok(_) => {
            // Without this a power cut could take the whole file, with all that was told since.
            sync_folder(&folder).map_err(|error| OpenError::io(&folder, "written", &error))?;
            Ok(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            check(&path)?;
            Ok(path)
        }
        Err(error) => Err(OpenError::io(&path, "made", &error)),
    }
}

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

/// Whether there is such a file; one that is not ours alone is refused.
fn check(path: &Path) -> Result<bool, OpenError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => check_file(path, &metadata, WRITABLE_BY_OTHERS).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OpenError::io(path, "read", &error)),
    }
}

/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
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

fn real_folder(folder: &Path) -> Result<PathBuf, OpenError> {
    match fs::canonicalize(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_folder(folder).map_err(|error| OpenError::io(folder, "made", &error))?;
            fs::canonicalize(folder).map_err(|error| OpenError::io(folder, "found", &error))
        }
        found => found.map_err(|error| OpenError::io(folder, "found", &error)),
    }
}

/// In a folder that everybody can write to, anybody can put a journal beside the database.
#[cfg(unix)]
fn check_folder(folder: &Path) -> Result<(), OpenError> {
    use std::os::unix::fs::MetadataExt;

    let metadata = fs::metadata(folder).map_err(|error| OpenError::io(folder, "read", &error))?;
    if metadata.mode() & 0o002 != 0 {
        let reason = "can be written by everybody, so anybody could put files beside the database; \
                      give the database a folder of its own";
        return Err(OpenError::new(folder, OpenErrorKind::OpenToOthers, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_folder(_: &Path) -> Result<(), OpenError> {
    Ok(())
}
