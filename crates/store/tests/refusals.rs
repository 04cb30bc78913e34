//! What is not opened, and why; and what is made where nothing is.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::string_slice, reason = "this is a test")]

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::common::{Home, bytes_of, entry, put};
use lockgate_gate::{Backend, Reach, RowWrite, StoreError};
use lockgate_store::{Durability, OpenErrorKind, Options, Sqlite, WAIT_MAX};
use rusqlite::Connection;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refused(path: &Path) -> (OpenErrorKind, String) {
    let error = Sqlite::open(path, Options::default()).err().expect("it was opened");
    (error.kind(), error.to_string())
}

#[test]
fn what_is_made_belongs_to_its_owner_alone() {
    let home = Home::new();
    let path = home.folder().join("a/b/gate.db");
    let store = Sqlite::open(&path, Options::default()).unwrap();
    put(&store, "s", b"1", 1, &[entry(1, "s")]).unwrap();
    let beside = |ending: &str| path.with_file_name(format!("gate.db{ending}"));
    for (file, expected) in [
        (home.folder().join("a"), 0o700),
        (home.folder().join("a/b"), 0o700),
        (path.clone(), 0o600),
        (beside("-wal"), 0o600),
        (beside("-shm"), 0o600),
        (beside(".key"), 0o600),
    ] {
        assert_eq!(mode(&file), expected, "{}", file.display());
    }
    assert!(!beside(".key.new").exists());
}

#[test]
fn whatever_is_not_ours_alone_is_refused_and_left_as_it_is() {
    use OpenErrorKind::*;
    type Spoil = fn(&Home);
    let cases: &[(&str, Spoil, OpenErrorKind, &str)] = &[
        ("others may write", |home| chmod(&home.path(), 0o602), OpenToOthers, "mode 602"),
        ("the group may write", |home| chmod(&home.path(), 0o620), OpenToOthers, "chmod 600"),
        ("others may read the key", |home| chmod(&home.key(), 0o604), OpenToOthers, "gate.db.key"),
        ("the group may read the key", |home| chmod(&home.key(), 0o640), OpenToOthers, "gate.db.key"),
        (
            "everybody may write to the folder",
            |home| chmod(home.folder(), 0o1777),
            OpenToOthers,
            "folder of its own",
        ),
        (
            "a link",
            |home| {
                fs::rename(home.path(), home.folder().join("real.db")).unwrap();
                symlink("real.db", home.path()).unwrap();
            },
            NotAFile,
            "symbolic link",
        ),
        (
            "a link to nothing",
            |home| {
                fs::remove_file(home.path()).unwrap();
                symlink("nothing.db", home.path()).unwrap();
            },
            NotAFile,
            "symbolic link",
        ),
        (
            "a folder",
            |home| {
                fs::remove_file(home.path()).unwrap();
                fs::create_dir(home.path()).unwrap();
            },
            NotAFile,
            "no regular file",
        ),
        (
            "a log that is a link",
            |home| symlink("elsewhere", home.folder().join("gate.db-wal")).unwrap(),
            NotAFile,
            "gate.db-wal",
        ),
        (
            "a journal that others may write",
            |home| {
                fs::write(home.folder().join("gate.db-journal"), "x").unwrap();
                chmod(&home.folder().join("gate.db-journal"), 0o666);
            },
            OpenToOthers,
            "gate.db-journal",
        ),
        (
            "a key that is a link",
            |home| {
                fs::rename(home.key(), home.folder().join("real.key")).unwrap();
                symlink("real.key", home.key()).unwrap();
            },
            NotAFile,
            "gate.db.key",
        ),
        ("no key", |home| fs::remove_file(home.key()).unwrap(), NoKey, "restore the key"),
        (
            "a key that was cut off",
            |home| {
                let text = fs::read_to_string(home.key()).unwrap();
                fs::write(home.key(), &text[..text.len() - 3]).unwrap();
            },
            NoKey,
            "damaged",
        ),
        ("an empty key", |home| fs::write(home.key(), "").unwrap(), NoKey, "damaged"),
        ("no database", |home| fs::remove_file(home.path()).unwrap(), Vanished, "move the key aside"),
        ("an empty database", |home| fs::write(home.path(), "").unwrap(), Vanished, "move the key aside"),
        ("a newer form", |home| home.behind_our_back("PRAGMA user_version = 99"), Newer, "newer Lockgate"),
        ("a form nobody has", |home| home.behind_our_back("PRAGMA user_version = -1"), NoVersion, "restore"),
        (
            "tables without a form",
            |home| home.behind_our_back("PRAGMA user_version = 0"),
            NoVersion,
            "restore",
        ),
        (
            "tables of nobody",
            |home| home.behind_our_back("PRAGMA user_version = 0; PRAGMA application_id = 0"),
            NoVersion,
            "another file",
        ),
        (
            "another program's",
            |home| home.behind_our_back("PRAGMA application_id = 7"),
            Foreign,
            "application id 7",
        ),
        ("no database at all", |home| fs::write(home.path(), "x".repeat(5000)).unwrap(), Damaged, "damaged"),
        (
            "a database without its end",
            |home| {
                let file = fs::read(home.path()).unwrap();
                fs::write(home.path(), &file[..512]).unwrap();
            },
            Damaged,
            "damaged",
        ),
    ];
    for (what, spoil, kind, word) in cases {
        let home = Home::with_records(3);
        spoil(&home);
        let before = fs::read(home.path()).ok();
        let (found, sentence) = refused(&home.path());
        assert_eq!(found, *kind, "{what}: {sentence}");
        assert!(sentence.contains(word), "{what}: {sentence}");
        assert_eq!(fs::read(home.path()).ok(), before, "{what}");
        // Asking twice does not help.
        assert_eq!(refused(&home.path()).0, *kind, "{what}");
    }
}

#[test]
fn a_key_of_another_database_signs_nothing() {
    let (home, other) = (Home::with_records(3), Home::with_records(3));
    fs::copy(other.key(), home.key()).unwrap();
    let store = home.open();
    put(&store, "s", b"after", 4, &[entry(4, "s")]).unwrap_err();
    assert!(!home.verify().is_whole());
    // Nothing is shown that the key does not vouch for.
    assert!(store.lock("s", Reach::Look).is_err());
    assert_eq!(home.stored_bytes("s"), b"bytes");
}

#[test]
fn a_key_that_did_not_get_its_name_before_a_crash_is_found() {
    let home = Home::with_records(3);
    let unnamed = home.folder().join("gate.db.key.new");
    fs::rename(home.key(), &unnamed).unwrap();
    let store = home.open();
    put(&store, "s", b"after", 4, &[entry(4, "s")]).unwrap();
    assert!(home.verify().is_whole());
    assert!(home.key().exists() && !unnamed.exists());
    // One that does not belong to the database is not taken for its key.
    let other = Home::with_records(1);
    fs::remove_file(home.key()).unwrap();
    fs::copy(other.key(), &unnamed).unwrap();
    assert_eq!(refused(&home.path()).0, OpenErrorKind::NoKey);
}

#[test]
fn a_key_left_over_from_a_crash_does_not_keep_a_database_from_being_made() {
    let home = Home::new();
    fs::write(home.folder().join("gate.db.key.new"), "half").unwrap();
    fs::write(home.path(), "").unwrap();
    chmod(&home.path(), 0o600);
    put(&home.open(), "s", b"1", 1, &[entry(1, "s")]).unwrap();
    assert!(home.verify().is_whole());
}

#[test]
fn many_who_open_at_once_make_one_database() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let home = &home;
            scope.spawn(move || put(&home.open(), &format!("s{n}"), b"1", 1, &[entry(1, "s")]).unwrap());
        }
    });
    let verified = home.verify();
    assert!(verified.is_whole() && verified.records == 8, "{verified:?}");
}

/// Tells the test below, when it is run as a process of its own, which database to open.
const DATABASE: &str = "LOCKGATE_TEST_DATABASE";

#[test]
fn one_process_makes_one_decision() {
    let home = Home::new();
    let path = std::env::var_os(DATABASE).map_or_else(|| home.path(), PathBuf::from);
    let store = Sqlite::open(path, Options::default()).unwrap();
    put(&store, &std::process::id().to_string(), b"1", 1, &[entry(1, "s")]).unwrap();
}

#[test]
fn many_processes_that_open_at_once_make_one_database() {
    for _ in 0..5 {
        let home = Home::new();
        let start = || {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["refusals::one_process_makes_one_decision", "--exact"])
                .env(DATABASE, home.path())
                .output()
                .unwrap()
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            for process in started {
                let output = process.join().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            }
        });
        let verified = home.verify();
        assert!(verified.is_whole() && verified.records == 8, "{verified:?}");
        assert_eq!(home.open().sessions().unwrap().len(), 8);
    }
}

#[test]
fn a_folder_may_be_reached_by_a_link() {
    let home = Home::new();
    fs::create_dir(home.folder().join("real")).unwrap();
    symlink("real", home.folder().join("link")).unwrap();
    let store = Sqlite::open(home.folder().join("link/gate.db"), Options::default()).unwrap();
    assert_eq!(store.path(), fs::canonicalize(home.folder()).unwrap().join("real/gate.db"));
}

#[test]
fn a_path_that_names_no_file_is_refused() {
    for path in ["", "/", ".."] {
        assert_eq!(refused(Path::new(path)).0, OpenErrorKind::NotAFile, "{path}");
    }
}

#[test]
fn a_lock_that_others_hold_is_told_when_the_wait_is_over() {
    let home = Home::with_records(1);
    let wait = Duration::from_millis(30);
    let patient = |wait| Sqlite::open(home.path(), Options { wait, ..Options::default() }).unwrap();
    let (store, other) = (home.open(), patient(wait));
    let held = store.lock("s", Reach::Session).unwrap();
    let told = |error: StoreError| {
        let sentence = error.to_string();
        assert!(sentence.contains("locked by others for 30 ms"), "{sentence}");
    };
    told(other.lock("s", Reach::Session).err().unwrap());
    told(other.short_ids(&[("s", 1)]).unwrap_err());
    told(other.keep_answer("s", 1, &crate::common::yes(1), &entry(1, "s")).unwrap_err());
    drop(held);
    // The threads of one process wait no longer than others do.
    let held = other.lock("s", Reach::Session).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| told(other.lock("s", Reach::SharedState).err().unwrap()));
    });
    drop(held);
    put(&other, "s", b"2", 2, &[]).unwrap();
    // Longer than anybody waits.
    put(&patient(WAIT_MAX + Duration::from_secs(1)), "s", b"3", 3, &[]).unwrap();
    put(&patient(Duration::MAX), "s", b"4", 3, &[]).unwrap();
}

#[test]
fn a_full_disk_stores_nothing_and_says_so() {
    let home = Home::with_records(1);
    let size = fs::metadata(home.path()).unwrap().len();
    let options = Options { bytes_max: Some(size + 3 * 4096), ..Options::default() };
    let store = Sqlite::open(home.path(), options).unwrap();
    let large = vec![7; 64 * 1024];
    let error = put(&store, "s", &large, 2, &[entry(2, "s")]).unwrap_err().to_string();
    assert!(error.contains("make room"), "{error}");
    // It is the entry that does not fit, and the session stays with it.
    let long = format!(r#"{{"at":2,"x":"{}"}}"#, "x".repeat(64 * 1024));
    put(&store, "s", b"after", 2, &[long]).unwrap_err();
    assert_eq!(bytes_of(&store, "s").unwrap(), b"bytes");
    put(&store, "s", b"small", 2, &[entry(2, "s")]).unwrap();
    assert_eq!(bytes_of(&store, "s").unwrap(), b"small");
    assert!(home.verify().is_whole());
}

#[test]
fn every_verdict_is_on_disk_unless_somebody_chose_otherwise() {
    // What SQLite does without being asked is not relied upon, so both are asked for; that a file is kept in a
    // log is written in its header.
    let home = Home::with_records(1);
    let connection = Connection::open(home.path()).unwrap();
    let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    assert_eq!(Options::default().durability, Durability::Full);
    let options = Options { durability: Durability::Normal, ..Options::default() };
    put(&Sqlite::open(home.path(), options).unwrap(), "s", b"2", 2, &[entry(2, "s")]).unwrap();
    assert!(home.verify().is_whole());
}

#[test]
fn a_log_does_not_grow_however_many_processes_make_one_decision_each() {
    let home = Home::new();
    let log = || fs::metadata(home.folder().join("gate.db-wal")).unwrap().len();
    let mut lengths = Vec::new();
    for n in 1..40 {
        let large = vec![n as u8; 100_000];
        put(&home.open(), "s", &large, n, &[entry(n, "s")]).unwrap();
        lengths.push(log());
    }
    assert!(lengths.iter().all(|length| *length < 2 * 1024 * 1024), "{lengths:?}");
    assert!(lengths.iter().any(|length| *length > 1024 * 1024), "{lengths:?}");
    assert!(home.verify().is_whole());
}

#[test]
fn a_trigger_that_somebody_put_in_is_not_run() {
    let home = Home::with_records(1);
    home.behind_our_back(
        "CREATE TRIGGER refund AFTER UPDATE ON session BEGIN UPDATE session SET bytes = x'00'; END",
    );
    let store = home.open();
    put(&store, "s", b"spent", 2, &[entry(2, "s")]).unwrap();
    assert_eq!(bytes_of(&store, "s").unwrap(), b"spent");
}

#[test]
fn what_is_only_looked_at_cannot_be_put_back() {
    let home = Home::with_records(1);
    let store = home.open();
    let error = store.lock("s", Reach::Look).unwrap().write(&RowWrite::default()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)));
}
