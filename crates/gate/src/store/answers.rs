//! Answers that wait for the call that asked.
//!
//! An answer is stored before the call goes on, so that of two answers, also from two processes, the first one stands.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Mutex, PoisonError},
};

use super::{backend::Backend, session_store::StoreError};
use crate::{
    audit_log::{LogEntry, LogEvent},
    signed_answer::StoredAnswer,
    state::ApprovalId,
};

/// Whether a question is open.
pub type IsOpen<'a> = dyn Fn() -> Result<bool, StoreError> + 'a;

/// Where answers wait for the call that asked.
pub trait AnswerStore: Send + Sync {
    /// Stores an answer to an open question. Returns false if the question is closed or there is an answer already: the
    /// first one stands.
    ///
    /// # Errors
    /// When the store fails: then no answer was stored.
    fn keep(&self, id: &ApprovalId, answer: StoredAnswer, is_open: &IsOpen<'_>) -> Result<bool, StoreError>;

    /// The answer to a question.
    ///
    /// # Errors
    /// When the store fails.
    fn find(&self, id: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError>;

    /// Takes an answer away that does not count, if it is still there, with this entry of the audit log.
    ///
    /// # Errors
    /// When the store fails: then the answer is still there.
    fn reject(&self, id: &ApprovalId, answer: &StoredAnswer, entry: &str) -> Result<(), StoreError>;

    /// Drops the answer to a question that is closed.
    fn forget(&self, id: &ApprovalId);

    /// Whether other processes store answers here too. Each of them is in the audit log from then on, and needs a proof.
    fn are_shared(&self) -> bool;
}

/// Answers in the memory of this process.
#[derive(Debug, Default)]
pub struct MemoryAnswers(Mutex<HashMap<ApprovalId, StoredAnswer>>);

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

    fn reject(&self, id: &ApprovalId, _: &StoredAnswer, _: &str) -> Result<(), StoreError> {
        self.forget(id);
        Ok(())
    }

    fn forget(&self, id: &ApprovalId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn are_shared(&self) -> bool {
        false
    }
}

/// Answers in the backend of the sessions, where other processes put them too.
#[derive(Debug)]
pub struct BackendAnswers<B>(pub B);

impl<B> AnswerStore for BackendAnswers<B>
where
    B: Deref + Send + Sync,
    B::Target: Backend,
{
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

    fn reject(&self, id: &ApprovalId, answer: &StoredAnswer, entry: &str) -> Result<(), StoreError> {
        self.0.reject_answer(&id.session, id.number, answer, entry).map(|_| ())
    }

    /// The backend keeps its answers, as the audit log does.
    fn forget(&self, _: &ApprovalId) {}

    fn are_shared(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use lockgate_call::Time;

    use super::*;

    #[test]
    fn an_answer_that_comes_after_the_first_was_forgotten_is_not_the_first() {
        let (answers, id) = (MemoryAnswers::default(), ApprovalId { session: "s1".to_owned(), number: 1 });
        let answer = |granted| StoredAnswer::unsigned(granted, "ada", Time(0));
        assert!(answers.keep(&id, answer(false), &|| Ok(true)).unwrap());
        assert!(!answers.keep(&id, answer(true), &|| Ok(true)).unwrap(), "the first one stands");
        // The call goes on: its question is closed, and then the answer is forgotten.
        answers.forget(&id);
        assert!(!answers.keep(&id, answer(true), &|| Ok(false)).unwrap());
        assert!(answers.find(&id).unwrap().is_none());
    }
}
