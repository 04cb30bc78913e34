//! What holds for every store that gates share.

use std::{sync::Barrier, thread, time::Duration};

use lockgate_testkit::{
    contract::{CASES, MemoryRest, Rest as _, SharedRest, SharedServer, entry, histories, play},
    store_api::{Backend, Query, Reach, RowWrite, SessionRow, StoreError, StoredAnswer, StrandStore, Time},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// How many histories are played on the store and in memory.
const HISTORIES: usize = 40;

type Test = (&'static str, fn(&dyn SharedServer));

/// The tests of a server.
pub(crate) const TESTS: &[Test] = &[
    ("it does what memory does", it_does_what_memory_does),
    (
        "sixteen gates admit exactly as many calls as there are",
        sixteen_gates_admit_exactly_as_many_calls_as_there_are,
    ),
    ("a reader that follows the log misses no record", a_reader_that_follows_the_log_misses_no_record),
    ("the log is one for its readers", the_log_is_one_for_its_readers),
    ("a store is verified while gates write", a_store_is_verified_while_gates_write),
    (
        "nothing that was told is lost when the server crashes",
        nothing_that_was_told_is_lost_when_the_server_crashes,
    ),
    (
        "a decision from before a halt is not stored after it",
        a_decision_from_before_a_halt_is_not_stored_after_it,
    ),
    ("the key of a human is recorded once", the_key_of_a_human_is_recorded_once),
];

/// Plays the promises of all backends.
pub(crate) fn promises(server: &dyn SharedServer, test: &mut dyn FnMut(&str, &dyn Fn())) {
    for (promise, case) in CASES {
        test(promise, &|| case(&server.database().unwrap()));
    }
}

pub(crate) fn row(bytes: &[u8], clock: u64) -> SessionRow<'_> {
    SessionRow { bytes, clock: Time(clock), questions: 0 }
}

pub(crate) fn put(backend: &dyn Backend, session: &str, bytes: &[u8], what: &str) -> Result<(), StoreError> {
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

fn it_does_what_memory_does(server: &dyn SharedServer) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..HISTORIES {
        let ops = histories().new_tree(&mut runner).unwrap().current();
        let expected = play(&MemoryRest::default(), &ops);
        assert_eq!(play(&server.database().unwrap(), &ops), expected, "{ops:?}");
    }
}

fn sixteen_gates_admit_exactly_as_many_calls_as_there_are(server: &dyn SharedServer) {
    const GATES: usize = 16;
    const CLIENTS: usize = 64;
    const LIMIT: u64 = 1_000;
    let rest = server.database().unwrap();
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

fn a_reader_that_follows_the_log_misses_no_record(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
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

fn a_store_is_verified_while_gates_write(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
    let (gate, auditor) = (rest.store(), rest.store());
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..400 {
                put(&gate, &format!("s{}", n % 3), b"x", &n.to_string()).unwrap();
                if n % 50 == 0 {
                    gate.seal_now().unwrap();
                    let halt = RowWrite { shared_state: Some(b"x"), ..RowWrite::default() };
                    gate.lock("", Reach::SharedState).unwrap().write(&halt).unwrap();
                }
            }
        });
        while !writer.is_finished() {
            let problems = auditor.verify().unwrap().verified.problems;
            assert!(problems.is_empty(), "{problems:?}");
        }
    });
}

fn nothing_that_was_told_is_lost_when_the_server_crashes(server: &dyn SharedServer) {
    // A server of its own: the others go on.
    let rest = server.database().unwrap();
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
        thread::sleep(Duration::from_millis(500));
        let crashed = server.crash();
        (writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<usize>>(), crashed)
    });
    server.run_server().unwrap();
    crashed.unwrap();
    assert!(told.iter().sum::<usize>() > 0);
    let store = rest.store();
    let links: Vec<_> = store.records(Default::default(), None, u32::MAX).unwrap();
    for (writer, told) in told.iter().enumerate() {
        let stored = links.iter().filter(|record| record.strand == format!("s{writer}")).count();
        assert!(stored >= *told, "{stored} of {told}");
        // Gates go on without being started again.
        put(&stores[writer], &format!("s{writer}"), b"x", "again").unwrap();
    }
    store.seal_now().unwrap();
    assert!(store.verify().unwrap().verified.is_whole());
}

fn a_decision_from_before_a_halt_is_not_stored_after_it(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
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

fn the_log_is_one_for_its_readers(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
    let store = rest.store();
    for n in 0..40 {
        put(&store, &format!("s{}", n % 3), b"x", &n.to_string()).unwrap();
    }
    let whole: Vec<_> = store.audit_log(Query::default()).map(|link| link.unwrap()).collect();
    assert!(whole.len() == 40 && whole.windows(2).all(|pair| pair[0].n < pair[1].n));
    let after = Query { after_n: whole[9].n, limit: Some(5), ..Query::default() };
    assert_eq!(store.audit_log(after).map(|link| link.unwrap()).collect::<Vec<_>>(), whole[10..15]);
    let none = Query { session: Some("t".to_owned()), ..Query::default() };
    assert_eq!(store.audit_log(none).count(), 0);
    let (mut newest, mut before) = (Vec::new(), None);
    loop {
        let (links, next) = store.newest(&Query::default(), before, 7).unwrap();
        newest.extend(links);
        before = next;
        if before.is_none() {
            break;
        }
    }
    newest.reverse();
    assert_eq!(newest, whole);
}

fn the_key_of_a_human_is_recorded_once(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
    let (one, other) = (rest.store(), rest.store());
    assert_eq!(one.human_key().unwrap(), None);
    assert!(one.replace_human_key(None, &[1; 32], &entry("key")).unwrap());
    assert!(!other.replace_human_key(None, &[2; 32], &entry("key")).unwrap());
    let halt = RowWrite { shared_state: Some(b"halted"), ..RowWrite::default() };
    other.lock("", Reach::SharedState).unwrap().write(&halt).unwrap();
    assert_eq!(other.human_key().unwrap(), Some([1; 32]));
    assert!(other.replace_human_key(Some(&[1; 32]), &[2; 32], &entry("key")).unwrap());
    assert_eq!(one.human_key().unwrap(), Some([2; 32]));
    assert_eq!(one.lock("s", Reach::Look).unwrap().shared_state(), Some(b"halted".as_slice()));
}

/// A store with one session of three records, an answer and a shared state under a seal.
pub(crate) fn fill(rest: &dyn SharedRest) {
    let store = rest.store();
    for n in 1..=3 {
        put(&store, "s", n.to_string().as_bytes(), &n.to_string()).unwrap();
    }
    store.keep_answer("s", 1, &StoredAnswer::unsigned(false, "ann", Time(5)), &entry("no")).unwrap();
    let shared = RowWrite { shared_state: Some(b"shared"), ..RowWrite::default() };
    store.lock("s", Reach::SharedState).unwrap().write(&shared).unwrap();
    seal(&store);
}

/// Seals all there is. Each store does so by itself every second and may be at it, so this looks until that has ended.
pub(crate) fn seal(store: &StrandStore) {
    let mut idle = 0;
    while idle < 8 {
        idle = if store.seal_now().unwrap() { 0 } else { idle + 1 };
        thread::sleep(Duration::from_millis(50));
    }
}
