//! What a program can do that can write to Postgres and has no key.

use lockgate_testkit::{
    contract::{Cluster, PostgresRest, SharedRest, entry},
    store_api::{Backend, PostgresOptions, Reach, RowWrite, StoreError, StoredAnswer, StrandStore, Time},
};

use crate::shared::{fill, put, seal};

type Test = (&'static str, fn(&Cluster));

/// The tests.
pub(crate) const TESTS: &[Test] = &[
    ("rows that were changed are refused", rows_that_were_changed_are_refused),
    ("verify finds every kind of tampering", verify_finds_every_kind_of_tampering),
    ("a halt cannot be taken back by who has no key", a_halt_cannot_be_taken_back_by_who_has_no_key),
    (
        "an answer that was taken away cannot be brought back",
        an_answer_that_was_taken_away_cannot_be_brought_back,
    ),
    ("a store is opened only with its own key", a_store_is_opened_only_with_its_own_key),
];

fn sealed(cluster: &Cluster) -> PostgresRest<'_> {
    let rest = cluster.rest().unwrap();
    fill(&rest);
    rest
}

fn rows_that_were_changed_are_refused(cluster: &Cluster) {
    for sql in [
        "UPDATE lockgate.session SET bytes = '1'",
        "UPDATE lockgate.session SET bytes = NULL",
        "UPDATE lockgate.session SET clock = 0",
        "UPDATE lockgate.session SET questions = 9",
        "UPDATE lockgate.session SET version = version + 1",
        "UPDATE lockgate.session SET length = 1",
        "UPDATE lockgate.session SET head = prev FROM lockgate.record WHERE n = 2",
        "UPDATE lockgate.session SET name = 't'",
        "UPDATE lockgate.session SET answers = 0",
        "UPDATE lockgate.session SET shared = 0",
        "UPDATE lockgate.session SET seals = 9",
        "UPDATE lockgate.session SET seal = ''",
        "DELETE FROM lockgate.shared_state",
        "UPDATE lockgate.shared_state SET bytes = ''",
        "UPDATE lockgate.shared_state SET bytes = NULL",
        "UPDATE lockgate.shared_state SET human_key = bytes",
        "UPDATE lockgate.shared_state SET version = 7",
    ] {
        let rest = sealed(cluster);
        rest.sql(sql).unwrap();
        let session = if sql.contains("'t'") { "t" } else { "s" };
        let store = rest.store();
        let refused = store.lock(session, Reach::Session);
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{sql}");
        drop(refused);
        // Whatever it was renamed to, its first owner finds records that no row knows of.
        assert!(put(&store, "s", b"9", "9").is_err(), "{sql}");
    }
    for sql in [
        "UPDATE lockgate.answer SET granted = true",
        "UPDATE lockgate.answer SET granted = NULL",
        "UPDATE lockgate.answer SET version = 2",
        "UPDATE lockgate.answer SET number = 2",
        "DELETE FROM lockgate.answer",
    ] {
        let rest = sealed(cluster);
        rest.sql(sql).unwrap();
        for question in [1, 2] {
            assert!(matches!(rest.store().answer("s", question), Err(StoreError::Tampered(_))), "{sql}");
        }
    }
    let rest = sealed(cluster);
    rest.sql("DELETE FROM lockgate.session").unwrap();
    assert!(put(&rest.store(), "s", b"1", "1").is_err());
}

fn verify_finds_every_kind_of_tampering(cluster: &Cluster) {
    for (sql, kind) in [
        ("UPDATE lockgate.session SET bytes = '1'", "ChangedRow"),
        ("DELETE FROM lockgate.session", "MissingRow"),
        ("UPDATE lockgate.record SET entry = '{\"at\":7}' WHERE n = 2", "Changed"),
        ("DELETE FROM lockgate.record WHERE n = 2", "Missing"),
        ("DELETE FROM lockgate.record WHERE n = 4", "Cut"),
        ("UPDATE lockgate.seal SET at = 0", "ForgedHead"),
        ("UPDATE lockgate.sealed SET length = 2", "BadCheckpoint"),
        ("UPDATE lockgate.seal SET shared_version = 1", "ForgedHead"),
        ("DELETE FROM lockgate.sealed; DELETE FROM lockgate.seal WHERE n = 1", "Missing"),
        ("DELETE FROM lockgate.sealed WHERE seal = 2; DELETE FROM lockgate.seal WHERE n = 2", "Missing"),
        ("DELETE FROM lockgate.sealed; DELETE FROM lockgate.seal", "Missing"),
        ("UPDATE lockgate.shared_state SET bytes = ''", "ChangedRow"),
        ("DELETE FROM lockgate.shared_state", "MissingRow"),
        ("UPDATE lockgate.answer SET granted = true", "ChangedRow"),
        ("DELETE FROM lockgate.answer", "MissingRow"),
    ] {
        let rest = sealed(cluster);
        let store = rest.store();
        put(&store, "later", b"x", "later").unwrap();
        seal(&store);
        // Written after the seal, so it speaks of it.
        put(&store, "last", b"x", "last").unwrap();
        let problems = store.verify().unwrap().verified.problems;
        assert!(problems.is_empty(), "{problems:?}");
        drop(store);
        rest.sql(sql).unwrap();
        let problems = rest.store().verify().unwrap().verified.problems;
        assert!(problems.iter().any(|problem| format!("{:?}", problem.kind) == kind), "{sql}: {problems:?}");
    }
    // An older row with the records of that time, as a backup has them: only the seal knows better.
    let rest = cluster.rest().unwrap();
    let store = rest.store();
    put(&store, "s", b"1", "1").unwrap();
    rest.sql("CREATE TABLE old_session AS SELECT * FROM lockgate.session").unwrap();
    put(&store, "s", b"2", "2").unwrap();
    store.seal_now().unwrap();
    rest.sql("DELETE FROM lockgate.record WHERE n = 2; DELETE FROM lockgate.session; INSERT INTO lockgate.session SELECT * FROM old_session").unwrap();
    let problems = store.verify().unwrap().verified.problems;
    assert!(problems.iter().any(|problem| format!("{:?}", problem.kind) == "OldRow"), "{problems:?}");
    assert!(
        matches!(store.lock("s", Reach::Session), Err(StoreError::Tampered(_))),
        "this process has seen a later one"
    );
}

/// The shared state as it was before a halt is brought back by SQL, in four stores that have noticed more and less of the halt.
fn a_halt_cannot_be_taken_back_by_who_has_no_key(cluster: &Cluster) {
    for (is_written, is_sealed, is_seen) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, true)]
    {
        let rest = cluster.rest().unwrap();
        let (gate, operator) = (rest.store(), rest.store());
        put(&gate, "s", b"1", "1").unwrap();
        rest.sql("CREATE TABLE old_state AS SELECT * FROM lockgate.shared_state").unwrap();
        let halt =
            RowWrite { shared_state: Some(b"halted"), entries: &[entry("halt")], ..RowWrite::default() };
        operator.lock("", Reach::SharedState).unwrap().write(&halt).unwrap();
        if is_written {
            put(&gate, "s", b"2", "2").unwrap();
        }
        if is_seen {
            gate.lock("other", Reach::Look).unwrap();
        }
        if is_sealed {
            seal(&operator);
        }
        rest.sql(
            "DELETE FROM lockgate.shared_state; INSERT INTO lockgate.shared_state SELECT * FROM old_state",
        )
        .unwrap();
        let refuses =
            |store: &dyn Backend| matches!(store.lock("s", Reach::Session), Err(StoreError::Tampered(_)));
        let case = format!("written {is_written}, sealed {is_sealed}, seen {is_seen}");
        assert!(refuses(&operator), "{case}: it has made the halt itself");
        assert_eq!(refuses(&gate), is_seen || is_written, "{case}");
        // The store seals by itself too.
        let late = rest.sql("SELECT count(*) FROM lockgate.seal WHERE shared_version > 1").unwrap();
        let is_sealed = is_sealed || late != "0";
        let new = rest.store();
        assert_eq!(refuses(&new), is_written || is_sealed, "{case}");
        // The operator's own strand speaks of the halt.
        assert!(matches!(new.lock("", Reach::Session), Err(StoreError::Tampered(_))), "{case}");
        let problems = new.verify().unwrap().verified.problems;
        assert!(
            problems.iter().any(|problem| format!("{:?}", problem.kind) == "OldRow"),
            "{case}: {problems:?}"
        );
        assert!(!matches!(operator.seal_now(), Ok(true)), "{case}: what was brought back is not sealed");
    }
}

fn an_answer_that_was_taken_away_cannot_be_brought_back(cluster: &Cluster) {
    let rest = cluster.rest().unwrap();
    let store = rest.store();
    let yes = StoredAnswer::unsigned(true, "ann", Time(5));
    assert!(store.keep_answer("s", 1, &yes, &entry("yes")).unwrap());
    rest.sql("CREATE TABLE old_answer AS SELECT * FROM lockgate.answer").unwrap();
    assert!(store.reject_answer("s", 1, &yes, &entry("no answer")).unwrap());
    assert!(!store.reject_answer("s", 1, &yes, &entry("no answer")).unwrap());
    assert_eq!(store.answer("s", 1).unwrap(), None);
    rest.sql("DELETE FROM lockgate.answer; INSERT INTO lockgate.answer SELECT * FROM old_answer").unwrap();
    for store in [store, rest.store()] {
        assert!(matches!(store.answer("s", 1), Err(StoreError::Tampered(_))));
    }
    assert!(!rest.store().verify().unwrap().verified.is_whole());
}

fn a_store_is_opened_only_with_its_own_key(cluster: &Cluster) {
    let open = |url: &str| StrandStore::open_postgres(url, &PostgresOptions::default()).map(drop);
    let (one, other) = (cluster.rest().unwrap(), cluster.rest().unwrap());
    let key_of = |url: &str| url.split_once("key=").unwrap().1.to_owned();
    let with_key = |url: &str, key: &str| format!("{}key={key}", url.split_once("key=").unwrap().0);
    open(&one.url()).unwrap();
    open(&other.url()).unwrap();
    let told = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    assert!(told(open(&with_key(&one.url(), &key_of(&other.url())))).contains("belongs to another key"));
    assert!(told(open(&with_key(&one.url(), "/nowhere/store.key"))).contains("is not there"));
    // An empty database where a key says that there were sessions is not begun anew.
    let empty = cluster.rest().unwrap();
    assert!(told(open(&with_key(&empty.url(), &key_of(&one.url())))).contains("restore the database"));
    one.sql("UPDATE lockgate.store SET form = 99").unwrap();
    assert!(told(open(&one.url())).contains("form 99"));
    assert!(told(open("postgres://gate@127.0.0.1:1/x?key=/nowhere")).contains("cannot be reached"));
}
