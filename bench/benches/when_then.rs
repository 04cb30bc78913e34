//! How long does one call wait behind n rules that look at calls, and what does a session cost in memory?
//!
//! The column `max alloc` of [`a_session_after_n_calls`] is the memory one session takes: it must not grow with
//! the number of calls.

use divan::AllocProfiler;
use lockgate::engine::{
    Call, SeenCall, Session, Source, Time,
    gate::{Human, Rulebook, judge},
};
use lockgate_bench::{
    by_pattern, by_regex, by_tool, by_word, check_contains, check_matches, check_tool, ruleset, when_then,
};

#[global_allocator]
static ALLOCATOR: AllocProfiler<std::alloc::System> = AllocProfiler::system();

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [10, 100, 1_000];

fn rulebook(source: &Source) -> Rulebook {
    let (policy, findings) = lockgate::engine::languages::read(std::slice::from_ref(source));
    Rulebook::new(policy.unwrap_or_else(|| unreachable!("the bench policy has no mistakes: {findings:?}")))
}

fn wait(bencher: divan::Bencher<'_, '_>, rule: fn(usize) -> String, n_rules: usize, call: &Call) {
    let rulebook = rulebook(&when_then(rule, n_rules));
    let session = Session::default();
    let call = call.clone().into();
    bencher.bench_local(|| judge(&rulebook, &session, &call, Human::Absent));
}

const COMMAND: &str =
    "cargo test --workspace --all-features -- --nocapture 2>&1 | tee target/test.log | tail -20";

#[divan::bench(args = SIZES)]
fn per_tool_matches_the_first(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait(bencher, by_tool, n_rules, &Call::new("1", "tool_0").with("command", "rm -rf /x0"));
}

#[divan::bench(args = SIZES)]
fn per_tool_matches_the_last(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let last = n_rules - 1;
    let call = Call::new("1", format!("tool_{last}")).with("command", format!("rm -rf /x{last}"));
    wait(bencher, by_tool, n_rules, &call);
}

#[divan::bench(args = SIZES)]
fn per_tool_matches_none(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait(bencher, by_tool, n_rules, &Call::new("1", "tool_0").with("command", COMMAND));
}

#[divan::bench(args = SIZES)]
fn regexes_on_one_tool_match_the_last(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    let last = n_rules - 1;
    wait(bencher, by_regex, n_rules, &Call::new("1", "exec").with("command", format!("rm -rf /x{last}")));
}

#[divan::bench(args = SIZES)]
fn regexes_on_one_tool_match_none(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait(bencher, by_regex, n_rules, &Call::new("1", "exec").with("command", COMMAND));
}

#[divan::bench(args = SIZES)]
fn words_on_every_tool_match_none(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait(bencher, by_word, n_rules, &Call::new("1", "exec").with("command", COMMAND));
}

#[divan::bench(args = SIZES)]
fn patterns_of_tools_match_none(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait(bencher, by_pattern, n_rules, &Call::new("1", "exec").with("command", COMMAND));
}

fn wait_ruleset(bencher: divan::Bencher<'_, '_>, rule: fn(usize) -> String, n_rules: usize, call: &Call) {
    let rulebook = rulebook(&ruleset(rule, n_rules));
    let session = Session::default();
    let call = call.clone().into();
    bencher.bench_local(|| judge(&rulebook, &session, &call, Human::Absent));
}

#[divan::bench(args = SIZES)]
fn ruleset_contains_on_every_tool(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait_ruleset(bencher, check_contains, n_rules, &Call::new("1", "exec").with("command", COMMAND));
}

#[divan::bench(args = SIZES)]
fn ruleset_matches_on_every_tool(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait_ruleset(bencher, check_matches, n_rules, &Call::new("1", "exec").with("command", COMMAND));
}

#[divan::bench(args = SIZES)]
fn ruleset_per_tool(bencher: divan::Bencher<'_, '_>, n_rules: usize) {
    wait_ruleset(bencher, check_tool, n_rules, &Call::new("1", "tool_0").with("command", COMMAND));
}

/// A session with chains and counters after n calls, each settled.
#[divan::bench(args = [1, 100, 10_000], sample_size = 1, sample_count = 10)]
fn a_session_after_n_calls(bencher: divan::Bencher<'_, '_>, n_calls: usize) {
    let text = "rules:
  - {id: storm, when: {tool: exec, chain: [{tool: exec, within_seconds: 10, min_count: 50}]}, then: block}
  - {id: exfiltration, when: {tool: send, chain: [{tool: read_.*, within_seconds: 3600}]}, then: block}
  - {id: quota, when: {tool: read_db, session: {tool_count.read_db: {gt: 100000}}}, then: block}
";
    let rulebook = rulebook(&Source::new("bench.yaml", text));
    let tools = ["exec", "read_db", "other"];
    bencher.bench_local(|| {
        let mut session = Session::default();
        for (number, tool) in (0..n_calls).zip(tools.into_iter().cycle()) {
            let call = SeenCall::from(Call::new(number.to_string(), tool).at(Time(number as u64 * 1000)));
            let judgement = judge(&rulebook, &session, &call, Human::Absent);
            judgement.events.iter().for_each(|event| session.apply(event));
            let outcome =
                lockgate::engine::Outcome { at: call.at, ..lockgate::engine::Outcome::success(&call) };
            let settlement = lockgate::engine::gate::settle(&rulebook, &session, &outcome);
            settlement.events.iter().for_each(|event| session.apply(event));
        }
        session
    });
}
