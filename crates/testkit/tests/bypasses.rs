//! Calls that once did what their policy forbids, each judged under that policy.
//!
//! A line of the data has the policy, the call and what happens if it passes. What still passes is listed by name with
//! the reason, so that a line which passes anew, and one which no longer does, is a failure of this test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests may stop and say so"
)]

use std::{collections::BTreeMap, env, fs, path::Path};

use lockgate::engine::{Call, Decision, Gate, Outcome, Source, gate::GateBuilder, languages};
use lockgate_agents::{Agent, hook::protection_of_files, settings::starter_policy};
use serde_json::{Value, json};

/// What still passes, and why.
const PASSING: &[(&str, &str)] = &[
    ("RS-158", "a file that the script did not write: what an allowed program does"),
    ("RS-161", "the same"),
    ("RS-164", "the same"),
    ("RS-165", "the same"),
    ("RS-478", "meaning: it copies, and only what belongs to a file"),
    ("RS-486", "a name put together in another language"),
    ("RS-488", "a name read from a listing while the script runs"),
];

/// Programs that an allow list of a coding agent has.
const EVERYDAY: &str = "ls cat head tail wc grep egrep rg find sed awk sort uniq cut tr diff cmp echo printf test true false \
    pwd cd mkdir touch cp mv rm ln chmod tar gzip gunzip zip unzip file stat du df date env which basename dirname \
    realpath readlink tee xargs git make python3 node npm pytest cargo go curl wget sh bash dd shopt export ssh nc \
    smbclient sshfs ssh-keyscan mail gpg mongosh openssl for";

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn what_got_past_the_gate_no_longer_does() {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let text = fs::read_to_string(Path::new(&folder).join("bypasses/bypasses.jsonl")).unwrap();
    let mut gates = BTreeMap::new();
    let mut classes: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let said = |field: &str| line[field].as_str().unwrap_or_default();
        let gate = gates.entry(said("policy").to_owned()).or_insert_with_key(|policy| gate(policy));
        let class = classes.entry(said("class").to_owned()).or_default();
        class.0 += 1;
        if passes(gate, said("policy"), number, &line["call"]) {
            class.1.push(said("id").to_owned());
            println!("{} {} {}", said("id"), said("class"), line["call"]["input"]);
        }
    }
    for (class, (count, passing)) in &classes {
        println!("{class}: {} of {count} pass", passing.len());
    }
    let passing: Vec<String> = classes.into_values().flat_map(|(_, passing)| passing).collect();
    let known = |id: &String| PASSING.iter().any(|(known, _)| known == id);
    let new: Vec<&String> = passing.iter().filter(|id| !known(id)).collect();
    assert!(new.is_empty(), "{} of {} pass: {new:?}", passing.len(), text.lines().count());
    let closed: Vec<_> = PASSING.iter().filter(|(id, _)| !passing.iter().any(|it| it == id)).collect();
    assert!(closed.is_empty(), "no longer passing: {closed:?}");
}

/// Whether a call passes, or earns what it must not.
fn passes(gate: &Gate, policy: &str, number: usize, told: &Value) -> bool {
    let session = number.to_string();
    let call = |id: &str, tool: &str, input: &Value| {
        let mut call = Call::new(id, tool);
        call.session.clone_from(&session);
        call.input = input.as_object().cloned().unwrap_or_default();
        call.about.cwd = told["cwd"].as_str().map(str::to_owned);
        call
    };
    let passes = |call: &Call| gate.call_unattended(call).decision == Decision::Allow;
    let tool = told["tool"].as_str().unwrap();
    if !passes(&call("1", tool, &told["input"])) {
        return false;
    }
    if told["result"] != "ok" {
        return true;
    }
    let outcome = Outcome { session: session.clone(), id: "1".into(), ok: true, ..Outcome::default() };
    gate.result(&outcome).unwrap();
    let is_about_deploy = policy.contains("deploy");
    passes(&match is_about_deploy {
        true => call("2", "deploy", &Value::Null),
        false => call("2", "bash", &json!({"command": "rm x"})),
    })
}

/// A gate under a policy as the data names it.
fn gate(policy: &str) -> Gate {
    let folders = "within: [/sandbox/ws], not_within: [/sandbox/ws/.git]";
    let domains = "domains: [api.example.com, \"*.good.com\"]";
    let quoted = |name: &str| format!("\"{name}\"");
    let commands =
        format!("commands: [{}]", EVERYDAY.split_whitespace().map(quoted).collect::<Vec<_>>().join(", "));
    let ruleset = |boundaries: String| {
        format!(
            "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: box}}\ndefaults: {{mode: enforce}}\nrules:\n  \
             - {{id: box, type: sandbox, tools: [bash], {boundaries}, message: \"Out.\"}}\n"
        )
    };
    let builder = match policy {
        "sandbox: within [/sandbox/ws], not_within [/sandbox/ws/.git]" => {
            builder("p.yaml", &ruleset(folders.into()))
        }
        "sandbox: allows.domains [api.example.com, \"*.good.com\"]" => {
            builder("p.yaml", &ruleset(format!("allows: {{{domains}}}")))
        }
        policy if policy.starts_with("sandbox: within") => {
            builder("p.yaml", &ruleset(format!("{folders}, allows: {{{commands}}}")))
        }
        policy if policy.starts_with("sandbox: allows.domains") => {
            builder("p.yaml", &ruleset(format!("allows: {{{domains}, {commands}}}")))
        }
        policy if policy.starts_with("lockgate hook") => {
            let files = ["/sandbox/hk/.lockgate/policy.rules".into()];
            builder("p.rules", &starter_policy(Agent::ALL)).protect(protection_of_files(&files, None))
        }
        rules => builder("p.rules", rules),
    };
    builder.build().unwrap()
}

fn builder(name: &str, text: &str) -> GateBuilder {
    let (policy, diagnostics) = languages::read(&[Source::new(name, text)]);
    Gate::builder(policy.unwrap_or_else(|| panic!("{text}: {diagnostics:?}")))
}
