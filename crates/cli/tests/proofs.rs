//! What `lockgate verify` and `lockgate diff` say about all sessions, as people and scripts meet it. Whatever session
//! they print can be pasted into a page of `spec/`, and its lines can be fed to `lockgate gate`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use lockgate_cli::{Clock, ServeOptions, Server};
use lockgate_testkit::{
    LinesDoor, Page,
    generate::proofs::{Family, SmallPolicy, edited, policies},
    play,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A folder of this test's own, with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = crate::world::folder(name);
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    folder
}

fn lockgate(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|error| panic!("{error}: {}", err(output)))
}

/// The tables of a text that can be pasted: those of sessions that are told in one piece.
fn tables(text: &str) -> Vec<String> {
    let mut tables: Vec<String> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if line.ends_with("times in turn:") {
            // This and the table before it are parts of a session.
            tables.pop();
            return [tables, self::tables(text.split_once(line).unwrap().1).into_iter().skip(1).collect()]
                .concat();
        }
        match (line.starts_with('|'), is_inside) {
            (true, true) => tables.last_mut().unwrap().push_str(&format!("{line}\n")),
            (true, false) => tables.push(format!("{line}\n")),
            (false, _) => {}
        }
        is_inside = line.starts_with('|');
    }
    tables
}

/// A page with these policies and tables.
fn page(files: &[(&str, &str)], tables: &[String]) -> String {
    let mut page = "# Pasted\n".to_owned();
    for (name, text) in files {
        let language = name.rsplit('.').next().unwrap();
        page.push_str(&format!("\n```{language} {name}\n{text}\n```\n"));
    }
    for (number, table) in tables.iter().enumerate() {
        page.push_str(&format!("\n## Session {number}\n\n{table}\n"));
    }
    page
}

/// Pastes all tables of a text below a policy and plays them; gives how many there were.
fn paste(files: &[(&str, &str)], text: &str) -> usize {
    let tables = tables(text);
    if tables.is_empty() {
        return 0;
    }
    let page = page(files, &tables);
    let read = Page::parse("pasted.md", &page).unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{page}"));
    let failures = play(&read, &mut LinesDoor::default()).failures;
    assert!(failures.is_empty(), "{failures:?}\n{page}");
    tables.len()
}

/// What the gate answers to lines.
fn answers(folder: &Path, files: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = lockgate(folder, &[&["gate", "--clock", "lines"], files].concat(), &input);
    let answers: Vec<Value> = out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len(), "{}", err(&output));
    answers
}

/// The verdicts that a trace tells, call by call; late results are no calls.
fn verdicts(trace: &Value) -> Vec<Value> {
    let mut verdicts = Vec::new();
    let mut rest = trace.as_array().unwrap().as_slice();
    while let Some(first) = rest.first() {
        let count = first.get("steps").map_or(1, |steps| usize::try_from(steps.as_u64().unwrap()).unwrap());
        let (round, after) = rest.split_at(count);
        let times = first.get("times").map_or(1, |times| times.as_u64().unwrap());
        for _ in 0..times {
            let calls = round.iter().filter(|step| step["verdict"] != "settled");
            verdicts.extend(calls.map(|step| step["verdict"].clone()));
        }
        rest = after;
    }
    verdicts
}

/// Feeds the lines of a session to the gate; it must say what the trace tells.
fn feed(folder: &Path, files: &[&str], session: &Value) {
    let lines: Vec<Value> = session["lines"].as_array().unwrap().clone();
    let answers = answers(folder, files, &lines);
    let mut came = Vec::new();
    for (line, answer) in lines.iter().zip(&answers) {
        assert!(answer.get("error").is_none(), "{line}\n{answer}");
        if line.get("call").is_some() {
            came.push(answer["verdict"].clone());
        }
        if line.get("result").is_some() {
            assert_eq!(answer["settled"], true, "{line}\n{answer}");
        }
    }
    assert_eq!(came, verdicts(&session["trace"]), "{session}");
}

/// Verifies a policy, pastes what is printed and feeds what is told; gives how many sessions there were.
fn check_sessions(name: &str, files: &[(&str, &str)]) -> (usize, usize) {
    let folder = folder(name, files);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let pasted = paste(files, &out(&lockgate(&folder, &[&["verify"], names.as_slice()].concat(), "")));
    let told = object(&lockgate(&folder, &[&["verify", "--json"], names.as_slice()].concat(), ""));
    let mut fed = 0;
    for session in ["findings", "claims"].iter().flat_map(|kind| told[kind].as_array().unwrap()) {
        if session.get("lines").is_some() {
            feed(&folder, &names, session);
            fed += 1;
        }
    }
    (pasted, fed)
}

const STANDING: &str = "rules:
  - {id: ask-pay, when: {tool: pay}, then: approve, approval_strategy: per_session}
claims: [at most 2 pay, pay possible]
examples: ['pay refused, pay -> allow', 'pay -> allow']
";

const SLOW: &str = "rules:
  - {id: slow, when: {tool: pay, chain: [{tool: pay, within_seconds: 60}]}, then: block}
claims: [at most 2 pay]
examples: ['pay, pay -> allow']
";

const DOOR: &str = "kind: Net
name: door
places: {shut: 1, open: 0, empty: 0, full: 0}
transitions:
  - {name: open, inputs: [shut], outputs: [open], tools: [open], deferred: true}
  - {name: enter, inputs: [open], outputs: [shut], tools: [enter]}
  - {name: leave, inputs: [shut], outputs: [empty], tools: [leave]}
claims: [never enter and open in one session, never open after leave]
";

#[test]
fn whatever_session_is_shown_can_be_pasted_and_fed() {
    for (name, file, text, sessions) in [
        ("plain", "a.rules", "require test before deploy\nclaim at most 1 deploy", 1),
        (
            "scripts",
            "a.rules",
            "map bash running rm as delete\nmap bash running cp as backup\nrequire backup before delete\nclaim delete impossible",
            1,
        ),
        (
            "pattern",
            "a.rules",
            "map db.query /drop|`x`/ as drop\nrequire human-approval before drop\nclaim drop impossible",
            1,
        ),
        (
            "asked",
            "a.rules",
            "require human-approval before pay\nlimit pay to 9 per session\nclaim at most 2 pay\nexample: pay, pay refused, pay -> allow",
            2,
        ),
        ("often", "a.rules", "limit send to 500 per session\nclaim at most 300 send", 1),
        ("refill", "a.rules", "limit send to 2 per read\nclaim at most 5 send", 1),
        (
            "failing",
            "a.rules",
            "require test before deploy\nlimit test to 3 per session\nclaim deploy stays possible",
            3,
        ),
        (
            "since",
            "a.rules",
            "require test before deploy\nclaim never deploy without test since edit\nlimit edit to 3 per session",
            1,
        ),
        ("standing", "a.yaml", STANDING, 3),
        ("slow", "a.yaml", SLOW, 2),
        ("late", "a.yaml", DOOR, 1),
    ] {
        let (pasted, fed) = check_sessions(name, &[(file, text)]);
        assert!(pasted >= sessions && fed >= pasted, "{name}: {pasted} pasted, {fed} fed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_session_of_a_small_policy_can_be_pasted_and_fed(policy in small_policies()) {
        let texts = policy.texts();
        let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        check_sessions("any", &files);
    }

    #[test]
    fn any_difference_of_small_policies_is_one(
        policy in small_policies(),
        file: prop::sample::Index,
        statement: prop::sample::Index,
        how: prop::sample::Index,
    ) {
        let write = |name: &str, policy: &SmallPolicy| {
            let texts = policy.texts();
            let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            folder(name, &files)
        };
        let (old, new) = (write("old", &policy), write("new", &edited(&policy, file, statement, how)));
        for (old, new) in [(&old, &new), (&new, &old)] {
            check_differences(old, new);
        }
    }
}

/// Small policies of one-line rules, and with nets beside them.
fn small_policies() -> impl Strategy<Value = SmallPolicy> {
    prop_oneof![policies(Family::OneLine), policies(Family::Nets)]
}

/// What a policy says to the last call of a session. Everything before is let pass; humans who are asked agree.
fn last_verdict(policy: &Path, lines: &[Value]) -> Value {
    let gate = lockgate::engine::Gate::new(lockgate::Policy::open(policy).unwrap());
    let mut server = Server::new(&gate, ServeOptions { clock: Clock::Lines, ..ServeOptions::default() });
    let mut say =
        |line: &Value| -> Value { serde_json::from_str(&server.answer(&line.to_string())).unwrap() };
    let (mut last, mut passed) = (Value::Null, json!("allow"));
    for line in lines.iter().filter(|line| line.get("answer").is_none()) {
        let answer = say(line);
        if line.get("call").is_none() {
            continue;
        }
        assert!(passed == "allow" || passed == "redact", "{lines:?}");
        last = answer["verdict"].clone();
        passed = match &answer["approval"] {
            Value::String(approval) => {
                say(&json!({"answer": {"approval": approval, "granted": true}, "at": line["at"]}))["verdict"]
                    .clone()
            }
            _ => last.clone(),
        };
    }
    last
}

/// Plays every session that tells two policies apart in both.
fn check_differences(old: &Path, new: &Path) -> Value {
    let (one, other) = (old.to_str().unwrap(), new.to_str().unwrap());
    let here = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let told = object(&lockgate(here, &["diff", "--json", one, other], ""));
    for change in told["changes"].as_array().unwrap() {
        let Some(lines) = change.get("lines") else { continue };
        let lines = lines.as_array().unwrap();
        for (policy, word) in [(old, "old"), (new, "new")] {
            assert_eq!(last_verdict(policy, lines), change[word], "{word}\n{change}");
        }
    }
    told
}

#[test]
fn verify_says_what_became_of_claims_and_examples() {
    let rules = "require test before deploy
limit send to 2 per session
claim never deploy before test
claim at most 1 deploy
claim pay impossible
example: deploy -> allow
example: test, deploy -> allow
";
    let house = "rules:
  - {id: big, when: {tool: pay, args_match: {amount: {gt: 100}}}, then: approve}
claims: [human before pay, pay stays possible]
";
    let folder = folder("claims", &[("a.rules", rules), ("b.yaml", house)]);
    let verified = lockgate(&folder, &["verify", "a.rules", "b.yaml"], "");
    assert_eq!((verified.status.code(), err(&verified).as_str()), (Some(1), ""));
    insta::assert_snapshot!(out(&verified), @"
    rule                          states  place
    require-test-before-deploy         3  a.rules:1
    limit-send-2                       4  a.rules:2
    big                                –  b.yaml:2

    note[missing-message]: `big` has no `message`
     --> b.yaml:2:10
      |
    2 |   - {id: big, when: {tool: pay, args_match: {amount: {gt: 100}}}, then: approve}
      |          ^^^ the agent reads a general sentence
      |
      = try: write a `message` that says what to do instead

    error[broken-example]: this example ends with block, not allow: deploy requires a successful call to test first.
     --> a.rules:6:10
      |
    6 | example: deploy -> allow
      |          ^^^^^^^^^^^^^^^
      |
      = try: change the rules, or say what the example really ends with

    error[broken-claim]: the claim `at most 1 deploy` does not hold: this session breaks it
     --> a.rules:4:7
      |
    4 | claim at most 1 deploy
      |       ^^^^^^^^^^^^^^^^
      |
      = try: change the rules so that it holds, or take the claim out

    error[broken-claim]: the claim `pay impossible` does not hold: this session breaks it
     --> a.rules:5:7
      |
    5 | claim pay impossible
      |       ^^^^^^^^^^^^^^
      |
      = try: change the rules so that it holds, or take the claim out

    error[broken-claim]: the claim `human before pay` does not hold: this session breaks it
     --> b.yaml:3:10
      |
    3 | claims: [human before pay, pay stays possible]
      |          ^^^^^^^^^^^^^^^^
      |
      = try: change the rules so that it holds, or take the claim out

    broken-example at a.rules:6, the session that shows it:

    | step | verdict |
    |---|---|
    | `deploy` | block |

    broken-claim at a.rules:4, the session that shows it:

    | step | verdict |
    |---|---|
    | `test` | allow |
    | `deploy` | allow |
    | `test` | allow |
    | `deploy` | allow |

    broken-claim at a.rules:5, the session that shows it:

    | step | verdict |
    |---|---|
    | `pay` | allow |

    broken-claim at b.yaml:3, the session that shows it:

    | step | verdict |
    |---|---|
    | `pay` | allow |

    proved     never deploy before test
    false      at most 1 deploy
    false      pay impossible
    false      human before pay
    proved     pay stays possible

    not part of the proof: `big` (depends on call arguments)
    3 rules, of them 2 nets in 2 independent groups, 7 states: 4 errors, 1 note
    ");
    let told = object(&lockgate(&folder, &["verify", "--json", "a.rules", "b.yaml"], ""));
    let claims: Vec<Value> =
        told["claims"].as_array().unwrap().iter().map(|it| json!([it["text"], it["holds"]])).collect();
    assert_eq!(
        json!(claims),
        json!([
            ["never deploy before test", true],
            ["at most 1 deploy", false],
            ["pay impossible", false],
            ["human before pay", false],
            ["pay stays possible", true],
        ])
    );
    assert_eq!(told["exact"], false);
    insta::assert_snapshot!(told["left_out"], @r#"[{"rule":"big","why":"depends on call arguments"}]"#);
    insta::assert_snapshot!(told["claims"][1], @r#"{"text":"at most 1 deploy","holds":false,"trace":[{"call":"test","tool":"test","result":"ok","verdict":"allow"},{"call":"deploy","tool":"deploy","result":"ok","verdict":"allow"},{"call":"test","tool":"test","result":"ok","verdict":"allow"},{"call":"deploy","tool":"deploy","result":"ok","verdict":"allow"}],"lines":[{"call":{"id":"1","tool":"test"},"at":1767225600000},{"result":{"id":"1","ok":true},"at":1767225600000},{"call":{"id":"2","tool":"deploy"},"at":1767225600000},{"result":{"id":"2","ok":true},"at":1767225600000},{"call":{"id":"3","tool":"test"},"at":1767225600000},{"result":{"id":"3","ok":true},"at":1767225600000},{"call":{"id":"4","tool":"deploy"},"at":1767225600000},{"result":{"id":"4","ok":true},"at":1767225600000}]}"#);
    insta::assert_snapshot!(told["claims"][4], @r#"{"text":"pay stays possible","holds":true}"#);
}

#[test]
fn questions_that_are_not_decided_are_named() {
    // Nobody makes up a text for an expression that looks ahead.
    let rules = "map bash.command /(?=s)search/ as search
limit search to 5 per session
require search before report
require human-approval before send
";
    let folder = folder("undecided", &[("a.rules", rules)]);
    let verified = lockgate(&folder, &["verify", "a.rules"], "");
    assert_eq!(verified.status.code(), Some(0));
    insta::assert_snapshot!(out(&verified), @"
    rule                            states  place
    limit-search-5                       7  a.rules:2
    require-search-before-report         3  a.rules:3
    approve-before-send                  2  a.rules:4

    note[not-linear]: the pattern of this map has look-around or back-references
     --> a.rules:1:1
      |
    1 | map bash.command /(?=s)search/ as search
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ runs on an engine that may give up
      |
      = try: do without them if you can: a text the engine gives up on is restricted and earns nothing

    not decided: a session can use up what `report` needs: then `require-search-before-report` (a.rules:3), `limit-search-5` (a.rules:2) keeps it closed for good (no call was found that shows it)
    3 rules in 2 independent groups, 12 states: no errors, 1 note
    ");
    let told = object(&lockgate(&folder, &["verify", "--json", "a.rules"], ""));
    insta::assert_snapshot!(told["undecided"], @r#"["a session can use up what `report` needs: then `require-search-before-report` (a.rules:3), `limit-search-5` (a.rules:2) keeps it closed for good (no call was found that shows it)"]"#);
    assert_eq!(told["exact"], false);
}

#[test]
fn a_claim_that_is_not_decided_is_no_yes() {
    let rules = "limit test to 5 per session\nrequire test before deploy\nclaim deploy possible\n";
    let folder = folder(
        "open",
        &[
            ("proved.rules", rules),
            ("open.rules", "limit a to 2 per b\nrequire a before c\nclaim c stays possible\n"),
        ],
    );
    for (file, code) in [("proved.rules", 0), ("open.rules", 2)] {
        let verified = lockgate(&folder, &["verify", file], "");
        assert_eq!(verified.status.code(), Some(code), "{file}\n{}", out(&verified));
    }
}

#[test]
fn few_questions_that_are_not_decided_are_named_and_many_counted() {
    for (count, named, counted) in [(10, 10, 0), (11, 11, 1)] {
        let reports: String =
            (0..count).map(|number| format!("require search before report{number}\n")).collect();
        let map = "map bash.command /(?=s)search/ as search";
        let rules =
            format!("{map}\nlimit search to 5 per session\nrequire human-approval before send\n{reports}");
        let folder = folder("many", &[("a.rules", &rules)]);
        let verified = out(&lockgate(&folder, &["verify", "a.rules"], ""));
        let lines: Vec<&str> = verified.lines().filter(|line| line.starts_with("not decided: ")).collect();
        let more = format!("not decided: {} more, which --json lists", count - 10);
        assert_eq!(lines.len(), named, "{verified}");
        assert_eq!(lines.iter().filter(|line| **line == more).count(), counted, "{verified}");
        let told = object(&lockgate(&folder, &["verify", "--json", "a.rules"], ""));
        assert_eq!(told["undecided"].as_array().unwrap().len(), count);
    }
}

#[test]
fn steps_that_happen_very_often_in_turn_are_told_once() {
    let folder = folder("turns", &[("a.rules", "limit send to 3 per read\nclaim at most 100 send\n")]);
    let verified = out(&lockgate(&folder, &["verify", "a.rules"], ""));
    insta::assert_snapshot!(verified.split_once("shows it:\n\n").unwrap().1, @"
    | step | verdict |
    |---|---|
    | `send` 3 times | allow |

    98 times in turn:

    | step | verdict |
    |---|---|
    | `read` | allow |
    | `send` | allow |

    false      at most 100 send

    1 rule in 1 independent group, 5 states: 1 error
    ");
    let told = object(&lockgate(&folder, &["verify", "--json", "a.rules"], ""));
    insta::assert_snapshot!(told["claims"][0]["trace"], @r#"[{"call":"send","tool":"send","result":"ok","verdict":"allow","times":3},{"call":"read","tool":"read","result":"ok","verdict":"allow","times":98,"steps":2},{"call":"send","tool":"send","result":"ok","verdict":"allow"}]"#);
    feed(&folder, &["a.rules"], &told["claims"][0]);
}

#[test]
fn a_session_too_long_to_be_fed_has_no_lines() {
    for (count, has_lines) in [(999, true), (1_000, false)] {
        let rules = format!("limit send to 5000 per session\nclaim at most {count} send\n");
        let folder = folder("long", &[("a.rules", &rules)]);
        let told = object(&lockgate(&folder, &["verify", "--json", "a.rules"], ""));
        let claim = &told["claims"][0];
        assert_eq!(claim.get("lines").is_some(), has_lines, "{count}");
        assert_eq!(claim["trace"][0]["times"], count + 1);
    }
}

#[test]
fn two_policies_differ_in_four_ways() {
    let old = "require test before deploy
require human-approval before pay
block wipe
";
    let new = "require test before deploy
require human-approval before send
limit deploy to 1 per session
";
    let folder = folder("four", &[("old.rules", old), ("new.rules", new)]);
    let compared = lockgate(&folder, &["diff", "old.rules", "new.rules"], "");
    assert_eq!((compared.status.code(), err(&compared).as_str()), (Some(1), ""));
    insta::assert_snapshot!(out(&compared), @"
    newly allowed wipe  block-wipe (old old.rules:3)
    was block, is allow: wipe is blocked and cannot be called.

    | step | verdict |
    |---|---|
    | `wipe` | allow |

    no longer asked about pay  approve-before-pay (old old.rules:2)
    was ask, is allow: pay requires human approval.

    | step | verdict |
    |---|---|
    | `pay` | allow |

    newly asked about send  approve-before-send (new new.rules:2)
    was allow, is ask: send requires human approval.

    | step | verdict |
    |---|---|
    | `send` human grants | allow |

    newly blocked deploy  limit-deploy-1 (new new.rules:3)
    was allow, is block: deploy has reached its limit of 1 calls per session.

    | step | verdict |
    |---|---|
    | `test` | allow |
    | `deploy` | allow |
    | `test` | allow |
    | `deploy` | block |
    ");
    assert_eq!(paste(&[("new.rules", new)], &out(&compared)), 4);
    let told = check_differences(&folder.join("old.rules"), &folder.join("new.rules"));
    let kinds: Vec<&Value> = told["changes"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(
        json!(kinds),
        json!(["newly allowed", "no longer asked about", "newly asked about", "newly blocked"])
    );
    insta::assert_snapshot!(told["changes"][3], @r#"{"kind":"newly blocked","tool":"deploy","rule":"limit-deploy-1","of":"new","old":"allow","new":"block","reason":"deploy has reached its limit of 1 calls per session.","trace":[{"call":"test","tool":"test","result":"ok","verdict":"allow"},{"call":"deploy","tool":"deploy","result":"ok","verdict":"allow"},{"call":"test","tool":"test","result":"ok","verdict":"allow"},{"call":"deploy","tool":"deploy","verdict":"block"}],"lines":[{"call":{"id":"1","tool":"test"},"at":1767225600000},{"result":{"id":"1","ok":true},"at":1767225600000},{"call":{"id":"2","tool":"deploy"},"at":1767225600000},{"result":{"id":"2","ok":true},"at":1767225600000},{"call":{"id":"3","tool":"test"},"at":1767225600000},{"result":{"id":"3","ok":true},"at":1767225600000},{"call":{"id":"4","tool":"deploy"},"at":1767225600000}]}"#);
    assert_eq!((&told["same"], &told["undecided"]), (&json!(false), &json!([])));
}

#[test]
fn a_difference_that_was_not_decided_is_neither_yes_nor_no() {
    let rule = |more: &str| {
        format!(
            "rules:\n  - {{id: big, when: {{tool: pay, args_match: {{amount: {{gt: 100}}, to: {more}}}}}, then: block}}\n"
        )
    };
    let (old, new) = (rule("{regex: '^a(?=b)'}"), rule("{regex: '^a(?=c)'}"));
    let folder = folder(
        "doubt",
        &[
            ("old.yaml", &old),
            ("new.yaml", &new),
            ("a.rules", "block b\n"),
            ("b.rules", "# said twice\nblock b\n"),
        ],
    );
    for (one, other, code) in [
        ("old.yaml", "new.yaml", 2),
        ("old.yaml", "old.yaml", 0),
        ("a.rules", "b.rules", 0),
        ("a.rules", "nowhere.rules", 2),
    ] {
        let compared = lockgate(&folder, &["diff", one, other], "");
        assert_eq!(compared.status.code(), Some(code), "{one} {other}\n{}", out(&compared));
    }
    insta::assert_snapshot!(out(&lockgate(&folder, &["diff", "old.yaml", "new.yaml"], "")), @"
    no session was found that tells them apart, and not everything was decided
    not decided: big (new new.yaml:2) about pay: depends on call arguments
    ");
    insta::assert_snapshot!(out(&lockgate(&folder, &["diff", "--json", "old.yaml", "new.yaml"], "")), @r#"{"same":null,"changes":[],"undecided":[{"rule":"big","of":"new","tools":["pay"],"why":"depends on call arguments","shown":false}]}"#);
    insta::assert_snapshot!(out(&lockgate(&folder, &["diff", "a.rules", "b.rules"], "")), @"no session tells them apart");
    insta::assert_snapshot!(out(&lockgate(&folder, &["diff", "--json", "a.rules", "b.rules"], "")), @r#"{"same":true,"changes":[],"undecided":[]}"#);
}
