//! How long does it take to visit every marking of a net, and how much memory does that need?
//!
//! The nets are the yardsticks of everybody who does this. Memory does not change from run to run: it is printed
//! once, before anything is measured.

#![allow(clippy::print_stdout, reason = "a bench talks to whoever started it")]

use std::time::Instant;

use divan::counter::ItemsCount;
use lockgate::engine::petri::{Exploration, Limits, Net, StateSpace, explore};
use lockgate_testkit::yardsticks::{YARDSTICKS, Yardstick};

const ALL: Limits = Limits { states_max: usize::MAX, depth_max: usize::MAX };

/// The nets to measure on.
const MEASURED: [(&str, u64); 7] = [
    ("kanban", 5),
    ("philosophers", 10),
    ("workshop", 5),
    ("shared-memory", 10),
    ("swimming-pool", 2),
    ("dekker", 15),
    ("token-ring", 10),
];

fn main() {
    for yardstick in MEASURED.map(yardstick) {
        let net = (yardstick.family)(yardstick.size);
        let start = Instant::now();
        let space = explored(&net, yardstick);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{:>13}-{:<2} {:>9} markings {:>11.0} a second {:>5.1} bytes each",
            yardstick.name,
            yardstick.size,
            space.states(),
            space.states() as f64 / seconds,
            space.bytes() as f64 / space.states() as f64
        );
    }
    divan::main();
}

fn yardstick((name, size): (&str, u64)) -> &'static Yardstick {
    let is_it = |yardstick: &&Yardstick| yardstick.name == name && yardstick.size == size;
    YARDSTICKS.iter().find(is_it).unwrap_or_else(|| unreachable!("no yardstick {name}-{size}"))
}

fn explored<'a>(net: &'a Net, yardstick: &Yardstick) -> StateSpace<'a> {
    let space = explore(net, ALL);
    assert_eq!(space.states(), yardstick.markings, "a fast answer that is wrong is worth nothing");
    space
}

/// All markings and firings; shown as markings a second.
#[divan::bench(args = MEASURED, sample_count = 3, sample_size = 1)]
fn visiting_every_marking(bencher: divan::Bencher<'_, '_>, which: &(&str, u64)) {
    let yardstick = yardstick(*which);
    let net = (yardstick.family)(yardstick.size);
    bencher.counter(ItemsCount::new(yardstick.markings)).bench(|| explored(&net, yardstick).edges());
}

/// The same, and then whether every transition stays possible for ever.
#[divan::bench(args = [("kanban", 5), ("philosophers", 10), ("dekker", 15)], sample_count = 3, sample_size = 1)]
fn asking_what_can_be_lost(bencher: divan::Bencher<'_, '_>, which: &(&str, u64)) {
    let yardstick = yardstick(*which);
    let net = (yardstick.family)(yardstick.size);
    bencher
        .counter(ItemsCount::new(yardstick.markings))
        .bench(|| Exploration::new(&net, ALL).keeping_firings().run().lost_transitions());
}
