//! What is answered to an event: the gate's word, for whatever the host tells.
//!
//! A [`Decider`] has a gate, a backend and a clock, and knows no host: dialects read and write for it. What a human is
//! asked reaches them by the host's own question or by `lockgate approve`; then the desk waits, no longer than its
//! deadline, and refuses when that is over.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Call, Decision, Gate, Outcome, SeenCall, Time, Verdict,
    call::{DuplicateKey, keys_objection},
    gate::{ApprovalId, Backend, BackendAnswers, OutputDecision, StoreError},
};
use serde_json::{Value, json};

use crate::{
    event::{Answer, Ask, Event, Phase, Prompt, ToolCall, ToolResult},
    text::one_line,
};

/// How often a waiting desk looks for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Where events are answered.
pub(crate) struct Decider<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) backend: &'a dyn Backend,
    /// The agent whose events these are: the first part of the names of its sessions.
    pub(crate) host: &'a str,
    pub(crate) asking: Ask,
    /// Where calls run whose agent does not say.
    pub(crate) folder: Option<String>,
    /// By when an answer must be there.
    pub(crate) deadline: Instant,
    pub(crate) clock: &'a dyn Fn() -> Time,
    /// Looks at a call where the tools run.
    pub(crate) look: &'a dyn Fn(Call) -> SeenCall,
    /// Told how long it may take, before a human is waited for.
    pub(crate) waits: &'a dyn Fn(Duration),
}

impl Decider<'_> {
    /// Answers an event.
    ///
    /// # Errors
    /// When Lockgate itself fails: then the agent must be made to block.
    pub(crate) fn answer(&self, event: Event) -> Result<Answer, StoreError> {
        match event {
            Event::Call(event) => self.call(*event),
            Event::Result(event) => self.result(*event),
            Event::Refused(event) => self.refused(*event),
            Event::Prompt(event) => self.hear(&event),
            // What is remembered of a session outlives its end: it may be resumed.
            Event::Session {
                phase: Phase::Started | Phase::Resumed | Phase::Compacted | Phase::Ended,
                ..
            }
            | Event::Other => Ok(Answer::Pass),
        }
    }

    fn call(&self, event: ToolCall) -> Result<Answer, StoreError> {
        let mut call = self.call_of(event);
        // Tools of agents and of their servers may ignore case.
        call.about.objection = keys_objection(&call.input);
        let call = (self.look)(call);
        // An agent may come back with a call that it put off: the same question is still open, or answered.
        let verdict = match self.gate.call_unless_asked(&call, self.asking.human()) {
            Ok(verdict) => verdict,
            Err(open) => self.collect(&open)?.unwrap_or_else(|| Verdict::still_asking(open)),
        };
        let verdict = match self.asking {
            Ask::Wait => self.wait(verdict)?,
            Ask::Host | Ask::Defer | Ask::Block => verdict,
        };
        Ok(self.said(&call, verdict))
    }

    fn said(&self, call: &Call, verdict: Verdict) -> Answer {
        let reason = one_line(&verdict.sentence());
        match (verdict.decision, verdict.input) {
            (Decision::Allow, _) => Answer::Pass,
            (Decision::Redact, Some(input)) if *input == call.input => Answer::Pass,
            (Decision::Redact, Some(input)) => Answer::Change { input: *input, reason },
            // Something was to be masked, and what is left is not known.
            (Decision::Redact, None) => Answer::Block { reason },
            (Decision::Ask, _) if self.asking == Ask::Defer => Answer::Defer { reason },
            (Decision::Ask, _) => Answer::Ask { reason },
            (Decision::Block, _) => Answer::Block { reason },
        }
    }

    /// Waits for a human as long as there is time; a grant may bring up another question.
    fn wait(&self, mut verdict: Verdict) -> Result<Verdict, StoreError> {
        if verdict.decision == Decision::Ask {
            (self.waits)(self.deadline.saturating_duration_since(Instant::now()));
        }
        while let (Decision::Ask, Some(approval)) = (verdict.decision, verdict.approval.clone()) {
            if let Some(answered) = self.collect(&approval)? {
                verdict = answered;
            } else if Instant::now() + LOOK_EVERY < self.deadline {
                thread::sleep(LOOK_EVERY);
            } else {
                // The tokens it holds are given back, so that other calls can have them.
                let timed_out =
                    self.gate.time_out_unless_answered(&self.answers(), &approval, (self.clock)());
                return timed_out.map_err(|error| StoreError::Unavailable(error.to_string()));
            }
        }
        Ok(verdict)
    }

    /// Takes in what a human answered by `lockgate approve`, if there is an answer.
    fn collect(&self, approval: &ApprovalId) -> Result<Option<Verdict>, StoreError> {
        let resumed = self.gate.resume_answered(&self.answers(), approval, (self.clock)());
        resumed.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    fn answers(&self) -> BackendAnswers<&dyn Backend> {
        BackendAnswers(self.backend)
    }

    fn result(&self, event: ToolResult) -> Result<Answer, StoreError> {
        let ToolResult { call, ok, output } = event;
        let call = self.call_of(call);
        let like = call.id.is_empty().then(|| Box::new(call.clone()));
        let outcome = Outcome { ok, output: Some(output), like, ..Outcome::success(&call) };
        // The agent has asked its human itself, and the tool ran: that was a yes. Where a human is asked elsewhere, a
        // result does not answer: the agent could have made it up.
        let settlement = match self.asking {
            Ask::Host => match self.gate.result_unless_asked(&call, &outcome)? {
                Ok(settlement) => settlement,
                Err(approval) => {
                    self.answer_as_human(&approval, true, call.at)?;
                    self.gate.result(&outcome)?
                }
            },
            Ask::Defer | Ask::Wait | Ask::Block => self.gate.result(&outcome)?,
        };
        let reason = settlement.sentence().unwrap_or_else(|| "sensitive data was masked.".to_owned());
        let reason = one_line(&reason);
        Ok(match (settlement.decision, settlement.output) {
            (OutputDecision::Allow | OutputDecision::Warn, _) => Answer::Pass,
            (OutputDecision::Redact, Some(output)) => Answer::Replace { output, reason },
            (OutputDecision::Redact, None) | (OutputDecision::Block, _) => Answer::Withhold { reason },
        })
    }

    /// Takes in what the user wrote, for rules that ask where values come from.
    fn hear(&self, event: &Prompt) -> Result<Answer, StoreError> {
        let session = format!("{}/{}", self.host, event.session);
        self.gate.hear(&session, &event.words, (self.clock)())?;
        Ok(Answer::Pass)
    }

    /// The tool does not run: nothing is earned by it, and its question is answered.
    fn refused(&self, event: ToolCall) -> Result<Answer, StoreError> {
        let call = self.call_of(event);
        let like = call.id.is_empty().then(|| Box::new(call.clone()));
        let outcome = Outcome { like, ..Outcome::failure(&call) };
        if let Err(approval) = self.gate.result_unless_asked(&call, &outcome)? {
            self.answer_as_human(&approval, false, call.at)?;
        }
        Ok(Answer::Pass)
    }

    /// Takes in what the human at the agent's own terminal has answered.
    fn answer_as_human(&self, approval: &ApprovalId, granted: bool, at: Time) -> Result<(), StoreError> {
        let human = format!("the human at {}", self.host);
        let answered = self.gate.answer_by(approval, granted, Some(&human), at);
        answered.map(|_| ()).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    pub(super) fn call_of(&self, event: ToolCall) -> Call {
        call_of(event, self.host, self.folder.as_deref(), (self.clock)())
    }
}

/// The call of an event; `folder` is where it runs if its agent does not say.
pub(crate) fn call_of(event: ToolCall, host: &str, folder: Option<&str>, at: Time) -> Call {
    let ToolCall { session, id, tool, input, cwd, agent, seen_at, distinct_by } = event;
    let mut call = Call {
        session: format!("{host}/{session}"),
        id: id.unwrap_or_default(),
        tool,
        input,
        at,
        ..Call::default()
    };
    call.about.cwd = cwd.or_else(|| folder.map(ToOwned::to_owned));
    call.about.metadata = Some(metadata(host, agent));
    let identifying_fields = distinct_by.iter().map(|field| (*field).to_owned()).collect();
    call.about.duplicate_key = Some(DuplicateKey { door: Arc::from(seen_at), identifying_fields });
    call
}

fn metadata(host: &str, agent: Option<String>) -> Value {
    match agent {
        Some(agent) => json!({ "host": host, "agent": agent }),
        None => json!({ "host": host }),
    }
}
