//! The texts of policies that sessions are bound to, beside the database of the sessions or in it.
//!
//! A [`PolicyArchive`] keeps each file under the hash of its text. The hash is part of the session, so a text that was
//! changed is not taken for the one that was kept, and a text that is gone blocks the sessions that need it. The oldest texts
//! are deleted where there are too many.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use lockgate_gate::{Archive, Binding, BoundPolicy, PolicyChanges, PolicyPlace, Rulebook};
use lockgate_policy::Source;
use serde_json::{Map, Value};

use crate::policy::Policy;

/// How many texts are kept; the oldest are deleted first.
const TEXTS_MAX: usize = 1_000;
/// The longest text that is kept, in bytes: as long as a policy file may be.
const TEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The setting that says what happens to running sessions.
const POLICY_CHANGES: &str = "policy_changes";

/// Makes the rules of an earlier policy, under the settings of that time.
type MakeRulebook = dyn Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync;

/// Where the texts of policies are kept, each under its hash.
pub(crate) trait PolicyTexts: Send + Sync {
    /// Keeps a text.
    ///
    /// # Errors
    /// Why it cannot be kept, with the place.
    fn keep(&self, hash: &str, text: &str) -> Result<(), String>;

    /// The text of a hash. The caller compares its hash.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn find(&self, hash: &str) -> Result<String, String>;
}

/// Texts in a folder, one file each.
struct FolderTexts(PathBuf);

#[cfg(feature = "shared")]
impl PolicyTexts for lockgate_store::StrandStore {
    fn keep(&self, hash: &str, text: &str) -> Result<(), String> {
        self.keep_policy_text(hash, text).map_err(|error| error.to_string())
    }

    fn find(&self, hash: &str) -> Result<String, String> {
        let found = self.policy_text(hash).map_err(|error| error.to_string())?;
        found.ok_or_else(|| "it is not in the database".to_owned())
    }
}

/// The texts of policies that the sessions of one gate are bound to.
pub struct PolicyArchive {
    texts: Box<dyn PolicyTexts>,
    binding: Arc<Binding>,
    sources: Vec<Source>,
    rulebook: Box<MakeRulebook>,
}

/// The folder beside a database in which the policies of its sessions are kept.
pub fn policies_beside(state: &Path) -> PathBuf {
    state.with_extension("policies")
}

/// What binds the sessions of a database to a policy. `rulebook` makes the rules of an earlier one.
pub fn bound_policy(
    policy: &Policy,
    place: &str,
    settings: Map<String, Value>,
    changes: PolicyChanges,
    state: &Path,
    rulebook: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
) -> BoundPolicy {
    let texts = FolderTexts(policies_beside(state));
    bound_policy_in(texts, policy, place, settings, changes, rulebook)
}

/// The same with the texts in another place.
pub(crate) fn bound_policy_in(
    texts: impl PolicyTexts + 'static,
    policy: &Policy,
    place: &str,
    mut settings: Map<String, Value>,
    changes: PolicyChanges,
    rulebook: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
) -> BoundPolicy {
    let compiled = policy.compiled();
    settings.insert(POLICY_CHANGES.to_owned(), Value::from(changes.word()));
    let binding = Arc::new(Binding::new(&compiled, settings));
    let archive = PolicyArchive {
        texts: Box::new(texts),
        binding: Arc::clone(&binding),
        sources: compiled.sources().to_vec(),
        rulebook: Box::new(rulebook),
    };
    BoundPolicy { place: place.to_owned(), binding, changes, archive: Box::new(archive), origin: None }
}

/// What binds a session to a policy that waits at a place, as it was kept beside the database, and that policy.
///
/// # Errors
/// When it is not kept any more.
pub fn waiting_policy(
    place: &str,
    binding: &Binding,
    state: &Path,
    rulebook: impl Fn(Policy, &Map<String, Value>) -> Result<Rulebook, String> + Send + Sync + 'static,
) -> Result<(Policy, BoundPolicy), String> {
    let binding = Arc::new(binding.clone());
    let mut archive = PolicyArchive {
        texts: Box::new(FolderTexts(policies_beside(state))),
        binding: Arc::clone(&binding),
        sources: Vec::new(),
        rulebook: Box::new(rulebook),
    };
    let policy = archive.policy(&binding)?;
    archive.sources = policy.compiled().sources().to_vec();
    let changes = if binding.follows() { PolicyChanges::Follow } else { PolicyChanges::Hold };
    let origin = Some(PolicyPlace::alone(place));
    let place = place.to_owned();
    Ok((policy, BoundPolicy { place, binding, changes, archive: Box::new(archive), origin }))
}

impl PolicyArchive {
    fn policy(&self, binding: &Binding) -> Result<Policy, String> {
        let mut sources = Vec::with_capacity(binding.files.len());
        for file in &binding.files {
            let lost = |reason: &str| format!("the text of `{}` is not kept any more ({reason})", file.path);
            let text = self.texts.find(&file.hash).map_err(|error| lost(&error))?;
            sources.push(file.source(&text).ok_or_else(|| lost("the stored text is a different one"))?);
        }
        let policy = Policy::builder().sources(&sources).without_findings().load();
        policy.map_err(|error| error.to_string())
    }
}

impl PolicyTexts for FolderTexts {
    fn keep(&self, hash: &str, text: &str) -> Result<(), String> {
        self.keep_text(hash, text).map_err(|error| format!("`{}`: {error}", self.0.display()))
    }

    fn find(&self, hash: &str) -> Result<String, String> {
        self.text(hash).map_err(|error| error.to_string())
    }
}

impl FolderTexts {
    fn keep_text(&self, hash: &str, text: &str) -> io::Result<()> {
        let file = self.0.join(hash);
        if fs::symlink_metadata(&file).is_ok_and(|data| data.is_file() && data.len() == text.len() as u64) {
            return Ok(());
        }
        crate::platform::make_private_folder(&self.0)?;
        self.make_room()?;
        // Written whole under another name first: no process ever reads half of it.
        let draft = self.0.join(format!(".{}-{hash}", std::process::id()));
        let mut new = fs::File::create(&draft)?;
        let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
        let kept = written.and_then(|()| fs::rename(&draft, &file));
        if kept.is_err() {
            let _ = fs::remove_file(&draft);
        }
        kept
    }

    /// Deletes the oldest texts where there are too many.
    fn make_room(&self) -> io::Result<()> {
        let mut texts: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            texts.push((entry.metadata()?.modified()?, entry.path()));
        }
        texts.sort();
        let over = (texts.len() + 1).saturating_sub(TEXTS_MAX);
        for (_, text) in texts.iter().take(over) {
            fs::remove_file(text)?;
        }
        Ok(())
    }

    fn text(&self, hash: &str) -> io::Result<String> {
        // A hash comes from a session; only its own digits name a file here.
        if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(io::Error::other("its hash is not one"));
        }
        let file = self.0.join(hash);
        let data = fs::symlink_metadata(&file)?;
        if !data.is_file() || data.len() > TEXT_BYTES_MAX {
            return Err(io::Error::other(format!("not a file of at most {TEXT_BYTES_MAX} bytes")));
        }
        let mut text = String::new();
        fs::File::open(&file)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Archive for PolicyArchive {
    fn keep(&self) -> Result<(), String> {
        for (file, source) in self.binding.files.iter().zip(&self.sources) {
            self.texts.keep(&file.hash, source.text())?;
        }
        self.texts.keep(&self.binding.hash(), &self.binding.to_json())
    }

    fn binding(&self, hash: &str) -> Result<Binding, String> {
        let lost = |reason: &str| format!("the accepted policy is no longer stored ({reason})");
        let json = self.texts.find(hash).map_err(|error| lost(&error))?;
        Binding::kept(hash, &json).ok_or_else(|| lost("the stored policy is a different one"))
    }

    fn find(&self, binding: &Binding) -> Result<Rulebook, String> {
        (self.rulebook)(self.policy(binding)?, &binding.settings)
    }
}
