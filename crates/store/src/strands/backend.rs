//! The backend over an engine: seals rows, links records, and stores both together.
//!
//! [`StrandStore`] reads a session without a lock and writes it if it is still the one that was read. Calls of one session
//! queue inside a process; after a conflict with another gate the next try locks the row, so that a hot session is
//! not judged in vain over and over. What all sessions share is read under a lock, and each write names the
//! version of it that was judged by: a halt is in force when it is stored.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ed25519_dalek::SigningKey;
use lockgate_gate::{
    Backend, LockedRow, Reach, RowWrite, SessionListing, SessionRow, StoreError, StoredAnswer, Time,
};

use super::{
    columns::{SHARED, columns, question, session_place, shared_columns, whole},
    engine::{
        AnswerWrite, Engine, EngineError, Position, RECORDS_MAX, Record, RowLock, Rows, SharedRow,
        StrandRecord, StrandRow, ToSeal, Write, WriteToken,
    },
    known::{Before, Known},
    sealing::Seal,
};
use crate::{
    audit::{Hash, START, entry_key, link_hash},
    error::Fault,
    seal::{Column, Sealer},
};

/// How often heads are sealed.
const SEAL_EVERY: Duration = Duration::from_secs(1);
/// So many queues share the sessions of a process.
const QUEUES: usize = 1_024;
/// How often an answer is tried that other writers were faster than.
pub(super) const TRIES_MAX: usize = 100;
/// So many sessions are remembered as contended.
const REMEMBERED_MAX: usize = 10_000;

/// A store that many gates share. Clones share one connection pool.
#[derive(Clone)]
pub struct StrandStore {
    inner: Arc<Inner>,
    /// Dropped with the last handle, which ends the sealing thread.
    _sealing: Arc<SealingThread>,
}

pub(super) struct Inner {
    pub(super) engine: Box<dyn Engine>,
    pub(super) key: SigningKey,
    pub(super) database: [u8; 16],
    pub(super) sealer: Sealer,
    pub(super) known: Known,
    queues: Vec<Mutex<()>>,
    hasher: RandomState,
    /// Sessions that another gate has written while this one judged.
    contended: Mutex<HashSet<String>>,
    has_changed: AtomicBool,
}

/// Ends the thread when it is dropped.
struct SealingThread(#[expect(dead_code, reason = "dropping it ends the thread")] mpsc::Sender<()>);

impl StrandStore {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        key: SigningKey,
        database: [u8; 16],
    ) -> Result<Self, StoreError> {
        let inner = Arc::new(Inner {
            engine,
            sealer: Sealer::new(&key, &database),
            key,
            database,
            queues: (0..QUEUES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            contended: Mutex::default(),
            known: Known::default(),
            has_changed: AtomicBool::new(true),
        });
        // A process knows nothing yet: the last seal says how new the shared state must be.
        inner.note_last_seal()?;
        let (sender, ended) = mpsc::channel::<()>();
        let sealing = inner.clone();
        thread::Builder::new()
            .name("lockgate-seals".to_owned())
            .spawn(move || {
                while ended.recv_timeout(SEAL_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if sealing.has_changed.swap(false, Ordering::AcqRel) && sealing.seal_changes().is_err() {
                        // Tried again in a second; `verify` tells how old the last seal is.
                        sealing.has_changed.store(true, Ordering::Release);
                    }
                }
            })
            .map_err(|error| {
                StoreError::Unavailable(format!("the sealing thread cannot be started: {error}"))
            })?;
        Ok(Self { inner, _sealing: Arc::new(SealingThread(sender)) })
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// The public half of the key that signs seals, to note where nothing that can change the database can reach it.
    pub fn public_key(&self) -> [u8; 32] {
        self.inner.key.verifying_key().to_bytes()
    }

    /// The database's id.
    pub fn id(&self) -> [u8; 16] {
        self.inner.database
    }

    /// Its name in messages, without a password.
    pub fn place(&self) -> &str {
        self.inner.engine.place()
    }

    /// Seals now what has changed. Returns false if nothing has, or if another gate is sealing.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub fn seal_now(&self) -> Result<bool, StoreError> {
        self.inner.seal_changes()
    }

    /// At most `count` records after a position, in order; of one session, if one is named. Records that are still being
    /// written come later, so a reader that goes on after the last position misses none.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub fn records(
        &self,
        after: Position,
        session: Option<&str>,
        count: u32,
    ) -> Result<Vec<StrandRecord>, StoreError> {
        self.inner.engine.records(after, session, count).map_err(|error| self.inner.told(error))
    }

    /// Stores the text of a policy under its hash.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub fn keep_policy_text(&self, hash: &str, text: &str) -> Result<(), StoreError> {
        self.inner.engine.keep_text(hash, text).map_err(|error| self.inner.told(error))
    }

    /// The text of a policy by its hash. The caller compares: the hash vouches for the text.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub fn policy_text(&self, hash: &str) -> Result<Option<String>, StoreError> {
        self.inner.engine.text(hash).map_err(|error| self.inner.told(error))
    }
}

impl Inner {
    pub(super) fn told(&self, error: EngineError) -> StoreError {
        match error {
            EngineError::Conflict => StoreError::Conflict,
            EngineError::Unknown(why) | EngineError::Failed(why) => self.unavailable(why),
        }
    }

    pub(super) fn unavailable(&self, why: impl std::fmt::Display) -> StoreError {
        StoreError::Unavailable(format!("`{}` {why}", self.engine.place()))
    }

    pub(super) fn tampered(&self, what: impl std::fmt::Display) -> StoreError {
        StoreError::Tampered(format!(
            "`{}` {what}. Stop and tell the user. For the user: verify the audit log, and restore the database from a copy",
            self.engine.place()
        ))
    }

    fn fault(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::Conflict => StoreError::Conflict,
            Fault::Told(why) | Fault::Tampered(why) => self.unavailable(why),
            Fault::Sql(error) => self.unavailable(error),
        }
    }

    /// Seals what changed since the last seal. What was brought back since then is not sealed.
    fn seal_changes(&self) -> Result<bool, StoreError> {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let (known, known_shared) = (self.known.seal(), self.known.before("").shared);
        let make = |to_seal: &ToSeal| {
            let ToSeal { last, shared, .. } = to_seal;
            if last.as_ref().map_or(0, |last| last.n) < known {
                return Err(EngineError::Failed("has lost its last seals".to_owned()));
            }
            let shared = self.whole_shared(shared.as_ref(), known_shared).map_err(EngineError::Failed)?;
            if last.as_ref().is_some_and(|last| !last.admits(shared.head())) {
                return Err(EngineError::Failed("has an older shared state than the sealed one".to_owned()));
            }
            let sealed = (to_seal.heads.as_slice(), shared.head());
            Ok(Seal::make(last.as_ref(), sealed, to_seal.horizon, at_ms, &self.database, &self.key))
        };
        match self.engine.seal(&make).map_err(|error| self.told(error))? {
            Some(seal) => {
                self.known.note_seal(seal.n);
                Ok(true)
            }
            None => self.note_last_seal().map(|()| false),
        }
    }

    fn note_last_seal(&self) -> Result<(), StoreError> {
        let last = self.engine.last_seal().map_err(|error| self.told(error))?;
        let key = self.key.verifying_key().to_bytes();
        if let Some(seal) = last.filter(|seal| seal.is_signed_by(&key, &self.database)) {
            self.known.note_seal(seal.n);
            self.known.note_shared(whole(seal.shared_version));
        }
        Ok(())
    }

    /// Waits until no other call of the session is judged in this process.
    pub(super) fn queue(&self, name: &str) -> MutexGuard<'_, ()> {
        let index = self.hasher.hash_one(name) as usize % QUEUES;
        // Invariant: the index is below the number of queues, of which there is at least one.
        #[expect(clippy::indexing_slicing, reason = "see the invariant")]
        let queue = &self.queues[index];
        queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_contended(&self, name: &str) -> bool {
        self.contended.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    fn note_conflict(&self, name: &str) {
        let mut contended = self.contended.lock().unwrap_or_else(PoisonError::into_inner);
        if contended.len() >= REMEMBERED_MAX {
            contended.clear();
        }
        contended.insert(name.to_owned());
    }

    /// Checks that rows are as they were written, and not older than what this process has seen or what they speak of.
    pub(super) fn check(&self, name: &str, rows: &Rows, before: Before) -> Result<(), StoreError> {
        let shared = self
            .whole_shared(rows.shared.as_ref(), before.shared)
            .map_err(|problem| self.tampered(problem))?;
        let version = rows.session.as_ref().map_or(0, |row| row.version);
        if let Some(row) = &rows.session {
            if !self.is_sealed(name, row) {
                return Err(self.tampered(format!("has a changed row of session `{name}`")));
            }
            if row.shared > shared.version {
                return Err(
                    self.tampered(format!("has an older shared state than session `{name}` was judged by"))
                );
            }
        }
        if before.session > version {
            return Err(self.tampered(format!("has an older row of session `{name}` than before")));
        }
        self.known.note_session(name, version);
        self.known.note_shared(shared.version);
        Ok(())
    }

    /// The row of the shared state, if it is there, as it was written, and not older than known. Otherwise what is wrong with it.
    pub(super) fn whole_shared<'a>(
        &self,
        row: Option<&'a SharedRow>,
        known: i64,
    ) -> Result<&'a SharedRow, String> {
        let row = row.ok_or("has lost the row of the shared state")?;
        if !self.sealer.is_sealed(&SHARED, row.version.cast_unsigned(), &shared_columns(row), &row.seal) {
            return Err("has a changed row of the shared state".to_owned());
        }
        if row.version < known {
            return Err("has an older shared state than before".to_owned());
        }
        Ok(row)
    }

    pub(super) fn read(&self, name: &str) -> Result<Rows, StoreError> {
        let before = self.known.before(name);
        let rows = self.engine.read(name).map_err(|error| self.told(error))?;
        self.check(name, &rows, before)?;
        Ok(rows)
    }

    pub(super) fn read_locked(
        &self,
        name: &str,
        is_shared: bool,
    ) -> Result<(Rows, Box<dyn RowLock + '_>), StoreError> {
        let before = self.known.before(name);
        let (rows, lock) = self.engine.read_locked(name, is_shared).map_err(|error| self.told(error))?;
        self.check(name, &rows, before)?;
        Ok((rows, lock))
    }

    /// The write that appends entries to a strand and stores with it what else has changed.
    pub(super) fn next_write<'a>(
        &self,
        name: &'a str,
        rows: &Rows,
        session: Option<&SessionRow<'_>>,
        entries: &[String],
        answer: Option<AnswerWrite>,
        shared: Option<SharedRow>,
    ) -> Result<Write<'a>, StoreError> {
        if entries.len() > RECORDS_MAX {
            return Err(self.unavailable(format!("was given more than {RECORDS_MAX} records at once")));
        }
        let before = rows.session.as_ref();
        let seen = before.map_or(0, |row| row.version);
        let (mut length, mut head) = before.map_or((0, START), |row| (row.length, row.head));
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            let found = entry_key(entry).map_err(|fault| self.fault(fault))?;
            let at = i64::try_from(found.at)
                .map_err(|_| self.unavailable("was given a moment too late to be kept"))?;
            let prev = head;
            length += 1;
            head = link_hash(length.cast_unsigned(), &prev, entry.as_bytes());
            let session = found.session.map(std::borrow::Cow::into_owned);
            records.push(Record { n: length, prev, hash: head, at, session, entry: entry.clone() });
        }
        let shared_seen = rows.shared.as_ref().map_or(0, |row| row.version);
        let row = (session.is_some() || !records.is_empty() || shared.is_some()).then(|| {
            let (bytes, clock, questions) = match session {
                Some(it) => (Some(it.bytes.to_vec()), whole(it.clock.0), whole(it.questions)),
                None => before.map_or((None, 0, 0), |row| (row.bytes.clone(), row.clock, row.questions)),
            };
            StrandRow {
                version: seen + 1,
                bytes,
                clock,
                questions,
                length,
                head,
                answers: before.map_or(0, |row| row.answers) + i64::from(answer.is_some()),
                shared: shared.as_ref().map_or(shared_seen, |row| row.version),
                seals: whole(self.known.seal()),
                token: [0; 16],
                seal: Vec::new(),
            }
        });
        let row = row.map(|row| self.sealed(name, row)).transpose()?;
        Ok(Write { name, shared_seen, shared, seen, row, answer, records, forgotten: Vec::new() })
    }

    pub(super) fn sealed(&self, name: &str, mut row: StrandRow) -> Result<StrandRow, StoreError> {
        getrandom::fill(&mut row.token)
            .map_err(|error| self.unavailable(format!("got no random numbers: {error}")))?;
        let key = [Column::Text(name)];
        row.seal =
            self.sealer.seal(&session_place(&key), row.version.cast_unsigned(), &columns(&row)).to_vec();
        Ok(row)
    }

    /// The next row of the shared state.
    pub(super) fn next_shared(
        &self,
        rows: &Rows,
        bytes: Option<&[u8]>,
        human_key: Option<&[u8]>,
    ) -> Option<SharedRow> {
        if bytes.is_none() && human_key.is_none() {
            return None;
        }
        let before = rows.shared.as_ref();
        let or_before = |new: Option<&[u8]>, old: Option<&Vec<u8>>| new.map(<[u8]>::to_vec).or(old.cloned());
        let row = SharedRow {
            version: before.map_or(1, |row| row.version + 1),
            bytes: or_before(bytes, before.and_then(|row| row.bytes.as_ref())),
            human_key: or_before(human_key, before.and_then(|row| row.human_key.as_ref())),
            seal: Vec::new(),
        };
        Some(sealed_shared(&self.sealer, row))
    }

    /// Stores a write, through a lock where there is one. A write whose answer was lost is looked up by its token.
    pub(super) fn store(
        &self,
        lock: Option<Box<dyn RowLock + '_>>,
        write: &Write<'_>,
    ) -> Result<(), StoreError> {
        let stored = match lock {
            Some(lock) => lock.write(write),
            None => self.engine.write(write),
        };
        self.has_changed.store(true, Ordering::Release);
        match stored {
            Err(EngineError::Unknown(why)) => {
                let token: Option<WriteToken> = write.row.as_ref().map(|row| row.token);
                match self.read(write.name) {
                    Ok(rows) if token.is_some() && rows.session.as_ref().map(|row| row.token) == token => {
                        Ok(())
                    }
                    // Should the lost write still arrive, one of both finds another version.
                    Ok(_) => Err(StoreError::Conflict),
                    Err(_) => {
                        Err(self.unavailable(format!("{why}; whether the decision is stored is not known")))
                    }
                }
            }
            Err(EngineError::Conflict) => {
                self.note_conflict(write.name);
                Err(StoreError::Conflict)
            }
            Ok(()) => {
                let written = write.row.iter().map(|row| (write.name, row.version));
                let forgotten = write.forgotten.iter().map(|it| (it.name.as_str(), it.row.version));
                for (name, version) in written.chain(forgotten) {
                    self.known.note_session(name, version);
                }
                if let Some(shared) = &write.shared {
                    self.known.note_shared(shared.version);
                }
                Ok(())
            }
            Err(error) => Err(self.told(error)),
        }
    }
}

/// The first row of the shared state, which is made with the tables.
pub(crate) fn first_shared(key: &SigningKey, database: &[u8; 16]) -> SharedRow {
    let row = SharedRow { version: 1, bytes: None, human_key: None, seal: Vec::new() };
    sealed_shared(&Sealer::new(key, database), row)
}

fn sealed_shared(sealer: &Sealer, mut row: SharedRow) -> SharedRow {
    row.seal = sealer.seal(&SHARED, row.version.cast_unsigned(), &shared_columns(&row)).to_vec();
    row
}

impl Backend for StrandStore {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        let inner = &*self.inner;
        if reach == Reach::Look {
            let rows = inner.read(session)?;
            return Ok(Box::new(OpenRow { inner, name: session, reach, rows, lock: None, _queue: None }));
        }
        let queue = Some(inner.queue(session));
        let is_shared = reach == Reach::SharedState;
        let (rows, lock) = if is_shared || inner.is_contended(session) {
            let (rows, lock) = inner.read_locked(session, is_shared)?;
            (rows, Some(lock))
        } else {
            (inner.read(session)?, None)
        };
        Ok(Box::new(OpenRow { inner, name: session, reach, rows, lock, _queue: queue }))
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        let question = (session, question(number)?);
        let granted = Some(answer.granted);
        self.inner.change_answer(question, answer, granted, entry, |now| now.is_none())
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        self.inner.answer(session, question(number)?)
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        let question = (session, question(number)?);
        self.inner.change_answer(question, answer, None, entry, |now| now == Some(answer))
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        let sessions = self.inner.engine.sessions().map_err(|error| self.inner.told(error))?;
        let listing = |(session, clock, questions): (String, i64, i64)| SessionListing {
            session,
            clock: Time(clock.max(0).cast_unsigned()),
            questions: questions.max(0).cast_unsigned(),
        };
        Ok(sessions.into_iter().map(listing).collect())
    }
}

/// A session that was read, with the queue of its process and perhaps a lock.
struct OpenRow<'a> {
    inner: &'a Inner,
    name: &'a str,
    reach: Reach,
    rows: Rows,
    lock: Option<Box<dyn RowLock + 'a>>,
    _queue: Option<MutexGuard<'a, ()>>,
}

impl LockedRow for OpenRow<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.rows.session.as_ref().and_then(|row| row.bytes.as_deref())
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.rows.shared.as_ref().and_then(|row| row.bytes.as_deref())
    }

    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        let Self { inner, name, reach, rows, lock, _queue } = *self;
        match reach {
            Reach::Look => {
                return Err(inner.unavailable("was opened for reading only, so nothing can be stored"));
            }
            Reach::Session if write.shared_state.is_some() => {
                return Err(inner.unavailable(
                    "was to change one session, and would have changed them all; nothing was stored",
                ));
            }
            Reach::Session | Reach::SharedState => {}
        }
        let shared = inner.next_shared(&rows, write.shared_state, None);
        let next = inner.next_write(name, &rows, write.session.as_ref(), write.entries, None, shared)?;
        if next.row.is_none() {
            return Ok(());
        }
        inner.store(lock, &next)
    }
}

impl Inner {
    /// Whether a row is as it was written.
    pub(super) fn is_sealed(&self, name: &str, row: &StrandRow) -> bool {
        self.sealer.is_sealed(
            &session_place(&[Column::Text(name)]),
            row.version.cast_unsigned(),
            &columns(row),
            &row.seal,
        )
    }

    /// The strand's head as its row says, for `verify`.
    pub(super) fn head_of(row: &StrandRow) -> (u64, Hash) {
        (row.length.max(0).cast_unsigned(), row.head)
    }
}
