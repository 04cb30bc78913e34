//! The second fence around the gate: what it asks git, and what it makes of events and files that could be read in two
//! ways or not at all.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use crate::world::{Said, World};

fn bash(world: &World, script: &str) -> bool {
    let mut command = world.command_of(Path::new("/bin/bash"), &["-c", script]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
    command.status().unwrap().success()
}

fn event(world: &World, tool: &str, input: &Value) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (cwd, id) = (world.path("project"), NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    json!({"session_id": "s1", "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": tool, "tool_input": input,
        "tool_use_id": id})
    .to_string()
}

fn reason(world: &World, tool: &str, input: &Value) -> String {
    let said = world.hook("claude-code", &event(world, tool, input));
    let reply: Value = serde_json::from_str(&said.out()).unwrap_or_default();
    reply["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
}

/// A project whose branch `other` has the same policy and whose branch `weak` has not.
fn project(name: &str) -> World {
    let world = World::new(name);
    world.write("home/.config/lockgate/policy.rules", "block NeverCalled\n");
    world.write("project/.lockgate/p.rules", "block nothing\n");
    world.write("project/a.txt", "a\n");
    let made = bash(
        &world,
        "set -e; git init -q -b main --template= .; git config user.name a; git config user.email a@b
         git add -f .; git commit -qm one; git branch weak
         echo 'block Forbidden' > .lockgate/p.rules; git commit -qam two
         git switch -q -c other; echo b > a.txt; git commit -qam three; git switch -q main",
    );
    assert!(made, "git is needed for this test");
    world
}

#[test]
fn git_is_asked_which_files_a_command_would_change() {
    let world = project("git");
    let rows = [
        ("git checkout other", true),
        ("git switch -q other", true),
        ("git merge other", true),
        ("git reset --hard", true),
        ("git stash", true),
        ("git checkout .", true),
        ("git restore a.txt", true),
        ("git log --oneline | head -3; git checkout other", true),
        ("git commit -qam x && git checkout other", true),
        ("git checkout weak", false),
        ("git switch weak", false),
        ("git merge weak", false),
        ("git reset --hard HEAD~1", false),
        ("git checkout weak -- '*.rules'", false),
        ("git restore -s weak .", false),
        ("git revert HEAD", false),
        // What comes before could change the answer.
        ("git branch -f other weak; git checkout other", false),
        ("git checkout other | git branch -f other weak", false),
        ("git commit -qam x && git reset --hard HEAD~1", false),
        ("export GIT_DIR=/tmp/x; git checkout other", false),
        ("git pull", false),
    ];
    for (command, passes) in rows {
        let said = reason(&world, "Bash", &json!({ "command": command }));
        assert_eq!(said.is_empty(), passes, "{command}: {said}");
    }
    // A human's own change of the policy is not in the way of other files, and is not undone.
    world.write("project/.lockgate/p.rules", "block Forbidden\nblock More\n");
    for (command, passes) in [
        ("git checkout -- a.txt", true),
        ("git restore .", false),
        ("git stash", false),
        ("git reset --hard", false),
        ("git checkout other", false),
    ] {
        let said = reason(&world, "Bash", &json!({ "command": command }));
        assert_eq!(said.is_empty(), passes, "{command}: {said}");
    }
}

#[test]
fn asking_git_runs_nothing_that_a_repository_names() {
    let world = project("settings");
    let trap = world.path("trap");
    let set = format!(
        "set -e; t='touch {}'; git config core.fsmonitor \"$t\"; git config filter.x.clean \"$t; cat\"
         git config filter.x.smudge \"$t; cat\"; git config filter.x.process \"$t\"; git config diff.external \"$t\"
         git config diff.x.textconv \"$t\"; git config core.pager \"$t\"; git config core.hooksPath hooks
         git config core.sshCommand \"$t\"; git config gpg.program \"$t\"; git config log.showSignature true
         mkdir hooks; for h in post-checkout post-index-change pre-commit reference-transaction; do
           printf '#!/bin/sh\\n%s\\n' \"$t\" > hooks/$h; chmod +x hooks/$h; done
         echo '* filter=x diff=x' > .gitattributes; touch -d 2001-01-01 a.txt .lockgate/p.rules",
        trap.display()
    );
    assert!(bash(&world, &set));
    let _ = fs::remove_file(&trap);
    for command in
        ["git checkout other", "git rebase other", "git stash -u", "git clean -fd", "git restore .", "git x"]
    {
        let _ = reason(&world, "Bash", &json!({ "command": command }));
        assert!(!trap.exists(), "{command}");
    }
}

#[test]
fn patches_are_read_for_the_files_they_touch() {
    let world = project("patches");
    let patch = |file: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-a\n+b\n");
    world.write("project/good.patch", &patch("a.txt"));
    world.write("project/bad.patch", &patch(".lockgate/p.rules"));
    world.write("project/deep.patch", &patch("x/y/.lockgate/p.rules"));
    world.write("project/none.patch", "nothing\n");
    for (command, passes) in [
        ("git apply good.patch", true),
        ("patch -p1 < good.patch", true),
        ("patch -p1 -i good.patch", true),
        ("git apply good.patch bad.patch", false),
        ("git apply -p3 deep.patch", false),
        ("patch -p1 < bad.patch", false),
        ("patch -p1 < none.patch", false),
        ("patch -p1 < missing.patch", false),
        ("cp bad.patch good.patch; git apply good.patch", false),
        ("cat good.patch | git apply", false),
        ("git apply --directory=.lockgate good.patch", false),
    ] {
        let said = reason(&world, "Bash", &json!({ "command": command }));
        assert_eq!(said.is_empty(), passes, "{command}: {said}");
    }
    let here = format!("patch -p1 <<'EOF'\n{}EOF", patch("a.txt"));
    assert_eq!(reason(&world, "Bash", &json!({ "command": here })), "");
}

#[test]
fn keys_that_differ_only_in_case_are_blocked() {
    let world = project("keys");
    let said = reason(&world, "mcp__fs__write", &json!({"path": "a", "Path": "b"}));
    assert!(said.contains("differ only in case"), "{said}");
    assert_eq!(reason(&world, "mcp__fs__write", &json!({"path": "a", "paths": "b"})), "");
}

#[test]
fn a_closed_stdout_makes_the_exit_code_block() {
    let world = project("stdout");
    let lockgate = env!("CARGO_BIN_EXE_lockgate");
    for (tool, redirection, code) in [
        ("Forbidden", ">&-", 2),
        ("Forbidden", "> /dev/null", 2),
        ("Forbidden", "> /dev/full", 2),
        ("Forbidden", "> out", 0),
        ("Allowed", ">&-", 0),
    ] {
        world.write("event", &event(&world, tool, &json!({})));
        let script = format!("{lockgate} hook claude-code < ../event {redirection}");
        let said = Said(world.command_of(Path::new("/bin/bash"), &["-c", &script]).output().unwrap());
        assert_eq!(said.code(), Some(code), "{tool} {redirection}: {}", said.err());
    }
}

#[test]
fn a_policy_that_is_not_a_regular_file_is_rejected() {
    let world = World::new("fifo");
    assert!(bash(&world, "mkfifo pipe.yaml; ln -s /dev/zero zero.yaml"));
    world.write("project/main.yaml", "include: [pipe.yaml]\nrules: []\n");
    world.write("project/zero-main.yaml", "include: [zero.yaml]\nrules: []\n");
    for file in ["main.yaml", "zero-main.yaml", "pipe.yaml", "zero.yaml"] {
        let said = world.lockgate(&["verify", file]);
        let text = format!("{}{}", said.out(), said.err());
        assert_ne!(said.code(), Some(0), "{file}: {text}");
        assert!(text.contains("not a regular file"), "{file}: {text}");
    }
}

#[test]
fn an_agent_does_not_put_another_program_behind_the_hooks() {
    let world = World::new("another-program");
    // Not below the folder of the build: `upgrade` refuses programs there.
    let programs = tempfile::tempdir().unwrap();
    let [own, other] = ["own", "other"].map(|name| {
        let program = programs.path().join(name).join("lockgate");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_lockgate"), &program).unwrap();
        fs::canonicalize(program).unwrap()
    });
    let by = |program: &Path, words: &[&str]| Said(world.command_of(program, words).output().unwrap());
    let hooks = || world.read("project/.claude/settings.local.json");
    let runs = |program: &Path| hooks().contains(program.to_str().unwrap());
    let said = by(&own, &["init", "claude-code", "--yes"]);
    assert_eq!(said.code(), Some(0), "{}", said.err());
    assert!(runs(&own));
    // The agent calls a tool, and its processes are known from then on.
    let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": world.path("project"),
        "tool_name": "Read", "tool_input": {}, "tool_use_id": "1"});
    let below = |program: &Path, words: &[&str]| {
        let input = programs.path().join("event.json");
        fs::write(&input, event.to_string()).unwrap();
        // One process stands for the agent: it runs the hook, and then the command.
        let script = format!(
            "'{}' hook claude-code < '{}' > /dev/null; \"$@\"; exit $?",
            own.display(),
            input.display()
        );
        let mut words: Vec<&str> = words.to_vec();
        words.insert(0, program.to_str().unwrap());
        let words: Vec<&str> = ["-c", &script, "agent"].into_iter().chain(words).collect();
        Said(world.command_of(Path::new("/bin/sh"), &words).output().unwrap())
    };
    let before = hooks();
    for words in [
        &["init", "claude-code", "--yes"][..],
        &["init", "--yes"],
        &["upgrade", "--yes"],
        &["upgrade", "--yes", "--json"],
    ] {
        let said = below(&other, words);
        assert_eq!(said.code(), Some(2), "{words:?}: {}{}", said.out(), said.err());
        assert!(said.err().contains("is for a human at a terminal"), "{words:?}: {}", said.err());
        assert_eq!(hooks(), before, "{words:?}");
    }
    // To look is allowed, and so is to install the same program again.
    assert_eq!(below(&other, &["upgrade", "--dry-run"]).code(), Some(0));
    assert_eq!(below(&own, &["init", "claude-code", "--yes"]).code(), Some(0));
    assert_eq!(hooks(), before);
}
