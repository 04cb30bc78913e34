use lockgate::engine::{Decision, Gate, Outcome, Source, policy::workflow::Progress};
use serde_json::{Value, json};

use super::*;

const DELIVERY: &str = r#"
apiVersion: edictum/v1
kind: Workflow
metadata: {name: delivery}
stages:
  - id: plan
    tools: [Read]
    exit: [{condition: 'file_read("plan.md")', message: Read the plan}]
  - id: build
    tools: [Edit, Bash]
    exit:
      - condition: command_matches("^make test$")
        message: Test it
      - condition: command_not_matches("^git push")
        message: Somebody pushed before review
    approval: {message: Look at it}
  - id: ship
    tools: [Ship]
"#;

fn policy(text: &str) -> Policy {
    let (policy, mistakes) = lockgate::engine::languages::read(&[Source::new("0.yaml", text)]);
    policy.unwrap_or_else(|| panic!("{mistakes:?}"))
}

fn bash(id: &str, command: &str) -> Call {
    Call::new(id, "Bash").with("command", command)
}

fn read(id: &str, path: &str) -> Call {
    Call::new(id, "Read").with("file_path", path)
}

fn run(gate: &Gate, call: &Call) -> Decision {
    let verdict = gate.call(call);
    if verdict.lets_pass() {
        gate.result(&Outcome::success(call)).unwrap();
    }
    verdict.decision
}

fn progress(gate: &Gate) -> Progress {
    gate.status("default", Time(0)).unwrap().workflows[0].progress.clone()
}

#[test]
fn a_saved_session_stands_where_it_stood_and_an_edited_workflow_finds_its_stage_again() {
    let gate = Gate::new(policy(DELIVERY));
    run(&gate, &read("r", "plan.md"));
    let edit = Call::new("e", "Edit");
    assert_eq!(gate.call(&edit).decision, Decision::Allow);
    let saved = gate.session("default").unwrap().to_json(gate.policy());

    let same = Session::from_json(&saved, gate.policy()).unwrap();
    assert_eq!(same.to_json(gate.policy()), saved);

    let edited = policy(&DELIVERY.replace("id: plan", "id: think").replace("^make test$", "^just test$"));
    let session = Session::from_json(&saved, &edited).unwrap();
    let store = RecordingStore::with_session("default", session);
    let gate = Gate::builder(edited).store(store.clone()).build().unwrap();
    assert_eq!(&*progress(&gate).active_stage, "build");
    assert_eq!(run(&gate, &bash("t", "make test")), Decision::Allow);
    let verdict = gate.call(&Call::new("d", "Deploy"));
    assert!(verdict.reason.contains("Test it"), "the new condition is not met: {}", verdict.reason);
    let said: Vec<String> = store
        .records(gate.policy())
        .iter()
        .map(|record| format!("{}: {}", record.action, record.said.join("; ")))
        .collect();
    assert!(said[0].starts_with("workflow_state_updated: stage `plan` is gone"), "{said:?}");
    assert_eq!(said.iter().filter(|it| it.starts_with("workflow_state_updated")).count(), 1, "{said:?}");
}

#[test]
fn records_tell_stages_before_the_call_and_the_end_after_it() {
    let text = r#"
apiVersion: edictum/v1
kind: Workflow
metadata: {name: short}
stages:
  - {id: a, tools: [Read], exit: [{condition: 'file_read("x")'}]}
  - {id: b, tools: [Bash], exit: [{condition: 'command_matches("^make$")'}]}
"#;
    let store = RecordingStore::default();
    let gate = Gate::builder(policy(text)).store(store.clone()).build().unwrap();
    run(&gate, &read("1", "x"));
    run(&gate, &bash("2", "make"));
    assert_eq!(run(&gate, &bash("3", "make")), Decision::Block, "it is finished");
    let expected = [
        (Action::CallAllowed, "a"),
        (Action::CallExecuted, "a"),
        (Action::StageAdvanced, "b"),
        (Action::CallAllowed, "b"),
        (Action::CallExecuted, "b"),
        (Action::WorkflowCompleted, ""),
        (Action::CallBlocked, ""),
    ];
    let records = store.records(gate.policy());
    let told: Vec<(Action, Value)> =
        records.iter().map(|record| (record.action, record.workflows[0]["active_stage"].clone())).collect();
    let expected: Vec<(Action, Value)> =
        expected.iter().map(|(action, stage)| (*action, json!(stage))).collect();
    assert_eq!(told, expected);
}
