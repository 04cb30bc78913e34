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
    approver::{Approver, Question},
    audit_log::{self, LogEvent},
    duplicate::question_about,
    human::Answer,
    record::Judgement,
    signed_answer::SignedAnswer,
    state::{ApprovalId, Asked, Stand},
    store::StoreError,
    verdict::Verdict,
};

/// An answer came for a question that is not open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The question is not open: it was answered before, lapsed, or never asked.
    #[error("no question `{0}` is open: it was answered before, has lapsed, or was never asked")]
    NotOpen(String),
    /// The store failed; the question may still be open.
    #[error("the answer could not be looked up or stored: {0}")]
    NotStored(#[from] StoreError),
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

    pub(super) fn close(
        &self,
        approval: &ApprovalId,
        (answer, proof): (Answer, Option<Arc<SignedAnswer>>),
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let not_open = || AnswerError::NotOpen(approval.to_string());
        let judged = self.commit_running(&approval.session, |rules, stand| {
            let judge = |stand: Stand<'_>, answer| {
                rules.judge_answer(stand, approval.number, (answer, proof.as_ref()), at)
            };
            // A refusal runs no code of others, so it can be given after a panic as well.
            let judgement = catch_unwind(AssertUnwindSafe(|| judge(stand, answer))).unwrap_or_else(|_| {
                judge(stand, Answer::Refused).map(|refusal| Judgement { verdict: panicked(), ..refusal })
            })?;
            let call = stand.session.asked().get(&approval.number).map(|asked| asked.call.clone());
            let Judgement { verdict, events, changed, shared, wants } = judgement;
            let answered = by.map(|by| audit_log::answered(approval, answer == Answer::Granted, by));
            let mut told: Vec<LogEvent> = answered.into_iter().collect();
            if let (true, Some(call)) = (self.store.keeps_audit_log(), &call) {
                told.push(audit_log::decided(&self.rulebook.policy, call, &verdict, &events).about(approval));
            }
            let commit = Commit { events, changed, shared, told, at, ..Commit::answering((verdict, call)) };
            Some((commit, wants))
        });
        let (verdict, call) = judged?.ok_or_else(not_open)?;
        if let Some(call) = call {
            self.tell(&call, &verdict);
        }
        Ok(verdict)
    }

    /// The question a human is asked, while it is open.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question(&self, approval: &ApprovalId) -> Result<Option<Asked>, StoreError> {
        self.opened(&approval.session, |opened| {
            // Rules are named by their numbers in the policy in force.
            let current = opened.held().and_then(|held| held.session.asked().get(&approval.number));
            current.or_else(|| opened.session().asked().get(&approval.number)).cloned()
        })
    }

    /// The open question about a call, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question_about(&self, call: &Call) -> Result<Option<(ApprovalId, Asked)>, StoreError> {
        self.opened(&call.session, |opened| {
            let session = opened.session();
            let number = question_about(session, call)?;
            let approval = ApprovalId { session: call.session.clone(), number };
            Some((approval, session.asked().get(&number)?.clone()))
        })
    }
}

/// No human could answer: the reasons of the question stand, as a refusal.
fn unattended(verdict: Verdict, wanted_by: Vec<crate::verdict::Obstacle>) -> Verdict {
    let obstacles = wanted_by.into_iter().map(|mut obstacle| {
        obstacle.decision = Decision::Block;
        obstacle
    });
    Verdict::join(verdict.deeds, obstacles.collect())
}
