//! What gates, sessions, permits and questions share.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use lockgate_call::{Call, Files, SeenCall};
use lockgate_gate::{
    AnswerError, ApprovalId, Backend, StoreError, StoredAnswer, Verdict,
    audit_log::{LogEntry, LogEvent},
};
use lockgate_policy::{Decision, RuleId};

use crate::{
    clock::Clock,
    tool_call::{CallError, ToolCall},
};

/// A policy in force with its clock, its view of the file system, and the answers of humans.
pub(crate) struct Core {
    pub(crate) engine: lockgate_gate::Gate,
    pub(crate) clock: Box<dyn Clock>,
    /// None where calls come from another machine, whose files cannot be looked at here.
    pub(crate) eyes: Option<Box<dyn Files + Send + Sync>>,
    pub(crate) answers: Box<dyn AnswerStore>,
    /// Tells the ids of this process from those of others that share a store.
    pub(crate) id_prefix: String,
}

/// Counts the ids of all gates of this process, because two of them may share a store.
static MADE_IDS: AtomicU64 = AtomicU64::new(1);

impl Core {
    /// An id for a call whose host has none.
    pub(crate) fn make_id(&self) -> String {
        format!("{}-{}", self.id_prefix, MADE_IDS.fetch_add(1, Ordering::Relaxed))
    }

    /// The one look at a call.
    pub(crate) fn look(&self, session: &str, call: ToolCall) -> Result<SeenCall, CallError> {
        let call = call.into_call(session, self.clock.now(), || self.make_id())?;
        Ok(SeenCall::look(call, self.eyes.as_deref().map(|eyes| eyes as &dyn Files)))
    }

    /// What is answered to a call that comes again while a human is asked about it: the same question.
    pub(crate) fn asked_before(&self, id: &ApprovalId, call: Call) -> (Call, Verdict) {
        let asking = || Verdict::still_asking(id.clone());
        let blocked =
            |reason: String| Verdict { decision: Decision::Block, reason, approval: None, ..asking() };
        match self.engine.question(id) {
            Ok(Some(asked)) => {
                let name = |rule: &RuleId| self.engine.policy().rule(*rule).map(|rule| rule.name.as_str());
                let rules: Vec<&str> = asked.rules.iter().filter_map(name).collect();
                let reason = format!("{} waits for a human's answer ({}).", call.tool, rules.join(", "));
                (asked.call.into_call(), Verdict { reason, input: asked.shown, ..asking() })
            }
            Ok(None) => {
                (call, blocked(format!("question {id} was answered a moment ago, and its call goes on")))
            }
            Err(error) => {
                (call, blocked(format!("Lockgate could not decide ({error}), so the call is blocked.")))
            }
        }
    }

    /// Stores a human's answer, if the question is open and this is the first answer.
    pub(crate) fn answer(&self, id: &ApprovalId, granted: bool, by: &str) -> Result<(), AnswerError> {
        let at = self.clock.now();
        let is_open = || Ok(self.engine.question(id)?.is_some_and(|asked| asked.deadline > at));
        let answer = StoredAnswer::unsigned(granted, by.to_owned(), at);
        match self.answers.keep(id, answer, &is_open).map_err(not_stored)? {
            true => Ok(()),
            false => Err(AnswerError::NotOpen(id.to_string())),
        }
    }

    /// Goes on with a call whose question was answered or is over; none while it is open.
    pub(crate) fn resume(&self, id: &ApprovalId) -> Result<Option<Verdict>, AnswerError> {
        let at = self.clock.now();
        if let Some(answer) = self.answers.find(id).map_err(not_stored)? {
            let by = (!self.answers.are_logged()).then_some(answer.by.as_str());
            let verdict = self.engine.answer_by(id, answer.granted, by, at.max(answer.at))?;
            // The question is closed now. Before, a second answer could have taken the place of a forgotten first one.
            self.answers.forget(id);
            return Ok(Some(verdict));
        }
        let asked = self.engine.question(id).map_err(not_stored)?;
        match asked {
            Some(asked) if asked.deadline > at => Ok(None),
            Some(_) => self.time_out(id).map(Some),
            None => Err(AnswerError::NotOpen(id.to_string())),
        }
    }

    /// Closes a question that was not answered.
    pub(crate) fn time_out(&self, id: &ApprovalId) -> Result<Verdict, AnswerError> {
        let verdict = self.engine.time_out(id, self.clock.now())?;
        // An answer that came a moment too late is not needed any more.
        self.answers.forget(id);
        Ok(verdict)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands the error over")]
fn not_stored(error: StoreError) -> AnswerError {
    AnswerError::NotStored(error.to_string())
}

/// Whether a question is open.
type IsOpen<'a> = dyn Fn() -> Result<bool, StoreError> + 'a;

/// Where answers wait for the call that asked.
pub(crate) trait AnswerStore: Send + Sync {
    /// Stores an answer to an open question. Returns false if the question is closed or there is an answer already: the
    /// first one stands.
    fn keep(&self, id: &ApprovalId, answer: StoredAnswer, is_open: &IsOpen<'_>) -> Result<bool, StoreError>;

    /// The answer to a question.
    fn find(&self, id: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError>;

    /// Drops the answer to a question that is closed.
    fn forget(&self, id: &ApprovalId);

    /// Whether answers are entries of the audit log from the moment they are stored.
    fn are_logged(&self) -> bool;
}

/// Answers in the memory of this process.
#[derive(Default)]
pub(crate) struct MemoryAnswers(Mutex<HashMap<ApprovalId, StoredAnswer>>);

impl AnswerStore for MemoryAnswers {
    fn keep(&self, id: &ApprovalId, answer: StoredAnswer, is_open: &IsOpen<'_>) -> Result<bool, StoreError> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An answer is forgotten after its question was closed. Looking under the lock makes sure that a later answer
        // finds the first one or a closed question.
        let is_first = !answers.contains_key(id) && is_open()?;
        if is_first {
            answers.insert(id.clone(), answer);
        }
        Ok(is_first)
    }

    fn find(&self, id: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned())
    }

    fn forget(&self, id: &ApprovalId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn are_logged(&self) -> bool {
        false
    }
}

/// Answers in the backend of the sessions, where other processes put them too.
pub(crate) struct BackendAnswers<B>(pub(crate) B);

impl<B: Backend> AnswerStore for BackendAnswers<B> {
    fn keep(&self, id: &ApprovalId, answer: StoredAnswer, is_open: &IsOpen<'_>) -> Result<bool, StoreError> {
        if !is_open()? {
            return Ok(false);
        }
        let StoredAnswer { granted, by, at, proof } = answer.clone();
        let what = LogEvent::Answer { approval: id.to_string(), granted, by, proof };
        let entry = LogEntry { at: at.0, session: Some(id.session.clone()), policy: None, what };
        self.0.keep_answer(&id.session, id.number, &answer, &entry.to_json())
    }

    fn find(&self, id: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError> {
        self.0.answer(&id.session, id.number)
    }

    /// The backend keeps its answers, as the audit log does.
    fn forget(&self, _: &ApprovalId) {}

    fn are_logged(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use lockgate_call::Time;
    use lockgate_gate::{ApprovalId, StoredAnswer};

    use super::{AnswerStore, MemoryAnswers};

    #[test]
    fn an_answer_that_comes_after_the_first_was_forgotten_is_not_the_first() {
        let (answers, id) = (MemoryAnswers::default(), ApprovalId { session: "s1".to_owned(), number: 1 });
        let answer = |granted| StoredAnswer::unsigned(granted, "ada".to_owned(), Time(0));
        assert!(answers.keep(&id, answer(false), &|| Ok(true)).unwrap());
        assert!(!answers.keep(&id, answer(true), &|| Ok(true)).unwrap(), "the first one stands");
        // The call goes on: its question is closed, and then the answer is forgotten.
        answers.forget(&id);
        assert!(!answers.keep(&id, answer(true), &|| Ok(false)).unwrap());
        assert!(answers.find(&id).unwrap().is_none());
    }
}
