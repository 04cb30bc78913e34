//! A human refuses at the very moment in which a door gives the question up. Where rules treat a timeout as approval, the
//! refusal stands if it was stored first.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lockgate::engine::{
    Gate, Policy, Source, Time,
    gate::{Ask, Backend, LockedRow, Reach, SessionListing, StoreError, StoredAnswer},
    store::{Options, Sqlite},
};
use lockgate_agents::hook::HookDoor;
use lockgate_mcp::{Action, Config, Context, DeadTools, Environment, LocalDecider, Naming, Relay};
use serde_json::{Map, Value, json};

const ASKED_AT: u64 = 1_000;
const OVER: u64 = 61_000;

/// A backend in which a refusal is stored right after an answer was looked for in vain for the last time.
struct Racing {
    rows: Sqlite,
    looks_before: AtomicUsize,
}

impl Backend for Racing {
    fn lock<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn LockedRow + 'a>, StoreError> {
        self.rows.lock(session, reach)
    }

    fn keep_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.rows.keep_answer(session, number, answer, entry)
    }

    fn answer(&self, session: &str, number: u64) -> Result<Option<StoredAnswer>, StoreError> {
        let found = self.rows.answer(session, number);
        if self.looks_before.fetch_sub(1, Ordering::SeqCst) == 1 {
            let refusal = StoredAnswer::unsigned(false, "ada", Time(OVER));
            let entry = json!({ "at": OVER, "what": "answer", "by": "ada" }).to_string();
            assert!(self.rows.keep_answer(session, number, &refusal, &entry).unwrap());
        }
        found
    }

    fn reject_answer(
        &self,
        session: &str,
        number: u64,
        answer: &StoredAnswer,
        entry: &str,
    ) -> Result<bool, StoreError> {
        self.rows.reject_answer(session, number, answer, entry)
    }

    fn sessions(&self) -> Result<Vec<SessionListing>, StoreError> {
        self.rows.sessions()
    }
}

struct Scene {
    gate: Gate,
    backend: Arc<Racing>,
    _folder: tempfile::TempDir,
}

/// `looks` is how often an answer is looked for before the refusal is stored; 0 stores none.
fn scene(looks: usize) -> Scene {
    let rules = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: a, type: pre, tool: deploy, when: {tool.name: {equals: deploy}}, then: {action: ask, message: Ask., timeout: 60, timeout_action: allow}}\n";
    let policy: Policy = lockgate::engine::languages::read(&[Source::new("t.yaml", rules)]).0.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = Sqlite::open(folder.path().join("s.db"), Options::default()).unwrap();
    let backend = Arc::new(Racing { rows, looks_before: AtomicUsize::new(looks) });
    let gate = Gate::builder(policy).backend(Arc::clone(&backend)).build().unwrap();
    Scene { gate, backend, _folder: folder }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

#[test]
fn a_hook_that_gives_up_finds_the_refusal() {
    let decided = |looks: usize| {
        let Scene { gate, backend, _folder } = scene(looks);
        // The call comes at once; everything after it comes when the time is over.
        let moments = AtomicU64::new(0);
        let clock = || Time(if moments.fetch_add(1, Ordering::SeqCst) == 0 { ASKED_AT } else { OVER });
        let patience = Duration::ZERO;
        let door = HookDoor {
            host: "generic",
            gate: &gate,
            backend: &*backend,
            asks: Ask::Wait,
            patience,
            clock: &clock,
        };
        let event = json!({ "event": "before", "session": "s", "call": "1", "tool": "deploy", "input": {} });
        door.answer(&object(event)).unwrap().stdout
    };
    assert!(decided(0).contains(r#""decision":"pass""#), "a timeout is a yes under this rule");
    let refused = decided(1);
    assert!(refused.contains(r#""decision":"block""#) && refused.contains("rejected by human"), "{refused}");
}

struct Scenery(Arc<AtomicU64>);

impl Environment for Scenery {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }

    fn log(&self, _: &str) {}
}

/// A proxy whose client asks for `deploy`, with forms or without.
fn asking_proxy(
    looks: usize,
    capabilities: &Value,
) -> (Relay, Arc<AtomicU64>, Vec<Action>, tempfile::TempDir) {
    let Scene { gate, backend, _folder } = scene(looks);
    let now = Arc::new(AtomicU64::new(ASKED_AT));
    let config = Config {
        decider: Box::new(LocalDecider::new(gate, Some(backend))),
        environment: Box::new(Scenery(Arc::clone(&now))),
        session: "s".to_owned(),
        naming: Naming::plain(),
        ask: Ask::Host,
        ask_for: Duration::from_secs(60),
        dead_tools: DeadTools::Mark,
        folder: None,
        pins: None,
    };
    let mut relay = Relay::new(Arc::new(Context::new(config).unwrap()), true);
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {} });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    relay.from_client(hello.to_string());
    let params = json!({ "name": "deploy", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let asked = relay.from_client(call.to_string());
    assert!(relay.is_waiting());
    (relay, now, asked, _folder)
}

/// Whether the call goes to the server.
fn passes(actions: &[Action]) -> bool {
    let refused = |text: &str| text.contains("rejected by human");
    match actions {
        [Action::Server(_)] => true,
        [Action::Client(answer)] if refused(&answer.text) => false,
        _ => panic!("the call was neither sent nor refused by the human"),
    }
}

#[test]
fn a_proxy_that_gives_up_finds_the_refusal() {
    let decided = |looks: usize| {
        let (mut relay, now, _, _folder) = asking_proxy(looks, &json!({}));
        now.store(OVER, Ordering::SeqCst);
        passes(&relay.tick())
    };
    assert!(decided(0), "a timeout is a yes under this rule");
    assert!(!decided(1));
}

#[test]
fn a_yes_in_a_form_does_not_replace_a_refusal_that_was_stored_before() {
    let decided = |looks: usize| {
        let (mut relay, _, asked, _folder) = asking_proxy(looks, &json!({ "elicitation": {} }));
        let [Action::Client(form)] = asked.as_slice() else { panic!("the client shows a form") };
        let form: Value = serde_json::from_str(&form.text).unwrap();
        assert!(relay.tick().is_empty(), "the refusal comes after this look");
        let yes = json!({ "action": "accept", "content": { "approve": true } });
        let answer = json!({ "jsonrpc": "2.0", "id": form["id"], "result": yes });
        passes(&relay.from_client(answer.to_string()))
    };
    assert!(decided(0));
    assert!(!decided(1));
}
