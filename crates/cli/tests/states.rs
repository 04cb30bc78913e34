//! `lockgate graph --states` as people meet it: what rules do together, drawn.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::world::folder;

/// Draws the states of some rules.
fn states(name: &str, rules: &str, words: &[&str]) -> Output {
    let folder = folder(name);
    let file = folder.join("a.rules");
    fs::write(&file, rules).unwrap();
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .arg("graph")
        .arg(&file)
        .arg("--states")
        .args(words)
        .current_dir(&folder)
        .output()
        .unwrap()
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn mermaid(name: &str, rules: &str) -> String {
    let (code, out, err) = told(&states(name, rules, &["--format", "mermaid"]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    out
}

#[test]
fn a_requirement_is_closed_until_what_it_needs_succeeds() {
    insta::assert_snapshot!(mermaid("require", "require test before deploy"), @r#"
    ---
    title: "deploy#44; test"
    ---
    flowchart LR
      s0("start<br/>deploy needs test"):::start
      s1("1<br/>all open")
      s0 -->|"test ok"| s1
      s1 -->|"deploy"| s0
      classDef start stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn a_limit_counts_down_and_says_what_is_left() {
    insta::assert_snapshot!(mermaid("limit", "limit push to 2 per session"), @r#"
    ---
    title: "push"
    ---
    flowchart LR
      s0("start<br/>push 2 of 2 left"):::start
      s1("1<br/>push 1 of 2 left")
      s2("2<br/>push 0 of 2 left")
      s0 -->|"push"| s1
      s1 -->|"push"| s2
      classDef start stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn a_refill_leads_back() {
    insta::assert_snapshot!(mermaid("refill", "limit push to 1 per read"), @r#"
    ---
    title: "push#44; read"
    ---
    flowchart LR
      s0("start<br/>push 1 of 1 left"):::start
      s1("1<br/>push 0 of 1 left")
      s0 -->|"push"| s1
      s1 -->|"read"| s0
      classDef start stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn rules_that_have_nothing_to_do_with_each_other_are_two_pictures() {
    insta::assert_snapshot!(
        mermaid("two", "require test before deploy\nlimit push to 1 per session"),
        @r#"
    ```mermaid
    ---
    title: "deploy#44; test"
    ---
    flowchart LR
      s0("start<br/>deploy needs test"):::start
      s1("1<br/>all open")
      s0 -->|"test ok"| s1
      s1 -->|"deploy"| s0
      classDef start stroke:#2563eb,stroke-width:3px
    ```

    ```mermaid
    ---
    title: "push"
    ---
    flowchart LR
      s0("start<br/>push 1 of 1 left"):::start
      s1("1<br/>push 0 of 1 left")
      s0 -->|"push"| s1
      classDef start stroke:#2563eb,stroke-width:3px
    ```
    "#
    );
}

#[test]
fn rules_that_share_a_name_are_one_picture() {
    let rules = "require test before deploy\nlimit test to 1 per session\nblock format_disk";
    let (code, out, err) = told(&states("one", rules, &["--format", "dot"]));
    assert_eq!(code, Some(0));
    assert_eq!(err, "note: 1 rule has no states to draw\n");
    insta::assert_snapshot!(out, @r##"
    digraph states {
      rankdir=LR;
      label="deploy, test"; labelloc=t;
      node [fontname="Helvetica", shape=box, style="rounded,filled", fillcolor=white];
      edge [fontname="Helvetica", fontsize=11];
      s0 [label="start\ndeploy needs test\ntest 1 of 1 left", color="#2563eb", fillcolor="#dbeafe"];
      s1 [label="1\ntest 0 of 1 left"];
      s2 [label="2\ndeploy needs test\ntest 0 of 1 left"];
      s0 -> s1 [label="test ok"];
      s0 -> s2 [label="test fails"];
      s1 -> s2 [label="deploy"];
    }
    "##);
}

#[test]
fn a_map_gives_arrows_its_names() {
    let rules = "map bash.command rm as delete\nmap bash.command cp as backup\nrequire backup before delete";
    insta::assert_snapshot!(mermaid("map", rules), @r#"
    ---
    title: "delete#44; backup"
    ---
    flowchart LR
      s0("start<br/>delete needs backup"):::start
      s1("1<br/>all open")
      s0 -->|"backup by bash ok<br/>backup ok"| s1
      s1 -->|"delete"| s0
      classDef start stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn one_state_more_than_can_be_looked_at_is_named_and_left_out() {
    let limit = |count: u64| format!("limit push to {count} per session\nlimit send to 1 per session");
    for (count, pictures) in [(59, 2), (60, 1), (1_000_000_000, 1)] {
        let (code, out, err) = told(&states("bound", &limit(count), &["--format", "dot"]));
        assert_eq!((code, out.matches("digraph").count()), (Some(0), pictures), "{count}: {err}");
        let note = "note: push: more than 60 states; ask for one tool with `--about NAME`\n";
        assert_eq!(err, if pictures == 1 { note } else { "" }, "{count}");
    }
    let (_, out, _) = told(&states("bound", &limit(60), &["--json", "--format", "dot"]));
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2, "{out}");
    assert_eq!((&rows[0]["group"], &rows[0]["more_than"]), (&"push".into(), &60.into()));
    assert_eq!((&rows[0]["states"], &rows[0]["picture"]), (&().into(), &().into()));
    assert_eq!((&rows[1]["rules"][0], &rows[1]["states"]), (&"limit-send-1".into(), &2.into()));
}

#[test]
fn a_name_narrows_the_picture_to_its_rules() {
    let rules = "require test before deploy\nlimit deploy to 1000000 per session\nrequire lint before test";
    for (name, code, pictures, said) in [
        ("lint", 0, 1, "drawn without 2 further rules, which may refuse some of this"),
        ("test", 0, 1, "drawn without 1 further rule, which"),
        ("deploy", 0, 0, "note: "),
        ("dploy", 2, 0, "no rule that remembers knows `dploy`"),
    ] {
        let (found, out, err) = told(&states("about", rules, &["--format", "dot", "--about", name]));
        assert_eq!((found, out.matches("digraph").count()), (Some(code), pictures), "{name}: {err}");
        assert!(err.contains(said), "{name}: {err}");
    }
    let small = "require test before deploy\nblock format_disk";
    for (name, states_drawn) in [("deploy", 2), ("test", 2), ("format_disk", 1)] {
        let (_, out, err) = told(&states("about-small", small, &["--about", name, "--json"]));
        let row: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&row["states"], &row["without"]), (&states_drawn.into(), &0.into()), "{name}: {err}");
    }
}

#[test]
fn pictures_of_states_go_where_they_are_wanted() {
    let rules = "require test before deploy\nlimit push to 1 per session";
    for (words, file, start) in [
        (vec!["--out", "all.svg"], "all.svg", "<svg "),
        (vec!["--out", "all.md"], "all.md", "```mermaid\n---\ntitle"),
        (vec!["--out", "each/"], "each/push.svg", "<svg "),
        (vec!["--out", "each/", "--format", "dot"], "each/deploy__test.dot", "digraph states"),
    ] {
        let (code, _, err) = told(&states("out", rules, &words));
        assert_eq!(code, Some(0), "{err}");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states/out").join(file);
        let picture = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{words:?}: {error}: {err}"));
        assert!(picture.starts_with(start), "{words:?}: {picture}");
    }
    let (code, _, err) = told(&states("net", rules, &["--net", "limit-push-1"]));
    assert_eq!(code, Some(2), "{err}");
}
