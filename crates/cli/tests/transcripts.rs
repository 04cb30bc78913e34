//! A hook process takes from those before it what the YAML parser told, and decides as if it had asked the parser itself.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic like the tests")]

mod world;

use std::{fs, path::PathBuf, time::UNIX_EPOCH};

use lockgate::store::{Options, Sqlite, memos_folder};
use world::{Said, World};

const POLICY: &str = "include: [more.yaml]\nrules:\n  - {id: no-rm, when: {tool: rm}, then: block}\n";
const MORE: &str = "rules:\n  - id: no-mail\n    when: {tool: &mail send_mail}\n    then: block\n    message: \"not *to* anybody\"\n";

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("project/.lockgate/policy.yaml", POLICY);
    world.write("project/.lockgate/more.yaml", MORE);
    world
}

fn call(world: &World, id: usize, tool: &str) -> Said {
    let event = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": format!("u{id}"),
        "tool_name": tool, "tool_input": {}, "cwd": world.path("project")});
    world.hook("claude-code", &event.to_string())
}

/// What is decided about four tools, in words.
fn decided(world: &World, round: usize) -> Vec<String> {
    let told = |(at, tool): (usize, &&str)| {
        let said = call(world, 10 * round + at, tool);
        format!("{:?} {} {}", said.code(), said.out(), said.err())
    };
    ["rm", "send_mail", "read", "RM"].iter().enumerate().map(told).collect()
}

fn memos(world: &World) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(memos_folder(&world.database())).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_first_process_and_the_others_decide_alike() {
    let world = world("transcripts-alike");
    let first = decided(&world, 0);
    assert!(first[0].contains("deny") && first[1].contains("not *to* anybody") && !first[2].contains("deny"));
    let kept = memos(&world);
    assert_eq!(kept.len(), 2, "one for each file");
    assert_eq!(decided(&world, 1), first);
    assert_eq!(memos(&world), kept, "nothing is kept twice");
}

#[test]
fn a_changed_file_counts_at_once() {
    let world = world("transcripts-changed");
    assert!(call(&world, 0, "rm").out().contains("deny"));
    world.write("project/.lockgate/policy.yaml", &POLICY.replace("tool: rm", "tool: mv"));
    assert!(!call(&world, 1, "rm").out().contains("deny"));
    assert!(call(&world, 2, "mv").out().contains("deny"));
    world.write("project/.lockgate/policy.yaml", POLICY);
    assert!(call(&world, 3, "rm").out().contains("deny"));
    assert_eq!(memos(&world).len(), 3);
}

#[test]
fn nothing_done_to_what_is_kept_changes_a_decision() {
    let world = world("transcripts-damaged");
    let first = decided(&world, 0);
    let files = memos(&world);
    let whole: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let cut = |memo: &Vec<u8>| memo[..memo.len() - 1].to_vec();
    let flipped = |memo: &Vec<u8>| memo.iter().map(|byte| byte ^ 1).collect();
    let faults: [(&str, Vec<Vec<u8>>); 4] = [
        ("emptied", vec![Vec::new(); 2]),
        ("cut off", whole.iter().map(cut).collect()),
        ("changed", whole.iter().map(flipped).collect()),
        ("swapped", whole.iter().rev().cloned().collect()),
    ];
    for (round, (fault, damaged)) in (1..).zip(&faults) {
        for (file, damaged) in files.iter().zip(damaged) {
            fs::write(file, damaged).unwrap();
        }
        assert_eq!(decided(&world, round), first, "{fault}");
        for (file, whole) in files.iter().zip(&whole) {
            assert_eq!(&fs::read(file).unwrap(), whole, "{fault} and made anew");
        }
    }
    fs::remove_dir_all(memos_folder(&world.database())).unwrap();
    fs::write(memos_folder(&world.database()), "a file where the folder was").unwrap();
    assert_eq!(decided(&world, 9), first);
}

#[test]
fn what_was_kept_is_what_is_read() {
    let world = world("transcripts-read");
    decided(&world, 0);
    // Whoever has the key can make a transcript that says nothing; the policy is not in force then.
    let shelf = Sqlite::open(world.database(), Options::default()).unwrap();
    let program = fs::metadata(env!("CARGO_BIN_EXE_lockgate")).unwrap();
    let changed = program.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let build = format!("lockgate {} {} {changed}", env!("CARGO_PKG_VERSION"), program.len());
    assert!(shelf.memos(&build).recall(POLICY).is_some());
    shelf.memos(&build).keep([(POLICY, vec![1])]);
    drop(shelf);
    let said = call(&world, 20, "read");
    assert!(said.code() == Some(2) && said.err().contains("not in force"), "{}{}", said.out(), said.err());
}

#[test]
fn an_agent_must_leave_alone_what_is_kept() {
    let world = world("transcripts-protected");
    decided(&world, 0);
    let event = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "w",
        "tool_name": "Write", "tool_input": {"file_path": memos(&world)[0], "content": ""}, "cwd": world.path("project")});
    let said = world.hook("claude-code", &event.to_string());
    assert!(said.out().contains("deny"), "{}{}", said.out(), said.err());
}
