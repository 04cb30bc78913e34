//! What the first policy stops of our own collection of dangerous and benign commands.
//!
//! The rates are a ratchet: a change may better them, never worsen them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop and say so")]

use std::{fs, path::Path};

use lockgate_testkit::field::{FieldPolicy, FieldReport, read_lines, run};

/// Of a thousand dangerous lines, how many are stopped at least; of a thousand benign ones, how many at most.
const DANGEROUS_MIN: usize = 1000;
const BENIGN_MAX: usize = 3;

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
    dangerous.wrong.iter().chain(&benign.wrong).for_each(|mistake| println!("{}", mistake.line()));
    let (stopped, alarms) = (dangerous.all(true), benign.all(false));
    println!("{stopped:?}\n{alarms:?}\n{:?} {:?}", dangerous.took, benign.took);
    assert!(stopped.lines >= 800 && alarms.lines >= 600);
    assert!(stopped.stopped() * 1000 >= stopped.lines * DANGEROUS_MIN, "{stopped:?}");
    assert!(alarms.stopped() * 1000 <= alarms.lines * BENIGN_MAX, "{alarms:?}");
}

/// What coding agents write every day, and what looks dangerous in it: loops, pipes, quoted code.
const EVERYDAY: &[&str] = &[
    "for f in src/*.ts; do wc -l \"$f\"; done",
    "diff <(sort a.txt) <(sort b.txt)",
    "find . -name '*.rs' -exec grep -n foo {} +",
    "npm test 2>&1 | tail",
    "python3 -c 'print(1)'",
];

/// The same for a program that the coding template asks about.
const CONTAINED: &[&str] = &[
    "docker exec web ls",
    "gh pr create --title Fix --body \"$(cat <<'EOF'\n## Summary\n- reads the header\nEOF\n)\"",
];

/// The same, with words that are only known when the script runs, and name no path outside of the project whatever they are.
const COMPUTED: &[&str] = &[
    "git commit -m \"$(cat <<'EOF'\nFix the login\n\nTokens come from the header now.\nEOF\n)\"",
    "git add -A && git commit -m \"$(cat <<'EOF'\nFix it\nEOF\n)\"",
    "grep -rl foo src | xargs grep -n bar",
    "find src -name '*.py' | xargs grep -n TODO",
    "npm test -- \"$x\"",
    "eval \"$(ssh-agent -s)\"",
    "for f in a.txt b.txt; do wc -l \"$f\"; done",
    "x=src/main.rs; wc -l \"$x\"",
];

/// A ruleset whose only rule keeps paths in the project.
const WITHIN: &str = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: within}\ndefaults: {mode: enforce}\n\
    rules:\n  - {id: stay, type: sandbox, tool: Bash, within: [/workspace, /tmp], message: Stay.}\n";

#[test]
fn everyday_lines_pass_under_the_first_policy_a_sandbox_and_the_coding_template() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates/coding-agent.yaml");
    let coding = FieldPolicy::template("coding-agent", fs::read_to_string(file).unwrap());
    let within = FieldPolicy::template("within", WITHIN.to_owned());
    let starter = FieldPolicy::starter();
    let rows = [
        (&starter, EVERYDAY),
        (&within, EVERYDAY),
        (&coding, EVERYDAY),
        (&starter, CONTAINED),
        (&within, CONTAINED),
        (&starter, COMPUTED),
        (&within, COMPUTED),
        (&coding, COMPUTED),
    ];
    let mut wrong = Vec::new();
    for (policy, commands) in rows {
        let line = |command: &&str| {
            let input = serde_json::json!({ "command": command });
            serde_json::json!({ "tool": "bash", "input": input, "dangerous": false }).to_string()
        };
        let lines: Vec<String> = commands.iter().map(line).collect();
        let report = run(policy, &read_lines(&lines.join("\n")).unwrap()).unwrap();
        wrong.extend(report.wrong.iter().map(|mistake| format!("{}: {}", policy.name, mistake.line())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
