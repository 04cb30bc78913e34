//! Workflows through parser and gate, compared with the naive model on random files and sessions.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests may stop a test")]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use lockgate::engine::{
    Call, Decision, Gate, MemoryStore, Outcome, Policy, Session, Source, Time, Verdict,
    gate::{ApprovalId, Runner},
    policy::workflow::{Exec, OperatorMove},
};
use lockgate_testkit::{
    LibraryDoor, Page, Said, WorkflowModel,
    generate::workflows::{self, Happening},
    play,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_naive_model_agrees((workflow, history) in workflows::worlds()) {
        agree(&workflow, &history, |_, _| {})?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_naive_model_agrees_about_programs_and_how_often_they_run((workflow, history) in workflows::worlds_with_programs()) {
        let mut model = WorkflowModel::new(&workflow);
        let programs = Programs::default();
        let mut live = Live::with(Gate::builder(read(&workflow)).runner(programs.clone()).build().expect("a gate"));
        for (number, happening) in history.iter().enumerate() {
            // Now the tests are red, now they are green.
            model.programs_succeed = number % 5 > 2;
            programs.succeed.store(model.programs_succeed, Ordering::SeqCst);
            let (expected, got) = (happen(&mut model, happening), live.happen(happening, Time(number as u64)));
            let place = format!("step {number}, {happening:?}, under\n{workflow}");
            prop_assert_eq!(got.decision(), expected.decision(), "{}: {:?}, not {:?}", &place, &got, &expected);
            prop_assert_eq!(live.stands(), stands(&model), "{}", &place);
            prop_assert_eq!(programs.runs.load(Ordering::SeqCst), model.programs_run, "{}", &place);
        }
    }
}

/// Programs that end as they are told to.
#[derive(Clone, Default)]
struct Programs {
    succeed: Arc<AtomicBool>,
    runs: Arc<AtomicUsize>,
}

impl Runner for Programs {
    fn run(&self, _: &Exec, _: Option<&str>) -> Result<i32, String> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Ok(i32::from(!self.succeed.load(Ordering::SeqCst)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_session_in_a_workflow_goes_on_after_a_rest((workflow, history) in workflows::worlds()) {
        agree(&workflow, &history, |live, number| {
            if number % 7 == 0 {
                live.rest(&workflow);
            }
        })?;
    }
}

/// Lets everything happen to the model and to a gate; `after` is done to the gate after every step.
fn agree(
    workflow: &str,
    history: &[Happening],
    mut after: impl FnMut(&mut Live, usize),
) -> Result<(), TestCaseError> {
    let mut model = WorkflowModel::new(workflow);
    let mut live = Live::new(workflow);
    for (number, happening) in history.iter().enumerate() {
        let at = Time(1_767_225_600_000 + number as u64);
        let (expected, got) = (happen(&mut model, happening), live.happen(happening, at));
        let place = format!("step {number}, {happening:?}, under\n{workflow}");
        prop_assert_eq!(got.decision(), expected.decision(), "{}: {:?}, not {:?}", &place, &got, &expected);
        if let (Some(reason), Came::Decided(_, said)) = (expected.reason(), &got) {
            prop_assert!(said.starts_with(reason), "{}: `{}`, not `{}`", &place, said, reason);
        }
        prop_assert_eq!(live.stands(), stands(&model), "{}", &place);
        after(&mut live, number);
    }
    Ok(())
}

/// What came of one happening.
#[derive(Clone, Debug, PartialEq)]
enum Came {
    /// A call was decided, and this was said.
    Decided(Decision, String),
    Settled(bool),
    /// Nobody had asked.
    Unasked,
    Moved,
}

impl Came {
    fn of(said: Said) -> Self {
        match said {
            Said::Allow => Self::Decided(Decision::Allow, String::new()),
            Said::Ask(message) => Self::Decided(Decision::Ask, message),
            Said::Block(reason) => Self::Decided(Decision::Block, reason),
        }
    }

    /// The same without what was said.
    fn decision(&self) -> Self {
        match self {
            Self::Decided(decision, _) => Self::Decided(*decision, String::new()),
            other => other.clone(),
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            // How a refusal is put is the gate's own affair.
            Self::Decided(_, reason) if reason != "a human refused" => Some(reason),
            _ => None,
        }
    }
}

/// Where a session stands: its stage, what it has completed, what was agreed to.
type Stands = (String, Vec<String>, Vec<String>);

fn stands(model: &WorkflowModel) -> Stands {
    (model.active.clone(), model.completed.clone(), model.approved.iter().cloned().collect())
}

fn happen(model: &mut WorkflowModel, happening: &Happening) -> Came {
    match happening {
        Happening::Call { id, tool, input } => Came::of(model.call(id, workflows::deed(tool, input))),
        Happening::Answer { id, granted } => model.answer(id, *granted).map_or(Came::Unasked, Came::of),
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

fn read(workflow: &str) -> Policy {
    let (policy, diagnostics) = lockgate::engine::languages::read(&[Source::new("work.yaml", workflow)]);
    let told = || diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    policy.unwrap_or_else(|| panic!("{}\n{workflow}", told()))
}

/// A session behind a real gate.
struct Live {
    gate: Gate,
    questions: HashMap<String, ApprovalId>,
}

impl Live {
    fn new(workflow: &str) -> Self {
        Self::with(Gate::new(read(workflow)))
    }

    fn with(gate: Gate) -> Self {
        Self { gate, questions: HashMap::new() }
    }

    /// Keeps the session as text and goes on with what was read from it.
    fn rest(&mut self, workflow: &str) {
        let kept = self.gate.session("default").expect("a store").to_json(self.gate.policy());
        let policy = read(workflow);
        let session = Session::from_json(&kept, &policy).expect("a session");
        let store = MemoryStore::with_session("default", session);
        self.gate = Gate::builder(policy).store(store).build().expect("a gate");
    }

    fn happen(&mut self, happening: &Happening, at: Time) -> Came {
        match happening {
            Happening::Call { id, tool, input } => {
                let mut call = Call::new(id.as_str(), *tool).at(at);
                call.input = input.as_object().cloned().expect("an object");
                let verdict = self.gate.call(&call);
                self.hear(id, verdict)
            }
            Happening::Answer { id, granted } => {
                let Some(approval) = self.questions.remove(id) else { return Came::Unasked };
                let verdict = self.gate.answer(&approval, *granted, at).expect("an open question");
                self.hear(id, verdict)
            }
            Happening::Result { id, ok, output } => {
                let output = Some(output.clone());
                let outcome = Outcome {
                    session: "default".into(),
                    id: id.clone(),
                    ok: *ok,
                    output,
                    at,
                    ..Outcome::default()
                };
                Came::Settled(self.gate.result(&outcome).expect("a store").settled)
            }
            Happening::Move { stage, forgets } => {
                let workflow = self.gate.policy().workflows().first().expect("a workflow");
                let stage = &stage.get(&workflow.stages).id;
                let how = if *forgets { OperatorMove::Reset } else { OperatorMove::Set };
                self.gate.move_stage("default", "work", how, stage, at).expect("a stage");
                Came::Moved
            }
        }
    }

    fn hear(&mut self, id: &str, verdict: Verdict) -> Came {
        if let Some(approval) = verdict.approval {
            self.questions.insert(id.to_owned(), approval);
        }
        Came::Decided(verdict.decision, verdict.reason)
    }

    fn stands(&self) -> Stands {
        let session = self.gate.session("default").expect("a store");
        let workflow = self.gate.policy().workflows().first().expect("a workflow");
        let first = || workflow.stages.first().map(|stage| stage.id.to_string()).unwrap_or_default();
        let Some(progress) = session.progress(workflow.id) else {
            return (first(), Vec::new(), Vec::new());
        };
        (
            progress.active_stage.to_string(),
            progress.completed_stages.iter().map(ToString::to_string).collect(),
            progress.approvals.keys().map(ToString::to_string).collect(),
        )
    }
}

/// Plays pages of this text through the library.
fn check(page: &str) {
    let page = Page::parse("page.md", page).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let played = play(&page, &mut LibraryDoor::default());
    let failures: Vec<String> = played.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty() && played.rows > 0, "{}", failures.join("\n"));
}

const HEAD: &str = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: w}\n";

#[test]
fn a_call_that_a_rule_and_the_next_stage_refuse_moves_no_stage() {
    check(&format!(
        "# T\n## S\n```rules\nblock Other\n```\n```yaml w.yaml\n{HEAD}stages:\n  \
         - {{id: look, tools: [Read], exit: [{{condition: file_read(\"/a\"), message: m}}]}}\n  \
         - {{id: write, tools: [Edit]}}\n```\n\
         | step | verdict | stage |\n|---|---|---|\n\
         | `Read {{\"file_path\": \"/a\"}}` | allow | `w: look` |\n\
         | `Other` | block | `w: look` |\n\
         | `Edit` | allow | `w: write` |\n"
    ));
}

#[test]
fn a_call_that_a_rule_refuses_moves_no_stage_when_nobody_can_be_asked() {
    check(&format!(
        "# T\n## S\n```rules\nblock Mail\n```\n```yaml w.yaml\n{HEAD}stages:\n  \
         - {{id: look, tools: [Read], exit: [{{condition: file_read(\"/a\"), message: m}}]}}\n  \
         - {{id: review, approval: {{message: m}}}}\n  - {{id: send, tools: [Mail]}}\n```\n\
         | step | verdict | stage |\n|---|---|---|\n\
         | `Read {{\"file_path\": \"/a\"}}` | allow | `w: look` |\n\
         | `Mail` | block | `w: look` |\n\
         | `Mail` human absent | block | `w: look` |\n"
    ));
}

#[test]
fn a_reset_forgets_the_results_of_a_stage_that_takes_every_tool() {
    check(&format!(
        "# T\n## S\n```yaml w.yaml\n{HEAD}stages:\n  - {{id: look, tools: [Read]}}\n  - id: ask\n    \
         checks: [{{command_not_matches: \"^git\", message: m}}]\n    \
         exit: [{{condition: 'mcp_result_matches(\"ci\", \"state\", \"green\")', message: Wait.}}]\n  \
         - {{id: push, tools: [Bash], checks: [{{command_matches: \"^git\", message: m}}]}}\n```\n\
         | step | verdict | because | stage |\n|---|---|---|---|\n\
         | `ci` gives `{{\"state\": \"green\"}}` | allow | | `w: ask` |\n\
         | reset `w` to `ask` | | | `w: ask` |\n\
         | `Bash $ make` | allow | | |\n\
         | `Bash $ git push` | block | m … | `w: ask` |\n"
    ));
}

#[test]
fn one_yes_is_never_asked_to_count_at_two_ends() {
    for (stage, condition) in [("work", "approval()"), ("work", "approval(\"review\")")] {
        let text = format!(
            "{HEAD}stages:\n  - {{id: {stage}, entry: [{{condition: '{condition}', message: m}}], tools: [Edit], \
             approval: {{message: m}}}}\n  - {{id: review, approval: {{message: m}}}}\n"
        );
        let (policy, mistakes) = lockgate::engine::languages::read(&[Source::new("w.yaml", text)]);
        assert!(policy.is_none());
        assert!(mistakes.iter().any(|mistake| mistake.code == "early-approval"), "{mistakes:?}");
    }
}

#[test]
fn a_refusal_from_before_a_move_says_nothing_about_the_stage_after_it() {
    let live = Live::new(&format!(
        "{HEAD}stages:\n  - {{id: review, approval: {{message: m}}}}\n  - {{id: send, tools: [Mail]}}\n"
    ));
    live.gate.call(&Call::new("1", "Mail"));
    let asked = live.gate.call(&Call::new("2", "Mail")).approval.expect("a question");
    live.gate.move_stage("default", "w", OperatorMove::Set, "review", Time(0)).expect("a stage");
    live.gate.answer(&asked, false, Time(0)).expect("an open question");
    let session = live.gate.session("default").expect("a store");
    let progress = session.progress(live.gate.policy().workflows()[0].id).expect("a stage");
    assert!(progress.pending_approval.required && progress.blocked_reason.is_none(), "{progress:?}");
}

#[test]
fn an_operator_moves_a_session_into_the_first_stage_like_into_any_other() {
    check(&format!(
        "# T\n## S\n```yaml w.yaml\n{HEAD}stages:\n  \
         - {{id: write, entry: [{{condition: file_read(\"/a\"), message: m}}], tools: [Edit]}}\n  \
         - {{id: send, entry: [{{condition: file_read(\"/b\"), message: m}}], tools: [Mail]}}\n```\n\
         | step | verdict | stage |\n|---|---|---|\n\
         | set `w` to `send` | | `w: send` |\n\
         | `Mail` | allow | `w: send` |\n\
         | set `w` to `write` | | `w: write` |\n\
         | `Edit` | allow | `w: write` |\n"
    ));
}

#[test]
fn a_last_stage_ends_by_a_program_and_a_call_that_it_does_not_accept() {
    let workflow = format!(
        "{HEAD}stages:\n  - {{id: push, tools: [Bash], exit: [{{condition: exec(\"git diff --quiet\"), message: m}}]}}\n"
    );
    let programs = Programs::default();
    programs.succeed.store(true, Ordering::SeqCst);
    let gate = Gate::builder(read(&workflow)).runner(programs.clone()).build().expect("a gate");
    for id in ["1", "2"] {
        let call = Call::new(id, "Bash").with("command", "git push");
        assert!(gate.call(&call).lets_pass());
        gate.result(&Outcome::success(&call)).expect("a store");
    }
    assert_eq!(programs.runs.load(Ordering::SeqCst), 0, "no call that is accepted asks for the end");
    let verdict = gate.call(&Call::new("3", "Edit"));
    assert!(verdict.reason.starts_with("workflow complete"), "{}", verdict.reason);
    assert!(!gate.call(&Call::new("4", "Bash").with("command", "git push")).lets_pass());
    assert_eq!(programs.runs.load(Ordering::SeqCst), 1);
}
