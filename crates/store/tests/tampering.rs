//! A thousand ways to tamper with a database, drawn from one seed: whatever is done, nothing is refunded and nothing is
//! granted, and what is noticed is named.
//!
//! `LOCKGATE_TAMPERINGS=100000 cargo test -p lockgate-store --test all tampering` plays more of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "this is a test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::common::{Home, entry, yes};
use lockgate_gate::{Backend, Reach, RowWrite, SessionRow, StoredAnswer, Time};
use lockgate_store::{Durability, Options, Sqlite};
use rusqlite::Connection;

const SEED: u64 = 0x5ea1;
const TAMPERINGS: u64 = 1_000;
/// More rows than one leaf of the roster lists.
const SESSIONS: u64 = 40;

/// SplitMix64: the same numbers everywhere.
struct Luck(u64);

impl Luck {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len() as u64) as usize]
    }
}

/// What a naive reader notes down while all is honest.
#[derive(Default)]
struct Model {
    sessions: BTreeMap<String, Vec<u8>>,
    shared_state: Vec<u8>,
    answers: BTreeMap<(String, u64), StoredAnswer>,
    short_ids: BTreeMap<u64, (String, u64)>,
}

/// A database, what it held at earlier moments, and what it must say.
struct Honest {
    home: Home,
    pasts: Vec<PathBuf>,
    model: Model,
}

fn options(folder: &Path, is_anchored: bool) -> Options {
    let anchor = is_anchored.then(|| folder.join("anchor"));
    Options { durability: Durability::Normal, anchor, ..Options::default() }
}

fn lived_in() -> Honest {
    let home = Home::new();
    fs::write(home.folder().join("anchor"), "").unwrap();
    let store = Sqlite::open(home.path(), options(home.folder(), true)).unwrap();
    let mut model = Model::default();
    let mut pasts = Vec::new();
    let spend = |model: &mut Model, n: u64, round: u64| {
        let name = format!("s{n}");
        // What it has spent, in a row that differs in length.
        let bytes = round.to_string().repeat(1 + n as usize % 50).into_bytes();
        let row = SessionRow { bytes: &bytes, clock: Time(10 * round + n), questions: 1 };
        let entries = [entry(10 * round + n, &name)];
        let write = RowWrite { session: Some(row), shared_state: Some(&bytes), entries: &entries };
        store.lock(&name, Reach::SharedState).unwrap().write(&write).unwrap();
        model.shared_state = bytes.clone();
        model.sessions.insert(name, bytes);
    };
    for round in 1..=3 {
        (0..SESSIONS).for_each(|n| spend(&mut model, n, round));
        for n in 0..3 {
            let (name, number) = (format!("s{}", 3 * round + n), round);
            let answer = StoredAnswer { granted: n == 0, ..yes(round) };
            store.keep_answer(&name, number, &answer, &entry(round, &name)).unwrap();
            let id = store.short_ids(&[(&name, number)]).unwrap()[0];
            model.answers.insert((name.clone(), number), answer);
            model.short_ids.insert(id, (name, number));
        }
        // A session that is forgotten each time, with a yes that must not come back.
        let row = SessionRow { bytes: b"gone", clock: Time(0), questions: 1 };
        let write = RowWrite { session: Some(row), ..RowWrite::default() };
        store.lock("gone", Reach::Session).unwrap().write(&write).unwrap();
        store.keep_answer("gone", 1, &yes(0), &entry(0, "gone")).unwrap();
        let past = home.folder().join(format!("past-{round}.db"));
        home.behind_our_back(&format!("VACUUM INTO '{}'", past.display()));
        pasts.push(past);
        assert_eq!(store.forget(Time(1), 10, &|_| entry(1, "")).unwrap(), 1);
    }
    (0..SESSIONS).step_by(3).for_each(|n| spend(&mut model, n, 4));
    drop(store);
    home.behind_our_back("PRAGMA wal_checkpoint(TRUNCATE)");
    Honest { home, pasts, model }
}

type Shape = (&'static str, &'static str, &'static [&'static str]);

/// Each table, its primary key, its columns.
const TABLES: [Shape; 8] = [
    ("session", "name", &["name", "version", "clock", "questions", "bytes", "seal"]),
    ("commons", "one", &["bytes", "version", "seal"]),
    ("answer", "session, number", &["session", "number", "granted", "by", "at", "seal"]),
    ("short", "id", &["id", "session", "number", "seal"]),
    (
        "head",
        "one",
        &[
            "n",
            "hash",
            "at",
            "pruned",
            "database",
            "key",
            "signature",
            "counter",
            "state",
            "ids",
            "roster",
            "seal",
        ],
    ),
    ("trail", "n", &["n", "at", "session", "prev", "hash", "entry"]),
    ("checkpoint", "n", &["hash", "at", "signature"]),
    ("roster", "path", &["path", "bytes"]),
];

/// Does something to a file that nobody with manners would do, and says what. Without an anchor the head of then is not
/// brought back: whoever brings it back with all that it vouches for is found by an anchor alone.
fn tamper(luck: &mut Luck, file: &Path, honest: &Honest, is_anchored: bool) -> String {
    if luck.below(4) == 0 {
        return damage(luck, file);
    }
    let count = 1 + luck.below(3);
    let past = luck.one(&honest.pasts);
    let connection = Connection::open(file).unwrap();
    connection
        .execute_batch(&format!("PRAGMA synchronous = OFF; ATTACH '{}' AS past", past.display()))
        .unwrap();
    let mut told = String::new();
    for _ in 0..count {
        let mut sql = statement(luck);
        while !is_anchored && sql.contains("past.head") {
            sql = statement(luck);
        }
        // What the tables do not take is left out.
        connection.execute_batch(&sql).ok();
        told += &format!("{sql}\n");
    }
    connection.execute_batch("DETACH past; PRAGMA wal_checkpoint(TRUNCATE)").ok();
    format!("{}\n{told}", past.display())
}

fn damage(luck: &mut Luck, file: &Path) -> String {
    let mut bytes = fs::read(file).unwrap();
    let mut told = String::new();
    if luck.below(8) == 0 {
        bytes.truncate(luck.below(bytes.len() as u64) as usize);
        told = format!("cut to {} bytes", bytes.len());
    } else {
        // The first page is where most of the structure is.
        let reach = if luck.below(4) == 0 { 4_096 } else { bytes.len() as u64 };
        for _ in 0..=luck.below(4) {
            let at = luck.below(reach) as usize;
            let value = if luck.below(2) == 0 { bytes[at] ^ (1 << luck.below(8)) } else { luck.next() as u8 };
            told += &format!("byte {at}: {} to {value}; ", bytes[at]);
            bytes[at] = value;
        }
    }
    fs::write(file, bytes).unwrap();
    told
}

fn statement(luck: &mut Luck) -> String {
    let (table, key, columns) = *luck.one(&TABLES);
    let row = |luck: &mut Luck| {
        let offset = luck.below(45);
        format!(
            "(SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {offset} % (SELECT max(1, count(*)) FROM {table}))"
        )
    };
    let column = *luck.one(columns);
    match luck.below(11) {
        0 => format!("DELETE FROM {table} WHERE ({key}) = {}", row(luck)),
        1 => format!("DELETE FROM {table}"),
        2 | 3 => {
            let value = match luck.below(6) {
                0 => luck.below(5).to_string(),
                1 => format!("{column} + 1"),
                2 => format!("{column} - 1"),
                3 => "x''".to_owned(),
                4 => format!("(SELECT {column} FROM {table} ORDER BY random() LIMIT 1)"),
                _ => format!("(SELECT {column} FROM past.{table} ORDER BY {key} LIMIT 1)"),
            };
            format!("UPDATE {table} SET {column} = {value} WHERE ({key}) = {}", row(luck))
        }
        // The content of another row.
        4 => {
            let all = columns.iter().filter(|column| !key.contains(**column)).copied().collect::<Vec<_>>().join(", ");
            format!("UPDATE {table} SET ({all}) = (SELECT {all} FROM {table} WHERE ({key}) = {}) WHERE ({key}) = {}", row(luck), row(luck))
        }
        // An older version of a row, of all rows of a table, or one that was deleted since.
        5 | 6 => format!("INSERT OR REPLACE INTO {table} SELECT * FROM past.{table} WHERE ({key}) = {}", row(luck)),
        7 => format!("INSERT OR REPLACE INTO {table} SELECT * FROM past.{table}"),
        8 => format!("INSERT OR IGNORE INTO {table} SELECT * FROM past.{table}"),
        // The end of the log, with an older head or an edited one.
        9 => format!("DELETE FROM trail WHERE n > (SELECT max(n) FROM trail) - {}", 1 + luck.below(30)),
        _ => "DELETE FROM head; INSERT INTO head SELECT * FROM past.head; DELETE FROM trail WHERE n > (SELECT n FROM head)".to_owned(),
    }
}

/// Whether anything was noticed; what is not noticed is as the model says.
fn check(home: &Home, model: &Model, is_anchored: bool) -> Result<bool, String> {
    let options = options(home.folder(), is_anchored);
    let Ok(store) = Sqlite::open(home.path(), options) else { return Ok(true) };
    let mut noticed = false;
    for (number, (name, bytes)) in model.sessions.iter().enumerate() {
        let reach = if number.is_multiple_of(5) { Reach::SharedState } else { Reach::Look };
        match store.lock(name, reach) {
            Err(_) => noticed = true,
            Ok(row) if row.session() != Some(bytes) => return Err(format!("session {name} is another one")),
            Ok(row) if row.shared_state() != Some(&model.shared_state) => {
                return Err("the shared state is another one".to_owned());
            }
            Ok(_) => {}
        }
    }
    // Those that were answered, and those that a human might be asked next.
    let answered = model.answers.keys().cloned();
    for key in answered.chain((3..12).map(|n| (format!("s{n}"), 4))) {
        match store.answer(&key.0, key.1) {
            Err(_) => noticed = true,
            Ok(answer) if answer.as_ref() != model.answers.get(&key) => {
                return Err(format!("the answer to {key:?} is {answer:?}"));
            }
            Ok(_) => {}
        }
    }
    match store.answer("gone", 1) {
        Err(_) => noticed = true,
        Ok(None) => {}
        Ok(Some(_)) => return Err("an answer that was forgotten came back".to_owned()),
    }
    for id in 0..15 {
        match store.question_of(id) {
            Err(_) => noticed = true,
            Ok(question) if question.as_ref() != model.short_ids.get(&id) => {
                return Err(format!("short id {id} is {question:?}"));
            }
            Ok(_) => {}
        }
    }
    let verified = store.verify_trail(None, &mut |_| {});
    if noticed && verified.is_ok_and(|verified| verified.is_whole()) {
        return Err("a row was refused, and verification names nothing".to_owned());
    }
    // What is written afterwards is written on top of what was honest, or not at all; and it never panics.
    for (name, bytes) in model.sessions.iter().step_by(7) {
        let Ok(row) = store.lock(name, Reach::Session) else { continue };
        let spent = [bytes.as_slice(), b"+"].concat();
        let session = Some(SessionRow { bytes: &spent, clock: Time(99), questions: 0 });
        let write = RowWrite { session, shared_state: None, entries: &[entry(99, name)] };
        if row.write(&write).is_ok() {
            let read = store.lock(name, Reach::Look).map_err(|error| error.to_string())?;
            if read.session() != Some(&spent) {
                return Err(format!("session {name} is not what was written"));
            }
        }
    }
    store.forget(Time(50), 10, &|_| entry(99, "")).ok();
    store.prune_trail(Time(50), &entry(99, "")).ok();
    Ok(noticed)
}

#[test]
fn whatever_is_done_to_the_file_nothing_is_refunded_and_nothing_is_granted() {
    let honest = lived_in();
    let count = std::env::var("LOCKGATE_TAMPERINGS").map_or(TAMPERINGS, |count| count.parse().unwrap());
    let base = fs::read(honest.home.path()).unwrap();
    let victim = Home::new();
    fs::copy(honest.home.key(), victim.key()).unwrap();
    let restore = || {
        for ending in ["", "-wal", "-shm", "-journal"] {
            fs::remove_file(victim.folder().join(format!("gate.db{ending}"))).ok();
        }
        fs::copy(honest.home.path(), victim.path()).unwrap();
        fs::copy(honest.home.folder().join("anchor"), victim.folder().join("anchor")).unwrap();
    };
    for is_anchored in [true, false] {
        restore();
        assert_eq!(check(&victim, &honest.model, is_anchored), Ok(false));
    }
    let mut noticed = 0;
    for number in 0..count {
        let mut luck = Luck(SEED.wrapping_add(number));
        restore();
        let is_anchored = number.is_multiple_of(2);
        let told = tamper(&mut luck, &victim.path(), &honest, is_anchored);
        let is_changed = fs::read(victim.path()).unwrap() != base;
        match check(&victim, &honest.model, is_anchored) {
            Ok(found) => noticed += u64::from(found && is_changed),
            Err(wrong) => assert_eq!(wrong, "", "tampering {number}: {told}"),
        }
    }
    // Much of a file is free space, an old entry of the log or the same as before; but not most of it.
    assert!(noticed * 2 > count, "{noticed} of {count} were noticed");
}
