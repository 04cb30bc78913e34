//! Samples of the pages that people come from, through the real binary.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic like the tests")]

use std::{
    env, fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::world::folder;
use serde_json::{Value, json};

/// Runs the command in a folder, whose programs come first.
fn lockgate(folder: &Path, words: &[&str], input: &str) -> Output {
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(words)
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder)
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

const WORKFLOW: &str = r#"apiVersion: edictum/v1
kind: Workflow
metadata:
  name: feature-delivery

stages:
  - id: implement
    entry:
      - condition: file_read("specs/feature.md")
    checks:
      - command_matches: "git diff"
    exit:
      - condition: exec("pnpm test", exit_code=0)
"#;

/// A `pnpm` that notes each run and ends with this code.
fn pnpm(folder: &Path, code: i32) {
    let program = folder.join("pnpm");
    fs::write(&program, format!("#!/bin/sh\necho run >> {}/runs\nexit {code}\n", folder.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_sample_workflow_stays_open_while_tests_are_green_and_runs_them_once_for_all_calls() {
    for (code, last) in [(0, "workflow complete"), (1, "stage `implement` takes only commands that match")] {
        let folder = folder(&format!("sample-{code}"));
        fs::write(folder.join("wf.yaml"), WORKFLOW).unwrap();
        pnpm(&folder, code);
        let read = |path: &str| ("Read", json!({"file_path": path}));
        let bash = |command: &str| ("Bash", json!({"command": command}));
        let edit = || ("Edit", json!({"file_path": "a"}));
        let calls = [
            (edit(), "block"),
            (read("specs/feature.md"), "allow"),
            (edit(), "allow"),
            (bash("git diff"), "allow"),
            (read("b"), "allow"),
            (edit(), "allow"),
            (bash("ls"), "block"),
            (bash("ls"), "block"),
        ];
        let mut lines = String::new();
        for (id, ((tool, input), _)) in calls.iter().enumerate() {
            let call = json!({"call": {"id": id.to_string(), "tool": tool, "input": input, "cwd": folder}});
            lines += &format!("{call}\n{}\n", json!({"result": {"id": id.to_string(), "ok": true}}));
        }
        let output = lockgate(&folder, &["gate", "wf.yaml", "--exec"], &lines);
        let answers: Vec<Value> =
            out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for ((call, verdict), answer) in calls.iter().zip(answers.iter().step_by(2)) {
            assert_eq!(answer["verdict"], *verdict, "{code} {call:?}: {answer}");
        }
        let told = answers[14]["reason"].as_str().unwrap();
        assert!(told.starts_with(last), "{code}: {told}");
        let runs = fs::read_to_string(folder.join("runs")).unwrap_or_default();
        assert_eq!(runs.lines().count(), 1, "{code}: {answers:?}");
    }
}

#[test]
fn the_status_of_a_fresh_workflow_says_what_it_waits_for() {
    let folder = folder("fresh-workflow");
    fs::write(folder.join("wf.yaml"), WORKFLOW).unwrap();
    for words in [&["status", "wf.yaml"][..], &["prompt", "wf.yaml"]] {
        let text = out(&lockgate(&folder, words, ""));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("has not begun: it waits for file_read(\"specs/feature.md\")"), "{text}");
        assert!(!flat.contains("every tool is open"), "{text}");
    }
}

#[test]
fn a_prompt_is_printed_in_both_forms_and_names_begin_off() {
    let folder = folder("prompt");
    fs::write(
        folder.join("ops.rules"),
        "limit deploy to 3 per session\nrequire human-approval before deploy\n",
    )
    .unwrap();
    fs::write(folder.join("safety.rules"), "block rm\n").unwrap();
    let files = ["prompt", "ops.rules", "safety.rules"];
    let words = out(&lockgate(&folder, &files, ""));
    assert!(words.contains("needs approval") && !words.contains("### Open now"), "{words}");
    assert!(words.contains("- `rm`: for good"), "{words}");
    let nets = out(&lockgate(&folder, &[&files[..], &["--form", "nets"]].concat(), ""));
    assert!(nets.starts_with("## Active Petri Nets (composed)\n### limit-deploy-3\n"), "{nets}");
    assert!(nets.contains("Available gated tools: deploy (needs approval)"), "{nets}");
    let active = ["--name", "ops=ops.rules", "--name", "safety=safety.rules", "--active", "ops"];
    let some = out(&lockgate(&folder, &[&files[..], &active].concat(), ""));
    assert!(!some.contains("`rm`"), "{some}");
    let wrong = lockgate(&folder, &[&files[..], &["--active", "sfety"]].concat(), "");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("nothing is called `sfety`"), "{}", err(&wrong));
    let json: Value =
        serde_json::from_str(&out(&lockgate(&folder, &[&files[..], &["--json"]].concat(), ""))).unwrap();
    assert_eq!(json["session"], "default");
}

#[test]
fn what_is_off_at_first_is_off_in_a_gate_and_switched_by_its_own_name() {
    let folder = folder("registry");
    fs::write(folder.join("safety.rules"), "block rm\nblock format\n").unwrap();
    fs::write(folder.join("deploy.rules"), "block deploy\n").unwrap();
    let lines = [
        r#"{"call":{"id":"1","tool":"deploy"}}"#,
        r#"{"call":{"id":"2","tool":"rm"}}"#,
        r#"{"net":{"activate":"deploy"}}"#,
        r#"{"net":{"deactivate":"safety"}}"#,
        r#"{"call":{"id":"3","tool":"deploy"}}"#,
        r#"{"call":{"id":"4","tool":"format"}}"#,
    ];
    let store = format!("sqlite:{}", folder.join("state.db").display());
    let words = [
        "gate",
        "safety.rules",
        "deploy.rules",
        "--name",
        "safety=safety",
        "--name",
        "deploy=deploy.rules",
        "--active",
        "safety",
        "--store",
        &store,
    ];
    let verdicts = |lines: &[&str]| -> Vec<String> {
        let output = lockgate(&folder, &words, &lines.join("\n"));
        let answer = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
        out(&output).lines().map(|line| answer(line)["verdict"].as_str().unwrap_or("-").to_owned()).collect()
    };
    assert_eq!(verdicts(&lines), ["allow", "block", "-", "-", "block", "allow"]);
    // Another process finds the session as it was left, and a fresh one as it begins.
    let again =
        [r#"{"call":{"id":"5","tool":"deploy"}}"#, r#"{"call":{"id":"6","tool":"rm","session":"new"}}"#];
    assert_eq!(verdicts(&again), ["block", "block"]);
}

#[test]
fn old_files_are_rewritten_and_proved_the_same() {
    let folder = folder("migrate");
    let old = "# Ours.\napiVersion: edictum/v1\nkind: ContractBundle\nmetadata: {name: old}\ndefaults: {mode: enforce}\ncontracts:\n  - id: no-env   # secrets\n    type: pre\n    tool: read_file\n    when: {args.path: {contains: \".env\"}}\n    then: {effect: deny, message: \"No {args.path}\"}\n";
    let new = old
        .replace("ContractBundle", "Ruleset")
        .replace("contracts:", "rules:")
        .replace("effect: deny", "action: block");
    fs::write(folder.join("a.yaml"), old).unwrap();
    let printed = lockgate(&folder, &["migrate", "a.yaml"], "");
    assert_eq!((out(&printed), printed.status.code()), (new.clone(), Some(0)));
    assert!(err(&printed).contains("a.yaml:3  ContractBundle → Ruleset"), "{}", err(&printed));
    assert!(err(&printed).contains("proved the same"), "{}", err(&printed));
    assert_eq!(fs::read_to_string(folder.join("a.yaml")).unwrap(), old, "only printed");
    let json: Value =
        serde_json::from_str(&out(&lockgate(&folder, &["migrate", "a.yaml", "--json"], ""))).unwrap();
    assert_eq!((&json["same"], json["changes"].as_array().unwrap().len()), (&json!(true), 4));
    assert_eq!(lockgate(&folder, &["migrate", "a.yaml", "--write"], "").status.code(), Some(0));
    assert_eq!(fs::read_to_string(folder.join("a.yaml")).unwrap(), new);
    let again = lockgate(&folder, &["migrate", "a.yaml"], "");
    assert!(err(&again).contains("no old words"), "{}", err(&again));

    fs::write(folder.join("b.yaml"), "rules:\n  - id: a\n    tool_name: rm   # gone\n    then: block\n")
        .unwrap();
    let fixed = lockgate(&folder, &["verify", "b.yaml", "--fix"], "");
    assert_eq!(fixed.status.code(), Some(0), "{}{}", out(&fixed), err(&fixed));
    let text = fs::read_to_string(folder.join("b.yaml")).unwrap();
    assert_eq!(text, "rules:\n  - id: a\n    when:\n      tool: rm   # gone\n    then: block\n");

    // Old words in a file of the present format are rewritten too, and then there is nothing to compare with.
    fs::write(folder.join("c.yaml"), new.replace("action: block", "effect: deny")).unwrap();
    let mixed = lockgate(&folder, &["migrate", "c.yaml"], "");
    assert_eq!((out(&mixed), mixed.status.code()), (new.clone(), Some(0)));
    assert!(err(&mixed).contains("not proved the same"), "{}", err(&mixed));
    // What is wrong besides is told, and nothing is written.
    let wrong = old.replace("when: {args.path: {contains: \".env\"}}", "when: {arg.path: {contains: a}}");
    fs::write(folder.join("d.yaml"), &wrong).unwrap();
    assert_eq!(lockgate(&folder, &["migrate", "d.yaml", "--write"], "").status.code(), Some(1));
    assert_eq!(fs::read_to_string(folder.join("d.yaml")).unwrap(), wrong);
    assert_eq!(lockgate(&folder, &["migrate", "missing.yaml"], "").status.code(), Some(2));
}

#[test]
fn one_line_rules_are_formatted_in_place_or_only_checked() {
    let folder = folder("fmt");
    let old =
        "\n  block   a # one\nlimit send to 3 per session # two\n\n\nblock  pay because \"two  spaces\"";
    let new = "block a                      # one\nlimit send to 3 per session  # two\n\nblock  pay because \"two  spaces\"\n";
    fs::write(folder.join("a.rules"), old).unwrap();
    let checked = lockgate(&folder, &["fmt", "--check", "a.rules"], "");
    assert_eq!((checked.status.code(), err(&checked).trim()), (Some(1), "would change `a.rules`"));
    assert_eq!(fs::read_to_string(folder.join("a.rules")).unwrap(), old, "only checked");
    let written = lockgate(&folder, &["fmt", "a.rules"], "");
    assert_eq!((written.status.code(), err(&written).trim()), (Some(0), "formatted `a.rules`"));
    assert_eq!(fs::read_to_string(folder.join("a.rules")).unwrap(), new);
    let again = lockgate(&folder, &["fmt", "--check", "a.rules", "--json"], "");
    assert_eq!((again.status.code(), out(&again).trim()), (Some(0), r#"{"file":"a.rules","changed":false}"#));
    // A wrong file among others changes nothing.
    fs::write(folder.join("a.rules"), old).unwrap();
    fs::write(folder.join("b.yaml"), "rules:\n  - id: a\n    when: {tool: rm}\n    then: block\n").unwrap();
    let mixed = lockgate(&folder, &["fmt", "a.rules", "b.yaml"], "");
    assert_eq!(mixed.status.code(), Some(2));
    assert!(err(&mixed).contains("`b.yaml` is not a file of one-line rules"), "{}", err(&mixed));
    assert_eq!(fs::read_to_string(folder.join("a.rules")).unwrap(), old);
    assert_eq!(lockgate(&folder, &["fmt", "missing.rules"], "").status.code(), Some(2));
}

#[test]
fn the_audit_log_names_rules_on_results_severity_and_what_only_observes() {
    let folder = folder("audit-of-results");
    let ruleset = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: t}\ndefaults: {mode: enforce}\nrules:\n  - {id: pii, type: post, tool: read, when: {output.text: {matches: 'ada'}}, then: {action: redact, message: PII, tags: [pii]}}\n";
    let grave = "rules:\n  - {id: grave, when: {tool: drop}, then: block, severity: high, message: Grave.}\n";
    fs::write(folder.join("pii.yaml"), ruleset).unwrap();
    fs::write(folder.join("grave.yaml"), grave).unwrap();
    let watch = "rules:\n  - {id: watch, mode: observe, when: {tool: read}, then: block, message: Seen.}\n";
    fs::write(folder.join("watch.yaml"), watch).unwrap();
    let lines = concat!(
        r#"{"call":{"id":"1","tool":"read"}}"#,
        "\n",
        r#"{"result":{"id":"1","ok":true,"output":"from ada"}}"#,
        "\n",
        r#"{"call":{"id":"2","tool":"drop"}}"#,
    );
    let store = format!("sqlite:{}", folder.join("state.db").display());
    let words = ["gate", "pii.yaml", "grave.yaml", "watch.yaml", "--store", &store];
    let answers = out(&lockgate(&folder, &words, lines));
    let answer: Value = serde_json::from_str(answers.lines().nth(1).unwrap()).unwrap();
    assert_eq!(answer["rules"][0]["rule"], "pii", "{answers}");
    assert_eq!(answer["rules"][0]["tags"], json!(["pii"]), "{answers}");
    for (rule, key, value) in [
        ("pii", "tags", json!(["pii"])),
        ("grave", "severity", json!("high")),
        ("watch", "observed", json!(true)),
    ] {
        let words = ["audit", "--state", "state.db", "--rule", rule, "--json"];
        let found = out(&lockgate(&folder, &words, ""));
        let entry: Value = serde_json::from_str(found.trim()).unwrap();
        assert_eq!(entry["entry"]["rules"][0][key], value, "{found}");
    }
}

#[test]
fn times_without_a_zone_are_those_of_the_machine() {
    let folder = folder("local-time");
    fs::write(
        folder.join("lunch.yaml"),
        "rules:\n  - {id: lunch, when: {tool: ring, context: {time_of_day: \"12:00-13:00\"}}, then: block, message: Lunch.}\n",
    )
    .unwrap();
    // A Wednesday in 2026, at noon in Greenwich.
    let line = r#"{"call":{"id":"1","tool":"ring"},"at":1772625600000}"#;
    for (zone, verdict) in [("UTC", "block"), ("Asia/Tokyo", "allow")] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .args(["gate", "lunch.yaml", "--clock", "lines"])
            .current_dir(&folder)
            .env("HOME", &folder)
            .env("TZ", zone)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let answer = out(&child.wait_with_output().unwrap());
        let answer: Value = serde_json::from_str(answer.trim()).unwrap();
        assert_eq!(answer["verdict"], verdict, "{zone}");
    }
}

#[test]
fn one_session_rule_is_one_rule_and_a_pasted_list_hears_of_its_kind() {
    let folder = folder("verify-words");
    let ruleset = "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: s}\ndefaults: {mode: enforce}\nrules:\n  - id: session-limits\n    type: session\n    limits: {max_tool_calls: 50, max_attempts: 120, max_calls_per_tool: {deploy_service: 3, send_notification: 10}}\n    then: {action: block, message: Enough.}\n";
    fs::write(folder.join("s.yaml"), ruleset).unwrap();
    let text = out(&lockgate(&folder, &["verify", "s.yaml"], ""));
    assert_eq!(text.matches("session-limits").count(), 2, "once in the table and once below it: {text}");
    assert!(text.contains("1 rule"), "{text}");
    fs::write(folder.join("list.yaml"), "- id: a\n  type: pre\n  tool: x\n").unwrap();
    let told = lockgate(&folder, &["verify", "list.yaml"], "");
    assert!(out(&told).contains("`kind: Ruleset`"), "{}", out(&told));
    fs::write(
        folder.join("long.rules"),
        "require discord.readMessages before discord.sendMessage\nblock a\n",
    )
    .unwrap();
    let table = out(&lockgate(&folder, &["verify", "long.rules"], ""));
    let places: Vec<usize> = table.lines().filter_map(|line| line.find("long.rules:")).collect();
    assert!(places.len() == 2 && places[0] == places[1], "{table}");
}
