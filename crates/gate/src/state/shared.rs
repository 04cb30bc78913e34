//! What all sessions share: the kill switch for everything, limits over all sessions, and answers that a human
//! gave for a rule wherever it asks.
//!
//! Like a session, [`SharedState`] changes only by [`SharedState::apply`], and whatever changes it is stored together
//! with the session it came from. A [`Stand`] is one session before that background.

use std::{collections::BTreeMap, sync::Arc};

use lockgate_call::Time;
use lockgate_policy::{
    Memory, RuleId,
    clause::Standing,
    provenance::Origins,
    window::{Marks, Window, WindowId},
    workflow::Ran,
};
use serde_json::Value;

use super::{
    parts::{Answered, SavedWindows, Subject, Table, keep_answer},
    session::Session,
};

/// What all sessions share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedState {
    pub(crate) halted: Option<String>,
    pub(crate) windows: Table<WindowId, Window>,
    pub(crate) answers: Vec<Answered>,
    /// The windows of rules that the policy no longer has, kept for the day they come back.
    pub(crate) strangers: SavedWindows,
    /// The hash of the policy that was accepted last, by the place where it is in force.
    pub(crate) accepted: BTreeMap<String, String>,
}

/// Something that happened to what all sessions share.
#[derive(Clone, Debug, PartialEq)]
pub enum SharedEvent {
    /// A call counts for windows.
    Marked {
        /// When.
        at: Time,
        /// The windows.
        marks: Marks,
    },
    /// A human gave an answer that stands.
    Answered {
        /// When.
        at: Time,
        /// The answer.
        answer: Answered,
    },
    /// Every call of every session is refused from now on.
    Halted {
        /// Why.
        reason: String,
    },
    /// Calls are judged again.
    Resumed,
    /// New sessions begin under another policy at a place.
    Accepted {
        /// The place.
        place: String,
        /// The hash of what is accepted there.
        hash: String,
    },
}

impl SharedState {
    /// Takes in what happened. Nothing else changes it.
    pub fn apply(&mut self, event: &SharedEvent) {
        match event {
            SharedEvent::Marked { at, marks } => {
                for mark in marks {
                    self.windows.entry(mark.window).or_default().change(*at, &mark.change);
                }
            }
            SharedEvent::Answered { at, answer } => keep_answer(&mut self.answers, *at, answer),
            SharedEvent::Halted { reason } => self.halted = Some(reason.clone()),
            SharedEvent::Resumed => self.halted = None,
            SharedEvent::Accepted { place, hash } => {
                self.accepted.insert(place.clone(), hash.clone());
            }
        }
    }

    /// Why everything is halted, if it is.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }
}

/// One session, and what it shares with all others.
#[derive(Clone, Copy, Debug)]
pub struct Stand<'a> {
    /// The session.
    pub session: &'a Session,
    /// What it shares.
    pub shared_state: &'a SharedState,
    /// What programs of conditions came to, as far as they were run for this decision.
    pub ran: &'a Ran,
}

impl<'a> From<&'a Session> for Stand<'a> {
    /// A session that shares nothing yet.
    fn from(session: &'a Session) -> Self {
        static NOTHING: std::sync::LazyLock<SharedState> = std::sync::LazyLock::new(SharedState::default);
        Self { session, shared_state: &NOTHING, ran: Ran::nothing() }
    }
}

impl Stand<'_> {
    /// What a human has said about this before, as far as it still stands.
    pub(crate) fn answer(
        &self,
        standing: Standing,
        rule: RuleId,
        tool: &str,
        now: Time,
    ) -> Option<&Answered> {
        let (answers, subject) = match standing {
            Standing::Once => return None,
            Standing::PerSession => (&self.session.answers, Subject::Rule(rule)),
            Standing::PerRule => (&self.shared_state.answers, Subject::Rule(rule)),
            Standing::PerTool => (&self.session.answers, Subject::Tool(Arc::from(tool))),
        };
        answers.iter().find(|answer| answer.about == subject && answer.until > now)
    }
}

impl Memory for Stand<'_> {
    fn attribute(&self, name: &str) -> Option<&Value> {
        self.session.attributes.get(name)
    }

    fn attempts(&self) -> u64 {
        self.session.counts.attempts
    }

    fn calls(&self) -> u64 {
        self.session.counts.tool_calls
    }

    fn calls_of(&self, tool: &str) -> Option<u64> {
        self.session.per_tool.get(tool).copied()
    }

    fn taints(&self) -> &[Arc<str>] {
        &self.session.taints
    }

    fn is_tainted(&self) -> bool {
        self.session.is_tainted
    }

    fn window(&self, id: WindowId) -> Option<&Window> {
        self.session.windows.get(&id)
    }

    fn shared_window(&self, id: WindowId) -> Option<&Window> {
        self.shared_state.windows.get(&id)
    }

    fn origins(&self) -> Option<&Origins> {
        Some(&self.session.origins)
    }

    fn is_running(&self, id: &str) -> bool {
        self.session.flights.get(id).is_some()
    }
}
