//! How long does it take to mask what is sensitive?

use divan::counter::BytesCount;
use lockgate::engine::call::sensitive::{AttackPattern, Detectors, Mask, find_attack};

fn main() {
    divan::main();
}

const MEGABYTE: usize = 1024 * 1024;

/// A log of a megabyte, as tools write them, with something sensitive in one line of eight.
fn log() -> String {
    let lines = "2026-11-16T08:12:44Z INFO request 7f3c4b1e-9a54-4c1d-8f0e-2b6f1f0a9d33 took 18 ms, 200 OK\n\
        GET /api/v2/items?page=3&size=50 HTTP/1.1 user-agent=curl/8.5.0 bytes=48211 status: ok\n\
        src/main.rs:120:14: warning: unused variable `count`, commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
        Compiling serde v1.0.228 (12 of 341), cache hit ratio 0.8731, retries: 0, queue length: 17\n"
        .repeat(2)
        + "login of john.doe@example.com from 203.0.113.7 with password=hunter2\n";
    lines.repeat(MEGABYTE / lines.len() + 1)
}

#[divan::bench]
fn a_short_text_without_anything_sensitive() -> usize {
    Detectors::standard().find(divan::black_box("git commit -m 'fix: parse dates' && cargo test")).len()
}

#[divan::bench]
fn a_megabyte_of_log_is_searched(bencher: divan::Bencher<'_, '_>) {
    let log = log();
    bencher.counter(BytesCount::of_str(&log)).bench(|| Detectors::standard().find(divan::black_box(&log)));
}

#[divan::bench]
fn a_megabyte_of_log_is_masked(bencher: divan::Bencher<'_, '_>) {
    let log = log();
    let mask = |log: &str| Detectors::standard().mask_text(log, Mask::Edges).0.len();
    bencher.counter(BytesCount::of_str(&log)).bench(|| mask(divan::black_box(&log)));
}

/// Texts made to be slow: each is a megabyte of one part, again and again.
#[divan::bench(args = ["1 ", "4111 ", "eyJ-", "token=(", "cookie: ", "a@", "1:", "//"], sample_count = 3)]
fn a_megabyte_of_the_worst_is_masked(bencher: divan::Bencher<'_, '_>, part: &str) {
    let text = part.repeat(MEGABYTE / part.len());
    let mask = |text: &str| Detectors::standard().mask_text(text, Mask::Edges).0.len();
    bencher.counter(BytesCount::of_str(&text)).bench(|| mask(divan::black_box(&text)));
}

#[divan::bench(sample_count = 10)]
fn a_megabyte_of_log_is_searched_for_attacks(bencher: divan::Bencher<'_, '_>) {
    let log = log().replace('`', "'");
    let call = lockgate::engine::Call::new("1", "note").with("text", log.clone());
    let wanted = [
        AttackPattern::PathTraversal,
        AttackPattern::ShellInjection,
        AttackPattern::SqlInjection,
        AttackPattern::UrlScheme,
    ];
    bencher.counter(BytesCount::of_str(&log)).bench(|| find_attack(divan::black_box(&call.input), &wanted));
}
