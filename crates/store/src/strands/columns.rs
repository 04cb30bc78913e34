//! What is sealed of each row: a new column is added here once.

use lockgate_gate::StoreError;

use super::engine::{AnswerRow, SharedRow, StrandRow};
use crate::seal::{Column, Place, Table};

pub(super) const SHARED: Place<'_> = Place { table: Table::SharedState, key: &[Column::Number(1)] };

pub(super) fn session_place<'a>(key: &'a [Column<'a>]) -> Place<'a> {
    Place { table: Table::Session, key }
}

pub(super) fn answer_place<'a>(key: &'a [Column<'a>]) -> Place<'a> {
    Place { table: Table::Answer, key }
}

/// What is sealed of a session row.
pub(super) fn columns(row: &StrandRow) -> [Column<'_>; 9] {
    let StrandRow { bytes, clock, questions, length, head, answers, shared, seals, token, .. } = row;
    [
        Column::Number(*clock),
        Column::Number(*questions),
        optional(bytes.as_deref()),
        Column::Number(*length),
        Column::Bytes(head),
        Column::Number(*answers),
        Column::Number(*shared),
        Column::Number(*seals),
        Column::Bytes(token),
    ]
}

/// What is sealed of the row of the shared state.
pub(super) fn shared_columns(row: &SharedRow) -> [Column<'_>; 2] {
    [optional(row.bytes.as_deref()), optional(row.human_key.as_deref())]
}

pub(super) fn answer_columns(row: &AnswerRow) -> [Column<'_>; 4] {
    let AnswerRow { granted, by, at, proof, .. } = row;
    let granted = granted.map_or(-1, i64::from);
    [Column::Number(granted), Column::Text(by), Column::Number(*at), Column::Text(proof)]
}

/// A number where bytes would be: a row without bytes is not one with none.
fn optional(bytes: Option<&[u8]>) -> Column<'_> {
    bytes.map_or(Column::Number(0), Column::Bytes)
}

pub(super) fn question(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Unavailable(format!("there is no question {number}")))
}

pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
