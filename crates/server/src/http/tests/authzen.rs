//! AuthZEN 1.0: what its certification asks for, and what it has no word for.

use super::*;

fn record(subject: &Value, action: &Value, resource: &Value) -> Value {
    let mut subject = subject.clone();
    subject["type"] = json!("user");
    let mut resource = resource.clone();
    resource["type"] = json!("record");
    json!({"subject": subject, "action": action, "resource": resource})
}

fn fixture() -> World {
    let text = include_str!("../../../../../examples/authzen.yaml");
    let policy = Policy::builder().text("authzen.yaml", text).load().unwrap();
    World::under(
        policy,
        tempfile::tempdir().unwrap(),
        ServiceOptions { rate: 100_000, ..ServiceOptions::default() },
    )
}

const EVALUATION: &str = "/access/v1/evaluation";
const EVALUATIONS: &str = "/access/v1/evaluations";

#[test]
fn the_eight_decisions_of_the_certification_are_made_and_made_again() {
    let world = fixture();
    let host = world.token_of(Scope::Host);
    let (alice, bob) = (json!({"id": "alice"}), json!({"id": "bob"}));
    let admin = json!({"id": "bob", "properties": {"role": "admin"}});
    let (read, write) = (json!({"name": "read"}), json!({"name": "write"}));
    let delete = |soft: bool| json!({"name": "delete", "properties": {"soft": soft}});
    let active = json!({"id": "record-1"});
    let archived = json!({"id": "record-2", "properties": {"status": "archived"}});
    for (number, request, decision) in [
        (1, record(&alice, &read, &active), true),
        (2, record(&alice, &write, &active), true),
        (3, record(&bob, &read, &active), true),
        (4, record(&bob, &write, &active), false),
        (5, record(&alice, &write, &archived), false),
        (6, record(&admin, &write, &archived), true),
        (7, record(&alice, &delete(true), &active), true),
        (8, record(&alice, &delete(false), &active), false),
    ] {
        for _ in 0..3 {
            let (status, answer) = world.post(EVALUATION, &host, &request);
            assert_eq!((status, &answer["decision"]), (200, &json!(decision)), "rule {number}: {answer}");
        }
    }
    let archived = record(&alice, &write, &archived);
    let (_, denied) = world.post(EVALUATION, &host, &archived);
    assert_eq!(denied["context"]["reason"], "Archived records are written by admins.", "{denied}");
    assert_eq!(denied["context"]["rules"], json!(["archived"]));
    let batch = json!({"subject": {"type": "user", "id": "bob"}, "resource": {"type": "record", "id": "record-1"},
                       "evaluations": [{"action": {"name": "read"}}, {"action": {"name": "write"}}, {}]});
    let decisions = |body: &Value| {
        let (status, answer) = world.post(EVALUATIONS, &host, body);
        assert_eq!(status, 200, "{answer}");
        answer["evaluations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["decision"].as_bool().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(decisions(&batch), [true, false, false]);
    let semantic = |word: &str| {
        let mut batch = batch.clone();
        batch["options"] = json!({"evaluations_semantic": word});
        batch
    };
    assert_eq!(decisions(&semantic("deny_on_first_deny")), [true, false]);
    assert_eq!(decisions(&semantic("permit_on_first_permit")), [true]);
    assert_eq!(decisions(&semantic("execute_all")), [true, false, false]);
    let mut single = record(&alice, &read, &active);
    single["evaluations"] = json!([]);
    assert_eq!(world.post(EVALUATIONS, &host, &single).1, json!({"decision": true}));
    let viewer = world.token_of(Scope::Viewer);
    let (_, sessions) = world.get("/v1/sessions", &viewer);
    assert_eq!(sessions["sessions"], json!([]), "a dry run stores nothing");
}

#[test]
fn what_is_not_a_request_of_the_standard_is_400() {
    let world = fixture();
    let host = world.token_of(Scope::Host);
    let bearer = format!("Bearer {host}");
    let good = json!({"subject": {"type": "user", "id": "alice"}, "action": {"name": "read"},
                      "resource": {"type": "record", "id": "record-1"}, "future": [1]});
    assert_eq!(world.post(EVALUATION, &host, &good).0, 200);
    for field in ["subject", "action", "resource"] {
        let mut missing = good.clone();
        missing.as_object_mut().unwrap().remove(field);
        assert_eq!(world.post(EVALUATION, &host, &missing).0, 400, "{field}");
        assert_eq!(world.post(EVALUATIONS, &host, &missing).0, 400, "{field}");
        missing[field] = json!("alice");
        assert_eq!(world.post(EVALUATION, &host, &missing).0, 400, "{field}");
    }
    let json_type = ("content-type", "application/json");
    for (kind, body) in [
        (Some("application/json"), ""),
        (Some("application/json"), "{"),
        (Some("application/json"), r#"{"subject": 1, "subject": 2}"#),
        (Some("text/plain"), "{}"),
        (None, "{}"),
    ] {
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(kind.map(|kind| ("content-type", kind)));
        let (status, answer) = world.send("POST", EVALUATION, &headers, body.as_bytes());
        assert_eq!(status, 400, "{kind:?} {body} {answer}");
    }
    let echoed = |headers: &[(&str, &str)]| {
        let all = [&[json_type, ("authorization", bearer.as_str())], headers].concat();
        world.send_whole("POST", EVALUATION, &all, good.to_string().as_bytes()).1.to_lowercase()
    };
    assert!(echoed(&[("x-request-id", "req-7")]).contains("x-request-id: req-7"));
    assert!(!echoed(&[]).contains("x-request-id"));
}

#[test]
fn the_configuration_names_this_server_as_it_was_asked() {
    let world = World::new();
    let (status, configuration) = world.get("/.well-known/authzen-configuration", "");
    let origin = format!("http://{}", world.address);
    assert_eq!((status, &configuration["policy_decision_point"]), (200, &json!(origin)));
    assert_eq!(configuration["access_evaluation_endpoint"], format!("{origin}{EVALUATION}"));
    assert_eq!(configuration["access_evaluations_endpoint"], format!("{origin}{EVALUATIONS}"));
    assert_eq!(configuration["obligations_supported"], json!(["custom"]));
}

fn tool_call(tool: &str, context: Value) -> Value {
    let mut body = json!({"subject": {"type": "identity", "id": "alice"}, "action": {"name": "tools/call"},
                          "resource": {"type": "tool", "id": tool}});
    body["context"] = context;
    body
}

#[test]
fn an_evaluation_with_a_call_id_counts_and_one_without_does_not() {
    let world = World::new();
    let (host, viewer) = (world.token_of(Scope::Host), world.token_of(Scope::Viewer));
    let push =
        |context: Value| world.post(EVALUATION, &host, &tool_call("push", context)).1["decision"].clone();
    for _ in 0..5 {
        assert_eq!(push(json!({"session": "s"})), true);
    }
    for id in ["1", "2", "3"] {
        assert_eq!(push(json!({"session": "s", "call_id": id})), true);
    }
    assert_eq!(push(json!({"session": "s", "call_id": "4"})), false);
    assert_eq!(push(json!({"session": "s"})), false, "a dry run sees what was counted");
    assert_eq!(push(json!({"session": "t"})), true);
    let real = tool_call("push", json!({"session": "t", "call_id": "1"}));
    assert_eq!(world.post(EVALUATION, &viewer, &real).0, 403);
    let (_, settled) = world.post("/v1/result", &host, &json!({"id": "1", "session": "s", "ok": true}));
    assert_eq!(settled["settled"], true);
}

#[test]
fn a_question_is_a_denial_that_can_be_requested() {
    let world = World::new();
    let (host, approver) = (world.token_of(Scope::Host), world.token_of(Scope::Approver));
    let deploy = |context: Value| {
        let mut all = json!({"session": "s", "call_id": "1", "arguments": {"to": "prod"}});
        for (name, value) in context.as_object().unwrap() {
            all[name] = value.clone();
        }
        tool_call("deploy", all)
    };
    let (_, dry) = world.post(EVALUATION, &host, &tool_call("deploy", json!({"session": "s"})));
    assert_eq!((&dry["decision"], &dry["context"]["access_request"]), (&json!(false), &Value::Null), "{dry}");
    let (_, asked) = world.post(EVALUATION, &host, &deploy(json!({})));
    let context = &asked["context"];
    assert_eq!((&asked["decision"], &context["verdict"]), (&json!(false), &json!("ask")), "{asked}");
    assert_eq!(context["access_request"]["endpoint"], format!("http://{}/access/v1/requests", world.address));
    let (_, again) = world.post(EVALUATION, &host, &deploy(json!({})));
    assert_eq!(again["context"]["evaluation_id"], context["evaluation_id"], "the question stays the same");
    let mut request = deploy(json!({}));
    request["denial"] =
        json!({"evaluation_id": context["evaluation_id"], "expires_at": "2030-01-01T00:00:00Z"});
    for (field, value) in [
        ("/denial/evaluation_id", json!("x.y")),
        ("/context/arguments", json!({"to": "moon"})),
        ("/resource/id", json!("drop")),
        ("/subject/id", json!("eve")),
    ] {
        let mut wrong = request.clone();
        *wrong.pointer_mut(field).unwrap() = value;
        let (status, problem) = world.post("/access/v1/requests", &host, &wrong);
        assert_eq!(status, 400, "{field} {problem}");
        assert!(problem["type"].as_str().unwrap().ends_with("invalid_denial_binding"), "{problem}");
    }
    let (status, made) = world.post("/access/v1/requests", &host, &request);
    assert_eq!((status, &made["task"]["status"]), (202, &json!("pending")), "{made}");
    let path = made["task"]["status_endpoint"].as_str().unwrap().split_once("/access").unwrap().1;
    let path = format!("/access{path}");
    assert_eq!(world.get(&path, &world.token("other", Scope::Host, "t")).0, 403, "not its session");
    assert_eq!(world.get(&path.replace("id=", "id=A"), &host).0, 404);
    let (_, questions) = world.get("/v1/questions", &approver);
    let approval = questions["questions"][0]["approval"].clone();
    assert_eq!(world.post("/v1/answer", &approver, &json!({"approval": approval, "granted": true})).0, 200);
    let (_, done) = world.get(&path, &host);
    assert_eq!(
        (&done["task"]["status"], &done["result"]["mode"]),
        (&json!("approved"), &json!("reevaluate")),
        "{done}"
    );
    let approval = &done["result"]["approval"];
    for wrong in
        [json!({"id": "x"}), json!({"id": context["evaluation_id"]}), json!({"id": made["task"]["id"]})]
    {
        let (_, answer) = world.post(EVALUATION, &host, &deploy(json!({"approval": wrong})));
        assert_eq!((&answer["decision"], &answer["context"]["next_action"]), (&json!(false), &json!("none")));
    }
    let other = deploy(json!({"approval": approval, "arguments": {"to": "moon"}}));
    assert_eq!(world.post(EVALUATION, &host, &other).1["decision"], false, "it is for exactly this call");
    let (_, allowed) = world.post(EVALUATION, &host, &deploy(json!({"approval": approval})));
    assert_eq!(allowed, json!({"decision": true}));
    let (_, used) = world.post(EVALUATION, &host, &deploy(json!({"approval": approval})));
    assert_eq!(used["decision"], false, "it counts once: {used}");
    assert_eq!(world.get(&path, &host).0, 404);
}

#[test]
fn a_masked_input_is_an_obligation_of_those_who_say_that_they_keep_it() {
    let text = "rules:\n  - {id: masked, when: {tool: send}, then: redact}\n";
    let policy = Policy::builder().text("mail.yaml", text).load().unwrap();
    let world = World::under(policy, tempfile::tempdir().unwrap(), ServiceOptions::default());
    let host = world.token_of(Scope::Host);
    let key = "AKIAIOSFODNN7EXAMPLE";
    let send = |mut context: Value| {
        context["arguments"] = json!({"text": format!("key {key}")});
        world.post(EVALUATION, &host, &tool_call("send", context)).1
    };
    let denied = send(json!({}));
    assert_eq!(
        (&denied["decision"], &denied["context"]["verdict"]),
        (&json!(false), &json!("redact")),
        "{denied}"
    );
    let obliged = send(json!({"obligations_supported": ["notification", "custom"]}));
    assert_eq!(obliged["decision"], true, "{obliged}");
    let obligation = &obliged["context"]["obligations"][0];
    assert_eq!((&obligation["type"], &obligation["action"]), (&json!("custom"), &json!("replace-input")));
    assert!(obligation["properties"]["input"]["text"].as_str().unwrap().starts_with("key "), "{obligation}");
    assert!(!obliged.to_string().contains(key), "{obliged}");
}
