//! Requests that are not what they should be. None of them changes anything.

use super::*;
use crate::http::answering::BODY_BYTES_MAX;

#[test]
fn bodies_that_are_not_one_strict_object_are_refused() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    let authorization = format!("Bearer {agent}");
    let deep =
        format!(r#"{{"id":"1","tool":"read","input":{}1{}}}"#, r#"{"a":"#.repeat(200), "}".repeat(200));
    let long = vec![b' '; BODY_BYTES_MAX + 1];
    let cases: &[(&[u8], u16)] = &[
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (br#"{"id":"1","tool":"read"} {}"#, 400),
        (br#"{"id":"1","id":"2","tool":"read"}"#, 400),
        (br#"{"id":"1","tool":"read","colour":"red"}"#, 400),
        (br#"{"id":1,"tool":"read"}"#, 400),
        (br#"{"id":"","tool":"read"}"#, 400),
        (br#"{"id":"1","tool":"read","session":""}"#, 400),
        (br#"{"id":"1","tool":"read","session":7}"#, 400),
        (br#"{"id":"1","tool":"read","input":[]}"#, 400),
        (b"{\"id\":\"1\",\"tool\":\"\xff\"}", 400),
        (deep.as_bytes(), 400),
        (&long, 413),
    ];
    for (body, expected) in cases {
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        let (status, answer) = world.send("POST", "/v1/call", &headers, body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(status, *expected, "{shown} {answer}");
        assert!(answer["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{shown} {answer}");
    }
    let (_, status) = world.post("/v1/status", &agent, &json!({}));
    assert_eq!(status["counters"]["attempts"], 0, "nothing was counted");
}

#[test]
fn heads_that_are_not_right_are_refused() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    let bearer = format!("Bearer {agent}");
    let json = ("content-type", "application/json");
    let good = ("authorization", bearer.as_str());
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);
    let cases: &[Case<'_>] = &[
        ("POST", "/v1/status", &[json, good], 200),
        ("POST", "/v1/status", &[good], 415),
        ("POST", "/v1/status", &[("content-type", "text/plain"), good], 415),
        ("POST", "/v1/status", &[json], 401),
        ("POST", "/v1/status", &[json, ("authorization", "Basic YTpi")], 401),
        ("POST", "/v1/status", &[json, good, good], 400),
        ("POST", "/v1/status", &[json, good, ("host", "evil.example")], 421),
        ("POST", "/v1/status", &[json, good, ("origin", "http://evil.example")], 403),
        ("POST", "/v1/status", &[json, good, ("origin", "null")], 403),
        ("POST", "/v1/status", &[json, good, ("sec-fetch-site", "cross-site")], 403),
        ("POST", "/v1/status?at=5", &[json, good], 400),
        ("POST", "/v1/status?session=s", &[json, good], 400),
        ("GET", "/v1/status", &[good], 405),
        ("DELETE", "/v1/status", &[good], 405),
        ("OPTIONS", "/v1/status", &[("origin", "http://evil.example")], 405),
        ("GET", "/v1/nothing", &[good], 404),
        ("GET", "/v1/..%2f..%2fetc/passwd", &[good], 404),
        ("GET", "//v1/status", &[good], 404),
        ("GET", "/d", &[], 404),
        ("GET", "/d/x/nothing", &[], 404),
    ];
    for (method, path, headers, expected) in cases {
        let body: &[u8] = if *method == "POST" { b"{}" } else { b"" };
        let (status, answer) = world.send(method, path, headers, body);
        assert_eq!(status, *expected, "{method} {path} {headers:?} {answer}");
        assert!(!answer.to_string().contains(&agent), "a token is never repeated");
    }
}

#[test]
fn filters_that_are_misspelt_are_refused() {
    let world = World::new();
    let viewer = world.token_of(Scope::Viewer);
    for (path, expected) in [
        ("/v1/audit?verdict=block&limit=1", 200),
        ("/v1/audit?verdikt=block", 400),
        ("/v1/audit?verdict=maybe", 400),
        ("/v1/audit?limit=0", 400),
        ("/v1/audit?limit=1001", 400),
        ("/v1/audit?after=-1", 400),
        ("/v1/audit?limit=1&limit=2", 400),
        ("/v1/sessions?limit=x", 400),
        ("/v1/questions?x=1", 400),
        ("/readyz?x=1", 400),
    ] {
        assert_eq!(world.get(path, &viewer).0, expected, "{path}");
    }
}

#[test]
fn drafts_are_proved_and_compared_and_mistakes_are_told() {
    let world = World::new();
    let (author, viewer) = (world.token_of(Scope::Author), world.token_of(Scope::Viewer));
    let draft = |text: &str| json!({"files": [{"name": "draft.rules", "text": text}]});
    let (status, verified) = world.post("/v1/verify", &author, &draft("block rm\nclaim rm impossible"));
    assert_eq!((status, &verified["claims"][0]["holds"]), (200, &json!(true)), "{verified}");
    let (status, verified) = world.post("/v1/verify", &author, &draft("blok rm"));
    assert_eq!((status, &verified["policy"]), (200, &Value::Null), "{verified}");
    let (status, diff) = world.post("/v1/diff", &author, &draft("block push"));
    assert_eq!((status, &diff["same"]), (200, &json!(false)), "{diff}");
    for body in [draft("blok rm"), json!({"files": []}), json!({}), draft("include other.rules")] {
        let (status, answer) = world.post("/v1/diff", &author, &body);
        assert_eq!(status, 400, "{body} {answer}");
    }
    assert_eq!(world.get("/v1/verify", &viewer).0, 200);
    let (_, policy) = world.get("/v1/policy", &viewer);
    assert!(policy["files"][0]["text"].as_str().unwrap().contains("limit push"), "{policy}");
    let (_, explained) = world.post("/v1/explain", &viewer, &json!({"id": "1", "tool": "delete"}));
    assert!(explained.to_string().contains("require-backup-before-delete"), "{explained}");
}
