//! The policy is changed behind the back of the gate while a session runs, by whatever program; what the accepted policy
//! forbids stays blocked, or everything is. The hook is the real program, and the changes are really made.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{fs, path::Path, process::Stdio};

use crate::world::World;
use lockgate_testkit::human::Typed;
use serde_json::{Value, json};

const POLICY: &str = "block Forbidden\nlimit Spend to 1 per session\n";

/// A project under version control whose policy has an older, laxer version.
fn scene(name: &str) -> World {
    let world = World::new(name);
    world.write("project/src/.lockgate/p.rules", "block nothing\n");
    world.write("project/.lockgate/p.rules", "block nothing\n");
    world.write("home/.config/lockgate/policy.rules", "block NeverCalled\n");
    let git = "git init -q . && git config user.name a && git config user.email a@b && git add -f . && git commit -qm one";
    assert!(bash(&world, git), "git is needed for this test");
    world.write("project/.lockgate/p.rules", POLICY);
    assert!(bash(&world, "git commit -qam two"));
    assert_eq!(world.lockgate(&["init", "claude-code", "--yes"]).code(), Some(0));
    assert_eq!(decision(&world, "Spend", "s1"), "pass");
    assert_eq!(decision(&world, "Spend", "s1"), "block");
    assert_eq!(decision(&world, "Forbidden", "s1"), "block");
    world
}

fn bash(world: &World, script: &str) -> bool {
    let mut command = world.command_of(Path::new("/bin/bash"), &["-c", script]);
    command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

fn answer(world: &World, agent: &str, tool: &str, session: &str) -> Value {
    let event = json!({"event": "before", "session": session, "tool": tool, "input": {}, "cwd": world.path("project")});
    world.hook(agent, &event.to_string()).json()
}

fn decision(world: &World, tool: &str, session: &str) -> String {
    answer(world, "generic", tool, session)["decision"].as_str().unwrap().to_owned()
}

#[test]
fn whatever_changes_the_policy_what_it_forbade_stays_blocked() {
    let changes = [
        "git checkout -q HEAD~1",
        "git reset -q --hard HEAD~1",
        "git stash -q -u; git reset -q --hard HEAD~1",
        "git revert --no-edit HEAD",
        "git rm -rqf .",
        "git clean -fdxq; rm -rf .lockgate",
        "rm -rf .lockgate; git stash -q -u",
        "cp -r src/. .",
        "tar -C src -cf x.tar . && tar xf x.tar",
        "printf -- '--- a/.lockgate/p.rules\\n+++ b/.lockgate/p.rules\\n@@ -1,2 +1,1 @@\\n-block Forbidden\\n-limit Spend to 1 per session\\n+block nothing\\n' | patch -sp1",
        "printf 'block nothing\\n' > e && dd if=e of=.lockgate/p.rules status=none",
        "sed -i 's/Forbidden/nothing/; s/1 per/9 per/' .lockgate/p.rules",
        "for f in $(git ls-files); do sed -i 's/block Forbidden/block nothing/; s/1 per/9 per/' $f; done",
        ": > .lockgate/p.rules",
        "rm .lockgate/p.rules",
        "mv .lockgate elsewhere",
        "mv .lockgate/p.rules .lockgate/p.txt && echo block nothing > .lockgate/q.rules",
        "ln -s .. x; echo block nothing > x/project/.lockgate/p.rules",
        "ln .lockgate/p.rules h; echo block nothing > h",
        "rm -rf .lockgate && ln -s src/.lockgate .lockgate",
        "printf 'mode = \"observe\"\\nprotect = false\\n' > lockgate.toml; echo block nothing > .lockgate/p.rules",
        "printf 'policy_changes = \"follow\"\\n' > .lockgate/lockgate.toml; echo block nothing > .lockgate/p.rules",
        "d=$PWD; cd ..; mv \"$d\" moved; mkdir \"$d\"",
        "d=$PWD; cd ..; mv \"$d\" moved; mkdir -p \"$d/.lockgate\"; echo block nothing > \"$d/.lockgate/p.rules\"",
        "echo block nothing > ../home/.config/lockgate/policy.rules; echo block nothing > .lockgate/p.rules",
        "rm -rf ../home/.config/lockgate; echo block nothing > .lockgate/p.rules",
        "printf 'state = \"/tmp/none/other.db\"\\npolicy_changes = \"follow\"\\n' > ../home/.config/lockgate/lockgate.toml; echo block nothing > .lockgate/p.rules",
        "echo block nothing > .lockgate/p.rules; rm -rf ../home/.local/share/lockgate/lockgate.policies",
        "echo block nothing > .lockgate/p.rules; for f in ../home/.local/share/lockgate/lockgate.policies/*; do echo block nothing > $f; done",
    ];
    for (number, change) in changes.iter().enumerate() {
        let world = scene(&format!("bound-{number}"));
        bash(&world, change);
        let calls = ["Forbidden", "Spend"].map(|tool| decision(&world, tool, "s1"));
        assert_eq!(calls, ["block", "block"], "{change}");
    }
}

#[test]
fn a_human_accepts_a_changed_policy_after_seeing_what_it_opens() {
    let world = scene("bound-accept");
    world.write("project/.lockgate/p.rules", "block nothing\n");
    let said = answer(&world, "generic", "Forbidden", "s1");
    let reason = said["reason"].as_str().unwrap();
    assert!(
        reason.contains("Forbidden is blocked") && reason.contains("(For the human: the policy"),
        "{reason}"
    );
    let status = world.lockgate(&["status", "--json"]).json();
    assert_eq!(status["settings"]["policy_changes"], "hold");
    assert_eq!(status["sessions"][0]["policy_changed"], true, "{status}");
    let waits = world.lockgate(&["accept-policy", "--json"]);
    assert_eq!(waits.code(), Some(1));
    let waits = waits.json();
    assert_eq!(waits["sessions"][0]["session"], "generic/s1");
    assert_eq!(waits["sessions"][0]["diff"]["changes"][0]["kind"], "newly allowed", "{waits}");
    // Another word, and a pipe, accept nothing.
    let refused = world.human_typing(&["accept-policy"], Typed::Text("yes"));
    assert!(
        refused.terminal.contains("newly allowed") && refused.terminal.contains("p.rules"),
        "{refused:?}"
    );
    assert_eq!(refused.output.status.code(), Some(1));
    assert_eq!(world.lockgate(&["accept-policy", "--all"]).code(), Some(2));
    assert_eq!(decision(&world, "Forbidden", "s1"), "block");
    let accepted = world.human(&["accept-policy", "--session", "generic/s1"]);
    assert_eq!(accepted.code(), Some(0), "{}{}", accepted.out(), accepted.err());
    assert_eq!(decision(&world, "Forbidden", "s1"), "pass");
    assert_eq!(decision(&world, "Spend", "s1"), "pass");
    let log = world.lockgate(&["audit", "--json"]).out();
    assert!(log.contains("\"policy-changed\"") && log.contains("\"accept-policy\""), "{log}");
    // New sessions were waiting for the same change.
    assert_eq!(decision(&world, "Forbidden", "s2"), "pass");
    assert_eq!(world.lockgate(&["accept-policy", "--json"]).json(), json!({ "sessions": [] }));
    // Kept beside the database: a session whose policy is lost there can still be accepted.
    world.write("project/.lockgate/p.rules", POLICY);
    fs::remove_dir_all(world.path("home/.local/share/lockgate/lockgate.policies")).unwrap();
    let lost = answer(&world, "generic", "Other", "s1");
    assert!(lost["reason"].as_str().unwrap().contains("not kept any more"), "{lost}");
    assert_eq!(world.human(&["accept-policy", "--all"]).code(), Some(0));
    assert_eq!(["Other", "Forbidden"].map(|tool| decision(&world, tool, "s1")), ["pass", "block"]);
}

#[test]
fn a_new_session_begins_under_the_policy_that_was_accepted_last() {
    let project = "project/.lockgate/p.rules";
    let own = "home/.config/lockgate/policy.rules";
    for (name, change) in [
        ("project", &[(project, "block nothing\n")][..]),
        ("both", &[(project, "block nothing\n"), (own, "block nothing\n")]),
        (
            "follow",
            &[
                (project, "block nothing\n"),
                ("project/.lockgate/lockgate.toml", "policy_changes = \"follow\"\n"),
            ],
        ),
        (
            "user-follow",
            &[
                (project, "block nothing\n"),
                ("home/.config/lockgate/lockgate.toml", "policy_changes = \"follow\"\n"),
            ],
        ),
        ("observe", &[("home/.config/lockgate/lockgate.toml", "mode = \"observe\"\n")]),
    ] {
        let world = scene(&format!("bound-new-{name}"));
        change.iter().for_each(|(file, text)| world.write(file, text));
        assert_eq!(decision(&world, "Forbidden", "new"), "block", "{name}");
        assert_eq!(["Spend", "Spend"].map(|tool| decision(&world, tool, "new")), ["pass", "block"], "{name}");
        assert_eq!(decision(&world, "Other", "new"), "pass", "{name}: what both allow passes");
    }
    let world = scene("bound-new-accept");
    world.write(project, "block nothing\nblock More\n");
    // What is stricter counts at once.
    assert_eq!(["More", "Forbidden"].map(|tool| decision(&world, tool, "n1")), ["block", "block"]);
    let waits = world.lockgate(&["accept-policy", "--json"]);
    assert_eq!(waits.code(), Some(1));
    assert_eq!(
        waits.json()["new_sessions"]["diff"]["changes"][0]["kind"],
        "newly allowed",
        "{}",
        waits.out()
    );
    let refused = world.human_typing(&["accept-policy", "--all"], Typed::Text("yes"));
    assert!(refused.terminal.contains("new sessions in this folder"), "{refused:?}");
    assert_eq!(decision(&world, "Forbidden", "n2"), "block");
    let accepted = world.human(&["accept-policy", "--all"]);
    assert_eq!(accepted.code(), Some(0), "{}{}", accepted.out(), accepted.err());
    assert_eq!(["More", "Forbidden"].map(|tool| decision(&world, tool, "n3")), ["block", "pass"]);
    // And from then on that one counts.
    world.write(project, "block nothing\n");
    assert_eq!(["More", "Forbidden"].map(|tool| decision(&world, tool, "n4")), ["block", "pass"]);
    world.write(project, "block nothing\nblock More\n");
    assert_eq!(["More", "Forbidden"].map(|tool| decision(&world, tool, "n4")), ["block", "pass"]);
}

#[test]
fn a_folder_that_is_new_does_not_accept_another_policy_of_the_user() {
    let world = World::new("bound-new-folder");
    let own = "home/.config/lockgate/policy.rules";
    world.write(own, "block Forbidden\n");
    assert_eq!(["Other", "Forbidden"].map(|tool| decision(&world, tool, "s1")), ["pass", "block"]);
    // Another folder is used for the first time, with a policy of its own that nobody trusts.
    world.write("project/one/.lockgate/p.rules", "block Local\n");
    let at = |folder: &str, tool: &str, session: &str| {
        let event = json!({"event": "before", "session": session, "tool": tool, "input": {}, "cwd": world.path(folder)});
        world.hook("generic", &event.to_string()).json()
    };
    let first = ["Other", "Local", "Forbidden"].map(|tool| at("project/one", tool, "o1")["decision"].clone());
    assert_eq!(first, ["pass", "block", "block"]);
    world.write(own, "block nothing\n");
    world.write("home/.config/lockgate/lockgate.toml", "policy_changes = \"follow\"\n");
    world.write("project/two/.lockgate/p.rules", "block Local\n");
    let said = at("project/two", "Forbidden", "t1");
    assert_eq!(said["decision"], "block", "{said}");
    assert!(said["reason"].as_str().unwrap().contains("run `lockgate accept-policy`"), "{said}");
    assert_eq!(at("project/one", "Forbidden", "o2")["decision"], "block");
    assert_eq!(decision(&world, "Forbidden", "s2"), "block");
    // A policy that is gone still counts for new sessions of its folder, by whatever name.
    fs::rename(world.path("project/one/.lockgate"), world.path("away")).unwrap();
    std::os::unix::fs::symlink(world.path("project/one"), world.path("link")).unwrap();
    for (folder, session) in [("project/one", "o3"), ("link", "o4"), ("project/two/../one", "o5")] {
        assert_eq!(at(folder, "Local", session)["decision"], "block", "{folder}");
    }
    // The built-in policy does not take the place of the user's.
    fs::remove_dir_all(world.path("home/.config/lockgate")).unwrap();
    assert_eq!(decision(&world, "Forbidden", "s3"), "block");
}

#[test]
fn an_author_at_work_is_followed_by_new_sessions_too() {
    let world = World::new("bound-new-author");
    world.write("home/.config/lockgate/lockgate.toml", "policy_changes = \"follow\"\n");
    let own = "home/.config/lockgate/policy.rules";
    world.write(own, "block Forbidden\n");
    assert_eq!(decision(&world, "Forbidden", "s1"), "block");
    world.write(own, "block nothing\n");
    assert_eq!(decision(&world, "Forbidden", "s2"), "pass");
    world.write("project/.lockgate/p.rules", "block Local\n");
    assert_eq!(["Forbidden", "Local"].map(|tool| decision(&world, tool, "s3")), ["pass", "block"]);
}

#[test]
fn only_the_humans_signature_makes_a_record_of_trust() {
    let world = World::new("bound-trust");
    world.write("project/.lockgate/p.rules", "block Forbidden\n");
    world.write("project/.lockgate/lockgate.toml", "mode = \"observe\"\n");
    let is_trusted = || world.lockgate(&["trust", "--json"]).json()["trusted"].as_bool().unwrap();
    assert!(!is_trusted());
    let said = world.human(&["trust"]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    assert!(is_trusted());
    let folder = world.path("home/.local/share/lockgate/trusted");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let signed: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let forge = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut record = signed.as_object().unwrap().clone();
        change(&mut record);
        fs::write(&file, Value::Object(record).to_string()).unwrap();
        is_trusted()
    };
    assert!(forge(&|_| {}));
    assert!(!forge(&|record| drop(record.remove("signature"))));
    assert!(!forge(&|record| drop(record.insert("signature".to_owned(), json!("00".repeat(64))))));
    assert!(!forge(&|record| drop(record.insert("at".to_owned(), json!(1)))));
    assert!(world.lockgate(&["trust", "--list"]).out().contains("not signed"));
    // What was signed for other files is not a trust in these.
    world.write("project/.lockgate/p.rules", "block Forbidden\nblock Other\n");
    let shown = world.lockgate(&["trust", "--json"]).json();
    let hash = |name: &str| {
        let files = shown["files"].as_array().unwrap();
        files.iter().find(|it| it["path"].as_str().unwrap().ends_with(name)).unwrap()["sha256"].clone()
    };
    let path = world.path("project/.lockgate/p.rules").display().to_string();
    assert!(!forge(&|record| drop(
        record["files"].as_object_mut().unwrap().insert(path.clone(), hash("p.rules"))
    )));
}

#[test]
fn the_line_protocol_and_its_store_hold_too() {
    let world = World::new("bound-gate");
    world.write("project/a.rules", "block push\n");
    let call =
        "{\"call\": {\"id\": \"1\", \"tool\": \"push\"}}\n{\"call\": {\"id\": \"2\", \"tool\": \"pull\"}}\n";
    let verdicts = |words: &[&str]| -> Vec<String> {
        let words: Vec<&str> =
            ["gate", "a.rules", "--store", "sqlite:s.db"].iter().chain(words).copied().collect();
        let said = crate::world::Said::of(world.spawn(&words, call));
        let read =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["verdict"].as_str().unwrap().to_owned();
        said.out().lines().map(read).collect()
    };
    assert_eq!(verdicts(&[]), ["block", "allow"]);
    world.write("project/a.rules", "block pull\n");
    assert_eq!(verdicts(&[]), ["block", "block"]);
    assert_eq!(verdicts(&["--policy-changes", "follow"]), ["block", "block"], "it is bound to holding");
    let accepted = world.human(&["accept-policy", "--state", "s.db"]);
    assert_eq!(accepted.code(), Some(0), "{}{}", accepted.out(), accepted.err());
    assert_eq!(verdicts(&["--policy-changes", "follow"]), ["allow", "block"]);
}

#[test]
fn a_hook_says_that_its_entry_is_not_as_it_was_installed() {
    let world = scene("bound-entry");
    let event = json!({"session_id": "c1", "hook_event_name": "PreToolUse", "tool_name": "Forbidden", "tool_input": {},
        "tool_use_id": "t1", "cwd": world.path("project")});
    let settings = "project/.claude/settings.local.json";
    let installed = world.read(settings);
    let hook = || world.hook("claude-code", &event.to_string());
    assert!(!hook().out().contains("since it was installed"));
    for (text, what) in [
        (String::new(), "is gone"),
        ("{}".to_owned(), "is gone"),
        (installed.replace("block", "pass"), "was changed"),
    ] {
        world.write(settings, &text);
        let said = hook().out();
        assert!(said.contains("since it was installed") && said.contains(what), "{text}: {said}");
        let status = world.lockgate(&["status"]).out();
        assert!(status.contains("since it was installed"), "{status}");
    }
    fs::remove_file(world.path(settings)).unwrap();
    assert!(hook().out().contains("cannot be read"));
    let log = world.lockgate(&["audit", "--json"]).out();
    assert_eq!(log.matches("hook-changed").count(), 3, "once for each: {log}");
    world.write(settings, &installed);
    assert!(!hook().out().contains("since it was installed"));
    let doctor = world.lockgate(&["doctor", "claude-code"]).out();
    assert!(!doctor.contains("since it was installed"), "{doctor}");
    // Other entries of the user are none of our business.
    world.write(settings, &installed.replacen('{', "{\"mine\": 1,", 1));
    assert!(!hook().out().contains("since it was installed"));
}

#[test]
fn rules_that_count_over_all_sessions_block_under_two_policies_until_one_is_accepted() {
    let world = World::new("shared");
    let policy = "limit Spend to 2 per 10 minutes over all sessions\n";
    world.write("home/.config/lockgate/policy.rules", policy);
    assert_eq!(decision(&world, "Spend", "s1"), "pass");
    world.write("home/.config/lockgate/policy.rules", &policy.replace('2', "9"));
    for (tool, session) in [("Spend", "s1"), ("Read", "s1"), ("Spend", "s2")] {
        let said = answer(&world, "generic", tool, session);
        assert_eq!(said["decision"], "block", "{said}");
        assert!(said["reason"].as_str().unwrap().contains("accept-policy"), "{said}");
    }
    let said = answer(&world, "generic", "Read", "s1");
    assert!(said["reason"].as_str().unwrap().contains("count over all sessions"), "{said}");
    // Restored, it goes on with what was counted, which the other policy did not give back.
    world.write("home/.config/lockgate/policy.rules", policy);
    assert_eq!(decision(&world, "Spend", "s3"), "pass");
    assert_eq!(decision(&world, "Spend", "s4"), "block");
}

#[test]
fn another_database_waits_for_a_human_in_new_sessions_too() {
    let world = scene("other-database");
    world.write("project/.lockgate/p.rules", "block nothing\n");
    assert_eq!(decision(&world, "Forbidden", "s2"), "block");
    let settings = format!("state = \"{}\"\n", world.path("other.db").display());
    world.write("home/.config/lockgate/lockgate.toml", &settings);
    for session in ["s1", "s2"] {
        let said = answer(&world, "generic", "Forbidden", session);
        assert_eq!(said["decision"], "block", "{said}");
        assert!(said["reason"].as_str().unwrap().contains("is stored in"), "{said}");
    }
    let said = answer(&world, "generic", "Read", "s3");
    assert_eq!(said["decision"], "block", "{said}");
    assert!(said["reason"].as_str().unwrap().contains("accept-policy"), "{said}");
    let waits = world.lockgate(&["accept-policy", "--json"]);
    assert_eq!((waits.code(), &waits.json()["database"]["to"]), (Some(1), &json!(world.path("other.db"))));
    assert_eq!(world.lockgate(&["accept-policy"]).code(), Some(2), "no terminal");
    assert_eq!(answer(&world, "generic", "Read", "s3")["decision"], "block");
    let accepted = world.human(&["accept-policy"]);
    assert_eq!(accepted.code(), Some(0), "{}", accepted.err());
    assert_eq!(decision(&world, "Forbidden", "s4"), "pass");
    assert_eq!(answer(&world, "generic", "Read", "s1")["decision"], "block", "it has its counts elsewhere");
}

/// A trusted project may have a database of its own, which a human has seen with it.
#[test]
fn a_database_of_a_trusted_project_is_no_other_one() {
    let world = scene("project-database");
    assert_eq!(decision(&world, "Forbidden", "s1"), "block");
    let settings = format!("state = \"{}\"\n", world.path("own.db").display());
    world.write("project/.lockgate/lockgate.toml", &settings);
    let trusted = world.human(&["trust"]);
    assert_eq!(trusted.code(), Some(0), "{}", trusted.err());
    assert_eq!(decision(&world, "Read", "s5"), "pass");
    assert!(world.path("own.db").exists());
}
