//! Validates the naive model of workflows before it judges the gate: against recorded sessions, against tables, and
//! against laws that must hold whatever the workflow is.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop a test"
)]

use std::{collections::BTreeMap, env, fs, path::Path};

use lockgate_testkit::{
    Deed, Said, WorkflowModel,
    conformance::read_yaml,
    generate::workflows::{self, Happening},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const HEAD: &str = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: work}\n";

/// Plays a table: each line a call as `tool`, `tool /path` or `$ command`, whether it fails, and what is said, with
/// the stage the session is in afterwards.
fn check(workflow: &str, table: &str) {
    let mut model = WorkflowModel::new(&format!("{HEAD}{workflow}"));
    for (number, line) in table.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [step, said, stage] = cells.as_slice() else { panic!("`{line}` is no row") };
        let id = number.to_string();
        let (step, fails) = step.strip_suffix(" fails").map_or((*step, false), |step| (step, true));
        let deed = match step.split_once(' ') {
            Some(("$", command)) => {
                Deed { tool: "Bash".into(), command: Some(command.into()), ..Deed::default() }
            }
            Some(("reset", stage)) => {
                model.reset(stage);
                assert_eq!(model.active, stage, "{line}");
                continue;
            }
            Some((tool, path)) => Deed { tool: tool.into(), path: Some(path.into()), ..Deed::default() },
            None => Deed { tool: step.into(), ..Deed::default() },
        };
        let mut answer = model.call(&id, deed);
        if let (Said::Ask(message), Some(granted)) = (&answer, said.strip_prefix("granted: ")) {
            assert_eq!(message, granted, "{line}");
            answer = model.answer(&id, true).expect("somebody was asked");
            assert_eq!(answer, Said::Allow, "{line}");
        } else {
            let told = match &answer {
                Said::Allow => "allow".to_owned(),
                Said::Ask(message) => format!("ask: {message}"),
                Said::Block(reason) => format!("block: {reason}"),
            };
            assert_eq!(told, *said, "{line}");
        }
        if answer == Said::Allow {
            model.result(&id, !fails, &json!({"status": "green"}));
        }
        let stage = if *stage == "finished" { "" } else { stage };
        assert_eq!(model.active, stage, "{line}");
    }
}

#[test]
fn a_stage_ends_with_its_evidence_and_the_next_call() {
    let workflow = r#"
stages:
  - {id: read, tools: [Read], exit: [{condition: 'file_read("/a")', message: Read it.}]}
  - {id: work, tools: [Edit]}
  - id: test
    tools: [Bash]
    checks: [{command_matches: "^make", message: Only make.}]
    exit: [{condition: 'command_matches("^make test$")', message: Test it.}]
  - {id: review, approval: {message: Look at it.}}
  - {id: push, tools: [Bash], exit: [{condition: 'command_matches("^git push")', message: Push it.}]}
"#;
    check(
        workflow,
        "
        Edit | block: Read it. | read
        Read /a fails | allow | read
        Edit | block: Read it. | read
        Read /a | allow | read
        Edit | allow | work
        Write | block: Tool is not allowed in this workflow stage | work
        $ git push | block: Tool is not allowed in this workflow stage | work
        $ make lint | allow | test
        $ git push | block: Test it. | test
        $ make test | allow | test
        $ git push fails | granted: Look at it. | push
        Edit | block: Tool is not allowed in this workflow stage | push
        $ git push | allow | finished
        Read /a | block: workflow complete — no further tool calls are accepted | finished
        reset read | |
        Edit | block: Read it. | read
        ",
    );
}

#[test]
fn a_prohibited_command_leads_on_only_where_the_next_stage_is_for_it() {
    let work = r"
  - {id: work, tools: [Bash], checks: [{command_not_matches: ^git push, message: Not here.}]}";
    let open = format!("stages:{work}\n  - {{id: ship, tools: [Bash]}}\n");
    check(&open, "$ git push | block: Not here. | work");
    let claims = format!(
        "stages:{work}\n  - {{id: ship, tools: [Bash], checks: [{{command_matches: ^git, message: Git only.}}]}}\n"
    );
    check(&claims, "$ git push | allow | ship\n$ ls | block: Git only. | ship");
}

#[test]
fn where_many_tools_are_open_no_other_tool_ends_the_stage_unless_it_is_the_end() {
    let many = "stages:\n  - {id: look, tools: [Read, \"mcp__*\"]}\n";
    check(
        &format!("{many}  - {{id: work, tools: [Edit]}}\n"),
        "Edit | block: Tool is not allowed in this workflow stage | look",
    );
    check(
        &format!("{many}  - {{id: done, terminal: true}}\n"),
        "mcp__a | allow | look
         Edit | block: workflow complete — no further tool calls are accepted | done",
    );
}

#[test]
fn the_first_stage_is_entered_like_every_other() {
    let workflow = "stages:\n  - {id: work, tools: [Edit], entry: [{condition: 'file_read(\"/a\")', message: Read it.}]}\n";
    check(
        workflow,
        "
        Edit | block: Read it. | work
        Read /b | block: Read it. | work
        Read /a | allow | work
        Edit | allow | work
        Read /a | block: Tool is not allowed in this workflow stage | work
        ",
    );
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn the_model_agrees_with_every_recorded_workflow() {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let files = [
        ("workflow/core.workflow.yaml", 10),
        ("workflow-adapter-conformance/core.workflow-adapter.yaml", 8),
        ("workflow-v0.18/mcp-result-evidence.workflow-v0.18.yaml", 5),
        ("workflow-v0.18/wildcard-tools.workflow-v0.18.yaml", 4),
    ];
    for (file, count) in files {
        let text = fs::read_to_string(Path::new(&folder).join("edictum/fixtures").join(file)).expect(file);
        let recorded = read_yaml(&text).expect("YAML");
        let cases = recorded["fixtures"].as_array().expect("cases");
        assert_eq!(cases.len(), count, "{file}");
        for case in cases {
            let name = case["workflow"].as_str().expect("a name");
            play_recorded(&recorded["workflows"][name], case);
        }
    }
}

fn play_recorded(workflow: &Value, case: &Value) {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|it| it.as_str().expect("a text").to_owned()).collect()
    };
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let mut model = WorkflowModel::of(workflow);
    let state = &case["initial_state"];
    model.active = state["active_stage"].as_str().expect("a stage").to_owned();
    model.completed = texts(&state["completed_stages"]);
    model.approved = keys(&state["approvals"]).into_iter().collect();
    model.reads = texts(&state["evidence"]["reads"]).into_iter().collect();
    for (stage, commands) in state["evidence"]["stage_calls"].as_object().into_iter().flatten() {
        for command in texts(commands) {
            model.succeeded.insert((stage.clone(), command.clone()));
            model.passed.insert((stage.clone(), command));
        }
    }
    for (tool, results) in state["evidence"]["mcp_results"].as_object().into_iter().flatten() {
        for (field, value) in results.as_array().into_iter().flatten().filter_map(Value::as_object).flatten()
        {
            model.results.insert((tool.clone(), field.clone(), value.as_str().expect("a text").to_owned()));
        }
    }
    for step in case["steps"].as_array().expect("steps") {
        let (place, expect) = (format!("{} {}", case["id"], step["id"]), &step["expect"]);
        if let Some(stage) = step["reset_to"].as_str() {
            model.reset(stage);
        } else if let Some(stage) = step["set_stage_to"].as_str() {
            model.set(stage);
        } else {
            let id = step["id"].as_str().expect("an id");
            let args = &step["call"]["args"];
            let deed = Deed {
                tool: step["call"]["tool"].as_str().expect("a tool").to_owned(),
                command: args["command"].as_str().map(str::to_owned),
                path: args["path"].as_str().map(str::to_owned),
            };
            let mut said = model.call(id, deed);
            for outcome in texts(&step["approval_outcomes"]) {
                said = model.answer(id, outcome == "approved").expect(&place);
            }
            let (word, message) = match &said {
                Said::Allow => ("allow", ""),
                Said::Ask(message) => ("pause", message.as_str()),
                Said::Block(reason) => ("block", reason.as_str()),
            };
            assert_eq!(
                word,
                expect["decision"].as_str().expect("a decision").replace("deny", "block"),
                "{place}"
            );
            let part = expect["message_contains"].as_str().unwrap_or_default();
            assert!(message.contains(part), "{place}: {message}");
            if said == Said::Allow && step["execution"] != "not_run" {
                model.result(id, step["execution"] == "success", &step["mcp_result"]);
            }
        }
        assert_eq!(json!(model.active), expect["active_stage"], "{place}");
        assert_eq!(json!(model.completed), expect["completed_stages"], "{place}");
        assert_eq!(model.approved.iter().cloned().collect::<Vec<_>>(), keys(&expect["approvals"]), "{place}");
    }
}

/// What came of one happening, for comparison.
#[derive(Debug, PartialEq)]
enum Came {
    Said(Said),
    Answered(Option<Said>),
    Settled(bool),
    Moved,
}

fn happen(model: &mut WorkflowModel, happening: &Happening) -> Came {
    match happening {
        Happening::Call { id, tool, input } => Came::Said(model.call(id, workflows::deed(tool, input))),
        Happening::Answer { id, granted } => Came::Answered(model.answer(id, *granted)),
        Happening::Result { id, ok, output } => Came::Settled(model.result(id, *ok, output)),
        Happening::Move { stage, forgets } => {
            let names = model.stage_names();
            let stage = stage.get(&names);
            if *forgets {
                model.reset(stage)
            } else {
                model.set(stage)
            }
            Came::Moved
        }
    }
}

proptest! {
    #[test]
    fn what_is_completed_are_the_stages_before_the_active_one_in_order((workflow, history) in workflows::worlds()) {
        let mut model = WorkflowModel::new(&workflow);
        for happening in &history {
            happen(&mut model, happening);
            let active = model.active.clone();
            let earlier: Vec<String> = model.stage_names().into_iter().take_while(|it| *it != active).collect();
            prop_assert_eq!(&model.completed, &earlier);
        }
    }

    #[test]
    fn only_an_operator_leads_back((workflow, history) in workflows::worlds()) {
        let mut model = WorkflowModel::new(&workflow);
        for happening in &history {
            let before = model.completed.len();
            if happen(&mut model, happening) != Came::Moved {
                prop_assert!(model.completed.len() >= before);
            }
        }
    }
}

/// A generator that never ends a stage would let every law pass.
#[test]
fn the_generators_reach_every_answer_and_every_reason() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::<String, usize>::new();
    let mut see = |kind: &str| *seen.entry(kind.to_owned()).or_default() += 1;
    for _ in 0..1_000 {
        let world = workflows::worlds().new_tree(&mut runner).expect("a world");
        let (workflow, history) = world.current();
        let mut model = WorkflowModel::new(&workflow);
        for happening in &history {
            let before = model.completed.len();
            let came = happen(&mut model, happening);
            let is_moved = came == Came::Moved;
            let (kind, said) = match came {
                Came::Said(said) => ("", Some(said)),
                Came::Answered(said) => ("answered ", said),
                Came::Settled(settled) => {
                    see(&format!("settled {settled}"));
                    ("", None)
                }
                Came::Moved => ("", None),
            };
            match said {
                Some(Said::Allow) => see(&format!("{kind}allow")),
                Some(Said::Ask(_)) => see(&format!("{kind}ask")),
                Some(Said::Block(reason)) => {
                    let word = reason.split_whitespace().next().unwrap_or_default();
                    see(&format!("{kind}block {word}"));
                }
                None => {}
            }
            if !is_moved && model.completed.len() > before {
                see(&format!("{} stages ended at once", model.completed.len() - before));
            }
            if model.active.is_empty() {
                see("finished");
            }
        }
    }
    let kinds = [
        "allow",
        "ask",
        "block Tool",
        "block check",
        "block entry",
        "block exit",
        "block workflow",
        "answered allow",
        "answered ask",
        "answered block a",
        "settled true",
        "settled false",
        "1 stages ended at once",
        "2 stages ended at once",
        "finished",
    ];
    for kind in kinds {
        assert!(seen.get(kind).copied().unwrap_or_default() >= 20, "`{kind}` is rare: {seen:?}");
    }
}
