//! What gates, sessions, permits and questions share.

use std::sync::{
    LazyLock,
    atomic::{AtomicU64, Ordering},
};

use lockgate_call::{Call, Files, SeenCall};
use lockgate_gate::{AnswerError, AnswerStore, ApprovalId, StoredAnswer, Verdict};
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
    pub(crate) id_prefix: LazyLock<String>,
}

/// Counts the ids of all gates of this process, because two of them may share a store.
static MADE_IDS: AtomicU64 = AtomicU64::new(1);

impl Core {
    /// An id for a call whose host has none.
    pub(crate) fn make_id(&self) -> String {
        format!("{}-{}", *self.id_prefix, MADE_IDS.fetch_add(1, Ordering::Relaxed))
    }

    /// The one look at a call.
    pub(crate) fn look(&self, session: &str, call: ToolCall) -> Result<SeenCall, CallError> {
        let call = call.into_call(session, self.clock.now(), || self.make_id())?;
        Ok(SeenCall::look(call, self.eyes.as_deref().map(|eyes| eyes as &dyn Files)))
    }

    /// What is answered to a call that comes again while a human is asked about it: the same question.
    pub(crate) fn asked_before(&self, id: &ApprovalId, call: Call) -> (Call, Verdict) {
        let mut verdict = Verdict::still_asking(id.clone());
        match self.engine.question(id) {
            Ok(Some(asked)) => {
                let name = |rule: &RuleId| self.engine.policy().rule(*rule).map(|rule| rule.name.as_str());
                let rules: Vec<&str> = asked.rules.iter().filter_map(name).collect();
                verdict.reason = format!("{} waits for a human's answer ({}).", call.tool, rules.join(", "));
                verdict.input = asked.shown;
                return (asked.call.into_call(), verdict);
            }
            Ok(None) => {
                verdict.reason = format!("question {id} was answered a moment ago, and its call goes on");
            }
            Err(error) => {
                verdict.reason = format!("Lockgate could not decide ({error}), so the call is blocked.");
            }
        }
        (verdict.decision, verdict.approval) = (Decision::Block, None);
        (call, verdict)
    }

    /// Stores a human's answer, if the question is open and this is the first answer.
    pub(crate) fn answer(&self, id: &ApprovalId, granted: bool, by: &str) -> Result<(), AnswerError> {
        let at = self.clock.now();
        // A no counts as long as the question was not closed: where a timeout is approval, it is not too late.
        let is_open = || Ok(self.engine.question(id)?.is_some_and(|asked| asked.deadline > at || !granted));
        let answer = StoredAnswer::unsigned(granted, by, at);
        match self.answers.keep(id, answer, &is_open)? {
            true => Ok(()),
            false => Err(AnswerError::NotOpen(id.to_string())),
        }
    }

    /// Goes on with a call whose question was answered or is over; none while it is open.
    pub(crate) fn resume(&self, id: &ApprovalId) -> Result<Option<Verdict>, AnswerError> {
        let at = self.clock.now();
        if let Some(verdict) = self.engine.resume_answered(&*self.answers, id, at)? {
            return Ok(Some(verdict));
        }
        match self.engine.question(id)? {
            Some(asked) if asked.deadline > at => Ok(None),
            Some(_) => self.time_out(id).map(Some),
            None => Err(AnswerError::NotOpen(id.to_string())),
        }
    }

    /// Closes a question that was not answered, unless an answer came a moment ago: then that one stands.
    pub(crate) fn time_out(&self, id: &ApprovalId) -> Result<Verdict, AnswerError> {
        self.engine.time_out_unless_answered(&*self.answers, id, self.clock.now())
    }
}
