//! The commands that rows, records and seals are read and written by.
//!
//! Keys begin with [`PREFIX`]: `session:NAME` and `answers:NAME` are hashes, `strand:NAME` is the stream of a session's records, `log` the
//! order of all of them, `shared` the shared state, `seals` the seals, `changed` the sessions that the next one is about.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use lockgate_gate::Time;
use redis::{
    Connection, ConnectionLike as _, FromRedisValue, Pipeline, RedisError, RedisResult, Script, cmd, pipe,
};

use super::rows::{self, Arguments, Entry, Fields};
use crate::strands::{
    AnswerRow, Engine, EngineError, ForgottenRow, MakeSeal, Pool, Position, Record, RowLock, Rows, Seal,
    SealedHead, StrandRecord, StrandRow, ToSeal, Write,
};

/// What all keys of a store begin with. The braces keep them on one node.
pub(super) const PREFIX: &str = "{lockgate}:";
/// For so long one gate has the right to seal.
const SEALING_MS: u64 = 10_000;
/// How many keys are asked for at once.
const BATCH: usize = 500;

/// The engine of a store in Redis.
pub(super) struct RedisEngine {
    pool: Pool<Connection>,
    place: String,
    write: Script,
    seal: Script,
}

impl RedisEngine {
    pub(super) fn new(pool: Pool<Connection>, place: String) -> Self {
        let script = |text: &str| Script::new(text);
        let (write, seal) = (script(include_str!("write.lua")), script(include_str!("seal.lua")));
        Self { pool, place, write, seal }
    }

    fn run<T>(&self, work: impl FnOnce(&mut Connection) -> RedisResult<T>) -> Result<T, EngineError> {
        run(&self.pool, work)
    }

    fn query<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, EngineError> {
        self.run(|connection| pipeline.query(connection))
    }

    /// The names of all sessions, also of those that only have a strand.
    fn names(&self) -> Result<BTreeSet<String>, EngineError> {
        let prefix = format!("{PREFIX}session:");
        let pattern = format!("{}session:*", PREFIX.replace('{', "\\{").replace('}', "\\}"));
        let mut names = BTreeSet::new();
        let mut cursor = 0_u64;
        loop {
            let (next, keys): (u64, Vec<Vec<u8>>) = self.run(|connection| {
                cmd("SCAN").arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(BATCH).query(connection)
            })?;
            for key in keys {
                let name = key.strip_prefix(prefix.as_bytes()).unwrap_or_default().to_vec();
                names.insert(
                    String::from_utf8(name).map_err(|_| {
                        EngineError::Failed("has a session whose name is not a text".to_owned())
                    })?,
                );
            }
            cursor = next;
            if cursor == 0 {
                return Ok(names);
            }
        }
    }

    /// The rows of sessions; without those that are gone.
    fn rows_of(&self, names: &[String]) -> Result<Vec<(String, StrandRow)>, EngineError> {
        let mut found = Vec::with_capacity(names.len());
        for names in names.chunks(BATCH) {
            let mut pipeline = pipe();
            for name in names {
                pipeline.cmd("HGETALL").arg(session_key(name));
            }
            let rows: Vec<Fields> = self.query(&pipeline)?;
            for (name, fields) in names.iter().zip(&rows) {
                found.extend(rows::strand_row(fields)?.map(|row| (name.clone(), row)));
            }
        }
        Ok(found)
    }

    fn all_rows(&self) -> Result<Vec<(String, StrandRow)>, EngineError> {
        self.rows_of(&self.names()?.into_iter().collect::<Vec<_>>())
    }

    fn has_answer(&self, name: &str, is_meant: impl Fn(&AnswerRow) -> bool) -> Result<bool, EngineError> {
        Ok(self.answers(name)?.1.iter().any(|(_, answer)| is_meant(answer)))
    }

    /// The records that entries of the log are about, with the sessions that they name. One that is gone is told by `verify`.
    fn records_of(&self, log: &[Entry]) -> Result<Vec<(StrandRecord, Option<String>)>, EngineError> {
        let mut pipeline = pipe();
        let places: Vec<_> =
            log.iter().map(|(_, fields)| rows::place_of(fields)).collect::<Result<_, _>>()?;
        if places.is_empty() {
            return Ok(Vec::new());
        }
        for (strand, n) in &places {
            let id = format!("{n}-0");
            pipeline.cmd("XRANGE").arg(strand_key(strand)).arg(&id).arg(&id);
        }
        let entries: Vec<Vec<Entry>> = self.query(&pipeline)?;
        let found =
            places.iter().zip(&entries).filter_map(|((strand, _), entries)| Some((strand, entries.first()?)));
        found.map(|(strand, entry)| rows::record(strand, entry)).collect()
    }

    fn store(&self, write: &Write<'_>) -> Result<(), EngineError> {
        let mut gone = Vec::new();
        for ForgottenRow { name, answers_from, .. } in &write.forgotten {
            let (_, answers) = self.answers(name)?;
            let old = answers.iter().filter(|(_, answer)| answer.at < *answers_from);
            let numbers: Vec<Vec<u8>> = old.map(|(n, _)| n.to_string().into_bytes()).collect();
            if !numbers.is_empty() {
                gone.push([vec![name.clone().into_bytes()], numbers].concat());
            }
        }
        let arguments = arguments(write, gone);
        let told: String = self.run(|connection| {
            let mut invocation = self.write.prepare_invoke();
            invocation.key(PREFIX);
            for argument in &arguments.0 {
                invocation.arg(argument);
            }
            invocation.invoke(connection)
        })?;
        match told.as_str() {
            "stored" => Ok(()),
            "conflict" => Err(EngineError::Conflict),
            _ => Err(EngineError::Failed(
                "has records that its rows do not know: rows or records were deleted outside of Lockgate; restore the database from a copy"
                    .to_owned(),
            )),
        }
    }

    /// What there is to seal, read by the gate that may seal.
    fn to_seal(&self) -> Result<ToSeal, EngineError> {
        let mut pipeline = pipe();
        pipeline.atomic();
        pipeline.cmd("XREVRANGE").arg(key("seals")).arg("+").arg("-").arg("COUNT").arg(1);
        pipeline.cmd("XREVRANGE").arg(key("log")).arg("+").arg("-").arg("COUNT").arg(1);
        pipeline.cmd("HGETALL").arg(key("shared"));
        pipeline.cmd("SMEMBERS").arg(key("changed"));
        let (seals, log, shared, changed): (Vec<Entry>, Vec<Entry>, Fields, BTreeSet<String>) =
            self.query(&pipeline)?;
        // A row that is read after the shared state may speak of a later one: seals never say more than there is.
        let rows = self.rows_of(&changed.into_iter().collect::<Vec<_>>())?;
        let head = |(strand, row): (String, StrandRow)| SealedHead {
            strand,
            version: row.version.max(0).cast_unsigned(),
            length: row.length.max(0).cast_unsigned(),
            head: row.head,
        };
        let horizon = log.first().map(|(id, _)| rows::position(id)).transpose()?;
        Ok(ToSeal {
            last: seals.first().map(rows::seal).transpose()?,
            heads: rows.into_iter().map(head).collect(),
            shared: rows::shared_row(&shared)?,
            horizon: horizon.map_or(0, |horizon| horizon.transaction + 1),
        })
    }

    fn keep_seal(&self, owner: &str, seal: &Seal, heads: &[SealedHead]) -> Result<bool, EngineError> {
        let mut arguments = Arguments::default();
        arguments.add(owner);
        arguments.add(seal.n.to_string());
        arguments.list(rows::of_seal(seal, heads));
        for SealedHead { strand, version, .. } in heads {
            arguments.add(strand.as_str());
            arguments.add(version.to_string());
        }
        let told: String = self.run(|connection| {
            let mut invocation = self.seal.prepare_invoke();
            invocation.key(PREFIX);
            for argument in &arguments.0 {
                invocation.arg(argument);
            }
            invocation.invoke(connection)
        })?;
        Ok(told == "stored")
    }
}

impl Engine for RedisEngine {
    fn place(&self) -> &str {
        &self.place
    }

    fn read(&self, name: &str) -> Result<Rows, EngineError> {
        let mut pipeline = pipe();
        pipeline.atomic();
        pipeline.cmd("HGETALL").arg(session_key(name)).cmd("HGETALL").arg(key("shared"));
        let (session, shared): (Fields, Fields) = self.query(&pipeline)?;
        Ok(Rows { session: rows::strand_row(&session)?, shared: rows::shared_row(&shared)? })
    }

    /// Nothing is locked: the script compares, and the server runs one at a time.
    fn read_locked<'a>(
        &'a self,
        name: &str,
        _is_shared: bool,
    ) -> Result<(Rows, Box<dyn RowLock + 'a>), EngineError> {
        Ok((self.read(name)?, Box::new(Compared(self))))
    }

    fn write(&self, write: &Write<'_>) -> Result<(), EngineError> {
        self.store(write)
    }

    fn answers(&self, session: &str) -> Result<(Rows, Vec<(i64, AnswerRow)>), EngineError> {
        let mut pipeline = pipe();
        pipeline.atomic();
        pipeline.cmd("HGETALL").arg(session_key(session)).cmd("HGETALL").arg(key("shared"));
        pipeline.cmd("HGETALL").arg(answers_key(session));
        let (row, shared, answers): (Fields, Fields, Vec<(i64, Vec<u8>)>) = self.query(&pipeline)?;
        let rows = Rows { session: rows::strand_row(&row)?, shared: rows::shared_row(&shared)? };
        let mut answers: Vec<(i64, AnswerRow)> = answers
            .iter()
            .map(|(number, value)| Ok((*number, rows::answer_row(value)?)))
            .collect::<Result<_, EngineError>>()?;
        answers.sort_by_key(|(number, _)| *number);
        Ok((rows, answers))
    }

    fn sessions(&self) -> Result<Vec<(String, i64, i64)>, EngineError> {
        let rows = self.all_rows()?.into_iter().filter(|(_, row)| row.bytes.is_some());
        let mut sessions: Vec<_> = rows.map(|(name, row)| (name, row.clock, row.questions)).collect();
        // Names are in order already, and equal moments keep it.
        sessions.sort_by_key(|(_, clock, _)| std::cmp::Reverse(*clock));
        Ok(sessions)
    }

    fn unused_since(&self, before: Time) -> Result<Vec<String>, EngineError> {
        let before = i64::try_from(before.0).unwrap_or(i64::MAX);
        let mut names = Vec::new();
        for (name, row) in self.all_rows()? {
            let is_old = row.bytes.is_some() && row.clock < before;
            if is_old && (row.questions == 0 || !self.has_answer(&name, |it| it.at >= before)?) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn orphans(&self, before: Time) -> Result<Vec<String>, EngineError> {
        let before = i64::try_from(before.0).unwrap_or(i64::MAX);
        let mut names = Vec::new();
        for (name, row) in self.all_rows()? {
            if row.bytes.is_none() && row.answers > 0 && self.has_answer(&name, |it| it.at < before)? {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn records(
        &self,
        after: Position,
        session: Option<&str>,
        count: u32,
    ) -> Result<Vec<StrandRecord>, EngineError> {
        let (mut after, mut found) = (after, Vec::new());
        while found.is_empty() {
            let Position { transaction, index } = after;
            let mut pipeline = pipe();
            pipeline.cmd("XRANGE").arg(key("log")).arg(format!("({transaction}-{index}")).arg("+");
            pipeline.arg("COUNT").arg(count);
            let (log,): (Vec<Entry>,) = self.query(&pipeline)?;
            let Some((last, _)) = log.last() else { break };
            after = rows::position(last)?;
            for (record, about) in self.records_of(&log)? {
                if session.is_none() || session == about.as_deref() {
                    found.push(record);
                }
            }
        }
        Ok(found)
    }

    fn records_before(&self, before: Option<Position>, count: u32) -> Result<Vec<StrandRecord>, EngineError> {
        let end = before.map_or("+".to_owned(), |at| format!("({}-{}", at.transaction, at.index));
        let mut pipeline = pipe();
        pipeline.cmd("XREVRANGE").arg(key("log")).arg(end).arg("-").arg("COUNT").arg(count);
        let (log,): (Vec<Entry>,) = self.query(&pipeline)?;
        Ok(self.records_of(&log)?.into_iter().map(|(record, _)| record).collect())
    }

    fn strand(&self, name: &str, after: i64, count: u32) -> Result<Vec<StrandRecord>, EngineError> {
        let mut pipeline = pipe();
        pipeline
            .cmd("XRANGE")
            .arg(strand_key(name))
            .arg(format!("({after}-0"))
            .arg("+")
            .arg("COUNT")
            .arg(count);
        let (entries,): (Vec<Entry>,) = self.query(&pipeline)?;
        entries.iter().map(|entry| rows::record(name, entry).map(|(record, _)| record)).collect()
    }

    fn rows_after(&self, name: Option<&str>, count: u32) -> Result<Vec<(String, StrandRow)>, EngineError> {
        let names = self.names()?.into_iter().filter(|it| name.is_none_or(|name| it.as_str() > name));
        self.rows_of(&names.take(count as usize).collect::<Vec<_>>())
    }

    fn keep_text(&self, hash: &str, text: &str) -> Result<(), EngineError> {
        self.run(|connection| cmd("HSETNX").arg(key("policies")).arg(hash).arg(text).query::<()>(connection))
    }

    fn text(&self, hash: &str) -> Result<Option<String>, EngineError> {
        self.run(|connection| cmd("HGET").arg(key("policies")).arg(hash).query(connection))
    }

    fn seal(&self, make: &MakeSeal<'_>) -> Result<Option<Seal>, EngineError> {
        let mut owner = [0; 16];
        getrandom::fill(&mut owner)
            .map_err(|error| EngineError::Failed(format!("got no random numbers: {error}")))?;
        let owner = crate::audit::to_hex(&owner);
        let is_mine: Option<String> = self.run(|connection| {
            let mut command = cmd("SET");
            command.arg(key("sealing")).arg(&owner).arg("NX").arg("PX").arg(SEALING_MS).query(connection)
        })?;
        if is_mine.is_none() {
            return Ok(None);
        }
        let made = self.to_seal().and_then(|to_seal| {
            if to_seal.heads.is_empty() {
                return Ok(None);
            }
            let seal = make(&to_seal)?;
            Ok(self.keep_seal(&owner, &seal, &to_seal.heads)?.then_some(seal))
        });
        if !matches!(made, Ok(Some(_))) {
            // It ends by itself if this does not arrive.
            let _ = self.run(|connection| cmd("DEL").arg(key("sealing")).query::<()>(connection));
        }
        made
    }

    fn last_seal(&self) -> Result<Option<Seal>, EngineError> {
        let mut pipeline = pipe();
        pipeline.cmd("XREVRANGE").arg(key("seals")).arg("+").arg("-").arg("COUNT").arg(1);
        let (seals,): (Vec<Entry>,) = self.query(&pipeline)?;
        seals.first().map(rows::seal).transpose()
    }

    fn seals(&self, after: u64, count: u32) -> Result<Vec<(Seal, Vec<SealedHead>)>, EngineError> {
        let mut pipeline = pipe();
        pipeline.cmd("XRANGE").arg(key("seals")).arg(format!("({after}-0")).arg("+").arg("COUNT").arg(count);
        let (entries,): (Vec<Entry>,) = self.query(&pipeline)?;
        entries.iter().map(|entry| Ok((rows::seal(entry)?, rows::heads(&entry.1)?))).collect()
    }
}

/// A write that compares; others are not kept out.
struct Compared<'a>(&'a RedisEngine);

impl RowLock for Compared<'_> {
    fn write(self: Box<Self>, write: &Write<'_>) -> Result<(), EngineError> {
        self.0.store(write)
    }
}

fn arguments(write: &Write<'_>, gone: Vec<Vec<Vec<u8>>>) -> Arguments {
    let Write { name, shared_seen, shared, seen, row, answer, records, forgotten } = write;
    let mut arguments = Arguments::default();
    arguments.add(*name);
    arguments.add(shared_seen.to_string());
    arguments.add(seen.to_string());
    arguments.list(shared.as_ref().map(rows::of_shared).unwrap_or_default());
    arguments.list(row.as_ref().map(rows::of_row).unwrap_or_default());
    let answer =
        answer.as_ref().map(|it| vec![it.number.to_string().into_bytes(), rows::of_answer(&it.answer)]);
    arguments.list(answer.unwrap_or_default());
    let of_record = |record: &Record| {
        let session = record.session.as_ref().map(|session| format!("={session}")).unwrap_or_default();
        vec![
            record.n.to_string().into_bytes(),
            record.prev.to_vec(),
            record.hash.to_vec(),
            session.into_bytes(),
            record.entry.clone().into_bytes(),
        ]
    };
    arguments.lists(records.iter().map(of_record).collect());
    let of_forgotten = |it: &ForgottenRow| {
        let place = [it.name.clone(), it.seen.to_string(), it.row.version.to_string()];
        [place.map(String::into_bytes).to_vec(), rows::of_row(&it.row)].concat()
    };
    arguments.lists(forgotten.iter().map(of_forgotten).collect());
    arguments.lists(gone);
    arguments
}

fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn session_key(name: &str) -> String {
    format!("{PREFIX}session:{name}")
}

fn answers_key(name: &str) -> String {
    format!("{PREFIX}answers:{name}")
}

fn strand_key(name: &str) -> String {
    format!("{PREFIX}strand:{name}")
}

/// Runs work on any connection. One that did not answer in time is closed.
pub(super) fn run<T>(
    pool: &Pool<Connection>,
    work: impl FnOnce(&mut Connection) -> RedisResult<T>,
) -> Result<T, EngineError> {
    let deadline = pool.deadline();
    pool.lend(deadline)?.with(|connection| {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let result = connection
            .set_read_timeout(Some(left))
            .and_then(|()| connection.set_write_timeout(Some(left)))
            .and_then(|()| work(connection));
        let is_answer = result.as_ref().err().is_none_or(|error| !is_lost(error));
        let is_usable = is_answer && connection.is_open();
        (result.map_err(|error| failed(&error)), is_usable)
    })
}

/// Whether the server's answer is not known.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || error.code().is_none()
}

fn failed(error: &RedisError) -> EngineError {
    if is_lost(error) {
        EngineError::Unknown(format!("lost its connection: {error}"))
    } else {
        EngineError::Failed(format!("failed: {error}"))
    }
}
