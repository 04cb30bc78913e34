//! Claims and examples that must not be believed: each row is a policy, and what must become of its claims.
//!
//! What the gate lets pass in one call is shown beside it, so that no row rests on the prover's word.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop a test")]

use lockgate_call::Call;
use lockgate_gate::{Gate, Rulebook};
use lockgate_policy::{Policy, Source};
use lockgate_prover::prove;

fn policy(files: &[(&str, &str)]) -> Policy {
    let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
    lockgate_languages::read(&sources).0.unwrap()
}

fn proved(files: &[(&str, &str)]) -> Vec<(String, Option<bool>)> {
    let claims = prove(&Rulebook::new(policy(files))).claims;
    claims
        .iter()
        .map(|it| (it.report.claim.source.slice(it.report.claim.span).to_owned(), it.report.holds))
        .collect()
}

/// Plays calls that succeed, and says whether all of them were let pass.
fn passes(files: &[(&str, &str)], calls: &[&str]) -> bool {
    let gate = Gate::new(policy(files));
    calls.iter().enumerate().all(|(number, tool)| {
        let call = Call::new(format!("c{number}").as_str(), *tool);
        let passes = gate.call(&call).lets_pass();
        gate.result(&lockgate_gate::Outcome::success(&call)).unwrap();
        passes
    })
}

#[test]
fn no_claim_is_proved_that_a_session_breaks() {
    let mut believed = Vec::new();
    for (rules, calls) in [
        // Nobody but the claim knows the name: such a tool is open.
        ("block other\nclaim pay impossible", &["pay"][..]),
        ("block other\nclaim at most 1 pay", &["pay", "pay"]),
        ("require login before pay\nclaim never pay after read", &["read", "login", "pay"]),
        ("require login before pay\nclaim never read and pay in one session", &["read", "login", "pay"]),
        ("block other\nclaim never pay before login", &["pay"]),
        // What a rule watches it never refuses, itself included.
        ("require test before test\nclaim test impossible", &["test"]),
        ("limit send to 1 per send\nclaim at most 1 send", &["send", "send"]),
    ] {
        let files = [("policy.rules", rules)];
        assert!(passes(&files, calls), "{rules}");
        let wrong = proved(&files).into_iter().filter(|(_, holds)| *holds == Some(true));
        believed.extend(wrong.map(|(claim, _)| format!("{rules}: `{claim}` is broken by {calls:?}")));
    }
    assert!(believed.is_empty(), "{believed:#?}");
}

#[test]
fn a_tool_that_only_a_rule_without_conditions_knows_is_known() {
    let blocked = ("a.yaml", "rules:\n  - {id: no-pay, when: {tool: pay}, then: block}\n");
    let asked = ("a.yaml", "rules:\n  - {id: ask-pay, when: {tool: pay}, then: approve}\n");
    assert!(!passes(&[blocked], &["pay"]));
    for (file, claim, holds) in [
        (blocked, "claim pay possible", Some(false)),
        (blocked, "claim pay impossible", Some(true)),
        (asked, "claim human before pay", Some(true)),
    ] {
        let claims = format!("block other\n{claim}");
        let came: Vec<Option<bool>> =
            proved(&[file, ("b.rules", &claims)]).into_iter().map(|(_, holds)| holds).collect();
        assert_eq!(came, [holds], "{claim}");
    }
}

#[test]
fn an_answer_that_stands_is_a_humans_and_silence_is_nobodys() {
    let timeout = |action: &str| {
        format!(
            "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: a}}\ndefaults: {{mode: enforce}}\nrules:\n  \
             - {{id: ask-pay, type: pre, tool: pay, when: {{tool.name: {{exists: true}}}}, then: {{action: ask, message: \
             Pay?, timeout: 60, timeout_action: {action}}}}}\n"
        )
    };
    let standing =
        "rules:\n  - {id: ask-pay, when: {tool: pay}, then: approve, approval_strategy: per_session}\n";
    for (rules, is_proved) in [(standing.to_owned(), true), (timeout("allow"), false)] {
        let more = "limit pay to 5 per session\nclaim human before pay";
        let came = proved(&[("a.yaml", &rules), ("b.rules", more)]);
        assert_eq!(came.iter().all(|(_, holds)| *holds == Some(true)), is_proved, "{rules}\n{came:?}");
    }
}
