//! How long does one call wait behind n rules?

use std::cell::RefCell;

use lockgate::engine::{
    Call, Gate, Outcome, Policy, SeenCall, Session,
    gate::{Human, Rulebook, judge, settle},
};
use lockgate_bench::{call, source};

fn main() {
    divan::main();
}

const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];

fn policy(n_rules: usize) -> Policy {
    let (policy, _) = lockgate::engine::languages::read(&[source(n_rules)]);
    policy.unwrap_or_else(|| unreachable!("the bench policy has no mistakes"))
}

/// Judge and commit in memory: everything between asking and being allowed to answer. The result that ends the
/// call comes between two measurements, so the session is always in the middle of its work.
#[divan::bench(args = SIZES, sample_size = 1, sample_count = 20_000)]
fn one_call_waits_behind_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let rulebook = Rulebook::new(policy(n_rules));
    let session = RefCell::new(Session::default());
    let call = SeenCall::from(call());
    let outcome = Outcome { id: call.id.clone(), ok: true, ..Outcome::default() };
    let settled = || {
        let mut session = session.borrow_mut();
        let settlement = settle(&rulebook, &*session, &outcome);
        settlement.events.iter().for_each(|event| session.apply(event));
    };
    bencher.with_inputs(settled).bench_local_values(|()| {
        let mut session = session.borrow_mut();
        let judgement = judge(&rulebook, &*session, &call, Human::Absent);
        judgement.events.iter().for_each(|event| session.apply(event));
        judgement
    });
}

/// The whole way through a gate with its store: the call, the verdict, the tool's result.
#[divan::bench(args = SIZES)]
fn a_call_and_its_result_pass_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let gate = Gate::new(policy(n_rules));
    let call = SeenCall::from(call());
    let outcome =
        Outcome { session: call.session.clone(), id: call.id.clone(), ok: true, ..Outcome::default() };
    bencher.bench_local(|| (gate.call(&call), gate.result(&outcome)));
}

/// A tool no rule knows.
#[divan::bench(args = SIZES)]
fn an_unknown_tool_waits_behind_n_rules(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let rulebook = Rulebook::new(policy(n_rules));
    let call = SeenCall::from(Call::new("call-1", "read_file").with("path", "README.md"));
    let session = Session::default();
    bencher.bench_local(|| judge(&rulebook, &session, &call, Human::Absent));
}
