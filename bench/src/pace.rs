//! How time is kept: the same way in every runner, whatever its language.
//!
//! 1. Warm up for a quarter of the budget, at least once.
//! 2. Find how many times in a row take 50 µs or more; a power of two, so that the clock's own cost does not count.
//! 3. Take samples of that many in a row until the budget is used up and there are at least five of them, at most
//!    100,000. A sample is divided by how many it did.
//!
//! Where doing it leaves traces that make the next time slower, they are wiped away before each sample.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::job::Pace;

/// A sample shorter than this would measure the clock.
const SAMPLE_MIN: Duration = Duration::from_micros(50);

/// Fewer say nothing.
const SAMPLES_MIN: usize = 5;

/// More say nothing new.
const SAMPLES_MAX: usize = 100_000;

/// How long something takes.
pub fn pace<T>(budget: Duration, mut act: impl FnMut() -> T) -> Pace {
    pace_anew(budget, &mut (), |()| {}, |()| act())
}

/// How long something takes that leaves its traces: before each sample they are wiped away, and that is not timed.
pub fn pace_anew<S, T>(
    budget: Duration,
    state: &mut S,
    mut renew: impl FnMut(&mut S),
    mut act: impl FnMut(&mut S) -> T,
) -> Pace {
    let mut sample = |times: u32| {
        renew(state);
        let started = Instant::now();
        for _ in 0..times {
            black_box(act(state));
        }
        started.elapsed()
    };
    let started = Instant::now();
    loop {
        sample(1);
        if started.elapsed() >= budget / 4 {
            break;
        }
    }
    let mut times = 1;
    while sample(times) < SAMPLE_MIN {
        times *= 2;
    }
    let mut samples = Vec::new();
    let started = Instant::now();
    while samples.len() < SAMPLES_MIN || (started.elapsed() < budget && samples.len() < SAMPLES_MAX) {
        samples.push(sample(times).as_secs_f64() * 1e9 / f64::from(times));
    }
    of(samples)
}

/// What samples say, in nanoseconds each.
pub fn of(mut samples: Vec<f64>) -> Pace {
    samples.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (samples.len().saturating_sub(1) as f64 * share).round() as usize;
        samples.get(place).copied().unwrap_or_default()
    };
    Pace { min: at(0.0), median: at(0.5), p99: at(0.99), samples: samples.len() }
}
