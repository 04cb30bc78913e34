//! A human gives up the stored state of one session that somebody changed.
//!
//! [`Sqlite::release`] takes the session's row, its answers and its short ids out of the database and puts a row in their
//! place that its caller made. It does so only where something is wrong with them, so it is not a way to
//! forget what a session has spent. A damaged roster or head cannot be released: then it is not known whose rows are missing.

use std::collections::BTreeSet;

use lockgate_gate::{SessionRow, StoreError};
use rusqlite::{OptionalExtension, params};

use super::{
    backend::Sqlite,
    roster::Nodes,
    rows::{Change, FIRST_VERSION, Moment, answer_columns, session_columns},
    state::Stored,
};
use crate::{
    error::Fault,
    seal::{Column, Place, PlaceDigest, Table},
};

/// Answers that are missing are looked for up to this number: the roster knows only digests of places.
const QUESTIONS_MAX: i64 = 65_536;

/// Version, clock, questions, bytes and seal of a session's row.
type SessionColumns = (i64, i64, i64, Vec<u8>, Vec<u8>);

impl Sqlite {
    /// Puts `closed` in the place of a session whose row or answers are not as they were written, and removes its answers
    /// and short ids. `entry` says so in the audit log. Returns false, and changes nothing, where nothing is wrong with
    /// the session.
    ///
    /// # Errors
    /// When the database cannot be reached, or more than rows of sessions was changed.
    pub fn release(&self, session: &str, closed: &SessionRow<'_>, entry: &str) -> Result<bool, StoreError> {
        self.change(|change| {
            let answers = answers_of(&change.moment(), session)?;
            if !is_damaged(&change.moment(), session, &answers)? {
                return Ok((false, false));
            }
            discard(change, session, &answers)?;
            change.write_session(session, None, closed)?;
            change.append([entry])?;
            Ok((true, true))
        })
    }
}

/// The numbers of a session's questions that have an answer, or must have one.
fn answers_of(moment: &Moment<'_>, session: &str) -> Result<BTreeSet<i64>, Fault> {
    let mut listed: BTreeSet<PlaceDigest> = BTreeSet::new();
    let nodes = Nodes { connection: moment.connection, sealer: moment.signer.sealer() };
    let mut is_damaged = false;
    let mut list = |entry: super::roster::Entry| {
        if entry.table == Table::Answer as u8 {
            listed.insert(entry.digest);
        }
    };
    moment.state.roster().walk(nodes, &mut list, &mut |_| is_damaged = true)?;
    if is_damaged {
        return Err(Fault::tampered("has a damaged roster of its rows, so no session can be released"));
    }
    let is_listed = |number: &i64| {
        let key = [Column::Text(session), Column::Number(*number)];
        listed.contains(&nodes.sealer.digest(&Place { table: Table::Answer, key: &key }))
    };
    let mut numbers: BTreeSet<i64> = match listed.is_empty() {
        true => BTreeSet::new(),
        false => (0..=QUESTIONS_MAX).filter(is_listed).collect(),
    };
    let mut statement = moment.connection.prepare("SELECT number FROM answer WHERE session = ?1")?;
    let found = statement.query_map([session], |row| row.get(0))?;
    for number in found {
        numbers.insert(number?);
    }
    Ok(numbers)
}

/// Whether the row of a session or one of its answers is not as it was written.
fn is_damaged(moment: &Moment<'_>, session: &str, answers: &BTreeSet<i64>) -> Result<bool, Fault> {
    let Moment { connection, signer, state } = *moment;
    let row: Option<SessionColumns> = connection
        .prepare_cached("SELECT version, clock, questions, bytes, seal FROM session WHERE name = ?1")?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .optional()?;
    let columns =
        row.as_ref().map(|(_, clock, questions, bytes, _)| session_columns(*clock, *questions, bytes));
    let stored = row.as_ref().zip(columns.as_ref()).map(|((version, .., seal), columns)| Stored {
        version: version.cast_unsigned(),
        columns,
        seal,
    });
    let place = Place { table: Table::Session, key: &[Column::Text(session)] };
    if state.problem(connection, signer, &place, stored)?.is_some() {
        return Ok(true);
    }
    for number in answers {
        let row: Option<(i64, String, i64, String, Vec<u8>)> = connection
            .prepare_cached(
                "SELECT granted, by, at, proof, seal FROM answer WHERE session = ?1 AND number = ?2",
            )?
            .query_row(params![session, number], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let columns =
            row.as_ref().map(|(granted, by, at, proof, _)| answer_columns(*granted, by, *at, proof));
        let stored = row.as_ref().zip(columns.as_ref()).map(|((.., seal), columns)| Stored {
            version: FIRST_VERSION.cast_unsigned(),
            columns,
            seal,
        });
        let key = [Column::Text(session), Column::Number(*number)];
        let place = Place { table: Table::Answer, key: &key };
        if state.problem(connection, signer, &place, stored)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn discard(change: &mut Change<'_>, session: &str, answers: &BTreeSet<i64>) -> Result<(), Fault> {
    let connection = change.connection;
    connection.prepare_cached("DELETE FROM session WHERE name = ?1")?.execute([session])?;
    change.remove(&Place { table: Table::Session, key: &[Column::Text(session)] })?;
    for number in answers {
        change.remove_answer(session, *number)?;
    }
    let mut short_ids = connection.prepare_cached("SELECT id FROM short WHERE session = ?1")?;
    let ids: Vec<i64> = short_ids.query_map([session], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in ids {
        connection.prepare_cached("DELETE FROM short WHERE id = ?1")?.execute([id])?;
        change.remove(&Place { table: Table::ShortId, key: &[Column::Number(id)] })?;
    }
    Ok(())
}
