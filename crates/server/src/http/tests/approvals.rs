//! Questions to humans over HTTP.

use lockgate::engine::gate::{Backend as _, StoredAnswer};

use super::*;

fn ask(world: &World, agent: &str) {
    let asked = world.call(agent, "1", "deploy", "s");
    assert_eq!((asked["verdict"].as_str(), asked["approval"].as_str()), (Some("ask"), Some("a1@s")));
}

#[test]
fn an_approver_answers_once_and_the_agent_goes_on() {
    let world = World::new();
    let (agent, approver) = (world.token_of(Scope::Agent), world.token("ada", Scope::Approver, "*"));
    ask(&world, &agent);
    let collect = json!({"approval": "a1@s"});
    let (status, open) = world.post("/v1/collect", &agent, &collect);
    assert_eq!((status, open["state"].as_str()), (202, Some("open")));
    let yes = json!({"approval": "a1@s", "granted": true, "by": "the agent", "comment": "looks right"});
    assert_eq!(world.post("/v1/answer", &agent, &yes).0, 403);
    let (_, questions) = world.get("/v1/questions", &approver);
    assert_eq!(questions["questions"][0]["rules"][0]["rule"], "approve-before-deploy", "{questions}");
    let (status, answered) = world.post("/v1/answer", &approver, &yes);
    assert_eq!((status, answered["by"].as_str()), (200, Some("ada (the agent)")), "{answered}");
    let no = json!({"approval": "a1@s", "granted": false});
    let (status, late) = world.post("/v1/answer", &approver, &no);
    assert_eq!(status, 409);
    assert_eq!(late["detail"], "`a1@s` was answered before: yes, by ada (the agent)");
    let (status, verdict) = world.post("/v1/collect", &agent, &collect);
    assert_eq!(
        (status, verdict["verdict"].as_str(), verdict["id"].as_str()),
        (200, Some("allow"), Some("1"))
    );
    assert_eq!(world.post("/v1/collect", &agent, &collect).0, 409, "it is collected once");
    let (_, audit) = world.get("/v1/audit", &approver);
    assert!(audit.to_string().contains("looks right"), "{audit}");
    let (_, verified) = world.get("/v1/audit/verify", &approver);
    assert_eq!(verified["whole"], true, "{verified}");
}

#[test]
fn a_yes_that_the_server_has_not_signed_does_not_count() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    ask(&world, &agent);
    // Another program that can write to the database.
    let store = Sqlite::open(world.data().state(), Options::default()).unwrap();
    let forged = StoredAnswer::unsigned(true, "ada", lockgate::Clock::now(&lockgate::SystemClock));
    assert!(store.keep_answer("s", 1, &forged, r#"{"at":0,"what":"operator","act":"x"}"#).unwrap());
    let (status, _) = world.post("/v1/collect", &agent, &json!({"approval": "a1@s"}));
    assert_eq!(status, 202, "the question is still open");
    let (_, questions) = world.get("/v1/questions", &world.token_of(Scope::Viewer));
    assert_eq!(questions["questions"][0]["answer"], Value::Null);
}

#[test]
fn a_no_blocks_and_an_end_without_an_answer_is_a_timeout() {
    let world = World::new();
    let (agent, approver) = (world.token_of(Scope::Agent), world.token_of(Scope::Approver));
    ask(&world, &agent);
    assert_eq!(world.post("/v1/answer", &approver, &json!({"approval": "a1@s", "granted": false})).0, 200);
    let (_, verdict) = world.post("/v1/collect", &agent, &json!({"approval": "a1@s"}));
    assert_eq!(verdict["verdict"], "block");
    world.call(&agent, "2", "deploy", "s");
    let (_, verdict) = world.post("/v1/collect", &agent, &json!({"approval": "a2@s", "end": true}));
    assert_eq!(
        (verdict["verdict"].as_str(), verdict["timeout"].as_bool()),
        (Some("block"), Some(true)),
        "{verdict}"
    );
    for (body, status) in [
        (json!({"approval": "a2@s", "granted": true}), 409),
        (json!({"approval": "nothing", "granted": true}), 400),
        (json!({"approval": "a2@s", "granted": null}), 400),
        (json!({"approval": "a2@s"}), 400),
    ] {
        assert_eq!(world.post("/v1/answer", &approver, &body).0, status, "{body}");
    }
    assert_eq!(world.post("/v1/collect", &agent, &json!({"approval": "a9@s"})).0, 409);
    assert_eq!(world.post("/v1/collect", &agent, &json!({"approval": "a9@s", "wait": 56})).0, 400);
}

#[test]
fn a_yes_that_comes_late_is_not_a_yes() {
    let world =
        World::with(ServiceOptions { clock: crate::lines::Clock::Lines, ..ServiceOptions::default() });
    let (agent, approver) = (world.token_of(Scope::Agent), world.token_of(Scope::Approver));
    ask(&world, &agent);
    let yes = json!({"approval": "a1@s", "granted": true});
    let (status, answered) = world.post("/v1/answer?at=600000", &approver, &yes);
    assert_eq!((status, &answered["late"]), (200, &json!(true)), "{answered}");
    let (_, verdict) = world.post("/v1/collect?at=600001", &agent, &json!({"approval": "a1@s"}));
    assert_eq!(verdict["reason"], "the approval of a human did not come in time: ask again.", "{verdict}");
    assert_eq!(verdict["verdict"], "block");
    assert_eq!(world.call(&agent, "2", "deploy", "s")["approval"], "a2@s");
    assert_eq!(
        world.post("/v1/answer?at=600002", &approver, &json!({"approval": "a2@s", "granted": true})).0,
        200
    );
    let (_, verdict) = world.post("/v1/collect?at=600003", &agent, &json!({"approval": "a2@s"}));
    assert_eq!(verdict["verdict"], "allow", "{verdict}");
}

#[test]
fn a_request_that_waits_is_woken_by_the_answer_and_let_go_at_the_end() {
    let mut world = World::new();
    let (agent, approver) = (world.token_of(Scope::Agent), world.token_of(Scope::Approver));
    ask(&world, &agent);
    world.call(&agent, "2", "deploy", "t");
    let (verdict, open) = thread::scope(|scope| {
        let waits = |approval: &'static str| {
            let (world, agent) = (&world, &agent);
            scope.spawn(move || world.post("/v1/collect", agent, &json!({"approval": approval, "wait": 55})))
        };
        let answered = waits("a1@s");
        assert_eq!(world.post("/v1/answer", &approver, &json!({"approval": "a1@s", "granted": true})).0, 200);
        let verdict = answered.join().unwrap();
        let short = json!({"approval": "a1@t", "wait": 1});
        (verdict, world.post("/v1/collect", &agent, &short))
    });
    assert_eq!((verdict.0, verdict.1["verdict"].as_str()), (200, Some("allow")));
    assert_eq!(open.0, 202);
    let (address, agent) = (world.address, agent.clone());
    let held = TcpStream::connect(address).unwrap();
    let body = r#"{"approval":"a1@t","wait":55}"#;
    let head = format!(
        "POST /v1/collect HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {agent}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    (&held).write_all(head.as_bytes()).unwrap();
    // A second request on another connection is answered, so the first has been accepted before the end.
    assert_eq!(world.get("/livez", "").0, 200);
    world.end();
    let mut text = String::new();
    let _ = (&held).read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 202") || text.is_empty(), "{text}");
}

#[test]
fn a_question_shows_no_secret_and_is_still_about_the_whole_input() {
    let world = World::new();
    let (agent, approver) = (world.token_of(Scope::Agent), world.token_of(Scope::Approver));
    let key = "AKIAIOSFODNN7EXAMPLE";
    let call = json!({"id": "1", "tool": "deploy", "session": "s", "input": {"to": "prod", "key": key}});
    assert_eq!(world.post("/v1/call", &agent, &call).1["verdict"], "ask");
    let (_, questions) = world.get("/v1/questions", &approver);
    let question = &questions["questions"][0];
    assert_eq!((&question["masked"], &question["input"]["to"]), (&json!(true), &json!("prod")), "{question}");
    assert!(!questions.to_string().contains(key), "{questions}");
    assert_eq!(world.post("/v1/answer", &approver, &json!({"approval": "a1@s", "granted": true})).0, 200);
    let (_, verdict) = world.post("/v1/collect", &agent, &json!({"approval": "a1@s"}));
    assert_eq!(verdict["verdict"], "allow", "{verdict}");
}
