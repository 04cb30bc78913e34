//! What a process has seen of a store: what it reads later must not be older.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

/// So many versions of sessions are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// The latest versions that this process has read or written.
#[derive(Default)]
pub(super) struct Known {
    sessions: Mutex<HashMap<String, i64>>,
    shared: AtomicI64,
    seal: AtomicU64,
}

/// What was known before something was read: it was committed before that, so it cannot be newer than what is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) session: i64,
    pub(super) shared: i64,
}

impl Known {
    /// What is known of a session and the shared state; 0 for what was never seen.
    pub(super) fn before(&self, session: &str) -> Before {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get(session).copied().unwrap_or(0);
        Before { session, shared: self.shared.load(Ordering::Acquire) }
    }

    pub(super) fn note_session(&self, session: &str, version: i64) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= REMEMBERED_MAX {
            sessions.clear();
        }
        let known = sessions.entry(session.to_owned()).or_default();
        *known = version.max(*known);
    }

    pub(super) fn note_shared(&self, version: i64) {
        self.shared.fetch_max(version, Ordering::AcqRel);
    }

    /// The number of the last seal that was seen; 0 if none was.
    pub(super) fn seal(&self) -> u64 {
        self.seal.load(Ordering::Acquire)
    }

    pub(super) fn note_seal(&self, n: u64) {
        self.seal.fetch_max(n, Ordering::AcqRel);
    }
}
