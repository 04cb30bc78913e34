//! How long does it take to load and compile n rules?

use lockgate::Policy;
use lockgate_bench::source;

fn main() {
    divan::main();
}

/// From text to a policy in force, findings included.
#[divan::bench(args = [1, 10, 100, 1_000, 10_000])]
fn loading_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let source = source(n_rules);
    bencher.bench(|| Policy::read(std::slice::from_ref(&source)));
}

/// The proof of each rule by itself.
#[divan::bench(args = [1, 10, 100, 1_000, 10_000])]
fn proving_each_of_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let (policy, _) = Policy::read(&[source(n_rules)]);
    let policy = policy.unwrap_or_else(|| unreachable!("the bench policy has no mistakes"));
    bencher.bench(|| lockgate::policy::verify(&policy));
}
