//! Where sessions rest as bytes, from one process to the next.
//!
//! A [`Shelf`] keeps bytes and versions and understands neither. [`Shelf::take`] takes a session down for one
//! decision; [`Taken::put`] puts it back, with what all sessions share and what the audit trail says, in one
//! transaction or not at all. What a session's bytes mean is told by [`Shelved`], which makes any shelf a
//! [`Store`](crate::Store).

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::Policy;

use super::session_store::{Changes, OpenedSession, Reach, Store, StoreError};
use crate::{
    state::{Commons, SavedError, Session},
    trail::Entry,
};

/// Keeps sessions, what they share, answers of humans and the audit trail.
pub trait Shelf: Send + Sync {
    /// Takes a session down for one decision. With [`Reach::Look`] nobody waits and nothing can be put back.
    ///
    /// # Errors
    /// When the shelf cannot be reached. The gate then blocks.
    fn take<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn Taken + 'a>, StoreError>;

    /// Keeps a human's answer for whoever asked, with an entry of the trail. Whether it did: the first answer
    /// stands.
    ///
    /// # Errors
    /// When the shelf cannot be reached: then no answer was kept.
    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &KeptAnswer,
        entry: &str,
    ) -> Result<bool, StoreError>;

    /// The answer to a question, if a human gave one.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    fn answer(&self, session: &str, number: u64) -> Result<Option<KeptAnswer>, StoreError>;

    /// All sessions, those used last first.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    fn sessions(&self) -> Result<Vec<Label>, StoreError>;
}

/// A session that was taken down; putting nothing back changes nothing.
pub trait Taken {
    /// The session's bytes; none if nobody has used it yet.
    fn session(&self) -> Option<&[u8]>;

    /// The bytes of what all sessions share; none if there is nothing yet.
    fn commons(&self) -> Option<&[u8]>;

    /// Puts back what changed: all of it, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if somebody else was first.
    fn put(self: Box<Self>, put: &Put<'_>) -> Result<(), StoreError>;
}

/// What is put back.
#[derive(Clone, Debug, Default)]
pub struct Put<'a> {
    /// The session, where it changed.
    pub session: Option<Resting<'a>>,
    /// What all sessions share, where it changed.
    pub commons: Option<&'a [u8]>,
    /// What the audit trail says from now on, an object of JSON each.
    pub entries: &'a [String],
}

/// A session at rest.
#[derive(Clone, Copy, Debug)]
pub struct Resting<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The latest moment it has seen.
    pub clock: Time,
    /// How many questions of it are open.
    pub questions: u64,
}

/// What is known of a session without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The session.
    pub session: String,
    /// The latest moment it has seen.
    pub clock: Time,
    /// How many questions of it are open.
    pub questions: u64,
}

/// What a human said, and who.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Yes or no.
    pub granted: bool,
    /// Who, as far as the door could tell.
    pub by: String,
    /// When.
    pub at: Time,
}

impl<S: Shelf + ?Sized> Shelf for Arc<S> {
    fn take<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn Taken + 'a>, StoreError> {
        (**self).take(session, reach)
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &KeptAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        (**self).keep_answer(session, number, answer, entry)
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<KeptAnswer>, StoreError> {
        (**self).answer(session, number)
    }

    fn sessions(&self) -> Result<Vec<Label>, StoreError> {
        (**self).sessions()
    }
}

/// Sessions on a shelf, read and written under one policy.
pub struct Shelved<S> {
    shelf: S,
    policy: Arc<Policy>,
}

impl<S: Shelf> Shelved<S> {
    /// The sessions of a shelf, under a policy.
    pub fn new(shelf: S, policy: Arc<Policy>) -> Self {
        Self { shelf, policy }
    }

    fn read(&self, taken: &dyn Taken) -> Result<(Session, Commons), StoreError> {
        let session = match taken.session() {
            Some(bytes) => Session::from_bytes(bytes, &self.policy)?,
            None => Session::default(),
        };
        let commons = match taken.commons() {
            Some(bytes) => Commons::from_bytes(bytes, &self.policy)?,
            None => Commons::default(),
        };
        Ok((session, commons))
    }
}

/// What cannot be read is never taken for a fresh session: that would give back everything it has spent.
impl From<SavedError> for StoreError {
    fn from(error: SavedError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl<S: Shelf> Store for Shelved<S> {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        let taken = self.shelf.take(session, reach)?;
        let (session, commons) = self.read(&*taken)?;
        Ok(Box::new(Opened { taken, session, commons, policy: &self.policy }))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        // What all sessions share is not any one session's: none is put back.
        let opened = self.open("", Reach::Commons)?;
        opened.commit(changes)
    }

    fn keeps_trail(&self) -> bool {
        true
    }
}

/// A session that was taken down and read.
struct Opened<'a> {
    taken: Box<dyn Taken + 'a>,
    session: Session,
    commons: Commons,
    policy: &'a Policy,
}

impl OpenedSession for Opened<'_> {
    fn session(&self) -> &Session {
        &self.session
    }

    fn commons(&self) -> &Commons {
        &self.commons
    }

    fn commit(mut self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        let Changes { events, shared, entries } = changes;
        events.iter().for_each(|event| self.session.apply(event));
        shared.iter().for_each(|event| self.commons.apply(event));
        let session = (!events.is_empty()).then(|| self.session.to_bytes(self.policy));
        let commons = (!shared.is_empty()).then(|| self.commons.to_bytes(self.policy));
        let entries: Vec<String> = entries.iter().map(Entry::to_json).collect();
        let questions = self.session.asked.len() as u64;
        let rest = |bytes| Resting { bytes, clock: self.session.clock, questions };
        let put =
            Put { session: session.as_deref().map(rest), commons: commons.as_deref(), entries: &entries };
        self.taken.put(&put)
    }
}
