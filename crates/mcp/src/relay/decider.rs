//! Who decides about calls: a gate of this process, or one elsewhere that is asked.
//!
//! [`Decider`] is all that a relay wants of a gate, in values that can travel. [`LocalDecider`] is a gate in this process.

use std::sync::Arc;

use lockgate::engine::{
    Gate,
    call::{Call, SeenCall, Time},
    gate::{
        ApprovalId, Backend, BackendAnswers, Decision, Human, Outcome, OutputDecision, Question, Settlement,
        StoredAnswer, Verdict, question_text,
    },
};
use serde_json::{Map, Value};

/// What is decided about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// What is decided.
    pub decision: Decision,
    /// What the agent is told; empty where the call is let pass as it is.
    pub sentence: String,
    /// The input with sensitive data masked, where the decision is to redact.
    pub input: Option<Map<String, Value>>,
    /// The question to a human, where the decision is to ask.
    pub approval: Option<ApprovalId>,
    /// The same in words for the human.
    pub question: String,
}

/// What is decided about a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedResult {
    /// Whether it may be passed on as it is.
    pub is_whole: bool,
    /// What may be passed on instead, where something is left of it.
    pub output: Option<Value>,
    /// Why it is not passed on as it is.
    pub reason: Option<String>,
}

/// Nothing was decided, and why; the call does not run, and a result is withheld.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Undecided(pub String);

/// Decides about calls.
pub trait Decider: Send + Sync {
    /// Judges a call. What cannot be decided is blocked.
    fn judge(&self, call: &SeenCall, human: Human) -> Ruling;

    /// The open question that a hook has put to its host about this very call.
    fn asked_at_host(&self, call: &Call) -> Option<ApprovalId>;

    /// Takes the answer of a human at the client, unless there is one from elsewhere already.
    ///
    /// # Errors
    /// When the question is not open, or the answer does not count.
    fn answer(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: &str,
        call: &Call,
    ) -> Result<Ruling, Undecided>;

    /// What a question has come to by answers from elsewhere, or because its time is over; none while it waits.
    fn by_now(&self, approval: &ApprovalId, is_over: bool, call: &Call) -> Option<Result<Ruling, Undecided>>;

    /// Refuses a question for which no answer is wanted any more, which gives back the tokens that it reserved.
    fn give_up(&self, approval: &ApprovalId, why: &str, at: Time);

    /// Settles a call by its result.
    ///
    /// # Errors
    /// When that could not be stored.
    fn settle(&self, outcome: &Outcome) -> Result<ReviewedResult, Undecided>;

    /// Whether answers can come from elsewhere, and decisions wait for a disk.
    fn is_durable(&self) -> bool;
}

/// A gate in this process.
pub struct LocalDecider {
    gate: Arc<Gate>,
    backend: Option<Arc<dyn Backend>>,
}

impl LocalDecider {
    /// A gate; answers of `lockgate approve` are read from the backend, if there can be any.
    pub fn new(gate: impl Into<Arc<Gate>>, backend: Option<Arc<dyn Backend>>) -> Self {
        Self { gate: gate.into(), backend }
    }
}

impl Ruling {
    /// The same for a call under judgement.
    pub fn of(verdict: &Verdict, call: &Call) -> Self {
        let question = verdict.approval.as_ref().map(|approval| {
            let input = verdict.input.as_deref().unwrap_or(&call.input);
            question_text(&Question { approval, call, input, wanted_by: &verdict.obstacles })
        });
        Self {
            decision: verdict.decision,
            sentence: if verdict.decision == Decision::Allow { String::new() } else { verdict.sentence() },
            input: verdict.input.as_deref().cloned(),
            approval: verdict.approval.clone(),
            question: question.unwrap_or_default(),
        }
    }
}

impl ReviewedResult {
    /// The same for what a gate has settled.
    pub fn of(settlement: Settlement) -> Self {
        let reason = settlement.sentence();
        let Settlement { decision, output, .. } = settlement;
        let is_whole = matches!(decision, OutputDecision::Allow | OutputDecision::Warn);
        Self { is_whole, output: output.filter(|_| decision == OutputDecision::Redact), reason }
    }
}

impl Decider for LocalDecider {
    fn judge(&self, call: &SeenCall, human: Human) -> Ruling {
        let verdict = match human {
            Human::Reachable => self.gate.call(call),
            Human::Absent => self.gate.call_unattended(call),
        };
        Ruling::of(&verdict, call)
    }

    fn asked_at_host(&self, call: &Call) -> Option<ApprovalId> {
        let (approval, asked) = self.gate.question_about(call).ok()??;
        let is_same = asked.call.tool == call.tool && asked.call.input == call.input;
        let door = asked.call.about.duplicate_key.as_ref().map(|key| &*key.door);
        (is_same && door.is_some_and(|door| door != "mcp")).then_some(approval)
    }

    fn answer(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: &str,
        call: &Call,
    ) -> Result<Ruling, Undecided> {
        let verdict = match &self.backend {
            Some(backend) => {
                let answer = StoredAnswer::unsigned(granted, by, call.at);
                self.gate.answer_unless_answered(&BackendAnswers(&**backend), approval, &answer)
            }
            None => self.gate.answer_by(approval, granted, Some(by), call.at),
        };
        verdict.map(|verdict| Ruling::of(&verdict, call)).map_err(|error| Undecided(error.to_string()))
    }

    fn by_now(&self, approval: &ApprovalId, is_over: bool, call: &Call) -> Option<Result<Ruling, Undecided>> {
        let verdict = match &self.backend {
            None => is_over.then(|| self.gate.time_out(approval, call.at)),
            Some(backend) => {
                let answers = BackendAnswers(&**backend);
                match self.gate.resume_answered(&answers, approval, call.at) {
                    Ok(None) if is_over => {
                        Some(self.gate.time_out_unless_answered(&answers, approval, call.at))
                    }
                    resumed => resumed.transpose(),
                }
            }
        };
        let verdict = verdict?.map_err(|error| Undecided(error.to_string()));
        Some(verdict.map(|verdict| Ruling::of(&verdict, call)))
    }

    fn give_up(&self, approval: &ApprovalId, why: &str, at: Time) {
        // A question that is closed already has given back what it reserved.
        let _ = self.gate.answer_by(approval, false, Some(why), at);
    }

    fn settle(&self, outcome: &Outcome) -> Result<ReviewedResult, Undecided> {
        let settled = self.gate.result(outcome).map_err(|error| Undecided(error.to_string()))?;
        Ok(ReviewedResult::of(settled))
    }

    fn is_durable(&self) -> bool {
        self.backend.is_some()
    }
}
