//! How long does it take to load and compile n rules?

use lockgate_bench::{by_regex, check_matches, check_tool, ruleset, source, when_then};

fn main() {
    divan::main();
}

/// From text to a policy in force, findings included.
#[divan::bench(args = [1, 10, 100, 1_000, 10_000])]
fn loading_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let source = source(n_rules);
    bencher.bench(|| lockgate::engine::languages::read(std::slice::from_ref(&source)));
}

/// The same for when/then rules, each with a regular expression.
#[divan::bench(args = [1, 10, 100, 1_000])]
fn loading_n_when_then_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let source = when_then(by_regex, n_rules);
    bencher.bench(|| lockgate::engine::languages::read(std::slice::from_ref(&source)));
}

/// The same for the check rules of a ruleset, each about a tool of its own.
#[divan::bench(args = [1, 10, 100, 1_000])]
fn loading_a_ruleset_of_n_plain_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let source = ruleset(check_tool, n_rules);
    bencher.bench(|| lockgate::engine::languages::read(std::slice::from_ref(&source)));
}

/// The same for the check rules of a ruleset, each with a regular expression.
#[divan::bench(args = [1, 10, 100, 1_000])]
fn loading_a_ruleset_of_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let source = ruleset(check_matches, n_rules);
    bencher.bench(|| lockgate::engine::languages::read(std::slice::from_ref(&source)));
}

/// The proof of each rule by itself.
#[divan::bench(args = [1, 10, 100, 1_000, 10_000])]
fn proving_each_of_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let (policy, _) = lockgate::engine::languages::read(&[source(n_rules)]);
    let policy = policy.unwrap_or_else(|| unreachable!("the bench policy has no mistakes"));
    bencher.bench(|| lockgate::engine::prover::verify(&policy));
}
