//! What another gate was recorded to answer, compared with ours.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests may stop and say so"
)]

use std::{
    env, fs,
    path::Path,
    process::{self, Command},
};

use lockgate_testkit::conformance::{Report, petriflow};

fn play(file: &str) -> Report {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    let text = fs::read_to_string(Path::new(&folder).join("petriflow").join(file)).unwrap();
    let report = petriflow(&text).unwrap();
    println!("{file}: {report}");
    assert!(report.failures.is_empty(), "{report}");
    report
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_sessions_get_the_same_answers_reasons_and_markings() {
    let report = play("traces.jsonl");
    assert_eq!((report.cases, report.steps, report.on_purpose.len()), (300, 9_000, 0));
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_inputs_give_the_same_nets_or_state_the_same_fact() {
    let report = play("dsl.jsonl");
    assert_eq!((report.cases, report.on_purpose.len()), (91, 9), "every row of the table is met once");
}

#[test]
fn every_difference_of_a_recording_is_told_and_a_bad_recording_is_refused() {
    let session = |allowed: bool, marking: &str| {
        let call = format!(
            r#"{{"call":"1","tool":"rm","input":{{}},"human":"absent","allowed":{allowed},"reason":"rm is blocked and cannot be called.","marking":"{marking}"}}"#
        );
        format!(
            r#"{{"rules":"block rm","states":[{{"name":"block-rm","reachableStates":2}}],"steps":[{call}]}}"#
        )
    };
    let right = session(false, "block-rm: ready:1");
    let lines = [
        right.clone(),
        session(true, "block-rm: ready:1"),
        session(false, "block-rm: ready:2"),
        right.replace("reachableStates\":2", "reachableStates\":3"),
        r#"{"input":"block a","verification":[{"name":"block-a","reachableStates":2}]}"#.into(),
        r#"{"input":"block a","verification":[{"name":"block-a","reachableStates":1}]}"#.into(),
        r#"{"input":"block","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#.into(),
        r#"{"input":"\nblock","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#.into(),
        r#"{"input":"limit a to 9999 per session","error":"too many"}"#.into(),
    ];
    insta::assert_snapshot!(petriflow(&lines.join("\n")).unwrap(), @r#"
    line 2: {"call":"1","tool":"rm","input":{},"human":"absent","allowed":true,"reason":"rm is blocked and cannot be called.","marking":"block-rm: ready:1"}
      expected: true, "rm is blocked and cannot be called.", "block-rm: ready:1"
      got:      false, "rm is blocked and cannot be called.", "block-rm: ready:1"
    line 3: {"call":"1","tool":"rm","input":{},"human":"absent","allowed":false,"reason":"rm is blocked and cannot be called.","marking":"block-rm: ready:2"}
      expected: false, "rm is blocked and cannot be called.", "block-rm: ready:2"
      got:      false, "rm is blocked and cannot be called.", "block-rm: ready:1"
    line 4: verify
      expected: block-rm: 3
      got:      block-rm: 2
    line 6: "block a"
      expected: block-a: 1
      got:      block-a: 2
    line 8: "\nblock"
      expected: Line 1: 'block <tool>' expects 2 tokens, got 1
      got:      Line 2: 'block <tool>' expects 2 tokens, got 1
    on purpose: limit a to 9999 per session: limits go up to 2^63
    8 steps
    4/9
    "#);
    let bad = |text: &str| petriflow(text).unwrap_err().to_string();
    insta::assert_snapshot!(bad(""), @"line 1: there is no case in this file");
    insta::assert_snapshot!(bad("{}"), @"line 1: a case has either `steps` or an `input`");
    insta::assert_snapshot!(bad(&format!("{right}\n\n")), @"line 2: EOF while parsing a value at line 1 column 0");
    insta::assert_snapshot!(bad(r#"{"input": "a"}"#), @"line 1: there is no `verification`");
}

#[test]
fn the_program_says_yes_no_or_that_it_could_not_tell() {
    let file = env::temp_dir().join(format!("lockgate-recorded-{}.jsonl", process::id()));
    let path = file.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_conformance")).args(arguments).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (
            output.status.code(),
            said.trim_end().replace(path, "FILE").lines().last().unwrap_or_default().to_owned(),
        )
    };
    let told = |code, text: &str| (Some(code), text.to_owned());
    fs::write(&file, r#"{"input":"block","error":"Line 1: 'block <tool>' expects 2 tokens, got 1"}"#)
        .unwrap();
    assert_eq!(run(&["petriflow", path]), told(0, "1/1"));
    fs::write(&file, r#"{"input":"block","error":"Line 1: what?"}"#).unwrap();
    assert_eq!(run(&["petriflow", path]), told(1, "0/1"));
    fs::write(&file, "what?").unwrap();
    assert_eq!(
        run(&["petriflow", path]),
        told(2, "error: `FILE` is no recording: line 1: expected value at line 1 column 1")
    );
    fs::remove_file(&file).unwrap();
    assert_eq!(
        run(&["petriflow", path]),
        told(2, "error: cannot read `FILE`: No such file or directory (os error 2)")
    );
    assert_eq!(run(&["latin", path]), told(2, "error: no language is called `latin`; known: petriflow"));
    assert_eq!(run(&[]), told(2, "Exit 0: all agree, 1: some do not, 2: could not tell."));
    assert_eq!(run(&["--help"]), told(0, "Exit 0: all agree, 1: some do not, 2: could not tell."));
}
