//! Whatever befalls processes and stores, the sessions are those of the naive model.

#![expect(clippy::panic, reason = "the story of a seed that fails is what stops the test")]

use lockgate_store::Durability;
use lockgate_testkit::{
    contract::{MemoryRest, Rest, SqliteRest},
    simulator::simulate,
};

/// More of them: `cargo run -p lockgate-testkit --bin simulate -- 100000`.
const SEEDS: u64 = 500;

fn all_seeds(rest: impl Fn() -> Box<dyn Rest>) {
    for seed in 0..SEEDS {
        if let Err(story) = simulate(seed, &*rest()) {
            panic!("{story}");
        }
    }
}

#[test]
fn sessions_in_memory_are_those_of_the_model() {
    all_seeds(|| Box::new(MemoryRest::default()));
}

#[test]
fn sessions_in_sqlite_are_those_of_the_model() {
    // A power cut is not played, so nothing needs to wait for the disk.
    all_seeds(|| Box::new(SqliteRest::new(Durability::Normal)));
}
