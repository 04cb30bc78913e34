//! A policy in force, and how it is put together.

use std::{
    fmt,
    path::Path,
    process,
    sync::{Arc, LazyLock},
    time::Duration,
};

use lockgate_call::{Call, Files};
use lockgate_gate::{
    AnswerError, AnswerStore, ApprovalId, Attempt, MemoryAnswers, MemoryStore, Notes, PolicyChanges,
    Rulebook, SavedError, Settlement, StoreError, Success, Terms, TimeZone, UnknownNet, Verdict,
};
use lockgate_policy::Mode;
use serde_json::{Map, Value};

#[cfg(feature = "store")]
use crate::{
    audit::{AuditError, AuditQuery, AuditRecord},
    store_url::{StoreUrlError, open_store},
};
use crate::{
    clock::{Clock, SystemClock, milliseconds},
    core::Core,
    database::Database,
    files::LocalEyes,
    policy::Policy,
    policy_error::PolicyError,
    ruling::{Confirmation, Question},
    session::Session,
    tool_call::{CallError, ToolCall},
};

/// A policy in force. Clones are the same gate; it can be shared between threads.
///
/// ```
/// use lockgate::{Gate, Policy, Ruling};
/// use serde_json::json;
///
/// let gate = Gate::new(Policy::rules("require backup before delete")?);
/// let session = gate.session("s1");
/// assert!(matches!(session.call("delete", json!({}))?, Ruling::Block(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Gate {
    core: Arc<Core>,
    confirm: Option<Arc<Confirmation>>,
    log: Option<Database>,
}

impl Gate {
    /// A gate in memory under the policy of a file, or of the policy files of a folder.
    ///
    /// # Errors
    /// When the policy cannot be read or has mistakes: it is not in force then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PolicyError> {
        Policy::open(path).map(Self::new)
    }

    /// A gate in memory.
    pub fn new(policy: Policy) -> Self {
        let engine = lockgate_gate::Gate::new(policy);
        Self::with(
            engine,
            Box::new(SystemClock),
            Some(Box::new(LocalEyes)),
            Box::new(MemoryAnswers::default()),
        )
    }

    /// A gate with a store, a clock, listeners or validators of its own.
    pub fn builder(policy: Policy) -> GateBuilder {
        GateBuilder {
            engine: lockgate_gate::Gate::builder(policy.compiled()),
            policy,
            terms: Terms::default(),
            restored: Vec::new(),
            log: None,
            confirm: None,
            changes: PolicyChanges::default(),
            clock: Box::new(SystemClock),
            eyes: Some(Box::new(LocalEyes)),
            answers: Box::new(MemoryAnswers::default()),
        }
    }

    fn with(
        engine: lockgate_gate::Gate,
        clock: Box<dyn Clock>,
        eyes: Option<Box<dyn Files + Send + Sync>>,
        answers: Box<dyn AnswerStore>,
    ) -> Self {
        // Where hosts name their calls, neither the process nor the hour is asked for.
        let id_prefix: LazyLock<String> =
            LazyLock::new(|| format!("call-{}-{}", process::id(), SystemClock.now().0));
        Self { core: Arc::new(Core { engine, clock, eyes, answers, id_prefix }), confirm: None, log: None }
    }

    /// A session of this name: one agent's conversation.
    pub fn session(&self, name: impl AsRef<str>) -> Session {
        Session::new(self.core.clone(), name.as_ref().into(), self.confirm.clone())
    }

    /// Stores a human's answer to a question. The call goes on where it is waited for.
    ///
    /// # Errors
    /// When the question is not open, was answered before, or the store fails.
    pub fn answer(&self, question: &ApprovalId, granted: bool, by: &str) -> Result<(), AnswerError> {
        self.core.answer(question, granted, by)
    }

    /// What the rules say to a call by itself, without a session: nothing is stored, no human is asked, and workflows take no
    /// part. The settlement says what would be passed on of `output`.
    ///
    /// # Errors
    /// When there is nothing to judge: the tool has no name, or the input is not an object.
    pub fn evaluate(
        &self,
        call: ToolCall,
        output: Option<&Value>,
    ) -> Result<(Verdict, Settlement), CallError> {
        let call = self.core.look("evaluation", call)?;
        Ok(self.core.engine.evaluate(&call, output))
    }

    /// Records of the audit log, the newest last.
    ///
    /// # Errors
    /// When the sessions of this gate are in memory, or the log cannot be read.
    #[cfg(feature = "store")]
    pub fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, AuditError> {
        query.read(self.log.as_ref().ok_or(AuditError::NoLog)?)
    }

    /// Blocks every call of every session from now on.
    ///
    /// # Errors
    /// When the store fails.
    pub fn halt(&self, reason: &str) -> Result<(), StoreError> {
        self.core.engine.halt(None, reason, self.core.clock.now())
    }

    /// Ends [`Gate::halt`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn resume(&self) -> Result<(), StoreError> {
        self.core.engine.resume(None, self.core.clock.now())
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("policy", &self.core.engine.policy().hash())
            .field("is_stored", &self.log.is_some())
            .finish_non_exhaustive()
    }
}

/// Builds a [`Gate`].
#[must_use = "nothing is in force before `build`"]
pub struct GateBuilder {
    engine: lockgate_gate::GateBuilder,
    policy: Policy,
    terms: Terms,
    restored: Vec<(String, lockgate_gate::Session)>,
    log: Option<Database>,
    confirm: Option<Arc<Confirmation>>,
    changes: PolicyChanges,
    clock: Box<dyn Clock>,
    eyes: Option<Box<dyn Files + Send + Sync>>,
    answers: Box<dyn AnswerStore>,
}

impl GateBuilder {
    /// Stores sessions, answers and the audit log in a SQLite file, which other processes may share.
    ///
    /// # Errors
    /// When the file cannot be used: it is damaged, belongs to another program, or others can access it.
    #[cfg(feature = "store")]
    pub fn sqlite(self, file: impl AsRef<Path>) -> Result<Self, lockgate_store::OpenError> {
        let file = lockgate_store::Sqlite::open(file.as_ref(), lockgate_store::Options::default())?;
        Ok(self.stored_in(Database::Sqlite(Arc::new(file))))
    }

    /// The same by a URL: `memory:`, `sqlite:FILE`, or, with the features `postgres` and `redis`,
    /// `postgres://USER@HOST/DATABASE?key=FILE` and `redis://HOST/NUMBER?key=FILE` for a store that gates on many machines share.
    ///
    /// # Errors
    /// When no kind of store has such a URL, or it cannot be used.
    #[cfg(feature = "store")]
    pub fn store(self, url: &str) -> Result<Self, StoreUrlError> {
        Ok(match open_store(url)? {
            Some(database) => self.stored_in(database),
            None => self,
        })
    }

    #[cfg(feature = "store")]
    fn stored_in(mut self, database: Database) -> Self {
        self.answers = Box::new(lockgate_gate::BackendAnswers(database.backend()));
        self.log = Some(database);
        self
    }

    /// What happens to stored sessions when a process starts with another policy. By default a session stays under the policy
    /// that it was first judged by: stricter parts of the new policy apply at once, and the rest waits for
    /// [`Session::accept_policy`] or `lockgate accept-policy`. Nets from code, names from the host and validators are not
    /// stored; a session that began with another one of those is blocked until the new policy is accepted.
    pub fn policy_changes(mut self, changes: PolicyChanges) -> Self {
        self.changes = changes;
        self
    }

    /// Begins with a session that [`Session::to_json`] wrote, in memory. What it has spent stays spent, also under an edited
    /// policy. A change of the text can open the gate, so keep it where the agent cannot reach it.
    ///
    /// ```
    /// # use lockgate::{Gate, Policy, Ruling};
    /// # use serde_json::json;
    /// let policy = Policy::rules("limit send to 1 per session")?;
    /// let session = Gate::new(policy.clone()).session("s1");
    /// assert!(matches!(session.call("send", json!({}))?, Ruling::Run(_)));
    ///
    /// let gate = Gate::builder(policy).restore("s1", &session.to_json()?)?.build()?;
    /// assert!(matches!(gate.session("s1").call("send", json!({}))?, Ruling::Block(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the text is not a saved session, or a net does not have the places any more that the session is in.
    pub fn restore(mut self, session: &str, json: &str) -> Result<Self, SavedError> {
        let saved = lockgate_gate::Session::from_json(json, &self.policy.compiled())?;
        self.restored.push((session.to_owned(), saved));
        Ok(self)
    }

    /// Enforces the rules, or only observes what they would do.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.terms.mode = mode;
        self
    }

    /// How long a result is waited for before the call counts as failed; one hour otherwise.
    pub fn result_time(mut self, time: Duration) -> Self {
        self.terms.lease_ms = milliseconds(time);
        self
    }

    /// How long a human has to answer; ten minutes otherwise.
    pub fn answer_time(mut self, time: Duration) -> Self {
        self.terms.approval_ms = milliseconds(time);
        self
    }

    /// How long a human's answer stands, where a rule lets it stand; one hour otherwise.
    pub fn standing_time(mut self, time: Duration) -> Self {
        self.terms.standing_ms = milliseconds(time);
        self
    }

    /// How many calls of one session may run at the same time; 10,000 otherwise. More are blocked.
    pub fn running_max(mut self, count: usize) -> Self {
        self.terms.flights_max = count;
        self
    }

    /// How many questions of one session may be open; 100 otherwise. What would ask more is blocked.
    pub fn questions_max(mut self, count: usize) -> Self {
        self.terms.asked_max = count;
        self
    }

    /// The clock that rules about time ask.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Another view of the file system, where links are followed.
    pub fn eyes(mut self, eyes: impl Files + Send + Sync + 'static) -> Self {
        self.eyes = Some(Box::new(eyes));
        self
    }

    /// Follows no links: for calls that run on another machine, whose files cannot be looked at here.
    pub fn without_eyes(mut self) -> Self {
        self.eyes = None;
        self
    }

    /// The time zone of rules about times that name none [default: the machine's].
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.engine = self.engine.zone(zone);
        self
    }

    /// The variables that rules look at as `env.NAME`, instead of those of this process.
    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.engine = self.engine.variables(variables);
        self
    }

    /// Describes every call by what only the host knows; rules look at it as `prefix.…`.
    pub fn describe_calls(
        mut self,
        prefix: &str,
        describe: impl Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.engine = self.engine.describe_calls(prefix, describe);
        self
    }

    /// Calls `listener` with every verdict, after it was stored.
    pub fn on_decision(mut self, listener: impl Fn(&Call, &Verdict) + Send + Sync + 'static) -> Self {
        self.engine = self.engine.on_decision(listener);
        self
    }

    /// Asks a closure where a human must answer, before [`Session::request`] returns; `None` leaves the question open. If the
    /// closure panics, that is no answer.
    pub fn confirm(mut self, confirm: impl Fn(&Question) -> Option<bool> + Send + Sync + 'static) -> Self {
        self.confirm = Some(Arc::new(confirm));
        self
    }

    /// Lets conditions of workflows run their programs. Without this such a condition never holds.
    pub fn run_programs(mut self) -> Self {
        self.engine = self.engine.runner(crate::runner::LocalRunner::new());
        self
    }

    /// Gives nets and whole files a name under which [`Session::registry`] switches them together.
    pub fn name<M: Into<String>>(mut self, name: &str, members: impl IntoIterator<Item = M>) -> Self {
        self.engine = self.engine.name(name, members);
        self
    }

    /// Which names are active when a session begins.
    pub fn active<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.engine = self.engine.active(names);
        self
    }

    /// Asks a closure about every call that a net would let pass. It sees the call, the marking and the calls in flight.
    pub fn validate(
        mut self,
        net: &str,
        validate: impl Fn(&Attempt<'_>, &mut Notes) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.engine = self.engine.validate(net, validate);
        self
    }

    /// Calls a closure with every success that a deferred transition of a net waited for.
    pub fn on_result(
        mut self,
        net: &str,
        on_result: impl Fn(&Success<'_>, &mut Notes) + Send + Sync + 'static,
    ) -> Self {
        self.engine = self.engine.on_result(net, on_result);
        self
    }

    /// The gate.
    ///
    /// # Errors
    /// When a validator, a name or what is active names a net that the policy does not have, or when a session is restored
    /// beside a file that stores sessions.
    pub fn build(self) -> Result<Gate, BuildError> {
        let Self { mut engine, policy, terms, restored, log, confirm, changes, clock, eyes, answers } = self;
        if let Some((name, _)) = restored.first() {
            if log.is_some() {
                return Err(BuildError::StoredElsewhere(name.clone()));
            }
            let with = |store: MemoryStore, (name, saved): (String, _)| store.and_session(&name, saved);
            engine = engine.store(restored.into_iter().fold(MemoryStore::new(), with));
        }
        if let Some(database) = &log {
            let mut settings = Map::new();
            settings.insert("mode".to_owned(), Value::from(terms.mode.word()));
            let bound =
                database.bound_policy(&policy, "library", settings, changes, move |policy, settings| {
                    let enforces = settings.get("mode").is_none_or(|mode| mode != Mode::Observe.word());
                    let mode = if enforces { Mode::Enforce } else { Mode::Observe };
                    let mut rulebook = Rulebook::new(policy.compiled());
                    // Whether programs are run is said by the gate that runs them.
                    rulebook.terms = Terms { mode, runs_programs: true, ..terms };
                    Ok(rulebook)
                });
            engine = engine.bound_backend(database.backend(), bound);
        }
        let gate = Gate::with(engine.terms(terms).build()?, clock, eyes, answers);
        Ok(Gate { confirm, log, ..gate })
    }
}

/// Why a gate cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Something names a net that the policy does not have.
    #[error(transparent)]
    UnknownNet(#[from] UnknownNet),
    /// A session was restored, but the sessions of this gate are in a file, which remembers them itself.
    #[error("session `{0}` cannot be restored, because the sessions of this gate are stored in a file")]
    StoredElsewhere(String),
}

impl fmt::Debug for GateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateBuilder").finish_non_exhaustive()
    }
}
