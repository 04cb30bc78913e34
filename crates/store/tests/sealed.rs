//! Rows that somebody changed, deleted, exchanged or brought back block their session, and verification names them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "this is a test")]

use std::{fs, path::Path, time::Duration};

use crate::common::{Home, bytes_of, entry, put, yes};
use lockgate_gate::{Backend, Reach, RowWrite, SessionRow, StoreError, Time};
use lockgate_store::{LOCKED_MAX, OpenErrorKind, Options, ProblemKind, Sqlite, Verified};
use rusqlite::Connection;

/// A database with sessions `a` and `b`, shared state, an answer and short ids; and one of its rows' pasts.
fn lived_in() -> Home {
    let home = Home::new();
    let store = home.open();
    for round in 1..=3 {
        for session in ["a", "b"] {
            let bytes = format!("{session}{round}");
            let row = SessionRow { bytes: bytes.as_bytes(), clock: Time(round), questions: 1 };
            let entries = [entry(round, session)];
            let write =
                RowWrite { session: Some(row), shared_state: Some(bytes.as_bytes()), entries: &entries };
            store.lock(session, Reach::SharedState).unwrap().write(&write).unwrap();
        }
        if round == 2 {
            // The past of every table, to be brought back.
            home.behind_our_back(
                "ATTACH 'PAST' AS past; CREATE TABLE past.session AS SELECT * FROM session; \
                 CREATE TABLE past.commons AS SELECT * FROM commons; CREATE TABLE past.head AS SELECT * FROM head"
                    .replace("PAST", home.folder().join("past.db").to_str().unwrap())
                    .as_str(),
            );
        }
    }
    store.keep_answer("a", 1, &yes(3), &entry(3, "a")).unwrap();
    store.short_ids(&[("a", 1), ("b", 1)]).unwrap();
    drop(store);
    home.behind_our_back("");
    home
}

fn with_past(home: &Home, sql: &str) {
    let past = home.folder().join("past.db");
    home.behind_our_back(&format!("ATTACH '{}' AS past; {sql}", past.display()));
}

fn names(verified: &Verified, kind: ProblemKind, words: &str) -> bool {
    verified.problems.iter().any(|problem| problem.kind == kind && problem.sentence.contains(words))
}

#[test]
fn a_database_that_nobody_touched_is_whole() {
    let home = lived_in();
    let verified = home.verify();
    assert!(verified.is_whole(), "{:?}", verified.problems);
    assert_eq!(verified.rows, 6);
}

#[test]
fn every_row_that_was_tampered_with_is_named_and_blocks_its_session() {
    use ProblemKind::*;
    // What is done, what verification says, and which of session a, session b, the answer and short id 1 are lost.
    let cases: &[(&str, ProblemKind, &str, [bool; 4])] = &[
        (
            "UPDATE session SET bytes = x'00' WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "UPDATE session SET clock = 0 WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "UPDATE session SET questions = 0 WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "UPDATE session SET version = 2 WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "UPDATE session SET seal = x'' WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "UPDATE session SET name = CASE name WHEN 'a' THEN 'c' ELSE name END; \
             UPDATE session SET name = 'a' WHERE name = 'b'; UPDATE session SET name = 'b' WHERE name = 'c'",
            ChangedRow,
            "session `a`",
            [true, true, false, false],
        ),
        (
            "UPDATE session SET (version, clock, questions, bytes, seal) = \
             (SELECT version, clock, questions, bytes, seal FROM session WHERE name = 'b') WHERE name = 'a'",
            ChangedRow,
            "session `a`",
            [true, false, false, false],
        ),
        ("DELETE FROM session WHERE name = 'a'", MissingRow, "session `a`", [true, false, false, false]),
        (
            "UPDATE session SET name = 'z' WHERE name = 'a'",
            MissingRow,
            "session `a`",
            [true, false, false, false],
        ),
        (
            "DELETE FROM session WHERE name = 'a'; INSERT INTO session SELECT * FROM past.session WHERE name = 'a'",
            OldRow,
            "session `a`",
            [true, false, false, false],
        ),
        ("UPDATE commons SET bytes = x'00'", ChangedRow, "all sessions share", [true, true, false, false]),
        ("DELETE FROM commons", MissingRow, "all sessions share", [true, true, false, false]),
        (
            "DELETE FROM commons; INSERT INTO commons SELECT * FROM past.commons",
            OldRow,
            "all sessions share",
            [true, true, false, false],
        ),
        (
            "UPDATE answer SET granted = 0",
            ChangedRow,
            "question 1 of session `a`",
            [false, false, true, false],
        ),
        (
            "UPDATE answer SET number = 2",
            ChangedRow,
            "question 2 of session `a`",
            [false, false, true, false],
        ),
        (
            "UPDATE answer SET session = 'b'",
            MissingRow,
            "question 1 of session `a`",
            [false, false, true, false],
        ),
        ("DELETE FROM answer", MissingRow, "question 1 of session `a`", [false, false, true, false]),
        (
            "UPDATE short SET session = 'b', number = 7 WHERE id = 1",
            ChangedRow,
            "short id 1",
            [false, false, false, true],
        ),
        ("DELETE FROM short WHERE id = 1", MissingRow, "short id 1", [false, false, false, true]),
        ("UPDATE head SET ids = 0", ForgedHead, "", [true; 4]),
        ("UPDATE head SET counter = counter + 1", ForgedHead, "", [true; 4]),
        ("UPDATE head SET roster = x'00'", ForgedHead, "", [true; 4]),
        ("UPDATE head SET seal = x''", ForgedHead, "", [true; 4]),
        // The end of the log with the rows it is about, and an older head that we signed.
        ("DELETE FROM head; INSERT INTO head SELECT * FROM past.head", Cut, "", [true; 4]),
        (
            "DELETE FROM head; INSERT INTO head SELECT * FROM past.head; \
             DELETE FROM trail WHERE n > (SELECT n FROM head)",
            AddedRow,
            "question 1 of session `a`",
            [true; 4],
        ),
        ("DELETE FROM trail WHERE n = (SELECT max(n) FROM trail)", Cut, "", [true; 4]),
        (
            "DROP TABLE commons; CREATE VIEW commons AS SELECT 1 AS one, x'' AS bytes, 1 AS version, x'' AS seal",
            ForeignSchema,
            "",
            [true, true, false, false],
        ),
    ];
    for (sql, kind, words, lost) in cases {
        let home = lived_in();
        let before = home.open();
        with_past(&home, sql);
        let verified = home.verify();
        assert!(names(&verified, *kind, words), "{sql}\n{:#?}", verified.problems);
        let store = home.open();
        let blocks = |session| store.lock(session, Reach::Session).is_err();
        let found = [blocks("a"), blocks("b"), store.answer("a", 1).is_err(), store.question_of(1).is_err()];
        assert_eq!(found, *lost, "{sql}");
        assert_eq!(store.lock("a", Reach::Look).is_err(), lost[0], "{sql}");
        // Nor can a process that was there before be fooled.
        let error = [
            before.lock("a", Reach::SharedState).err().map(|error| error.to_string()),
            before.answer("a", 1).err().map(|error| error.to_string()),
            before.question_of(1).err().map(|error| error.to_string()),
        ];
        assert_eq!(error.each_ref().map(Option::is_some), [lost[0], lost[2], lost[3]], "{sql}");
        if *kind != ForeignSchema {
            for told in error.into_iter().flatten() {
                assert!(told.contains("Stop and tell the user") && told.contains("audit verify"), "{told}");
            }
        }
    }
}

#[test]
fn an_answer_that_somebody_wrote_is_not_one() {
    let home = lived_in();
    home.behind_our_back("INSERT INTO answer(session, number, granted, by, at, proof, seal) SELECT 'b', 1, 1, 'ann', 3, '', seal FROM answer");
    let store = home.open();
    assert!(matches!(store.answer("b", 1), Err(StoreError::Tampered(_))));
    assert!(store.keep_answer("b", 1, &yes(4), &entry(4, "b")).is_err());
    assert!(names(&home.verify(), ProblemKind::ChangedRow, "question 1 of session `b`"));
}

#[test]
fn what_was_forgotten_does_not_come_back() {
    let home = lived_in();
    home.behind_our_back("CREATE TABLE past_answer AS SELECT * FROM answer; CREATE TABLE past_session AS SELECT * FROM session; CREATE TABLE past_short AS SELECT * FROM short");
    let store = home.open();
    assert_eq!(store.forget(Time(100), 10, &|_| entry(9, "")).unwrap(), 2);
    // A session of the same name asks again, and an older yes to a question of that number is brought back.
    put(&store, "a", b"new", 200, &[entry(200, "a")]).unwrap();
    home.behind_our_back(
        "INSERT INTO answer SELECT * FROM past_answer; INSERT INTO short SELECT * FROM past_short; \
         INSERT INTO session SELECT * FROM past_session WHERE name = 'b'; UPDATE sqlite_sequence SET seq = 0; \
         DROP TABLE past_answer; DROP TABLE past_session; DROP TABLE past_short",
    );
    for store in [&store, &home.open()] {
        assert!(matches!(store.answer("a", 1), Err(StoreError::Tampered(_))));
        assert!(matches!(store.lock("b", Reach::Session).err().unwrap(), StoreError::Tampered(_)));
        assert!(matches!(store.question_of(1), Err(StoreError::Tampered(_))));
        // Other sessions go on.
        put(store, "a", b"newer", 201, &[entry(201, "a")]).unwrap();
    }
    let verified = home.verify();
    for words in ["question 1 of session `a`", "session `b`", "short id 1"] {
        assert!(names(&verified, ProblemKind::AddedRow, words), "{:#?}", verified.problems);
    }
}

#[test]
fn a_session_whose_clock_was_set_back_is_not_forgotten() {
    let home = lived_in();
    home.behind_our_back("UPDATE session SET clock = 0, questions = 0 WHERE name = 'a'");
    let store = home.open();
    assert_eq!(store.forget(Time(2), 10, &|_| entry(9, "")).unwrap(), 0);
    assert!(matches!(store.lock("a", Reach::Session).err().unwrap(), StoreError::Tampered(_)));
    assert_eq!(bytes_of(&store, "b").unwrap(), b"b3");
}

#[test]
fn the_whole_state_of_then_is_found_while_it_is_in_use() {
    let home = lived_in();
    let store = home.open();
    put(&store, "a", b"spent", 4, &[entry(4, "a")]).unwrap();
    let old = home.folder().join("old.db");
    home.behind_our_back(&format!("VACUUM INTO '{}'", old.display()));
    put(&store, "a", b"spent more", 5, &[entry(5, "a")]).unwrap();
    let connection = Connection::open(home.path()).unwrap();
    for table in ["session", "commons", "answer", "short", "trail", "head", "checkpoint", "roster"] {
        connection
            .execute_batch(&format!(
                "ATTACH '{}' AS old; DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM old.{table}; DETACH old",
                old.display()
            ))
            .unwrap();
    }
    let error = put(&store, "a", b"again", 5, &[entry(5, "a")]).unwrap_err().to_string();
    assert!(error.contains("went back from state"), "{error}");
    // Whoever comes now cannot know: that needs an anchor.
    assert_eq!(bytes_of(&home.open(), "a").unwrap(), b"spent");
}

#[test]
fn many_sessions_are_sealed_as_few_are() {
    let home = Home::new();
    let options = Options { durability: lockgate_store::Durability::Normal, ..Options::default() };
    let store = Sqlite::open(home.path(), options).unwrap();
    for round in 1..=2 {
        for n in 0..300 {
            put(&store, &format!("s{n}"), &[round], u64::from(round), &[]).unwrap();
        }
    }
    let verified = home.verify();
    assert!(verified.is_whole() && verified.rows == 300, "{verified:?}");
    // Places are where the key of this database puts them, so each node is damaged in turn. All sessions are lost below
    // one path at most: the shared state, which every session needs, has its place there.
    let reader = Connection::open(home.path()).unwrap();
    let mut statement = reader.prepare("SELECT path, bytes FROM roster ORDER BY path").unwrap();
    let nodes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let nodes: Vec<(Vec<u8>, Vec<u8>)> = nodes.map(Result::unwrap).collect();
    let mut needed_by_all: Vec<&[u8]> = Vec::new();
    for (path, bytes) in &nodes {
        let write = |bytes: &[u8]| {
            let written = reader.execute("UPDATE roster SET bytes = ?2 WHERE path = ?1", (path, bytes));
            assert_eq!(written.unwrap(), 1);
        };
        write(&[0]);
        let lost = (0..300).filter(|n| store.lock(&format!("s{n}"), Reach::Look).is_err()).count();
        assert!(names(&home.verify(), ProblemKind::DamagedRoster, "1 places"));
        write(bytes);
        if lost == 300 {
            needed_by_all.push(path);
        } else {
            assert!((1..=100).contains(&lost), "{path:?}: {lost}");
        }
    }
    assert!(needed_by_all.windows(2).all(|pair| pair[1].starts_with(pair[0])), "{needed_by_all:?}");
    assert!(needed_by_all.len() < nodes.len() && home.verify().is_whole());
}

fn format_2(folder: &Path) -> std::path::PathBuf {
    let text = include_str!("data/format-2.sql");
    let path = folder.join("gate.db");
    Connection::open(&path).unwrap().execute_batch(text).unwrap();
    let key = text.lines().find_map(|line| line.strip_prefix("-- lockgate-key-1")).unwrap();
    fs::write(folder.join("gate.db.key"), format!("lockgate-key-1{key}\n")).unwrap();
    #[cfg(unix)]
    for file in [&path, &folder.join("gate.db.key")] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    path
}

#[test]
fn a_database_of_the_last_version_is_sealed_when_it_is_opened() {
    let home = Home::new();
    format_2(home.folder());
    let store = home.open();
    for n in 1..=3 {
        assert_eq!(bytes_of(&store, &format!("s{n}")).unwrap(), format!("bytes of s{n}").as_bytes());
    }
    assert_eq!(store.lock("s1", Reach::Look).unwrap().shared_state().unwrap(), b"shared");
    assert!(store.answer("s2", 1).unwrap().unwrap().granted);
    assert_eq!(store.short_ids(&[("s3", 1), ("s1", 1)]).unwrap(), [2, 3]);
    put(&store, "s1", b"more", 5, &[entry(5, "s1")]).unwrap();
    let verified = home.verify();
    assert!(verified.is_whole() && verified.records == 5 && verified.rows == 8, "{verified:?}");
    assert!(fs::read_to_string(home.key()).unwrap().starts_with("lockgate-key-2 "));
    home.behind_our_back("UPDATE session SET bytes = x'00' WHERE name = 's2'");
    assert!(home.open().lock("s2", Reach::Session).is_err());
}

#[test]
fn sessions_that_must_stay_are_not_forgotten() {
    let home = Home::new();
    let store = home.open();
    for (session, clock) in [("a", 1), ("b", 2), ("c", 9)] {
        put(&store, session, session.as_bytes(), clock, &[]).unwrap();
    }
    let keeps = |bytes: &[u8], clock: Time| bytes == b"a" && clock == Time(1);
    let forgot = store.forget_unless(Time(5), 10, &keeps, &|names| entry(9, &names.join(" ")));
    assert_eq!(forgot.unwrap(), 1);
    assert_eq!(["a", "b", "c"].map(|it| bytes_of(&store, it).is_some()), [true, false, true]);
    assert!(home.verify().is_whole());
}

#[test]
fn a_sealed_database_is_never_sealed_again() {
    // Its rows are edited, and it is made to look like one of the last version, whole with its old signed head.
    let home = Home::new();
    let path = format_2(home.folder());
    drop(home.open());
    fs::remove_file(&path).unwrap();
    for ending in ["-wal", "-shm"] {
        fs::remove_file(home.folder().join(format!("gate.db{ending}"))).ok();
    }
    let key = fs::read_to_string(home.key()).unwrap();
    format_2(home.folder());
    fs::write(home.key(), &key).unwrap();
    home.behind_our_back("UPDATE session SET bytes = x'00'");
    let error = Sqlite::open(&path, Options::default()).err().unwrap();
    assert_eq!(error.kind(), OpenErrorKind::RolledBack, "{error}");
    assert!(error.to_string().contains("restore a newer copy"), "{error}");
    // So is one of this version that says it is of the last.
    let home = lived_in();
    home.behind_our_back("PRAGMA user_version = 2");
    assert_eq!(
        Sqlite::open(home.path(), Options::default()).err().unwrap().kind(),
        OpenErrorKind::RolledBack
    );
}

#[test]
fn a_database_of_the_last_version_that_was_cut_is_not_sealed() {
    for sql in ["DELETE FROM trail WHERE n = 4", "UPDATE head SET n = 3", "DELETE FROM head"] {
        let home = Home::new();
        let path = format_2(home.folder());
        home.behind_our_back(sql);
        assert!(Sqlite::open(&path, Options::default()).is_err(), "{sql}");
        assert!(fs::read_to_string(home.key()).unwrap().starts_with("lockgate-key-1 "));
    }
}

#[test]
fn a_key_that_was_not_marked_before_a_crash_is_marked_later() {
    let home = lived_in();
    let sealed = fs::read_to_string(home.key()).unwrap();
    fs::write(home.key(), sealed.replace("key-2", "key-1")).unwrap();
    assert_eq!(bytes_of(&home.open(), "a").unwrap(), b"a3");
    assert_eq!(fs::read_to_string(home.key()).unwrap(), sealed);
}

#[test]
fn many_processes_may_bring_a_database_up_to_date_at_once() {
    let home = Home::new();
    format_2(home.folder());
    std::thread::scope(|scope| {
        for n in 0..8 {
            let home = &home;
            scope.spawn(move || put(&home.open(), &format!("t{n}"), b"1", 1, &[entry(1, "s")]).unwrap());
        }
    });
    assert!(home.verify().is_whole());
}

fn anchored(home: &Home) -> Options {
    Options { anchor: Some(home.folder().join("anchor")), ..Options::default() }
}

#[test]
fn an_anchor_finds_an_older_copy_of_everything() {
    let home = Home::new();
    let anchor = home.folder().join("anchor");
    let open = || Sqlite::open(home.path(), anchored(&home));
    // It is never made: one that is not there was taken away.
    let error = open().err().unwrap();
    assert_eq!(error.kind(), OpenErrorKind::NoAnchor);
    assert!(error.to_string().contains("put an empty file there"), "{error}");
    fs::write(&anchor, "").unwrap();
    let put = |n: u64| put(&open().unwrap(), "s", &[n as u8], n, &[entry(n, "s")]).unwrap();
    (1..=3).for_each(put);
    home.behind_our_back("");
    let (old, old_anchor) = (fs::read(home.path()).unwrap(), fs::read(&anchor).unwrap());
    (4..=5).for_each(put);
    assert_eq!(fs::read_to_string(&anchor).unwrap().lines().count(), 5);
    open().unwrap();
    let new = fs::read(&anchor).unwrap();
    home.behind_our_back("");
    fs::write(home.path(), &old).unwrap();
    for ending in ["-wal", "-shm"] {
        fs::remove_file(home.folder().join(format!("gate.db{ending}"))).ok();
    }
    let error = open().err().unwrap();
    assert_eq!(error.kind(), OpenErrorKind::RolledBack, "{error}");
    assert!(
        error.to_string().contains("is older than its anchor")
            && error.to_string().contains("empty the anchor"),
        "{error}"
    );
    // Another past that has come as far.
    fs::write(&anchor, &old_anchor).unwrap();
    (14..=18).for_each(put);
    fs::write(&anchor, &new).unwrap();
    let error = open().err().unwrap();
    assert!(error.to_string().contains("went another way"), "{error}");
    // A line that was noted earlier, at the end; half a line; a line of another database; what is not a line.
    let other = Home::new();
    fs::write(other.folder().join("anchor"), "").unwrap();
    crate::common::put(&Sqlite::open(other.path(), anchored(&other)).unwrap(), "s", b"1", 1, &[]).unwrap();
    for text in [
        [&new[..], &new[..223]].concat(),
        new[..new.len() - 1].to_vec(),
        fs::read(other.folder().join("anchor")).unwrap(),
        b"x".repeat(223),
        b"\xff".repeat(446),
    ] {
        fs::write(&anchor, text).unwrap();
        assert_eq!(open().err().unwrap().kind(), OpenErrorKind::NoAnchor);
    }
    // The operator agrees to what is there.
    fs::write(&anchor, "").unwrap();
    put(19);
    open().unwrap();
}

#[test]
fn an_anchor_does_not_grow_for_ever_and_never_goes_back() {
    let home = Home::new();
    let anchor = home.folder().join("anchor");
    fs::write(&anchor, "").unwrap();
    let options = Options { durability: lockgate_store::Durability::Normal, ..anchored(&home) };
    let store = Sqlite::open(home.path(), options).unwrap();
    for n in 0..5_000_u64 {
        put(&store, "s", b"1", n, &[]).unwrap();
    }
    let length = fs::metadata(&anchor).unwrap().len();
    assert!(length < 1024 * 1024 + 500, "{length}");
    drop(store);
    Sqlite::open(home.path(), anchored(&home)).unwrap();
    // Many who commit at once note it in any order.
    std::thread::scope(|scope| {
        for n in 0..4 {
            let home = &home;
            scope.spawn(move || {
                let store = Sqlite::open(home.path(), anchored(home)).unwrap();
                (0..10).for_each(|_| put(&store, &format!("s{n}"), b"1", 1, &[entry(1, "s")]).unwrap());
            });
        }
    });
    Sqlite::open(home.path(), anchored(&home)).unwrap();
    let text = fs::read_to_string(&anchor).unwrap();
    let counters: Vec<&str> = text.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert!(counters.is_sorted(), "{counters:?}");
}

#[test]
fn an_anchor_that_cannot_be_written_blocks() {
    let home = Home::new();
    let anchor = home.folder().join("anchor");
    fs::write(&anchor, "").unwrap();
    let store = Sqlite::open(home.path(), anchored(&home)).unwrap();
    fs::remove_file(&anchor).unwrap();
    let error = put(&store, "s", b"1", 1, &[entry(1, "s")]).unwrap_err().to_string();
    assert!(error.contains("its anchor"), "{error}");
    // What was stored is stored all the same: nothing is refunded.
    assert_eq!(home.stored_bytes("s"), b"1");
}

#[test]
fn a_lock_that_somebody_only_holds_is_told_soon_however_long_one_may_wait() {
    let home = Home::with_records(1);
    let store =
        Sqlite::open(home.path(), Options { wait: Duration::from_secs(600), ..Options::default() }).unwrap();
    let holder = Connection::open(home.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.lock("s", Reach::Session).err().unwrap().to_string();
    assert!(error.contains(&format!("locked by others for {} ms", LOCKED_MAX.as_millis())), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    store.lock("s", Reach::Session).unwrap();
}

#[test]
fn a_damaged_session_is_released_and_no_other() {
    for (name, sql) in [
        ("edited", "UPDATE session SET bytes = x'00' WHERE name = 'a'"),
        ("deleted", "DELETE FROM session WHERE name = 'a'"),
        ("answer edited", "UPDATE answer SET granted = 0 WHERE session = 'a'"),
        ("answer deleted", "DELETE FROM answer WHERE session = 'a'"),
        (
            "answer added",
            "INSERT INTO answer(session, number, granted, by, at, proof, seal) SELECT session, 2, granted, by, at, proof, seal FROM answer",
        ),
    ] {
        let home = lived_in();
        home.behind_our_back(sql);
        let store = home.open();
        let closed = SessionRow { bytes: b"closed", clock: Time(9), questions: 0 };
        assert!(!store.release("b", &closed, &entry(9, "b")).unwrap(), "{name}: nothing is wrong with b");
        assert_eq!(bytes_of(&store, "b").unwrap(), b"b3", "{name}");
        assert!(store.release("a", &closed, &entry(9, "a")).unwrap(), "{name}");
        assert_eq!(bytes_of(&store, "a").unwrap(), b"closed", "{name}");
        assert!(store.answer("a", 1).unwrap().is_none(), "{name}");
        assert_eq!(store.question_of(1).unwrap(), None, "{name}");
        assert!(!store.release("a", &closed, &entry(9, "a")).unwrap(), "{name}: it is whole now");
        drop(store);
        let verified = home.verify();
        assert!(verified.is_whole(), "{name}: {:?}", verified.problems);
        // What was given up does not come back.
        with_past(
            &home,
            "DELETE FROM session WHERE name = 'a'; INSERT INTO session SELECT * FROM past.session WHERE name = 'a'",
        );
        let brought_back = home.open();
        assert!(
            matches!(brought_back.lock("a", Reach::Session).err().unwrap(), StoreError::Tampered(_)),
            "{name}"
        );
    }
}

#[test]
fn a_session_of_a_damaged_roster_is_not_released() {
    let home = lived_in();
    home.behind_our_back("UPDATE head SET roster = x'00'");
    let store = home.open();
    let closed = SessionRow { bytes: b"closed", clock: Time(9), questions: 0 };
    assert!(matches!(store.release("a", &closed, &entry(9, "a")), Err(StoreError::Tampered(_))));
}
