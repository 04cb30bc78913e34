//! Which projects a human has trusted, by the contents of their files.
//!
//! A [`Record`] holds a hash of every file of a project's settings and policy, with all they include. It lies in the user's
//! folder of data, outside of the project, under a name made from the project's path: a copy of a trusted project
//! elsewhere is not trusted. [`look`] compares; any other file, content or path is an edit, and an edit ends the trust.
//! Includes are not looked for: as long as the files that include are the same, so is what they include.
//!
//! Where a passphrase is set, a record counts only if it is signed with the key that the passphrase unlocks.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use lockgate::engine::{
    Source,
    store::{from_hex, to_hex},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    environment::Environment,
    files::{is_there, make_folder, new_private},
    human_key::SealedKey,
};

/// The largest record that is read, in bytes.
const RECORD_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The largest file that can be trusted, in bytes: as large as a policy file may be.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Whether a project may widen what the user has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// No human has trusted it on this machine.
    Never,
    /// A human has, and it was changed since.
    Changed,
    /// A human has trusted exactly these files.
    Trusted(Arc<Record>),
}

impl Trust {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Changed => "changed",
            Self::Trusted(_) => "trusted",
        }
    }
}

/// What was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The project's folder.
    pub project: String,
    /// The hash of each file, by its path.
    pub files: BTreeMap<String, String>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub at: u64,
    /// The signature of the human's key over all of this; empty where no passphrase is set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

impl Record {
    /// A record of a project's file of settings and of its policy as it was read.
    pub fn new(project: &Path, settings: Option<&Path>, sources: &[Source], at: u64) -> io::Result<Self> {
        let hash = settings.map(|path| hash_of(path).map(|hash| (path, hash))).transpose()?;
        Self::with_hash(project, hash, sources, at)
    }

    /// The same, if another process has read the settings file.
    pub fn of_text(
        project: &Path,
        settings: Option<(&Path, &str)>,
        sources: &[Source],
        at: u64,
    ) -> io::Result<Self> {
        Self::with_hash(project, settings.map(|(path, text)| (path, text_hash(text))), sources, at)
    }

    fn with_hash(
        project: &Path,
        settings: Option<(&Path, String)>,
        sources: &[Source],
        at: u64,
    ) -> io::Result<Self> {
        let text = |path: &Path| {
            let text = path.to_str().map(ToOwned::to_owned);
            text.ok_or_else(|| io::Error::other(format!("`{}` has no name in Unicode", path.display())))
        };
        let mut files: BTreeMap<String, String> =
            sources.iter().map(|source| (source.name().to_owned(), hex(source.text().as_bytes()))).collect();
        if let Some((settings, hash)) = settings {
            files.insert(text(settings)?, hash);
        }
        Ok(Self { project: text(project)?, files, at, signature: String::new() })
    }

    /// The same, signed with the human's key.
    #[must_use]
    pub fn signed(mut self, key: &SigningKey) -> Self {
        self.signature = to_hex(&key.sign(&self.signed_bytes()).to_bytes());
        self
    }

    fn is_signed_by(&self, key: &[u8; 32]) -> bool {
        let signature = from_hex(&self.signature).map(|bytes| Signature::from_bytes(&bytes));
        let key = VerifyingKey::from_bytes(key).ok();
        key.zip(signature)
            .is_some_and(|(key, signature)| key.verify_strict(&self.signed_bytes(), &signature).is_ok())
    }

    fn signed_bytes(&self) -> Vec<u8> {
        format!("lockgate trust 1\n{}\n{}\n{}", hex(self.project.as_bytes()), self.hash(), self.at)
            .into_bytes()
    }

    /// Whether a human has made it, as far as that can be told. Only the guardian writes into its own folder.
    pub fn counts(&self, environment: &Environment) -> bool {
        if environment.is_guardian() {
            return true;
        }
        match SealedKey::read(environment) {
            Ok(None) => self.signature.is_empty(),
            Ok(Some(key)) => key.public_key().is_some_and(|key| self.is_signed_by(&key)),
            Err(_) => false,
        }
    }

    /// Whether a file was trusted with this very text.
    pub fn has(&self, name: &str, text: &str) -> bool {
        self.files.get(name).is_some_and(|hash| *hash == hex(text.as_bytes()))
    }

    /// One hash for all files.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for part in self.files.iter().flat_map(|(path, hash)| [path, hash]) {
            // Lengths go first: no two lists of files look alike.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether every file is as it was trusted.
    fn is_current(&self) -> bool {
        let is_same = |(path, hash): (&String, &String)| hash_of(Path::new(path)).is_ok_and(|it| it == *hash);
        self.files.iter().all(is_same)
    }

    /// Whether the project it is about is there, and as it was trusted. The guardian cannot tell: it does not look there.
    pub fn state(&self) -> &'static str {
        match (Path::new(&self.project).is_dir(), self.is_current()) {
            (false, _) => "gone",
            (true, false) => "changed",
            (true, true) => "trusted",
        }
    }
}

/// Whether a project is trusted whose settings and policies, without what they include, are these files; none where they
/// cannot be listed. With `is_protected`, a record must be the human's.
pub fn look(
    environment: &Environment,
    project: &Path,
    named: Option<&[PathBuf]>,
    is_protected: bool,
) -> Trust {
    let Some(record) = folder(environment).and_then(|folder| read(environment, &path_of(&folder, project)))
    else {
        return Trust::Never;
    };
    if record.project != project.to_string_lossy() || (is_protected && !record.counts(environment)) {
        return Trust::Never;
    }
    let is_known = |file: &PathBuf| file.to_str().is_some_and(|file| record.files.contains_key(file));
    match named {
        Some(named) if named.iter().all(is_known) && record.is_current() => Trust::Trusted(Arc::new(record)),
        _ => Trust::Changed,
    }
}

/// Whether a project is trusted whose files have these hashes, by their paths: for the guardian, which does not read them.
pub fn compare(environment: &Environment, project: &Path, files: &BTreeMap<String, String>) -> Trust {
    let record = folder(environment).and_then(|folder| read(environment, &path_of(&folder, project)));
    match record.filter(|record| record.project == project.to_string_lossy()) {
        Some(record) if record.files == *files => Trust::Trusted(Arc::new(record)),
        Some(_) => Trust::Changed,
        None => Trust::Never,
    }
}

/// The hash of a text, as records have it.
pub(crate) fn text_hash(text: &str) -> String {
    hex(text.as_bytes())
}

/// All records there are.
pub fn all(environment: &Environment) -> io::Result<Vec<Record>> {
    let Some(folder) = folder(environment) else { return Ok(Vec::new()) };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut records = Vec::new();
    for entry in entries {
        records.extend(read(environment, &entry?.path()));
    }
    records.sort_by(|one, other| one.project.cmp(&other.project));
    Ok(records)
}

/// Trusts what a record says.
pub fn keep(environment: &Environment, record: &Record) -> io::Result<()> {
    let folder = folder(environment).ok_or_else(no_home)?;
    make_folder(&folder)?;
    let path = path_of(&folder, Path::new(&record.project));
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let text = serde_json::to_string(record).map_err(io::Error::other)?;
    let mut file = new_private().open(&draft)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let kept = written.and_then(|()| fs::rename(&draft, &path));
    if kept.is_err() {
        let _ = fs::remove_file(&draft);
    }
    kept
}

/// Ends the trust in a project. Whether there was any.
pub fn revoke(environment: &Environment, project: &Path) -> io::Result<bool> {
    let folder = folder(environment).ok_or_else(no_home)?;
    match fs::remove_file(path_of(&folder, project)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("lockgate").join("trusted"))
}

fn path_of(folder: &Path, project: &Path) -> PathBuf {
    folder.join(format!("{}.json", hex(project.as_os_str().as_encoded_bytes())))
}

/// A record; none where it cannot be read, or where another user could have written it.
fn read(environment: &Environment, path: &Path) -> Option<Record> {
    if path.extension().is_none_or(|ending| ending != "json")
        || !is_there(path, environment).is_ok_and(|is_there| is_there)
    {
        return None;
    }
    serde_json::from_slice(&bytes_of(path, RECORD_BYTES_MAX).ok()?).ok()
}

fn hash_of(path: &Path) -> io::Result<String> {
    bytes_of(path, FILE_BYTES_MAX).map(|bytes| hex(&bytes))
}

fn bytes_of(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // A device or a pipe has no end, or no beginning.
    let data = fs::metadata(path)?;
    if !data.is_file() || data.len() > bytes_max {
        return Err(io::Error::other(format!("not a file of at most {bytes_max} bytes")));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn no_home() -> io::Error {
    io::Error::other("the home folder is not known; set `HOME`")
}
