//! How the audit log is read, and what does not get into it.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::cell::RefCell;

use crate::common::{Home, bytes_of, entries, entry, put, yes};
use lockgate_gate::{Backend, Time};
use lockgate_store::{Durability, ENTRY_BYTES_MAX, FORGET_BATCH_MAX, Options, Query, Sqlite};

fn numbers(store: &Sqlite, query: Query) -> Vec<u64> {
    store.audit_log(query).map(|link| link.unwrap().n).collect()
}

#[test]
fn a_query_finds_what_it_asks_for_in_order() {
    let home = Home::new();
    let store = home.open();
    // Moments need not be in order: sessions have clocks of their own.
    let told = [(5, "a"), (3, "b"), (9, "a"), (7, "c"), (9, "b")];
    put(&store, "a", b"", 1, &told.map(|(at, session)| entry(at, session))).unwrap();
    put(&store, "a", b"", 1, &[r#"{"at":4}"#.to_owned()]).unwrap();
    let all = Query::default;
    let (since, until) = (|at| Some(Time(at)), |at| Some(Time(at)));
    let cases: Vec<(Query, &[u64])> = vec![
        (all(), &[1, 2, 3, 4, 5, 6]),
        (Query { after_n: 2, ..all() }, &[3, 4, 5, 6]),
        (Query { after_n: 6, ..all() }, &[]),
        (Query { after_n: u64::MAX, ..all() }, &[]),
        (Query { session: Some("a".into()), ..all() }, &[1, 3]),
        (Query { session: Some(String::new()), ..all() }, &[]),
        (Query { since: since(7), ..all() }, &[3, 4, 5]),
        (Query { since: since(u64::MAX), ..all() }, &[]),
        (Query { until: until(7), ..all() }, &[1, 2, 6]),
        (Query { until: until(u64::MAX), ..all() }, &[1, 2, 3, 4, 5, 6]),
        (Query { since: since(4), until: until(9), ..all() }, &[1, 4, 6]),
        (Query { limit: Some(2), ..all() }, &[1, 2]),
        (Query { limit: Some(0), ..all() }, &[]),
        (Query { after_n: 1, session: Some("b".into()), limit: Some(1), ..all() }, &[2]),
    ];
    for (query, expected) in cases {
        assert_eq!(numbers(&store, query.clone()), expected, "{query:?}");
    }
}

#[test]
fn a_long_trail_is_read_while_others_write() {
    let home = Home::with_records(1_200);
    let store = home.open();
    let mut links = store.audit_log(Query { limit: Some(1_201), ..Query::default() });
    assert_eq!(links.next().unwrap().unwrap().n, 1);
    put(&store, "s", b"more", 9, &[entry(9, "s"), entry(9, "s")]).unwrap();
    assert_eq!(links.map(|link| link.unwrap().n).last(), Some(1_201));
    assert_eq!(numbers(&store, Query { after_n: 1_201, ..Query::default() }), [1_202]);
}

#[test]
fn what_is_too_long_or_too_late_is_not_stored() {
    let home = Home::with_records(1);
    let store = home.open();
    let long = |length: usize| {
        let frame = r#"{"at":1,"x":""}"#.len();
        format!(r#"{{"at":1,"x":"{}"}}"#, "x".repeat(length - frame))
    };
    let late = |at: u64| format!(r#"{{"at":{at}}}"#);
    let most = i64::MAX as u64;
    for (good, bad) in [(long(ENTRY_BYTES_MAX), long(ENTRY_BYTES_MAX + 1)), (late(most), late(most + 1))] {
        put(&store, "s", b"after", 2, &[bad]).unwrap_err();
        assert_eq!(bytes_of(&store, "s").unwrap(), b"bytes");
        put(&store, "s", b"bytes", 2, &[good]).unwrap();
    }
    assert!(store.keep_answer("s", most, &yes(1), &entry(1, "s")).unwrap());
    store.keep_answer("s", most + 1, &yes(1), &entry(1, "s")).unwrap_err();
    store.answer("s", most + 1).unwrap_err();
    assert!(home.verify().is_whole());
}

#[test]
fn sessions_are_forgotten_a_few_at_a_time_and_each_time_it_is_told() {
    let home = Home::new();
    let store = home.open();
    for n in 0..5 {
        put(&store, &format!("s{n}"), b"x", n, &[]).unwrap();
    }
    let told = RefCell::new(Vec::new());
    let tell = |names: &[String]| {
        told.borrow_mut().push(names.join(" "));
        entry(9, "")
    };
    // Nobody can ask for none at a time.
    assert_eq!(store.forget(Time(1), 0, &tell).unwrap(), 1);
    assert_eq!(store.forget(Time(4), 2, &tell).unwrap(), 3);
    assert_eq!(store.forget(Time(9), FORGET_BATCH_MAX + 1, &tell).unwrap(), 1);
    assert_eq!(told.into_inner(), ["s0", "s1 s2", "s3", "s4"]);
    assert_eq!(entries(&store).len(), 4);
}

#[test]
fn no_more_sessions_are_forgotten_at_once_than_may_be() {
    let home = Home::new();
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Sqlite::open(home.path(), options).unwrap();
    for n in 0..=FORGET_BATCH_MAX {
        put(&store, &format!("s{n}"), b"", 1, &[]).unwrap();
    }
    let counts = RefCell::new(Vec::new());
    let tell = |names: &[String]| {
        counts.borrow_mut().push(names.len());
        entry(9, "")
    };
    store.forget(Time(9), FORGET_BATCH_MAX + 1, &tell).unwrap();
    assert!(home.verify().is_whole());
    assert_eq!(counts.into_inner(), [FORGET_BATCH_MAX, 1]);
}

#[test]
fn what_cannot_be_told_is_not_forgotten() {
    let home = Home::with_records(1);
    let store = home.open();
    store.forget(Time(9), 1, &|_| "no entry".to_owned()).unwrap_err();
    assert_eq!(bytes_of(&store, "s").unwrap(), b"bytes");
    put(&store, "s", b"bytes", 1, &[entry(1, "s")]).unwrap();
    store.prune_trail(Time(9), "no entry").unwrap_err();
    assert_eq!(entries(&store).len(), 2);
}
