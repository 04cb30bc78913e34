//! Real databases behind the gate: every promise of a backend, on a server that is started for it.
//!
//! `stores FOLDER [WORD]` takes the folder with Postgres' programs (`initdb`, `pg_ctl`, `psql`) and, perhaps, a word that the
//! names of the tests must contain. The last line counts, as a test runner's does.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a promise that is broken ends its test, and the count goes to people"
)]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::ExitCode,
    sync::Barrier,
    thread,
};

use lockgate_testkit::{
    contract::{CASES, Cluster, MemoryRest, PostgresRest, Rest, entry, histories, play},
    store_api::{Backend, Reach, RowWrite, SessionRow, StoreError, Time},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// How many histories are played on Postgres and in memory.
const HISTORIES: usize = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(programs) = arguments.first() else {
        eprintln!("error: name the folder of Postgres' programs, such as /usr/lib/postgresql/15/bin");
        return ExitCode::from(2);
    };
    let cluster = match Cluster::start(Path::new(programs)) {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("error: Postgres cannot be started: {error}");
            return ExitCode::from(2);
        }
    };
    let word = arguments.get(1).map_or("", String::as_str);
    let (mut passed, mut failed) = (0, 0);
    let mut test = |name: &str, body: &dyn Fn()| {
        if !name.contains(word) {
            return;
        }
        let is_ok = catch_unwind(AssertUnwindSafe(body)).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        if is_ok { passed += 1 } else { failed += 1 }
    };
    for (promise, case) in CASES {
        test(&format!("postgres: {promise}"), &|| case(&cluster.database().unwrap()));
    }
    for (name, body) in TESTS {
        test(&format!("postgres: {name}"), &|| body(&cluster));
    }
    println!(
        "test result: {}. {passed} passed; {failed} failed; 0 ignored",
        if failed == 0 { "ok" } else { "FAILED" }
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

type Test = (&'static str, fn(&Cluster));

const TESTS: &[Test] = &[
    ("it does what memory does", it_does_what_memory_does),
    (
        "sixteen gates admit exactly as many calls as there are",
        sixteen_gates_admit_exactly_as_many_calls_as_there_are,
    ),
    ("a reader that follows the log misses no record", a_reader_that_follows_the_log_misses_no_record),
    ("rows that were changed are refused", rows_that_were_changed_are_refused),
    ("verify finds every kind of tampering", verify_finds_every_kind_of_tampering),
    (
        "nothing that was told is lost when the server crashes",
        nothing_that_was_told_is_lost_when_the_server_crashes,
    ),
    (
        "a decision from before a halt is not stored after it",
        a_decision_from_before_a_halt_is_not_stored_after_it,
    ),
    ("a store is opened only with its own key", a_store_is_opened_only_with_its_own_key),
];

fn it_does_what_memory_does(cluster: &Cluster) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..HISTORIES {
        let ops = histories().new_tree(&mut runner).unwrap().current();
        let expected = play(&MemoryRest::default(), &ops);
        assert_eq!(play(&cluster.database().unwrap(), &ops), expected, "{ops:?}");
    }
}

fn row(bytes: &[u8], clock: u64) -> SessionRow<'_> {
    SessionRow { bytes, clock: Time(clock), questions: 0 }
}

fn put(backend: &dyn Backend, session: &str, bytes: &[u8], what: &str) -> Result<(), StoreError> {
    let entries = [entry(what)];
    let write = RowWrite { session: Some(row(bytes, 1)), shared_state: None, entries: &entries };
    backend.lock(session, Reach::Session)?.write(&write)
}

/// Takes one of a limit, as a gate does: reads, decides, writes, and begins again after a conflict.
fn take_one(backend: &dyn Backend, session: &str, limit: u64) -> bool {
    loop {
        let open = backend.lock(session, Reach::Session).unwrap();
        let spent: u64 = open.session().map_or(0, |bytes| String::from_utf8_lossy(bytes).parse().unwrap());
        if spent >= limit {
            return false;
        }
        let bytes = (spent + 1).to_string();
        let entries = [entry(spent + 1)];
        match open.write(&RowWrite {
            session: Some(row(bytes.as_bytes(), 1)),
            shared_state: None,
            entries: &entries,
        }) {
            Ok(()) => return true,
            Err(StoreError::Conflict) => {}
            Err(error) => assert_eq!(error.to_string(), "no error"),
        }
    }
}

fn sixteen_gates_admit_exactly_as_many_calls_as_there_are(cluster: &Cluster) {
    const GATES: usize = 16;
    const CLIENTS: usize = 64;
    const LIMIT: u64 = 1_000;
    let rest = cluster.database().unwrap();
    let gates: Vec<_> = (0..GATES).map(|_| rest.store()).collect();
    let start = Barrier::new(CLIENTS);
    let admitted: u64 = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (gate, start) = (&gates[client % GATES], &start);
                scope.spawn(move || {
                    start.wait();
                    let mut admitted = 0;
                    while take_one(gate, "s", LIMIT) {
                        admitted += 1;
                    }
                    admitted
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(admitted, LIMIT);
    assert_eq!(rest.audit_log().len() as u64, LIMIT);
}

fn a_reader_that_follows_the_log_misses_no_record(cluster: &Cluster) {
    let rest = cluster.database().unwrap();
    let (writers, each) = (6, 100);
    let store = rest.store();
    let seen = thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let store = store.clone();
                scope.spawn(move || {
                    (0..each).for_each(|n| {
                        put(&store, &format!("s{writer}"), b"x", &format!("{writer}.{n}")).unwrap()
                    })
                })
            })
            .collect();
        let reader = rest.store();
        let (mut seen, mut after) = (0, Default::default());
        let mut read = || {
            let records = reader.records(after, None, 1_000).unwrap();
            after = records.last().map_or(after, |last| last.position);
            seen += records.len();
        };
        while threads.iter().any(|thread| !thread.is_finished()) {
            read();
        }
        read();
        seen
    });
    assert_eq!(seen, writers * each);
}

/// A store with one session of three records under a seal.
fn sealed<'a>(cluster: &'a Cluster) -> PostgresRest<'a> {
    let rest = cluster.database().unwrap();
    let store = rest.store();
    for n in 1..=3 {
        put(&store, "s", n.to_string().as_bytes(), &n.to_string()).unwrap();
    }
    store
        .keep_answer(
            "s",
            1,
            &lockgate_testkit::store_api::StoredAnswer::unsigned(false, "ann", Time(5)),
            &entry("no"),
        )
        .unwrap();
    let shared = RowWrite { shared_state: Some(b"shared"), ..RowWrite::default() };
    store.lock("s", Reach::SharedState).unwrap().write(&shared).unwrap();
    assert!(store.seal_now().unwrap());
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
        "UPDATE lockgate.session SET seal = ''",
        "UPDATE lockgate.shared_state SET bytes = ''",
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
    let rest = sealed(cluster);
    rest.sql("UPDATE lockgate.answer SET granted = true").unwrap();
    assert!(matches!(rest.store().answer("s", 1), Err(StoreError::Tampered(_))));
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
        ("DELETE FROM lockgate.sealed; DELETE FROM lockgate.seal WHERE n = 1", "Missing"),
    ] {
        let rest = sealed(cluster);
        let store = rest.store();
        put(&store, "later", b"x", "later").unwrap();
        assert!(store.seal_now().unwrap());
        assert!(store.verify().unwrap().verified.is_whole());
        drop(store);
        rest.sql(sql).unwrap();
        let problems = rest.store().verify().unwrap().verified.problems;
        assert!(problems.iter().any(|problem| format!("{:?}", problem.kind) == kind), "{sql}: {problems:?}");
    }
    // An older row with the records of that time, as a backup has them: only the seal knows better.
    let rest = cluster.database().unwrap();
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

fn nothing_that_was_told_is_lost_when_the_server_crashes(cluster: &Cluster) {
    // A server of its own: the others go on.
    let rest = cluster.database().unwrap();
    let stores: Vec<_> = (0..4).map(|_| rest.store()).collect();
    let (told, crashed) = thread::scope(|scope| {
        let writers: Vec<_> = stores
            .iter()
            .enumerate()
            .map(|(writer, store)| {
                scope.spawn(move || {
                    let mut told = 0;
                    while put(store, &format!("s{writer}"), b"x", &told.to_string()).is_ok() {
                        told += 1;
                    }
                    told
                })
            })
            .collect();
        thread::sleep(std::time::Duration::from_millis(500));
        let crashed = cluster.crash();
        (writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<usize>>(), crashed)
    });
    cluster.run_server().unwrap();
    crashed.unwrap();
    assert!(told.iter().sum::<usize>() > 0);
    let store = rest.store();
    for (writer, told) in told.iter().enumerate() {
        let stored: usize = rest
            .sql(&format!("SELECT count(*) FROM lockgate.record WHERE strand = 's{writer}'"))
            .unwrap()
            .parse()
            .unwrap();
        assert!(stored >= *told, "{stored} of {told}");
        // Gates go on without being started again.
        put(&stores[writer], &format!("s{writer}"), b"x", "again").unwrap();
    }
    store.seal_now().unwrap();
    assert!(store.verify().unwrap().verified.is_whole());
}

fn a_decision_from_before_a_halt_is_not_stored_after_it(cluster: &Cluster) {
    let rest = cluster.database().unwrap();
    let (gate, operator) = (rest.store(), rest.store());
    let open = gate.lock("s", Reach::Session).unwrap();
    let halt = RowWrite { shared_state: Some(b"halted"), ..RowWrite::default() };
    operator.lock("", Reach::SharedState).unwrap().write(&halt).unwrap();
    let entries = [entry("late")];
    let late = open.write(&RowWrite { session: Some(row(b"1", 1)), shared_state: None, entries: &entries });
    assert!(matches!(late, Err(StoreError::Conflict)));
    assert!(gate.lock("s", Reach::Look).unwrap().session().is_none());
    assert_eq!(gate.lock("s", Reach::Session).unwrap().shared_state(), Some(b"halted".as_slice()));
}

fn a_store_is_opened_only_with_its_own_key(cluster: &Cluster) {
    use lockgate_testkit::store_api::{PostgresOptions, StrandStore};
    let open = |url: &str| StrandStore::open_postgres(url, &PostgresOptions::default()).map(drop);
    let (one, other) = (cluster.database().unwrap(), cluster.database().unwrap());
    let key_of = |url: &str| url.split_once("key=").unwrap().1.to_owned();
    let with_key = |url: &str, key: &str| format!("{}key={key}", url.split_once("key=").unwrap().0);
    open(&one.url()).unwrap();
    open(&other.url()).unwrap();
    let told = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    assert!(told(open(&with_key(&one.url(), &key_of(&other.url())))).contains("belongs to another key"));
    assert!(told(open(&with_key(&one.url(), "/nowhere/store.key"))).contains("is not there"));
    // An empty database where a key says that there were sessions is not begun anew.
    let empty = cluster.database().unwrap();
    assert!(told(open(&with_key(&empty.url(), &key_of(&one.url())))).contains("restore the database"));
    one.sql("UPDATE lockgate.store SET form = 99").unwrap();
    assert!(told(open(&one.url())).contains("form 99"));
    assert!(told(open("postgres://gate@127.0.0.1:1/x?key=/nowhere")).contains("cannot be reached"));
}
