//! Sentences say what rules of the other languages say: each is translated into both, and all three judge alike.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use lockgate::engine::{Call, Decision, Gate, Outcome, Severity, Source, Time};
use serde_json::{Value, json};

/// The words of a test: in a sentence, in when/then, in a ruleset.
const TESTS: [(&str, &str, &str); 13] = [
    ("is b", "eq: b", "equals: b"),
    ("is 5", "eq: 5", "equals: 5"),
    ("is a, b or c", "in: [a, b, c]", "in: [a, b, c]"),
    ("is over 5", "gt: 5", "gt: 5"),
    ("is at least 5", "gte: 5", "gte: 5"),
    ("is under 5", "lt: 5", "lt: 5"),
    ("is at most 5", "lte: 5", "lte: 5"),
    ("starts with \"ab\"", "starts_with: ab", "starts_with: ab"),
    ("ends with \"ab\"", "ends_with: ab", "ends_with: ab"),
    ("contains \"ab\"", "contains: ab", "contains: ab"),
    ("matches /a.b/", "regex: a.b", "matches: a.b"),
    ("is present", "exists: true", "exists: true"),
    ("is missing", "exists: false", "exists: false"),
];

#[test]
fn a_test_in_three_languages_judges_alike() {
    let numbers = [json!(4), json!(5), json!(6), json!(5.0), json!(5.5)];
    let texts = [json!("a"), json!("b"), json!("abx"), json!("xab"), json!("xabx"), json!("axb"), json!("")];
    let mut compared = 0;
    for (sentence, when_then, ruleset) in TESTS {
        // What a number is to a test of texts differs between the languages, and so does the opposite.
        let is_of_numbers = sentence.contains('5');
        let is_of_both = sentence.ends_with("present") || sentence.ends_with("missing");
        let values: Vec<Option<Value>> = numbers
            .iter()
            .filter(|_| is_of_numbers || is_of_both)
            .chain(texts.iter().filter(|_| !is_of_numbers || is_of_both))
            .cloned()
            .map(Some)
            .chain([None])
            .collect();
        for (verb, verdict) in [("block", "block"), ("ask about", "ask")] {
            let then = if verdict == "ask" { "approve" } else { verdict };
            let gates = [
                gate("a.rules", &format!("{verb} t when x {sentence}")),
                gate(
                    "b.yaml",
                    &format!(
                        "rules:\n  - {{id: r, when: {{tool: t, args_match: {{x: {{{when_then}}}}}}}, then: {then}}}\n"
                    ),
                ),
                gate(
                    "c.yaml",
                    &format!(
                        "{RULESET}  - {{id: r, type: pre, tool: t, when: {{args.x: {{{ruleset}}}}}, then: {{action: {verdict}, message: m}}}}\n"
                    ),
                ),
            ];
            for value in &values {
                let decisions = gates.each_ref().map(|gate| decide(gate, "t", value.as_ref(), 0));
                assert!(
                    decisions.iter().all(|it| *it == decisions[0]),
                    "{verb} x {sentence}, {value:?}: {decisions:?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "{compared}");
}

const RULESET: &str =
    "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: a}\ndefaults: {mode: enforce}\nrules:\n";

/// Policies that remember: a sentence, the same in another language, and the tools of a session with their seconds.
#[test]
fn a_memory_in_two_languages_judges_alike() {
    let rows = [
        ("limit a to 2 per 10 seconds", "rate_limits: [{tool: a, max_calls: 2, window_seconds: 10}]"),
        (
            "limit a to 2 per 10 seconds over all sessions",
            "rate_limits: [{tool: a, max_calls: 2, window_seconds: 10, per_session: false}]",
        ),
        (
            "block b after a within 5 seconds",
            "rules: [{id: r, when: {tool: b, chain: [{tool: a, within_seconds: 5}]}, then: block}]",
        ),
        (
            "block b after 2 a within 5 seconds",
            "rules: [{id: r, when: {tool: b, chain: [{tool: a, within_seconds: 5, min_count: 2}]}, then: block}]",
        ),
        (
            "allow a\nallow b after a within 5 seconds\notherwise block",
            "default_verdict: block\nrules:\n  - {id: a, when: {tool: a}, then: allow}\n  - {id: r, when: {tool: b, chain: [{tool: a, within_seconds: 5}]}, then: allow}",
        ),
    ];
    for (sentence, when_then) in rows {
        // Every session of six steps, each of which calls `a`, calls `b`, or waits.
        for number in 0..3_u32.pow(6) {
            let gates = [gate("a.rules", sentence), gate("b.yaml", &format!("{when_then}\n"))];
            let mut second = 0;
            for step in 0..6 {
                match number / 3_u32.pow(step) % 3 {
                    0 => second += 5,
                    choice => {
                        let tool = if choice == 1 { "a" } else { "b" };
                        let [one, other] = gates.each_ref().map(|gate| decide(gate, tool, None, second));
                        assert_eq!(
                            one, other,
                            "{sentence}: session {number}, step {step} ({tool} at {second} s)"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn lines_that_cannot_be_meant_name_the_closest_that_can() {
    let rows = [
        ("limit search to 5 per hour when x is 1", "`1 hour`"),
        ("limit search to 5 per 10 hour please", "order"),
        ("block backup(path) when x is 1", "for each path"),
        ("block a,b when x is 1", "`a, b`"),
        ("block a when x is 1 or y is 2", "`block a when y is 2`"),
        ("block a whne x is 1", "`when`"),
        ("block a because no quotes", "`block a because \"no quotes\"`"),
        ("block a when x is over many", "digits"),
        ("keep a within ./src", "inside"),
        ("a.b must bee 3", "must be"),
        ("otherwise refuse", "otherwise block"),
        ("block a outside ofice", "hours"),
        ("block a after b within 5", "minutes"),
        ("tools = a, b", "tools"),
        ("block * when x is 1", "any call"),
    ];
    for (line, remedy) in rows {
        let (_, found) = lockgate::engine::languages::read(&[Source::new("a.rules", line)]);
        let mistakes: Vec<_> = found.iter().filter(|it| it.severity == Severity::Error).collect();
        assert!(!mistakes.is_empty(), "{line}: no mistake");
        let told: Vec<String> = mistakes
            .iter()
            .map(|it| format!("{} {} {}", it.message, it.label, it.remedy.clone().unwrap_or_default()))
            .collect();
        assert!(told.iter().any(|told| told.contains(remedy)), "{line}: {told:?}");
    }
}

#[track_caller]
fn gate(name: &str, text: &str) -> Gate {
    let (policy, found) = lockgate::engine::languages::read(&[Source::new(name, text)]);
    let mistakes: Vec<_> = found.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(mistakes.is_empty(), "{text}: {mistakes:?}");
    Gate::builder(policy.unwrap()).build().unwrap()
}

fn decide(gate: &Gate, tool: &str, value: Option<&Value>, second: u64) -> Decision {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("c{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut call = Call::new(id.as_str(), tool).in_session("s").at(Time(1_767_225_600_000 + second * 1000));
    if let Some(value) = value {
        call = call.with("x", value.clone());
    }
    let verdict = gate.call(&call);
    if verdict.decision < Decision::Ask {
        gate.result(&Outcome::success(&call)).unwrap();
    }
    verdict.decision
}
