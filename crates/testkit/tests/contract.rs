//! Every backend keeps what every backend promises.

use lockgate_store::Durability;
use lockgate_testkit::contract::{CASES, MemoryRest, Rest, SqliteRest, histories, play};
use proptest::prelude::*;

fn keeps_all_promises<R: Rest>(make: impl Fn() -> R) {
    for (promise, case) in CASES {
        let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&make())));
        assert!(kept.is_ok(), "a promise is broken: {promise}");
    }
}

#[test]
fn memory_keeps_all_promises() {
    keeps_all_promises(MemoryRest::default);
}

#[test]
fn sqlite_keeps_all_promises() {
    keeps_all_promises(|| SqliteRest::new(Durability::Full));
}

#[test]
fn sqlite_keeps_all_promises_when_it_writes_without_waiting_for_the_disk() {
    keeps_all_promises(|| SqliteRest::new(Durability::Normal));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sqlite_does_what_memory_does(ops in histories()) {
        let expected = play(&MemoryRest::default(), &ops);
        let found = play(&SqliteRest::new(Durability::Normal), &ops);
        prop_assert_eq!(found, expected);
    }
}
