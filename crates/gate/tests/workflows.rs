//! Workflows in a gate: programs of conditions, moves by operators, edited files, saved sessions.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says where"
)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use lockgate_call::{Call, Time};
use lockgate_gate::{Decision, Gate, Outcome, Runner};
use lockgate_policy::{
    Policy, Source,
    workflow::{Exec, OperatorMove, Progress},
};
use serde_json::json;

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

fn policy(texts: &[&str]) -> Policy {
    let name = |(number, _): (usize, _)| format!("{number}.yaml");
    let names = texts.iter().enumerate().map(name);
    let sources: Vec<Source> = names.zip(texts).map(|(name, text)| Source::new(name, *text)).collect();
    let (policy, mistakes) = lockgate_languages::read(&sources);
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

/// Brings a session to the question at the end of `build`.
fn to_the_question(gate: &Gate) -> lockgate_gate::ApprovalId {
    assert_eq!(run(gate, &read("r", "plan.md")), Decision::Allow);
    assert_eq!(run(gate, &bash("t", "make test")), Decision::Allow);
    let verdict = gate.call(&Call::new("p", "Ship"));
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    verdict.approval.unwrap()
}

#[test]
fn a_grant_ends_the_stage_that_was_asked_about() {
    let gate = Gate::new(policy(&[DELIVERY]));
    let question = to_the_question(&gate);
    let verdict = gate.answer(&question, true, Time(1)).unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.reason);
    assert_eq!(&*progress(&gate).active_stage, "ship");
}

#[test]
fn a_grant_from_before_a_reset_agrees_to_nothing_after_it() {
    let gate = Gate::new(policy(&[DELIVERY]));
    let question = to_the_question(&gate);
    gate.move_stage("default", "delivery", OperatorMove::Reset, "build", Time(1)).unwrap();
    let verdict = gate.answer(&question, true, Time(2)).unwrap();
    assert_eq!(verdict.decision, Decision::Block, "{}", verdict.reason);
    let progress = progress(&gate);
    assert_eq!((&*progress.active_stage, progress.approvals.len()), ("build", 0));
}

#[test]
fn what_a_call_from_before_a_reset_shows_does_not_count_after_it() {
    let gate = Gate::new(policy(&[DELIVERY]));
    run(&gate, &read("r", "plan.md"));
    let test = bash("t", "make test");
    assert_eq!(gate.call(&test).decision, Decision::Allow);
    gate.move_stage("default", "delivery", OperatorMove::Reset, "build", Time(1)).unwrap();
    gate.result(&Outcome::success(&test)).unwrap();
    assert_eq!(progress(&gate).evidence.stage_calls.len(), 0);
}

#[test]
fn a_forbidden_command_counts_even_if_it_fails_or_never_answers() {
    let gate = Gate::new(policy(&[DELIVERY]));
    run(&gate, &read("r", "plan.md"));
    assert_eq!(gate.call(&bash("g", "git push")).decision, Decision::Allow);
    run(&gate, &bash("t", "make test"));
    let verdict = gate.call(&Call::new("d", "Deploy"));
    assert!(verdict.reason.contains("Somebody pushed before review"), "{}", verdict.reason);
}

#[test]
fn a_success_with_a_failing_exit_code_is_no_evidence() {
    let gate = Gate::new(policy(&[DELIVERY]));
    run(&gate, &read("r", "plan.md"));
    let test = bash("t", "make test");
    gate.call(&test);
    let output = Some(json!({"exit_code": 2, "stdout": ""}));
    gate.result(&Outcome { output, ..Outcome::success(&test) }).unwrap();
    let verdict = gate.call(&Call::new("d", "Deploy"));
    assert!(verdict.reason.contains("Test it"), "{}", verdict.reason);
}

/// Counts how often it is asked, and answers with a code.
struct Counting {
    runs: Arc<AtomicUsize>,
    code: i32,
}

impl Runner for Counting {
    fn run(&self, exec: &Exec, _: Option<&str>) -> Result<i32, String> {
        assert!(
            [["make", "check"], ["pnpm", "test"]].contains(&[&exec.words[0], &exec.words[1]]),
            "{exec:?}"
        );
        self.runs.fetch_add(1, Ordering::SeqCst);
        Ok(self.code)
    }
}

const CHECKED: &str = r#"
apiVersion: edictum/v1
kind: Workflow
metadata: {name: checked}
stages:
  - id: build
    tools: [Edit]
    exit: [{condition: 'exec("make check")', message: The check fails}]
  - id: ship
    tools: [Ship]
"#;

#[test]
fn a_program_runs_only_where_nothing_else_is_in_the_way() {
    let rules = r#"
apiVersion: edictum/v1
kind: Ruleset
metadata: {name: r}
defaults: {mode: enforce}
rules:
  - id: no
    type: pre
    tool: Ship
    when: {args.where: {equals: there}}
    then: {action: block, message: not there}
"#;
    for (code, expected) in [(0, Decision::Allow), (1, Decision::Block)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let gate = Gate::builder(policy(&[CHECKED, rules]))
            .runner(Counting { runs: runs.clone(), code })
            .build()
            .unwrap();
        assert_eq!(gate.call(&Call::new("0", "Ship").with("where", "there")).decision, Decision::Block);
        assert_eq!(run(&gate, &Call::new("1", "Edit")), Decision::Allow);
        assert_eq!(runs.load(Ordering::SeqCst), 0, "nothing asked for the program yet");
        let verdict = gate.call(&Call::new("2", "Ship"));
        assert_eq!(verdict.decision, expected, "{}", verdict.reason);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(verdict.reason.contains("The check fails"), code == 1);
    }
}

#[test]
fn a_runner_that_panics_and_a_gate_without_one_keep_the_stage_closed() {
    struct Panicking;
    impl Runner for Panicking {
        fn run(&self, _: &Exec, _: Option<&str>) -> Result<i32, String> {
            panic!("no")
        }
    }
    let gates =
        [Gate::new(policy(&[CHECKED])), Gate::builder(policy(&[CHECKED])).runner(Panicking).build().unwrap()];
    for gate in gates {
        let verdict = gate.call(&Call::new("1", "Ship"));
        assert_eq!(verdict.decision, Decision::Block);
        assert!(verdict.reason.contains("The check fails ("), "{}", verdict.reason);
        assert_eq!(gate.session("default").unwrap().counts().attempts, 1, "the refusal was stored");
    }
}

#[test]
fn a_call_that_another_rule_refuses_moves_no_stage() {
    let block = "block Bash";
    let gate = Gate::new({
        let sources = [Source::new("d.yaml", DELIVERY), Source::new("b.rules", block)];
        lockgate_languages::read(&sources).0.unwrap()
    });
    run(&gate, &read("r", "plan.md"));
    assert_eq!(run(&gate, &bash("t", "make test")), Decision::Block);
    assert_eq!(&*progress(&gate).active_stage, "plan");
}

#[test]
fn an_operator_is_told_which_workflows_and_stages_there_are() {
    let gate = Gate::new(policy(&[DELIVERY]));
    let error = |workflow, stage| {
        gate.move_stage("default", workflow, OperatorMove::Set, stage, Time(0)).unwrap_err().to_string()
    };
    assert_eq!(error("x", "plan"), "no workflow is called `x`; the policy has: delivery");
    assert_eq!(error("delivery", "x"), "workflow `delivery` has no stage `x`; it has: plan, build, ship");
}

#[test]
fn the_documented_shape_of_a_feature_delivery_loads_and_works() {
    let text = r#"
apiVersion: edictum/v1
kind: Workflow
metadata: {name: feature-delivery}
stages:
  - id: implement
    entry: [{condition: 'file_read("specs/feature.md")', message: Read the specification first}]
    tools: [Read, Edit, Bash]
    checks:
      - command_matches: "git diff"
      - {command_not_matches: "git push.*main", message: Never push to main}
    exit: [{condition: 'exec("make check", exit_code=0)', message: Tests must pass}]
    approval: {message: Somebody looks at it}
  - id: publish
    tools: [Publish]
"#;
    let runs = Arc::new(AtomicUsize::new(0));
    let gate =
        Gate::builder(policy(&[text])).runner(Counting { runs: runs.clone(), code: 0 }).build().unwrap();
    let edit = |id| Call::new(id, "Edit").with("file_path", "src/a.rs");
    assert_eq!(run(&gate, &edit("1")), Decision::Block, "nothing was read");
    assert_eq!(run(&gate, &read("2", "other.md")), Decision::Block, "not the specification");
    assert_eq!(run(&gate, &read("3", "./specs/feature.md")), Decision::Allow);
    assert_eq!(run(&gate, &edit("4")), Decision::Allow, "an editor runs no command");
    assert_eq!(run(&gate, &bash("5", "git diff --stat")), Decision::Allow);
    assert_eq!(run(&gate, &bash("6", "git diff; make install")), Decision::Block);
    assert_eq!(run(&gate, &bash("7", "git push origin main")), Decision::Block);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let verdict = gate.call(&Call::new("8", "Publish"));
    assert_eq!(verdict.decision, Decision::Ask, "{}", verdict.reason);
    let granted = gate.answer(&verdict.approval.unwrap(), true, Time(0)).unwrap();
    assert_eq!(
        (granted.decision, runs.load(Ordering::SeqCst)),
        (Decision::Allow, 2),
        "it ran for each judgement"
    );
}

/// The sample of Edictum's page about rule types, to the letter.
const SAMPLE: &str = r#"
apiVersion: edictum/v1
kind: Workflow
metadata:
  name: feature-delivery

stages:
  - id: implement
    entry:
      - condition: file_read("specs/feature.md")
    checks:
      - command_matches: "git diff"
    exit:
      - condition: exec("pnpm test", exit_code=0)
"#;

#[test]
fn the_documented_sample_stays_open_and_runs_its_tests_when_work_ends_and_no_sooner() {
    const COMPLETE: &str = "workflow complete";
    const DIFF: &str = "stage `implement` takes only commands that match `git diff`";
    // Calls, what comes of each with red and with green tests, and how often the tests have run by then.
    let edit = |id| Call::new(id, "Edit").with("file_path", "a");
    let rows: [(Call, &str, usize, &str, usize); 13] = [
        (edit("0"), "stage `implement` waits for file_read", 0, "stage `implement` waits for file_read", 0),
        (read("1", "specs/feature.md"), "", 0, "", 0),
        (bash("2", "ls"), DIFF, 0, DIFF, 0),
        (edit("3"), "", 0, "", 0),
        (bash("4", "git diff"), "", 0, "", 0),
        (read("5", "b"), "", 0, "", 0),
        (edit("6"), "", 0, "", 0),
        (bash("7", "ls"), DIFF, 1, COMPLETE, 1),
        (bash("8", "ls"), DIFF, 1, COMPLETE, 1),
        (bash("9", "git diff"), "", 1, COMPLETE, 1),
        (edit("10"), "", 1, COMPLETE, 1),
        (bash("11", "ls"), DIFF, 2, COMPLETE, 1),
        (bash("12", "ls"), DIFF, 2, COMPLETE, 1),
    ];
    for code in [0, 1] {
        let runs = Arc::new(AtomicUsize::new(0));
        let runner = Counting { runs: runs.clone(), code };
        let gate = Gate::builder(policy(&[SAMPLE])).runner(runner).build().unwrap();
        for (call, red, red_runs, green, green_runs) in &rows {
            let (reason, count) = if code == 0 { (green, green_runs) } else { (red, red_runs) };
            let verdict = gate.call(call);
            assert_eq!(verdict.lets_pass(), reason.is_empty(), "{code} {}: {}", call.id, verdict.reason);
            assert!(verdict.reason.starts_with(reason), "{code} {}: {}", call.id, verdict.reason);
            if verdict.lets_pass() {
                gate.result(&Outcome::success(call)).unwrap();
            }
            assert_eq!(runs.load(Ordering::SeqCst), *count, "{code} {}", call.id);
        }
    }
}

#[test]
fn the_programs_of_a_first_entry_run_until_it_holds_and_never_again() {
    let text = r#"
apiVersion: edictum/v1
kind: Workflow
metadata: {name: entered}
stages:
  - id: work
    entry: [{condition: 'exec("make check")', message: Not yet}]
    tools: [Edit]
"#;
    for (code, passes, ran) in [(0, Decision::Allow, 1), (1, Decision::Block, 3)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let runner = Counting { runs: runs.clone(), code };
        let gate = Gate::builder(policy(&[text])).runner(runner).build().unwrap();
        for id in ["1", "2", "3"] {
            assert_eq!(run(&gate, &Call::new(id, "Edit")), passes);
        }
        assert_eq!(runs.load(Ordering::SeqCst), ran);
    }
}

#[test]
fn a_tool_that_a_ruleset_declares_to_read_gives_evidence() {
    let declared = r#"
apiVersion: edictum/v1
kind: Ruleset
metadata: {name: r}
defaults: {mode: enforce}
tools: {open_note: {side_effect: read}}
rules:
  - {id: s, type: session, limits: {max_tool_calls: 100}, then: {action: block, message: enough}}
"#;
    let text = DELIVERY.replace("tools: [Read]", "tools: [open_note]");
    let note = |id| Call::new(id, "open_note").with("path", "plan.md");
    for (texts, expected) in
        [(vec![text.as_str()], Decision::Block), (vec![text.as_str(), declared], Decision::Allow)]
    {
        let gate = Gate::new(policy(&texts));
        assert_eq!(run(&gate, &note("1")), Decision::Allow);
        assert_eq!(run(&gate, &Call::new("2", "Edit")), expected);
    }
}
