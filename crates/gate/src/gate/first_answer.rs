//! Answers that may come from several places: the first one stands, and a timeout is an answer too.
//!
//! Every answer is stored before the call goes on by it. Without that, an answer that was stored between the last look
//! for it and the end of the question would be lost: a refusal to a timeout that counts as approval, for example.

use std::sync::Arc;

use lockgate_call::Time;

use super::{Gate, questions::AnswerError};
use crate::{
    audit_log::{self, LogEntry, TIMEOUT},
    human::Answer,
    signed_answer::{SignedAnswer, StoredAnswer},
    state::ApprovalId,
    store::AnswerStore,
    verdict::Verdict,
};

/// The signature of an answer, where it has one.
type Proof = Option<Arc<SignedAnswer>>;

impl Gate {
    /// Goes on with a call by the answer that is stored, if there is one that counts.
    ///
    /// # Errors
    /// When the question is not open any more, or the store fails: then nothing was decided.
    pub fn resume_answered(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        at: Time,
    ) -> Result<Option<Verdict>, AnswerError> {
        match self.proved_answer(answers, id, at)? {
            Some((answer, proof)) => self.go_on(answers, id, &answer, proof, at).map(Some),
            None => Ok(None),
        }
    }

    /// The answer that is stored, if it counts. One that does not is taken away and logged.
    ///
    /// # Errors
    /// When there is an answer and the question is not open, or the store fails.
    pub fn counted_answer(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        at: Time,
    ) -> Result<Option<StoredAnswer>, AnswerError> {
        Ok(self.proved_answer(answers, id, at)?.map(|(answer, _)| answer))
    }

    /// Stores an answer that a door hands in, and goes on with the call by the first answer that was stored: this one, or
    /// another. The door speaks for its human, so this one needs no proof.
    ///
    /// # Errors
    /// As [`Gate::resume_answered`].
    pub fn answer_unless_answered(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        answer: &StoredAnswer,
    ) -> Result<Verdict, AnswerError> {
        let at = answer.at;
        let keep = || answers.keep(id, answer.clone(), &|| Ok(self.question(id)?.is_some()));
        // An answer that does not count is taken away, and then this one may be the first.
        for _ in 0..2 {
            if keep()? {
                return self.go_on(answers, id, answer, None, at);
            }
            if let Some(verdict) = self.resume_answered(answers, id, at)? {
                return Ok(verdict);
            }
        }
        Err(AnswerError::NotOpen(id.to_string()))
    }

    fn go_on(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        answer: &StoredAnswer,
        proof: Proof,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let StoredAnswer { granted, by, at: answered_at, .. } = answer;
        let logged_by = (!answers.are_shared()).then_some(by.as_str());
        let verdict = match by.as_str() {
            TIMEOUT => self.close_late(id, *granted, logged_by, at),
            _ => self.close(id, (Answer::from(*granted), proof), logged_by, at.max(*answered_at)),
        }?;
        // The question is closed now. Before, a second answer could have taken the place of a forgotten first one.
        answers.forget(id);
        Ok(verdict)
    }

    /// The stored answer that counts, with its proof where it has one.
    fn proved_answer(
        &self,
        answers: &dyn AnswerStore,
        id: &ApprovalId,
        at: Time,
    ) -> Result<Option<(StoredAnswer, Proof)>, AnswerError> {
        let Some(answer) = answers.find(id)? else { return Ok(None) };
        // Only the gate's own look at the question makes a yes of a timeout, so it needs no proof either.
        if !answers.are_shared() || answer.by == TIMEOUT {
            return Ok(Some((answer, None)));
        }
        // The number of a question is used once, so what is read here is what is closed later.
        let asked = self.question(id)?.ok_or_else(|| AnswerError::NotOpen(id.to_string()))?;
        match self.rulebook.answer_trust.check(id, &asked, &answer, at) {
            Ok(proof) => Ok(Some((answer, proof))),
            Err(why) => {
                let what = audit_log::rejected(id, answer.granted, &answer.by, &why.to_string());
                let session = Some(id.session.clone());
                let entry = LogEntry { at: at.0, session, policy: None, what }.to_json();
                answers.reject(id, &answer, &entry)?;
                Ok(None)
            }
        }
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
        self.answer_unless_answered(answers, id, &StoredAnswer::unsigned(granted, TIMEOUT, at))
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
        let answer = if is_granted { Answer::Granted } else { Answer::Nobody };
        self.close(id, (answer, None), by, at)
    }

    /// Whether a timeout of this question is a yes by now.
    fn allows_late(&self, id: &ApprovalId, at: Time) -> Result<bool, AnswerError> {
        Ok(self.question(id)?.is_some_and(|asked| asked.allows_late && asked.deadline <= at))
    }
}
