//! A key that a passphrase unlocks.
//!
//! The seed of the Ed25519 key is encrypted by XChaCha20-Poly1305 with a key that Argon2id derives from the passphrase.
//! Everything else in the file is authenticated with it, so a file with another public key or other parameters does not
//! unlock. The file belongs to its user alone and is never a link.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use ed25519_dalek::SigningKey;
use lockgate::engine::store::{from_hex, to_hex};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    environment::Environment,
    files::{is_there, make_folder, new_private},
    platform,
};

/// The shortest passphrase, in characters.
pub const PASSPHRASE_CHARACTERS_MIN: usize = 6;

const FILE: &str = "human.key";
const FORMAT: &str = "lockgate-human-1";
/// A file of a key is a short one.
const FILE_BYTES_MAX: u64 = 4096;
/// The most that a file may ask for: one that was put there must not take all memory.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const ROUNDS_MAX: u32 = 64;

/// What deriving a key from a passphrase costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    memory_kib: u32,
    rounds: u32,
}

impl Cost {
    /// About a third of a second, and 64 MiB.
    pub const INTERACTIVE: Self = Self { memory_kib: 64 * 1024, rounds: 4 };

    /// Next to nothing, for tests alone: such a file does not withstand guessing.
    #[doc(hidden)]
    pub const fn for_tests() -> Self {
        Self { memory_kib: 8, rounds: 1 }
    }
}

/// An Ed25519 key that a passphrase unlocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedKey {
    format: String,
    public_key: String,
    derivation: String,
    cost: Cost,
    salt: String,
    cipher: String,
    nonce: String,
    sealed: String,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HumanKeyError {
    /// The passphrase does not unlock it.
    #[error("the passphrase is wrong, or the key was replaced")]
    WrongPassphrase,
    /// The file is not a key of this version.
    #[error("`{}` is not a key of this version of Lockgate, or is damaged ({reason}); restore it from a copy, or run `lockgate passphrase reset`", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file can be read or changed by others, is a link, or cannot be read.
    #[error("`{}` cannot be used: {reason}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The file could not be written.
    #[error("`{}` cannot be written", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key is there already.
    #[error("a passphrase is set already; `lockgate passphrase change` changes it")]
    AlreadySet,
    /// The machine gives no random numbers, or has not enough memory.
    #[error("a key cannot be derived: {0}")]
    Derivation(String),
    /// There is no folder for it.
    #[error("the home folder is not known; set `HOME`")]
    NoHome,
}

impl SealedKey {
    /// A new key under a passphrase.
    ///
    /// # Errors
    /// When the machine gives no random numbers or not enough memory.
    pub fn make(passphrase: &[u8], cost: Cost) -> Result<Self, HumanKeyError> {
        Self::seal(&SigningKey::from_bytes(&*random::<32>()?), passphrase, cost)
    }

    /// A key under a passphrase.
    ///
    /// # Errors
    /// As [`SealedKey::make`].
    pub fn seal(key: &SigningKey, passphrase: &[u8], cost: Cost) -> Result<Self, HumanKeyError> {
        let (salt, nonce) = (random::<16>()?, random::<24>()?);
        let mut file = Self {
            format: FORMAT.to_owned(),
            public_key: to_hex(key.verifying_key().as_bytes()),
            derivation: "argon2id".to_owned(),
            cost,
            salt: to_hex(&*salt),
            cipher: "xchacha20poly1305".to_owned(),
            nonce: to_hex(&*nonce),
            sealed: String::new(),
        };
        let seed = Zeroizing::new(key.to_bytes());
        let aad = file.authenticated();
        let payload = Payload { msg: &*seed, aad: &aad };
        let sealed = file.cipher(passphrase)?.encrypt(&XNonce::from(*nonce), payload);
        file.sealed = to_hex(&sealed.map_err(|error| HumanKeyError::Derivation(error.to_string()))?);
        Ok(file)
    }

    /// The key, if the passphrase unlocks it.
    ///
    /// # Errors
    /// [`HumanKeyError::WrongPassphrase`] if it does not.
    pub fn unlock(&self, passphrase: &[u8]) -> Result<SigningKey, HumanKeyError> {
        let wrong = || HumanKeyError::WrongPassphrase;
        let nonce = from_hex::<24>(&self.nonce).ok_or_else(wrong)?;
        let sealed = from_hex::<48>(&self.sealed).ok_or_else(wrong)?;
        let aad = self.authenticated();
        let payload = Payload { msg: &sealed, aad: &aad };
        let opened = self.cipher(passphrase)?.decrypt(&XNonce::from(nonce), payload);
        let seed = Zeroizing::new(opened.map_err(|_| HumanKeyError::WrongPassphrase)?);
        let key = SigningKey::from_bytes(&Zeroizing::new(seed.as_slice().try_into().map_err(|_| wrong())?));
        // It is authenticated; this only keeps a mistake of ours from signing with another key than the one shown.
        (Some(key.verifying_key().to_bytes()) == self.public_key()).then_some(key).ok_or_else(wrong)
    }

    /// The public half; none if the file does not hold one.
    pub fn public_key(&self) -> Option<[u8; 32]> {
        from_hex(&self.public_key)
    }

    fn cipher(&self, passphrase: &[u8]) -> Result<XChaCha20Poly1305, HumanKeyError> {
        let failed = |error: argon2::Error| HumanKeyError::Derivation(error.to_string());
        let salt = from_hex::<16>(&self.salt).ok_or(HumanKeyError::WrongPassphrase)?;
        let Cost { memory_kib, rounds } = self.cost;
        let params = Params::new(memory_kib, rounds, 1, Some(32)).map_err(failed)?;
        let mut key = Zeroizing::new([0; 32]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon2.hash_password_into(passphrase, &salt, &mut *key).map_err(failed)?;
        Ok(XChaCha20Poly1305::new(&Key::from(*key)))
    }

    /// All that is not secret.
    fn authenticated(&self) -> Vec<u8> {
        let Self { format, public_key, derivation, cost, salt, cipher, nonce, sealed: _ } = self;
        let Cost { memory_kib, rounds } = cost;
        [format, public_key, derivation, &memory_kib.to_string(), &rounds.to_string(), salt, cipher, nonce]
            .map(|text| format!("{}:{text}", text.len()))
            .concat()
            .into_bytes()
    }

    /// The file of the user's key.
    pub fn path(environment: &Environment) -> Option<PathBuf> {
        Some(environment.data_folder()?.join("lockgate").join(FILE))
    }

    /// Reads the user's key; none if none was set up.
    ///
    /// # Errors
    /// When the file is not one, is damaged, or is not its user's alone.
    pub fn read(environment: &Environment) -> Result<Option<Self>, HumanKeyError> {
        let Some(path) = Self::path(environment) else { return Ok(None) };
        let exposed = |reason: String| HumanKeyError::Exposed { path: path.clone(), reason };
        if !is_there(&path, environment).map_err(|error| exposed(error.to_string()))? {
            return Ok(None);
        }
        let io = |error: io::Error| exposed(error.to_string());
        let file = fs::File::open(&path).map_err(io)?;
        let data = file.metadata().map_err(io)?;
        if !data.is_file() {
            return Err(exposed("it is not a file; move it away".to_owned()));
        }
        if platform::owner_and_mode(&data).is_some_and(|(_, mode)| mode & 0o077 != 0) {
            return Err(exposed("others can access it; run `chmod 600` on it".to_owned()));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
        Self::parse(&text, &path).map(Some)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, HumanKeyError> {
        let unusable = |reason: String| HumanKeyError::Unusable { path: path.to_path_buf(), reason };
        let file: Self = serde_json::from_str(text).map_err(|error| unusable(error.to_string()))?;
        let Cost { memory_kib, rounds } = file.cost;
        let wrong = match &file {
            _ if file.format != FORMAT => format!("its format is `{}`", file.format),
            _ if file.derivation != "argon2id" || file.cipher != "xchacha20poly1305" => {
                format!("it names `{}` and `{}`", file.derivation, file.cipher)
            }
            _ if memory_kib > MEMORY_KIB_MAX || rounds > ROUNDS_MAX => "it costs too much".to_owned(),
            _ if file.public_key().is_none() => "it has no public key".to_owned(),
            _ => return Ok(file),
        };
        Err(unusable(wrong))
    }

    /// Writes it as the user's first key.
    ///
    /// # Errors
    /// When there is one already, or the file cannot be written.
    pub fn save_first(&self, environment: &Environment) -> Result<(), HumanKeyError> {
        self.save(environment, |draft, path| fs::hard_link(draft, path).and_then(|()| fs::remove_file(draft)))
    }

    /// Writes it in the place of another.
    ///
    /// # Errors
    /// When the file cannot be written; then the old one is still there.
    pub fn save_again(&self, environment: &Environment) -> Result<(), HumanKeyError> {
        self.save(environment, |draft, path| fs::rename(draft, path))
    }

    fn save(
        &self,
        environment: &Environment,
        put: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> Result<(), HumanKeyError> {
        let path = Self::path(environment).ok_or(HumanKeyError::NoHome)?;
        let draft = path.with_extension(format!("draft-{}", std::process::id()));
        let write = || {
            make_folder(path.parent().unwrap_or(Path::new(".")))?;
            let mut file = new_private().open(&draft)?;
            let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            put(&draft, &path)
        };
        write().map_err(|source| {
            let _ = fs::remove_file(&draft);
            match source.kind() {
                io::ErrorKind::AlreadyExists if path.exists() => HumanKeyError::AlreadySet,
                _ => HumanKeyError::NotWritten { path: path.clone(), source },
            }
        })
    }
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, HumanKeyError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|error| HumanKeyError::Derivation(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &Path) -> Environment {
        Environment { home: Some(folder.to_path_buf()), user: platform::user(), ..Environment::default() }
    }

    #[test]
    fn only_its_passphrase_unlocks_a_key() {
        let made = SealedKey::make(b"open sesame", Cost::for_tests()).unwrap();
        let key = made.unlock(b"open sesame").unwrap();
        assert_eq!(Some(key.verifying_key().to_bytes()), made.public_key());
        for wrong in [&b""[..], b"open sesam", b"open sesame ", b"Open sesame"] {
            assert!(matches!(made.unlock(wrong), Err(HumanKeyError::WrongPassphrase)), "{wrong:?}");
        }
        let again = SealedKey::seal(&key, b"another one", Cost::for_tests()).unwrap();
        assert_eq!(again.public_key(), made.public_key());
        assert!(matches!(again.unlock(b"open sesame"), Err(HumanKeyError::WrongPassphrase)));
        assert_eq!(again.unlock(b"another one").unwrap(), key);
    }

    #[test]
    fn whatever_is_changed_in_the_file_does_not_unlock() {
        let made = SealedKey::make(b"open sesame", Cost::for_tests()).unwrap();
        let other = SealedKey::make(b"open sesame", Cost::for_tests()).unwrap();
        for changed in [
            SealedKey { public_key: other.public_key.clone(), ..made.clone() },
            SealedKey { cost: Cost { memory_kib: 16, rounds: 1 }, ..made.clone() },
            SealedKey { salt: other.salt.clone(), ..made.clone() },
            SealedKey { nonce: other.nonce.clone(), ..made.clone() },
            SealedKey { sealed: other.sealed.clone(), ..made.clone() },
            SealedKey { sealed: made.sealed.get(2..).unwrap().to_owned(), ..made.clone() },
        ] {
            assert!(
                matches!(changed.unlock(b"open sesame"), Err(HumanKeyError::WrongPassphrase)),
                "{changed:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_whole_is_refused_with_a_remedy() {
        let made =
            serde_json::to_string(&SealedKey::make(b"open sesame", Cost::for_tests()).unwrap()).unwrap();
        for (text, why) in [
            (String::new(), "EOF"),
            (made.get(..made.len() / 2).unwrap().to_owned(), "EOF"),
            (made.replace(FORMAT, "lockgate-human-2"), "`lockgate-human-2`"),
            (made.replace("argon2id", "md5"), "`md5`"),
            (made.replace("\"memory_kib\":8", "\"memory_kib\":4000000000"), "costs too much"),
            (made.replace("\"public_key\":\"", "\"public_key\":\"zz"), "no public key"),
        ] {
            let error = SealedKey::parse(&text, Path::new("human.key")).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("passphrase reset"), "{text}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_access_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let environment = home(folder.path());
        assert!(SealedKey::read(&environment).unwrap().is_none());
        let made = SealedKey::make(b"open sesame", Cost::for_tests()).unwrap();
        made.save_first(&environment).unwrap();
        assert!(matches!(made.save_first(&environment), Err(HumanKeyError::AlreadySet)));
        assert_eq!(SealedKey::read(&environment).unwrap(), Some(made.clone()));
        let path = SealedKey::path(&environment).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o606] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(SealedKey::read(&environment), Err(HumanKeyError::Exposed { .. })), "{mode:o}");
        }
        fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(SealedKey::read(&environment), Err(HumanKeyError::Exposed { .. })));
        let names: Vec<_> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["human.key"], "no draft is left");
    }
}
