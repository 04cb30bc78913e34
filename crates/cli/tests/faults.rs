//! Whatever goes wrong in or around a hook, every host is made to block: each dialect against each fault, through the
//! real binary. What a host does with an answer is told here once more, by itself and in few lines, so that a mistake
//! in the shipped model cannot hide one in the dialects.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use crate::world::{Said, World};
use lockgate::engine::{
    gate::{Backend, Reach},
    store::{Options, Sqlite},
};
use serde_json::{Map, Value, json};

const POLICY: &str = "require test before deploy\n";

/// Hosts, and their events of a call before it runs; the keys of the session among them; and the key that says which
/// event it is.
fn hosts() -> Vec<(&'static str, Value, &'static [&'static str], &'static str)> {
    let claude = json!({"session_id": "s", "transcript_path": "/t", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_use_id": "t1"});
    let gemini = json!({"session_id": "s", "transcript_path": "/t", "hook_event_name": "BeforeTool",
        "timestamp": "2026-11-15T19:52:59.125Z", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}});
    let copilot =
        json!({"sessionId": "s", "timestamp": 1, "toolName": "bash", "toolArgs": {"command": "ls"}});
    let cursor = json!({"conversation_id": "s", "session_id": "s", "hook_event_name": "preToolUse",
        "cursor_version": "3.9.16", "tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t"});
    let plain =
        json!({"event": "before", "session": "s", "call": "c", "tool": "bash", "input": {"command": "ls"}});
    vec![
        ("claude-code", claude.clone(), &["session_id"], "hook_event_name"),
        ("codex", claude, &["session_id"], "hook_event_name"),
        ("gemini-cli", gemini, &["session_id"], "hook_event_name"),
        ("copilot", copilot, &["sessionId"], "hookEventName"),
        ("cursor", cursor, &["conversation_id", "session_id"], "hook_event_name"),
        ("opencode", plain.clone(), &["session"], "event"),
        ("openclaw", plain.clone(), &["session"], "event"),
        ("generic", plain, &["session"], "event"),
    ]
}

/// Whether the tool does not run, and somebody is told why.
fn blocks(host: &str, said: &Said) -> bool {
    let (code, out, err) = (said.code().unwrap(), said.out(), said.err());
    // Exit code 2 with a complaint blocks everywhere; without one, some hosts run the tool.
    if code == 2 && !err.trim().is_empty() {
        return out.trim().is_empty() || serde_json::from_str::<Map<String, Value>>(&out).is_ok();
    }
    let Ok(out) = serde_json::from_str::<Value>(&out) else { return false };
    let (decision, reason) = match host {
        "claude-code" | "codex" => (
            &out["hookSpecificOutput"]["permissionDecision"],
            &out["hookSpecificOutput"]["permissionDecisionReason"],
        ),
        "gemini-cli" => (&out["decision"], &out["reason"]),
        "copilot" => (&out["permissionDecision"], &out["permissionDecisionReason"]),
        "cursor" => (&out["permission"], &out["agent_message"]),
        _ => (&out["decision"], &out["reason"]),
    };
    let wanted = if ["opencode", "openclaw", "generic"].contains(&host) { "block" } else { "deny" };
    code == 0 && decision == wanted && reason.as_str().is_some_and(|reason| !reason.trim().is_empty())
}

fn passes(host: &str, said: &Said) -> bool {
    let out = said.out();
    let is_pass = match host {
        "claude-code" | "codex" | "gemini-cli" | "copilot" => out.is_empty(),
        "cursor" => said.json()["permission"] == "allow",
        _ => said.json()["decision"] == "pass",
    };
    said.code() == Some(0) && is_pass
}

/// A database as it is on disk that names a form of the future, and is whole otherwise.
fn newer_database() -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..18].copy_from_slice(&4096_u16.to_be_bytes());
    page[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
    page[27] = 1; // the file changed once
    page[31] = 1; // it has one page
    page[47] = 4; // the form of its schema
    page[59] = 1; // UTF-8
    page[63] = 99; // user_version
    page[68..72].copy_from_slice(b"LKGT");
    page[95] = 1; // the size above is of this change
    page[100] = 13; // an empty table
    page[105..107].copy_from_slice(&4096_u16.to_be_bytes());
    page
}

fn put_database(world: &World, bytes: &[u8]) {
    use std::{fs, os::unix::fs::PermissionsExt};
    fs::create_dir_all(world.database().parent().unwrap()).unwrap();
    fs::write(world.database(), bytes).unwrap();
    fs::set_permissions(world.database(), fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn without_a_fault_every_host_goes_on() {
    for (host, event, ..) in hosts() {
        let world = World::with(&format!("faultless-{host}"), POLICY, "");
        let said = world.hook(host, &event.to_string());
        assert!(passes(host, &said), "{host}: {:?} {} {}", said.code(), said.out(), said.err());
    }
}

#[test]
fn what_cannot_be_read_is_blocked() {
    for (host, event, session, kind) in hosts() {
        let world = World::with(&format!("unread-{host}"), POLICY, "");
        let mut unknown = event.clone();
        unknown[kind] = json!("PreTeleport");
        let mut nameless = event.clone();
        session.iter().for_each(|key| drop(nameless.as_object_mut().unwrap().remove(*key)));
        let mut empty_name = event.clone();
        session.iter().for_each(|key| empty_name[*key] = json!(""));
        let twice = event.to_string().replacen('{', &format!("{{\"{}\": \"other\", ", session[0]), 1);
        for (fault, input) in [
            ("broken", event.to_string().replace('}', "")),
            ("empty", String::new()),
            ("blank", " \n".to_owned()),
            ("an array", "[]".to_owned()),
            ("an event in an array", format!("[{event}]")),
            ("a text", "\"ls\"".to_owned()),
            ("null", "null".to_owned()),
            ("two events", format!("{event}{event}")),
            ("a name twice", twice),
            ("unknown kind", unknown.to_string()),
            ("no session", nameless.to_string()),
            ("empty session", empty_name.to_string()),
        ] {
            let said = world.hook(host, &input);
            assert!(blocks(host, &said), "{host}, {fault}: {:?} {} {}", said.code(), said.out(), said.err());
        }
    }
}

type Break = fn(&World);

/// What is broken around a hook, and what people are told about it.
const AROUND: &[(&str, Break, &str)] = &[
    ("policy", |world| world.write("project/.lockgate/policy.rules", "requir a\n"), "requir"),
    (
        "policy gone",
        |world| std::fs::remove_file(world.path("project/.lockgate/policy.rules")).unwrap(),
        "no policy",
    ),
    (
        "policy named, not there",
        |world| world.write("project/.lockgate/lockgate.toml", "policy = [\"nowhere.rules\"]\n"),
        "nowhere.rules",
    ),
    ("unknown key", |world| world.write("project/.lockgate/lockgate.toml", "modee = \"enforce\"\n"), "modee"),
    (
        "settings that are none",
        |world| world.write("project/.lockgate/lockgate.toml", "mode =\n"),
        "lockgate.toml:1",
    ),
    (
        "settings of no file",
        |world| {
            std::fs::remove_file(world.path("project/.lockgate/lockgate.toml")).unwrap();
            std::fs::create_dir(world.path("project/.lockgate/lockgate.toml")).unwrap();
        },
        "lockgate.toml",
    ),
    ("corrupt database", |world| put_database(world, &b"nonsense ".repeat(1000)), "lockgate.db"),
    ("newer database", |world| put_database(world, &newer_database()), "format 99"),
    (
        "a folder for a database",
        |world| std::fs::create_dir_all(world.database()).unwrap(),
        "no regular file",
    ),
    ("no folder for state", |world| put_in_the_way(world, "home/.local/share/lockgate"), "lockgate"),
    ("no folder for data", |world| put_in_the_way(world, "home/.local"), "policy of this session"),
];

/// A file where a folder should be.
fn put_in_the_way(world: &World, folder: &str) {
    std::fs::remove_dir_all(world.path(folder)).unwrap();
    world.write(folder, "");
}

#[test]
fn what_is_broken_around_a_hook_blocks() {
    for (host, event, ..) in hosts() {
        for (number, (fault, break_it, told)) in AROUND.iter().enumerate() {
            let world = World::with(&format!("around-{host}-{number}"), POLICY, "");
            break_it(&world);
            let said = world.hook(host, &event.to_string());
            let all = said.out() + &said.err();
            assert!(blocks(host, &said), "{host}, {fault}: {:?} {all}", said.code());
            assert!(all.contains(told), "{host}, {fault}: {all}");
        }
    }
}

#[test]
fn a_database_that_stays_in_use_blocks_when_the_time_is_over() {
    for (host, event, ..) in hosts() {
        let world = World::with(&format!("locked-{host}"), POLICY, "[hook]\ndeadline = \"900ms\"\n");
        let store = {
            std::fs::create_dir_all(world.database().parent().unwrap()).unwrap();
            Sqlite::open(world.database(), Options::default()).unwrap()
        };
        let held = store.lock("somebody else", Reach::Session).unwrap();
        let said = world.hook(host, &event.to_string());
        let all = said.out() + &said.err();
        assert!(blocks(host, &said), "{host}: {:?} {all}", said.code());
        assert!(all.contains("in time") || all.contains("was kept locked"), "{host}: {all}");
        drop(held);
    }
}

#[test]
fn a_host_that_never_ends_its_event_is_blocked() {
    use std::{io::Write, path::Path};

    // The first deadline is the only one there is before anything was read.
    let world = World::with("endless", POLICY, "");
    let mut hook =
        world.command_of(Path::new(env!("CARGO_BIN_EXE_lockgate")), &["hook", "codex"]).spawn().unwrap();
    let mut stdin = hook.stdin.take().unwrap();
    stdin.write_all(b"{\"session_id\": ").unwrap();
    let said = Said::of(hook);
    assert!(blocks("codex", &said), "{:?} {} {}", said.code(), said.out(), said.err());
    assert!(said.err().contains("in time"), "{}", said.err());
    drop(stdin);
}

#[test]
fn of_many_mistakes_in_a_policy_one_line_tells_the_first() {
    let world = World::new("faults-many-mistakes");
    for (policy, told) in
        [("blok a\n", ""), ("blok a\nblok b\nblok c\n", "and 2 more, which `lockgate verify` shows")]
    {
        world.write("project/.lockgate/policy.rules", policy);
        let (agent, event, ..) = &hosts()[0];
        let said = world.hook(agent, &event.to_string());
        assert!(blocks(agent, &said), "{}", said.err());
        let operator = said.err();
        assert_eq!(operator.trim_end().lines().count(), 1, "{operator}");
        assert!(operator.contains("not in force") && operator.contains(told), "{operator}");
        assert_eq!(operator.matches("blok").count(), 1, "{operator}");
    }
}
