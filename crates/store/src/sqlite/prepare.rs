//! What must be true of the files of a database before it is opened.
//!
//! [`prepare`] makes what is missing and refuses what somebody else could have put there. It never opens a database that
//! exists: closing a file gives up all locks this process has on it, also those of another connection.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::key;
use crate::{
    error::{OpenError, OpenErrorKind},
    files::{self, beside},
    platform,
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
    match files::make(&path) {
        Ok(_) => {
            // Without this a power cut could take the whole file, with all that was told since.
            platform::sync_folder(&folder).map_err(|error| OpenError::io(&folder, "written", &error))?;
            Ok(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            check(&path)?;
            Ok(path)
        }
        Err(error) => Err(OpenError::io(&path, "made", &error)),
    }
}

/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Whether there is such a file; one that is not ours alone is refused.
fn check(path: &Path) -> Result<bool, OpenError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => files::check_file(path, &metadata, WRITABLE_BY_OTHERS).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OpenError::io(path, "read", &error)),
    }
}

fn real_folder(folder: &Path) -> Result<PathBuf, OpenError> {
    match fs::canonicalize(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            files::make_folder(folder).map_err(|error| OpenError::io(folder, "made", &error))?;
            fs::canonicalize(folder).map_err(|error| OpenError::io(folder, "found", &error))
        }
        found => found.map_err(|error| OpenError::io(folder, "found", &error)),
    }
}

/// In a folder that everybody can write to, anybody can put a journal beside the database.
fn check_folder(folder: &Path) -> Result<(), OpenError> {
    let metadata = fs::metadata(folder).map_err(|error| OpenError::io(folder, "read", &error))?;
    if platform::owner_and_mode(&metadata).is_some_and(|(_, mode)| mode & 0o002 != 0) {
        let reason = "is writable by all users, so any of them could put files beside the database; \
                      give the database a folder of its own";
        return Err(OpenError::new(folder, OpenErrorKind::OpenToOthers, reason));
    }
    Ok(())
}
