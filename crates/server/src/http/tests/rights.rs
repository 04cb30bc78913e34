//! Who may do what.

use super::*;
use crate::http::routes::{Face, ROUTES, Route, Run, Verb};

/// The only routes that the token of an agent may use. A new route does not get in here by accident.
const AGENT_ROUTES: [&str; 9] = [
    "/v1/call",
    "/v1/result",
    "/v1/collect",
    "/v1/prompt",
    "/v1/status",
    "/openapi.json",
    "/livez",
    "/readyz",
    "/.well-known/authzen-configuration",
];

#[test]
fn every_route_takes_the_scopes_of_its_row_and_no_others() {
    let world = World::new();
    let tokens = Scope::ALL.map(|scope| (scope, world.token_of(scope)));
    // A stream has no end; it refuses a parameter that it does not have only after it has let the token in.
    let path = |route: &Route| match route.run {
        Run::Events => format!("{}?x=1", route.path),
        _ => route.path.to_owned(),
    };
    for route in ROUTES.iter().filter(|route| route.face != Face::Page) {
        let send = |token: &str| match route.method {
            Verb::Get => world.get(&path(route), token).0,
            Verb::Post => world.post(&path(route), token, &json!({})).0,
        };
        for (scope, token) in &tokens {
            let may = route.scopes.is_empty() || route.scopes.contains(scope);
            let status = send(token);
            assert_eq!(status != 403, may, "{} {} {status}", route.path, scope.word());
            assert_ne!(status, 401, "{} {}", route.path, scope.word());
            assert!(status < 500, "{} {} {status}", route.path, scope.word());
        }
        let nobody = if route.scopes.is_empty() { 200 } else { 401 };
        for wrong in ["", "lgt_00000000_00", "lgt_", "x"] {
            assert_eq!(send(wrong), nobody, "{} `{wrong}`", route.path);
        }
    }
}

#[test]
fn an_agent_has_its_few_routes_and_is_not_trusted_as_a_host() {
    let mine: Vec<&str> = ROUTES
        .iter()
        .filter(|route| route.face != Face::Page)
        .filter(|route| route.scopes.is_empty() || route.scopes.contains(&Scope::Agent))
        .map(|route| route.path)
        .collect();
    assert_eq!(mine, AGENT_ROUTES);
    let world = World::new();
    let (agent, host) = (world.token_of(Scope::Agent), world.token_of(Scope::Host));
    for field in ["sender", "principal", "context", "metadata", "environment"] {
        let call = json!({"id": field, "tool": "read", field: if field == "environment" { json!("x") } else { json!({}) }});
        assert_eq!(world.post("/v1/call", &agent, &call).0, 403, "{field}");
        assert_eq!(world.post("/v1/call", &host, &call).0, 200, "{field}");
    }
}

fn evaluation_in(session: &str) -> Value {
    json!({"subject": {"type": "user", "id": "alice"}, "action": {"name": "read"},
           "resource": {"type": "record", "id": "1"}, "context": {"session": session, "call_id": "9"}})
}

#[test]
fn a_tenant_meets_its_own_sessions_alone() {
    let world = World::new();
    let agent = world.token("a-agent", Scope::Agent, "a/*");
    let admin = world.token("a-admin", Scope::Admin, "a/*");
    let other = world.token("b-agent", Scope::Agent, "b/*");
    assert_eq!(world.call(&other, "1", "deploy", "b/1")["verdict"], "ask");
    assert_eq!(world.call(&agent, "1", "deploy", "a/1")["verdict"], "ask");
    let at_b = json!({"session": "b/1"});
    for (path, body) in [
        ("/v1/call", json!({"id": "2", "tool": "read", "session": "b/1"})),
        ("/v1/call", json!({"id": "2", "tool": "read"})),
        ("/v1/result", json!({"id": "1", "ok": true, "session": "b/1"})),
        ("/v1/status", at_b.clone()),
        ("/v1/status", json!({})),
        ("/v1/prompt", at_b.clone()),
        ("/v1/user", json!({"says": "yes", "session": "b/1"})),
        ("/v1/session", json!({"id": "b/1", "attributes": {"role": "admin"}})),
        ("/v1/collect", json!({"approval": "a1@b/1"})),
        ("/v1/answer", json!({"approval": "a1@b/1", "granted": true})),
        ("/v1/halt", json!({"reason": "x", "session": "b/1"})),
        ("/v1/halt", json!({"reason": "x"})),
        ("/v1/halt", json!({"reason": "x", "session": null})),
        ("/v1/resume", json!({})),
        ("/v1/net", json!({"deactivate": "limit-push-3", "session": "b/1"})),
        ("/v1/untaint", at_b.clone()),
        ("/v1/accept-policy", at_b.clone()),
        ("/v1/explain", json!({"id": "2", "tool": "read", "session": "b/1"})),
        ("/access/v1/evaluation", evaluation_in("b/1")),
        ("/access/v1/evaluation", evaluation_in("default")),
        ("/v1/tokens", json!({"name": "x", "scope": "admin", "sessions": ["*"]})),
        ("/v1/tokens/revoke", json!({"name": "b-agent"})),
    ] {
        let (status, answer) = world.post(path, &admin, &body);
        assert_eq!(status, 403, "{path} {body} {answer}");
    }
    for path in ["/v1/tokens", "/v1/audit/verify"] {
        assert_eq!(world.get(path, &admin).0, 403, "{path}");
    }
    for path in ["/v1/questions", "/v1/sessions", "/v1/audit", "/v1/audit?session=b/1"] {
        let (status, answer) = world.get(path, &admin);
        assert_eq!(status, 200);
        assert!(!answer.to_string().contains("b/1"), "{path} {answer}");
    }
    let (_, questions) = world.get("/v1/questions", &admin);
    assert_eq!(questions["questions"][0]["approval"], "a1@a/1");
}

#[test]
fn tokens_are_made_listed_and_revoked_by_an_admin_and_never_shown_again() {
    let world = World::new();
    let admin = world.token_of(Scope::Admin);
    let new = json!({"name": "ci", "scope": "agent", "sessions": ["ci/*"]});
    let (_, made) = world.post("/v1/tokens", &admin, &new);
    let token = made["token"].as_str().unwrap();
    assert_eq!(world.call(token, "1", "read", "ci/1")["verdict"], "allow");
    let (_, listed) = world.get("/v1/tokens", &admin);
    let secret = token.rsplit('_').next().unwrap();
    assert!(!listed.to_string().contains(secret) && !listed.to_string().contains("hash"), "{listed}");
    assert_eq!(world.post("/v1/tokens", &admin, &new).0, 409);
    assert_eq!(world.post("/v1/tokens/revoke", &admin, &json!({"name": "ci"})).0, 200);
    assert_eq!(world.post("/v1/status", token, &json!({"session": "ci/1"})).0, 401);
    assert_eq!(world.post("/v1/tokens/revoke", &admin, &json!({"name": "ci"})).0, 404);
    let (_, audit) = world.get("/v1/audit", &admin);
    assert!(audit.to_string().contains("token-revoked") && !audit.to_string().contains(secret), "{audit}");
}

#[test]
fn too_many_requests_are_refused_and_calls_are_blocked() {
    let world = World::with(ServiceOptions { rate: 1, ..ServiceOptions::default() });
    let agent = world.token_of(Scope::Agent);
    // More than a bucket can hold or fill while they are made.
    let statuses: Vec<u16> = (0..40).map(|_| world.post("/v1/status", &agent, &json!({})).0).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    let calls: Vec<Value> = (0..40).map(|n| world.call(&agent, &n.to_string(), "read", "s")).collect();
    let blocked = calls.iter().filter(|call| call["verdict"] == "block").count();
    assert!(blocked > 0 && calls.iter().all(|call| call["verdict"].is_string()));
}
