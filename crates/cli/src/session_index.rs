//! Sessions of the database, each read under the policy it is under.
//!
//! A session of a hook keeps the folder it began in, and that folder's policy counts for it; any other is read under
//! the policy of this folder. Where that policy cannot be opened, the session is read without one: its questions, its
//! counts and the kill switch need no rules, and a human who wants to stop an agent must not have to mend a policy first.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use lockgate::engine::{Gate, Session, gate::AnswerTrust, store::Sqlite};
use lockgate_agents::{
    Environment, hook, human_key, now,
    settings::{self, Approvals, Settings},
};

use crate::{
    console::CommandError,
    state::{make_state, open_state, open_state_if_there},
};

/// The sessions of one database.
pub(crate) struct SessionIndex {
    here: PathBuf,
    environment: Environment,
    backend: Arc<Sqlite>,
    gates: RefCell<BTreeMap<PathBuf, Rc<FolderGate>>>,
}

/// A gate under the policy of one folder, and the settings it comes from.
pub(crate) struct FolderGate {
    pub(crate) gate: Gate,
    /// None where they cannot be used.
    pub(crate) settings: Option<Settings>,
    /// Why the gate has no rules, where it has none.
    pub(crate) fault: Option<String>,
}

impl SessionIndex {
    /// Opens the database; see [`open_state`].
    pub(crate) fn open(state: Option<&Path>) -> Result<Self, CommandError> {
        Self::new(open_state(state)?)
    }

    /// The same, but none where this folder's own database is not there yet.
    pub(crate) fn open_if_there(state: Option<&Path>) -> Result<Option<Self>, CommandError> {
        open_state_if_there(state)?.map(Self::new).transpose()
    }

    /// The same, but makes this folder's own database where it is not there yet; see [`make_state`].
    pub(crate) fn open_or_make(state: Option<&Path>) -> Result<Self, CommandError> {
        Self::new(make_state(state)?)
    }

    fn new(backend: Sqlite) -> Result<Self, CommandError> {
        Ok(Self {
            backend: Arc::new(backend),
            here: env::current_dir()?,
            environment: Environment::of_process(),
            gates: RefCell::default(),
        })
    }

    /// The sessions of a user whose agents the guardian guards, for the guardian.
    pub(crate) fn of_ward(backend: Arc<Sqlite>, environment: &Environment) -> Self {
        let here = PathBuf::from(std::path::MAIN_SEPARATOR_STR);
        Self { backend, here, environment: environment.clone(), gates: RefCell::default() }
    }

    pub(crate) fn backend(&self) -> &Sqlite {
        &self.backend
    }

    pub(crate) fn shared_backend(&self) -> Arc<Sqlite> {
        Arc::clone(&self.backend)
    }

    /// The folder whose policy a session is under.
    pub(crate) fn folder_of(&self, session: &str) -> PathBuf {
        hook::folder_of_session(&self.environment, session).unwrap_or_else(|| self.here.clone())
    }

    /// This folder.
    pub(crate) fn folder_here(&self) -> PathBuf {
        self.here.clone()
    }

    /// The gate of this folder.
    pub(crate) fn here(&self) -> Result<Rc<FolderGate>, CommandError> {
        self.of_folder(&self.here)
    }

    /// The gate that a session is under.
    pub(crate) fn of(&self, session: &str) -> Result<Rc<FolderGate>, CommandError> {
        self.of_folder(&self.folder_of(session))
    }

    /// A session, and the gate it was read under: that of its own policy, or one without rules where it does not fit.
    pub(crate) fn session(&self, session: &str) -> Result<(Session, Rc<FolderGate>), CommandError> {
        let folder_gate = self.of(session)?;
        match folder_gate.gate.session(session) {
            Ok(read) => Ok((read, folder_gate)),
            Err(error) => {
                let bare = self.without_rules(folder_gate.settings.clone(), error.to_string())?;
                Ok((bare.gate.session(session).map_err(CommandError::said)?, Rc::new(bare)))
            }
        }
    }

    /// Why a session is halted, or every session.
    pub(crate) fn session_halt(&self, session: Option<&str>) -> Result<Option<String>, CommandError> {
        // No hook's session has an empty name, so only the switch for all of them can be found there.
        let folder_gate = match session {
            Some(session) => self.session(session)?.1,
            None => self.here()?,
        };
        let status =
            folder_gate.gate.status(session.unwrap_or_default(), now()).map_err(CommandError::said)?;
        Ok(status.halted)
    }

    /// The gate of a folder.
    pub(crate) fn of_folder(&self, folder: &Path) -> Result<Rc<FolderGate>, CommandError> {
        if let Some(folder_gate) = self.gates.borrow().get(folder) {
            return Ok(Rc::clone(folder_gate));
        }
        let folder_gate = Rc::new(self.read(folder)?);
        self.gates.borrow_mut().insert(folder.to_path_buf(), Rc::clone(&folder_gate));
        Ok(folder_gate)
    }

    fn read(&self, folder: &Path) -> Result<FolderGate, CommandError> {
        let settings = match settings::find(folder, &self.environment) {
            Ok(settings) => settings,
            Err(error) => return self.without_rules(None, error.to_string()),
        };
        match settings.sources().and_then(|sources| lockgate::Policy::builder().sources(&sources).load()) {
            Ok(opened) => {
                let trust = self.answer_trust(settings.approvals)?;
                let bound = hook::bound(&opened, &settings, folder, &self.environment, &trust);
                let gate = Gate::builder(opened).mode(settings.mode);
                let gate = gate.bound_backend(Arc::clone(&self.backend), bound).answer_trust(trust);
                let gate = gate.build().map_err(CommandError::said)?;
                Ok(FolderGate { gate, settings: Some(settings), fault: None })
            }
            Err(error) => self.without_rules(Some(settings), error.to_string()),
        }
    }

    fn answer_trust(&self, approvals: Approvals) -> Result<AnswerTrust, CommandError> {
        human_key::answer_trust(approvals, &self.environment, &self.backend).map_err(CommandError::said)
    }

    fn without_rules(&self, settings: Option<Settings>, fault: String) -> Result<FolderGate, CommandError> {
        // Only shows what is remembered: no call is judged by it.
        let (policy, _) = lockgate::engine::languages::compile(Vec::new());
        let approvals = settings.as_ref().map_or(Approvals::Protected, |settings| settings.approvals);
        let builder = Gate::builder(policy).backend(Arc::clone(&self.backend));
        let gate = builder.answer_trust(self.answer_trust(approvals)?).build();
        Ok(FolderGate { gate: gate.map_err(CommandError::said)?, settings, fault: Some(fault) })
    }
}
