//! Where sessions rest between two calls.
//!
//! A [`Store`] opens a session for one decision: [`OpenedSession::session`] shows it, [`OpenedSession::commit`] stores what
//! happened and succeeds only if no other writer committed in between. [`MemoryStore`] is the reference that
//! other stores are measured by; it forgets everything when the process ends.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use hashbrown::HashTable;

use crate::{
    audit_log::LogEntry,
    rulebook::Rulebook,
    state::{Binding, Event, PolicyNews, Session, SharedEvent, SharedState},
};

/// Where sessions rest.
pub trait Store: Send + Sync {
    /// Opens a session for one decision; a session that was never used is empty.
    ///
    /// # Errors
    /// When the store cannot be reached. The gate then blocks.
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError>;

    /// Stores what happened to all sessions together, whatever else goes on; there are no events of one session in
    /// it.
    ///
    /// # Errors
    /// When the store cannot be reached.
    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError>;

    /// Whether entries of the audit log are kept. Where they are not, none are made.
    fn keeps_audit_log(&self) -> bool {
        false
    }
}

/// What one decision stores: all of it or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// What happened to the session.
    pub events: &'a [Event],
    /// What happened to it under a changed policy that waits to be accepted.
    pub changed: &'a [Event],
    /// Whether a human accepts the changed policy.
    pub accepts: bool,
    /// What happened to all of them.
    pub shared: &'a [SharedEvent],
    /// What the audit log says about it.
    pub entries: &'a [LogEntry],
}

/// How far a decision reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It changes nothing.
    Look,
    /// It changes nothing but the session.
    Session,
    /// It may change what all sessions share, so no other such decision may come in between.
    SharedState,
}

/// A session opened for one decision.
pub trait OpenedSession {
    /// The session as it stands.
    fn session(&self) -> &Session;

    /// What all sessions share, as it stands.
    fn shared_state(&self) -> &SharedState;

    /// The session under the policy in force, where that is another than the one it is bound to. Then both decide.
    fn held(&self) -> Option<Held<'_>> {
        None
    }

    /// What became of its policy since it was opened last.
    fn news(&self) -> Option<&PolicyNews> {
        None
    }

    /// Stores what happened, all of it or nothing.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if another writer was first: open the session again and judge again.
    fn commit(self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError>;
}

/// The other side of a session whose policy has changed.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// What the session is bound to.
    pub binding: &'a Binding,
    /// The rules that it is bound to.
    pub accepted: &'a Rulebook,
    /// The session under the policy in force.
    pub session: &'a Session,
}

/// Why a store could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer was first: open again and judge again.
    #[error("another writer changed the session first")]
    Conflict,
    /// No answer: refuse the call, and keep refusing until the store is back.
    #[error("the session store does not answer: {0}")]
    Unavailable(String),
    /// Lockgate or the store panicked: refuse the call. What was stored is not known.
    #[error("Lockgate or its store panicked")]
    Panicked,
    /// What is stored is not what was stored: refuse the call, and keep refusing until a human has mended it.
    #[error("the stored state was changed outside of Lockgate: {0}")]
    Tampered(String),
}

/// How many parts the memory store has, so that sessions rarely wait for each other.
const SHARDS: usize = 64;

/// Sessions in the memory of this process.
#[derive(Debug)]
pub struct MemoryStore {
    /// Session ids come from outside and are not bounded, so they are hashed against crafted collisions.
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    shared_state: RwLock<SharedState>,
}

/// Some of the sessions, by name, and a table to find them.
#[derive(Debug, Default)]
struct Shard {
    sessions: Vec<(String, Session)>,
    indices: HashTable<usize>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), shards, shared_state: RwLock::default() }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store that already holds one session.
    pub fn with_session(id: &str, session: Session) -> Self {
        Self::new().and_session(id, session)
    }

    /// The same store with one session more.
    #[must_use]
    pub fn and_session(self, id: &str, session: Session) -> Self {
        if let Ok(mut locked) = self.lock(id, Reach::Session) {
            *locked.session_mut() = session;
        }
        self
    }

    /// What is shared is locked before the session, always: this prevents deadlocks.
    fn lock(&self, session: &str, reach: Reach) -> Result<Locked<'_>, StoreError> {
        let shared_state = match reach {
            Reach::Look | Reach::Session => {
                SharedGuard::Reading(self.shared_state.read().unwrap_or_else(PoisonError::into_inner))
            }
            Reach::SharedState => {
                SharedGuard::Writing(self.shared_state.write().unwrap_or_else(PoisonError::into_inner))
            }
        };
        let hash = self.hasher.hash_one(session);
        let number = usize::try_from(hash % (SHARDS as u64)).unwrap_or_default();
        let no_shard = || StoreError::Unavailable("the memory store has no such shard".to_owned());
        // A judgement that panicked has changed nothing, so what the lock guards is whole.
        let mut shard =
            self.shards.get(number).ok_or_else(no_shard)?.lock().unwrap_or_else(PoisonError::into_inner);
        let index = shard.index_of(hash, session, &self.hasher);
        Ok(Locked { shard, index, shared_state })
    }
}

#[expect(clippy::indexing_slicing, reason = "an index was given out by this shard, which only grows")]
impl Shard {
    fn index_of(&mut self, hash: u64, session: &str, hasher: &RandomState) -> usize {
        let Self { sessions, indices } = self;
        if let Some(index) = indices.find(hash, |index| sessions[*index].0 == session) {
            return *index;
        }
        let index = sessions.len();
        sessions.push((session.to_owned(), Session::default()));
        indices.insert_unique(hash, index, |index| hasher.hash_one(sessions[*index].0.as_str()));
        index
    }
}

impl Store for MemoryStore {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        Ok(Box::new(self.lock(session, reach)?))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        let mut shared_state = self.shared_state.write().unwrap_or_else(PoisonError::into_inner);
        changes.shared.iter().for_each(|event| shared_state.apply(event));
        Ok(())
    }
}

/// A session under its shard's lock: judge and commit are one critical section, so no other writer can be first.
struct Locked<'a> {
    shard: MutexGuard<'a, Shard>,
    index: usize,
    shared_state: SharedGuard<'a>,
}

/// What is shared, for as long as a decision takes.
enum SharedGuard<'a> {
    Reading(RwLockReadGuard<'a, SharedState>),
    Writing(RwLockWriteGuard<'a, SharedState>),
}

#[expect(clippy::indexing_slicing, reason = "an index was given out by this shard, which only grows")]
impl Locked<'_> {
    fn session_mut(&mut self) -> &mut Session {
        &mut self.shard.sessions[self.index].1
    }
}

#[expect(clippy::indexing_slicing, reason = "an index was given out by this shard, which only grows")]
impl OpenedSession for Locked<'_> {
    fn session(&self) -> &Session {
        &self.shard.sessions[self.index].1
    }

    fn shared_state(&self) -> &SharedState {
        match &self.shared_state {
            SharedGuard::Reading(shared_state) => shared_state,
            SharedGuard::Writing(shared_state) => shared_state,
        }
    }

    fn commit(mut self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        let Changes { events, shared, .. } = changes;
        match &mut self.shared_state {
            SharedGuard::Writing(shared_state) => shared.iter().for_each(|event| shared_state.apply(event)),
            SharedGuard::Reading(_) if shared.is_empty() => {}
            SharedGuard::Reading(_) => {
                let why = "a decision that was to change one session would change them all";
                return Err(StoreError::Unavailable(why.to_owned()));
            }
        }
        let session = self.session_mut();
        events.iter().for_each(|event| session.apply(event));
        Ok(())
    }
}
