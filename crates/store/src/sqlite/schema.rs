//! The tables, and which database is ours.
//!
//! A database says whose it is (`application_id`) and in which form (`user_version`). `STEPS` is the list of
//! forms; opening brings an older one up to date, one step after the other, and refuses everything it does not
//! know. Nothing in here reads a session or an entry; sealing the rows of an older form is `sealing.rs`.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, params};

use super::{
    connection::is_busy,
    key, log, sealing,
    state::{Signer, State},
};
use crate::{
    audit::Head,
    error::{OpenError, OpenErrorKind},
    key_file::Key,
};

/// `LKGT`, in the header of the file, where `file` and other tools look.
const APPLICATION_ID: i32 = 0x4c4b_4754;

/// How long to wait before trying again to make a database that others are making as well.
const RETRY: Duration = Duration::from_millis(5);

/// What turns form n - 1 into form n. A step that was released is never edited.
const STEPS: [&str; 3] = [
    "
    CREATE TABLE session(
        name TEXT PRIMARY KEY, version INTEGER NOT NULL, clock INTEGER NOT NULL, questions INTEGER NOT NULL,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE commons(one INTEGER PRIMARY KEY CHECK (one = 1), bytes BLOB NOT NULL) STRICT;
    CREATE TABLE answer(
        session TEXT NOT NULL, number INTEGER NOT NULL, granted INTEGER NOT NULL, by TEXT NOT NULL,
        at INTEGER NOT NULL, PRIMARY KEY (session, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE trail(
        n INTEGER PRIMARY KEY, at INTEGER NOT NULL, session TEXT, prev BLOB NOT NULL, hash BLOB NOT NULL,
        entry TEXT NOT NULL
    ) STRICT;
    CREATE TABLE head(
        one INTEGER PRIMARY KEY CHECK (one = 1), n INTEGER NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL,
        pruned INTEGER NOT NULL, database BLOB NOT NULL, key BLOB NOT NULL, signature BLOB NOT NULL
    ) STRICT;
    CREATE TABLE checkpoint(
        n INTEGER PRIMARY KEY, hash BLOB NOT NULL, at INTEGER NOT NULL, signature BLOB NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE short(
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, number INTEGER NOT NULL,
        UNIQUE (session, number)
    ) STRICT;
",
    // Seals, what a human signed, and the public key of the human who answers.
    "
    ALTER TABLE session ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    ALTER TABLE commons ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE commons ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    ALTER TABLE answer ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    ALTER TABLE short ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    ALTER TABLE head ADD COLUMN counter INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE head ADD COLUMN state BLOB NOT NULL DEFAULT x'';
    ALTER TABLE head ADD COLUMN ids INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE head ADD COLUMN roster BLOB NOT NULL DEFAULT x'';
    ALTER TABLE head ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    CREATE TABLE roster(path BLOB PRIMARY KEY, bytes BLOB NOT NULL) STRICT, WITHOUT ROWID;
    ALTER TABLE answer ADD COLUMN proof TEXT NOT NULL DEFAULT '';
    CREATE TABLE human(
        one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, key BLOB NOT NULL, at INTEGER NOT NULL,
        seal BLOB NOT NULL
    ) STRICT;
",
];

/// The first form whose rows are sealed.
const SEALED_SINCE: usize = 3;

/// The form this Lockgate reads and writes.
const VERSION: usize = STEPS.len();

/// Whose database this is, and in which form.
enum Form {
    Ours(usize),
    Empty,
}

/// Brings a database up to date and finds the key that signs its audit log and seals its rows.
pub(crate) fn ready(connection: &Connection, path: &Path, wait: Duration) -> Result<Signer, OpenError> {
    let key = match form_of(connection, path, wait)? {
        Form::Ours(VERSION) => key_of(connection, path, wait)?,
        Form::Ours(_) => bring_up_to_date(connection, path, wait)?,
        Form::Empty => found(connection, path, wait)?,
    };
    if !key.is_sealed {
        note_sealed(connection, path, wait)?;
    }
    let head = log::head(connection).map_err(|fault| OpenError::fault(path, wait, fault))?;
    Ok(Signer::new(key.signing, &head.database))
}

fn bring_up_to_date(connection: &Connection, path: &Path, wait: Duration) -> Result<Key, OpenError> {
    let sql = |error: rusqlite::Error| OpenError::sql(path, wait, &error);
    let fault = |fault| OpenError::fault(path, wait, fault);
    connection.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
    let key = key_of(connection, path, wait)?;
    // Somebody else may have done it meanwhile.
    let Form::Ours(version) = form_of(connection, path, wait)? else {
        return Err(key::without_database(path));
    };
    if version < SEALED_SINCE && key.is_sealed {
        let reason = format!(
            "has format {version}, from before its state was sealed, but its key says that it is sealed: it was changed, \
             or a copy from then was brought back. Stop and tell the user. For the user: restore a newer copy; if you \
             brought it back yourself, restore its key from then too"
        );
        return Err(OpenError::new(path, OpenErrorKind::RolledBack, reason));
    }
    climb(connection, version).map_err(sql)?;
    if version < SEALED_SINCE {
        sealing::seal_all(connection, &key.signing).map_err(fault)?;
    }
    connection.execute_batch("COMMIT").map_err(sql)?;
    Ok(key)
}

/// Under the lock, because only one process at a time may write the file; and after the seals are stored, because a key
/// that speaks of seals is never taken for that of a database without.
fn note_sealed(connection: &Connection, path: &Path, wait: Duration) -> Result<(), OpenError> {
    let sql = |error: rusqlite::Error| OpenError::sql(path, wait, &error);
    connection.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
    let key = key_of(connection, path, wait)?;
    if !key.is_sealed {
        key::note_sealed(path, &key.signing)?;
    }
    connection.execute_batch("ROLLBACK").map_err(sql)
}

/// The form of a database. Somebody may make it between two of our questions; then the second look is the one that
/// counts, because a database is made whole or not at all.
fn form_of(connection: &Connection, path: &Path, wait: Duration) -> Result<Form, OpenError> {
    match look_at_form(connection, path, wait) {
        Err(error) if error.kind() == OpenErrorKind::NoVersion => look_at_form(connection, path, wait),
        looked => looked,
    }
}

fn look_at_form(connection: &Connection, path: &Path, wait: Duration) -> Result<Form, OpenError> {
    let sql = |error: rusqlite::Error| OpenError::sql(path, wait, &error);
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(sql);
    let refused = |kind, reason: String| Err(OpenError::new(path, kind, reason));
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, version @ 1..) if version as usize <= VERSION => Ok(Form::Ours(version as usize)),
        (APPLICATION_ID, version @ 1..) => refused(
            OpenErrorKind::Newer,
            format!(
                "has format {version}, but this version of Lockgate reads formats up to {VERSION}; use the newer Lockgate that wrote it"
            ),
        ),
        (0, 0) if is_empty(connection).map_err(sql)? => Ok(Form::Empty),
        (0 | APPLICATION_ID, _) => refused(
            OpenErrorKind::NoVersion,
            "holds tables but does not say that Lockgate made them; name another file, or restore it from a copy"
                .to_owned(),
        ),
        (other, _) => refused(
            OpenErrorKind::Foreign,
            format!("is a database of another program (application id {other}); name another file"),
        ),
    }
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Makes the tables of a new database and the key that signs its audit log.
fn found(connection: &Connection, path: &Path, wait: Duration) -> Result<Key, OpenError> {
    let sql = |error: rusqlite::Error| OpenError::sql(path, wait, &error);
    // Before anything is written: a log beside an empty file would be taken for that of the copy brought back.
    if key::exists(path) {
        return match form_of(connection, path, wait)? {
            Form::Ours(_) => key_of(connection, path, wait),
            Form::Empty => Err(key::without_database(path)),
        };
    }
    begin_with_log(connection, wait).map_err(sql)?;
    if let Form::Ours(_) = form_of(connection, path, wait)? {
        // Somebody else was first.
        connection.execute_batch("ROLLBACK").map_err(sql)?;
        return key_of(connection, path, wait);
    }
    let new = key::New::make(path)?;
    let mut database = [0; 16];
    getrandom::fill(&mut database)
        .map_err(|error| OpenError::io(path, "made", &std::io::Error::other(error)))?;
    climb(connection, 0).map_err(sql)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    let head = Head::first(database, &new.key);
    insert_head(connection, &head).map_err(sql)?;
    let signer = Signer::new(new.key.clone(), &database);
    State::first(head).write(connection, &signer).map_err(|fault| OpenError::fault(path, wait, fault))?;
    connection.execute_batch("COMMIT").map_err(sql)?;
    new.keep(path)
}

/// Several who find an empty file at once may get in each other's way here, and SQLite tells them at once instead
/// of waiting.
fn begin_with_log(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    let deadline = Instant::now() + wait;
    loop {
        match connection.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE") {
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(RETRY),
            begun => return begun,
        }
    }
}

fn climb(connection: &Connection, from: usize) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(from) {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "user_version", VERSION as i64)
}

fn insert_head(connection: &Connection, head: &Head) -> rusqlite::Result<()> {
    let Head { n, hash, at, pruned, database, public_key, signature, .. } = head;
    connection.execute(
        "INSERT INTO head(one, n, hash, at, pruned, database, key, signature) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![*n as i64, hash, at.0 as i64, *pruned as i64, database, public_key, signature],
    )?;
    Ok(())
}

/// The key of a database that has one: a new one would sign what the old one never saw.
fn key_of(connection: &Connection, path: &Path, wait: Duration) -> Result<Key, OpenError> {
    if let Some(key) = key::read(path)? {
        return Ok(key);
    }
    let head = log::head_before_state(connection).map_err(|fault| OpenError::fault(path, wait, fault))?;
    if let Some(key) = key::rescue(path, &head.public_key)? {
        return Ok(key);
    }
    // The process that made the database may have named the key just now.
    if let Some(key) = key::read(path)? {
        return Ok(key);
    }
    let key = key::path_of(path);
    let reason = format!(
        "has a signed audit log, but its key `{}` is missing; restore the key from a copy, or move the database \
         aside to begin with no sessions",
        key.display()
    );
    Err(OpenError::new(path, OpenErrorKind::NoKey, reason))
}

/// What the schema of a database is to be: kind, name and text of everything in it.
pub(crate) fn expected() -> rusqlite::Result<Vec<[String; 3]>> {
    let connection = Connection::open_in_memory()?;
    climb(&connection, 0)?;
    objects(&connection)
}

/// Everything in the schema of a database.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<Vec<[String; 3]>> {
    let mut statement =
        connection.prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")?;
    let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
    rows.collect()
}
