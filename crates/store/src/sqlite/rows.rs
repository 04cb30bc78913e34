//! The rows of the state: how each is read, sealed, compared with the roster and written.
//!
//! A row that is read is compared before anybody sees it. What is sealed of a table is in here once: a new column is added
//! where its row is sealed, and a migration seals the rows that are there (`sealing.rs`).

use std::sync::Arc;

use lockgate_gate::{SessionRow, SignedAnswer, StoredAnswer, Time};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    columns::{question, whole},
    state::{Signer, State, Stored},
};
use crate::{
    error::Fault,
    seal::{Column, Place, Table},
};

/// The first version of a row, and the only one of rows that are never changed.
pub(crate) const FIRST_VERSION: i64 = 1;

/// A session and the shared state, as they are stored.
#[derive(Default)]
pub(crate) struct StoredRows {
    pub(crate) version: Option<i64>,
    pub(crate) session: Option<Vec<u8>>,
    pub(crate) shared_version: Option<i64>,
    pub(crate) shared_state: Option<Vec<u8>>,
}

pub(crate) fn session_columns(clock: i64, questions: i64, bytes: &[u8]) -> [Column<'_>; 3] {
    [Column::Number(clock), Column::Number(questions), Column::Bytes(bytes)]
}

pub(crate) fn answer_columns<'a>(granted: i64, by: &'a str, at: i64, proof: &'a str) -> [Column<'a>; 4] {
    [Column::Number(granted), Column::Text(by), Column::Number(at), Column::Text(proof)]
}

pub(crate) fn short_id_columns(session: &str, number: i64) -> [Column<'_>; 2] {
    [Column::Text(session), Column::Number(number)]
}

/// The place of the shared state.
pub(crate) const SHARED_STATE: Place<'_> = Place { table: Table::SharedState, key: &[Column::Number(1)] };

/// The place of the human's public key.
pub(crate) const HUMAN: Place<'_> = Place { table: Table::Human, key: &[Column::Number(1)] };

/// An answer by its columns. A proof that cannot be read is none, and whatever is not plainly a yes is a no.
pub(crate) fn stored_answer(granted: i64, by: String, at: i64, proof: &str) -> StoredAnswer {
    let proof = serde_json::from_str::<SignedAnswer>(proof).ok().map(Arc::new);
    StoredAnswer { granted: granted == 1, by, at: Time(at.max(0).cast_unsigned()), proof }
}

/// A transaction, its state, and who seals it.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) signer: &'a Signer,
    pub(crate) state: &'a State,
}

impl Moment<'_> {
    fn check(&self, place: &Place<'_>, row: Option<Stored<'_>>) -> Result<(), Fault> {
        self.state.check(self.connection, self.signer, place, row)
    }

    /// A session and the shared state, if both are as they must be.
    pub(crate) fn rows(&self, session: &str) -> Result<StoredRows, Fault> {
        let mut statement = self.connection.prepare_cached(
            "SELECT session.version, clock, questions, session.bytes, session.seal, commons.version, commons.bytes, \
             commons.seal FROM (SELECT 1) LEFT JOIN session ON name = ?1 LEFT JOIN commons ON one = 1",
        )?;
        let mut rows = StoredRows::default();
        let mut found = statement.query([session])?;
        let Some(row) = found.next()? else { return Ok(rows) };
        rows.version = row.get(0)?;
        let place = Place { table: Table::Session, key: &[Column::Text(session)] };
        match rows.version {
            None => self.check(&place, None)?,
            Some(version) => {
                let bytes: Vec<u8> = row.get(3)?;
                let seal: Vec<u8> = row.get(4)?;
                let columns = session_columns(row.get(1)?, row.get(2)?, &bytes);
                let stored = Stored { version: version.cast_unsigned(), columns: &columns, seal: &seal };
                self.check(&place, Some(stored))?;
                rows.session = Some(bytes);
            }
        }
        rows.shared_version = row.get(5)?;
        match rows.shared_version {
            None => self.check(&SHARED_STATE, None)?,
            Some(version) => {
                let bytes: Vec<u8> = row.get(6)?;
                let seal: Vec<u8> = row.get(7)?;
                let columns = [Column::Bytes(&bytes)];
                let stored = Stored { version: version.cast_unsigned(), columns: &columns, seal: &seal };
                self.check(&SHARED_STATE, Some(stored))?;
                rows.shared_state = Some(bytes);
            }
        }
        Ok(rows)
    }

    /// The answer to a question, if it is as it must be.
    pub(crate) fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, Fault> {
        let number = question(number)?;
        let mut statement = self.connection.prepare_cached(
            "SELECT granted, by, at, proof, seal FROM answer WHERE session = ?1 AND number = ?2",
        )?;
        let found: Option<(i64, String, i64, String, Vec<u8>)> = statement
            .query_row(params![session, number], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let key = [Column::Text(session), Column::Number(number)];
        let place = Place { table: Table::Answer, key: &key };
        let Some((granted, by, at, proof, seal)) = found else {
            self.check(&place, None)?;
            return Ok(None);
        };
        let columns = answer_columns(granted, &by, at, &proof);
        self.check(
            &place,
            Some(Stored { version: FIRST_VERSION.cast_unsigned(), columns: &columns, seal: &seal }),
        )?;
        Ok(Some(stored_answer(granted, by, at, &proof)))
    }

    /// The human's public key with the version of its row, if it is as it must be.
    pub(crate) fn human_key(&self) -> Result<Option<(i64, Vec<u8>)>, Fault> {
        let mut statement =
            self.connection.prepare_cached("SELECT version, key, at, seal FROM human WHERE one = 1")?;
        let found: Option<(i64, Vec<u8>, i64, Vec<u8>)> = statement
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .optional()?;
        let Some((version, key, at, seal)) = found else {
            self.check(&HUMAN, None)?;
            return Ok(None);
        };
        let columns = [Column::Bytes(&key), Column::Number(at)];
        self.check(
            &HUMAN,
            Some(Stored { version: version.cast_unsigned(), columns: &columns, seal: &seal }),
        )?;
        Ok(Some((version, key)))
    }

    /// The question that a short id names, if the row is as it must be.
    pub(crate) fn question_of(&self, id: i64) -> Result<Option<(String, u64)>, Fault> {
        let mut statement =
            self.connection.prepare_cached("SELECT session, number, seal FROM short WHERE id = ?1")?;
        let found: Option<(String, i64, Vec<u8>)> =
            statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        let place = Place { table: Table::ShortId, key: &[Column::Number(id)] };
        let Some((session, number, seal)) = found else {
            self.check(&place, None)?;
            return Ok(None);
        };
        let columns = short_id_columns(&session, number);
        self.check(
            &place,
            Some(Stored { version: FIRST_VERSION.cast_unsigned(), columns: &columns, seal: &seal }),
        )?;
        Ok(u64::try_from(number).ok().map(|number| (session, number)))
    }
}

/// A transaction that writes: its state is that after it.
pub(crate) struct Change<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) signer: &'a Signer,
    pub(crate) state: State,
}

impl Change<'_> {
    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment { connection: self.connection, signer: self.signer, state: &self.state }
    }

    fn seal(&mut self, place: &Place<'_>, version: i64, columns: &[Column<'_>]) -> Result<[u8; 32], Fault> {
        self.state.put(self.connection, self.signer, place, version.cast_unsigned(), columns)
    }

    pub(crate) fn remove(&mut self, place: &Place<'_>) -> Result<(), Fault> {
        self.state.remove(self.connection, self.signer, place)
    }

    pub(crate) fn append<'e>(&mut self, entries: impl IntoIterator<Item = &'e str>) -> Result<(), Fault> {
        self.state.append(self.connection, self.signer, entries)
    }

    /// Writes a session over the version that was read. No other writer can be first while the lock is held; should the
    /// lock ever not hold, this finds out.
    pub(crate) fn write_session(
        &mut self,
        name: &str,
        before: Option<i64>,
        session: &SessionRow<'_>,
    ) -> Result<(), Fault> {
        let SessionRow { bytes, clock, questions } = *session;
        let (clock, questions) = (whole(clock), i64::try_from(questions).unwrap_or(i64::MAX));
        let version = before.map_or(FIRST_VERSION, |version| version.wrapping_add(1));
        let place = Place { table: Table::Session, key: &[Column::Text(name)] };
        let seal = self.seal(&place, version, &session_columns(clock, questions, bytes))?;
        let written = match before {
            Some(before) => self
                .connection
                .prepare_cached(
                    "UPDATE session SET version = ?3, clock = ?4, questions = ?5, bytes = ?6, seal = ?7 \
                     WHERE name = ?1 AND version = ?2",
                )?
                .execute(params![name, before, version, clock, questions, bytes, seal])?,
            None => self
                .connection
                .prepare_cached(
                    "INSERT INTO session(name, version, clock, questions, bytes, seal) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                )?
                .execute(params![name, version, clock, questions, bytes, seal])?,
        };
        if written == 1 { Ok(()) } else { Err(Fault::Conflict) }
    }

    pub(crate) fn write_shared_state(&mut self, before: Option<i64>, bytes: &[u8]) -> Result<(), Fault> {
        let version = before.map_or(FIRST_VERSION, |version| version.wrapping_add(1));
        let seal = self.seal(&SHARED_STATE, version, &[Column::Bytes(bytes)])?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO commons(one, bytes, version, seal) VALUES (1, ?1, ?2, ?3)",
            )?
            .execute(params![bytes, version, seal])?;
        Ok(())
    }

    /// Stores an answer to a question that has none.
    pub(crate) fn write_answer(
        &mut self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
    ) -> Result<(), Fault> {
        let StoredAnswer { granted, by, at, proof } = answer;
        let (number, granted, at) = (question(number)?, i64::from(*granted), whole(*at));
        let proof = match proof {
            None => String::new(),
            Some(proof) => serde_json::to_string(&**proof)
                .map_err(|error| Fault::told(format!("cannot store a signature: {error}")))?,
        };
        let key = [Column::Text(session), Column::Number(number)];
        let place = Place { table: Table::Answer, key: &key };
        let seal = self.seal(&place, FIRST_VERSION, &answer_columns(granted, by, at, &proof))?;
        self.connection
            .prepare_cached(
                "INSERT INTO answer(session, number, granted, by, at, proof, seal) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![session, number, granted, by, at, proof, seal])?;
        Ok(())
    }

    /// Removes the answer to a question.
    pub(crate) fn remove_answer(&mut self, session: &str, number: i64) -> Result<(), Fault> {
        self.connection
            .prepare_cached("DELETE FROM answer WHERE session = ?1 AND number = ?2")?
            .execute(params![session, number])?;
        let key = [Column::Text(session), Column::Number(number)];
        self.remove(&Place { table: Table::Answer, key: &key })
    }

    /// Records the human's public key over the version that was read.
    pub(crate) fn write_human_key(
        &mut self,
        before: Option<i64>,
        key: &[u8; 32],
        at: Time,
    ) -> Result<(), Fault> {
        let (version, at) = (before.map_or(FIRST_VERSION, |version| version.wrapping_add(1)), whole(at));
        let seal = self.seal(&HUMAN, version, &[Column::Bytes(key), Column::Number(at)])?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO human(one, version, key, at, seal) VALUES (1, ?1, ?2, ?3, ?4)",
            )?
            .execute(params![version, key, at, seal])?;
        Ok(())
    }

    /// Gives a question the next short id.
    pub(crate) fn write_short_id(&mut self, session: &str, number: u64) -> Result<u64, Fault> {
        // The head's, not the highest that is there: an id is never given twice.
        self.state.ids += 1;
        let (id, number) = (self.state.ids, question(number)?);
        let key = [Column::Number(id.cast_signed())];
        let place = Place { table: Table::ShortId, key: &key };
        let seal = self.seal(&place, FIRST_VERSION, &short_id_columns(session, number))?;
        self.connection
            .prepare_cached("INSERT INTO short(id, session, number, seal) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![id.cast_signed(), session, number, seal])?;
        Ok(id)
    }
}
