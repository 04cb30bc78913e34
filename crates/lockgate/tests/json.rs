//! What the library serialises is, to the byte, what the line protocol answers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use lockgate::{
    AuditError, AuditQuery, Decision, Gate, ManualClock, Policy, Ruling, Session, ToolCall, ToolResult,
    engine,
};
use lockgate_cli::{Clock, ServeOptions, Server};
use serde_json::{Value, json};

const RULES: &str = "
    map bash.command cp as backup
    map bash.command rm as delete
    require backup before delete
    require human-approval before deploy
    limit deploy to 2 per session
    observe limit search to 1 per session
";

const YAML: &str = r#"
mask: label
output_rules: [{id: keys, tool: read, block_patterns: ["PRIVATE KEY"], message: That file holds a key.}]
rules:
  - {id: masked, when: {tool: send}, then: redact, severity: high}
  - {id: reviewed, when: {tool: mail}, then: approve}
  - {id: masked-mail, when: {tool: mail}, then: redact}
"#;

fn policy() -> Policy {
    Policy::builder().rules(RULES).text("mail.yaml", YAML).load().unwrap()
}

/// A session of the library beside a server of the line protocol, under the same policy and the same clock.
struct Both<'g> {
    session: Session,
    server: Server<'g>,
}

impl Both<'_> {
    fn call(&mut self, id: &str, tool: &str, input: Value) -> Ruling {
        let line = json!({"call": {"id": id, "tool": tool, "input": input.clone()}, "at": 0});
        let told = self.server.answer(&line.to_string());
        let ruling = self.session.request(ToolCall::new(tool, input).id(id)).unwrap();
        assert_eq!(serde_json::to_string(&ruling).unwrap(), told, "{line}");
        ruling
    }

    fn settle(&mut self, ruling: Ruling, output: &Value) {
        let permit = ruling.permit().unwrap();
        let line = json!({"result": {"id": permit.id(), "ok": true, "output": output}});
        let told = self.server.answer(&line.to_string());
        let settled = permit.settle(ToolResult::success(output.clone())).unwrap();
        assert_eq!(serde_json::to_string(&settled).unwrap(), told, "{line}");
    }

    fn answer(&mut self, ruling: &Ruling, granted: bool) -> Ruling {
        let Ruling::Ask(question) = ruling else { panic!("no question is open") };
        let line = json!({"answer": {"approval": question.id().to_string(), "granted": granted}});
        let told = self.server.answer(&line.to_string());
        let ruling = question.answer(granted, "ada").unwrap();
        assert_eq!(serde_json::to_string(&ruling).unwrap(), told, "{line}");
        ruling
    }

    fn status(&mut self) {
        let told = self.server.answer(r#"{"status":{}}"#);
        assert_eq!(serde_json::to_string(&self.session.status().unwrap()).unwrap(), told);
    }
}

#[test]
fn rulings_outputs_and_statuses_are_the_lines_of_the_protocol() {
    let engine = engine::Gate::new(policy());
    let options = ServeOptions { clock: Clock::Lines, ..ServeOptions::default() };
    let gate = Gate::builder(policy()).clock(ManualClock::default()).build().unwrap();
    let mut both = Both { session: gate.session("default"), server: Server::new(&engine, options) };

    both.status();
    both.call("1", "bash", json!({"command": "cd data && rm -rf old"}));
    let copy = both.call("2", "bash", json!({"command": "cp -r data /mnt"}));
    both.settle(copy, &json!("12 files"));
    let delete = both.call("3", "bash", json!({"command": "rm -rf old"}));
    both.settle(delete, &Value::Null);
    let asked = both.call("4", "deploy", json!({"to": "production"}));
    both.status();
    let deploy = both.answer(&asked, true);
    both.settle(deploy, &json!({"url": "https://example.com"}));
    let asked = both.call("5", "deploy", json!({}));
    both.answer(&asked, false);
    for id in ["6", "7"] {
        let search = both.call(id, "search", json!({}));
        both.settle(search, &json!([]));
    }
    let sent = both.call("8", "send", json!({"body": "from ada@example.com"}));
    both.settle(sent, &json!("sent to bob@example.com"));
    let mail = both.call("9", "mail", json!({"body": "from ada@example.com"}));
    let mail = both.answer(&mail, true);
    both.settle(mail, &json!("to bob@example.com"));
    let read = both.call("10", "read", json!({}));
    both.settle(read, &json!("-----BEGIN PRIVATE KEY-----"));
    both.status();
}

#[test]
fn verification_diff_explanation_and_sight_are_the_documented_json() {
    let old =
        Policy::rules("require test before deploy\nclaim never deploy before test\nclaim deploy impossible")
            .unwrap();
    let verified = serde_json::to_value(old.verify()).unwrap();
    assert_eq!(verified["policy"], old.hash());
    assert_eq!((&verified["rules"], &verified["exact"]), (&json!(1), &json!(true)));
    assert_eq!(verified["claims"][0], json!({"text": "never deploy before test", "holds": true}));
    assert_eq!(verified["claims"][1]["holds"], false);
    assert_eq!(verified["claims"][1]["trace"][0]["call"], "test");
    assert_eq!(verified["claims"][1]["lines"][0]["call"]["tool"], "test");

    let broken =
        Policy::builder().rules("requier test before deploy\nlimit send to 0 per session").verify().unwrap();
    let broken = serde_json::to_value(broken).unwrap();
    assert_eq!(broken["policy"], Value::Null);
    assert_eq!(broken["findings"][0]["severity"], "error");
    assert_eq!(broken["findings"][0]["where"][0]["line"], 1);

    let named = serde_json::to_value(old.verify_for(["test", "deplyo"])).unwrap();
    assert_eq!(named["findings"][0]["severity"], "warning", "no tool is called `deploy`");

    let newer = Policy::rules("limit deploy to 9 per session").unwrap();
    let diff = old.diff(&newer).unwrap();
    assert_eq!(diff.is_same(), Some(false));
    let diff = serde_json::to_value(diff).unwrap();
    assert_eq!((&diff["same"], &diff["changes"][0]["kind"]), (&json!(false), &json!("newly allowed")));

    let session = Gate::new(old.clone()).session("s1");
    let views = session.explain(ToolCall::new("deploy", json!({}))).unwrap();
    assert_eq!(
        serde_json::to_value(views).unwrap(),
        json!([{
            "rule": "require-test-before-deploy",
            "deed": "deploy",
            "says": "blocked",
            "reason": "deploy requires a successful call to test first.",
        }])
    );

    let sight = old.see(ToolCall::new("bash", json!({"command": "cat /etc/hosts && $X"}))).unwrap();
    assert!(sight.has_doubts());
    let sight = serde_json::to_value(sight).unwrap();
    assert_eq!(sight["scripts"][0]["commands"][0]["program"], "cat");
    assert_eq!(sight["paths"][0]["text"], "/etc/hosts");
}

#[test]
fn the_audit_log_is_asked_by_session_tool_rule_and_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("lockgate.db").display());
    let policy = || Policy::rules("block shutdown\nlimit send to 1 per session").unwrap();
    let gate = Gate::builder(policy()).store(&url).unwrap().build().unwrap();
    for session in ["a/1", "a/2", "b/1"] {
        for tool in ["send", "send", "shutdown"] {
            let _ = gate.session(session).call(tool, json!({})).unwrap();
        }
    }
    let count = |query: AuditQuery| gate.audit(&query).unwrap().len();
    let blocked = || AuditQuery::default().verdict(Decision::Block);
    assert_eq!(count(blocked()), 6);
    assert_eq!(count(blocked().session("a/*")), 4);
    assert_eq!(count(blocked().session("a/1").tool("shut*")), 1);
    assert_eq!(count(blocked().rule("limit-send-1").last(2)), 2);
    let last = gate.audit(&AuditQuery::default().tool("shutdown").last(1)).unwrap();
    assert_eq!((&last[0].entry["session"], &last[0].entry["verdict"]), (&json!("b/1"), &json!("block")));
    let in_memory = Gate::builder(policy()).store("memory:").unwrap().build().unwrap();
    assert!(matches!(in_memory.audit(&AuditQuery::default()), Err(AuditError::NoLog)));
}
