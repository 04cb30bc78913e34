//! Answers of humans: rows of their own, counted in the row of their session.
//!
//! A row that is changed gets the next version, and one that is taken away stays. The session's row has the sum of the versions,
//! so an answer that is missing or older than it was is noticed by whoever asks for any answer of the session.

use std::sync::Arc;

use lockgate_gate::{SignedAnswer, StoreError, StoredAnswer, Time};

use super::{
    backend::{Inner, TRIES_MAX},
    columns::{answer_columns, answer_place, whole},
    engine::{AnswerRow, AnswerWrite, Rows},
};
use crate::{audit::ProblemKind, seal::Column};

impl Inner {
    /// The answer to a question.
    pub(super) fn answer(&self, session: &str, number: i64) -> Result<Option<StoredAnswer>, StoreError> {
        let (_, answers) = self.answers(session)?;
        Ok(answers.iter().find(|(n, _)| *n == number).and_then(|(_, row)| stored(row)))
    }

    /// The rows of a session and all its answers, once they are known to be whole.
    pub(super) fn answers(&self, session: &str) -> Result<(Rows, Vec<(i64, AnswerRow)>), StoreError> {
        let before = self.known.before(session);
        let (rows, answers) = self.engine.answers(session).map_err(|error| self.told(error))?;
        self.check(session, &rows, before)?;
        match self.answers_problem(session, &rows, &answers) {
            Some((_, problem)) => Err(self.tampered(problem)),
            None => Ok((rows, answers)),
        }
    }

    /// What is wrong with the answers of a session.
    pub(super) fn answers_problem(
        &self,
        session: &str,
        rows: &Rows,
        answers: &[(i64, AnswerRow)],
    ) -> Option<(ProblemKind, String)> {
        let is_changed = |(number, row): &&(i64, AnswerRow)| {
            let key = [Column::Text(session), Column::Number(*number)];
            let version = row.version.cast_unsigned();
            !self.sealer.is_sealed(&answer_place(&key), version, &answer_columns(row), &row.seal)
        };
        if let Some((number, _)) = answers.iter().find(is_changed) {
            let sentence = format!("has a changed answer to question {number} of session `{session}`");
            return Some((ProblemKind::ChangedRow, sentence));
        }
        let changes: i64 = answers.iter().map(|(_, row)| row.version).sum();
        let expected = rows.session.as_ref().map_or(0, |row| row.answers);
        (changes != expected).then(|| {
            let sentence = format!("has lost an answer to a question of session `{session}`");
            (ProblemKind::MissingRow, sentence)
        })
    }

    /// Changes the answer to a question, with an entry, if `is_due` says so of the one there is.
    pub(super) fn change_answer(
        &self,
        (session, number): (&str, i64),
        answer: &StoredAnswer,
        granted: Option<bool>,
        entry: &str,
        is_due: impl Fn(Option<&StoredAnswer>) -> bool,
    ) -> Result<bool, StoreError> {
        for _ in 0..TRIES_MAX {
            let _queue = self.queue(session);
            let (rows, answers) = self.answers(session)?;
            let now = answers.iter().find(|(n, _)| *n == number).map(|(_, row)| row);
            if !is_due(now.and_then(stored).as_ref()) {
                return Ok(false);
            }
            let version = now.map_or(1, |row| row.version + 1);
            let answer = self.answer_row((session, number), version, granted, answer)?;
            let answer = AnswerWrite { number, answer };
            let write = self.next_write(session, &rows, None, &[entry.to_owned()], Some(answer), None)?;
            match self.store(None, &write) {
                Err(StoreError::Conflict) => {}
                other => return other.map(|()| true),
            }
        }
        Err(self.unavailable("was changed by others again and again; try again"))
    }

    fn answer_row(
        &self,
        (session, number): (&str, i64),
        version: i64,
        granted: Option<bool>,
        answer: &StoredAnswer,
    ) -> Result<AnswerRow, StoreError> {
        let proof = match &answer.proof {
            None => String::new(),
            Some(proof) => serde_json::to_string(&**proof)
                .map_err(|error| self.unavailable(format!("cannot store a signature: {error}")))?,
        };
        let (by, at) = (answer.by.clone(), whole(answer.at.0));
        let mut row = AnswerRow { version, granted, by, at, proof, seal: Vec::new() };
        let key = [Column::Text(session), Column::Number(number)];
        row.seal =
            self.sealer.seal(&answer_place(&key), version.cast_unsigned(), &answer_columns(&row)).to_vec();
        Ok(row)
    }
}

/// The answer of a row; none if it was taken away.
fn stored(row: &AnswerRow) -> Option<StoredAnswer> {
    let proof = serde_json::from_str::<SignedAnswer>(&row.proof).ok().map(Arc::new);
    let at = Time(row.at.max(0).cast_unsigned());
    Some(StoredAnswer { granted: row.granted?, by: row.by.clone(), at, proof })
}
