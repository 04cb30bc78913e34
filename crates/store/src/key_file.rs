//! The file of a key that signs the audit log and seals rows.
//!
//! It holds one line, `lockgate-key-2` and the 32 bytes of the seed in hex, and only its owner can read it. `lockgate-key-1` is the
//! key of a SQLite database whose rows were not sealed yet.

use std::{
    io::{self, ErrorKind, Read, Write},
    path::Path,
};

use ed25519_dalek::SigningKey;

use crate::{
    audit::{from_hex, to_hex},
    error::{OpenError, OpenErrorKind},
    files::{self, OPEN_TO_OTHERS},
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

/// A new key.
pub(crate) fn random() -> io::Result<SigningKey> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(SigningKey::from_bytes(&seed))
}

/// Writes a key into a new file.
pub(crate) fn write(path: &Path, key: &SigningKey) -> io::Result<()> {
    let mut file = files::make(path)?;
    writeln!(file, "{WORD}{}", to_hex(&key.to_bytes()))?;
    file.sync_all()
}

/// Makes a key in a new file.
#[cfg(feature = "postgres")]
pub(crate) fn make(path: &Path) -> Result<SigningKey, OpenError> {
    let made = || {
        let key = random()?;
        write(path, &key)?;
        platform::sync_folder(path.parent().unwrap_or(Path::new("/")))?;
        Ok(key)
    };
    made().map_err(|error: io::Error| OpenError::io(path, "made", &error))
}

/// Reads the key of a store that was always sealed; none if there is no such file.
#[cfg(feature = "postgres")]
pub(crate) fn read(path: &Path) -> Result<Option<SigningKey>, OpenError> {
    Ok(read_any(path)?.map(|key| key.signing))
}

/// Reads a key file; none if there is no such file.
pub(crate) fn read_any(path: &Path) -> Result<Option<Key>, OpenError> {
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
