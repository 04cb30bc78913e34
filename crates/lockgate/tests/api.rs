//! The public API where the tutorial does not go: what goes wrong, comes late, comes twice, or comes from elsewhere.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    slice,
    sync::Barrier,
    thread,
    time::Duration,
};

use lockgate::{
    AnswerError, BuildError, CallError, Decision, Files, Gate, ManualClock, Mode, Permit, Policy,
    PolicyChanges, Question, Ruling, Session, ToolCall, ToolResult,
};
use serde_json::{Value, json};

/// A folder for one test, with nothing in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lockgate-api-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(fs::canonicalize(folder).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn session_under(rules: &str) -> Session {
    Gate::new(Policy::rules(rules).unwrap()).session("s1")
}

fn permit(session: &Session, tool: &str, input: Value) -> Permit {
    session.call(tool, input).unwrap().permit().unwrap()
}

fn question(session: &Session, call: ToolCall) -> Question {
    match session.request(call).unwrap() {
        Ruling::Ask(question) => question,
        other => panic!("a human must be asked, not {other:?}"),
    }
}

fn is_run(session: &Session, tool: &str) -> bool {
    matches!(session.call(tool, json!({})).unwrap(), Ruling::Run(_))
}

fn deploy() -> ToolCall {
    ToolCall::new("deploy", json!({"to": "production"})).id("d1")
}

#[test]
fn a_permit_that_is_dropped_in_a_panic_is_a_failure() {
    let session = session_under("require backup before delete\nlimit backup to 2 per session");
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let _backup = permit(&session, "backup", json!({}));
        panic!("the tool fails");
    }));
    assert!(ran.is_err());
    assert!(session.status().unwrap().pending.is_empty(), "the call is not in flight any more");
    assert!(!is_run(&session, "delete"), "it has earned nothing");
    permit(&session, "backup", json!({})).settle(ToolResult::success("")).unwrap();
    assert!(!is_run(&session, "backup"), "what it spent stays spent");
    assert!(is_run(&session, "delete"));
}

/// A view of the files that has a bug.
struct BrokenEyes;

impl Files for BrokenEyes {
    fn canonical(&self, path: &str) -> Option<String> {
        assert!(!path.contains("bug"), "a bug in the eyes");
        Some(path.to_owned())
    }
}

#[test]
fn a_panic_while_a_call_is_looked_at_blocks_it_and_does_not_reach_the_program() {
    let policy = Policy::rules("block shutdown").unwrap();
    let gate = Gate::builder(policy).mode(Mode::Observe).eyes(BrokenEyes).build().unwrap();
    let session = gate.session("s1");
    let read = |path: &str| ToolCall::new("bash", json!({"command": format!("cat {path}")}));
    let Ruling::Block(refusal) = session.request(read("/bug")).unwrap() else { panic!("it was not seen") };
    assert_eq!(refusal.reason(), "Lockgate panicked while it looked at this call, so the call is blocked.");
    assert!(session.explain(read("/bug")).is_ok());
    assert_eq!(gate.evaluate(read("/bug"), None).unwrap().0.decision, Decision::Block);
    assert!(matches!(session.request(read("/file")).unwrap(), Ruling::Run(_)), "the gate goes on");
}

#[test]
fn the_input_that_a_rule_masks_is_not_reachable() {
    let text = "mask: label\nrules:\n- {id: mask, when: {tool: search}, then: redact}\n\
                - {id: ask, when: {tool: mail}, then: approve}\n- {id: mask-mail, when: {tool: mail}, then: redact}";
    let policy = Policy::builder().text("policy.yaml", text).load().unwrap();
    let session = Gate::new(policy).session("s1");
    let input = || json!({"query": "ada@example.com"});

    let permit = permit(&session, "search", input());
    assert_eq!(permit.input()["query"], "[EMAIL]");
    assert!(permit.is_masked());
    assert!(!format!("{permit:?} {:?}", permit.verdict()).contains("ada@"));

    let question = question(&session, ToolCall::new("mail", input()));
    assert_eq!(question.input()["query"], "[EMAIL]");
    assert!(!format!("{question:?} {:?} {}", question.verdict(), question.text()).contains("ada@"));
    let Ruling::Run(permit) = question.answer(true, "ada").unwrap() else { panic!("it was granted") };
    assert_eq!(permit.input()["query"], "[EMAIL]");
    assert!(!format!("{permit:?} {:?}", permit.verdict()).contains("ada@"));
}

#[test]
fn what_is_refused_is_not_printed() {
    let session = session_under("block mail");
    let ruling = session.call("mail", json!({"to": "ada@example.com"})).unwrap();
    assert!(matches!(ruling, Ruling::Block(_)));
    assert!(!format!("{ruling:?}").contains("ada@"));
}

#[test]
fn a_detached_call_is_settled_by_its_id_and_once() {
    let session = session_under("require backup before delete");
    let id = permit(&session, "backup", json!({})).detach();
    assert_eq!(session.status().unwrap().pending, slice::from_ref(&id), "detaching is not a result");
    assert!(!session.settle("another", ToolResult::success("")).unwrap().is_settled());
    assert!(!is_run(&session, "delete"));
    assert!(session.settle(&id, ToolResult::success("12 files")).unwrap().is_settled());
    assert!(!session.settle(&id, ToolResult::success("again")).unwrap().is_settled());
    assert!(is_run(&session, "delete"));
}

#[test]
fn a_call_that_comes_again_gets_the_open_question_and_goes_on_once() {
    let session = session_under("require human-approval before deploy");
    let first = question(&session, deploy());
    let second = question(&session, deploy());
    assert_eq!(first.id(), second.id());
    assert_eq!(session.questions().unwrap(), [first.id().clone()]);
    for text in [first.text(), second.text()] {
        assert!(text.contains("approve-before-deploy") && text.contains(r#"{"to":"production"}"#), "{text}");
    }
    assert!(second.resume().unwrap().is_none(), "it was not answered yet");
    let Ruling::Run(permit) = first.answer(true, "ada").unwrap() else { panic!("it was granted") };
    for question in [&first, &second] {
        assert!(matches!(question.resume(), Err(AnswerError::NotOpen(_))), "it goes on once");
    }
    assert!(matches!(session.request(deploy()).unwrap(), Ruling::Block(_)), "its id is in use");
    permit.settle(ToolResult::success("")).unwrap();
}

#[test]
fn another_call_under_the_id_of_a_question_is_not_that_question() {
    let session = session_under("require human-approval before deploy");
    let asked = question(&session, deploy());
    let other = ToolCall::new("deploy", json!({"to": "the moon"})).id("d1");
    match session.request(other).unwrap() {
        Ruling::Ask(other) => assert_ne!(asked.id(), other.id()),
        Ruling::Block(_) => {}
        Ruling::Run(_) => panic!("no human has seen it"),
    }
}

#[test]
fn an_answer_after_the_deadline_does_not_count() {
    let clock = ManualClock::default();
    let policy = Policy::rules("require human-approval before deploy").unwrap();
    let gate =
        Gate::builder(policy).clock(clock.clone()).answer_time(Duration::from_secs(60)).build().unwrap();
    let session = gate.session("s1");

    let late = question(&session, deploy());
    clock.advance(Duration::from_secs(60));
    assert!(matches!(late.answer(true, "ada"), Err(AnswerError::NotOpen(_))));
    let Some(Ruling::Block(refusal)) = late.resume().unwrap() else { panic!("the time is over") };
    assert!(refusal.is_timeout());
    assert!(matches!(gate.answer(late.id(), true, "ada"), Err(AnswerError::NotOpen(_))));

    let in_time = question(&session, deploy());
    clock.advance(Duration::from_secs(59));
    assert!(matches!(in_time.answer(true, "ada").unwrap(), Ruling::Run(_)));

    // A grant in time does not run a call that goes on too late.
    let slow = question(&session, ToolCall::new("deploy", json!({})));
    gate.answer(slow.id(), true, "ada").unwrap();
    clock.advance(Duration::from_secs(61));
    assert!(!matches!(slow.resume(), Ok(Some(Ruling::Run(_)) | None)));
}

#[test]
fn of_many_answers_at_once_the_first_stands() {
    let session = session_under("require human-approval before deploy");
    for round in 0..50 {
        let call = deploy().id(format!("d{round}"));
        let questions: Vec<Question> = (0..4).map(|_| question(&session, call.clone())).collect();
        let start = Barrier::new(questions.len());
        let rulings: Vec<_> = thread::scope(|scope| {
            let answer = |(number, question): (usize, Question)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (number % 2 == 0, question.answer(number % 2 == 0, "somebody"))
                })
            };
            let threads: Vec<_> = questions.into_iter().enumerate().map(answer).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let stored: Vec<_> = rulings.iter().filter(|(_, ruling)| ruling.is_ok()).collect();
        assert_eq!(stored.len(), 1, "{rulings:?}");
        let (granted, ruling) = stored[0];
        assert_eq!(*granted, matches!(ruling, Ok(Ruling::Run(_))), "{rulings:?}");
    }
}

#[test]
fn of_many_answers_that_are_only_stored_the_first_stands_too() {
    let gate = Gate::new(Policy::rules("require human-approval before deploy").unwrap());
    let session = gate.session("s1");
    for round in 0..50 {
        let asked = question(&session, deploy().id(format!("d{round}")));
        let (gate, id) = (&gate, asked.id());
        let (ruling, stored) = thread::scope(|scope| {
            let answer = |granted: bool| scope.spawn(move || (granted, gate.answer(id, granted, "somebody")));
            let threads: Vec<_> = (0..4).map(|number| answer(number % 2 == 0)).collect();
            let ruling = asked.wait(Duration::from_secs(60)).unwrap();
            let answers = threads.into_iter().map(|thread| thread.join().unwrap());
            (ruling, answers.filter(|(_, stored)| stored.is_ok()).collect::<Vec<_>>())
        });
        assert_eq!(stored.len(), 1, "{stored:?}");
        assert_eq!(stored[0].0, matches!(ruling, Ruling::Run(_)), "the answer that was stored decides");
    }
}

#[test]
fn another_gate_on_the_same_file_answers() {
    let folder = Folder::new("sqlite");
    let open = || {
        let policy =
            Policy::rules("require human-approval before deploy\nlimit deploy to 2 per session").unwrap();
        Gate::builder(policy).sqlite(folder.0.join("state.db")).unwrap().build().unwrap()
    };
    let (agent, human) = (open(), open());
    let session = agent.session("s1");

    let granted = question(&session, deploy());
    assert_eq!(human.session("s1").questions().unwrap(), [granted.id().clone()]);
    human.answer(granted.id(), true, "ada").unwrap();
    assert!(matches!(human.answer(granted.id(), false, "bob"), Err(AnswerError::NotOpen(_))));
    let ruling = granted.wait(Duration::from_secs(60)).unwrap();
    ruling.permit().unwrap().settle(ToolResult::success("")).unwrap();
    assert!(matches!(granted.resume(), Err(AnswerError::NotOpen(_))));

    let refused = question(&session, deploy().id("d2"));
    human.answer(refused.id(), false, "ada").unwrap();
    assert!(matches!(refused.resume().unwrap(), Some(Ruling::Block(_))));

    // Calls without an id have ids of their own, whichever gate makes them up.
    let ids: Vec<String> =
        [&agent, &human].map(|gate| permit(&gate.session("s2"), "read", json!({})).detach()).into();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_stored_session_stays_under_the_policy_that_it_began_with() {
    let folder = Folder::new("bound");
    let passes = |rules: &str, changes: PolicyChanges, session: &str, tool: &str| {
        let builder = Gate::builder(Policy::rules(rules).unwrap()).policy_changes(changes);
        let gate = builder.sqlite(folder.0.join("state.db")).unwrap().build().unwrap();
        matches!(gate.session(session).call(tool, json!({})).unwrap(), Ruling::Run(_))
    };
    use PolicyChanges::{Follow, Hold};
    for (rules, changes, session, tool, expected) in [
        ("block push", Hold, "s1", "push", false),
        ("block pull", Hold, "s1", "push", false),
        ("block pull", Follow, "s1", "push", false),
        ("block pull", Hold, "s1", "pull", false),
        ("block pull", Hold, "s1", "read", true),
        ("block push", Hold, "s1", "pull", true),
        // The program that opens the gate chooses the policy of new sessions.
        ("block pull", Follow, "s2", "push", true),
        ("block push", Follow, "s2", "push", false),
        ("block push", Follow, "s2", "pull", true),
    ] {
        assert_eq!(passes(rules, changes, session, tool), expected, "{rules} {changes:?} {session} {tool}");
    }
}

#[test]
fn what_is_not_a_call_is_not_judged() {
    let gate = Gate::new(Policy::rules("block shutdown").unwrap());
    let error =
        |session: &str, tool: &str, input: Value| gate.session(session).call(tool, input).unwrap_err();
    assert_eq!(error("", "read", json!({})), CallError::NoSession);
    assert_eq!(error("s1", "", json!({})), CallError::NoTool);
    for (input, found) in [(json!([]), "an array"), (json!("ls"), "a string"), (json!(1), "a number")] {
        let expected = CallError::NotAnObject { tool: "bash".to_owned(), found };
        assert_eq!(error("s1", "bash", input), expected);
    }
    assert!(gate.session("s1").explain(ToolCall::new("", json!({}))).is_err());
}

#[test]
fn an_unattended_session_asks_no_human() {
    let session = session_under("require human-approval before deploy\nlimit deploy to 1 per session");
    let alone = session.clone().unattended();
    assert!(matches!(alone.request(deploy()).unwrap(), Ruling::Block(_)));
    assert!(session.questions().unwrap().is_empty());

    let asked = question(&session, deploy());
    assert!(matches!(alone.request(deploy()).unwrap(), Ruling::Block(_)), "an open question does not help");
    assert!(matches!(asked.answer(true, "ada").unwrap(), Ruling::Run(_)), "and it is still open");
}

#[test]
fn a_manual_clock_moves_windows() {
    let text =
        "rules: [{id: calm, when: {tool: send, chain: [{tool: send, within_seconds: 60}]}, then: block}]";
    let policy = Policy::builder().text("policy.yaml", text).load().unwrap();
    let clock = ManualClock::default();
    let session = Gate::builder(policy).clock(clock.clone()).build().unwrap().session("s1");
    assert!(is_run(&session, "send"));
    clock.advance(Duration::from_secs(59));
    assert!(!is_run(&session, "send"));
    clock.advance(Duration::from_secs(61));
    assert!(is_run(&session, "send"));
}

#[cfg(unix)]
#[test]
fn links_are_followed_unless_the_files_are_elsewhere() {
    let folder = Folder::new("links");
    let desk = folder.0.join("desk");
    fs::create_dir_all(&desk).unwrap();
    fs::write(folder.0.join("secret"), "").unwrap();
    std::os::unix::fs::symlink(&folder.0, desk.join("out")).unwrap();
    let text = format!(
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {{name: desk}}\ndefaults: {{mode: enforce}}\nrules:\n\
         - {{id: desk, type: sandbox, tool: read, within: ['{}'], message: Stay at the desk.}}",
        desk.display()
    );
    let policy = Policy::builder().text("policy.yaml", text).load().unwrap();
    let read = |gate: &Gate, name: &str| {
        let path = desk.join(name).display().to_string();
        matches!(gate.session("s1").call("read", json!({"path": path})).unwrap(), Ruling::Run(_))
    };
    let looks = Gate::new(policy.clone());
    let is_blind = Gate::builder(policy).without_eyes().build().unwrap();
    for gate in [&looks, &is_blind] {
        assert!(read(gate, "own"));
        assert!(!read(gate, "../secret"));
    }
    assert!(!read(&looks, "out/secret"), "the link leads out of the folder");
    assert!(read(&is_blind, "out/secret"), "another machine's links are not looked up here");
}

#[test]
fn a_session_is_restored_in_memory_only() {
    let policy = Policy::rules("limit send to 1 per session").unwrap();
    let session = Gate::new(policy.clone()).session("s1");
    assert!(is_run(&session, "send"));
    let saved = session.to_json().unwrap();

    let both = Gate::builder(policy.clone()).restore("s1", &saved).unwrap().restore("s2", &saved).unwrap();
    let gate = both.build().unwrap();
    assert_eq!(["s1", "s2", "s3"].map(|name| is_run(&gate.session(name), "send")), [false, false, true]);

    assert!(Gate::builder(policy.clone()).restore("s1", "{}").is_err());
    // A file remembers its sessions itself; restoring another state beside it would be a refund, in either order.
    let folder = Folder::new("restore");
    let file = folder.0.join("state.db");
    let before = Gate::builder(policy.clone()).restore("s1", &saved).unwrap().sqlite(&file).unwrap();
    let after = Gate::builder(policy).sqlite(&file).unwrap().restore("s1", &saved).unwrap();
    for builder in [before, after] {
        assert!(matches!(builder.build(), Err(BuildError::StoredElsewhere(_))));
    }
}

#[test]
fn a_confirmation_answers_on_the_spot_and_a_panic_in_it_is_not_an_answer() {
    let policy = || Policy::rules("require human-approval before deploy").unwrap();
    let ruling = |confirm: fn(&Question) -> Option<bool>| {
        let gate = Gate::builder(policy()).confirm(confirm).build().unwrap();
        gate.session("s1").request(deploy()).unwrap()
    };
    assert!(matches!(ruling(|question| Some(question.text().contains("production"))), Ruling::Run(_)));
    assert!(matches!(ruling(|_| Some(false)), Ruling::Block(_)));
    assert!(matches!(ruling(|_| None), Ruling::Ask(_)));
    assert!(matches!(ruling(|_| panic!("the dialogue is broken")), Ruling::Ask(_)));
    let gate = Gate::builder(policy()).confirm(|_| Some(true)).build().unwrap();
    assert!(matches!(gate.session("s1").unattended().request(deploy()).unwrap(), Ruling::Block(_)));
}

#[test]
fn a_question_is_taken_up_by_its_name() {
    let gate = Gate::new(Policy::rules("require human-approval before deploy").unwrap());
    let session = gate.session("s1");
    let id = question(&session, deploy()).id().clone();
    let again = session.question(&id).unwrap();
    assert!(again.text().contains("production"));
    assert!(matches!(gate.session("s2").question(&id), Err(AnswerError::NotOpen(_))));
    assert!(matches!(again.answer(true, "ada").unwrap(), Ruling::Run(_)));
    assert!(matches!(session.question(&id), Err(AnswerError::NotOpen(_))));
}
