//! What outlives a gate: sessions on a backend, the audit log of what was decided, and calls that several doors see.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use lockgate_call::{Call, DuplicateKey, Time};
use lockgate_gate::{
    Backend, Gate, LockedRow, Outcome, Reach, RowWrite, SessionListing, StoreError, StoredAnswer,
    audit_log::{LogEntry, LogEvent, TEXT_BYTES_MAX},
};
use lockgate_languages::render;
use lockgate_policy::Source;
use serde_json::{Value, json};

/// A backend in memory: one lock, so nobody can be first.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, Vec<u8>>,
    shared_state: Option<Vec<u8>>,
    entries: Vec<String>,
}

struct TakenDown<'a> {
    kept: MutexGuard<'a, Kept>,
    session: &'a str,
}

impl Backend for Board {
    fn lock<'a>(&'a self, session: &'a str, _: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        Ok(Box::new(TakenDown { kept: self.0.lock().unwrap(), session }))
    }

    fn keep_answer(&self, _: &str, _: u64, _: &StoredAnswer, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn answer(&self, _: &str, _: u64) -> Result<Option<StoredAnswer>, StoreError> {
        Ok(None)
    }

    fn reject_answer(&self, _: &str, _: u64, _: &StoredAnswer, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        Ok(Vec::new())
    }
}

impl LockedRow for TakenDown<'_> {
    fn session(&self) -> Option<&[u8]> {
        self.kept.sessions.get(self.session).map(Vec::as_slice)
    }

    fn shared_state(&self) -> Option<&[u8]> {
        self.kept.shared_state.as_deref()
    }

    fn write(mut self: Box<Self>, write: &RowWrite<'_>) -> Result<(), StoreError> {
        if let Some(resting) = write.session {
            let name = self.session.to_owned();
            self.kept.sessions.insert(name, resting.bytes.to_vec());
        }
        if let Some(shared_state) = write.shared_state {
            self.kept.shared_state = Some(shared_state.to_vec());
        }
        self.kept.entries.extend_from_slice(write.entries);
        Ok(())
    }
}

impl Board {
    /// A gate that has just started, over what is on the board.
    fn gate(&self, file: &str, text: &str) -> Gate {
        let (policy, mistakes) = lockgate_languages::read(&[Source::new(file, text)]);
        let policy = policy.unwrap_or_else(|| panic!("{}", render(&mistakes, false)));
        Gate::builder(policy).backend(self.clone()).build().unwrap()
    }

    fn rules(&self, text: &str) -> Gate {
        self.gate("test.rules", text)
    }

    fn entries(&self) -> Vec<LogEntry> {
        self.0.lock().unwrap().entries.iter().map(|entry| serde_json::from_str(entry).unwrap()).collect()
    }
}

/// A call that one of several doors sees.
fn seen(door: &str, id: &str, tool: &str) -> Call {
    let mut call = Call::new(id, tool);
    call.about.duplicate_key = Some(DuplicateKey { door: door.into(), identifying_fields: Vec::new() });
    call
}

fn word(gate: &Gate, call: &Call) -> &'static str {
    gate.call(call).decision.word()
}

#[test]
fn a_session_goes_on_in_the_next_process() {
    let board = Board::default();
    let rules = "require backup before delete\nlimit push to 2 per session";
    let step = |id: &str, tool: &str| word(&board.rules(rules), &Call::new(id, tool));
    assert_eq!(step("1", "delete"), "block");
    assert_eq!(step("2", "backup"), "allow");
    board.rules(rules).result(&Outcome::success(&Call::new("2", "backup"))).unwrap();
    assert_eq!(step("3", "delete"), "allow");
    assert_eq!(step("4", "delete"), "block");
    assert_eq!([step("5", "push"), step("6", "push"), step("7", "push")], ["allow", "allow", "block"]);
    // A limit that was raised keeps what was spent, and one that was taken out remembers for the day it is back.
    assert_eq!(word(&board.rules("limit push to 3 per session"), &Call::new("8", "push")), "allow");
    assert_eq!(word(&board.rules("limit push to 3 per session"), &Call::new("9", "push")), "block");
    assert_eq!(word(&board.rules("block nothing"), &Call::new("10", "push")), "allow");
    assert_eq!(word(&board.rules("limit push to 3 per session"), &Call::new("11", "push")), "block");
}

#[test]
fn what_all_sessions_share_goes_on_in_the_next_process() {
    let board = Board::default();
    let limit = "
rules: [{id: deploys, when: {tool: deploy}, then: approve, approval_strategy: per_rule}]
rate_limits: [{tool: ping, max_calls: 2, window_seconds: 60, per_session: false}]
";
    let gate = |text: &str| board.gate("test.yaml", text);
    let ping = |session: &str| word(&gate(limit), &Call::new("1", "ping").in_session(session));
    assert_eq!([ping("a"), ping("b"), ping("c")], ["allow", "allow", "block"]);
    // A policy without these rules keeps what they have counted.
    board.rules("block nothing").halt(None, "a while", Time(0)).unwrap();
    board.rules("block nothing").resume(None, Time(0)).unwrap();
    assert_eq!(ping("d"), "block");
    let deploy = |session: &str| gate(limit).call(&Call::new("2", "deploy").in_session(session));
    gate(limit).answer(&deploy("a").approval.unwrap(), true, Time(0)).unwrap();
    assert_eq!(deploy("b").decision.word(), "allow", "the answer stands in every session");
    let halting = board.rules("block nothing");
    halting.halt(None, "an incident", Time(5)).unwrap();
    let elsewhere = Call::new("1", "read").in_session("other");
    assert_eq!(board.rules("block nothing").call(&elsewhere).reason, "everything is halted: an incident");
    board.rules("block nothing").resume(None, Time(6)).unwrap();
    assert_eq!(word(&board.rules("block nothing"), &elsewhere), "allow");
}

#[test]
fn a_damaged_session_is_never_taken_for_a_fresh_one() {
    let rules = "limit push to 1 per session";
    for damage in ["", "{}", "null", r#"{"version":1}"#, r#"{"version":99}"#] {
        let board = Board::default();
        board.0.lock().unwrap().sessions.insert("default".into(), damage.as_bytes().to_vec());
        let verdict = board.rules(rules).call(&Call::new("1", "push"));
        assert_eq!(verdict.decision.word(), "block", "{damage}");
        assert!(verdict.reason.starts_with("Lockgate could not decide"), "{}", verdict.reason);
        assert_eq!(board.entries(), [], "{damage}");
    }
}

#[test]
fn one_call_that_two_doors_see_counts_once() {
    let board = Board::default();
    let gate = || board.rules("limit push to 2 per session");
    let cases = [
        // The hook sees it, then the proxy; each sees it once.
        ("hook", "1", "allow"),
        ("mcp", "1", "allow"),
        ("mcp", "1", "block"),
        ("hook", "1", "block"),
        // The proxy may come first.
        ("mcp", "2", "allow"),
        ("hook", "2", "allow"),
        // The limit is used up by two calls, not by four sightings.
        ("hook", "3", "block"),
    ];
    for (door, id, expected) in cases {
        assert_eq!(word(&gate(), &seen(door, id, "push")), expected, "{door} {id}");
    }
    // The same id with another input is another call, and its id is in use.
    assert_eq!(word(&gate(), &seen("third", "1", "push").with("to", "prod")), "block");
    assert_eq!(word(&gate(), &seen("third", "1", "pull")), "block");
    let status = gate().session("default").unwrap();
    assert_eq!((status.counts().tool_calls, status.flights().count()), (2, 2));
}

#[test]
fn calls_without_ids_are_told_apart_by_what_they_hold() {
    let board = Board::default();
    let gate = || board.rules("require test before deploy\nlimit deploy to 2 per session");
    let test = || seen("BeforeTool", "", "test").with("suite", "all");
    let result = |call: Call, ok| {
        let like = Some(Box::new(call.clone()));
        gate().result(&Outcome { like, ok, ..Outcome::success(&call) }).unwrap().settled
    };
    // Two of the same at one door are two calls, and each has a result.
    assert_eq!([word(&gate(), &test()), word(&gate(), &test())], ["allow", "allow"]);
    assert!(!result(seen("AfterTool", "", "test").with("suite", "some"), true), "nothing like it runs");
    assert!(result(seen("AfterTool", "", "test").with("suite", "all"), false));
    assert_eq!(word(&gate(), &seen("BeforeTool", "", "deploy")), "block");
    assert!(result(seen("AfterTool", "", "test").with("suite", "all"), true));
    assert!(!result(test(), true), "both have their results");
    assert_eq!(word(&gate(), &seen("BeforeTool", "", "deploy")), "allow");
    // Another event shows the same call with less in it.
    let mut shell = seen("preToolUse", "", "Shell").with("command", "ls").with("timeout", 5);
    let mut again = seen("beforeShellExecution", "", "Shell").with("command", "ls");
    for call in [&mut shell, &mut again] {
        call.about.duplicate_key.as_mut().unwrap().identifying_fields = vec!["command".into()];
    }
    let calls = || gate().session("default").unwrap().counts().tool_calls;
    let before = calls();
    assert_eq!([word(&gate(), &shell), word(&gate(), &again)], ["allow", "allow"]);
    assert_eq!(calls(), before + 1);
}

#[test]
fn a_question_is_found_by_the_call_it_is_about() {
    let board = Board::default();
    let gate = || board.rules("require human-approval before deploy");
    let asked = gate().call(&seen("PreToolUse", "7", "deploy"));
    let (approval, _) = gate().question_about(&seen("PostToolUse", "7", "deploy")).unwrap().unwrap();
    assert_eq!(Some(&approval), asked.approval.as_ref());
    assert_eq!(gate().question_about(&seen("PostToolUse", "8", "deploy")).unwrap(), None);
    let nameless = seen("PreToolUse", "", "deploy").with("to", "prod");
    let asked = gate().call(&nameless);
    let found = gate().question_about(&nameless).unwrap().unwrap().0;
    assert_eq!(Some(found), asked.approval);
    assert_eq!(gate().question_about(&nameless.clone().with("to", "dev")).unwrap(), None);
    // Whoever answered is in the audit log, with what became of the call.
    gate().answer_by(&approval, true, Some("ann"), Time(9)).unwrap();
    let told: Vec<Value> = board.entries().iter().map(|entry| json!(entry)).collect();
    assert_eq!(told[2]["what"], "answer");
    assert_eq!((&told[2]["by"], &told[2]["granted"]), (&json!("ann"), &json!(true)));
    assert_eq!((&told[3]["verdict"], &told[3]["approval"]), (&json!("allow"), &json!("a1@default")));
}

#[test]
fn the_trail_tells_everything_and_no_secret() {
    let board = Board::default();
    let gate = board.rules("require backup before delete\nblock pay");
    let key = "sk-live0123456789abcdefghij";
    let backup =
        Call::new("1", "backup").with("key", key).with("text", "x".repeat(TEXT_BYTES_MAX + 1)).at(Time(3));
    gate.call(&backup);
    let leaked = Some(json!({ "said": key }));
    gate.result(&Outcome { output: leaked, at: Time(4), ..Outcome::success(&backup) }).unwrap();
    gate.call(&Call::new("2", "delete").with("note", format!("uses {key}")).at(Time(5)));
    gate.call(&Call::new("3", "pay").at(Time(6)));
    gate.halt(Some("default"), "enough", Time(7)).unwrap();
    let text = board.0.lock().unwrap().entries.join("\n");
    assert!(!text.contains(key), "{text}");
    let entries = board.entries();
    let kinds: Vec<&str> = entries
        .iter()
        .map(|entry| match &entry.what {
            LogEvent::Call { decided, .. } => decided.verdict.as_str(),
            LogEvent::Result { ok: true, .. } => "succeeded",
            LogEvent::Operator { act, .. } => act.as_str(),
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["allow", "succeeded", "allow", "block", "halt"]);
    assert_eq!(entries.iter().map(|entry| entry.at).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    let policy = gate.policy().hash().to_string();
    assert!(entries.iter().all(|entry| entry.policy.as_deref() == Some(policy.as_str())));
    let LogEvent::Call { call, .. } = &entries[0].what else { panic!("{:?}", entries[0]) };
    assert!(call.is_masked);
    let long = call.input["text"].as_str().unwrap();
    assert!(long.starts_with(&format!("({} bytes, sha256 ", TEXT_BYTES_MAX + 1)), "{long}");
    let LogEvent::Call { decided, .. } = &entries[3].what else { panic!("{:?}", entries[3]) };
    assert_eq!(
        (decided.rules[0].rule.as_str(), decided.rules[0].place.as_str()),
        ("block-pay", "test.rules:2")
    );
    // At the bound a text is kept.
    gate.resume(Some("default"), Time(8)).unwrap();
    gate.call(&Call::new("4", "backup").with("text", "x".repeat(TEXT_BYTES_MAX)));
    let LogEvent::Call { call, .. } = &board.entries().last().unwrap().what.clone() else { panic!() };
    assert_eq!(call.input["text"].as_str().unwrap().len(), TEXT_BYTES_MAX);
}
