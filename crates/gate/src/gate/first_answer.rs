//! Answers that may come from several places: the first one stands, and a timeout is an answer too.
//!
//! Every answer is stored before the call goes on by it. Without that, an answer that was stored between the last look
//! for it and the end of the question would be lost: a refusal to a timeout that counts as approval, for example.

use lockgate_call::Time;

use super::{Gate, questions::AnswerError};
use crate::{
    audit_log::TIMEOUT,
    human::Answer,
    state::ApprovalId,
    store::{AnswerStore, StoredAnswer},
    verdict::Verdict,
};

impl Gate {
    /// Goes on with a call by the answer that is stored; none while there is none.
    ///
    /// # Errors
    /// When the question is not open any more, or the store fails: then nothing was decided.
    pub fn resume_answered(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        at: Time,
    ) -> Result<Option<Verdict>, AnswerError> {
        let Some(StoredAnswer { granted, by, at: answered_at }) = answers.find(id)? else { return Ok(None) };
        let logged_by = (!answers.are_logged()).then_some(by.as_str());
        let verdict = match by.as_str() {
            // Only the gate's own look at the question makes a yes of a timeout.
            TIMEOUT => self.close_late(id, granted, logged_by, at),
            _ => self.answer_by(id, granted, logged_by, at.max(answered_at)),
        }?;
        // The question is closed now. Before, a second answer could have taken the place of a forgotten first one.
        answers.forget(id);
        Ok(Some(verdict))
    }

    /// Stores an answer, and goes on with the call by the first answer that was stored: this one, or another.
    ///
    /// # Errors
    /// As [`Gate::resume_answered`].
    pub fn answer_unless_answered(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        answer: StoredAnswer,
    ) -> Result<Verdict, AnswerError> {
        let at = answer.at;
        answers.keep(id, answer, &|| Ok(self.question(id)?.is_some()))?;
        self.resume_answered(answers, id, at)?.ok_or_else(|| AnswerError::NotOpen(id.to_string()))
    }

    /// The same for a question that no human answered in time: see [`Gate::time_out`].
    ///
    /// # Errors
    /// As [`Gate::resume_answered`].
    pub fn time_out_unless_answered(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let granted = self.allows_late(id, at)?;
        self.answer_unless_answered(answers, id, StoredAnswer { granted, by: TIMEOUT.to_owned(), at })
    }

    /// Takes in that no human has answered by now. Where every rule that asked says so, that is a yes once the
    /// time is over; otherwise the call is refused because of a timeout.
    ///
    /// An answer that is stored elsewhere is not looked for: see [`Gate::time_out_unless_answered`].
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn time_out(&self, id: &ApprovalId, at: Time) -> Result<Verdict, AnswerError> {
        self.close_late(id, true, Some(TIMEOUT), at)
    }

    fn close_late(
        &self,
        id: &ApprovalId,
        may_grant: bool,
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let is_granted = may_grant && self.allows_late(id, at)?;
        self.close(id, if is_granted { Answer::Granted } else { Answer::Nobody }, by, at)
    }

    /// Whether a timeout of this question is a yes by now.
    fn allows_late(&self, id: &ApprovalId, at: Time) -> Result<bool, AnswerError> {
        Ok(self.question(id)?.is_some_and(|asked| asked.allows_late && asked.deadline <= at))
    }
}
