//! What another gate was recorded to answer, compared with ours; and command lines, by what a shell would run.

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

use lockgate_testkit::conformance::{Conformance, Report, one_liners, petriflow, shell};

fn play(file: &str, conformance: Conformance) -> Report {
    let folder = env::var("LOCKGATE_DATA").expect("LOCKGATE_DATA names the folder of recorded data");
    play_file(&Path::new(&folder).join(file), conformance)
}

fn play_file(file: &Path, conformance: Conformance) -> Report {
    let report = conformance(&fs::read_to_string(file).unwrap()).unwrap();
    println!("{}: {report}", file.display());
    assert!(report.holds(), "{}:\n{report}", file.display());
    report
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_sessions_get_the_same_answers_reasons_and_markings() {
    let report = play("petriflow/traces.jsonl", petriflow);
    assert_eq!((report.cases, report.steps, report.on_purpose.len()), (300, 9_000, 0));
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn recorded_inputs_give_the_same_nets_or_state_the_same_fact() {
    let report = play("petriflow/dsl.jsonl", petriflow);
    assert_eq!((report.cases, report.on_purpose.len()), (91, 9), "every row of the table is met once");
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn what_runs_rm_is_told_from_what_mentions_it() {
    assert_eq!(play("shell/rm.yaml", shell).cases, 56);
}

#[test]
#[ignore = "needs LOCKGATE_DATA"]
fn what_people_type_can_nearly_always_be_read() {
    let report = play("shell/nl2bash.txt", one_liners);
    assert_eq!(report.cases, 12_606);
    // At most one line in a hundred may fail, and none of the others may go unlooked at.
    assert!(report.tolerated == 126 && report.steps > report.cases);
}

#[test]
fn what_runs_a_program_is_told_from_what_mentions_it() {
    let files = ["chmod", "curl", "dd", "docker", "git", "kubectl", "mv"];
    for file in files {
        let report = play_file(&Path::new("data/shell").join(format!("{file}.yaml")), shell);
        assert!(report.cases >= 15, "{file} has lost its lines");
    }
    assert_eq!(fs::read_dir("data/shell").unwrap().count(), files.len(), "every table is played");
}

#[test]
fn every_line_that_is_taken_wrongly_is_told_and_a_bad_table_is_refused() {
    let table = "# of ls
program: ls
runs:
  - ls -l
  - echo ls
  - \"cd x\\nls\"
mentions:
  - man ls
  - ls
neither:
  - also
  - man ls
";
    insta::assert_snapshot!(shell(table).unwrap(), @"
    line 5: runs: echo ls
      expected: block under `map bash running ls as taken`
      got:      allow
    line 9: mentions: ls
      expected: allow under `map bash running ls as taken`
      got:      block
    line 12: neither: man ls
      expected: allow under `map bash.command ls as taken`
      got:      block
    14 steps
    4/7
    ");
    let bad = |text: &str| shell(text).map(|report| report.to_string()).unwrap_err().to_string();
    insta::assert_snapshot!(bad(""), @"line 1: there is no line in this table");
    insta::assert_snapshot!(bad("runs: []"), @"line 1: there is no line in this table");
    insta::assert_snapshot!(bad("run: [rm]"), @"line 1: `run` is none of `program`, `runs`, `mentions`, `neither`, or has no lines");
    insta::assert_snapshot!(bad("runs: rm x"), @"line 1: `runs` is none of `program`, `runs`, `mentions`, `neither`, or has no lines");
    insta::assert_snapshot!(bad("runs: [rm]\nruns: [rm]"), @"line 2: `runs` is there twice");
    insta::assert_snapshot!(bad("- rm"), @"line 1: a list without a name");
    insta::assert_snapshot!(bad("program: /bin/rm\nruns: [rm]"), @"line 1: policy.rules:1:18: error[program-with-folder]: a program is known by its name alone, not as '/bin/rm'");
    insta::assert_snapshot!(bad("runs: ['rm"), @"line 1: no YAML: unclosed quote");
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
    fs::write(&file, "runs: [sudo rm x]\nmentions: [man rm]").unwrap();
    assert_eq!(run(&["shell", path]), told(0, "2/2"));
    fs::remove_file(&file).unwrap();
    assert_eq!(
        run(&["petriflow", path]),
        told(2, "error: cannot read `FILE`: No such file or directory (os error 2)")
    );
    assert_eq!(
        run(&["latin", path]),
        told(2, "error: no language is called `latin`; known: petriflow, shell, one-liners")
    );
    assert_eq!(run(&[]), told(2, "Exit 0: all agree, 1: some do not, 2: could not tell."));
    assert_eq!(run(&["--help"]), told(0, "Exit 0: all agree, 1: some do not, 2: could not tell."));
}
