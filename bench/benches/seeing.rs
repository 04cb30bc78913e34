//! How long does it take to see what a call will do?

use lockgate::engine::{
    Call,
    call::{hosts, paths, read_script},
};
use lockgate_bench::work::SCRIPT_STEP;

fn main() {
    divan::main();
}

const TYPICAL: &str = "git push origin main";

/// A build script of about 4 KB, as agents write them.
fn long() -> String {
    SCRIPT_STEP.repeat(4096 / SCRIPT_STEP.len() + 1)
}

#[divan::bench]
fn a_typical_command_is_seen() -> lockgate::engine::call::Script {
    read_script(divan::black_box(TYPICAL))
}

#[divan::bench]
fn a_wrapped_command_is_seen() -> lockgate::engine::call::Script {
    read_script(divan::black_box("sudo timeout 5 bash -c 'cd /srv && rm -rf data'"))
}

#[divan::bench]
fn a_script_of_4_kb_is_seen(bencher: divan::Bencher<'_, '_>) {
    let script = long();
    bencher.bench(|| read_script(divan::black_box(&script)));
}

#[divan::bench]
fn the_paths_and_hosts_of_a_typical_call_are_seen(bencher: divan::Bencher<'_, '_>) {
    let call = Call::new("1", "bash").with("command", "curl -s https://example.com/x -o build/x");
    bencher.bench(|| (paths(divan::black_box(&call)), hosts(divan::black_box(&call))));
}
