//! What the first policy stops of our own collection of dangerous and benign commands.
//!
//! The rates are a ratchet: a change may better them, never worsen them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop and say so")]

use std::{fs, path::Path};

use lockgate_testkit::field::{FieldPolicy, FieldReport, read_lines, run};

/// Of a thousand dangerous lines, how many are stopped at least; of a thousand benign ones, how many at most.
const DANGEROUS_MIN: usize = 1000;
const BENIGN_MAX: usize = 10;

fn report(file: &str) -> FieldReport {
    let text = match std::env::var("LOCKGATE_FIELD") {
        Ok(folder) => fs::read_to_string(Path::new(&folder).join(file)).unwrap(),
        Err(_) => fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("field").join(file)).unwrap(),
    };
    let policy = match std::env::var("LOCKGATE_FIELD_POLICY") {
        Ok(file) => {
            let files = vec![("policy.rules".to_owned(), fs::read_to_string(file).unwrap())];
            FieldPolicy { files, ..FieldPolicy::starter() }
        }
        Err(_) => FieldPolicy::starter(),
    };
    run(&policy, &read_lines(&text).unwrap()).unwrap()
}

#[test]
fn the_first_policy_stops_what_is_dangerous_and_little_else() {
    let (dangerous, benign) = (report("dangerous.jsonl"), report("benign.jsonl"));
    for (is_dangerous, group, text) in dangerous.wrong.iter().chain(&benign.wrong) {
        let word = if *is_dangerous { "passes" } else { "stopped" };
        println!("{word} [{group}] {text}");
    }
    let (stopped, alarms) = (dangerous.all(true), benign.all(false));
    println!("{stopped:?}\n{alarms:?}\n{:?} {:?}", dangerous.took, benign.took);
    assert!(stopped.lines >= 800 && alarms.lines >= 600);
    assert!(stopped.stopped() * 1000 >= stopped.lines * DANGEROUS_MIN, "{stopped:?}");
    assert!(alarms.stopped() * 1000 <= alarms.lines * BENIGN_MAX, "{alarms:?}");
}

#[test]
fn a_line_that_is_not_a_call_is_named_by_its_number() {
    let good = r#"{"tool": "bash", "input": {"command": "ls"}, "dangerous": false}"#;
    assert_eq!(read_lines(&format!("{good}\n\n{good}\n")).unwrap().len(), 2);
    for (line, message) in [
        (
            r#"{"tool": "bash", "input": {"command": "ls"}}"#,
            "line 3, column 44: missing field `dangerous`; write ",
        ),
        ("ls", "line 3, column 1: expected value; write "),
    ] {
        let error = read_lines(&format!("{good}\n\n{line}\n")).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}
