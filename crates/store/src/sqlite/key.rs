//! The key that signs the audit log and seals rows, in a file beside the database.
//!
//! `key_file.rs` has the format of the file. A key
//! that says `lockgate-key-1` is that of a database whose rows were not sealed yet: once they are, the file says so, so
//! that write access to the database alone is not enough to make it look like one whose rows are still to be sealed.
//! A new key is first kept under another name and gets its own once the database that needs it is stored
//! ([`New::keep`]): so a key without a database, or a database without its key, is never an accident of ours, and
//! both are refused. A program of the same user can read the key; docs/audit.md tells what that means.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;

use crate::{
    error::{OpenError, OpenErrorKind},
    files::beside,
    key_file::{self, Key},
    platform,
};

/// Where the key of a database is.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    beside(database, ".key")
}

/// Whether there is anything where the key of a database is.
pub(crate) fn exists(database: &Path) -> bool {
    fs::symlink_metadata(path_of(database)).is_ok()
}

/// Why a database that is empty or not there is not made anew.
pub(crate) fn without_database(database: &Path) -> OpenError {
    let reason = format!(
        "is empty or not there, but `{}` shows that sessions rested here; restore the database from a copy, or move \
         the key aside to begin with no sessions",
        path_of(database).display()
    );
    OpenError::new(database, OpenErrorKind::Vanished, reason)
}

fn new_path_of(database: &Path) -> PathBuf {
    beside(database, ".key.new")
}

/// Reads the key of a database; none if there is no such file.
pub(crate) fn read(database: &Path) -> Result<Option<Key>, OpenError> {
    key_file::read_any(&path_of(database))
}

/// Reads the key of a database whose maker was cut off before the key got its name, and gives it its name.
pub(crate) fn rescue(database: &Path, public_key: &[u8; 32]) -> Result<Option<Key>, OpenError> {
    let new = new_path_of(database);
    let Some(key) =
        key_file::read_any(&new)?.filter(|key| key.signing.verifying_key().as_bytes() == public_key)
    else {
        return Ok(None);
    };
    name_it(database, &new)?;
    Ok(Some(key))
}

/// A key that has no name yet.
pub(crate) struct New {
    pub(crate) key: SigningKey,
    path: PathBuf,
}

impl New {
    /// Makes a key. Invariant: the caller holds the database's lock, so no other process makes one.
    pub(crate) fn make(database: &Path) -> Result<Self, OpenError> {
        let key =
            key_file::random().map_err(|error| OpenError::io(&new_path_of(database), "made", &error))?;
        let path = write_new(database, &key)?;
        Ok(Self { key, path })
    }

    /// Gives the key its name, now that there is a database that needs it.
    pub(crate) fn keep(self, database: &Path) -> Result<Key, OpenError> {
        name_it(database, &self.path)?;
        Ok(Key { signing: self.key, is_sealed: true })
    }
}

/// Notes in the key file that the rows of the database are sealed. Invariant: the caller holds the database's lock, so
/// no other process writes the file.
pub(crate) fn note_sealed(database: &Path, key: &SigningKey) -> Result<(), OpenError> {
    let new = write_new(database, key)?;
    name_it(database, &new)
}

fn write_new(database: &Path, key: &SigningKey) -> Result<PathBuf, OpenError> {
    let path = new_path_of(database);
    let failed = |error: io::Error| OpenError::io(&path, "made", &error);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    key_file::write(&path, key).map_err(failed)?;
    Ok(path)
}

fn name_it(database: &Path, new: &Path) -> Result<(), OpenError> {
    let path = path_of(database);
    let folder = database.parent().unwrap_or(Path::new("."));
    match fs::rename(new, &path) {
        // Somebody who opened the database just now has done it already.
        Err(error) if error.kind() == ErrorKind::NotFound && exists(database) => Ok(()),
        named => named.and_then(|()| platform::sync_folder(folder)),
    }
    .map_err(|error| OpenError::io(&path, "made", &error))
}
