//! Sessions as bytes, stored from one process to the next.
//!
//! A [`Backend`] stores bytes and versions and understands neither. [`Backend::lock`] opens a session's row for one
//! decision; [`LockedRow::write`] stores the session, the shared state and the entries of the audit log in one
//! transaction or not at all. [`BackendStore`] encodes and decodes sessions, and so makes any backend a
//! [`Store`](crate::Store).

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::Policy;

use super::{
    bound::{Bound, BoundPolicy, BoundSession, ChangedSession},
    session_store::{Changes, Held, OpenedSession, Reach, Store, StoreError},
};
use crate::{
    audit_log::LogEntry,
    signed_answer::StoredAnswer,
    state::{PolicyNews, SavedError, Session, SharedState},
};

/// Stores sessions, the shared state, humans' answers and the audit log.
pub trait Backend: Send + Sync {
    /// Opens the row of a session for one decision. With [`Reach::Look`] nothing is locked and nothing can be written.
    ///
    /// # Errors
    /// When the backend cannot be reached. The gate then blocks.
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError>;

    /// Stores a human's answer with an entry of the audit log. Returns false if there is an answer already: the first
    /// one stands.
    ///
    /// # Errors
    /// When the backend cannot be reached: then no answer was stored.
    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError>;

    /// The answer to a question, if a human gave one.
    ///
    /// # Errors
    /// When the backend cannot be reached.
    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError>;

    /// Takes an answer away that does not count, if it is still there and still the same, with an entry of the audit log.
    /// Returns whether it did.
    ///
    /// # Errors
    /// When the backend cannot be reached: then the answer is still there.
    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError>;

    /// All sessions, those used last first.
    ///
    /// # Errors
    /// When the backend cannot be reached.
    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError>;
}

/// The row of a session, open for one decision. Dropping it changes nothing.
pub trait LockedRow {
    /// The session's bytes; none if the session is new.
    fn session(&self) -> Option<&[u8]>;

    /// The bytes of the shared state; none if there is none yet.
    fn shared_state(&self) -> Option<&[u8]>;

    /// Stores what changed: all of it, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if another writer was first.
    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError>;
}

/// What a decision stores.
#[derive(Clone, Debug, Default)]
pub struct RowWrite<'a> {
    /// The session, where it changed.
    pub session: Option<SessionRow<'a>>,
    /// The shared state, where it changed.
    pub shared_state: Option<&'a [u8]>,
    /// New entries of the audit log, each a JSON object.
    pub entries: &'a [String],
}

/// A session as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct SessionRow<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The latest moment it has seen.
    pub clock: Time,
    /// How many questions of it are open.
    pub questions: u64,
}

/// What is known of a session without decoding it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionListing {
    /// The session.
    pub session: String,
    /// The latest moment it has seen.
    pub clock: Time,
    /// How many questions of it are open.
    pub questions: u64,
}

impl<S: Backend + ?Sized> Backend for Arc<S> {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        (**self).lock(session, reach)
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        (**self).keep_answer(session, number, answer, entry)
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        (**self).answer(session, number)
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        (**self).reject_answer(session, number, answer, entry)
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        (**self).sessions()
    }
}

/// The sessions of a backend, decoded and encoded under one policy.
pub struct BackendStore<S> {
    backend: S,
    policy: Arc<Policy>,
    bound: Option<Bound>,
}

impl<S: Backend> BackendStore<S> {
    /// Sessions of `backend` under `policy`.
    pub fn new(backend: S, policy: Arc<Policy>) -> Self {
        Self { backend, policy, bound: None }
    }

    /// The same, and each session stays under the policy that it was first judged by.
    pub fn bound(backend: S, policy: Arc<Policy>, bound: BoundPolicy) -> Self {
        Self { backend, policy, bound: Some(Bound::new(bound)) }
    }

    fn read(&self, name: &str, row: &dyn LockedRow) -> Result<(BoundSession, SharedState), StoreError> {
        let shared_state = match row.shared_state() {
            Some(bytes) => SharedState::from_bytes(bytes, &self.policy)?,
            None => SharedState::default(),
        };
        let session = match (&self.bound, row.session()) {
            (Some(bound), bytes) if !name.is_empty() => bound.open(bytes, &self.policy, &shared_state)?,
            (_, Some(bytes)) => BoundSession::free(Session::from_bytes(bytes, &self.policy)?),
            (_, None) => BoundSession::free(Session::default()),
        };
        Ok((session, shared_state))
    }
}

/// A session that cannot be decoded is never replaced by a fresh one: that would refund everything it has spent.
impl From<SavedError> for StoreError {
    fn from(error: SavedError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl<S: Backend> Store for BackendStore<S> {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        let mut row = self.backend.lock(session, reach)?;
        let (mut read, mut shared_state) = self.read(session, &*row)?;
        if reach == Reach::Session && !read.remembered.is_empty() {
            // The first session at a place changes what all sessions share.
            drop(row);
            row = self.backend.lock(session, Reach::SharedState)?;
            (read, shared_state) = self.read(session, &*row)?;
        }
        let (session, policy, bound) = (read, &self.policy, self.bound.as_ref());
        Ok(Box::new(Opened { row, session, shared_state, policy, bound }))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        // What all sessions share is not any one session's: none is put back, and none is bound.
        let row = self.backend.lock("", Reach::SharedState)?;
        let (_, mut shared_state) = self.read("", &*row)?;
        let chosen = match &self.bound {
            Some(bound) if changes.accepts => bound.accept(&shared_state, None)?,
            _ => Vec::new(),
        };
        changes.shared.iter().chain(&chosen).for_each(|event| shared_state.apply(event));
        let is_changed = !changes.shared.is_empty() || !chosen.is_empty();
        let shared_state = is_changed.then(|| shared_state.to_bytes(&self.policy));
        let entries: Vec<String> = changes.entries.iter().map(LogEntry::to_json).collect();
        row.write(&RowWrite { session: None, shared_state: shared_state.as_deref(), entries: &entries })
    }

    fn keeps_audit_log(&self) -> bool {
        true
    }
}

/// A session whose row is open, decoded.
struct Opened<'a> {
    row: Box<dyn LockedRow + 'a>,
    session: BoundSession,
    shared_state: SharedState,
    policy: &'a Policy,
    bound: Option<&'a Bound>,
}

impl OpenedSession for Opened<'_> {
    fn session(&self) -> &Session {
        &self.session.session
    }

    fn shared_state(&self) -> &SharedState {
        &self.shared_state
    }

    fn held(&self) -> Option<Held<'_>> {
        let changed = self.session.changed.as_ref()?;
        let ChangedSession { accepted, binding, session } = changed;
        Some(Held { binding, accepted, session })
    }

    fn news(&self) -> Option<&PolicyNews> {
        self.session.news.as_ref()
    }

    fn commit(self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        let Self { row, session, mut shared_state, policy, bound } = *self;
        let Changes { events, changed: changed_events, accepts, shared, entries } = changes;
        let BoundSession { mut session, changed, is_new, news: session_news, mut remembered } = session;
        events.iter().for_each(|event| session.apply(event));
        let is_written = !events.is_empty() || *accepts;
        if !is_written {
            remembered.clear();
        }
        let bytes = match (changed, bound) {
            _ if !is_written => None,
            (Some(mut changed), Some(bound)) => {
                changed_events.iter().for_each(|event| changed.session.apply(event));
                let accepted = &changed.accepted.policy;
                if *accepts {
                    remembered = bound.accept(&shared_state, Some(&changed.binding))?;
                    session = session.accepting(accepted, &changed.session, policy)?;
                    bound.bind(&mut session);
                    Some(session.to_bytes(policy))
                } else {
                    if session_news.is_some() {
                        bound.keep()?;
                    }
                    bound.hold(&mut session, &changed.session, policy)?;
                    Some(session.to_bytes(accepted))
                }
            }
            (_, bound) => {
                match bound {
                    Some(bound) if *accepts => remembered = bound.accept(&shared_state, None)?,
                    Some(bound) if is_new => bound.keep()?,
                    _ => {}
                }
                Some(session.to_bytes(policy))
            }
        };
        shared.iter().chain(&remembered).for_each(|event| shared_state.apply(event));
        let is_shared = !shared.is_empty() || !remembered.is_empty();
        let shared_state = is_shared.then(|| shared_state.to_bytes(policy));
        let entries: Vec<String> = entries.iter().map(LogEntry::to_json).collect();
        let questions = session.asked.len() as u64;
        let rest = |bytes| SessionRow { bytes, clock: session.clock, questions };
        let write = RowWrite {
            session: bytes.as_deref().map(rest),
            shared_state: shared_state.as_deref(),
            entries: &entries,
        };
        row.write(&write)
    }
}
