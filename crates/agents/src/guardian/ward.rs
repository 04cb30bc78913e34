//! What the guardian keeps open for one user: the database, and gates under the policies that were in force last.
//!
//! A gate is kept by the hash of all that it is made from, and the policy's files are read for each call, so a change counts
//! at the next one. A database is opened again if another file lies in its place.

use std::{
    collections::HashMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lockgate::engine::{
    Gate,
    store::{Options, Sqlite},
};
use sha2::{Digest, Sha256};

use crate::{
    environment::Environment,
    hook, human_key,
    machine::{Machine, read_token},
    platform,
    settings::Settings,
};

/// How many gates are kept for one user.
const GATES_MAX: usize = 32;

/// How long a decision waits for others that use the database.
const STORE_WAIT: Duration = Duration::from_secs(5);

/// A user whose agents the guardian guards.
pub struct WardState {
    user: u32,
    environment: Environment,
    token_file: PathBuf,
    store: Mutex<Option<OpenStore>>,
    gates: Mutex<HashMap<[u8; 32], Arc<Gate>>>,
}

struct OpenStore {
    path: PathBuf,
    anchor: Option<PathBuf>,
    /// Which file it is.
    file: Option<(u64, u64)>,
    backend: Arc<Sqlite>,
}

impl WardState {
    pub(super) fn new(machine: &Machine, user: u32) -> Self {
        Self {
            user,
            environment: Environment::of_ward(machine, user),
            token_file: machine.token_of(user),
            store: Mutex::default(),
            gates: Mutex::default(),
        }
    }

    /// The user's number.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// The folders of the guardian, in the place of the user's.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whether a token is that of this user's containers; no file, no token.
    pub(super) fn has_token(&self, token: &str) -> bool {
        // Hashes have one length, and comparing them tells nothing about the token.
        read_token(&self.token_file).is_ok_and(|kept| Sha256::digest(kept) == Sha256::digest(token))
    }

    /// The database of these settings.
    ///
    /// # Errors
    /// When it cannot be opened, in a line for people.
    pub fn backend(&self, settings: &Settings) -> Result<Arc<Sqlite>, String> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = store.as_ref()
            && open.path == settings.state
            && open.anchor == settings.anchor
            && open.file.is_some()
            && open.file == file_id(&settings.state)
        {
            return Ok(Arc::clone(&open.backend));
        }
        let options = Options { wait: STORE_WAIT, ..settings.store_options(&settings.state) };
        let backend = Arc::new(Sqlite::open(&settings.state, options).map_err(|error| error.to_string())?);
        // Gates have the old one.
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let file = file_id(&settings.state);
        let (path, anchor) = (settings.state.clone(), settings.anchor.clone());
        *store = Some(OpenStore { path, anchor, file, backend: Arc::clone(&backend) });
        Ok(backend)
    }

    /// The gate of a folder under these settings. Answers in the database count: only the guardian writes there.
    ///
    /// # Errors
    /// When the policy is not in force, in a line for people.
    pub(super) fn gate(
        &self,
        settings: &Settings,
        folder: &Path,
        environment: &Environment,
        backend: &Arc<Sqlite>,
    ) -> Result<Arc<Gate>, String> {
        let sources = settings.sources().map_err(|error| hook::not_in_force(&error))?;
        let mut hasher = HashWriter(Sha256::new());
        // Debug text is not meant for this, but it has all fields of all parts, and equal texts are equal parts.
        write!(hasher, "{:p} {settings:?} {folder:?} {environment:?}", Arc::as_ptr(backend))
            .map_err(|error| error.to_string())?;
        for source in &sources {
            let (name, text) = (source.name(), source.text());
            write!(hasher, "{} {} {:?}{name}{text}", name.len(), text.len(), source.layer())
                .map_err(|error| error.to_string())?;
        }
        let key: [u8; 32] = hasher.0.finalize().into();
        if let Some(gate) = self.gates.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(gate));
        }
        let policy = hook::policy_of(settings, &sources)?;
        let trust = human_key::answer_trust(settings.approvals, environment, backend);
        let trust = trust.map_err(|error| format!("it cannot be determined which answers count: {error}"))?;
        let parts = (policy, trust, None);
        let gate = Arc::new(hook::build_gate(settings, folder, environment, Arc::clone(backend), parts)?);
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if gates.len() >= GATES_MAX {
            gates.clear();
        }
        gates.insert(key, Arc::clone(&gate));
        Ok(gate)
    }
}

/// Hashes what is written.
struct HashWriter(Sha256);

impl Write for HashWriter {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().and_then(|data| platform::file_id(&data))
}
