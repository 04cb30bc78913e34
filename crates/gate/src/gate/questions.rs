//! Questions to humans, and their answers.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use lockgate_call::{Call, SeenCall, Time};
use lockgate_policy::Decision;

use super::failure::{failed, panicked};
use super::{Commit, Gate};
use crate::{
    answer_trust::UnprovedAnswer,
    approver::{Approver, Question},
    audit_log::{self, LogEntry, LogEvent},
    duplicate::question_about,
    human::Answer,
    judge::judge_proved_answer,
    record::Judgement,
    signed_answer::{SignedAnswer, StoredAnswer},
    state::{ApprovalId, Asked, Stand},
    store::{Backend, Reach, StoreError},
    verdict::Verdict,
};

/// An answer came for a question that nobody asks (any more).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question is not open: it was answered before, lapsed, or never asked.
    #[error("no question `{0}` is open: it was answered before, has lapsed, or was never asked")]
    NotOpen(String),
    /// The store failed; the question may still be open.
    #[error("the answer could not be stored: {0}")]
    NotStored(String),
    /// The stored answer is not one that counts; the question is still open.
    #[error("the stored answer to `{0}` does not count: {1}")]
    NotProved(String, UnprovedAnswer),
}

impl Gate {
    /// Decides about a call and, where a human is wanted, asks and waits.
    pub fn call_with<'c>(&self, call: impl Into<Cow<'c, SeenCall>>, approver: &mut dyn Approver) -> Verdict {
        let call = &*call.into();
        let mut verdict = self.call(call);
        // A grant may bring up a rule that did not ask before; that is a question of its own.
        while let (Decision::Ask, Some(approval)) = (verdict.decision, verdict.approval.clone()) {
            let input = verdict.input.as_deref().unwrap_or(&call.input);
            let question = Question { approval: &approval, call, input, wanted_by: &verdict.obstacles };
            let answer = catch_unwind(AssertUnwindSafe(|| approver.ask(&question))).unwrap_or(Answer::Nobody);
            let wanted_by = std::mem::take(&mut verdict.obstacles);
            let answered = self.answer(&approval, answer == Answer::Granted, call.at);
            verdict = answered.unwrap_or_else(|error| failed(&error.to_string()));
            if answer == Answer::Nobody {
                return unattended(verdict, wanted_by);
            }
        }
        verdict
    }

    /// Takes in a human's answer. The first answer stands; a later one finds no open question.
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn answer(&self, approval: &ApprovalId, granted: bool, at: Time) -> Result<Verdict, AnswerError> {
        self.answer_by(approval, granted, Some("caller"), at)
    }

    /// The same where it is known who answered; none where the audit log tells that already.
    ///
    /// # Errors
    /// As [`Gate::answer`].
    pub fn answer_by(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        self.close(approval, (Answer::from(granted), None), by, at)
    }

    /// Takes in the answer that the store has, if it has one that counts. One that does not is taken away and logged, and
    /// the question stays open.
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn collect_answer(
        &self,
        backend: &dyn Backend,
        approval: &ApprovalId,
        at: Time,
    ) -> Result<Option<Verdict>, AnswerError> {
        match self.counted_answer(backend, approval, at)? {
            Some(answer) => self.answer_stored(approval, &answer, at).map(Some),
            None => Ok(None),
        }
    }

    /// The answer that the store has, if it has one that counts. One that does not is taken away and logged.
    ///
    /// # Errors
    /// When there is an answer and the question is not open, or the store fails.
    pub fn counted_answer(
        &self,
        backend: &dyn Backend,
        approval: &ApprovalId,
        at: Time,
    ) -> Result<Option<StoredAnswer>, AnswerError> {
        let not_stored = |error: StoreError| AnswerError::NotStored(error.to_string());
        let (session, number) = (approval.session.as_str(), approval.number);
        let Some(answer) = backend.answer(session, number).map_err(not_stored)? else { return Ok(None) };
        match self.proof_of(approval, &answer, at) {
            Err(AnswerError::NotProved(_, why)) => {
                let what = audit_log::rejected(approval, answer.granted, &answer.by, &why.to_string());
                let session = Some(session.to_owned());
                let entry = LogEntry { at: at.0, session, policy: None, what }.to_json();
                backend.reject_answer(&approval.session, number, &answer, &entry).map_err(not_stored)?;
                Ok(None)
            }
            proved => proved.map(|_| Some(answer)),
        }
    }

    /// Takes in an answer that was read from a store, if it counts.
    ///
    /// # Errors
    /// When the question is not open, the answer does not count or the store fails: then nothing was decided.
    pub fn answer_stored(
        &self,
        approval: &ApprovalId,
        answer: &StoredAnswer,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let proof = self.proof_of(approval, answer, at)?;
        // Who answered is in the audit log already.
        self.close(approval, (Answer::from(answer.granted), proof), None, at)
    }

    /// The number of a question is used once, so what is read here is what is closed later.
    fn proof_of(
        &self,
        approval: &ApprovalId,
        answer: &StoredAnswer,
        at: Time,
    ) -> Result<Option<Arc<SignedAnswer>>, AnswerError> {
        let asked = self.question(approval).map_err(|error| AnswerError::NotStored(error.to_string()))?;
        let asked = asked.ok_or_else(|| AnswerError::NotOpen(approval.to_string()))?;
        let checked = self.rulebook.answer_trust.check(approval, &asked, answer, at);
        checked.map_err(|why| AnswerError::NotProved(approval.to_string(), why))
    }

    fn close(
        &self,
        approval: &ApprovalId,
        (answer, proof): (Answer, Option<Arc<SignedAnswer>>),
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let not_open = || AnswerError::NotOpen(approval.to_string());
        let judge = |stand: Stand<'_>, answer| {
            judge_proved_answer(&self.rulebook, stand, approval.number, (answer, proof.as_ref()), at)
        };
        let judged = self.commit_running(&approval.session, |stand| {
            // A refusal asks nobody's code, so it can be told after a panic as well.
            let judgement = catch_unwind(AssertUnwindSafe(|| judge(stand, answer))).unwrap_or_else(|_| {
                judge(stand, Answer::Refused).map(|refusal| Judgement { verdict: panicked(), ..refusal })
            })?;
            let call = stand.session.asked().get(&approval.number).map(|asked| asked.call.clone());
            let Judgement { verdict, events, shared, wants } = judgement;
            let answered = by.map(|by| audit_log::answered(approval, answer == Answer::Granted, by));
            let mut told: Vec<LogEvent> = answered.into_iter().collect();
            if let (true, Some(call)) = (self.store.keeps_audit_log(), &call) {
                told.push(audit_log::decided(call, &verdict, &events).about(approval));
            }
            let commit = Commit { events, shared, told, at, ..Commit::answering((verdict, call)) };
            Some((commit, wants))
        });
        let (verdict, call) =
            judged.map_err(|error| AnswerError::NotStored(error.to_string()))?.ok_or_else(not_open)?;
        if let Some(call) = call {
            self.tell(&call, &verdict);
        }
        Ok(verdict)
    }

    /// Takes in that no human has answered by now. Where every rule that asked says so, that is a yes once the
    /// time is over; otherwise the call is refused because of a timeout.
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn time_out(&self, approval: &ApprovalId, at: Time) -> Result<Verdict, AnswerError> {
        let question = self.question(approval).map_err(|error| AnswerError::NotStored(error.to_string()))?;
        let granted = question.is_some_and(|asked| asked.allows_late && asked.deadline <= at);
        let answer = if granted { Answer::Granted } else { Answer::Nobody };
        self.close(approval, (answer, None), Some(audit_log::TIMEOUT), at)
    }

    /// The question a human is asked, while it is open.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question(&self, approval: &ApprovalId) -> Result<Option<Asked>, StoreError> {
        let opened = self.store.open(&approval.session, Reach::Look)?;
        Ok(opened.session().asked().get(&approval.number).cloned())
    }

    /// The open question about a call, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question_about(&self, call: &Call) -> Result<Option<(ApprovalId, Asked)>, StoreError> {
        let opened = self.store.open(&call.session, Reach::Look)?;
        let session = opened.session();
        let found = question_about(session, call).and_then(|number| {
            let approval = ApprovalId { session: call.session.clone(), number };
            Some((approval, session.asked().get(&number)?.clone()))
        });
        Ok(found)
    }
}

/// Nobody was there to answer: the reasons of the question stand, as a refusal.
fn unattended(verdict: Verdict, wanted_by: Vec<crate::verdict::Obstacle>) -> Verdict {
    let obstacles = wanted_by.into_iter().map(|mut obstacle| {
        obstacle.decision = Decision::Block;
        obstacle
    });
    Verdict::join(verdict.deeds, obstacles.collect())
}
