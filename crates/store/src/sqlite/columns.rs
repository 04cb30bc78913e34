//! Columns of rows, as SQLite keeps them and as we read them.

use lockgate_gate::Time;
use rusqlite::{Row, types::ValueRef};

use crate::error::Fault;

/// A moment as SQLite keeps it: what does not fit is the end of time.
pub(crate) fn whole(time: Time) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A number that is never negative in a database of ours.
pub(crate) fn number(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::told("holds an invalid negative number; restore it from a copy"))
}

/// The bytes of a text or a blob, whatever they are.
pub(crate) fn bytes<'r>(row: &'r Row<'_>, column: usize) -> &'r [u8] {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes,
        _ => &[],
    }
}

pub(crate) fn fixed<const N: usize>(row: &Row<'_>, column: usize) -> Option<[u8; N]> {
    bytes(row, column).try_into().ok()
}

/// The number of a question as SQLite keeps it: two questions must never become one.
pub(crate) fn question(number: u64) -> Result<i64, Fault> {
    i64::try_from(number)
        .map_err(|_| Fault::told("keeps no question with so high a number; nothing was stored"))
}
