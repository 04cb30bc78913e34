//! The verbs of the command line that need no file: the policy in force, `try`, the aliases and the manual pages. All
//! through the real binary, in a project and a home of the test's own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::fs;

use crate::world::{Said, World};

const RULES: &str = "\
map Bash running rm as delete
require human-approval before delete
block format-disk
require test before deploy
";

/// The output with the folder of the test taken out.
fn shown(world: &World, text: &str) -> String {
    text.replace(world.0.to_str().unwrap(), "~")
}

#[test]
fn without_a_file_the_policy_in_force_is_used_and_named() {
    let world = World::with("in-force", RULES, "");
    world.write("project/calls.jsonl", "{\"tool\": \"deploy\"}\n");
    world.write("project/new.rules", &RULES.replace("block format-disk\n", ""));
    for (words, code, told) in [
        (&["verify"][..], 0, "require-test-before-deploy"),
        (
            &["check", "--call", r#"{"tool": "deploy"}"#],
            1,
            "deploy requires a successful call to test first.",
        ),
        (&["explain", "calls.jsonl"], 0, "deploy requires a successful call to test first."),
        (&["graph", "--format", "dot"], 0, "digraph"),
        (&["graph", "--states", "--format", "dot"], 0, "digraph"),
        (&["diff", "new.rules"], 1, "newly allowed format-disk"),
        (&["verify", "--watch", "--rounds", "1"], 0, "require-test-before-deploy"),
    ] {
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(code), "{words:?} {}{}", said.out(), said.err());
        assert!(said.out().contains(told), "{words:?} {}", said.out());
        let note = shown(&world, &said.err());
        assert!(note.starts_with("policy in force: ~/project/.lockgate\n"), "{words:?} {note}");
        // The same from a folder below: hooks look upwards, too.
        fs::create_dir_all(world.path("project/src/deep")).unwrap();
    }
    let mut below = world.command_of(env!("CARGO_BIN_EXE_lockgate").as_ref(), &["verify"]);
    let said = Said(below.current_dir(world.path("project/src/deep")).output().unwrap());
    assert_eq!(said.code(), Some(0));
    assert!(shown(&world, &said.err()).contains("~/project/.lockgate"), "{}", said.err());
    // A file that is named is used, and nothing else is said.
    let said = world.lockgate(&["verify", "new.rules"]);
    assert!(said.err().is_empty() && !said.out().contains("format-disk"), "{}{}", said.out(), said.err());
    // A policy alone is not taken for calls.
    let said = world.lockgate(&["explain", "new.rules"]);
    assert_eq!(said.code(), Some(2));
    assert!(said.err().contains("the calls are missing"), "{}", said.err());
    // A policy that cannot be used is never passed over for another one.
    world.write("project/.lockgate/policy.rules", "blok x\n");
    for words in [&["check", "--call", r#"{"tool": "a"}"#][..], &["graph"], &["try", "ls"]] {
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(2), "{words:?} {}", said.out());
        assert!(said.err().contains("blok"), "{words:?} {}", said.err());
    }
    world.write("project/.lockgate/lockgate.toml", "modee = 1\n");
    let said = world.lockgate(&["verify"]);
    assert_eq!(said.code(), Some(2), "{}", said.out());
    assert!(said.err().contains("modee"), "{}", said.err());
}

#[test]
fn without_any_policy_the_built_in_one_is_in_force() {
    let world = World::new("in-force-built-in");
    let said = world.lockgate(&["verify"]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    assert!(said.err().starts_with("policy in force: the built-in policy"), "{}", said.err());
    assert_eq!(world.lockgate(&["try", "ls"]).code(), Some(0));
    assert_eq!(world.lockgate(&["try", "rm -rf /"]).code(), Some(1));
}

#[test]
fn try_judges_a_command_and_leaves_no_trace() {
    let world = World::with("try", RULES, "");
    let at_home = || fs::read_dir(world.path("home")).unwrap().count();
    let before = at_home();
    let tried = world.lockgate(&["try", "rm -rf build"]);
    assert_eq!(tried.code(), Some(1), "{}", tried.err());
    insta::assert_snapshot!(shown(&world, &tried.out()), @"
    ask    delete requires human approval.
           ~/project/.lockgate/policy.rules:2  approve-before-delete
    as     `delete`
    ");
    insta::assert_snapshot!(shown(&world, &tried.err()), @"judged as a call of `Bash` by claude-code, under ~/project/.lockgate");
    insta::assert_snapshot!(shown(&world, &world.lockgate(&["try", "{}", "--tool", "deploy"]).out()), @"
    block  deploy requires a successful call to test first.
           ~/project/.lockgate/policy.rules:4  require-test-before-deploy
    next   call `test` first
    ");
    // All that is in the way is told: Lockgate's own files are there, too.
    let root = world.lockgate(&["try", "rm -rf /"]).out();
    let root = root.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        root.contains("which an agent must leave alone") && root.contains("also delete requires"),
        "{root}"
    );
    for (words, code) in [
        (&["try", "ls -la"][..], 0),
        (&["try", "ls; rm x"], 1),
        (&["try", "rm x", "--agent", "gemini-cli"], 0),
        (&["try", "rm x", "--agent", "gemini-cli", "--tool", "Bash"], 2),
        (&["try", r#"{"command": "rm x"}"#, "--agent", "gemini-cli", "--tool", "Bash"], 1),
        (&["try", "{}", "--tool", "format-disk"], 1),
        (&["try", "x", "--tool", "format-disk"], 2),
        (&["try", "rm .lockgate/policy.rules", "--policy", "all.rules"], 0),
        (&["try", "rm .lockgate/policy.rules"], 1),
        (&["try", "x", "--policy", "nowhere.rules"], 2),
        (&["try"], 2),
    ] {
        world.write("project/all.rules", "block x\n");
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(code), "{words:?} {}{}", said.out(), said.err());
    }
    let json = world.lockgate(&["try", "rm x", "--json"]).json();
    assert_eq!(json["verdict"], "ask", "{json}");
    assert_eq!((&json["tool"], &json["agent"]), (&"Bash".into(), &"claude-code".into()));
    assert_eq!(json["policy_in_force"], world.path("project/.lockgate").to_str().unwrap());
    assert!(!world.database().exists(), "nothing was recorded");
    assert_eq!(at_home(), before, "nothing at all");
    world.write("project/.lockgate/lockgate.toml", "mode = \"observe\"\n");
    world.trust();
    let observed = world.lockgate(&["try", "rm x"]);
    assert_eq!(observed.code(), Some(0), "{}", observed.out());
    assert!(observed.err().contains("hooks let every call pass"), "{}", observed.err());
    assert!(observed.out().contains("would"), "{}", observed.out());
}

#[test]
fn validate_lint_and_test_are_verify() {
    let world = World::with("aliases", RULES, "");
    let verified = world.lockgate(&["verify"]).out();
    for alias in ["validate", "lint", "test"] {
        assert_eq!(world.lockgate(&[alias]).out(), verified, "{alias}");
        assert_eq!(world.lockgate(&[alias, "--help"]).out(), world.lockgate(&["verify", "--help"]).out());
        let help = world.lockgate(&["--help"]).out();
        let line = help.lines().find(|line| line.trim_start().starts_with("verify ")).unwrap().to_owned();
        assert!(help.contains(alias), "{line}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let world = World::new("man");
    let page = world.lockgate(&["man"]).out();
    assert!(page.starts_with(".ie") && page.contains(".TH lockgate 1"), "{page}");
    let written = world.lockgate(&["man", "--out", "pages/man1"]);
    assert_eq!(written.code(), Some(0), "{}", written.err());
    let help = world.lockgate(&["--help"]).out();
    let mut count = 0;
    for line in help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap();
        if ["help", "lockgate", "-h,", "-V,"].contains(&name) {
            continue;
        }
        let page = fs::read_to_string(world.path(&format!("project/pages/man1/lockgate-{name}.1")));
        assert!(
            page.unwrap_or_default().contains(&format!("lockgate\\-{}", name.replace('-', "\\-"))),
            "{name}"
        );
        count += 1;
    }
    assert!(count > 20, "{help}");
    world.write("project/file", "");
    let refused = world.lockgate(&["man", "--out", "file/man1"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.err().contains("cannot write manual pages into `file/man1`"), "{}", refused.err());
}

#[test]
fn the_page_of_commands_says_what_the_help_says() {
    let page = fs::read_to_string("../../docs/commands.md").unwrap();
    let help = World::new("page-of-commands").lockgate(&["--help"]).out();
    let groups = help.split("\n\n").skip(2).take_while(|group| !group.starts_with("Options"));
    let mut rows = Vec::new();
    for group in groups {
        let mut lines = group.lines();
        rows.push(format!("| **{}** | |", lines.next().unwrap().trim_end_matches(':')));
        for line in lines {
            match line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
                Some(line) => {
                    let (name, about) = line.split_once(' ').unwrap();
                    rows.push(format!("| `lockgate {name}` | {} |", about.trim()));
                }
                None => {
                    let last = rows.last_mut().unwrap();
                    *last = format!("{} {} |", last.trim_end_matches(" |"), line.trim());
                }
            }
        }
    }
    assert!(rows.len() > 25, "{help}");
    let table: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(table, rows);
}
