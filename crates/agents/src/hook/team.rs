//! A team server that is asked beside the gate of this machine: the stricter of both counts.
//!
//! The server is asked first, because a host may ask its human about a call and then runs it without a further word. What it lets pass is
//! judged here as always. If the gate here stops the call, the server is told that it has failed. What the server does not answer is
//! blocked. How it is spoken to is the business of [`TeamServer`].

use std::time::{Duration, Instant};

use lockgate::engine::{Call, Outcome, gate::StoreError};
use serde_json::{Map, Value};

use super::decision::Decider;
use crate::event::{Answer, Event, ToolCall, ToolResult};

/// A team server, as far as a door wants anything of it.
pub trait TeamServer: Send + Sync {
    /// What it decides about a call. `asks` says whether a human may be asked.
    fn judge(&self, call: &Call, asks: bool) -> TeamVerdict;

    /// What it decides once a human has answered, waiting no longer than this; none while the question is open. `ends`: without an
    /// answer by then, there is none.
    fn collect(&self, approval: &str, wait: Duration, ends: bool) -> Option<TeamVerdict>;

    /// Tells it how a call has ended.
    ///
    /// # Errors
    /// When it could not be told, in a line for people.
    fn settle(&self, outcome: &Outcome) -> Result<TeamReview, String>;
}

/// What a team server decides about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TeamVerdict {
    /// It may run.
    Allow,
    /// It may run with this input.
    Redact {
        /// The whole input.
        input: Map<String, Value>,
        /// Why.
        reason: String,
    },
    /// A human is asked at the server.
    Ask {
        /// The name of the question.
        approval: String,
    },
    /// It does not run.
    Block {
        /// Why.
        reason: String,
    },
}

/// What a team server decides about a result.
#[derive(Clone, Debug, PartialEq)]
pub enum TeamReview {
    /// The agent may see it.
    Whole,
    /// The agent may see this instead.
    Replaced {
        /// The whole output.
        output: Value,
        /// Why.
        reason: String,
    },
    /// The agent may see nothing of it.
    Withheld {
        /// Why.
        reason: String,
    },
}

/// A decider and a team server, as one.
pub(super) struct Joined<'a> {
    pub(super) here: &'a Decider<'a>,
    pub(super) server: &'a dyn TeamServer,
    /// Whether a human may be asked at the server. Its answers need no passphrase of this machine.
    pub(super) asks: bool,
}

impl Joined<'_> {
    /// Answers an event.
    ///
    /// # Errors
    /// When Lockgate itself fails: then the agent must be made to block.
    pub(super) fn answer(&self, event: Event) -> Result<Answer, StoreError> {
        match event {
            Event::Call(event) => self.call(*event),
            Event::Result(event) => self.result(*event),
            Event::Refused(event) => {
                self.failed(&event);
                self.here.answer(Event::Refused(event))
            }
            event => self.here.answer(event),
        }
    }

    fn call(&self, mut event: ToolCall) -> Result<Answer, StoreError> {
        let call = self.call_of(&event);
        let verdict = self.answered(self.server.judge(&call, self.asks));
        let changed = match verdict {
            TeamVerdict::Allow => None,
            TeamVerdict::Redact { input, reason } => Some((input, reason)),
            TeamVerdict::Block { reason } => return Ok(Answer::Block { reason }),
            // It was waited for as long as there was time.
            TeamVerdict::Ask { approval } => {
                let reason = format!("No human has answered `{approval}` at the team server in time.");
                return Ok(Answer::Block { reason });
            }
        };
        if let Some((input, _)) = &changed {
            event.input = input.clone();
        }
        let answer = self.here.answer(Event::Call(Box::new(event.clone())))?;
        if matches!(answer, Answer::Block { .. } | Answer::Defer { .. }) {
            self.failed(&event);
        }
        Ok(match (answer, changed) {
            (Answer::Pass, Some((input, reason))) => Answer::Change { input, reason },
            // Agents that ask their human run the tool with the input that they know.
            (Answer::Ask { .. }, Some((_, reason))) => {
                self.failed(&event);
                Answer::Block {
                    reason: format!("{reason} A human would have to be asked about another input."),
                }
            }
            (answer, _) => answer,
        })
    }

    /// Waits for the humans of the server as long as there is time; a grant may bring up another question.
    fn answered(&self, mut verdict: TeamVerdict) -> TeamVerdict {
        let left = || self.here.deadline.saturating_duration_since(Instant::now());
        if matches!(verdict, TeamVerdict::Ask { .. }) {
            (self.here.waits)(left());
        }
        while let TeamVerdict::Ask { approval } = &verdict {
            let wait = left().saturating_sub(ANSWER_TIME);
            match self.server.collect(approval, wait, wait < WAIT_MIN) {
                Some(answered) => verdict = answered,
                None if wait < WAIT_MIN => break,
                None => {}
            }
        }
        verdict
    }

    fn result(&self, mut event: ToolResult) -> Result<Answer, StoreError> {
        let outcome = |event: &ToolResult| Outcome {
            ok: event.ok,
            output: Some(event.output.clone()),
            ..Outcome::success(&self.call_of(&event.call))
        };
        let reviewed = match event.call.id {
            Some(_) => self.server.settle(&outcome(&event)).map_err(StoreError::Unavailable),
            // Without an id, it cannot be said of which call this is the result.
            None => Ok(TeamReview::Whole),
        };
        let replaced = match reviewed {
            Ok(TeamReview::Replaced { output, reason }) => {
                event.output = output.clone();
                Some((output, reason))
            }
            Ok(TeamReview::Whole) => None,
            Ok(TeamReview::Withheld { reason }) => {
                // The gate here still learns how the call has ended.
                self.here.answer(Event::Result(Box::new(event)))?;
                return Ok(Answer::Withhold { reason });
            }
            Err(error) => {
                self.here.answer(Event::Result(Box::new(event)))?;
                return Err(error);
            }
        };
        Ok(match (self.here.answer(Event::Result(Box::new(event)))?, replaced) {
            (Answer::Pass, Some((output, reason))) => Answer::Replace { output, reason },
            (answer, _) => answer,
        })
    }

    /// The tool does not run: nothing is earned by it. A server that is not told lets the call run out.
    fn failed(&self, event: &ToolCall) {
        if event.id.is_some() {
            let _ = self.server.settle(&Outcome::failure(&self.call_of(event)));
        }
    }

    fn call_of(&self, event: &ToolCall) -> Call {
        self.here.call_of(event.clone())
    }
}

/// What is kept of the time for the answer of the server itself.
const ANSWER_TIME: Duration = Duration::from_millis(500);
/// The least time for which it is worth to wait for a human.
const WAIT_MIN: Duration = Duration::from_secs(1);
