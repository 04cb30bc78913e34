//! What can happen to a session, as values.
//!
//! An event carries the markings after the move, not the transitions fired: applying it needs no policy,
//! and an old audit log replays the same after the rules were edited.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_petri::Marking;
use lockgate_policy::{RuleId, provenance::NewOrigins, window::Marks, workflow::Step};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::parts::{Answered, Asked, Counts, Flight, Notes};
use crate::human::Answer;

/// The marking of one rule after something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The rule.
    pub rule: RuleId,
    /// Its marking from now on.
    pub marking: Marking,
}

/// The markings that changed.
pub type Moves = SmallVec<[Move; 1]>;

/// What is remembered of a call beside markings; most calls leave nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// The windows it counts for.
    pub marks: Marks,
    /// The counters it counts for.
    pub counted: SmallVec<[Arc<str>; 1]>,
    /// The kinds of sensitive data found in it.
    pub taints: Vec<Arc<str>>,
    /// Whether nothing may be sent out from now on.
    pub is_tainted: bool,
    /// What happened in workflows, in order.
    pub steps: Steps,
    /// What was seen of values.
    pub origins: Option<Box<NewOrigins>>,
}

/// What happened in workflows, in order.
pub type Steps = Vec<(RuleId, Step)>;

/// Something that happened to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call was let pass.
    Allowed {
        /// The call's id.
        id: Arc<str>,
        /// When.
        at: Time,
        /// What is remembered until its result comes.
        flight: Flight,
        /// What moved at once.
        moves: Moves,
        /// What validators noted.
        notes: Vec<(RuleId, Notes)>,
        /// What else is remembered.
        remembered: Option<Box<Remembered>>,
    },
    /// A call was refused.
    Blocked {
        /// The call's id.
        id: String,
        /// The tool.
        tool: String,
        /// When.
        at: Time,
        /// What is remembered.
        remembered: Option<Box<Remembered>>,
    },
    /// A human is asked about a call, and its tokens are taken until the answer.
    Asked {
        /// When.
        at: Time,
        /// The number of the question in this session.
        number: u64,
        /// The question.
        asked: Box<Asked>,
        /// The markings with the tokens taken.
        moves: Moves,
        /// What else is remembered.
        remembered: Option<Box<Remembered>>,
    },
    /// A question was answered, or the door that waited for it gave up; its tokens are given back.
    Closed {
        /// When.
        at: Time,
        /// The number of the question.
        number: u64,
        /// The answer.
        answer: Answer,
        /// The markings with the tokens back.
        moves: Moves,
        /// The answers that stand from now on.
        answers: Vec<Answered>,
        /// The ends of stages that were agreed to.
        steps: Steps,
    },
    /// No human answered a question in time, and no door waits for the answer; its tokens are given back.
    Expired {
        /// When.
        at: Time,
        /// The number of the question.
        number: u64,
        /// The markings with the tokens back.
        moves: Moves,
    },
    /// A result came for a call in flight.
    Settled {
        /// The call's id.
        id: Arc<str>,
        /// When.
        at: Time,
        /// Whether it says success.
        ok: bool,
        /// What moved.
        moves: Moves,
        /// What result hooks noted.
        notes: Vec<(RuleId, Notes)>,
        /// What else is remembered.
        remembered: Option<Box<Remembered>>,
    },
    /// A call in flight came by another door.
    Duplicate {
        /// The call's id.
        id: Arc<str>,
        /// When.
        at: Time,
        /// The door.
        door: Arc<str>,
    },
    /// A call's result never came: it counts as failed for whatever waited for success.
    Lapsed {
        /// The call's id.
        id: Arc<str>,
        /// When.
        at: Time,
    },
    /// A result came without a waiting call: an unknown id, a second result, another tool's. It opens nothing.
    Stray {
        /// The id it named.
        id: String,
        /// When.
        at: Time,
        /// The sensitive data that was seen in it.
        remembered: Option<Box<Remembered>>,
    },
    /// The session begins where some rules are off at first.
    Began {
        /// Those rules.
        inactive: Vec<RuleId>,
    },
    /// A rule takes part again.
    Activated {
        /// The rule.
        rule: RuleId,
    },
    /// A rule takes no part until it is activated; its marking is kept.
    Deactivated {
        /// The rule.
        rule: RuleId,
    },
    /// The trusted caller said something about the session.
    Described {
        /// What is known from now on, by name; null makes an attribute unknown again.
        attributes: Map<String, Value>,
    },
    /// What was counted before this gate was there.
    Seeded {
        /// The counts.
        counts: Counts,
        /// The counts of tools.
        per_tool: Vec<(Arc<str>, u64)>,
    },
    /// The user said something.
    Heard {
        /// When.
        at: Time,
        /// What was said, hashed.
        origins: Box<NewOrigins>,
    },
    /// An operator moved a workflow, or its state was taken over from elsewhere.
    Moved {
        /// When.
        at: Time,
        /// The workflow.
        rule: RuleId,
        /// What happened.
        step: Step,
    },
    /// An operator cleared what sensitive data had closed.
    Untainted,
    /// Every call is refused from now on.
    Halted {
        /// Why.
        reason: String,
    },
    /// Calls are judged again.
    Resumed,
}

impl Event {
    /// Whether it means the same under any policy: it names no rule.
    pub(crate) fn is_of_no_rule(&self) -> bool {
        match self {
            Self::Blocked { remembered, .. } | Self::Stray { remembered, .. } => remembered.is_none(),
            Self::Duplicate { .. }
            | Self::Lapsed { .. }
            | Self::Described { .. }
            | Self::Seeded { .. }
            | Self::Heard { .. }
            | Self::Untainted
            | Self::Halted { .. }
            | Self::Resumed => true,
            Self::Allowed { .. }
            | Self::Asked { .. }
            | Self::Closed { .. }
            | Self::Expired { .. }
            | Self::Settled { .. }
            | Self::Began { .. }
            | Self::Activated { .. }
            | Self::Deactivated { .. }
            | Self::Moved { .. } => false,
        }
    }
}
