//! What every backend promises, whatever it keeps its bytes in.
//!
//! [`CASES`] are the promises, each played on a fresh [`Rest`]; [`MemoryRest`] is the slow and obvious one, against
//! which the others are also compared on histories nobody thought of ([`Op`]). How much of it survives a power cut
//! is not asked here.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that is broken stops the test that asked for it"
)]

mod memory;
mod ops;
mod postgres;
mod redis;
mod shared;
mod sqlite;

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use lockgate::engine::{
    Time,
    gate::{Backend, Reach, RowWrite, SessionRow, StoreError, StoredAnswer},
};

pub use memory::MemoryRest;
pub use ops::{Op, histories, play};
pub use postgres::{Cluster, PostgresRest};
pub use redis::{RedisRest, RedisServer};
pub use shared::{SharedRest, SharedServer};
pub use sqlite::SqliteRest;

/// Somewhere that sessions rest, and the way to it.
pub trait Rest: Sync {
    /// A handle, as another process would have.
    fn open(&self) -> Box<dyn Backend>;

    /// Every entry of the audit log, in order, once whoever keeps it vouches that it is whole.
    fn audit_log(&self) -> Vec<String>;

    /// Forgets sessions that nobody has used since; how many.
    fn forget(&self, before: Time, entry: &str) -> u64;
}

/// A promise, by name, and how it is asked for.
pub type Case = (&'static str, fn(&dyn Rest));

/// The promises.
pub const CASES: &[Case] = &[
    ("a session nobody has used is empty", a_session_nobody_has_used_is_empty),
    ("what is written is what is read", what_is_written_is_what_is_read),
    ("what is let go changes nothing", what_is_let_go_changes_nothing),
    ("nobody loses an update", nobody_loses_an_update),
    ("whoever comes second waits or is told", whoever_comes_second_waits_or_is_told),
    ("who looks never waits", who_looks_never_waits),
    ("who looks sees one moment", who_looks_sees_one_moment),
    ("all is stored or nothing", all_is_stored_or_nothing),
    ("a reader cannot write", a_reader_cannot_write),
    ("the first answer stands", the_first_answer_stands),
    ("sessions are listed, the last used first", sessions_are_listed_the_last_used_first),
    ("what nobody has used since is forgotten", what_nobody_has_used_since_is_forgotten),
    (
        "a question that was answered late is not forgotten",
        a_question_that_was_answered_late_is_not_forgotten,
    ),
    ("the audit log is in the order of the commits", the_trail_is_in_the_order_of_the_commits),
    ("all is there for the next process", all_is_there_for_the_next_process),
];

/// How many threads there are where many are at work.
const THREADS: usize = 16;
/// How often each of them counts up.
const ROUNDS: u64 = 6;

/// An entry that says something.
pub fn entry(what: impl std::fmt::Display) -> String {
    format!(r#"{{"at":7,"session":"s","policy":"p","what":"operator","act":"{what}"}}"#)
}

fn resting(bytes: &[u8], clock: u64) -> SessionRow<'_> {
    SessionRow { bytes, clock: Time(clock), questions: 0 }
}

fn put(backend: &dyn Backend, session: &str, bytes: &[u8], clock: u64) -> Result<(), StoreError> {
    let write = RowWrite { session: Some(resting(bytes, clock)), ..RowWrite::default() };
    backend.lock(session, Reach::Session)?.write(&write)
}

fn look(backend: &dyn Backend, session: &str) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let row = backend.lock(session, Reach::Look).unwrap();
    (row.session().map(<[u8]>::to_vec), row.shared_state().map(<[u8]>::to_vec))
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(0, |bytes| String::from_utf8_lossy(bytes).parse().unwrap())
}

/// Counts a session up by one, and again from the beginning if somebody else was first.
fn count_up(backend: &dyn Backend, session: &str, reach: Reach) {
    loop {
        let row = backend.lock(session, reach).unwrap();
        let next = number(row.session()) + 1;
        let bytes = next.to_string();
        let entries = [entry(next)];
        let shared_state = (reach == Reach::SharedState).then_some(bytes.as_bytes());
        match row.write(&RowWrite {
            session: Some(resting(bytes.as_bytes(), next)),
            shared_state,
            entries: &entries,
        }) {
            Ok(()) => return,
            Err(StoreError::Conflict) => {}
            Err(error) => assert_eq!(error.to_string(), "no error"),
        }
    }
}

fn a_session_nobody_has_used_is_empty(rest: &dyn Rest) {
    let backend = rest.open();
    for reach in [Reach::Look, Reach::Session, Reach::SharedState] {
        let row = backend.lock("s", reach).unwrap();
        assert!(row.session().is_none() && row.shared_state().is_none());
    }
    assert!(backend.sessions().unwrap().is_empty() && backend.answer("s", 1).unwrap().is_none());
    assert!(rest.audit_log().is_empty());
}

fn what_is_written_is_what_is_read(rest: &dyn Rest) {
    let backend = rest.open();
    let long = "l".repeat(10_000);
    let names = ["s", "", " ", "é", "E\u{301}", "a\0b", "a", "'; DROP TABLE session; --", &long, "S"];
    let large: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    for (name, n) in names.iter().zip(0_u8..) {
        for bytes in [vec![], vec![0, n, 255], large.iter().map(|byte| byte ^ n).collect()] {
            put(&*backend, name, &bytes, 1).unwrap();
            assert_eq!(look(&*backend, name).0, Some(bytes));
        }
    }
    // Names that look alike are names of their own.
    for (name, n) in names.iter().zip(0_u8..) {
        assert_eq!(look(&*rest.open(), name).0.unwrap()[0], n, "{name}");
    }
    assert_eq!(backend.sessions().unwrap().len(), names.len());
}

fn what_is_let_go_changes_nothing(rest: &dyn Rest) {
    let backend = rest.open();
    put(&*backend, "s", b"1", 1).unwrap();
    for reach in [Reach::Look, Reach::Session, Reach::SharedState] {
        drop(backend.lock("s", reach).unwrap());
        drop(backend.lock("new", reach).unwrap());
    }
    // One who dies with a session in hand has let it go as well.
    let died = thread::scope(|scope| {
        let die = || {
            let _taken = backend.lock("s", Reach::SharedState).unwrap();
            std::panic::resume_unwind(Box::new("on purpose"));
        };
        scope.spawn(die).join().is_err()
    });
    assert!(died);
    assert_eq!(look(&*backend, "s"), (Some(b"1".to_vec()), None));
    assert_eq!(backend.sessions().unwrap().len(), 1);
    put(&*backend, "s", b"2", 2).unwrap();
    assert_eq!(look(&*rest.open(), "s").0.unwrap(), b"2");
}

fn nobody_loses_an_update(rest: &dyn Rest) {
    let handles: Vec<_> = (0..3).map(|_| rest.open()).collect();
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (start, backend) = (&start, &*handles[number % handles.len()]);
            let reach = if number.is_multiple_of(2) { Reach::Session } else { Reach::SharedState };
            scope.spawn(move || {
                start.wait();
                (0..ROUNDS).for_each(|_| count_up(backend, "s", reach));
            });
        }
    });
    assert_eq!(number(look(&*rest.open(), "s").0.as_deref()), THREADS as u64 * ROUNDS);
    assert_eq!(rest.audit_log().len() as u64, THREADS as u64 * ROUNDS);
}

fn whoever_comes_second_waits_or_is_told(rest: &dyn Rest) {
    let (first, second) = (rest.open(), rest.open());
    let row = first.lock("s", Reach::Session).unwrap();
    let next = (number(row.session()) + 1).to_string();
    let stored = thread::scope(|scope| {
        let other = scope.spawn(|| count_up(&*second, "s", Reach::Session));
        let stored = match row
            .write(&RowWrite { session: Some(resting(next.as_bytes(), 1)), ..RowWrite::default() })
        {
            Ok(()) => 1,
            Err(StoreError::Conflict) => 0,
            Err(error) => return Err(error),
        };
        other.join().unwrap();
        Ok(stored)
    });
    assert_eq!(number(look(&*first, "s").0.as_deref()), 1 + stored.unwrap());
}

fn who_looks_never_waits(rest: &dyn Rest) {
    let (writer, other) = (rest.open(), rest.open());
    put(&*writer, "s", b"1", 1).unwrap();
    let row = writer.lock("s", Reach::SharedState).unwrap();
    // Should somebody wait, this never ends: the writer lets go only afterwards.
    for backend in [&writer, &other] {
        assert_eq!(look(&**backend, "s").0.unwrap(), b"1");
        assert_eq!(backend.sessions().unwrap().len(), 1);
        assert!(backend.answer("s", 1).unwrap().is_none());
    }
    row.write(&RowWrite { session: Some(resting(b"2", 2)), ..RowWrite::default() }).unwrap();
    for backend in [&writer, &other] {
        assert_eq!(look(&**backend, "s").0.unwrap(), b"2");
    }
}

fn who_looks_sees_one_moment(rest: &dyn Rest) {
    let (writer, looker) = (rest.open(), rest.open());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..30).for_each(|_| count_up(&*writer, "s", Reach::SharedState));
            is_over.store(true, Ordering::Release);
        });
        let mut last = 0;
        while !is_over.load(Ordering::Acquire) {
            for backend in [&writer, &looker] {
                let (session, shared_state) = look(&**backend, "s");
                assert_eq!(session, shared_state);
                let seen = number(session.as_deref());
                assert!(seen >= last);
                last = seen;
            }
        }
    });
    assert_eq!(number(look(&*looker, "s").1.as_deref()), 30);
}

fn all_is_stored_or_nothing(rest: &dyn Rest) {
    let backend = rest.open();
    let row = backend.lock("s", Reach::SharedState).unwrap();
    let (session, good) = (Some(resting(b"1", 1)), [entry("good")]);
    row.write(&RowWrite { session, shared_state: Some(b"1"), entries: &good }).unwrap();
    let before = (look(&*backend, "s"), rest.audit_log());
    for bad in [
        "",
        "{",
        "[]",
        "7",
        "{}",
        "{\"at\":7} ",
        " {\"at\":7}",
        "{\"at\":7,\n\"x\":1}",
        "{\"at\":-1}",
        "{\"at\":7}{\"at\":7}",
    ] {
        let row = backend.lock("s", Reach::SharedState).unwrap();
        let entries = [entry("lost"), bad.to_owned()];
        let write = RowWrite { session: Some(resting(b"2", 2)), shared_state: Some(b"2"), entries: &entries };
        assert!(matches!(row.write(&write), Err(StoreError::Unavailable(_))), "{bad}");
        assert_eq!((look(&*backend, "s"), rest.audit_log()), before, "{bad}");
    }
    // A decision about one session changes no other.
    let row = backend.lock("s", Reach::Session).unwrap();
    let write =
        RowWrite { session: Some(resting(b"2", 2)), shared_state: Some(b"2"), entries: &[entry("lost")] };
    assert!(matches!(row.write(&write), Err(StoreError::Unavailable(_))));
    assert_eq!((look(&*backend, "s"), rest.audit_log()), before);
    // What is not put stays.
    backend
        .lock("s", Reach::SharedState)
        .unwrap()
        .write(&RowWrite { shared_state: Some(b"3"), ..RowWrite::default() })
        .unwrap();
    assert_eq!(look(&*backend, "s"), (Some(b"1".to_vec()), Some(b"3".to_vec())));
    backend.lock("other", Reach::SharedState).unwrap().write(&RowWrite::default()).unwrap();
    assert_eq!(look(&*backend, "other").0, None);
}

fn a_reader_cannot_write(rest: &dyn Rest) {
    let backend = rest.open();
    let write = RowWrite { session: Some(resting(b"1", 1)), shared_state: None, entries: &[entry("lost")] };
    backend.lock("s", Reach::Look).unwrap().write(&write).unwrap_err();
    assert!(look(&*backend, "s").0.is_none() && rest.audit_log().is_empty());
}

fn answer(granted: bool, by: &str, at: u64) -> StoredAnswer {
    StoredAnswer::unsigned(granted, by, Time(at))
}

fn the_first_answer_stands(rest: &dyn Rest) {
    let (backend, other) = (rest.open(), rest.open());
    let (no, yes) = (answer(false, "ann", 5), answer(true, "bob", 6));
    assert!(backend.keep_answer("s", 1, &no, &entry("no")).unwrap());
    assert!(!backend.keep_answer("s", 1, &yes, &entry("yes")).unwrap());
    assert!(!other.keep_answer("s", 1, &yes, &entry("yes")).unwrap());
    assert!(other.keep_answer("s", 2, &yes, &entry("yes")).unwrap());
    assert!(backend.keep_answer("t", 1, &yes, &entry("yes")).unwrap());
    backend.keep_answer("t", 3, &yes, "no entry").unwrap_err();
    for backend in [&backend, &other] {
        let kept = |session, number| backend.answer(session, number).unwrap();
        assert_eq!(kept("s", 1), Some(no.clone()));
        assert_eq!((kept("s", 2), kept("t", 1)), (Some(yes.clone()), Some(yes.clone())));
        assert_eq!((kept("t", 3), kept("s", 0)), (None, None));
    }
    assert_eq!(rest.audit_log(), [entry("no"), entry("yes"), entry("yes")]);
    // An answer makes no session.
    assert!(backend.sessions().unwrap().is_empty());
    // Many answer at once, and one of them counts.
    let kept: usize = thread::scope(|scope| {
        let keep = |n: usize| {
            let backend = if n.is_multiple_of(2) { &backend } else { &other };
            usize::from(backend.keep_answer("u", 1, &answer(n > 3, &n.to_string(), 9), &entry(n)).unwrap())
        };
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || keep(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(kept, 1);
    assert_eq!(rest.audit_log().last().unwrap(), &entry(backend.answer("u", 1).unwrap().unwrap().by));
}

fn sessions_are_listed_the_last_used_first(rest: &dyn Rest) {
    let backend = rest.open();
    for (name, clock, questions) in [("a", 5, 0), ("b", 9, 2), ("c", 7, 1), ("a", 8, 3)] {
        let session = Some(SessionRow { bytes: b"x", clock: Time(clock), questions });
        backend
            .lock(name, Reach::Session)
            .unwrap()
            .write(&RowWrite { session, ..RowWrite::default() })
            .unwrap();
    }
    let labels: Vec<_> = rest
        .open()
        .sessions()
        .unwrap()
        .into_iter()
        .map(|it| (it.session, it.clock.0, it.questions))
        .collect();
    assert_eq!(labels, [("b".to_owned(), 9, 2), ("a".to_owned(), 8, 3), ("c".to_owned(), 7, 1)]);
}

fn what_nobody_has_used_since_is_forgotten(rest: &dyn Rest) {
    let backend = rest.open();
    for (name, clock) in [("old", 1), ("older", 0), ("new", 10)] {
        put(&*backend, name, b"x", clock).unwrap();
        backend.keep_answer(name, 1, &answer(true, "ann", clock), &entry(name)).unwrap();
    }
    backend
        .lock("old", Reach::SharedState)
        .unwrap()
        .write(&RowWrite { shared_state: Some(b"kept"), ..RowWrite::default() })
        .unwrap();
    assert_eq!(rest.forget(Time(10), &entry("forget")), 2);
    assert_eq!(rest.forget(Time(10), &entry("forget")), 0);
    for name in ["old", "older"] {
        assert!(look(&*backend, name).0.is_none() && backend.answer(name, 1).unwrap().is_none());
    }
    assert_eq!(look(&*backend, "new"), (Some(b"x".to_vec()), Some(b"kept".to_vec())));
    assert!(backend.answer("new", 1).unwrap().is_some());
    assert_eq!(rest.audit_log().last().unwrap(), &entry("forget"));
}

fn a_question_that_was_answered_late_is_not_forgotten(rest: &dyn Rest) {
    let backend = rest.open();
    for (name, questions) in [("asks", 1), ("asked in vain", 1), ("asks no more", 0)] {
        let session = Some(SessionRow { bytes: b"x", clock: Time(1), questions });
        backend
            .lock(name, Reach::Session)
            .unwrap()
            .write(&RowWrite { session, ..RowWrite::default() })
            .unwrap();
    }
    for name in ["asks", "asks no more"] {
        backend.keep_answer(name, 1, &answer(true, "ann", 10), &entry(name)).unwrap();
    }
    assert_eq!(rest.forget(Time(10), &entry("forget")), 2);
    assert!(look(&*backend, "asks").0.is_some() && backend.answer("asks", 1).unwrap().is_some());
    assert_eq!(rest.forget(Time(11), &entry("forget")), 1);
    assert!(backend.answer("asks", 1).unwrap().is_none());
}

fn the_trail_is_in_the_order_of_the_commits(rest: &dyn Rest) {
    let handles: Vec<_> = (0..2).map(|_| rest.open()).collect();
    thread::scope(|scope| {
        for number in 0..4 {
            let backend = &*handles[number % handles.len()];
            scope.spawn(move || (0..5).for_each(|_| count_up(backend, "s", Reach::Session)));
        }
    });
    assert_eq!(rest.audit_log(), (1..=20).map(entry).collect::<Vec<_>>());
}

fn all_is_there_for_the_next_process(rest: &dyn Rest) {
    let backend = rest.open();
    count_up(&*backend, "s", Reach::SharedState);
    backend.keep_answer("s", 1, &answer(true, "ann", 1), &entry("yes")).unwrap();
    drop(backend);
    let backend = rest.open();
    assert_eq!(look(&*backend, "s"), (Some(b"1".to_vec()), Some(b"1".to_vec())));
    assert_eq!(backend.answer("s", 1).unwrap(), Some(answer(true, "ann", 1)));
    count_up(&*backend, "s", Reach::Session);
    assert_eq!(rest.audit_log(), [entry(1), entry("yes"), entry(2)]);
}
