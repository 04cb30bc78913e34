//! The folder of a server: its database, its tokens, and the key that signs answers.
//!
//! [`DataFolder::open`] makes it one that only its user can look into, and refuses one that others can. What is in it must be
//! out of the agents' reach: run the server as another user than they.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

use crate::platform;

/// The folder of a server.
#[derive(Clone, Debug)]
pub struct DataFolder(PathBuf);

/// Why the folder of a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataFolderError {
    /// A file or the folder itself cannot be read or written.
    #[error("cannot use `{}`: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other users can look into it.
    #[error("other users can access `{}`; run `chmod -R go= {}`", .0.display(), .0.display())]
    Open(PathBuf),
    /// The key is damaged.
    #[error("`{}` is not a key of this server; restore it from a copy, or delete it: then answers that were not collected are asked for again", .0.display())]
    Key(PathBuf),
}

impl DataFolder {
    /// Opens the folder, and makes it where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made, or other users can look into it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, DataFolderError> {
        let path = path.into();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        platform::keep_folder_private(&mut builder);
        let failed = |source| DataFolderError::Io { path: path.clone(), source };
        builder.create(&path).map_err(failed)?;
        if platform::is_open_to_others(&fs::metadata(&path).map_err(failed)?) {
            return Err(DataFolderError::Open(path));
        }
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The database of sessions, answers and the audit log.
    pub fn state(&self) -> PathBuf {
        self.0.join("state.db")
    }

    /// The file of tokens.
    pub(crate) fn tokens(&self) -> PathBuf {
        self.0.join("tokens.json")
    }

    /// The key that signs the answers of humans; made where there is none.
    ///
    /// # Errors
    /// When it cannot be read or made, is damaged, or other users can read it.
    pub(crate) fn answer_key(&self) -> Result<SigningKey, DataFolderError> {
        let path = self.0.join("answer.key");
        let failed = |source| DataFolderError::Io { path: path.clone(), source };
        let mut seed = Zeroizing::new([0_u8; 32]);
        match File::open(&path) {
            Ok(mut file) => {
                let metadata = file.metadata().map_err(failed)?;
                if platform::is_open_to_others(&metadata) {
                    return Err(DataFolderError::Open(path));
                }
                if metadata.len() != seed.len() as u64 {
                    return Err(DataFolderError::Key(path));
                }
                file.read_exact(&mut *seed).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                getrandom::fill(&mut *seed).map_err(|error| failed(io::Error::other(error)))?;
                write_private(&path, &*seed).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(SigningKey::from_bytes(&seed))
    }
}

/// Writes a file that only its user may read, whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    platform::keep_private(&mut options);
    let mut file = options.open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path().join("a/b")).unwrap();
        let key = data.answer_key().unwrap();
        assert_eq!(data.answer_key().unwrap().to_bytes(), key.to_bytes());
        write_private(&data.path().join("answer.key"), b"short").unwrap();
        assert!(matches!(data.answer_key(), Err(DataFolderError::Key(_))));
    }
}
