//! What a session is bound to: the policy it was first judged by, and the settings that decide with it.
//!
//! A [`Binding`] names every file with its layer and the hash of its text, so that the same rules can be found again and
//! checked after the files have changed. It is stored with the session. The texts themselves are not in it.

use std::sync::Arc;

use lockgate_policy::{Layer, Policy, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// What a session was judged by when it began, or what a human has accepted since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The hash of the whole policy.
    pub policy: String,
    /// Its files, in order.
    pub files: Vec<BoundFile>,
    /// The settings that matter, by name. A name that begins with `_` is only for information.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

/// One file of a policy that a session is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFile {
    /// The name it was read under.
    pub path: String,
    /// Whose it is: `user`, `project` or `untrusted`.
    pub layer: String,
    /// The hash of its text.
    pub hash: String,
}

impl Binding {
    /// A binding to a policy under these settings.
    pub fn new(policy: &Policy, settings: Map<String, Value>) -> Self {
        let files = policy.sources().iter().map(BoundFile::of).collect();
        Self { policy: policy.hash().to_string(), files, settings }
    }

    /// As it is kept beside the texts of its files.
    pub fn to_json(&self) -> String {
        // Text, lists and maps with text keys always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The hash of its JSON, under which it is kept.
    pub fn hash(&self) -> String {
        hash_of(&self.to_json())
    }

    /// Reads what was kept under a hash; none if it is something else.
    pub fn kept(hash: &str, json: &str) -> Option<Self> {
        (hash_of(json) == hash).then(|| serde_json::from_str(json).ok()).flatten()
    }

    /// Whether sessions that are bound to it follow changes of the policy.
    pub fn follows(&self) -> bool {
        self.settings.get("policy_changes").is_some_and(|word| word == "follow")
    }

    /// Whether the same rules decide under the same settings. Paths do not matter: a file that is read under another name
    /// says the same.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let parts = |it: &Self| -> Vec<(String, String)> {
            it.files.iter().map(|file| (file.layer.clone(), file.hash.clone())).collect()
        };
        let settings = |it: &Self| -> Vec<(String, Value)> {
            let counts = it.settings.iter().filter(|(name, _)| !name.starts_with('_'));
            counts.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        self.policy == other.policy && settings(self) == settings(other) && parts(self) == parts(other)
    }
}

impl BoundFile {
    fn of(source: &Source) -> Self {
        let (path, layer) = (source.name().to_owned(), source.layer().word().to_owned());
        Self { path, layer, hash: hash_of(source.text()) }
    }

    /// The file with a text that was kept; none if it is another text.
    pub fn source(&self, text: &str) -> Option<Source> {
        let layer = Layer::named(&self.layer)?;
        (hash_of(text) == self.hash).then(|| Source::new(Arc::from(self.path.as_str()), text).in_layer(layer))
    }
}

fn hash_of(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// What became of the policy of a session since it was opened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyNews {
    /// It has changed: both policies decide until a human accepts the new one.
    Changed(Arc<Binding>, Arc<Binding>),
    /// It has changed, and settings say that sessions follow.
    Followed(Arc<Binding>, Arc<Binding>),
    /// It is again the one that the session is bound to.
    Restored,
}

/// What a session keeps about its binding at one place. Doors that read different policies are different places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BoundState {
    pub(crate) binding: Arc<Binding>,
    /// The session under a policy that waits to be accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<ChangedState>,
}

/// A session under a policy that waits to be accepted, at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangedState {
    pub(crate) binding: Arc<Binding>,
    pub(crate) session: Arc<Value>,
}
