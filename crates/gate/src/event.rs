//! What can happen to a session, as values.
//!
//! An event carries the markings after the move, not the transitions fired: applying it needs no policy,
//! and an old trail replays the same after the rules were edited.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_petri::Marking;
use lockgate_policy::RuleId;
use smallvec::SmallVec;

use crate::session::{Asked, Flight, Notes};

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
    },
    /// A call was refused.
    Blocked {
        /// The call's id.
        id: String,
        /// The tool.
        tool: String,
        /// When.
        at: Time,
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
    },
    /// A question was answered or lapsed, and its tokens are given back.
    Closed {
        /// When.
        at: Time,
        /// The number of the question.
        number: u64,
        /// How it ended.
        how: Closing,
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
    },
    /// A call's result never came: it counts as failed for whatever waited for success.
    Lapsed {
        /// The call's id.
        id: Arc<str>,
        /// When.
        at: Time,
    },
    /// A result came that nobody waits for: an unknown id, a second result, another tool's. Nothing changes.
    Stray {
        /// The id it named.
        id: String,
        /// When.
        at: Time,
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
    /// Every call is refused from now on.
    Halted {
        /// Why.
        reason: String,
    },
    /// Calls are judged again.
    Resumed,
}

/// How a question to a human ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The human agreed.
    Granted,
    /// The human did not agree.
    Refused,
    /// Nobody answered in time.
    Expired,
}
