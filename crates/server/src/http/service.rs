//! The gate behind the routes: one policy, one database, the tokens, and the key that signs answers.
//!
//! A yes from the database counts only with the signature of the server's own key, about exactly the question that is open.
//! Only `POST /v1/answer` signs, and no token of an agent gets there. The key stays in this process and its folder.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use lockgate::{
    Clock as _, Policy, SystemClock,
    engine::{
        Database, Gate, GateBuilder, Time,
        gate::{
            AnswerTrust, Backend, HumanKey, Reach, RowWrite, UnknownNet,
            audit_log::{HUMAN_KEY, LogEntry, LogEvent},
        },
        store::{Query, to_hex},
    },
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, Semaphore};

use super::{door::Door, logins::Logins, metrics::Metrics, outbox::Outbox, rate::Rates};
use crate::{
    data_folder::{DataFolder, DataFolderError},
    lines::{Clock, ServeOptions},
    tokens::{Caller, Tokens},
    webhooks::Webhooks,
};

/// How many requests are carried out at the same time; others wait.
const AT_ONCE_MAX: usize = 64;

/// How many streams of events there are at the same time.
pub(super) const STREAMS_MAX: usize = 256;

/// What makes the key of codes another one than that of answers.
const CODES: &[u8] = b"lockgate codes 1";

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Names under which others reach the server, as `Host` says them.
    pub hosts: Vec<String>,
    /// How many requests a token may make in a second; twice as many at once.
    pub rate: u32,
    /// What time it is.
    pub clock: Clock,
    /// Whether links are followed on this machine: tools run here.
    pub follows_links: bool,
    /// Whether browsers reach the server by TLS, and must send the cookie by nothing else.
    pub has_tls: bool,
    /// Who is told of questions to humans.
    pub webhooks: Webhooks,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            rate: 200,
            clock: Clock::Real,
            follows_links: true,
            has_tls: false,
            webhooks: Webhooks::default(),
        }
    }
}

/// Why a server cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataFolderError),
    /// Its database cannot be read.
    #[error(transparent)]
    Store(#[from] lockgate::StoreError),
    /// The policy has no such net.
    #[error(transparent)]
    Net(#[from] UnknownNet),
    /// The database belongs to another key.
    #[error(
        "the answers in `{0}` are signed by another key than `answer.key`; restore that file, copy it from another server of this database, or \
         begin with a new folder"
    )]
    OtherKey(String),
}

/// The gate behind the routes.
pub struct Service {
    pub(super) gate: Gate,
    pub(super) policy: Policy,
    pub(super) store: Database,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) tokens: Tokens,
    pub(super) logins: Logins,
    pub(super) door: Door,
    pub(super) rates: Rates,
    pub(super) metrics: Arc<Metrics>,
    pub(super) outbox: Outbox,
    pub(super) key: SigningKey,
    /// For codes that only this server can make.
    code_key: [u8; 64],
    pub(super) database: [u8; 16],
    /// Wakes those who wait for an answer or for the next record.
    pub(super) changed: Notify,
    /// For everything that asks the database.
    pub(super) work: Arc<Semaphore>,
    /// For proofs and whole reads of the log: one at a time.
    pub(super) long_work: Arc<Semaphore>,
    /// For streams of events.
    pub(super) streams: Arc<Semaphore>,
    /// What is proved about the policy, which stays the same while the server runs.
    verified: OnceLock<Value>,
    is_ending: AtomicBool,
    options: ServiceOptions,
}

impl Service {
    /// Sets a server up. The builder has its store; whose answers count is decided here.
    ///
    /// # Errors
    /// When the folder or the database cannot be used.
    pub fn new(
        builder: GateBuilder,
        policy: Policy,
        store: Database,
        data: &DataFolder,
        options: ServiceOptions,
    ) -> Result<Self, ServiceError> {
        let key = data.answer_key()?;
        let public = key.verifying_key().to_bytes();
        let database = store.id()?;
        record_key(&store, &public)?;
        // A key that the dalek library has made is a valid one.
        let human = HumanKey::new(database, &public);
        let trust = human.map_or_else(|| AnswerTrust::Nobody("the key is weak".into()), AnswerTrust::Signed);
        let metrics = Arc::new(Metrics::new(&policy.hash()));
        let counted = Arc::clone(&metrics);
        let builder = builder.on_decision(move |_, verdict| counted.decided(verdict.decision.word()));
        let gate = builder.answer_trust(trust).build()?;
        let outbox = Outbox::open(options.webhooks.clone(), data, store.ends()?.0)?;
        Ok(Self {
            gate,
            policy,
            backend: store.backend(),
            store,
            tokens: Tokens::of(data),
            logins: Logins::default(),
            door: Door::new(options.hosts.clone()),
            rates: Rates::new(options.rate),
            metrics,
            outbox,
            code_key: code_key(&key),
            key,
            database,
            changed: Notify::new(),
            work: Arc::new(Semaphore::new(AT_ONCE_MAX)),
            long_work: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            verified: OnceLock::new(),
            is_ending: AtomicBool::new(false),
            options,
        })
    }

    /// Lets requests that wait for a human go, so that the server can end.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// Whether the server is about to end.
    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// The name of the cookie. With TLS, browsers keep other servers from setting one of this name.
    pub(super) fn cookie_name(&self) -> &'static str {
        if self.options.has_tls { "__Host-lockgate" } else { "lockgate" }
    }

    /// The cookie with this value, as it is set.
    pub(super) fn cookie(&self, value: &str) -> String {
        let secure = if self.options.has_tls { "; Secure" } else { "" };
        format!("{}={value}; HttpOnly; SameSite=Strict; Path=/{secure}", self.cookie_name())
    }

    /// Findings and claims of the policy, proved once.
    pub(super) fn verified(&self) -> &Value {
        self.verified.get_or_init(|| serde_json::to_value(self.policy.verify()).unwrap_or_default())
    }

    /// How lines of a caller are read.
    pub(super) fn lines(&self, caller: &Caller) -> ServeOptions {
        ServeOptions {
            session: caller.own_session().to_owned(),
            clock: self.options.clock,
            follows_links: self.options.follows_links,
        }
    }

    /// The moment of a request.
    pub(super) fn moment(&self, at: Option<Time>) -> Time {
        match self.options.clock {
            Clock::Real => SystemClock.now(),
            Clock::Lines => at.unwrap_or(Time(0)),
        }
    }

    /// Whether requests may say what time it is.
    pub(super) fn takes_time(&self) -> bool {
        self.options.clock == Clock::Lines
    }

    /// A code over these words that only this server can make.
    pub(super) fn code_of(&self, words: &[&str]) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new(&self.code_key.into());
        for word in words {
            // The length comes first, so that no two lists of words look alike.
            code.update(&(word.len() as u64).to_le_bytes());
            code.update(word.as_bytes());
        }
        code
    }

    /// The scheme of the address under which others reach the server.
    pub(super) fn scheme(&self) -> &'static str {
        if self.options.has_tls { "https" } else { "http" }
    }

    /// Logs what a person did.
    pub(super) fn log(
        &self,
        act: &str,
        session: Option<String>,
        about: Map<String, Value>,
    ) -> Result<(), lockgate::StoreError> {
        let what = LogEvent::Operator { act: act.to_owned(), about };
        let entry = LogEntry { at: SystemClock.now().0, session, policy: None, what }.to_json();
        let row = self.backend.lock("", Reach::SharedState)?;
        row.write(&RowWrite { entries: &[entry], ..RowWrite::default() })
    }
}

/// The key of codes: as long as a block of the hash, the rest of it zeros.
fn code_key(key: &SigningKey) -> [u8; 64] {
    let digest = Sha256::new().chain_update(CODES).chain_update(key.as_bytes()).finalize();
    let mut code_key = [0; 64];
    code_key.iter_mut().zip(digest).for_each(|(byte, of_digest)| *byte = of_digest);
    code_key
}

/// Records the key in the database, once: the audit log names all that ever signed answers.
fn record_key(backend: &Database, key: &[u8; 32]) -> Result<(), ServiceError> {
    let other = || ServiceError::OtherKey(backend.place());
    if backend.human_key()?.is_none() {
        for link in backend.audit_log(Query::default()) {
            // Someone may have taken the row away, to have another key recorded.
            if link?.entry.contains(&format!("\"{HUMAN_KEY}\"")) {
                return Err(other());
            }
        }
        let mut about = Map::new();
        about.insert("key".to_owned(), Value::from(to_hex(key)));
        about.insert("how".to_owned(), Value::from("made by the server"));
        let at = SystemClock.now();
        let what = LogEvent::Operator { act: HUMAN_KEY.to_owned(), about };
        let entry = LogEntry { at: at.0, session: None, policy: None, what }.to_json();
        backend.replace_human_key(None, key, at, &entry)?;
    }
    match backend.human_key()? {
        Some(recorded) if recorded == *key => Ok(()),
        _ => Err(other()),
    }
}
