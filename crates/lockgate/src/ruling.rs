//! What a gate answers to a call: run it, ask a human, or do not run it.
//!
//! The human who answers and the program that runs the tool may be in different processes:
//! [`Gate::answer`](crate::Gate::answer) stores the first answer, and [`Question::resume`] goes on with the call. A call goes
//! on once: the second to resume gets the error that the question is not open any more.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lockgate_call::Call;
use lockgate_gate::{AnswerError, ApprovalId, JudgedCall, Verdict, question_text};
use lockgate_policy::Decision;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{core::Core, permit::Permit, refusal::Refusal};

/// How long [`Question::wait`] sleeps between two looks, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// The answer to a call. Only [`Ruling::Run`] holds the input to run the tool with. It serialises to the documented JSON
/// of an answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Ruling {
    /// The tool may run now. Run it with the permit's input, and settle the permit with the result.
    Run(Permit),
    /// A human must answer first.
    Ask(Question),
    /// The tool must not run.
    Block(Refusal),
}

/// A human's answer on the spot; none leaves the question open.
pub(crate) type Confirmation = dyn Fn(&Question) -> Option<bool> + Send + Sync;

/// Who is named as the one who answered a confirmation.
const CONFIRMED_BY: &str = "the confirmation of the program";

impl Ruling {
    /// Asks a human on the spot, as often as an answer brings up another question.
    pub(crate) fn confirmed(self, confirm: &Confirmation) -> Self {
        let Self::Ask(question) = self else { return self };
        let Ok(Some(granted)) = catch_unwind(AssertUnwindSafe(|| confirm(&question))) else {
            return Self::Ask(question);
        };
        match question.answer(granted, CONFIRMED_BY) {
            Ok(ruling) => ruling.confirmed(confirm),
            Err(error) => Self::Block(question.failed(&error)),
        }
    }

    pub(crate) fn of(core: &Arc<Core>, call: Call, verdict: Verdict) -> Self {
        match (verdict.decision, verdict.approval.clone()) {
            // A masked input that is missing must not be replaced by the one that the agent sent.
            (Decision::Redact, _) if verdict.input.is_none() => Self::Block(Refusal::new(call, verdict)),
            (Decision::Allow | Decision::Redact, _) => Self::Run(Permit::new(core.clone(), call, verdict)),
            (Decision::Ask, Some(id)) => Self::Ask(Question::new(core.clone(), id, call, verdict)),
            // A question that has no name cannot be answered.
            (Decision::Ask, None) | (Decision::Block, _) => Self::Block(Refusal::new(call, verdict)),
        }
    }

    /// The verdict behind the ruling, with every obstacle.
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Run(permit) => permit.verdict(),
            Self::Ask(question) => question.verdict(),
            Self::Block(refusal) => refusal.verdict(),
        }
    }

    /// The sentence for the agent; empty where the call is allowed as it is.
    pub fn sentence(&self) -> String {
        self.verdict().sentence()
    }

    /// The permit, if the tool may run now.
    pub fn permit(self) -> Option<Permit> {
        match self {
            Self::Run(permit) => Some(permit),
            Self::Ask(_) | Self::Block(_) => None,
        }
    }
}

/// A question to a human about one call. While it is open, the call holds what it would spend.
#[must_use = "answer the question, wait for an answer, or hand its id on"]
pub struct Question {
    core: Arc<Core>,
    id: ApprovalId,
    call: Call,
    verdict: Verdict,
}

impl Question {
    pub(crate) fn new(core: Arc<Core>, id: ApprovalId, call: Call, verdict: Verdict) -> Self {
        Self { core, id, call, verdict }
    }

    /// The refusal where the answer could not be stored.
    fn failed(self, error: &AnswerError) -> Refusal {
        let Self { call, mut verdict, .. } = self;
        (verdict.decision, verdict.approval) = (Decision::Block, None);
        verdict.reason = format!("Lockgate could not decide ({error}), so the call is blocked.");
        Refusal::new(call, verdict)
    }

    /// The name of the question, to hand on and to answer.
    pub fn id(&self) -> &ApprovalId {
        &self.id
    }

    /// What a human has to see before saying yes: the rules, the tool and the whole input.
    pub fn text(&self) -> String {
        let wanted_by = &self.verdict.obstacles;
        let text = question_text(&lockgate_gate::Question {
            approval: &self.id,
            call: &self.call,
            input: self.input(),
            wanted_by,
        });
        match text.split_once('\n') {
            // A question that was found open has its rules in the reason.
            Some((title, rest)) if wanted_by.is_empty() => {
                format!("{title}\n  {}\n{rest}", self.verdict.reason)
            }
            _ => text,
        }
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The id of the call.
    pub fn call_id(&self) -> &str {
        &self.call.id
    }

    /// The input as a human may see it, masked where a rule says so.
    pub fn input(&self) -> &Map<String, Value> {
        self.verdict.input.as_deref().unwrap_or(&self.call.input)
    }

    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Stores a human's answer and goes on with the call. `by` says who answered, for the audit log.
    ///
    /// # Errors
    /// When the question is not open any more, or the store fails: then the call must not run.
    pub fn answer(&self, granted: bool, by: &str) -> Result<Ruling, AnswerError> {
        self.core.answer(&self.id, granted, by)?;
        let ruling = self.resume()?;
        ruling.ok_or_else(|| AnswerError::NotOpen(self.id.to_string()))
    }

    /// Goes on with the call if the question was answered, or its time is over; `None` while it is open.
    ///
    /// # Errors
    /// When the question is not open any more, or the store fails: then the call must not run.
    pub fn resume(&self) -> Result<Option<Ruling>, AnswerError> {
        let Some(verdict) = self.core.resume(&self.id)? else { return Ok(None) };
        Ok(Some(Ruling::of(&self.core, self.call.clone(), verdict)))
    }

    /// Waits for an answer, for at most `patience`, and then goes on with the call. Without an answer the question is
    /// closed, and the call is blocked unless the rules that asked treat a timeout as approval.
    ///
    /// # Errors
    /// As [`Question::resume`].
    pub fn wait(&self, patience: Duration) -> Result<Ruling, AnswerError> {
        let began = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            if let Some(ruling) = self.resume()? {
                return Ok(ruling);
            }
            let Some(left) = patience.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                let verdict = self.core.time_out(&self.id)?;
                return Ok(Ruling::of(&self.core, self.call.clone(), verdict));
            };
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// The documented JSON of an answer.
impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JudgedCall::new(&self.call, &self.verdict).serialize(serializer)
    }
}

/// The input is left out, because a human's question may be about one that is masked.
impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("id", &self.id)
            .field("tool", &self.call.tool)
            .finish_non_exhaustive()
    }
}
