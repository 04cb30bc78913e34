//! What becomes of messages between a client and a server, without either.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test that stops has failed"
)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use lockgate::engine::{
    Call, Gate, SeenCall, Time,
    call::Files,
    gate::{
        Ask, Backend, StoredAnswer,
        audit_log::{LogEntry, LogEvent},
    },
    store::{Options, Sqlite},
};
use lockgate_mcp::{Action, Config, Context, DeadTools, Environment, Era, LocalDecider, Naming, Relay};
use serde_json::{Value, json};

const META: &str = "io.modelcontextprotocol/protocolVersion";
const CAN: &str = "io.modelcontextprotocol/clientCapabilities";

#[derive(Clone, Default)]
struct Scenery {
    now: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<String>>>,
    era: Arc<Mutex<Option<Era>>>,
    eyes_have_bug: Arc<AtomicBool>,
}

/// A view of the files that has a bug.
struct BrokenEyes;

impl Files for BrokenEyes {
    fn canonical(&self, _: &str) -> Option<String> {
        panic!("a bug in the eyes")
    }
}

impl Environment for Scenery {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::SeqCst))
    }

    fn log(&self, line: &str) {
        self.log.lock().unwrap().push(line.to_owned());
    }

    fn look(&self, call: Call) -> SeenCall {
        let has_bug = self.eyes_have_bug.load(Ordering::SeqCst);
        SeenCall::look(call, has_bug.then_some(&BrokenEyes))
    }

    fn dead(&self, tools: &[String]) -> Vec<Option<String>> {
        tools.iter().map(|tool| (tool == "dead").then(|| "a rule blocks it.".to_owned())).collect()
    }

    fn era(&self) -> Option<Era> {
        self.era.lock().unwrap().clone()
    }

    fn learn(&self, era: &Era) {
        *self.era.lock().unwrap() = Some(era.clone());
    }
}

struct Scene {
    context: Arc<Context>,
    relay: Relay,
    scenery: Scenery,
    backend: Option<Arc<dyn Backend>>,
    _folder: Option<tempfile::TempDir>,
}

/// What was sent, to whom.
#[derive(Debug, PartialEq)]
enum Sent {
    Client(Value),
    Server(Value),
    Restart,
}

impl Scene {
    fn new(policy: &str) -> Self {
        Self::built(policy, |_| {})
    }

    fn built(policy: &str, change: impl FnOnce(&mut Config)) -> Self {
        let scenery = Scenery::default();
        scenery.now.store(1_000_000, Ordering::SeqCst);
        // A policy without a rule is a mistake.
        let policy = if policy.is_empty() { "block other" } else { policy };
        let policy = if policy.contains("rules:") {
            lockgate::Policy::builder().text("policy.yaml", policy).load()
        } else {
            lockgate::Policy::rules(policy)
        };
        let mut config = Config {
            decider: Box::new(LocalDecider::new(Gate::new(policy.unwrap()), None)),
            environment: Box::new(scenery.clone()),
            session: "s".to_owned(),
            naming: Naming::plain(),
            ask: Ask::Host,
            ask_for: Duration::from_secs(60),
            dead_tools: DeadTools::Mark,
            folder: None,
            pins: None,
        };
        change(&mut config);
        let context = Arc::new(Context::new(config).unwrap());
        let relay = Relay::new(Arc::clone(&context), true);
        Self { context, relay, scenery, backend: None, _folder: None }
    }

    /// The same with a backend, so that `lockgate approve` can answer.
    fn shelved(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend: Arc<dyn Backend> =
            Arc::new(Sqlite::open(folder.path().join("s.db"), Options::default()).unwrap());
        let kept = Arc::clone(&backend);
        let rules = lockgate::Policy::rules(policy).unwrap();
        let scene = Self::built(policy, move |config| {
            let gate = Gate::builder(rules).backend(Arc::clone(&kept)).build().unwrap();
            config.decider = Box::new(LocalDecider::new(gate, Some(kept)));
        });
        Self { backend: Some(backend), _folder: Some(folder), ..scene }
    }

    fn client(&mut self, message: Value) -> Vec<Sent> {
        sent(self.relay.from_client(message.to_string()))
    }

    fn server(&mut self, message: Value) -> Vec<Sent> {
        sent(self.relay.from_server(message.to_string()))
    }

    fn later(&mut self, ms: u64) -> Vec<Sent> {
        self.scenery.now.fetch_add(ms, Ordering::SeqCst);
        sent(self.relay.tick())
    }

    fn log(&self) -> String {
        self.scenery.log.lock().unwrap().join("\n")
    }

    /// Calls a tool and lets it succeed or fail.
    fn runs(&mut self, id: i64, tool: &str, ok: bool) {
        let call = call(id, tool, json!({}));
        assert_eq!(self.client(call.clone()), [Sent::Server(call)]);
        let answer = result(id, json!({ "content": [], "isError": !ok }));
        assert_eq!(self.server(answer.clone()), [Sent::Client(answer)]);
    }

    /// Calls a tool that is refused, and gives the sentence.
    fn refused(&mut self, message: Value) -> String {
        let sent = self.client(message);
        let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

fn sent(actions: Vec<Action>) -> Vec<Sent> {
    let read = |text: &str| serde_json::from_str(text).unwrap();
    let sent = |out: &Action| match out {
        Action::Client(message) => Sent::Client(read(&message.text)),
        Action::Server(message) => Sent::Server(read(&message.text)),
        Action::Restart => Sent::Restart,
    };
    actions.iter().map(sent).collect()
}

fn call(id: i64, tool: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

/// A call of the modern revision, whose client can show forms.
fn modern(id: i64, tool: &str, arguments: Value) -> Value {
    let meta = json!({ META: "2026-07-28", CAN: { "elicitation": { "form": {} } } });
    let mut call = call(id, tool, arguments);
    call["params"]["_meta"] = meta;
    call
}

fn result(id: i64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn initialize(capabilities: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "c", "version": "1" } } })
}

#[test]
fn what_nobody_touches_passes_byte_for_byte() {
    let mut scene = Scene::new("block danger");
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"x:\u0041","future":[1.0,1e2,{"z":1,"a":2}]}, "extra": null }"#,
        r#"{"jsonrpc":"2.0","method":"notifications/future","params":[1,2]}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"no/such/method"}"#,
    ] {
        let actions = scene.relay.from_client(text.to_owned());
        let [Action::Server(message)] = actions.as_slice() else { panic!("{actions:?}") };
        assert_eq!(message.text, text);
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","result":{"contents": [ ] ,"big":123456789012345678901234567890}}"#,
        r#"{"jsonrpc":"2.0","id":-7,"error":{"code":-32601,"message":"no","data":{"k":1}}}"#,
        r#"{"jsonrpc":"2.0","id":"srv","method":"sampling/createMessage","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#,
    ] {
        let actions = scene.relay.from_server(text.to_owned());
        let [Action::Client(message)] = actions.as_slice() else { panic!("{actions:?}") };
        assert_eq!(message.text, text);
    }
    let answer = r#"{"jsonrpc":"2.0","id":"srv","result":{"role":"assistant"}}"#;
    assert!(
        matches!(&scene.relay.from_client(answer.to_owned())[..], [Action::Server(message)] if message.text == answer)
    );
    // An allowed call and its result, too: numbers that we could not write back the same are not written by us.
    let text = r#"{ "jsonrpc": "2.0","id":1, "method":"tools/call","params": {"arguments":{"n":1.0,"m":1e2},"name":"ok"}}"#;
    assert!(
        matches!(&scene.relay.from_client(text.to_owned())[..], [Action::Server(message)] if message.text == text)
    );
    let text = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":0.10}}}"#;
    assert!(
        matches!(&scene.relay.from_server(text.to_owned())[..], [Action::Client(message)] if message.text == text)
    );
}

#[test]
fn rules_remember_across_calls() {
    let mut scene = Scene::new("require backup before delete\nlimit push to 1 per session");
    assert!(
        scene.refused(call(1, "delete", json!({}))).contains("requires a successful call to backup first")
    );
    scene.runs(2, "backup", false);
    assert!(scene.refused(call(3, "delete", json!({}))).contains("What would help first: backup."));
    scene.runs(4, "backup", true);
    scene.runs(5, "delete", true);
    scene.runs(6, "push", true);
    assert!(scene.refused(call(7, "push", json!({}))).contains("has reached its limit of 1 calls"));
}

#[test]
fn what_could_be_read_in_two_ways_reaches_nobody() {
    let mut scene = Scene::new("block danger");
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","name":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","n\u0061me":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":{"b":1,"b":2}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["ok"]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger"}}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","result":1,"params":{"name":"danger"}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"danger"}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"danger"}}"#,
        "",
        "null",
        "{",
    ] {
        let actions = sent(scene.relay.from_client(text.to_owned()));
        let [Sent::Client(answer)] = actions.as_slice() else { panic!("{text}: {actions:?}") };
        assert!(answer["error"]["code"].is_number(), "{text}: {answer}");
    }
}

#[test]
fn a_request_whose_answer_is_dropped_is_answered_by_an_error() {
    let mut scene = Scene::new("require backup before delete");
    for (id, text) in [
        (1, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]},"error":{"code":1,"message":"x"}}"#),
        (2, r#"{"id":2,"result":{"content":[]}}"#),
        (3, r#"{"jsonrpc":"2.0","id":3}"#),
    ] {
        let call = call(id, "backup", json!({}));
        assert_eq!(scene.client(call.clone()), [Sent::Server(call)]);
        let actions = sent(scene.relay.from_server(text.to_owned()));
        let [Sent::Client(answer)] = actions.as_slice() else { panic!("{text}: {actions:?}") };
        assert!(answer["id"] == id && answer["error"]["code"].is_number(), "{text}: {answer}");
    }
    // Nothing was earned by them, and a request of the server is not taken for an answer.
    scene.refused(call(4, "delete", json!({})));
    let call = call(5, "backup", json!({}));
    assert_eq!(scene.client(call.clone()), [Sent::Server(call)]);
    let request = r#"{"jsonrpc":"2.0","id":5,"method":"x","result":1}"#;
    assert_eq!(sent(scene.relay.from_server(request.to_owned())), []);
}

#[test]
fn keys_that_differ_only_in_case_are_refused() {
    let mut scene = Scene::new("block danger");
    let said = scene.refused(call(1, "write", json!({ "a": [{ "path": "x", "Path": "y" }] })));
    assert!(said.contains("differ only in case"), "{said}");
    let plain = call(2, "write", json!({ "path": "x", "b": { "Path": "y" } }));
    assert_eq!(scene.client(plain.clone()), [Sent::Server(plain)]);
}

#[test]
fn a_call_without_an_id_is_a_notice_and_runs_nothing_unjudged() {
    // A server that takes a notice for a call would run it unjudged.
    let mut scene = Scene::new("block danger");
    let notice = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "danger" } });
    assert_eq!(scene.client(notice), []);
    assert!(scene.log().contains("tools/call"), "{}", scene.log());
}

#[test]
fn an_id_in_use_and_an_answer_nobody_asked_for_go_nowhere() {
    let mut scene = Scene::new("");
    let first = call(1, "a", json!({}));
    assert_eq!(scene.client(first.clone()), [Sent::Server(first)]);
    for id in [json!(1), json!("x")] {
        let sent = scene.client(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        match id.as_i64() {
            Some(_) => {
                assert!(matches!(&sent[..], [Sent::Client(answer)] if answer["id"].is_null()), "{sent:?}")
            }
            None => assert!(matches!(&sent[..], [Sent::Server(_)]), "{sent:?}"),
        }
    }
    assert_eq!(scene.server(result(9, json!({}))), []);
    assert_eq!(scene.client(result(9, json!({}))), []);
    let answer = result(1, json!({ "content": [] }));
    assert_eq!(scene.server(answer.clone()), [Sent::Client(answer.clone())]);
    assert_eq!(scene.server(answer), [], "a second time");
    assert_eq!(sent(scene.relay.from_server("garbage".to_owned())), []);
    // The server's own ids are its own, and each is asked once.
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
    assert_eq!(scene.server(request.clone()), [Sent::Client(request.clone())]);
    assert!(
        matches!(&scene.server(request)[..], [Sent::Server(answer)] if answer["error"]["code"] == -32600)
    );
    assert_eq!(scene.log().lines().count(), 6, "{}", scene.log());
}

const MASKING: &str = "
shield_name: t
version: 1
rules:
  - id: mask
    when: {tool: send}
    then: redact
  - id: out
    when: {tool: read}
    then: redact
";

#[test]
fn masked_arguments_are_what_the_server_gets_and_the_model_is_told() {
    let mut scene = Scene::new(MASKING);
    let secret = json!({ "to": "a", "text": "card 4111 1111 1111 1111" });
    let sent = scene.client(call(1, "send", secret));
    let [Sent::Server(forwarded)] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(!forwarded.to_string().contains("4111 1111"), "{forwarded}");
    assert_eq!(forwarded["params"]["arguments"]["to"], "a");
    let sent = scene.server(result(1, json!({ "content": [{ "type": "text", "text": "ok" }] })));
    let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
    let told = answer["result"]["content"][1]["text"].as_str().unwrap();
    assert!(told.starts_with("Lockgate changed the input of this call"), "{told}");
}

#[test]
fn masked_output_is_masked_in_text_and_in_structure() {
    let mut scene = Scene::new(MASKING);
    scene.client(call(1, "read", json!({})));
    let secret = "mail a@example.com card 4111 1111 1111 1111";
    let sent = scene.server(result(1, json!({
        "content": [{ "type": "text", "text": secret }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }],
        "structuredContent": { "rows": [{ "note": secret }], "n": 1 },
        "_meta": { "k": 1 },
    })));
    let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(!answer.to_string().contains("4111 1111"), "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["n"], 1);
    assert_eq!(answer["result"]["content"][1]["data"], "AAAA");
    assert_eq!(answer["result"]["_meta"]["k"], 1);
    // An error says secrets, too.
    scene.client(call(2, "read", json!({})));
    let sent = scene.server(json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -1, "message": secret } }));
    let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(!answer.to_string().contains("4111 1111"), "{answer}");
    assert_eq!(answer["error"]["code"], -1);
}

const SMALL: &str = "
shield_name: t
version: 1
rules: []
output_rules:
  - {id: short, tool: read, max_size: 4}
  - {id: marked, tool: list, block_patterns: ['T-[0-9]+'], then: redact}
";

#[test]
fn rules_see_what_a_result_says_without_its_wrapping() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    for (tool, said, shown) in [
        ("read", json!({ "content": text("1234"), "isError": false }), None),
        ("read", json!({ "content": text("12345") }), Some("Lockgate: ")),
        ("read", json!({ "content": [], "structuredContent": 1234, "resultType": "complete" }), None),
        ("read", json!({ "content": [], "structuredContent": [1234] }), Some("Lockgate: ")),
        // Whatever is not known to be wrapping is looked at as well.
        ("read", json!({ "content": text("1234"), "_meta": {} }), Some("Lockgate: ")),
        ("read", json!({ "content": text("1234"), "isError": "12345" }), Some("Lockgate: ")),
        ("read", json!({ "content": text("12"), "structuredContent": 12 }), Some("Lockgate: ")),
        ("read", json!({ "content": [{ "type": "text", "text": "1", "more": "2345" }] }), Some("Lockgate: ")),
        ("list", json!({ "content": text("see T-1") }), Some("see ***")),
    ] {
        let mut scene = Scene::new(SMALL);
        scene.client(call(1, tool, json!({})));
        let answer = result(1, said);
        let sent = scene.server(answer.clone());
        let [Sent::Client(told)] = sent.as_slice() else { panic!("{sent:?}") };
        match shown {
            None => assert_eq!(*told, answer),
            Some(shown) => {
                let text = told["result"]["content"][0]["text"].as_str().unwrap();
                assert!(text.starts_with(shown), "{told} where the server said {answer}");
            }
        }
    }
}

#[test]
fn what_is_left_of_a_result_is_a_result() {
    let policy = "
apiVersion: edictum/v1
kind: Ruleset
metadata: {name: everything}
defaults: {mode: enforce}
rules:
  - {id: all, type: post, tool: read, when: {output.text: {contains: secret}}, then: {action: redact, message: Masked.}}
";
    for said in [
        json!({ "result": { "content": [], "structuredContent": { "a": "secret" } } }),
        json!({ "result": { "content": [{ "type": "text", "text": "secret" }], "_meta": {} } }),
        json!({ "error": { "code": -1, "message": "secret" } }),
    ] {
        let read = lockgate::engine::languages::read(&[lockgate::engine::Source::new("p.yaml", policy)]).0;
        let gate = Gate::new(read.unwrap());
        let mut scene = Scene::built("", |config| config.decider = Box::new(LocalDecider::new(gate, None)));
        scene.client(call(1, "read", json!({})));
        let mut answer = said;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = 1.into();
        let sent = scene.server(answer);
        let [Sent::Client(told)] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(told["result"]["content"][0]["text"], "Lockgate: Masked. (rule all, p.yaml:7)", "{told}");
    }
}

#[test]
fn the_late_result_of_a_task_is_looked_at_like_any_other() {
    let secret = "card 4111 1111 1111 1111";
    let inner = json!({ "content": [{ "type": "text", "text": secret }] });
    let begun = [
        json!({ "task": { "taskId": "t", "status": "working" } }),
        json!({ "resultType": "task", "taskId": "t", "status": "working" }),
    ];
    for begun in begun {
        let mut scene = Scene::new(MASKING);
        scene.client(call(1, "read", json!({})));
        let answer = result(1, begun);
        assert_eq!(scene.server(answer.clone()), [Sent::Client(answer)]);
        let get = |id: i64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "taskId": "t" } });
        scene.client(get(2, "tasks/get"));
        let working = result(2, json!({ "taskId": "t", "status": "working" }));
        assert_eq!(scene.server(working.clone()), [Sent::Client(working)]);
        for (id, method, said) in [
            (3, "tasks/result", inner.clone()),
            (4, "tasks/get", json!({ "taskId": "t", "status": "completed", "result": inner })),
            (5, "tasks/get", json!({ "taskId": "t", "status": "failed", "error": { "message": secret } })),
            (6, "tasks/get", json!({ "taskId": "t", "status": "working", "result": inner })),
        ] {
            scene.client(get(id, method));
            let sent = scene.server(result(id, said));
            let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
            assert!(!answer.to_string().contains("4111 1111"), "{method}: {answer}");
        }
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/tasks", "params": { "taskId": "t", "status": "completed", "result": inner } });
        let sent = scene.server(told);
        assert!(
            matches!(&sent[..], [Sent::Client(told)] if !told.to_string().contains("4111 1111")),
            "{sent:?}"
        );
    }
}

#[test]
fn a_task_counts_when_it_is_fetched_in_another_conversation() {
    let mut scene = Scene::new("require backup before delete");
    scene.client(modern(1, "backup", json!({})));
    scene.server(result(1, json!({ "resultType": "task", "taskId": "t", "status": "working" })));
    scene.relay = Relay::new(Arc::clone(&scene.context), true);
    scene.client(json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": { "taskId": "t" } }));
    scene.server(result(1, json!({ "taskId": "t", "status": "completed", "result": { "content": [] } })));
    assert!(matches!(&scene.client(modern(2, "delete", json!({})))[..], [Sent::Server(_)]));
}

const ASKING: &str = "require human-approval before danger\nlimit danger to 2 per session";

#[test]
fn a_stateless_client_is_asked_by_a_result_that_wants_input() {
    let mut scene = Scene::new(ASKING);
    let ask = |scene: &mut Scene, id| {
        let sent = scene.client(modern(id, "danger", json!({ "x": 1 })));
        let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
        let result = &answer["result"];
        assert_eq!(result["resultType"], "input_required");
        let request = &result["inputRequests"]["lockgate"];
        assert_eq!(request["method"], "elicitation/create");
        assert!(request["params"]["message"].as_str().unwrap().contains(r#"input: {"x":1}"#));
        result["requestState"].as_str().unwrap().to_owned()
    };
    let retry = |id, x: i64, state: &str, response: Value| {
        let mut call = modern(id, "danger", json!({ "x": x }));
        call["params"]["requestState"] = state.into();
        call["params"]["inputResponses"] = json!({ "lockgate": response });
        call
    };
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let state = ask(&mut scene, 1);
    // Other arguments, a state that was made up: nothing reaches the server, and the question stays open.
    for (x, state) in [(2, state.as_str()), (1, "lockgate1.0.AAAA"), (1, "theirs")] {
        let sent = scene.client(retry(2, x, state, yes.clone()));
        assert!(matches!(&sent[..], [Sent::Client(answer)] if answer["error"]["code"] == -32602), "{sent:?}");
    }
    let sent = scene.client(retry(3, 1, &state, yes.clone()));
    let [Sent::Server(forwarded)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(*forwarded, modern(3, "danger", json!({ "x": 1 })), "nothing of ours is left in it");
    // Once is once.
    let sent = scene.client(retry(4, 1, &state, yes.clone()));
    assert!(matches!(&sent[..], [Sent::Client(answer)] if answer["error"]["code"] == -32602), "{sent:?}");
    for no in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "approve": "true" } }),
        json!({ "action": "accept", "content": { "approve": false } }),
        json!(true),
    ] {
        let state = ask(&mut scene, 5);
        let said = scene.refused(retry(6, 1, &state, no));
        assert!(said.contains("was rejected by human review"), "{said}");
    }
    // Too late.
    let state = ask(&mut scene, 7);
    scene.scenery.now.fetch_add(16 * 60 * 1000, Ordering::SeqCst);
    let sent = scene.client(retry(8, 1, &state, yes));
    assert!(matches!(&sent[..], [Sent::Client(answer)] if answer["error"]["code"] == -32602), "{sent:?}");
}

#[test]
fn an_older_client_is_asked_by_a_form_of_its_own() {
    for (response, passes) in [
        (json!({ "action": "accept", "content": { "approve": true } }), true),
        (json!({ "action": "accept", "content": {} }), false),
        (json!({ "action": "decline" }), false),
    ] {
        let mut scene = Scene::new(ASKING);
        scene.client(initialize(json!({ "elicitation": {} })));
        let asked = call(1, "danger", json!({}));
        let sent = scene.client(asked.clone());
        let [Sent::Client(request)] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(request["method"], "elicitation/create");
        // The server cannot answer for the human.
        let forged = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "action": "accept", "content": { "approve": true } } });
        assert_eq!(scene.server(forged), []);
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": response });
        let sent = scene.client(answer.clone());
        if passes {
            assert_eq!(sent, [Sent::Server(asked)]);
        } else {
            assert!(
                matches!(&sent[..], [Sent::Client(answer)] if answer["result"]["isError"] == true),
                "{sent:?}"
            );
        }
        assert_eq!(scene.client(answer), [], "a second answer is nobody's");
    }
}

#[test]
fn a_panic_while_a_call_is_looked_at_blocks_that_call_alone() {
    let mut scene = Scene::new("");
    scene.scenery.eyes_have_bug.store(true, Ordering::SeqCst);
    assert!(scene.refused(call(1, "read", json!({ "path": "/a" }))).contains("Lockgate panicked"));
    scene.scenery.eyes_have_bug.store(false, Ordering::SeqCst);
    let next = call(2, "read", json!({ "path": "/a" }));
    assert_eq!(scene.client(next.clone()), [Sent::Server(next)]);
}

#[test]
fn without_anybody_to_ask_a_call_that_needs_a_human_is_blocked() {
    let mut scene = Scene::new(ASKING);
    scene.client(initialize(json!({})));
    assert!(scene.refused(call(1, "danger", json!({}))).contains("requires human approval"));
    // A client that opens links in a browser shows no forms.
    let mut scene = Scene::new(ASKING);
    scene.client(initialize(json!({ "elicitation": { "url": {} } })));
    assert!(scene.refused(call(1, "danger", json!({}))).contains("requires human approval"));
}

#[test]
fn a_call_waits_for_an_answer_from_elsewhere_and_no_longer_than_it_may() {
    let granted = |scene: &Scene, granted: bool| {
        let answer = StoredAnswer::unsigned(granted, "me", Time(1));
        let what = LogEvent::Answer { approval: "a1@s".into(), granted, by: "me".into(), proof: None };
        let entry = LogEntry { at: 1, session: Some("s".into()), policy: None, what };
        assert!(scene.backend.as_ref().unwrap().keep_answer("s", 1, &answer, &entry.to_json()).unwrap());
    };
    let mut asked = call(1, "danger", json!({}));
    asked["params"]["_meta"] = json!({ "progressToken": "p" });
    let begin = || {
        let mut scene = Scene::shelved(ASKING);
        scene.client(initialize(json!({})));
        assert_eq!(scene.client(asked.clone()), []);
        assert!(scene.relay.is_waiting());
        let told = scene.later(100);
        assert!(
            matches!(&told[..], [Sent::Client(told)] if told["params"]["progressToken"] == "p"),
            "{told:?}"
        );
        assert_eq!(scene.later(100), []);
        scene
    };
    let mut scene = begin();
    granted(&scene, true);
    assert_eq!(scene.later(100), [Sent::Server(asked.clone())]);
    let mut scene = begin();
    granted(&scene, false);
    assert!(matches!(&scene.later(100)[..], [Sent::Client(answer)] if answer["result"]["isError"] == true));
    let mut scene = begin();
    assert!(
        matches!(&scene.later(60_000)[..], [Sent::Client(answer)] if answer["result"]["isError"] == true)
    );
    assert!(!scene.relay.is_waiting());
    // Whoever gives up does not get an answer, and holds no token.
    let mut scene = begin();
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(scene.client(cancel), []);
    assert!(!scene.relay.is_waiting());
}

#[test]
fn a_call_that_the_server_asks_back_about_counts_once_and_stays_masked() {
    let mut scene = Scene::new("limit ask to 1 per session");
    let first = modern(1, "ask", json!({ "x": 1 }));
    assert_eq!(scene.client(first.clone()), [Sent::Server(first)]);
    let sent = scene.server(result(
        1,
        json!({ "resultType": "input_required", "inputRequests": { "name": {} }, "requestState": "theirs" }),
    ));
    let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(answer["result"]["inputRequests"], json!({ "name": {} }));
    let mut again = modern(2, "ask", json!({ "x": 1 }));
    again["params"]["inputResponses"] = json!({ "name": { "action": "accept" } });
    again["params"]["requestState"] = answer["result"]["requestState"].clone();
    let sent = scene.client(again.clone());
    again["params"]["requestState"] = "theirs".into();
    assert_eq!(sent, [Sent::Server(again)]);
    let sent = scene.server(result(2, json!({ "resultType": "complete", "content": [] })));
    assert!(matches!(&sent[..], [Sent::Client(_)]));
    assert!(scene.refused(modern(3, "ask", json!({ "x": 1 }))).contains("limit of 1"));

    let mut scene = Scene::new(MASKING);
    let secret = json!({ "text": "card 4111 1111 1111 1111" });
    scene.client(modern(1, "send", secret.clone()));
    let sent = scene.server(result(1, json!({ "resultType": "input_required", "inputRequests": {} })));
    let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
    let mut again = modern(2, "send", secret);
    again["params"]["requestState"] = answer["result"]["requestState"].clone();
    let sent = scene.client(again);
    let [Sent::Server(forwarded)] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(!forwarded.to_string().contains("4111 1111"), "{forwarded}");
    assert!(forwarded["params"].get("requestState").is_none(), "{forwarded}");
}

#[test]
fn what_fails_or_is_cancelled_earns_nothing() {
    let refused = |mut scene: Scene| scene.refused(call(9, "delete", json!({}))).contains("backup first");
    let begin = || {
        let mut scene = Scene::new("require backup before delete");
        scene.client(call(1, "backup", json!({})));
        scene
    };
    let mut scene = begin();
    scene.server(json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "no" } }));
    assert!(refused(scene));
    let mut scene = begin();
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(scene.client(cancel.clone()), [Sent::Server(cancel)]);
    assert_eq!(scene.server(result(1, json!({ "content": [] }))), [], "nobody waits for it");
    assert!(refused(scene));
    let mut scene = begin();
    let lost = sent(scene.relay.server_gone(None, "it crashed"));
    assert!(
        matches!(&lost[..], [Sent::Client(answer)] if answer["id"] == 1 && answer["error"]["code"] == -32603)
    );
    assert!(refused(scene));
    let mut scene = begin();
    assert_eq!(sent(scene.relay.server_gone(Some(&lockgate_mcp::message::Id::Number(2)), "other")), []);
    scene.server(result(1, json!({ "content": [] })));
    assert!(
        !matches!(&scene.client(call(9, "delete", json!({})))[..], [Sent::Client(_)]),
        "it was not this one"
    );
    let mut scene = begin();
    scene.relay.client_gone();
    assert!(refused(scene));
}

#[test]
fn tools_that_nobody_can_call_are_marked_or_left_out() {
    let tools = json!([{ "name": "live", "inputSchema": {} }, { "name": "dead", "description": "Does.", "inputSchema": {} }]);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let shown = |dead_tools| {
        let mut scene = Scene::built("", |config| config.dead_tools = dead_tools);
        scene.client(list.clone());
        let page = json!({ "tools": tools, "nextCursor": "n", "cacheScope": "public", "ttlMs": 1 });
        let sent = scene.server(result(1, page));
        let [Sent::Client(answer)] = sent.as_slice() else { panic!("{sent:?}") };
        answer["result"].clone()
    };
    assert_eq!(shown(DeadTools::Show)["tools"], tools);
    let marked = shown(DeadTools::Mark);
    assert_eq!(
        marked["tools"][1]["description"],
        "[Lockgate never lets this tool run: a rule blocks it.] Does."
    );
    assert_eq!((&marked["nextCursor"], &marked["cacheScope"]), (&json!("n"), &json!("private")));
    assert_eq!(shown(DeadTools::Hide)["tools"], json!([tools[0]]));
}

#[test]
fn a_list_that_cannot_be_read_is_not_shown() {
    for page in [
        json!({}),
        json!({ "tools": {} }),
        json!({ "tools": [1] }),
        json!({ "tools": [{ "description": "x" }] }),
        json!([]),
    ] {
        let mut scene = Scene::new("");
        scene.client(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
        let sent = scene.server(result(1, page.clone()));
        assert!(
            matches!(&sent[..], [Sent::Client(answer)] if answer["error"]["code"] == -32603),
            "{page}: {sent:?}"
        );
    }
}

#[test]
fn what_a_server_says_of_its_tools_may_tighten_and_never_loosens() {
    let policy = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  \
                  - {id: no-harm, type: pre, tool: '*', when: {metadata.mcp.destructive: {equals: true}}, then: {action: block, message: destructive}}\n";
    let opened = lockgate::Policy::builder()
        .sources(&[lockgate::engine::Source::new("t.yaml", policy)])
        .load()
        .unwrap();
    let mut scene = Scene::built("", |config| {
        config.decider = Box::new(LocalDecider::new(Gate::new(opened), None));
    });
    scene.client(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    scene.server(result(
        1,
        json!({ "tools": [
        { "name": "drop", "annotations": { "destructiveHint": true } },
        { "name": "read", "annotations": { "destructiveHint": true, "readOnlyHint": true } },
        { "name": "plain" },
    ] }),
    ));
    assert!(scene.refused(call(2, "drop", json!({}))).contains("destructive"));
    scene.runs(3, "read", true);
    scene.runs(4, "plain", true);
}

#[test]
fn effects_that_a_server_warns_of_are_possible() {
    let mut scene = Scene::new("block any deletion\nblock any upload\n");
    scene.client(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    scene.server(result(
        1,
        json!({ "tools": [
        { "name": "drop", "annotations": { "destructiveHint": true, "openWorldHint": false } },
        { "name": "ask", "annotations": { "readOnlyHint": true, "openWorldHint": true } },
        { "name": "read", "annotations": { "destructiveHint": true, "readOnlyHint": true } },
        { "name": "plain" },
    ] }),
    ));
    assert!(scene.refused(call(2, "drop", json!({}))).contains("deletion"));
    assert!(scene.refused(call(3, "ask", json!({}))).contains("upload"));
    scene.runs(4, "read", true);
    scene.runs(5, "plain", true);
}

#[test]
fn arguments_that_http_repeats_are_those_the_server_gets() {
    let mut scene = Scene::new(MASKING);
    scene.client(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    let properties = json!({ "text": { "type": "string", "x-mcp-header": "Text" }, "n": { "x-mcp-header": "N" }, "other": {} });
    scene.server(result(
        1,
        json!({ "tools": [{ "name": "send", "inputSchema": { "properties": properties } }] }),
    ));
    let arguments = json!({ "text": "card 4111 1111 1111 1111", "n": 7, "other": "x" });
    let actions = scene.relay.from_client(modern(2, "send", arguments).to_string());
    let [Action::Server(message)] = actions.as_slice() else { panic!("{actions:?}") };
    let sent: Value = serde_json::from_str(&message.text).unwrap();
    let text = sent["params"]["arguments"]["text"].as_str().unwrap().to_owned();
    assert!(!text.contains("4111 1111"));
    assert_eq!(message.mirrored, [("Text".to_owned(), text), ("N".to_owned(), "7".to_owned())]);
}

#[test]
fn a_probe_is_answered_in_time_and_the_server_is_spoken_to_as_the_client_goes_on() {
    let probe = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {} });
    let begin = initialize(json!({}));
    let no = |sent: &[Sent]| matches!(sent, [Sent::Client(answer)] if answer["id"] == 1 && answer["error"]["code"] == -32601);
    let yes = json!({ "supportedVersions": ["2026-07-28"] });
    // In time: as the server says.
    let mut scene = Scene::new("");
    assert_eq!(scene.client(probe.clone()), [Sent::Server(probe.clone())]);
    assert_eq!(scene.server(result(1, yes.clone())), [Sent::Client(result(1, yes.clone()))]);
    assert!(!scene.relay.is_waiting());
    // From then on at once.
    assert_eq!(scene.client(probe.clone()), [Sent::Client(result(1, yes.clone()))]);
    // Too slow: the client goes on with an older revision, and the server is not confused by both.
    for (said, restarts) in [
        (result(1, yes.clone()), true),
        (json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "no" } }), false),
    ] {
        let mut scene = Scene::new("");
        scene.client(probe.clone());
        assert_eq!(scene.later(19_999), []);
        assert!(no(&scene.later(1)));
        assert_eq!(scene.client(begin.clone()), []);
        let sent = scene.server(said);
        if restarts {
            assert_eq!(sent, [Sent::Restart, Sent::Server(begin.clone())]);
        } else {
            assert_eq!(sent, [Sent::Server(begin.clone())]);
            assert!(no(&scene.client(probe.clone())), "known by now");
        }
        let answer = result(0, json!({ "protocolVersion": "2025-11-25" }));
        assert_eq!(scene.server(answer.clone()), [Sent::Client(answer)]);
    }
    // A client that does not wait is not told no, and the server is not confused either.
    let mut scene = Scene::new("");
    scene.client(probe.clone());
    assert_eq!(scene.client(begin.clone()), []);
    assert_eq!(scene.later(20_000), []);
    assert_eq!(scene.server(result(1, yes)), [Sent::Restart, Sent::Server(begin.clone())]);
    // What comes meanwhile waits, calls that are let pass as well.
    let mut scene = Scene::new("");
    scene.client(probe.clone());
    scene.client(begin.clone());
    let early = call(5, "early", json!({}));
    assert_eq!(scene.client(early.clone()), []);
    let no = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "no" } });
    assert_eq!(scene.server(no), [Sent::Server(begin.clone()), Sent::Server(early)]);
    // Never: it is started again.
    let mut scene = Scene::new("");
    scene.client(probe);
    scene.later(20_000);
    scene.client(begin.clone());
    assert_eq!(scene.later(60_000), [Sent::Restart, Sent::Server(begin)]);
}
