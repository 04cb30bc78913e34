//! What was done to the rows of the state behind our back.
//!
//! [`verify_state`] compares every row with its seal and with the roster, and tells each that was changed, deleted, put in
//! or brought back. A row that is not there has no name: sessions are found again by the names that the audit log has.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, types::ValueRef};

use super::{
    roster::{Entry, Nodes},
    rows::{HUMAN, SHARED_STATE},
    state::{RowProblem, Signer, State, name_of},
};
use crate::{
    audit::{ProblemKind, Verified},
    error::Fault,
    seal::{Column, Place, PlaceDigest, Table},
};

/// The tables with sealed rows: the columns of the primary key, the version, the other columns, the seal.
const TABLES: [(Table, &str, usize); 5] = [
    (Table::Session, "SELECT name, version, clock, questions, bytes, seal FROM session ORDER BY name", 1),
    (Table::SharedState, "SELECT one, version, bytes, seal FROM commons", 1),
    (
        Table::Answer,
        "SELECT session, number, 1, granted, by, at, proof, seal FROM answer ORDER BY session, number",
        2,
    ),
    (Table::ShortId, "SELECT id, 1, session, number, seal FROM short ORDER BY id", 1),
    (Table::Human, "SELECT one, version, key, at, seal FROM human", 1),
];

/// So many numbers of questions are tried to name an answer that is not there.
const NUMBERS_TRIED: i64 = 100;
/// So many short ids are tried to name one that is not there.
const IDS_TRIED: u64 = 100_000;

/// Tells what is wrong with the rows. Without a state that we signed, only their seals are looked at.
pub(crate) fn verify_state(
    connection: &Connection,
    signer: &Signer,
    state: Option<&State>,
    verified: &mut Verified,
) -> Result<(), Fault> {
    let mut listed: BTreeMap<PlaceDigest, Entry> = BTreeMap::new();
    let mut damaged = 0_u64;
    if let Some(state) = state {
        let nodes = Nodes { connection, sealer: signer.sealer() };
        let mut show = |entry: Entry| {
            listed.insert(entry.digest, entry);
        };
        let count = state.roster().walk(nodes, &mut show, &mut |_| damaged += 1)?;
        let stored: i64 = connection.query_row("SELECT count(*) FROM roster", [], |row| row.get(0))?;
        if damaged > 0 {
            let sentence = format!(
                "the roster of rows is damaged in {damaged} places: the sessions that it lists there cannot be checked"
            );
            verified.add(None, ProblemKind::DamagedRoster, sentence);
        } else if count != stored.cast_unsigned() {
            let sentence = "there are nodes of the roster of rows that do not belong to it";
            verified.add(None, ProblemKind::DamagedRoster, sentence);
        }
    }
    for (table, sql, keys) in TABLES {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            verified.rows += 1;
            let Some((name, problem)) = look_at(row, table, keys, signer, &mut listed) else {
                let sentence = "a row has an invalid value: it was changed";
                verified.add(None, ProblemKind::ChangedRow, sentence);
                continue;
            };
            match problem {
                // What the damaged part of the roster lists is not known.
                Some(RowProblem::Added) if damaged > 0 || state.is_none() => {}
                Some(problem) => add(problem, &name, verified),
                None => {}
            }
        }
    }
    if !listed.is_empty() {
        tell_missing(connection, signer, state.map_or(0, |state| state.ids), &listed, verified)?;
    }
    Ok(())
}

/// The name of a row and what is wrong with it, if anything is; none if its columns are not even of the right kind.
fn look_at(
    row: &Row<'_>,
    table: Table,
    keys: usize,
    signer: &Signer,
    listed: &mut BTreeMap<PlaceDigest, Entry>,
) -> Option<(String, Option<RowProblem>)> {
    let count = row.as_ref().column_count();
    let column = |index: usize| match row.get_ref(index).ok()? {
        ValueRef::Integer(number) => Some(Column::Number(number)),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(Column::Text),
        ValueRef::Blob(bytes) => Some(Column::Bytes(bytes)),
        ValueRef::Null | ValueRef::Real(_) => None,
    };
    let key = (0..keys).map(column).collect::<Option<Vec<_>>>()?;
    let place = Place { table, key: &key };
    let was_listed = listed.remove(&signer.sealer().digest(&place));
    let Some(Column::Number(version)) = column(keys) else { return None };
    let columns = (keys + 1..count.saturating_sub(1)).map(column).collect::<Option<Vec<_>>>()?;
    let Some(Column::Bytes(seal)) = column(count.saturating_sub(1)) else { return None };
    let problem = match was_listed {
        _ if !signer.sealer().is_sealed(&place, version.cast_unsigned(), &columns, seal) => {
            Some(RowProblem::Changed)
        }
        None => Some(RowProblem::Added),
        Some(entry) => (entry.seal != *seal).then_some(RowProblem::Old),
    };
    Some((name_of(&place), problem))
}

fn add(problem: RowProblem, name: &str, verified: &mut Verified) {
    let (kind, sentence) = match problem {
        RowProblem::Changed => {
            (ProblemKind::ChangedRow, format!("{name} is not as it was written: its row was changed"))
        }
        RowProblem::Missing => (ProblemKind::MissingRow, format!("{name} is missing: its row was deleted")),
        RowProblem::Added => {
            (ProblemKind::AddedRow, format!("{name} must not be there: its row was put in or brought back"))
        }
        RowProblem::Old => {
            (ProblemKind::OldRow, format!("{name} is an older version: its row was brought back"))
        }
    };
    verified.add(None, kind, sentence);
}

fn tell_missing(
    connection: &Connection,
    signer: &Signer,
    ids: u64,
    listed: &BTreeMap<PlaceDigest, Entry>,
    verified: &mut Verified,
) -> Result<(), Fault> {
    let mut names = BTreeMap::new();
    let mut name = |place: &Place<'_>| {
        let digest = signer.sealer().digest(place);
        if listed.contains_key(&digest) {
            names.insert(digest, name_of(place));
        }
    };
    name(&SHARED_STATE);
    name(&HUMAN);
    let has = |table: Table| listed.values().any(|entry| entry.table == table as u8);
    for session in session_names(connection)? {
        name(&Place { table: Table::Session, key: &[Column::Text(&session)] });
        if has(Table::Answer) {
            for number in 0..=NUMBERS_TRIED {
                let key = [Column::Text(&session), Column::Number(number)];
                name(&Place { table: Table::Answer, key: &key });
            }
        }
    }
    if has(Table::ShortId) {
        for id in 1..=ids.min(IDS_TRIED) {
            name(&Place { table: Table::ShortId, key: &[Column::Number(id.cast_signed())] });
        }
    }
    for (digest, entry) in listed {
        let unnamed = match entry.table {
            table if table == Table::Session as u8 => "a session that the audit log does not name",
            table if table == Table::Answer as u8 => "the answer of a human",
            _ => "a row",
        };
        let name = names.get(digest).map_or(unnamed, String::as_str);
        add(RowProblem::Missing, name, verified);
    }
    Ok(())
}

/// Every name of a session that is still to be found.
fn session_names(connection: &Connection) -> Result<BTreeSet<String>, Fault> {
    let mut statement = connection.prepare(
        "SELECT session FROM trail WHERE session IS NOT NULL UNION SELECT name FROM session \
         UNION SELECT session FROM answer UNION SELECT session FROM short",
    )?;
    let mut rows = statement.query([])?;
    let mut names = BTreeSet::new();
    while let Some(row) = rows.next()? {
        // What is not a text names nothing.
        names.extend(row.get::<_, String>(0).ok());
    }
    Ok(names)
}
