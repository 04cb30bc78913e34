//! A policy file that nobody trusts never opens anything: whatever it says beside the files of the user, every call gets a
//! verdict that is at least as strict as without it, and every result is held back at least as much.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "the helpers of tests may panic like the tests"
)]

use lockgate::engine::{Call, Decision, Gate, Outcome, Source, gate::OutputDecision, policy::Layer};
use serde_json::json;

/// Files of a user, in every language.
const OWN: &[(&str, &str)] = &[
    ("own.rules", "block deploy\nlimit send to 1 per session\nrequire read before write"),
    ("own.yaml", "default_verdict: block\nrules: [{id: reading, when: {tool: read}, then: allow}]"),
    (
        "own.yaml",
        "default_verdict: approve\nrules: [{id: reading, when: {tool: [read, write]}, then: allow}]",
    ),
    (
        "own.yaml",
        "rules: [{id: tainted, when: {tool: send, session: {taints: [EMAIL]}}, then: block}, {id: pay, when: {tool: write}, then: approve}]\ntaint_chain: {enabled: true, outgoing_tools: [deploy]}",
    ),
    (
        "own.yaml",
        "rules: []\noutput_rules: [{id: out, tool: '.*', block_patterns: [secret]}]\nrate_limits: [{tool: read, max_calls: 2, window_seconds: 60, per_session: false}]",
    ),
    (
        "own.yaml",
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: own}\ndefaults: {mode: enforce}\nrules:\n  - {id: same, type: pre, tool: deploy, when: {tool.name: {exists: true}}, then: {action: block, message: No.}}\n  - {id: out, type: post, tool: read, when: {output.text: {contains: secret}}, then: {action: block, message: No.}}\n  - {id: asks, type: pre, tool: send, when: {tool.name: {exists: true}}, then: {action: ask, message: May I}}",
    ),
    (
        "own.yaml",
        "kind: Net\nname: same\nplaces: {a: 1, b: 0}\ntransitions: [{name: t, inputs: [a], outputs: [b], tools: [read]}, {name: u, inputs: [b], tools: [deploy]}]",
    ),
    (
        "own.yaml",
        "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: same}\nstages:\n  - {id: one, tools: [read, notes], exit: [{condition: 'command_matches(\"^npm test\")'}]}\n  - {id: two, tools: ['*']}",
    ),
    (
        "own.yaml",
        "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: same}\nstages:\n  - {id: one, tools: ['*'], exit: [{condition: 'file_read(\"spec.md\")'}]}\n  - {id: two, tools: [deploy]}",
    ),
];

/// What a project could try.
const FOREIGN: &[(&str, &str)] = &[
    ("foreign.rules", "mode observe\nblock deploy\nlimit send to 9 per session\nrequire read before write"),
    (
        "foreign.rules",
        "observe block deploy\nscript notes.text\nmap notes.text npm as test\nmap deploy.x y as z\nblock z",
    ),
    ("foreign.yaml", "mode: observe\ndefault_verdict: block\nrules: [{id: all, then: allow}]"),
    (
        "foreign.yaml",
        "default_verdict: allow\nrules: [{id: reading, then: allow, priority: -9}, {id: pay, then: redact}]",
    ),
    (
        "foreign.yaml",
        "default_verdict: block\nrules: [{id: tainted, then: allow, mode: observe}, {id: more, when: {tool: send}, then: approve, approval_strategy: per_rule}]\napproval_strategy: per_tool",
    ),
    (
        "foreign.yaml",
        "rules: []\npii_patterns: [{name: MORE, pattern: 'mail'}, {name: EMAIL, pattern: '.+'}]\nmask: edges",
    ),
    (
        "foreign.yaml",
        "rules: [{id: tainted, extends: more, enabled: false}, {id: more, when: {tool: x}, then: block}]\nrate_limits: [{tool: read, max_calls: 1, window_seconds: 60, per_session: false}]",
    ),
    (
        "foreign.yaml",
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: own}\ndefaults: {mode: observe}\ntools: {read: {side_effect: irreversible}, notes: {side_effect: read}}\nrules:\n  - {id: same, type: pre, tool: x, enabled: false, when: {tool.name: {exists: true}}, then: {action: block, message: No.}}\n  - {id: out, type: post, tool: x, when: {output.text: {contains: a}}, then: {action: warn, message: No.}}\n  - {id: asks, type: pre, tool: x, when: {tool.name: {exists: true}}, then: {action: ask, message: May I, timeout_action: allow}}",
    ),
    (
        "foreign.yaml",
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: foreign}\ndefaults: {mode: enforce}\nobserve_alongside: true\nrules:\n  - {id: same, type: pre, tool: x, when: {tool.name: {exists: true}}, then: {action: block, message: No.}}",
    ),
    (
        "foreign.yaml",
        "kind: Net\nname: same\nmode: observe\nfree_tools: [read, deploy, send, write, notes]\nplaces: {a: 9, b: 9}\ntransitions: []",
    ),
    (
        "foreign.yaml",
        "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: same}\nstages:\n  - {id: two, tools: ['*']}",
    ),
];

fn sources(own: usize, foreign: Option<usize>) -> Vec<Source> {
    let (name, text) = OWN[own];
    let foreign = foreign.map(|foreign| {
        let (name, text) = FOREIGN[foreign];
        Source::new(name, text).in_layer(Layer::Untrusted)
    });
    foreign.into_iter().chain([Source::new(name, text)]).collect()
}

fn gate(own: usize, foreign: Option<usize>) -> Gate {
    let (policy, mistakes) = lockgate::engine::languages::read(&sources(own, foreign));
    Gate::new(policy.unwrap_or_else(|| panic!("{own} {foreign:?}: {mistakes:?}")))
}

fn calls() -> Vec<Call> {
    let call = |tool: &str| Call::new("", tool);
    vec![
        call("read").with("path", "spec.md"),
        call("notes").with("text", "npm test").with("path", "spec.md"),
        call("write"),
        call("send"),
        call("deploy"),
        call("deploy").with("action", "now"),
    ]
}

fn strictness(decision: OutputDecision) -> u8 {
    match decision {
        OutputDecision::Allow => 0,
        OutputDecision::Warn => 1,
        OutputDecision::Redact => 2,
        OutputDecision::Block => 3,
    }
}

#[test]
fn an_untrusted_file_never_opens_anything() {
    let calls = calls();
    let outputs = [json!("a secret"), json!("mail ann@example.com"), json!("nothing")];
    for own in 0..OWN.len() {
        for foreign in 0..FOREIGN.len() {
            // What all sessions share would make one history depend on another, so there each has gates of its own.
            let is_shared = OWN[own].1.contains("per_session: false");
            let mut gates = (gate(own, None), gate(own, Some(foreign)));
            // Every history of three calls: with the sessions in step, each verdict is compared.
            for history in 0..calls.len().pow(3) {
                if is_shared {
                    gates = (gate(own, None), gate(own, Some(foreign)));
                }
                let (alone, together) = &gates;
                let steps = [history, history / calls.len(), history / calls.len().pow(2)];
                for (step, chosen) in steps.into_iter().enumerate() {
                    let mut call = calls[chosen % calls.len()].clone();
                    (call.id, call.session) = (step.to_string(), history.to_string());
                    let (own_verdict, verdict) = (alone.call(&call), together.call(&call));
                    let world = || format!("{}\n---\n{}\n---\n{call:?}", OWN[own].1, FOREIGN[foreign].1);
                    assert!(verdict.decision >= own_verdict.decision, "{}", world());
                    if verdict.decision != own_verdict.decision || verdict.decision > Decision::Redact {
                        break;
                    }
                    let outcome =
                        Outcome { output: Some(outputs[step % 3].clone()), ..Outcome::success(&call) };
                    let (before, after) =
                        (alone.result(&outcome).unwrap(), together.result(&outcome).unwrap());
                    assert!(strictness(after.decision) >= strictness(before.decision), "{}", world());
                }
            }
        }
    }
}

#[test]
fn what_does_not_count_is_told() {
    let told = |foreign: usize| {
        let (policy, _) = lockgate::engine::languages::read(&sources(1, Some(foreign)));
        let mut told: Vec<String> = policy.unwrap().waiting().iter().map(ToString::to_string).collect();
        told.sort();
        told.join("\n")
    };
    let has = |foreign: usize, words: &[&str]| {
        let told = told(foreign);
        assert!(words.iter().all(|word| told.contains(word)), "{foreign}: {told}");
        assert_eq!(told.lines().count(), words.len(), "{foreign}: {told}");
    };
    has(0, &["foreign.rules:2: `observe`"]);
    has(1, &["`observe`"]);
    has(2, &["`observe`", "allows more"]);
    has(3, &["allows more"]);
    has(4, &["`observe`", "`approval_strategy`", "allows more"]);
    has(5, &["`pii_patterns`"]);
    has(7, &["`observe`", "`tools`", "`timeout_action: allow`"]);
    has(8, &["`observe`"]);
    has(9, &["`observe`"]);
    has(10, &[]);
}

#[test]
fn the_same_files_of_a_trusted_project_count_whole() {
    let (name, text) = FOREIGN[3];
    let sources = [
        Source::new(OWN[1].0, OWN[1].1),
        Source::new(name, text.replace("reading", "other")).in_layer(Layer::Project),
    ];
    let policy = lockgate::engine::languages::read(&sources).0.unwrap();
    assert!(policy.waiting().is_empty());
    assert_eq!(Gate::new(policy).call(&Call::new("1", "deploy")).decision, Decision::Redact);
}
