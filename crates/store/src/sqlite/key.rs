//! The key that signs the audit log and seals rows, in a file beside the database.
//!
//! The file holds one line, `lockgate-key-2` and the 32 bytes of the seed in hex, and only its owner can read it. A key
//! that says `lockgate-key-1` is that of a database whose rows were not sealed yet: once they are, the file says so, so
//! that write access to the database alone is not enough to make it look like one whose rows are still to be sealed.
//! A new key is first kept under another name and gets its own once the database that needs it is stored
//! ([`New::keep`]): so a key without a database, or a database without its key, is never an accident of ours, and
//! both are refused. A program of the same user can read the key; docs/audit.md tells what that means.

use std::{
    fs,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;

use super::files::{self, OPEN_TO_OTHERS, beside};
use crate::{
    audit::{from_hex, to_hex},
    error::{OpenError, OpenErrorKind},
    platform,
};

const WORD: &str = "lockgate-key-2 ";
/// Of a key whose database has no seals yet.
const UNSEALED_WORD: &str = "lockgate-key-1 ";
/// A key file is one short line.
const KEY_FILE_BYTES_MAX: u64 = 128;

/// The key of a database.
pub(crate) struct Key {
    pub(crate) signing: SigningKey,
    /// Whether the rows of its database have been sealed.
    pub(crate) is_sealed: bool,
}

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
    read_file(&path_of(database))
}

/// Reads the key of a database whose maker was cut off before the key got its name, and gives it its name.
pub(crate) fn rescue(database: &Path, public_key: &[u8; 32]) -> Result<Option<Key>, OpenError> {
    let new = new_path_of(database);
    let Some(key) = read_file(&new)?.filter(|key| key.signing.verifying_key().as_bytes() == public_key)
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
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| OpenError::io(&new_path_of(database), "made", &io::Error::other(error)))?;
        let key = SigningKey::from_bytes(&seed);
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
    let mut file = files::make(&path).map_err(failed)?;
    writeln!(file, "{WORD}{}", to_hex(&key.to_bytes())).and_then(|()| file.sync_all()).map_err(failed)?;
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

fn read_file(path: &Path) -> Result<Option<Key>, OpenError> {
    let file = match platform::open_no_link(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let reason = format!("cannot be read: {error}; the key must be a file of its own, not a link");
            return Err(OpenError::new(path, OpenErrorKind::NotAFile, reason));
        }
    };
    let metadata = file.metadata().map_err(|error| OpenError::io(path, "read", &error))?;
    files::check_file(path, &metadata, OPEN_TO_OTHERS)?;
    let mut text = String::new();
    let read = file.take(KEY_FILE_BYTES_MAX).read_to_string(&mut text);
    let seed_after = |word: &str| text.trim_end().strip_prefix(word).and_then(from_hex);
    let key = |seed: [u8; 32], is_sealed| Key { signing: SigningKey::from_bytes(&seed), is_sealed };
    let sealed = seed_after(WORD).map(|seed| key(seed, true));
    match (read, sealed.or_else(|| seed_after(UNSEALED_WORD).map(|seed| key(seed, false)))) {
        (Ok(_), Some(key)) => Ok(Some(key)),
        _ => {
            let reason = "is not a Lockgate key, or is damaged; restore it from a copy";
            Err(OpenError::new(path, OpenErrorKind::NoKey, reason))
        }
    }
}
