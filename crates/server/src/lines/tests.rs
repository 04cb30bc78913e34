//! Lines in, lines out.

use serde_json::Value;

use super::*;

const POLICY: &str = "
        require backup before delete
        require human-approval before deploy
        limit push to 1 per session
    ";

/// Plays lines and compares the fields that the expected answers name; `…` ends a text that goes on.
fn check(lines: &[(&str, &str)]) {
    let gate = Gate::new(lockgate::Policy::rules(POLICY).unwrap());
    let mut server = Server::new(&gate, ServeOptions { clock: Clock::Lines, ..ServeOptions::default() });
    for (line, expected) in lines {
        let answer = server.answer(line);
        let expected: Value = serde_json::from_str(expected).unwrap();
        let heard: Value = serde_json::from_str(&answer).unwrap();
        for (field, value) in expected.as_object().unwrap() {
            let same = match (value.as_str().and_then(|text| text.strip_suffix('…')), &heard[field]) {
                (Some(start), Value::String(text)) => text.starts_with(start),
                (_, other) => value == other,
            };
            assert!(same, "{line}\n  expected {field}: {value}\n  heard {answer}");
        }
    }
}

#[test]
fn a_verdict_is_written_as_the_page_says() {
    let gate = Gate::new(lockgate::Policy::rules("require backup before delete\nblock delete").unwrap());
    let mut server = Server::new(&gate, ServeOptions::default());
    insta::assert_snapshot!(server.answer(r#"{"call":{"id":"1","tool":"delete"}}"#), @r#"{"id":"1","session":"default","verdict":"block","reason":"delete requires a successful call to backup first.","obstacles":[{"rule":"require-backup-before-delete","file":"policy.rules","line":1,"verdict":"block","reason":"delete requires a successful call to backup first.","mode":"enforce"},{"rule":"block-delete","file":"policy.rules","line":2,"verdict":"block","reason":"delete is blocked and cannot be called.","mode":"enforce"}],"deeds":[{"name":"delete","certain":true}]}"#);
    insta::assert_snapshot!(server.answer(r#"{"call":{"id":"2","tool":"backup"}}"#), @r#"{"id":"2","session":"default","verdict":"allow","reason":"","obstacles":[],"deeds":[{"name":"backup","certain":true}]}"#);
    insta::assert_snapshot!(server.answer(r#"{"result":{"id":"2","ok":true}}"#), @r#"{"id":"2","session":"default","settled":true,"verdict":"allow"}"#);
    insta::assert_snapshot!(server.answer(r#"{"result":{"id":"2","ok":true}}"#), @r#"{"id":"2","session":"default","settled":false,"verdict":"allow","reason":"no call with id '2' is waiting for a result"}"#);
    insta::assert_snapshot!(server.answer(r#"{"status":{}}"#), @r#"{"session":"default","nets":[{"name":"require-backup-before-delete","active":true,"marking":{"gate":1}},{"name":"block-delete","active":true,"marking":{"ready":1}}],"text":"require-backup-before-delete: gate:1\nblock-delete: ready:1","counters":{"tool_calls":1,"attempts":2},"workflows":[],"pending":[],"approvals":[]}"#);
    assert_eq!(server.served(), Served { lines: 5, errors: 0 });
}

#[test]
fn what_only_observes_is_told_and_lets_pass() {
    let policy = lockgate::Policy::rules("block delete").unwrap();
    let gate = Gate::builder(policy).mode(lockgate::engine::Mode::Observe).build().unwrap();
    let mut server = Server::new(&gate, ServeOptions::default());
    insta::assert_snapshot!(server.answer(r#"{"call":{"id":"1","tool":"delete"}}"#), @r#"{"id":"1","session":"default","verdict":"allow","reason":"","obstacles":[],"deeds":[{"name":"delete","certain":true}],"observed":[{"rule":"block-delete","file":"policy.rules","line":1,"verdict":"block","reason":"delete is blocked and cannot be called.","mode":"observe"}]}"#);
}

#[test]
fn a_question_is_answered_once() {
    check(&[
        (
            r#"{"call":{"id":"1","tool":"deploy"}}"#,
            r#"{"verdict":"ask","approval":"a1@default","reason":"deploy requires human approval."}"#,
        ),
        (
            r#"{"answer":{"approval":"a1@default","granted":true,"by":"ann"}}"#,
            r#"{"id":"1","session":"default","verdict":"allow"}"#,
        ),
        (
            r#"{"answer":{"approval":"a1@default","granted":false}}"#,
            r#"{"error":"no question `a1@default` is open…"}"#,
        ),
        (
            r#"{"answer":{"approval":"a9@default","granted":true}}"#,
            r#"{"error":"no question `a9@default` is open…"}"#,
        ),
        (r#"{"answer":{"approval":"1","granted":true}}"#, r#"{"error":"no question is called `1`…"}"#),
        (r#"{"answer":{"approval":"a1@default"}}"#, r#"{"error":"`answer`: `granted` is missing"}"#),
        (r#"{"call":{"id":"3","tool":"deploy"}}"#, r#"{"approval":"a2@default"}"#),
        (r#"{"answer":{"approval":"a2@default","granted":null}}"#, r#"{"id":"3","verdict":"block"}"#),
        (
            r#"{"call":{"id":"2","tool":"deploy","ask":"none"}}"#,
            r#"{"verdict":"block","reason":"deploy requires human approval."}"#,
        ),
    ]);
}

#[test]
fn ids_are_their_sessions_own() {
    check(&[
        (r#"{"call":{"id":"1","tool":"backup","session":"a"}}"#, r#"{"session":"a","verdict":"allow"}"#),
        (r#"{"call":{"id":"1","tool":"backup","session":"a"}}"#, r#"{"verdict":"block"}"#),
        (r#"{"call":{"id":"1","tool":"read","session":"b"}}"#, r#"{"session":"b","verdict":"allow"}"#),
        (r#"{"result":{"id":"1","ok":true}}"#, r#"{"session":"default","settled":false}"#),
        (r#"{"result":{"id":"1","ok":true,"session":"b"}}"#, r#"{"settled":true}"#),
        (r#"{"call":{"id":"2","tool":"delete","session":"b"}}"#, r#"{"verdict":"block","next":["backup"]}"#),
        (r#"{"result":{"id":"1","ok":true,"session":"a"}}"#, r#"{"settled":true}"#),
        (r#"{"call":{"id":"2","tool":"delete","session":"a"}}"#, r#"{"verdict":"allow"}"#),
    ]);
}

#[test]
fn nets_are_switched_and_everything_is_halted() {
    check(&[
        (
            r#"{"net":{"deactivate":"limit-push-1"}}"#,
            r#"{"session":"default","net":"limit-push-1","active":false,"text":"Deactivated 'limit-push-1' (state preserved)"}"#,
        ),
        (r#"{"net":{"deactivate":"limit-push-1"}}"#, r#"{"error":"'limit-push-1' is not active…"}"#),
        (r#"{"net":{"activate":"nothing"}}"#, r#"{"error":"Unknown net 'nothing'…"}"#),
        (r#"{"net":{"activate":"limit-push-1"}}"#, r#"{"active":true}"#),
        (r#"{"halt":{"reason":"fire","session":"a"}}"#, r#"{"session":"a","halted":true}"#),
        (r#"{"call":{"id":"1","tool":"read","session":"a"}}"#, r#"{"verdict":"block"}"#),
        (r#"{"call":{"id":"1","tool":"read"}}"#, r#"{"verdict":"allow"}"#),
        (r#"{"status":{"session":"a"}}"#, r#"{"halted":"fire"}"#),
        (r#"{"resume":{"session":"a"}}"#, r#"{"halted":false}"#),
        (r#"{"call":{"id":"2","tool":"read","session":"a"}}"#, r#"{"verdict":"allow"}"#),
        (r#"{"halt":{"reason":"flood"}}"#, r#"{"halted":true}"#),
        (r#"{"call":{"id":"3","tool":"read"}}"#, r#"{"verdict":"block"}"#),
        (r#"{"resume":{}}"#, r#"{"halted":false}"#),
        (r#"{"call":{"id":"4","tool":"read"}}"#, r#"{"verdict":"allow"}"#),
    ]);
}

#[test]
fn nets_and_files_are_switched_by_names_of_ones_own_and_some_are_off_at_first() {
    let sources = [
        lockgate::engine::Source::new("rules/safety.rules", "block rm\nlimit push to 1 per session"),
        lockgate::engine::Source::new("rules/deploy.rules", "require human-approval before deploy"),
        lockgate::engine::Source::new("always.rules", "block format"),
    ];
    let policy = || lockgate::engine::languages::read(&sources).0.unwrap();
    let builder =
        Gate::builder(policy()).name("safety", ["safety.rules"]).name("ops", ["approve-before-deploy"]);
    let gate = builder.active(["safety"]).build().unwrap();
    let mut server = Server::new(&gate, ServeOptions::default());
    for (line, expected) in [
        (
            r#"{"status":{}}"#,
            r#""text":"safety/block-rm (active): ready:1\nsafety/limit-push-1 (active): ready:1, budget:1\nops (inactive): ready:1\nblock-format (active): ready:1""#,
        ),
        (r#"{"call":{"id":"1","tool":"deploy"}}"#, r#""verdict":"allow""#),
        (r#"{"call":{"id":"2","tool":"rm"}}"#, r#""verdict":"block""#),
        (r#"{"net":{"activate":"ops"}}"#, "Activated 'ops'"),
        (r#"{"call":{"id":"3","tool":"deploy"}}"#, r#""verdict":"ask""#),
        (r#"{"net":{"deactivate":"safety"}}"#, "Deactivated 'safety' (state preserved)"),
        (r#"{"net":{"deactivate":"safety"}}"#, "'safety' is not active. Active: ops, block-format"),
        (r#"{"call":{"id":"4","tool":"rm"}}"#, r#""verdict":"allow""#),
        (r#"{"call":{"id":"5","tool":"format"}}"#, r#""verdict":"block""#),
        (r#"{"net":{"activate":"rules/safety.rules"}}"#, "Activated 'rules/safety.rules'"),
        (r#"{"net":{"activate":"nothing"}}"#, "Unknown net 'nothing'. Available: safety, ops, block-format"),
        (r#"{"session":{"id":"s","active":["ops"]}}"#, r#""session":"s""#),
        (r#"{"call":{"id":"6","tool":"rm","session":"s"}}"#, r#""verdict":"allow""#),
        (r#"{"call":{"id":"7","tool":"deploy","session":"s"}}"#, r#""verdict":"ask""#),
        (r#"{"session":{"id":"s","active":["none"]}}"#, "Unknown net 'none'"),
        (r#"{"call":{"id":"8","tool":"deploy","session":"t"}}"#, r#""verdict":"allow""#),
    ] {
        let answer = server.answer(line);
        assert!(answer.contains(expected), "{line}\n  {answer}");
    }
    let wrong = [(vec!["sfety.rules"], vec![]), (vec!["safety"], vec!["x"])];
    for (members, active) in wrong {
        let named = Gate::builder(policy()).name("own", members).active(active).build();
        let told = named.unwrap_err().to_string();
        assert!(told.starts_with("nothing is called `"), "{told}");
    }
}

#[test]
fn the_model_is_told_where_the_session_stands_and_what_needs_a_human_is_never_open() {
    let net = "kind: Net\nname: tool-approval\nplaces: {ready: 1, working: 0}\nfree_tools: [read]\ntransitions:\n  - {name: ok, type: manual, tools: [bash, write], inputs: [ready], outputs: [ready]}\n  - {name: look, tools: [list], inputs: [ready], outputs: [ready]}\n";
    let rules =
        "limit deploy to 3 per session\nrequire human-approval before deploy\nlimit send to 2 per session";
    let sources =
        [lockgate::engine::Source::new("a.rules", rules), lockgate::engine::Source::new("n.yaml", net)];
    let (policy, mistakes) = lockgate::engine::languages::read(&sources);
    let gate = Gate::new(policy.unwrap_or_else(|| panic!("{mistakes:?}")));
    let mut server = Server::new(&gate, ServeOptions::default());
    let mut prompt = |line: &str| {
        let answer: Value = serde_json::from_str(&server.answer(line)).unwrap();
        answer["prompt"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let words = "## Tool rules

Every tool call is checked before it runs. Tools not named here are open.

### Open now

- `list` (net tool-approval)
- `send` 2 times more this session

### A human decides

- `bash`, `write` (net tool-approval): needs approval each time
- `deploy` 3 times more this session; needs approval
- `deploy`, each time
";
    assert_eq!(prompt(r#"{"prompt":{}}"#), words);
    let nets = "## Active Petri Nets (composed)
### limit-deploy-3
Available gated tools: deploy (needs approval)
Free tools: 
State: ready:1, budget:3

### approve-before-deploy
Available gated tools: deploy (needs approval)
Free tools: 
State: ready:1

### limit-send-2
Available gated tools: send
Free tools: 
State: ready:1, budget:2

### tool-approval
Available gated tools: bash (needs approval), write (needs approval), list
Free tools: read
State: ready:1";
    assert_eq!(prompt(r#"{"prompt":{"form":"nets"}}"#), nets);
}

#[test]
fn what_the_trusted_caller_knows_is_taken_in() {
    check(&[
        (r#"{"session":{"id":"a"}}"#, r#"{"session":"a"}"#),
        (r#"{"session":{"id":"a","attributes":{"role":"admin","team":"x"}}}"#, r#"{"session":"a"}"#),
        (r#"{"session":{"id":"a","attributes":{"team":null}}}"#, r#"{"session":"a"}"#),
        (
            r#"{"session":{"id":"a","counters":{"tool_calls":3,"attempts":5,"per_tool":{"push":2}}}}"#,
            r#"{"session":"a"}"#,
        ),
        (
            r#"{"status":{"session":"a"}}"#,
            r#"{"attributes":{"role":"admin"},"counters":{"tool_calls":3,"attempts":5,"per_tool":{"push":2}}}"#,
        ),
        (r#"{"status":{}}"#, r#"{"counters":{"tool_calls":0,"attempts":0}}"#),
        (r#"{"untaint":{"session":"a"}}"#, r#"{"session":"a","tainted":false}"#),
        (r#"{"untaint":{}}"#, r#"{"session":"default","tainted":false}"#),
        (r#"{"stage":{"workflow":"w","set":"x"}}"#, r#"{"error":"no workflow is called `w`…"}"#),
    ]);
}

#[test]
fn a_session_that_has_begun_keeps_its_own_counters_and_hears_nothing_of_that_line() {
    let both = r#"{"session":{"id":"default","attributes":{"role":"admin"},"counters":{"tool_calls":9}}}"#;
    check(&[
        (r#"{"call":{"id":"1","tool":"read"}}"#, r#"{"verdict":"allow"}"#),
        (both, r#"{"error":"session `default` has begun and keeps its own counters…"}"#),
        (r#"{"status":{}}"#, r#"{"counters":{"tool_calls":1,"attempts":1},"attributes":null}"#),
    ]);
}

#[test]
fn the_lines_tell_the_time_and_it_stands_still_between_them() {
    check(&[
        (r#"{"call":{"id":"1","tool":"deploy"},"at":1000}"#, r#"{"approval":"a1@default"}"#),
        (r#"{"call":{"id":"2","tool":"deploy"}}"#, r#"{"approval":"a2@default"}"#),
        (r#"{"answer":{"approval":"a1@default","granted":true}}"#, r#"{"verdict":"allow"}"#),
        (
            r#"{"answer":{"approval":"a2@default","granted":true},"at":86400000}"#,
            r#"{"id":"2","verdict":"block"}"#,
        ),
    ]);
}

#[test]
fn a_clock_of_its_own_hears_no_other() {
    let gate = Gate::new(lockgate::Policy::rules(POLICY).unwrap());
    let mut server = Server::new(&gate, ServeOptions::default());
    let asked = server.answer(r#"{"call":{"id":"1","tool":"deploy"},"at":1}"#);
    assert!(asked.contains(r#""verdict":"ask""#), "{asked}");
    // Far in the future by its own word, the answer still comes in time.
    let granted = server.answer(r#"{"answer":{"approval":"a1@default","granted":true},"at":99999999999999}"#);
    assert!(granted.contains(r#""verdict":"allow""#), "{granted}");
}

#[test]
fn every_line_gets_one_answer_and_none_ends_the_service() {
    let gate = Gate::new(lockgate::Policy::rules(POLICY).unwrap());
    let mut input = Vec::new();
    input.extend(br#"{"call":{"id":"1","tool":"read"}}"#);
    input.extend(b"\n\n\xff\xfe\r\n");
    input.resize(input.len() + LINE_BYTES_MAX + 1, b' ');
    input.extend(b"\n{\"status\":{}}\r\n{\"status\":{}}");
    let mut output = Vec::new();
    let served = serve(&gate, &ServeOptions::default(), input.as_slice(), &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let starts: Vec<String> = text.lines().map(|line| line.chars().take(22).collect()).collect();
    assert_eq!(
        starts,
        [
            r#"{"id":"1","session":"d"#,
            r#"{"error":"the text end"#,
            r#"{"error":"the line is "#,
            r#"{"error":"the line is "#,
            r#"{"session":"default",""#,
            r#"{"session":"default",""#,
        ]
    );
    assert_eq!(served, Served { lines: 6, errors: 3 });
}

#[test]
fn a_panic_is_the_answer_to_its_line_and_the_next_line_is_answered() {
    let gate = Gate::new(lockgate::Policy::rules(POLICY).unwrap());
    let mut server = Server::new(&gate, ServeOptions::default());
    let told = server.count(|_| panic!("a bug in the parser"));
    assert_eq!(told, r#"{"error":"Lockgate panicked; treat this line as refused"}"#);
    assert!(server.answer(r#"{"call":{"id":"1","tool":"read"}}"#).contains(r#""verdict":"allow""#));
    assert_eq!(server.served(), Served { lines: 2, errors: 1 });
}

#[test]
fn a_listener_who_left_ends_the_service_quietly() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let gate = Gate::new(lockgate::Policy::rules(POLICY).unwrap());
    let served = serve(&gate, &ServeOptions::default(), "{\"status\":{}}\n".as_bytes(), Gone).unwrap();
    assert_eq!(served.lines, 1);
}
