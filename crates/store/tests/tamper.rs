//! Whatever is done to the audit log behind our back is found.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::Cursor;

use crate::common::{Home, entries, entry, put};
use lockgate_gate::{Backend, Reach, Time};
use lockgate_store::{
    Anchor, LINE_BYTES_MAX, Options, PROBLEMS_MAX, ProblemKind, Query, Sqlite, Verified, link_hash, to_hex,
    verify_lines,
};
use proptest::prelude::*;
use rusqlite::Connection;

/// Whether a problem of this kind is told, about this record.
fn tells(verified: &Verified, kind: ProblemKind, n: impl Into<Option<u64>>) -> bool {
    let n = n.into();
    verified.problems.iter().any(|problem| problem.kind == kind && problem.n == n)
}

#[test]
fn every_kind_of_tampering_is_found_with_its_record() {
    use ProblemKind::*;
    let cases: &[(&str, ProblemKind, Option<u64>)] = &[
        ("UPDATE trail SET entry = replace(entry, 'halt', 'grin') WHERE n = 3", Changed, Some(3)),
        ("UPDATE trail SET entry = CAST(x'ff' AS TEXT) WHERE n = 3", Changed, Some(3)),
        ("UPDATE trail SET hash = zeroblob(32) WHERE n = 3", Changed, Some(3)),
        ("UPDATE trail SET hash = zeroblob(32) WHERE n = 3", Unlinked, Some(4)),
        ("UPDATE trail SET hash = x'00' WHERE n = 3", Changed, Some(3)),
        ("UPDATE trail SET prev = zeroblob(32) WHERE n = 3", Unlinked, Some(3)),
        ("UPDATE trail SET prev = x'01' WHERE n = 1", Unlinked, Some(1)),
        ("UPDATE trail SET at = 999 WHERE n = 3", Mislabelled, Some(3)),
        ("UPDATE trail SET session = NULL WHERE n = 3", Mislabelled, Some(3)),
        ("UPDATE trail SET session = 'other' WHERE n = 3", Mislabelled, Some(3)),
        ("DELETE FROM trail WHERE n = 3", Missing, Some(3)),
        ("DELETE FROM trail WHERE n = 1", Missing, Some(1)),
        ("DELETE FROM trail WHERE n <= 1000", Missing, Some(1)),
        ("DELETE FROM trail WHERE n = 1003", Cut, Some(1003)),
        ("DELETE FROM trail WHERE n > 1000", Cut, Some(1001)),
        ("DELETE FROM trail", Cut, Some(1)),
        (
            "UPDATE trail SET n = 5000 WHERE n = 3; UPDATE trail SET n = 3 WHERE n = 4; UPDATE trail SET n = 4 WHERE n = 5000",
            Changed,
            Some(3),
        ),
        ("UPDATE trail SET n = -1 WHERE n = 3", OutOfOrder, None),
        ("UPDATE trail SET n = 0 WHERE n = 3", OutOfOrder, Some(0)),
        (
            "INSERT INTO trail SELECT n + 1, at, session, hash, hash, entry FROM trail WHERE n = 1003",
            Cut,
            Some(1004),
        ),
        (
            "DELETE FROM trail WHERE n = 1003; UPDATE head SET (n, hash) = (SELECT n, hash FROM trail WHERE n = 1002)",
            ForgedHead,
            Some(1002),
        ),
        (
            "DELETE FROM trail WHERE n > 1000; UPDATE head SET (n, hash, at, signature) = (SELECT n, hash, at, signature FROM checkpoint)",
            ForgedHead,
            Some(1000),
        ),
        ("UPDATE head SET at = at + 1", ForgedHead, Some(1003)),
        ("DELETE FROM trail WHERE n <= 1000; UPDATE head SET pruned = 1000", ForgedHead, Some(1003)),
        ("UPDATE head SET database = zeroblob(16)", ForgedHead, Some(1003)),
        ("UPDATE head SET signature = zeroblob(64)", ForgedHead, Some(1003)),
        ("UPDATE head SET key = zeroblob(32), signature = zeroblob(64)", ForgedHead, Some(1003)),
        ("UPDATE checkpoint SET hash = zeroblob(32)", BadCheckpoint, Some(1000)),
        ("UPDATE checkpoint SET signature = x'00'", BadCheckpoint, Some(1000)),
        ("DELETE FROM checkpoint", BadCheckpoint, Some(1000)),
        (
            "INSERT INTO checkpoint SELECT 1001, hash, at, signature FROM checkpoint",
            BadCheckpoint,
            Some(1001),
        ),
        (
            "CREATE TRIGGER lose AFTER INSERT ON trail BEGIN DELETE FROM trail WHERE n = new.n; END",
            ForeignSchema,
            None,
        ),
        ("CREATE TABLE attic(x)", ForeignSchema, None),
    ];
    for (sql, kind, n) in cases {
        let home = Home::with_records(1_003);
        assert!(home.verify().is_whole());
        home.behind_our_back(sql);
        let verified = home.verify();
        assert!(tells(&verified, *kind, *n), "{sql}\n{:#?}", verified.problems);
    }
}

#[test]
fn a_chain_that_was_written_anew_without_the_key_is_found() {
    let home = Home::with_records(5);
    let connection = Connection::open(home.path()).unwrap();
    let (mut prev, mut hash) = ([0; 32], [0; 32]);
    for n in 1..=5_u64 {
        let entry = entry(n, "nobody");
        hash = link_hash(n, &prev, entry.as_bytes());
        let sql = "UPDATE trail SET session = 'nobody', prev = ?2, hash = ?3, entry = ?4 WHERE n = ?1";
        connection.execute(sql, rusqlite::params![n as i64, prev, hash, entry]).unwrap();
        prev = hash;
    }
    assert!(tells(&home.verify(), ProblemKind::Cut, 5));
    connection.execute("UPDATE head SET hash = ?1", [hash]).unwrap();
    assert!(tells(&home.verify(), ProblemKind::ForgedHead, 5));
}

#[test]
fn an_older_copy_is_found_with_an_anchor_only() {
    let home = Home::with_records(5);
    let store = home.open();
    let old = std::fs::read(home.path()).unwrap();
    put(&store, "s", b"more", 6, &[entry(6, "s")]).unwrap();
    let head = store.head().unwrap();
    let anchor = Anchor { n: head.n, hash: head.hash };
    assert!(store.verify_trail(Some(anchor), &mut |_| {}).unwrap().is_whole());
    let other = Anchor { n: 3, hash: head.hash };
    assert!(tells(&store.verify_trail(Some(other), &mut |_| {}).unwrap(), ProblemKind::NotAnchored, 3));
    drop(store);
    home.behind_our_back("");
    std::fs::write(home.path(), old).unwrap();
    let store = home.open();
    assert!(store.verify_trail(None, &mut |_| {}).unwrap().is_whole());
    assert!(tells(&store.verify_trail(Some(anchor), &mut |_| {}).unwrap(), ProblemKind::NotAnchored, 6));
}

#[test]
fn nothing_is_signed_on_top_of_what_somebody_else_did() {
    let cases = [
        "DELETE FROM trail WHERE n = 5",
        "DELETE FROM trail WHERE n = 5; UPDATE head SET (n, hash) = (SELECT n, hash FROM trail WHERE n = 4)",
        "UPDATE trail SET hash = zeroblob(32) WHERE n = 5",
        "UPDATE head SET pruned = 5",
        "INSERT INTO trail SELECT n + 1, at, session, hash, hash, entry FROM trail WHERE n = 5",
        "DELETE FROM head",
        "UPDATE head SET n = 9223372036854775807",
        "UPDATE head SET n = -1",
    ];
    for sql in cases {
        let home = Home::with_records(4);
        let store = home.open();
        // Who signed the last head looks as closely as who has just come.
        put(&store, "s", b"before", 5, &[entry(5, "s")]).unwrap();
        home.behind_our_back(sql);
        let just_opened = Sqlite::open(home.path(), Options::default());
        for store in [Some(&store), just_opened.as_ref().ok()].into_iter().flatten() {
            put(store, "s", b"after", 6, &[entry(6, "s")]).expect_err(sql);
            store.prune_trail(Time(100), &entry(6, "s")).expect_err(sql);
            assert!(store.lock("s", Reach::Look).is_err(), "{sql}");
        }
        assert_eq!(home.stored_bytes("s"), b"before", "{sql}");
    }
}

#[test]
fn what_was_changed_is_never_pruned() {
    let home = Home::with_records(5);
    home.behind_our_back("UPDATE trail SET entry = replace(entry, 'halt', 'grin') WHERE n = 3");
    let error = home.open().prune_trail(Time(100), &entry(6, "s")).unwrap_err().to_string();
    assert!(error.contains("record 3"), "{error}");
    assert_eq!(entries(&home.open()).len(), 5);
}

#[test]
fn what_is_left_after_pruning_still_verifies() {
    let home = Home::with_records(2_500);
    let store = home.open();
    let head = store.head().unwrap();
    assert_eq!(store.prune_trail(Time(1_206), &entry(3_000, "s")).unwrap(), 1_205);
    assert_eq!(store.prune_trail(Time(1_206), &entry(3_000, "s")).unwrap(), 0);
    let anchor = |n, hash| Some(Anchor { n, hash });
    let verified = store.verify_trail(anchor(head.n, head.hash), &mut |_| {}).unwrap();
    assert!(verified.is_whole(), "{:?}", verified.problems);
    assert_eq!((verified.first, verified.records), (Some(1_206), 1_296));
    assert!(tells(
        &store.verify_trail(anchor(7, head.hash), &mut |_| {}).unwrap(),
        ProblemKind::NotAnchored,
        7
    ));
    // All but the last.
    store.prune_trail(Time(u64::MAX), &entry(3_000, "s")).unwrap();
    assert!(home.verify().is_whole());
    assert!(!entries(&store).is_empty());
    home.behind_our_back("UPDATE checkpoint SET hash = zeroblob(32) WHERE n = (SELECT pruned FROM head)");
    assert!(!home.verify().is_whole());
}

#[test]
fn no_more_problems_are_told_than_anybody_reads() {
    let home = Home::with_records(PROBLEMS_MAX as u64 + 1);
    home.behind_our_back("UPDATE trail SET at = 0");
    let verified = home.verify();
    assert_eq!((verified.problems.len(), verified.problems_untold), (PROBLEMS_MAX, 1));
}

#[test]
fn whoever_waits_for_a_check_is_told_how_far_it_is() {
    let home = Home::with_records(2_001);
    let mut told = Vec::new();
    home.open().verify_trail(None, &mut |progress| told.push((progress.done, progress.of))).unwrap();
    assert_eq!(told, [(1_000, 2_001), (2_000, 2_001)]);
}

fn export(home: &Home) -> Vec<String> {
    let store = home.open();
    let links = store.audit_log(Query::default()).map(|link| link.unwrap().to_line());
    links.chain([store.head().unwrap().to_line()]).collect()
}

fn verify_text(text: &str) -> Verified {
    verify_lines(Cursor::new(text), None, None).unwrap()
}

#[test]
fn an_export_verifies_without_the_database() {
    let home = Home::with_records(5);
    let lines = export(&home);
    let public_key = home.open().public_key();
    let verified = verify_lines(Cursor::new(lines.join("\n")), Some(&public_key), None).unwrap();
    assert!(verified.is_whole() && verified.head.is_some() && verified.records == 5);
    let stranger = verify_lines(Cursor::new(lines.join("\n")), Some(&[7; 32]), None).unwrap();
    assert!(tells(&stranger, ProblemKind::ForgedHead, 5));
    // Without its head nobody vouches for the end, and that can be seen.
    let unsigned = verify_text(&lines[..4].join("\n"));
    assert!(unsigned.is_whole() && unsigned.head.is_none());
}

#[test]
fn every_change_of_an_export_is_found() {
    use ProblemKind::*;
    let home = Home::with_records(5);
    type Change = fn(&mut Vec<String>);
    let cases: &[(&str, Change, ProblemKind, Option<u64>)] = &[
        ("an entry", |lines| lines[2] = lines[2].replace("halt", "grin"), Changed, Some(3)),
        ("a space in an entry", |lines| lines[2] = lines[2].replace("\"s\"", " \"s\""), Changed, Some(3)),
        ("a line taken out", |lines| drop(lines.remove(2)), Missing, Some(3)),
        ("the first lines taken out", |lines| drop(lines.drain(..2)), Missing, Some(1)),
        ("the last line taken out", |lines| drop(lines.remove(4)), Cut, Some(5)),
        ("all lines taken out", |lines| drop(lines.drain(..5)), Cut, Some(1)),
        ("two lines swapped", |lines| lines.swap(1, 2), OutOfOrder, Some(2)),
        ("a line twice", |lines| lines.insert(2, lines[2].clone()), OutOfOrder, Some(3)),
        ("a line after the head", |lines| lines.push(lines[4].clone()), Unreadable, None),
        ("something else", |lines| lines.insert(1, "{}".into()), Unreadable, None),
        ("a field more", |lines| lines[1] = lines[1].replacen('{', "{\"x\":1,", 1), Unreadable, None),
        ("a field twice", |lines| lines[1] = lines[1].replacen('{', "{\"n\":2,", 1), Unreadable, None),
        ("the head's number", |lines| lines[5] = lines[5].replace("\"n\":5", "\"n\":4"), ForgedHead, Some(4)),
        (
            "what was pruned",
            |lines| lines[5] = lines[5].replace("\"pruned\":0", "\"pruned\":2"),
            ForgedHead,
            Some(5),
        ),
    ];
    for (what, change, kind, n) in cases {
        let mut lines = export(&home);
        change(&mut lines);
        let verified = verify_text(&lines.join("\n"));
        assert!(tells(&verified, *kind, *n), "{what}\n{:#?}", verified.problems);
    }
}

#[test]
fn a_line_of_an_export_is_read_only_up_to_its_limit() {
    let line = |length: usize| {
        let entry = format!("{{\"at\":1,\"x\":\"{}\"}}", "x".repeat(length));
        let hash = to_hex(&link_hash(1, &[0; 32], entry.as_bytes()));
        format!(r#"{{"n":1,"prev":"{}","hash":"{hash}","entry":{entry}}}"#, to_hex(&[0; 32]))
    };
    let most = LINE_BYTES_MAX - line(0).len();
    for ending in ["", "\n"] {
        assert!(verify_text(&(line(most) + ending)).is_whole());
        assert!(tells(&verify_text(&(line(most + 1) + ending)), ProblemKind::Unreadable, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damage_anywhere_in_the_file_never_changes_the_trail_unseen(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        is_in_page in any::<bool>(),
    ) {
        let home = Home::with_records(40);
        let honest = entries(&home.open());
        home.behind_our_back("");
        let mut file = std::fs::read(home.path()).unwrap();
        let mut changed = false;
        for (index, value) in damage {
            // The first page is where most of the structure is.
            let index = index.index(if is_in_page { 4096 } else { file.len() });
            changed |= file[index] != value;
            file[index] = value;
        }
        prop_assume!(changed);
        std::fs::write(home.path(), file).unwrap();
        let Ok(store) = Sqlite::open(home.path(), Options::default()) else { return Ok(()) };
        let verified = store.verify_trail(None, &mut |_| {});
        let read: Result<Vec<_>, _> = store.audit_log(Query::default()).map(|link| link.map(|link| link.entry)).collect();
        let (Ok(verified), Ok(read)) = (verified, read) else { return Ok(()) };
        prop_assert!(!verified.is_whole() || read == honest);
        // Whatever else is broken: no panic.
        let _ = put(&store, "s", b"after", 50, &[entry(50, "s")]);
    }

    #[test]
    fn a_damaged_export_is_never_taken_for_another_one(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let home = Home::with_records(6);
        let honest = export(&home).join("\n").into_bytes();
        let mut text = honest.clone();
        for (index, value) in damage {
            let index = index.index(text.len());
            text[index] = value;
        }
        prop_assume!(text != honest);
        let verified = verify_lines(Cursor::new(&text), Some(&home.open().public_key()), None).unwrap();
        // Spaces between fields are nobody's; everything that says something is vouched for.
        let plain = |text: &[u8]| String::from_utf8_lossy(text).split_whitespace().collect::<String>();
        prop_assert!(!verified.is_whole() || plain(&text) == plain(&honest));
    }
}
