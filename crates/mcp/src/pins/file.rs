//! How pins rest on disk: one JSON file per server, shared by every process that speaks with that server.
//!
//! [`PinFile`] reads the whole file each time, because other processes write it, and understands it anew only where its
//! bytes are others than before. It is written whole under another name and then put in place, by one process at a
//! time. What is damaged, about another server, or could have been changed by others is an error and is never replaced.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use lockgate::engine::call::{canonical_json, json_mistake, visible};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, value::RawValue};
use sha2::{Digest, Sha256};

use crate::platform;

/// The largest file of pins that is read or written, in bytes.
pub const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How many files of pins a folder may hold.
pub const SERVERS_MAX: usize = 4096;

/// The longest name of a server, in bytes.
pub const SERVER_NAME_BYTES_MAX: usize = 16 * 1024;

/// What the files of this version call themselves.
const FORMAT: &str = "lockgate-mcp-pins-1";

/// How long another process may write before we give up.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// What keeps definitions from being pinned or looked up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PinError {
    kind: PinErrorKind,
    reason: String,
}

/// What the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinErrorKind {
    /// The server's list of tools cannot be passed on.
    Listing,
    /// The file or folder cannot be read or written: no tool may be called.
    Unavailable,
    /// The file is not as we wrote it, or others could have written it: no tool may be called until a human has
    /// looked.
    Damaged,
    /// What was to be accepted is not what waits now: look again.
    Moved,
}

impl PinError {
    /// What the caller can do about it.
    pub fn kind(&self) -> PinErrorKind {
        self.kind
    }

    pub(super) fn listing(reason: impl Into<String>) -> Self {
        Self { kind: PinErrorKind::Listing, reason: reason.into() }
    }

    pub(super) fn moved(tool: &str) -> Self {
        let reason = format!(
            "the tool `{}` has changed since it was shown; run `lockgate mcp accept` again",
            visible(tool)
        );
        Self { kind: PinErrorKind::Moved, reason }
    }

    fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        let reason = format!("the pinned tools in {} cannot be {what}: {error}", path.display());
        Self { kind: PinErrorKind::Unavailable, reason }
    }

    fn damaged(path: &Path, why: impl std::fmt::Display) -> Self {
        let reason = format!(
            "the pinned tools in {} cannot be trusted: {why}; repair the file, or delete it to pin again",
            path.display()
        );
        Self { kind: PinErrorKind::Damaged, reason }
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) pinned: BTreeMap<String, KeptPin>,
    pub(super) waiting: BTreeMap<String, KeptWaiting>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptPin {
    pub(super) definition: Definition,
    pub(super) pinned_at_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptWaiting {
    pub(super) definition: Definition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renamed_from: Option<String>,
    pub(super) seen_at_ms: u64,
}

/// All that a server says about a tool, as canonical JSON.
///
/// It is kept as text, since reading a number and writing it again may give another one.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    text: String,
    sha256: String,
    /// The same without what a tool is called.
    nameless_sha256: String,
}

impl Definition {
    pub(super) fn new(text: String) -> Self {
        let mut nameless = read_object(&text);
        nameless.remove("name");
        nameless.remove("title");
        if let Some(Value::Object(annotations)) = nameless.get_mut("annotations") {
            annotations.remove("title");
            if annotations.is_empty() {
                nameless.remove("annotations");
            }
        }
        Self { sha256: hash(&text), nameless_sha256: hash(&canonical_json(&nameless)), text }
    }

    pub(super) fn object(&self) -> Map<String, Value> {
        read_object(&self.text)
    }

    pub(super) fn sha256(&self) -> &str {
        &self.sha256
    }

    pub(super) fn nameless_sha256(&self) -> &str {
        &self.nameless_sha256
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl Eq for Definition {}

fn read_object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A definition in a file, beside its hash, so that a changed one is noticed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDefinition {
    sha256: String,
    tool: Box<RawValue>,
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tool = RawValue::from_string(self.text.clone()).map_err(serde::ser::Error::custom)?;
        WrittenDefinition { sha256: self.sha256.clone(), tool }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenDefinition::deserialize(deserializer)?;
        let text = written.tool.get();
        if hash(text) != written.sha256 {
            return Err(D::Error::custom("a definition does not match its hash"));
        }
        if serde_json::from_str::<Map<String, Value>>(text).is_err() {
            return Err(D::Error::custom("a definition is not an object"));
        }
        Ok(Self::new(text.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    server: String,
    pinned: BTreeMap<String, KeptPin>,
    waiting: BTreeMap<String, KeptWaiting>,
}

/// The file of one server.
#[derive(Debug)]
pub(super) struct PinFile {
    folder: PathBuf,
    path: PathBuf,
    server: String,
    /// What was read or written last.
    known: Option<(Vec<u8>, Kept)>,
}

/// An exclusive lock: other processes cannot write pins while it exists.
#[derive(Debug)]
pub(super) struct Alone(#[expect(dead_code, reason = "closing it gives the lock back")] File);

impl PinFile {
    pub(super) fn new(folder: &Path, server: &str) -> Result<Self, PinError> {
        if server.len() > SERVER_NAME_BYTES_MAX {
            let reason = format!("the server's name is longer than {SERVER_NAME_BYTES_MAX} bytes");
            return Err(PinError { kind: PinErrorKind::Unavailable, reason });
        }
        let path = folder.join(format!("{}.json", hash(server)));
        Ok(Self { folder: folder.to_path_buf(), path, server: server.to_owned(), known: None })
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says; none where there is no file.
    pub(super) fn read(&mut self) -> Result<Option<Kept>, PinError> {
        let Some(bytes) = read_bytes(&self.path)? else { return Ok(None) };
        if let Some((known, kept)) = &self.known
            && *known == bytes
        {
            return Ok(Some(kept.clone()));
        }
        let (server, kept) = understand(&self.path, &bytes)?;
        if server != self.server {
            return Err(PinError::damaged(&self.path, "it is about another server"));
        }
        self.known = Some((bytes, kept.clone()));
        Ok(Some(kept))
    }

    /// Waits for the exclusive lock on this folder.
    pub(super) fn lock(&self) -> Result<Alone, PinError> {
        make_folder(&self.folder)?;
        let path = self.folder.join("lock");
        let unusable = |error: &io::Error| PinError::io(&path, "locked", error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        platform::keep_private(&mut options);
        let file = options.open(&path).map_err(|error| unusable(&error))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Alone(file)),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_WAIT => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(unusable(&error.into())),
            }
        }
    }

    /// Puts other pins in place of those that are there. Invariant: called under [`PinFile::lock`].
    pub(super) fn write(&mut self, kept: &Kept) -> Result<(), PinError> {
        let written = Written {
            format: FORMAT.to_owned(),
            server: self.server.clone(),
            pinned: kept.pinned.clone(),
            waiting: kept.waiting.clone(),
        };
        let unwritable = |error: &io::Error| PinError::io(&self.path, "written", error);
        let mut bytes = serde_json::to_vec_pretty(&written).map_err(|error| unwritable(&error.into()))?;
        bytes.push(b'\n');
        if bytes.len() > FILE_BYTES_MAX {
            return Err(PinError::listing(format!(
                "the definitions of the server's tools are longer than {FILE_BYTES_MAX} bytes together"
            )));
        }
        // One process writes at a time, so whatever has this name was left by one that died.
        let draft = self.path.with_extension("draft");
        let _ = fs::remove_file(&draft);
        let put = || {
            let mut file = private().open(&draft)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)?;
            platform::sync_folder(&self.folder)
        };
        put().map_err(|error| unwritable(&error))?;
        self.known = Some((bytes, kept.clone()));
        Ok(())
    }
}

/// The pins of all servers.
pub(super) fn read_all(folder: &Path) -> Result<Vec<(String, Kept)>, PinError> {
    let unreadable = |error: &io::Error| PinError::io(folder, "listed", error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        if found.len() == SERVERS_MAX {
            return Err(unreadable(&io::Error::other(format!("there are more than {SERVERS_MAX} servers"))));
        }
        let Some(bytes) = read_bytes(&path)? else { continue };
        let (server, kept) = understand(&path, &bytes)?;
        if path.file_stem().is_none_or(|name| *name != *hash(&server)) {
            return Err(PinError::damaged(&path, "it does not have the name of its server"));
        }
        found.push((server, kept));
    }
    Ok(found)
}

/// What time it is.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn understand(path: &Path, bytes: &[u8]) -> Result<(String, Kept), PinError> {
    let written: Written = serde_json::from_slice(bytes)
        .map_err(|error| PinError::damaged(path, visible(&json_mistake(&error))))?;
    if written.format != FORMAT {
        return Err(PinError::damaged(path, format!("its format is not `{FORMAT}`")));
    }
    Ok((written.server, Kept { pinned: written.pinned, waiting: written.waiting }))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, PinError> {
    let unreadable = |error: &io::Error| PinError::io(path, "read", error);
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(PinError::damaged(path, "it is not a regular file"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    check_owner(path, &file.metadata().map_err(|error| unreadable(&error))?)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(PinError::damaged(path, format!("it is longer than {FILE_BYTES_MAX} bytes")));
    }
    Ok(Some(bytes))
}

fn make_folder(folder: &Path) -> Result<(), PinError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    platform::keep_folder_private(&mut builder);
    builder.create(folder).map_err(|error| PinError::io(folder, "made", &error))?;
    let metadata = fs::metadata(folder).map_err(|error| PinError::io(folder, "read", &error))?;
    check_owner(folder, &metadata)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::keep_private(&mut options);
    options
}

/// Refuses what others could have written.
fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), PinError> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let (Some((owner, mode)), Some(me)) = (platform::owner_and_mode(metadata), platform::user()) else {
        return Ok(());
    };
    if owner != me {
        return Err(PinError::damaged(path, format!("it belongs to user {owner}, and this is user {me}")));
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        let mode = mode & 0o777;
        return Err(PinError::damaged(path, format!("its mode {mode:03o} lets others write it")));
    }
    Ok(())
}
