//! What is sealed of each row: a new column is added here once.

use lockgate_gate::StoreError;

use super::engine::{AnswerRow, StrandRow};
use crate::seal::{Column, Place, Table};

pub(super) const SHARED: Place<'_> = Place { table: Table::SharedState, key: &[Column::Number(1)] };

pub(super) fn session_place<'a>(key: &'a [Column<'a>]) -> Place<'a> {
    Place { table: Table::Session, key }
}

pub(super) fn answer_place<'a>(key: &'a [Column<'a>]) -> Place<'a> {
    Place { table: Table::Answer, key }
}

/// What is sealed of a session row.
pub(super) fn columns(row: &StrandRow) -> [Column<'_>; 6] {
    let StrandRow { bytes, clock, questions, length, head, token, .. } = row;
    // A number where bytes would be: a row without a session is not one with an empty session.
    let bytes = bytes.as_deref().map_or(Column::Number(0), Column::Bytes);
    [
        Column::Number(*clock),
        Column::Number(*questions),
        bytes,
        Column::Number(*length),
        Column::Bytes(head),
        Column::Bytes(token),
    ]
}

pub(super) fn answer_columns(row: &AnswerRow) -> [Column<'_>; 4] {
    let AnswerRow { granted, by, at, proof, .. } = row;
    [Column::Number(i64::from(*granted)), Column::Text(by), Column::Number(*at), Column::Text(proof)]
}

pub(super) fn question(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Unavailable(format!("there is no question {number}")))
}

pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
