//! The statements that rows, records and seals are read and written by.
//!
//! A decision is one statement to read and one to write (`lockgate.write` in `schema.sql`). Records are read up to the oldest
//! transaction that is still open anywhere: transactions get their numbers before they commit, and a reader that went
//! beyond would never see those that commit late.

use std::time::Instant;

use lockgate_gate::Time;
use postgres::{Client, GenericClient, IsolationLevel, Row, types::ToSql};

use super::connection::Connection;
use crate::{
    audit::Hash,
    strands::{
        AnswerRow, AnswerWrite, Engine, EngineError, ForgottenRow, Lent, MakeSeal, Pool, Position, Record,
        RowLock, Rows, Seal, SealedHead, SharedRow, StrandRecord, StrandRow, ToSeal, Write,
    },
};

/// The engine of a store in Postgres.
pub(super) struct PostgresEngine {
    pool: Pool<Connection>,
    place: String,
}

impl PostgresEngine {
    pub(super) fn new(pool: Pool<Connection>, place: String) -> Self {
        Self { pool, place }
    }
}

const SESSION_COLUMNS: &str = "session.version, session.bytes, session.clock, session.questions, session.length, session.head, \
     session.answers, session.shared, session.seals, session.token, session.seal";
const SHARED_COLUMNS: &str =
    "shared_state.version, shared_state.bytes, shared_state.human_key, shared_state.seal";
/// How many there are of them.
const SESSION_COUNT: usize = 11;

/// Locks that all writers take first, so that no two of them wait for each other.
const LOCK_ALL: &str = "SELECT pg_advisory_xact_lock(7814601, 1)";
const LOCK_ONE: &str = "SELECT pg_advisory_xact_lock_shared(7814601, 1)";
/// Only one gate seals at a time.
const TRY_SEAL: &str = "SELECT pg_try_advisory_xact_lock(7814601, 3)";

impl Engine for PostgresEngine {
    fn place(&self) -> &str {
        &self.place
    }

    fn read(&self, name: &str) -> Result<Rows, EngineError> {
        let name = name.as_bytes().to_vec();
        self.pool.run(move |client| read_rows(client, &name))?
    }

    fn read_locked<'a>(
        &'a self,
        name: &str,
        is_shared: bool,
    ) -> Result<(Rows, Box<dyn RowLock + 'a>), EngineError> {
        let deadline = self.pool.deadline();
        let mut lent = self.pool.lend(deadline)?;
        let name = name.as_bytes().to_vec();
        let read = lent.run(deadline, move |client| {
            let lock = if is_shared { LOCK_ALL } else { LOCK_ONE };
            client.batch_execute(&format!("BEGIN; {lock}"))?;
            client.execute("SELECT 1 FROM lockgate.session WHERE name = $1 FOR UPDATE", &[&name])?;
            read_rows(client, &name)
        });
        // Made first: dropping it ends the transaction.
        let lock = Box::new(Locked { lent, deadline, is_shared, is_open: true });
        Ok((read??, lock))
    }

    fn write(&self, write: &Write<'_>) -> Result<(), EngineError> {
        let statement = WriteStatement::of(write, write.shared.is_some());
        let (answer, forgotten) = (write.answer.clone(), write.forgotten.clone());
        let name = write.name.as_bytes().to_vec();
        let is_written = self.pool.run(move |client| {
            if answer.is_none() && forgotten.is_empty() {
                // Alone it is a transaction of its own: one round trip.
                return statement.run(client);
            }
            let mut transaction = client.transaction()?;
            transaction.batch_execute(LOCK_ONE)?;
            let is_written = forget(&mut transaction, &forgotten)? && statement.run(&mut transaction)?;
            if is_written {
                change_answer(&mut transaction, &name, answer.as_ref())?;
                transaction.commit()?;
            }
            Ok(is_written)
        })?;
        if is_written { Ok(()) } else { Err(EngineError::Conflict) }
    }

    fn answers(&self, session: &str) -> Result<(Rows, Vec<(i64, AnswerRow)>), EngineError> {
        let session = session.as_bytes().to_vec();
        let (rows, answers) = self.pool.run(move |client| {
            let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
            let mut moment = moment.read_only(true).start()?;
            let rows = read_rows(&mut moment, &session)?;
            let answers = moment.query(
                "SELECT number, version, granted, by, at, proof, seal FROM lockgate.answer WHERE session = $1 ORDER BY number",
                &[&session],
            )?;
            moment.commit()?;
            Ok((rows, answers))
        })?;
        Ok((rows?, answers.iter().map(answer_row).collect::<Result<_, _>>()?))
    }

    fn sessions(&self) -> Result<Vec<(String, i64, i64)>, EngineError> {
        let rows = self.pool.run(|client| {
            client.query(
                "SELECT name, clock, questions FROM lockgate.session WHERE bytes IS NOT NULL ORDER BY clock DESC, name",
                &[],
            )
        })?;
        rows.into_iter().map(|row| Ok((text(row.get(0))?, row.get(1), row.get(2)))).collect()
    }

    fn unused_since(&self, before: Time) -> Result<Vec<String>, EngineError> {
        let before = i64::try_from(before.0).unwrap_or(i64::MAX);
        let rows = self.pool.run(move |client| {
            client.query(
                "SELECT name FROM lockgate.session WHERE bytes IS NOT NULL AND clock < $1 AND (questions = 0 OR NOT EXISTS \
                 (SELECT 1 FROM lockgate.answer WHERE answer.session = session.name AND answer.at >= $1)) ORDER BY name",
                &[&before],
            )
        })?;
        rows.into_iter().map(|row| text(row.get(0))).collect()
    }

    fn orphans(&self, before: Time) -> Result<Vec<String>, EngineError> {
        let before = i64::try_from(before.0).unwrap_or(i64::MAX);
        let rows = self.pool.run(move |client| {
            client.query(
                "SELECT name FROM lockgate.session WHERE bytes IS NULL AND answers > 0 AND EXISTS \
                 (SELECT 1 FROM lockgate.answer WHERE answer.session = session.name AND answer.at < $1) ORDER BY name",
                &[&before],
            )
        })?;
        rows.into_iter().map(|row| text(row.get(0))).collect()
    }

    fn records(
        &self,
        after: Position,
        session: Option<&str>,
        count: u32,
    ) -> Result<Vec<StrandRecord>, EngineError> {
        let (tx, ord, count) =
            (whole(after.transaction), i32::try_from(after.index).unwrap_or(i32::MAX), i64::from(count));
        let session = session.map(|session| session.as_bytes().to_vec());
        let rows = self.pool.run(move |client| {
            let statement = client.prepare(
                "SELECT tx::text::bigint, ord, strand, n, prev, hash, entry FROM lockgate.record \
                 WHERE (tx, ord) > ($1::bigint::text::xid8, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot()) \
                 AND ($3::bytea IS NULL OR session = $3) ORDER BY tx, ord LIMIT $4",
            )?;
            client.query(&statement, &[&tx, &ord, &session, &count])
        })?;
        rows.iter().map(strand_record).collect()
    }

    fn records_before(&self, before: Option<Position>, count: u32) -> Result<Vec<StrandRecord>, EngineError> {
        let before = before.unwrap_or(Position { transaction: i64::MAX.cast_unsigned(), index: 0 });
        let (tx, ord, count) =
            (whole(before.transaction), i32::try_from(before.index).unwrap_or(i32::MAX), i64::from(count));
        let rows = self.pool.run(move |client| {
            let statement = client.prepare(
                "SELECT tx::text::bigint, ord, strand, n, prev, hash, entry FROM lockgate.record \
                 WHERE (tx, ord) < ($1::bigint::text::xid8, $2) AND tx < pg_snapshot_xmin(pg_current_snapshot()) \
                 ORDER BY tx DESC, ord DESC LIMIT $3",
            )?;
            client.query(&statement, &[&tx, &ord, &count])
        })?;
        rows.iter().map(strand_record).collect()
    }

    fn strand(&self, name: &str, after: i64, count: u32) -> Result<Vec<StrandRecord>, EngineError> {
        let (name, count) = (name.as_bytes().to_vec(), i64::from(count));
        let rows = self.pool.run(move |client| {
            client.query(
                "SELECT tx::text::bigint, ord, strand, n, prev, hash, entry FROM lockgate.record \
                 WHERE strand = $1 AND n > $2 ORDER BY n LIMIT $3",
                &[&name, &after, &count],
            )
        })?;
        rows.iter().map(strand_record).collect()
    }

    fn rows_after(&self, name: Option<&str>, count: u32) -> Result<Vec<(String, StrandRow)>, EngineError> {
        let (name, count) = (name.map(|name| name.as_bytes().to_vec()), i64::from(count));
        let rows = self.pool.run(move |client| {
            client.query(
                &format!(
                    "SELECT {SESSION_COLUMNS}, session.name FROM lockgate.session WHERE $1::bytea IS NULL OR name > $1 ORDER BY name LIMIT $2"
                ),
                &[&name, &count],
            )
        })?;
        rows.iter().map(|row| Ok((text(row.get(SESSION_COUNT))?, strand_row(row)?))).collect()
    }

    fn keep_text(&self, hash: &str, text: &str) -> Result<(), EngineError> {
        let (hash, text) = (hash.to_owned(), text.as_bytes().to_vec());
        self.pool.run(move |client| {
            client.execute(
                "INSERT INTO lockgate.policy (hash, text) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&hash, &text],
            )
        })?;
        Ok(())
    }

    fn text(&self, hash: &str) -> Result<Option<String>, EngineError> {
        let hash = hash.to_owned();
        let row = self.pool.run(move |client| {
            client.query_opt("SELECT text FROM lockgate.policy WHERE hash = $1", &[&hash])
        })?;
        row.map(|row| text(row.get(0))).transpose()
    }

    fn seal(&self, make: &MakeSeal<'_>) -> Result<Option<Seal>, EngineError> {
        let deadline = self.pool.deadline();
        let mut lent = self.pool.lend(deadline)?;
        let read = lent.run(deadline, |client| {
            client.batch_execute("BEGIN")?;
            let is_mine: bool = client.query_one(TRY_SEAL, &[])?.get(0);
            if !is_mine {
                return Ok(None);
            }
            let last = client.query_opt(&format!("{SEALS} ORDER BY n DESC LIMIT 1"), &[])?;
            let from: i64 = last.as_ref().map_or(0, |row| row.get(2));
            // One statement: heads and horizon are of one moment. The shared state may be a later one, and then it has no older one.
            let heads = client.query(
                "SELECT name, version, length, head, pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM lockgate.session \
                 WHERE tx >= $1::bigint::text::xid8 AND tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY name",
                &[&from],
            )?;
            let shared = client
                .query_opt(&format!("SELECT {SHARED_COLUMNS} FROM lockgate.shared_state WHERE one = 1"), &[])?;
            Ok(Some((last, heads, shared)))
        });
        let lock = Locked { lent, deadline, is_shared: false, is_open: true };
        let Some((last, heads, shared)) = read? else { return Ok(None) };
        let Some(horizon) = heads.first().map(|row| row.get::<_, i64>(4)) else { return Ok(None) };
        let to_seal = ToSeal {
            last: last.as_ref().map(seal_of).transpose()?,
            heads: heads.iter().map(|row| sealed_head(row, 0)).collect::<Result<_, _>>()?,
            shared: shared.and_then(|row| shared_row(&row, 0)),
            horizon: horizon.cast_unsigned(),
        };
        let seal = make(&to_seal)?;
        let (made, heads) = (seal.clone(), to_seal.heads);
        lock.commit(move |client| {
            let Seal { n, at_ms, horizon, heads: count, shared_version, root, shared, previous, signature } = &seal;
            let n = whole(*n);
            let [at, horizon, count, shared_version] = [at_ms, horizon, count, shared_version].map(|it| whole(*it));
            client.execute(
                "INSERT INTO lockgate.seal (n, at, horizon, heads, shared_version, root, shared, previous, signature) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                &[&n, &at, &horizon, &count, &shared_version, &root.as_slice(), &shared.as_slice(),
                  &previous.as_slice(), &signature.as_slice()],
            )?;
            let names: Vec<&[u8]> = heads.iter().map(|it| it.strand.as_bytes()).collect();
            let versions: Vec<i64> = heads.iter().map(|it| whole(it.version)).collect();
            let lengths: Vec<i64> = heads.iter().map(|it| whole(it.length)).collect();
            let hashes: Vec<&[u8]> = heads.iter().map(|it| it.head.as_slice()).collect();
            client.execute(
                "INSERT INTO lockgate.sealed (seal, strand, version, length, head) \
                 SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[])",
                &[&n, &names, &versions, &lengths, &hashes],
            )?;
            Ok(true)
        })?;
        Ok(Some(made))
    }

    fn last_seal(&self) -> Result<Option<Seal>, EngineError> {
        let row =
            self.pool.run(|client| client.query_opt(&format!("{SEALS} ORDER BY n DESC LIMIT 1"), &[]))?;
        row.as_ref().map(seal_of).transpose()
    }

    fn seals(&self, after: u64, count: u32) -> Result<Vec<(Seal, Vec<SealedHead>)>, EngineError> {
        let (after, count) = (whole(after), i64::from(count));
        let (seals, heads) = self.pool.run(move |client| {
            let seals = client.query(&format!("{SEALS} WHERE n > $1 ORDER BY n LIMIT $2"), &[&after, &count])?;
            let last: i64 = seals.last().map_or(0, |row| row.get(0));
            let heads = client.query(
                "SELECT seal, strand, version, length, head FROM lockgate.sealed WHERE seal > $1 AND seal <= $2 ORDER BY seal, strand",
                &[&after, &last],
            )?;
            Ok((seals, heads))
        })?;
        seals
            .iter()
            .map(|row| {
                let n: i64 = row.get(0);
                let heads =
                    heads.iter().filter(|head| head.get::<_, i64>(0) == n).map(|head| sealed_head(head, 1));
                Ok((seal_of(row)?, heads.collect::<Result<_, _>>()?))
            })
            .collect()
    }
}

const SEALS: &str =
    "SELECT n, at, horizon, heads, shared_version, root, shared, previous, signature FROM lockgate.seal";

/// Rows that are locked by an open transaction; dropping it rolls back.
struct Locked<'a> {
    lent: Lent<'a, Connection>,
    deadline: Instant,
    is_shared: bool,
    is_open: bool,
}

impl Locked<'_> {
    /// Runs work in the transaction, and commits if it returns true.
    fn commit(
        mut self,
        work: impl FnOnce(&mut Client) -> Result<bool, postgres::Error> + Send + 'static,
    ) -> Result<bool, EngineError> {
        self.is_open = false;
        self.lent.run(self.deadline, |client| {
            let done = work(client);
            let end = if matches!(done, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
            let ended = client.batch_execute(end);
            done.and_then(|done| ended.map(|()| done))
        })
    }
}

impl RowLock for Locked<'_> {
    fn write(self: Box<Self>, write: &Write<'_>) -> Result<(), EngineError> {
        let statement = WriteStatement::of(write, self.is_shared);
        let (answer, name) = (write.answer.clone(), write.name.as_bytes().to_vec());
        let is_written = (*self).commit(move |client| {
            let is_written = statement.run(client)?;
            if is_written {
                change_answer(client, &name, answer.as_ref())?;
            }
            Ok(is_written)
        })?;
        if is_written { Ok(()) } else { Err(EngineError::Conflict) }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // A connection that cannot roll back is closed by that, and the server rolls back.
            let deadline = self.deadline.max(Instant::now() + std::time::Duration::from_millis(100));
            let _ = self.lent.run(deadline, |client| client.batch_execute("ROLLBACK"));
        }
    }
}

/// A write with everything it needs on the connection's thread.
struct WriteStatement {
    is_exclusive: bool,
    name: Vec<u8>,
    shared_seen: i64,
    shared: Option<SharedRow>,
    seen: i64,
    row: Option<StrandRow>,
    records: Vec<Record>,
}

impl WriteStatement {
    fn of(write: &Write<'_>, is_exclusive: bool) -> Self {
        let Write { name, shared_seen, shared, seen, row, records, .. } = write;
        Self {
            is_exclusive,
            name: name.as_bytes().to_vec(),
            shared_seen: *shared_seen,
            shared: shared.clone(),
            seen: *seen,
            row: row.clone(),
            records: records.clone(),
        }
    }

    fn run(&self, client: &mut impl GenericClient) -> Result<bool, postgres::Error> {
        let Self { is_exclusive, name, shared_seen, shared, seen, row, records } = self;
        let shared = shared.as_ref();
        let (shared_version, shared_bytes, shared_human_key, shared_seal) = (
            shared.map(|it| it.version),
            shared.and_then(|it| it.bytes.as_ref()),
            shared.and_then(|it| it.human_key.as_ref()),
            shared.map(|it| &it.seal),
        );
        let row = row.as_ref();
        let ns: Vec<i64> = records.iter().map(|it| it.n).collect();
        let prevs: Vec<&[u8]> = records.iter().map(|it| it.prev.as_slice()).collect();
        let hashes: Vec<&[u8]> = records.iter().map(|it| it.hash.as_slice()).collect();
        let ats: Vec<i64> = records.iter().map(|it| it.at).collect();
        let sessions: Vec<Option<&[u8]>> =
            records.iter().map(|it| it.session.as_deref().map(str::as_bytes)).collect();
        let entries: Vec<&[u8]> = records.iter().map(|it| it.entry.as_bytes()).collect();
        let values: [&(dyn ToSql + Sync); 25] = [
            is_exclusive,
            shared_seen,
            &shared_version,
            &shared_bytes,
            &shared_human_key,
            &shared_seal,
            name,
            seen,
            &row.map(|it| it.version),
            &row.and_then(|it| it.bytes.as_ref()),
            &row.map(|it| it.clock),
            &row.map(|it| it.questions),
            &row.map(|it| it.length),
            &row.map(|it| it.head.as_slice()),
            &row.map(|it| it.answers),
            &row.map(|it| it.shared),
            &row.map(|it| it.seals),
            &row.map(|it| it.token.as_slice()),
            &row.map(|it| &it.seal),
            &ns,
            &prevs,
            &hashes,
            &ats,
            &sessions,
            &entries,
        ];
        let statement = client.prepare(
            "SELECT lockgate.write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
             $22, $23, $24, $25)",
        )?;
        Ok(client.query_one(&statement, &values)?.get(0))
    }
}

fn forget(client: &mut impl GenericClient, forgotten: &[ForgottenRow]) -> Result<bool, postgres::Error> {
    for ForgottenRow { name, seen, row, answers_from } in forgotten {
        let name = name.as_bytes();
        let written = client.execute(
            "UPDATE lockgate.session SET version = $3, bytes = NULL, questions = 0, answers = $4, token = $5, seal = $6, \
             tx = pg_current_xact_id() WHERE name = $1 AND version = $2",
            &[&name, seen, &row.version, &row.answers, &row.token.as_slice(), &row.seal],
        )?;
        if written != 1 {
            return Ok(false);
        }
        client
            .execute("DELETE FROM lockgate.answer WHERE session = $1 AND at < $2", &[&name, answers_from])?;
    }
    Ok(true)
}

fn change_answer(
    client: &mut impl GenericClient,
    session: &[u8],
    answer: Option<&AnswerWrite>,
) -> Result<(), postgres::Error> {
    let Some(AnswerWrite { number, answer }) = answer else { return Ok(()) };
    let AnswerRow { version, granted, by, at, proof, seal } = answer;
    client.execute(
        "INSERT INTO lockgate.answer (session, number, version, granted, by, at, proof, seal) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session, number) DO UPDATE SET version = excluded.version, \
         granted = excluded.granted, by = excluded.by, at = excluded.at, proof = excluded.proof, seal = excluded.seal",
        &[&session, number, version, granted, &by.as_bytes(), at, &proof.as_bytes(), seal],
    )?;
    Ok(())
}

/// The rows of a session, in one statement, so of one moment.
fn read_rows(
    client: &mut impl GenericClient,
    name: &[u8],
) -> Result<Result<Rows, EngineError>, postgres::Error> {
    let statement = client.prepare(&format!(
        "SELECT {SESSION_COLUMNS}, {SHARED_COLUMNS} FROM (SELECT 1) AS one \
         LEFT JOIN lockgate.session ON name = $1 LEFT JOIN lockgate.shared_state ON shared_state.one = 1"
    ))?;
    let row = client.query_one(&statement, &[&name])?;
    let session = match row.get::<_, Option<i64>>(0) {
        None => Ok(None),
        Some(_) => strand_row(&row).map(Some),
    };
    Ok(session.map(|session| Rows { session, shared: shared_row(&row, SESSION_COUNT) }))
}

fn strand_row(row: &Row) -> Result<StrandRow, EngineError> {
    Ok(StrandRow {
        version: row.get(0),
        bytes: row.get(1),
        clock: row.get(2),
        questions: row.get(3),
        length: row.get(4),
        head: fixed(row.get(5))?,
        answers: row.get(6),
        shared: row.get(7),
        seals: row.get(8),
        token: fixed(row.get(9))?,
        seal: row.get(10),
    })
}

/// The row of the shared state from a column on, if it is there.
fn shared_row(row: &Row, first: usize) -> Option<SharedRow> {
    row.get::<_, Option<i64>>(first).map(|version| SharedRow {
        version,
        bytes: row.get(first + 1),
        human_key: row.get(first + 2),
        seal: row.get(first + 3),
    })
}

fn answer_row(row: &Row) -> Result<(i64, AnswerRow), EngineError> {
    let (by, proof) = (text(row.get(3))?, text(row.get(5))?);
    let (version, granted, at, seal) = (row.get(1), row.get(2), row.get(4), row.get(6));
    Ok((row.get(0), AnswerRow { version, granted, by, at, proof, seal }))
}

fn strand_record(row: &Row) -> Result<StrandRecord, EngineError> {
    Ok(StrandRecord {
        position: Position {
            transaction: row.get::<_, i64>(0).cast_unsigned(),
            index: row.get::<_, i32>(1).cast_unsigned(),
        },
        strand: text(row.get(2))?,
        n: row.get::<_, i64>(3).max(0).cast_unsigned(),
        prev: fixed(row.get(4))?,
        hash: fixed(row.get(5))?,
        entry: text(row.get(6))?,
    })
}

fn seal_of(row: &Row) -> Result<Seal, EngineError> {
    let number = |index| row.get::<_, i64>(index).cast_unsigned();
    Ok(Seal {
        n: number(0),
        at_ms: number(1),
        horizon: number(2),
        heads: number(3),
        shared_version: number(4),
        root: fixed(row.get(5))?,
        shared: fixed(row.get(6))?,
        previous: fixed(row.get(7))?,
        signature: fixed(row.get(8))?,
    })
}

fn sealed_head(row: &Row, first: usize) -> Result<SealedHead, EngineError> {
    let head: Hash = fixed(row.get(first + 3))?;
    Ok(SealedHead {
        strand: text(row.get(first))?,
        version: row.get::<_, i64>(first + 1).cast_unsigned(),
        length: row.get::<_, i64>(first + 2).cast_unsigned(),
        head,
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], EngineError> {
    bytes.try_into().map_err(|_| {
        EngineError::Failed("has a row of another form: it was changed outside of Lockgate".to_owned())
    })
}

fn text(bytes: Vec<u8>) -> Result<String, EngineError> {
    String::from_utf8(bytes).map_err(|_| {
        EngineError::Failed("has a row of another form: it was changed outside of Lockgate".to_owned())
    })
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
