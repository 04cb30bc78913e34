//! The slow and obvious backend: everything in one place, compared and written under one lock.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lockgate::engine::{
    Time,
    gate::{Backend, LockedRow, Reach, RowWrite, SessionListing, StoreError, StoredAnswer},
};
use serde_json::Value;

use super::Rest;

/// Sessions in the memory of a test.
#[derive(Clone, Default)]
pub struct MemoryRest {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Clone, Default)]
struct Kept {
    /// Counts what was put, so that whoever took something before can tell.
    version: u64,
    sessions: BTreeMap<String, (Vec<u8>, Time, u64)>,
    shared_state: Option<Vec<u8>>,
    answers: BTreeMap<(String, u64), StoredAnswer>,
    audit_log: Vec<String>,
}

impl MemoryRest {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rest for MemoryRest {
    fn open(&self) -> Box<dyn Backend> {
        Box::new(self.clone())
    }

    fn audit_log(&self) -> Vec<String> {
        self.kept().audit_log.clone()
    }

    fn forget(&self, before: Time, entry: &str) -> u64 {
        let mut kept = self.kept();
        let Kept { sessions, answers, audit_log, version, .. } = &mut *kept;
        let is_old = |name: &String, clock: &Time, questions: &u64| {
            let is_awaited = |answer: &StoredAnswer| *questions > 0 && answer.at >= before;
            let awaited = answers.iter().any(|((session, _), answer)| session == name && is_awaited(answer));
            *clock < before && !awaited
        };
        let gone: Vec<String> = sessions
            .iter()
            .filter(|(name, (_, clock, questions))| is_old(name, clock, questions))
            .map(|(name, _)| name.clone())
            .collect();
        sessions.retain(|name, _| !gone.contains(name));
        // Answers go with their sessions; those that have none go when they are old.
        answers.retain(|(session, _), answer| {
            !gone.contains(session) && (sessions.contains_key(session) || answer.at >= before)
        });
        if !gone.is_empty() {
            audit_log.push(entry.to_owned());
            *version += 1;
        }
        gone.len() as u64
    }
}

impl Backend for MemoryRest {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        let kept = self.kept().clone();
        Ok(Box::new(Snapshot { rest: self, name: session, reach, kept }))
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        check(entry)?;
        let mut kept = self.kept();
        if kept.answers.contains_key(&(session.to_owned(), number)) {
            return Ok(false);
        }
        kept.answers.insert((session.to_owned(), number), answer.clone());
        kept.audit_log.push(entry.to_owned());
        Ok(true)
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        Ok(self.kept().answers.get(&(session.to_owned(), number)).cloned())
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        check(entry)?;
        let mut kept = self.kept();
        let name = (session.to_owned(), number);
        let is_there = kept.answers.get(&name) == Some(answer);
        if is_there {
            kept.answers.remove(&name);
            kept.audit_log.push(entry.to_owned());
        }
        Ok(is_there)
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        let kept = self.kept();
        let mut labels: Vec<_> = kept
            .sessions
            .iter()
            .map(|(name, (_, clock, questions))| SessionListing {
                session: name.clone(),
                clock: *clock,
                questions: *questions,
            })
            .collect();
        labels.sort_by_key(|label| std::cmp::Reverse(label.clock));
        Ok(labels)
    }
}

/// Everything as it was when the row of a session was opened.
struct Snapshot<'a> {
    rest: &'a MemoryRest,
    name: &'a str,
    reach: Reach,
    kept: Kept,
}

impl LockedRow for Snapshot<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.kept.sessions.get(self.name).map(|(bytes, ..)| bytes.as_slice())
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.kept.shared_state.as_deref()
    }

    fn write(self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        let reaches = match self.reach {
            Reach::Look => false,
            Reach::Session => write.shared_state.is_none(),
            Reach::SharedState => true,
        };
        if !reaches {
            return Err(StoreError::Unavailable("it reaches too far".to_owned()));
        }
        write.entries.iter().try_for_each(|entry| check(entry))?;
        let mut kept = self.rest.kept();
        if kept.version != self.kept.version {
            return Err(StoreError::Conflict);
        }
        kept.version += 1;
        if let Some(session) = &write.session {
            let rested = (session.bytes.to_vec(), session.clock, session.questions);
            kept.sessions.insert(self.name.to_owned(), rested);
        }
        if let Some(shared_state) = write.shared_state {
            kept.shared_state = Some(shared_state.to_vec());
        }
        kept.audit_log.extend_from_slice(write.entries);
        Ok(())
    }
}

/// An entry is an object of JSON in one line, with its moment.
fn check(entry: &str) -> Result<(), StoreError> {
    let is_plain = entry.starts_with('{') && entry.ends_with('}') && !entry.contains('\n');
    let has_moment =
        serde_json::from_str::<Value>(entry).is_ok_and(|entry| entry.get("at").is_some_and(Value::is_u64));
    if is_plain && has_moment { Ok(()) } else { Err(StoreError::Unavailable("it is no entry".to_owned())) }
}
