//! Earlier calls of a session with their values, as far as some rule asks for them.
//!
//! A [`Log`] is bounded: one that only opens forgets its oldest entries, one that closes remembers that it was full and is
//! a doubt from then on. So a full log never opens anything. What enters a log is decided in `past.rs`.

use std::collections::VecDeque;

use lockgate_call::Time;
use serde::{Deserialize, Serialize};

/// The most entries of one log.
pub const LOG_ENTRIES_MAX: usize = 10_000;

/// What a question about earlier calls measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// How many there were.
    Count,
    /// How many different values they had.
    Different,
    /// The sum of their values.
    Sum,
}

/// The entries of a log, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The entries.
    #[serde(default)]
    pub entries: VecDeque<Entry>,
    /// Whether entries were forgotten that a restriction asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_full: bool,
    /// Calls that clear this log and had no result when they were noted; those that run keep it empty.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub clearing: VecDeque<ClearingCall>,
}

/// A call that clears a log for as long as it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearingCall {
    /// Its id.
    pub id: String,
    /// The key of the entries that it clears; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// One earlier call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at_ms: u64,
    /// The values by which it is told apart; none where they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The value that is measured; none where there is none, or it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it certainly was such a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_possible: bool,
    /// The call's id while its result is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<String>,
}

/// How a log changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// One more entry.
    Enter {
        /// The entry.
        entry: Entry,
        /// What is kept.
        keeps: Keeps,
    },
    /// The call of this id has ended: its entry counts from now on, or is forgotten.
    End {
        /// The id.
        id: String,
        /// The entry, if it counts.
        entry: Option<Entry>,
        /// What is kept.
        keeps: Keeps,
    },
    /// Entries are forgotten: those of this key, or all.
    Clear(Option<String>),
    /// All entries but those of this key are forgotten.
    Keep(String),
    /// Entries are forgotten as by [`LogChange::Clear`], and again and again until the call has a result.
    ClearWhileRunning(ClearingCall),
    /// The same, and the call has a result.
    ClearAtEnd(ClearingCall),
}

/// What is kept of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// What is measured.
    pub measure: Measure,
    /// How many entries of one key.
    pub count: usize,
    /// How long.
    pub within_ms: Option<u64>,
    /// Whether the log only opens, so that the oldest entries may be forgotten.
    pub is_credit: bool,
}

impl Log {
    /// Takes in a change at a moment.
    pub fn change(&mut self, at: Time, change: &LogChange) {
        match change {
            LogChange::Enter { entry, keeps } => self.enter(at, entry.clone(), *keeps),
            LogChange::End { id, entry, keeps } => {
                let place = self.entries.iter().position(|it| it.awaited.as_ref() == Some(id));
                // A call whose entry was cleared meanwhile began too early.
                if let (Some(_), Some(entry)) = (place.and_then(|place| self.entries.remove(place)), entry) {
                    self.enter(at, entry.clone(), *keeps);
                }
            }
            LogChange::Clear(key) => self.clear(key.as_ref()),
            LogChange::Keep(key) => self.entries.retain(|entry| entry.key.as_ref() == Some(key)),
            LogChange::ClearWhileRunning(call) => {
                self.clear(call.key.as_ref());
                self.clearing.push_back(call.clone());
                // The oldest one has most probably ended without a result.
                if self.clearing.len() > LOG_ENTRIES_MAX {
                    self.clearing.pop_front();
                }
            }
            LogChange::ClearAtEnd(call) => {
                self.clear(call.key.as_ref());
                self.clearing.retain(|known| known.id != call.id);
            }
        }
    }

    fn clear(&mut self, key: Option<&String>) {
        match key {
            None => self.entries.clear(),
            Some(key) => self.entries.retain(|entry| entry.key.as_ref().is_some_and(|known| known != key)),
        }
    }

    fn enter(&mut self, at: Time, entry: Entry, keeps: Keeps) {
        if let Some(within_ms) = keeps.within_ms {
            self.entries.retain(|it| it.awaited.is_some() || it.at_ms.saturating_add(within_ms) >= at.0);
        }
        let is_same = |it: &Entry| {
            it.key == entry.key
                && it.is_possible == entry.is_possible
                && it.awaited.is_none()
                && (keeps.measure != Measure::Different || it.value == entry.value)
        };
        let most = match keeps.measure {
            Measure::Count => keeps.count,
            Measure::Different => 1,
            Measure::Sum => usize::MAX,
        };
        if entry.awaited.is_none()
            && self.entries.iter().filter(|it| is_same(it)).count() >= most
            && let Some(oldest) = self.entries.iter().position(is_same)
        {
            self.entries.remove(oldest);
        }
        self.entries.push_back(entry);
        while self.entries.len() > LOG_ENTRIES_MAX {
            self.entries.pop_front();
            self.is_full |= !keeps.is_credit;
        }
    }
}
