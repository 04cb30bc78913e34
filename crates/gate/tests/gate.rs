//! What a gate promises beyond the pages in `spec/`: bounds, failures of its own, hooks, and sessions at rest.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    panic::catch_unwind,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use lockgate_call::{Call, Time};
use lockgate_gate::{
    Answer, AnswerError, AnswerStore, ApprovalId, Changes, Decision, Gate, IsOpen, MemoryAnswers,
    MemoryStore, OpenedSession, Outcome, Past, Reach, Scripted, Session, SharedState, Store, StoreError,
    StoredAnswer, Terms, Verdict,
};
use lockgate_languages::{Options, render, ruleset::CustomNames};
use lockgate_policy::{DraftNet, DraftTransition, Module, Policy, Source, clause::Gravity};
use serde_json::{Value, json};

fn policy(text: &str) -> Policy {
    let (policy, diagnostics) = lockgate_languages::read(&[Source::new("test.rules", text)]);
    policy.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn when_then(text: &str) -> Policy {
    let (policy, mistakes) = lockgate_languages::read(&[Source::new("test.yaml", text)]);
    policy.unwrap_or_else(|| panic!("{}", render(&mistakes, false)))
}

fn net(net: DraftNet) -> Policy {
    let (policy, mistakes) = lockgate_languages::compile(vec![Module::of_net(net).into()]);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    policy
}

/// `decision: reason`, the way tables tell verdicts.
fn told(verdict: &Verdict) -> String {
    format!("{}: {}", verdict.decision.word(), verdict.reason)
}

fn status(gate: &Gate) -> String {
    gate.status("default", Time(0)).unwrap().text()
}

/// Backup is deferred, destroy spends it; both go through the author's code.
fn backup_net() -> Policy {
    let backup = DraftTransition::new("backup", &["ready"], &["ready", "kept"]).tools(&["backup"]).deferred();
    let destroy = DraftTransition::new("destroy", &["kept"], &[]).tools(&["destroy"]);
    net(DraftNet::new("backups").place("ready", 1).place("kept", 0).transition(backup).transition(destroy))
}

#[test]
fn a_result_that_never_comes_is_given_up_after_its_lease() {
    let terms = Terms { lease_ms: 1_000, ..Terms::default() };
    let gate = Gate::builder(policy("require backup before delete")).terms(terms).build().unwrap();
    let backup = Call::new("1", "backup");
    assert_eq!(gate.call(&backup).decision, Decision::Allow);

    // One moment before the end it still counts, at the end it does not.
    for (at, settled, marking) in [(999, true, "gate:1"), (1_000, false, "ready:1")] {
        let gate = Gate::builder(policy("require backup before delete")).terms(terms).build().unwrap();
        gate.call(&backup);
        let late = Outcome { at: Time(at), ..Outcome::success(&backup) };
        assert_eq!(gate.result(&late).unwrap().settled, settled, "{at}");
        assert_eq!(status(&gate), format!("require-backup-before-delete: {marking}"), "{at}");
    }
    // An id whose lease is over may be used again.
    assert_eq!(
        told(&gate.call(&backup)),
        "block: call id '1' is already in use by a call that has not finished."
    );
    assert_eq!(gate.call(&backup.clone().at(Time(1_000))).decision, Decision::Allow);
}

#[test]
fn a_spent_budget_stays_spent_when_the_result_never_comes() {
    let terms = Terms { lease_ms: 1, ..Terms::default() };
    let gate = Gate::builder(policy("limit push to 1 per session")).terms(terms).build().unwrap();
    assert!(gate.call(&Call::new("1", "push")).lets_pass());
    assert!(!gate.call(&Call::new("2", "push").at(Time(10_000))).lets_pass());
}

#[test]
fn calls_in_flight_are_bounded() {
    let terms = Terms { flights_max: 2, lease_ms: 100, ..Terms::default() };
    let gate = Gate::builder(policy("block x")).terms(terms).build().unwrap();
    let call = |id: &str, at: u64| gate.call(&Call::new(id, "read").at(Time(at))).decision;
    assert_eq!(
        [call("1", 0), call("2", 0), call("3", 0)],
        [Decision::Allow, Decision::Allow, Decision::Block]
    );
    // A result, or the end of a lease, makes room.
    gate.result(&Outcome { session: "default".into(), id: "1".into(), ok: true, ..Outcome::default() })
        .unwrap();
    assert_eq!(
        [call("3", 0), call("4", 0), call("4", 100)],
        [Decision::Allow, Decision::Block, Decision::Allow]
    );
}

#[test]
fn questions_to_a_human_are_bounded() {
    let terms = Terms { asked_max: 2, approval_ms: 100, ..Terms::default() };
    let gate = Gate::builder(policy("require human-approval before deploy")).terms(terms).build().unwrap();
    let call = |id: &str, at: u64| gate.call(&Call::new(id, "deploy").at(Time(at))).decision;
    assert_eq!([call("1", 0), call("2", 0), call("3", 0)], [Decision::Ask, Decision::Ask, Decision::Block]);
    assert_eq!(call("3", 100), Decision::Ask, "the first two have lapsed");
}

#[test]
fn a_question_lapses_and_gives_back_what_it_held() {
    let terms = Terms { approval_ms: 100, ..Terms::default() };
    let rules = "limit deploy to 1 per session\nrequire human-approval before deploy";
    let gate = Gate::builder(policy(rules)).terms(terms).build().unwrap();
    let asked = gate.call(&Call::new("1", "deploy")).approval.unwrap();
    assert!(gate.status("default", Time(99)).unwrap().text().contains("limit-deploy-1: ready:1\n"));
    assert_eq!(
        gate.call(&Call::new("2", "deploy").at(Time(99))).decision,
        Decision::Block,
        "the budget is held"
    );

    let late = gate.answer(&asked, true, Time(100)).unwrap();
    assert_eq!(told(&late), "block: the approval of a human did not come in time: ask again.");
    assert!(matches!(gate.answer(&asked, true, Time(100)), Err(AnswerError::NotOpen(_))));
    assert_eq!(gate.call(&Call::new("3", "deploy").at(Time(100))).decision, Decision::Ask);
}

#[test]
fn time_never_runs_backwards_in_a_session() {
    let terms = Terms { approval_ms: 100, ..Terms::default() };
    let gate = Gate::builder(policy("require human-approval before deploy")).terms(terms).build().unwrap();
    gate.call(&Call::new("0", "read").at(Time(1_000)));
    let asked = gate.call(&Call::new("1", "deploy").at(Time(5))).approval.unwrap();
    assert_eq!(
        gate.answer(&asked, true, Time(7)).unwrap().decision,
        Decision::Allow,
        "asked at 1000, not at 5"
    );
}

#[test]
fn after_a_grant_everything_is_judged_again() {
    let gate = Gate::new(policy("require human-approval before deploy\nrequire test before deploy\nblock x"));
    gate.replay("default", &[Past::success("test")], Time(0)).unwrap();
    let asked = gate.call(&Call::new("1", "deploy")).approval.unwrap();
    // While the human thinks, a rule is put in force again that was not when the question was asked.
    gate.registry("default").deactivate("require-test-before-deploy").unwrap();
    gate.halt(Some("default"), "stop", Time(0)).unwrap();
    assert_eq!(told(&gate.answer(&asked, true, Time(0)).unwrap()), "block: this session is halted: stop");
    assert!(
        matches!(gate.answer(&asked, true, Time(0)), Err(AnswerError::NotOpen(_))),
        "a grant spends once"
    );
}

#[test]
fn a_validator_refuses_in_its_own_words_and_leaves_no_trace() {
    let gate = Gate::builder(backup_net())
        .validate("backups", |attempt, notes| {
            let path = attempt.call.input.get("path").and_then(|path| path.as_str()).unwrap_or_default();
            notes.insert("last".into(), path.into());
            if path.starts_with('/') { Err(format!("{} may not touch {path}", attempt.deed)) } else { Ok(()) }
        })
        .on_result("backups", |success, notes| {
            notes.insert("kept".into(), success.call.input.get("path").cloned().unwrap_or_default());
        })
        .build()
        .unwrap();
    let rule = gate.policy().nets()[0].id;
    let notes = || gate.session("default").unwrap().notes(rule).cloned().map(Value::from);

    assert_eq!(
        told(&gate.call(&Call::new("1", "backup").with("path", "/etc"))),
        "block: backup may not touch /etc"
    );
    assert_eq!(notes(), None, "a refused call leaves no notes");

    let backup = Call::new("2", "backup").with("path", "src");
    assert!(gate.call(&backup).lets_pass());
    gate.result(&Outcome::success(&backup)).unwrap();
    assert_eq!(notes(), Some(serde_json::json!({"last": "src", "kept": "src"})));
    assert_eq!(status(&gate), "backups: ready:1, kept:1");
}

#[test]
fn notes_roll_back_when_another_rule_refuses() {
    let draft = DraftNet::new("counting").place("ready", 1);
    let count = DraftTransition::new("count", &["ready"], &["ready"]).tools(&["push"]);
    let (counting, _) = lockgate_languages::compile(vec![
        Module::of_net(draft.transition(count)).into(),
        lockgate_languages::one_line::parse(&Source::new("limit.rules", "limit push to 1 per session")).0,
    ]);
    let gate = Gate::builder(counting)
        .validate("counting", |_, notes| {
            let seen = notes.get("seen").and_then(Value::as_u64).unwrap_or(0);
            notes.insert("seen".into(), (seen + 1).into());
            Ok(())
        })
        .build()
        .unwrap();
    for id in ["1", "2", "3"] {
        gate.call(&Call::new(id, "push"));
    }
    let rule = gate.policy().nets()[0].id;
    assert_eq!(gate.session("default").unwrap().notes(rule).unwrap()["seen"], 1, "two of three were refused");
}

#[test]
fn code_that_panics_blocks_and_earns_nothing() {
    let gate = Gate::builder(backup_net())
        .validate("backups", |attempt, _| {
            assert!(attempt.deed != "destroy", "a validator's own mistake");
            Ok(())
        })
        .on_result("backups", |_, _| panic!("a hook's own mistake"))
        .on_decision(|_, _| panic!("a listener's own mistake"))
        .build()
        .unwrap();
    let backup = Call::new("1", "backup");
    assert_eq!(gate.call(&backup).decision, Decision::Allow);
    assert!(gate.result(&Outcome::success(&backup)).unwrap().settled);
    assert_eq!(status(&gate), "backups: ready:1", "a success whose hook panicked is none");

    let gate = Gate::builder(backup_net()).validate("backups", |_, _| panic!("oh")).build().unwrap();
    let verdict = gate.call(&Call::new("1", "backup"));
    assert_eq!(verdict.decision, Decision::Block);
    assert!(verdict.reason.starts_with("Lockgate could not decide"), "{}", verdict.reason);
}

#[test]
fn code_that_panics_after_a_grant_blocks_and_gives_back() {
    let asks = DraftTransition::new("ship", &["slot"], &[]).tools(&["ship"]).manual();
    let gate = Gate::builder(net(DraftNet::new("slots").place("slot", 1).transition(asks)))
        .validate("slots", {
            let asked = AtomicUsize::new(0);
            move |_, _| {
                assert_eq!(
                    asked.fetch_add(1, Ordering::SeqCst),
                    0,
                    "a validator's own mistake, the second time"
                );
                Ok(())
            }
        })
        .build()
        .unwrap();
    let question = gate.call(&Call::new("1", "ship")).approval.unwrap();
    assert_eq!(status(&gate), "slots: ", "the slot is held");
    let verdict = gate.answer(&question, true, Time(0)).unwrap();
    assert_eq!(verdict.decision, Decision::Block);
    assert!(verdict.reason.starts_with("Lockgate could not decide"), "{}", verdict.reason);
    assert_eq!(status(&gate), "slots: slot:1");
}

#[test]
fn an_approver_that_panics_is_nobody() {
    struct Careless;
    impl lockgate_gate::Approver for Careless {
        fn ask(&mut self, _: &lockgate_gate::Question<'_>) -> Answer {
            panic!("the terminal is gone")
        }
    }
    let gate = Gate::new(policy("require human-approval before deploy"));
    let verdict = gate.call_with(&Call::new("1", "deploy"), &mut Careless);
    assert_eq!(told(&verdict), "block: deploy requires human approval.");
    let granted = gate.call_with(&Call::new("1", "deploy"), &mut Scripted::new([Answer::Granted]));
    assert_eq!(granted.decision, Decision::Allow, "the question was closed, so the id is free again");
}

#[test]
fn a_hook_on_a_net_that_does_not_exist_is_an_error() {
    let error = Gate::builder(policy("block x")).validate("backups", |_, _| Ok(())).build().unwrap_err();
    assert_eq!(error.to_string(), "no net is called `backups`; the policy has: block-x");
}

/// A store that fails as told: so many conflicts first, then for good or not at all.
struct Faulty {
    memory: MemoryStore,
    conflicts: AtomicUsize,
    is_down: bool,
}

impl Store for Faulty {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        if self.is_down {
            return Err(StoreError::Unavailable("no disk".into()));
        }
        let has_conflict =
            self.conflicts.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let opened = self.memory.open(session, reach)?;
        Ok(Box::new(FaultySession { opened, has_conflict: has_conflict.is_ok() }))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        if self.is_down {
            Err(StoreError::Unavailable("no disk".into()))
        } else {
            self.memory.commit_shared(changes)
        }
    }
}

struct FaultySession<'a> {
    opened: Box<dyn OpenedSession + 'a>,
    has_conflict: bool,
}

impl OpenedSession for FaultySession<'_> {
    fn session(&self) -> &Session {
        self.opened.session()
    }

    fn shared_state(&self) -> &SharedState {
        self.opened.shared_state()
    }

    fn commit(self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        if self.has_conflict { Err(StoreError::Conflict) } else { self.opened.commit(changes) }
    }
}

/// A store that panics, when a session is opened or when it is committed.
struct Broken {
    memory: MemoryStore,
    opens: bool,
}

struct BrokenSession<'a>(Box<dyn OpenedSession + 'a>);

impl Store for Broken {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        assert!(self.opens, "a bug in the store");
        Ok(Box::new(BrokenSession(self.memory.open(session, reach)?)))
    }

    fn commit_shared(&self, _: &Changes<'_>) -> Result<(), StoreError> {
        panic!("a bug in the store")
    }
}

impl OpenedSession for BrokenSession<'_> {
    fn session(&self) -> &Session {
        self.0.session()
    }

    fn shared_state(&self) -> &SharedState {
        self.0.shared_state()
    }

    fn commit(self: Box<Self>, _: &Changes<'_>) -> Result<(), StoreError> {
        panic!("a bug in the store")
    }
}

#[test]
fn a_panic_of_the_store_blocks_and_does_not_reach_the_program_around() {
    for opens in [false, true] {
        let store = Broken { memory: MemoryStore::new(), opens };
        let gate = Gate::builder(policy("block x")).store(store).build().unwrap();
        let call = Call::new("1", "read");
        assert_eq!(
            told(&gate.call(&call)),
            "block: Lockgate could not decide (Lockgate or its store panicked), so the call is blocked."
        );
        assert!(matches!(gate.result(&Outcome::success(&call)), Err(StoreError::Panicked)));
        assert!(matches!(gate.halt(None, "fire", Time(1)), Err(StoreError::Panicked)));
        assert_eq!(gate.explain(&call).is_ok(), opens);
        assert_eq!(gate.status("s", Time(1)).is_ok(), opens);
        assert_eq!(gate.session("s").is_ok(), opens);
    }
}

#[test]
fn a_call_is_judged_again_on_conflict_and_blocked_when_the_store_fails() {
    let table = [
        (3, false, "allow: "),
        (
            1_000,
            false,
            "block: Lockgate could not decide (another writer changed the session first), so the call is blocked.",
        ),
        (
            0,
            true,
            "block: Lockgate could not decide (the session store does not answer: no disk), so the call is blocked.",
        ),
    ];
    for (conflicts, is_down, expected) in table {
        let store = Faulty { memory: MemoryStore::new(), conflicts: AtomicUsize::new(conflicts), is_down };
        let gate = Gate::builder(policy("limit push to 1 per session")).store(store).build().unwrap();
        assert_eq!(told(&gate.call(&Call::new("1", "push"))), expected);
    }
}

#[test]
fn the_listener_hears_every_verdict_even_under_observe() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = heard.clone();
    let gate = Gate::builder(policy("block rm"))
        .mode(lockgate_policy::Mode::Observe)
        .on_decision(move |call, verdict| {
            let observed: Vec<&str> = verdict.observed.iter().map(|it| it.reason.as_str()).collect();
            hears.lock().unwrap().push(format!("{} {} {observed:?}", call.tool, verdict.decision.word()));
        })
        .build()
        .unwrap();
    gate.call(&Call::new("1", "rm"));
    gate.call(&Call::new("2", "ls"));
    assert_eq!(
        *heard.lock().unwrap(),
        [r#"rm allow ["rm is blocked and cannot be called."]"#, "ls allow []"]
    );
}

#[test]
fn a_saved_session_never_refunds_under_an_edited_policy() {
    let spend = |text: &str, pushes: usize| {
        let gate = Gate::new(policy(text));
        for id in 0..pushes {
            gate.call(&Call::new(id.to_string(), "push"));
        }
        gate.session("default").unwrap().to_json(gate.policy())
    };
    let carried = |saved: &str, text: &str| {
        let policy = policy(text);
        let session = Session::from_json(saved, &policy).unwrap();
        let gate =
            Gate::builder(policy).store(MemoryStore::with_session("default", session)).build().unwrap();
        status(&gate)
    };
    let three = "limit push to 3 per session";
    let table = [
        (three, 2, "limit push to 3 per session", "limit-push-3: ready:1, budget:1"),
        (three, 2, "limit push to 5 per session", "limit-push-5: ready:1, budget:3"),
        (three, 2, "limit push to 1 per session", "limit-push-1: ready:1"),
        (
            three,
            2,
            "# moved\n\nblock x\nlimit push to 3 per session",
            "block-x: ready:1\nlimit-push-3: ready:1, budget:1",
        ),
        (
            "limit push to 3 per read",
            2,
            "limit push to 2 per read",
            "limit-push-2-per-read: ready:1, spent:2",
        ),
        (
            "limit push to 3 per read",
            1,
            "limit push to 4 per read",
            "limit-push-4-per-read: ready:1, budget:3, spent:1",
        ),
    ];
    for (before, pushes, after, expected) in table {
        assert_eq!(carried(&spend(before, pushes), after), expected, "{before} -> {after}");
    }
    // A rule that was taken out and comes back still knows.
    let without = policy("block x");
    let kept = Session::from_json(&spend(three, 2), &without).unwrap().to_json(&without);
    assert_eq!(carried(&kept, three), "limit-push-3: ready:1, budget:1");
}

#[test]
fn a_saved_session_that_does_not_fit_is_refused_with_a_remedy() {
    let gate = Gate::new(backup_net());
    let backup = Call::new("1", "backup");
    gate.call(&backup);
    gate.result(&Outcome::success(&backup)).unwrap();
    let saved = gate.session("default").unwrap().to_json(gate.policy());
    let redrawn = net(DraftNet::new("backups").place("ready", 1));
    let refusals = [
        Session::from_json(&saved, &redrawn).unwrap_err().to_string(),
        Session::from_json(&saved.replace("\"version\": 1", "\"version\": 9"), gate.policy())
            .unwrap_err()
            .to_string(),
    ];
    assert_eq!(
        refusals,
        [
            "net `backups` no longer has the place `kept` in which this session is; keep the old net or start a \
             new session",
            "saved in format 9, but this version of Lockgate reads format 1; start a new session",
        ]
    );
    assert!(Session::from_json("[]", gate.policy()).is_err());
}

#[test]
fn a_net_that_would_not_come_to_rest_blocks() {
    // Each `pour` lets a million tokens trickle one by one, more than a call may wait for.
    let (draft, mistakes) = lockgate_languages::one_line::parse(&Source::new("none.rules", ""));
    assert!(mistakes.is_empty());
    let mut pour = DraftTransition::new("pour", &["ready"], &[]).tools(&["pour"]);
    pour.outputs = vec!["tank".to_owned(); 20_000];
    let trickle = DraftTransition::new("trickle", &["tank"], &["sea"]);
    let sea = DraftNet::new("sea").place("ready", 1).place("tank", 0).place("sea", 0);
    let (policy, mistakes) = lockgate_languages::compile(vec![
        draft,
        Module::of_net(sea.transition(pour).transition(trickle)).into(),
    ]);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let verdict = Gate::new(policy).call(&Call::new("1", "pour"));
    assert_eq!(
        told(&verdict),
        "block: pour would make its net fire without end, so it is blocked: contact the policy author."
    );
}

#[test]
fn a_doubt_restricts_what_is_open_and_opens_nothing_that_is_closed() {
    let decide = |rules: &str, context: Option<Value>| {
        let text = format!("default_verdict: block\nrules:\n{rules}");
        let mut call = Call::new("1", "send").with("size", "large");
        call.about.context = context;
        Gate::new(when_then(&text)).call(&call).decision
    };
    let allow = "  - {id: open, when: {tool: send}, then: allow}\n";
    // Nobody said where it goes, and nobody knows how large it is.
    for then in ["approve", "redact"] {
        for when in ["context: {to: '!us'}", "args_match: {size: {gt: 5}}"] {
            let rule = format!("  - {{id: doubtful, when: {{tool: send, {when}}}, then: {then}}}\n");
            let expected = if then == "approve" { Decision::Ask } else { Decision::Redact };
            assert_eq!(decide(&format!("{allow}{rule}"), None), expected, "{rule}");
            assert_eq!(decide(&rule, None), Decision::Block, "{rule}");
        }
    }
    let rule = "  - {id: known, when: {tool: send, context: {to: '!us'}}, then: approve}\n";
    assert_eq!(decide(rule, Some(json!({"to": "them"}))), Decision::Ask);
    assert_eq!(decide(&format!("{allow}{rule}"), Some(json!({"to": "us"}))), Decision::Allow);
}

#[test]
fn the_prompt_says_only_what_is_true_whatever_the_call() {
    let told = |text: &str| -> Vec<String> {
        let prompt = Gate::new(when_then(text)).status("default", Time(0)).unwrap().prompt();
        prompt.lines().skip(2).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let opening = "Every tool call is checked before it runs.";
    let rules = "rules:
  - {id: a, when: {tool: [exec, 'rm_.*']}, then: block}
  - {id: b, when: {tool: deploy}, then: approve}
  - {id: c, when: {tool: wipe}, then: approve, approval_strategy: per_session}
  - {id: d, when: {tool: mail}, then: redact}
  - {id: e, when: {tool: exec}, then: allow}
  - {id: f, when: {tool: pay, args_match: {n: {gt: 5}}}, then: block}
  - {id: g, when: {tool: observed}, then: block, mode: observe}
  - {id: h, when: {tool: read}, then: allow}
honeypots: [{name: trap}]
taint_chain: {enabled: true, outgoing_tools: [post]}
";
    let others = "Other calls are open, unless a rule objects to what they say, when they come or what came before them.";
    let lines = [
        "### Open now",
        "- `mail`, with its sensitive data masked",
        "### Closed now",
        "- `exec`: for good",
        "- `rm_.*`: for good",
        "### A human decides",
        "- `deploy`, each time",
        "- `wipe`; the answer stands for a while",
    ];
    assert_eq!(told(rules), [&[format!("{opening} {others}").as_str()], &lines[..]].concat());
    for (default, others, reading) in [
        ("allow", others, None),
        (
            "redact",
            "In other calls sensitive data is masked, unless a rule says otherwise.",
            Some("- `read`"),
        ),
        (
            "approve",
            "A human decides about other calls, unless a rule allows or refuses them.",
            Some("- `read`"),
        ),
        ("block", "Other calls are closed, unless a rule allows them.", Some("- `read`")),
    ] {
        let told = told(&format!("default_verdict: {default}\n{rules}"));
        assert_eq!(told[0], format!("{opening} {others}"));
        assert_eq!(told.iter().find(|line| line.contains("read")).map(String::as_str), reading, "{default}");
    }
}

#[test]
fn the_prompt_names_what_sensitive_data_has_closed() {
    let gate = Gate::new(when_then("taint_chain: {enabled: true, outgoing_tools: [post]}\nrules: []\n"));
    let read = Call::new("1", "read");
    gate.call(&read);
    gate.result(&Outcome { output: Some(json!("to ada@example.com")), ..Outcome::success(&read) }).unwrap();
    let line = "- `post`: this session has seen sensitive data; a human can open it";
    let is_told = || gate.status("default", Time(0)).unwrap().prompt().contains(line);
    assert!(is_told());
    gate.untaint("default").unwrap();
    assert!(!is_told());
}

#[test]
fn reading_a_session_does_not_panic_on_anything() {
    let policy = policy("limit a to 3 per session");
    for text in [
        "",
        "{}",
        "null",
        r#"{"version":1}"#,
        r#"{"version":1,"nets":{"limit a per session":{"marking":[]}}}"#,
    ] {
        let read = catch_unwind(|| Session::from_json(text, &policy).is_err());
        assert!(matches!(read, Ok(true)), "{text}");
    }
}

#[test]
fn a_ruleset_may_look_at_what_only_the_host_knows() {
    let text = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: risky, type: pre, tool: '*', when: {risk.score: {gt: 5}}, then: {action: block, message: 'Too risky: {risk.score}.'}}\n";
    let source = [Source::new("t.yaml", text)];
    let custom = CustomNames { selectors: vec!["risk".to_owned()] };
    assert!(lockgate_languages::read(&source).0.is_none(), "a name nobody knows is a mistake");
    let policy =
        lockgate_languages::load(&source, Options { custom: Some(&custom), ..Default::default() }).0.unwrap();
    let score = |call: &Call| call.input.get("amount").map(|amount| json!({"score": amount}));
    let gate = Gate::builder(policy).describe_calls("risk", score).build().unwrap();
    let pay = |id: &str, amount: u64| gate.call(&Call::new(id, "pay").with("amount", amount));
    assert_eq!(pay("1", 5).decision, Decision::Allow);
    assert_eq!(pay("2", 6).reason, "Too risky: 6.");
}

#[test]
fn nobodys_answer_is_a_yes_only_where_every_rule_says_so() {
    let rule = |id: &str, action: &str| {
        format!(
            "  - {{id: {id}, type: pre, tool: deploy, when: {{tool.name: {{equals: deploy}}}}, then: {{action: ask, message: Ask., timeout: 60, timeout_action: {action}}}}}\n"
        )
    };
    let gate = |rules: &[String]| {
        let head =
            "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n";
        let (policy, findings) =
            lockgate_languages::read(&[Source::new("t.yaml", format!("{head}{}", rules.concat()))]);
        Gate::new(policy.unwrap_or_else(|| panic!("{findings:?}")))
    };
    let asked_at = Time(1_000);
    let decided = |rules: &[String], after_ms: u64| {
        let gate = gate(rules);
        let approval = gate.call(&Call::new("1", "deploy").at(asked_at)).approval.unwrap();
        let verdict = gate.time_out(&approval, asked_at.after_ms(after_ms)).unwrap();
        assert!(gate.time_out(&approval, asked_at.after_ms(after_ms)).is_err(), "it is decided once");
        verdict.decision
    };
    assert_eq!(decided(&[rule("a", "allow")], 60_000), Decision::Allow);
    assert_eq!(decided(&[rule("a", "allow")], 59_999), Decision::Block, "there was time left to answer");
    assert_eq!(decided(&[rule("a", "block")], 60_000), Decision::Block);
    assert_eq!(decided(&[rule("a", "allow"), rule("b", "block")], 60_000), Decision::Block);
}

/// When a human's refusal is stored while a gate gives a question up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    AfterTheLastLook,
    BeforeTheTimeoutIsStored,
    AfterTheTimeoutIsStored,
}

/// Answers in memory, to which a human's refusal comes at one moment.
struct Racing {
    answers: MemoryAnswers,
    moment: Moment,
}

impl Racing {
    fn refuse(&self, id: &ApprovalId, now: Moment) {
        if now == self.moment {
            let refusal = StoredAnswer::unsigned(false, "ada", Time(60_999));
            self.answers.keep(id, refusal, &|| Ok(true)).unwrap();
        }
    }
}

impl AnswerStore for Racing {
    fn keep(&self, id: &ApprovalId, answer: StoredAnswer, is_open: &IsOpen<'_>) -> Result<bool, StoreError> {
        self.refuse(id, Moment::BeforeTheTimeoutIsStored);
        let kept = self.answers.keep(id, answer, is_open);
        self.refuse(id, Moment::AfterTheTimeoutIsStored);
        kept
    }

    fn find(&self, id: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError> {
        let found = self.answers.find(id);
        self.refuse(id, Moment::AfterTheLastLook);
        found
    }

    fn reject(&self, id: &ApprovalId, answer: &StoredAnswer, entry: &str) -> Result<(), StoreError> {
        self.answers.reject(id, answer, entry)
    }

    fn forget(&self, id: &ApprovalId) {
        self.answers.forget(id);
    }

    fn are_shared(&self) -> bool {
        self.answers.are_shared()
    }
}

#[test]
fn a_refusal_that_is_stored_before_the_timeout_stands_also_where_a_timeout_is_approval() {
    let rules = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: a, type: pre, tool: deploy, when: {tool.name: {equals: deploy}}, then: {action: ask, message: Ask., timeout: 60, timeout_action: allow}}\n";
    let policy = Arc::new(lockgate_languages::read(&[Source::new("t.yaml", rules)]).0.unwrap());
    let (asked_at, over) = (Time(1_000), Time(61_000));
    for (moment, expected) in [
        (Moment::AfterTheLastLook, "block: deploy was rejected by human review."),
        (Moment::BeforeTheTimeoutIsStored, "block: deploy was rejected by human review."),
        (Moment::AfterTheTimeoutIsStored, "allow: "),
    ] {
        let gate = Gate::new(Arc::clone(&policy));
        let id = gate.call(&Call::new("1", "deploy").at(asked_at)).approval.unwrap();
        let answers = Racing { answers: MemoryAnswers::default(), moment };
        assert!(gate.resume_answered(&answers, &id, over).unwrap().is_none(), "{moment:?}");
        let verdict = gate.time_out_unless_answered(&answers, &id, over).unwrap();
        assert_eq!(told(&verdict), expected, "{moment:?}");
        assert!(
            gate.time_out_unless_answered(&answers, &id, over).is_err(),
            "{moment:?}: it is decided once"
        );
    }
}

#[test]
fn a_stored_timeout_grants_only_what_the_rules_grant_by_then() {
    let gate = || Gate::new(when_then("rules:\n  - {id: ask, when: {tool: deploy}, then: approve}\n"));
    let forged = StoredAnswer::unsigned(true, "timeout", Time(u64::MAX / 2));
    let (gate, answers) = (gate(), MemoryAnswers::default());
    let id = gate.call(&Call::new("1", "deploy")).approval.unwrap();
    assert!(answers.keep(&id, forged, &|| Ok(true)).unwrap());
    // A process that stored the timeout and died left this; the next one goes on from here.
    let verdict = gate.resume_answered(&answers, &id, Time(1_000)).unwrap().unwrap();
    assert_eq!(told(&verdict), "block: timeout: no human answered the question about deploy in time.");
    assert!(verdict.timed_out);
}

#[test]
fn a_question_after_a_chain_is_asked_while_the_chain_still_runs() {
    // The rule that asks opens what the default closes, and closes what the other rule opens.
    let gate = |chain: &str| {
        Gate::new(when_then(&format!(
            "default_verdict: block\nrules:\n  - {{id: read, when: {{tool: 'read_*'}}, then: allow}}\n  - {{id: mail, when: {{tool: send, args: {{to: {{contains: '@'}}}}}}, then: allow}}\n  - {{id: careful, when: {{tool: send, chain: {chain}}}, then: approve}}\n"
        )))
    };
    for chain in [
        "[{tool: read_db, within_seconds: 60}]",
        "{ordered: true, steps: [{tool: read_index, within_seconds: 60}, {tool: read_db, within_seconds: 60}]}",
    ] {
        let gate = gate(chain);
        let send = |id: &str, to: &str| gate.call(&Call::new(id, "send").with("to", to)).decision;
        assert_eq!(send("1", "a@b"), Decision::Allow, "{chain}: nothing was read");
        assert_eq!(gate.call(&Call::new("2", "read_index")).decision, Decision::Allow);
        assert_eq!(gate.call(&Call::new("3", "read_db")).decision, Decision::Allow);
        assert_eq!(send("4", "a@b"), Decision::Ask, "{chain}: what runs may have read already");
        assert_eq!(send("5", "a"), Decision::Block, "{chain}: what only runs opens nothing");
        gate.result(&Outcome::success(&Call::new("2", "read_index"))).unwrap();
        gate.result(&Outcome::success(&Call::new("3", "read_db"))).unwrap();
        assert_eq!(send("6", "a@b"), Decision::Ask, "{chain}");
        assert_eq!(send("7", "a"), Decision::Ask, "{chain}: a success opens the question");
    }
}

#[test]
fn an_output_that_nobody_could_look_at_is_withheld() {
    let text = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: leak, type: post, tool: '*', when: {risk.score: {gt: 5}}, then: {action: block, message: Risky.}}\n";
    let custom = CustomNames { selectors: vec!["risk".to_owned()] };
    let policy = lockgate_languages::load(
        &[Source::new("t.yaml", text)],
        Options { custom: Some(&custom), ..Options::default() },
    )
    .0
    .unwrap();
    let gate =
        Gate::builder(policy).describe_calls("risk", |_| panic!("the host is broken")).build().unwrap();
    let call = Call::new("1", "read");
    assert_eq!(gate.call(&call).decision, Decision::Allow);
    let outcome = Outcome { output: Some(json!("secret")), ..Outcome::success(&call) };
    let settlement = gate.result(&outcome).unwrap();
    assert_eq!((settlement.settled, settlement.decision.word()), (true, "block"));
    assert!(!settlement.output.unwrap().to_string().contains("secret"));
    assert_eq!(gate.evaluate(&call, Some(&json!("secret"))).1.decision.word(), "block");
}

#[test]
fn a_rule_on_results_is_named_with_its_place_tags_and_severity() {
    let ruleset = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: seen, type: post, tool: read, when: {output.text: {contains: a}}, then: {action: warn, message: Seen.}}\n  - {id: pii, type: post, tool: read, when: {output.text: {contains: ada}}, then: {action: block, message: PII, tags: [pii, mail]}}\n";
    let outputs = "output_rules:\n  - {id: long, tool: read, max_size: 1, severity: high, message: Too long.}\nrules: []\n";
    let rows = [
        (
            "t.yaml",
            ruleset,
            "block PII (rule pii, t.yaml:7)",
            "pii t.yaml:7 block enforce [pii,mail] -; seen t.yaml:6 warn enforce [] -",
        ),
        ("o.yaml", outputs, "block Too long. (rule long, o.yaml:2)", "long o.yaml:2 block enforce [] high"),
    ];
    for (file, text, told, rules) in rows {
        let (policy, findings) = lockgate_languages::read(&[Source::new(file, text)]);
        let gate = Gate::new(policy.unwrap_or_else(|| panic!("{findings:?}")));
        let call = Call::new("1", "read");
        assert_eq!(gate.call(&call).decision, Decision::Allow);
        let outcome = Outcome { output: Some(json!("ada@example.org")), ..Outcome::success(&call) };
        let settlement = gate.result(&outcome).unwrap();
        let sentence = settlement.sentence().unwrap_or_default();
        assert_eq!(format!("{} {sentence}", settlement.decision.word()), told, "{file}");
        let named = settlement.rules.iter().map(|rule| {
            let severity = rule.severity.map_or("-", Gravity::word);
            let (place, tags) = (format!("{}:{}", rule.file, rule.line), rule.tags.join(","));
            let mode = format!("{:?}", rule.mode).to_lowercase();
            format!("{} {place} {} {mode} [{tags}] {severity}", rule.name, rule.decision.word())
        });
        assert_eq!(named.collect::<Vec<_>>().join("; "), rules, "{file}");
    }
}

#[test]
fn a_timeout_is_no_rejection() {
    let gate = Gate::new(when_then(
        "rules:\n  - {id: ask, when: {tool: deploy}, then: approve, approval_strategy: per_session, severity: high}\n",
    ));
    let asked = gate.call(&Call::new("1", "deploy"));
    assert_eq!(asked.obstacles[0].severity.map(Gravity::word), Some("high"));
    let late = gate.time_out(&asked.approval.unwrap(), Time(1_000)).unwrap();
    assert_eq!(told(&late), "block: timeout: no human answered the question about deploy in time.");
    assert!(late.timed_out);
    // Silence does not stand for later calls, as a rejection would.
    let again = gate.call(&Call::new("2", "deploy"));
    assert_eq!(again.decision, Decision::Ask);
    let rejected = gate.answer(&again.approval.unwrap(), false, Time(1_000)).unwrap();
    assert_eq!(told(&rejected), "block: deploy was rejected by human review.");
    assert!(!rejected.timed_out);
}

#[test]
fn a_dry_run_asks_no_workflow() {
    let workflow = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: w}\nstages:\n  - {id: plan, tools: [read]}\n  - {id: do, tools: [edit]}\n";
    let sources = [Source::new("w.yaml", workflow), Source::new("b.rules", "block rm\n")];
    let (policy, findings) = lockgate_languages::read(&sources);
    let gate = Gate::new(policy.unwrap_or_else(|| panic!("{findings:?}")));
    let decided = |tool: &str| gate.evaluate(&Call::new("1", tool), None).0;
    assert_eq!(decided("edit").decision, Decision::Allow);
    let names = decided("rm").obstacles.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names, ["block-rm"]);
}

#[test]
fn an_agent_hears_every_obstacle_and_the_next_step_in_few_words() {
    let rules = |count: usize| -> String {
        (0..count)
            .map(|n| format!("  - {{id: r{n}, when: {{tool: send}}, then: block, message: Reason {n}.}}\n"))
            .collect()
    };
    let gate = Gate::new(when_then(&format!("rules:\n{}", rules(7))));
    let told = gate.call(&Call::new("1", "send")).sentence();
    assert!(told.starts_with("Reason 0. (rule r0, "), "{told}");
    assert!(told.contains(" Also in the way: Reason 1 (rule r1, "), "{told}");
    assert!(told.ends_with("; and 2 more."), "{told}");
    let (policy, _) =
        lockgate_languages::read(&[Source::new("p.rules", "require a before c\nrequire b before c\n")]);
    let told = Gate::new(policy.unwrap()).call(&Call::new("1", "c")).sentence();
    assert_eq!(
        told,
        "c requires a successful call to a first. (rule require-a-before-c, p.rules:1) Also in the way: c requires a successful call to b first (rule require-b-before-c, p.rules:2). What would help first: a, b."
    );
}
