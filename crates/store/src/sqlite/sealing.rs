//! Seals the rows of a database from before there were seals, once, when it is brought up to date.
//!
//! What somebody changed before that stays: [`seal_all`] can only look at the audit log, and refuses a database whose log
//! its key did not sign or that was cut off.

use ed25519_dalek::SigningKey;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    log,
    rows::{FIRST_VERSION, SHARED_STATE, answer_columns, session_columns, short_id_columns},
    state::{Signer, State},
};
use crate::{
    error::Fault,
    seal::{Column, Place, Table},
};

/// Seals every row that is there. The tables have the columns for it already.
pub(crate) fn seal_all(connection: &Connection, key: &SigningKey) -> Result<(), Fault> {
    let head = log::head_before_state(connection)?;
    let is_signed = head.is_signed_by(&key.verifying_key().to_bytes());
    if !is_signed || !log::ends_with(connection, head.n, &head.hash, head.pruned)? {
        return Err(Fault::told(
            "was not brought up to date: its key did not sign its audit log, or the log does not end where its head \
             says; restore the database and its key from a copy",
        ));
    }
    let signer = Signer::new(key.clone(), &head.database);
    let mut state = State::first(head);
    let first = FIRST_VERSION.cast_unsigned();

    let mut rows = connection.prepare("SELECT name, version, clock, questions, bytes FROM session")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (name, version, bytes): (String, i64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let columns = session_columns(row.get(2)?, row.get(3)?, &bytes);
        let place = Place { table: Table::Session, key: &[Column::Text(&name)] };
        let seal = state.put(connection, &signer, &place, version.cast_unsigned(), &columns)?;
        connection
            .prepare_cached("UPDATE session SET seal = ?2 WHERE name = ?1")?
            .execute(params![name, seal])?;
    }
    let shared: Option<Vec<u8>> =
        connection.query_row("SELECT bytes FROM commons", [], |row| row.get(0)).optional()?;
    if let Some(bytes) = shared {
        let seal = state.put(connection, &signer, &SHARED_STATE, first, &[Column::Bytes(&bytes)])?;
        connection.execute("UPDATE commons SET version = ?1, seal = ?2", params![FIRST_VERSION, seal])?;
    }
    let mut rows = connection.prepare("SELECT session, number, granted, by, at FROM answer")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (session, number, by): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let key = [Column::Text(&session), Column::Number(number)];
        let place = Place { table: Table::Answer, key: &key };
        let seal = state.put(
            connection,
            &signer,
            &place,
            first,
            &answer_columns(row.get(2)?, &by, row.get(4)?, ""),
        )?;
        connection
            .prepare_cached("UPDATE answer SET seal = ?3 WHERE session = ?1 AND number = ?2")?
            .execute(params![session, number, seal])?;
    }
    let mut rows = connection.prepare("SELECT id, session, number FROM short")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (id, session): (i64, String) = (row.get(0)?, row.get(1)?);
        let place = Place { table: Table::ShortId, key: &[Column::Number(id)] };
        let seal = state.put(connection, &signer, &place, first, &short_id_columns(&session, row.get(2)?))?;
        connection.prepare_cached("UPDATE short SET seal = ?2 WHERE id = ?1")?.execute(params![id, seal])?;
    }
    // SQLite remembers the last id that was given, also when its row is gone.
    let last = "SELECT max(coalesce((SELECT max(id) FROM short), 0), \
                coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'short'), 0))";
    let ids: i64 = connection.query_row(last, [], |row| row.get(0))?;
    state.ids = ids.max(0).cast_unsigned();
    state.write(connection, &signer)?;
    Ok(())
}
