//! Every page of `spec/`, played through the doors that need no process.
//!
//! The program itself answers to the same pages in the tests of its own crate.

#![expect(clippy::panic, clippy::print_stdout, reason = "helpers of tests may stop and say so")]

use std::path::Path;

use lockgate_testkit::{
    Door, EventsDoor, Host, LibraryDoor, LinesDoor, McpDoor, Options, PolicyFile, Tally, play_pages,
};

fn check(name: &str, door: &mut dyn Door) {
    match play_pages(Path::new("../../spec"), door) {
        Ok(count) => println!("{name}: {count}"),
        Err(failures) => panic!("{name}:\n{failures}"),
    }
}

fn check_hook(name: &str, host: Host) {
    let mut door = EventsDoor::new(host);
    check(name, &mut door);
    check_tally(name, door.tally());
}

/// A page that says more and more of what no protocol can say would be played past the door without anybody noticing.
fn check_tally(name: &str, tally: &Tally) {
    println!("{name}: {tally}");
    let unsayable: usize = tally.unsayable.values().sum();
    assert!(tally.told > unsayable * 20, "too little of it is said in the protocol's words: {tally}");
}

#[test]
fn the_library_answers_to_every_page() {
    check("library", &mut LibraryDoor::default());
}

#[test]
fn the_line_protocol_answers_to_every_page() {
    check("lines", &mut LinesDoor::default());
}

#[test]
fn the_hook_of_any_host_answers_to_every_page() {
    check_hook("hook generic", Host::Generic);
}

#[test]
fn the_hook_of_claude_code_answers_to_every_page() {
    check_hook("hook claude-code", Host::ClaudeCode);
}

#[test]
fn the_mcp_proxy_answers_to_every_page() {
    let mut door = McpDoor::default();
    check("mcp", &mut door);
    check_tally("mcp", door.tally());
}

#[test]
fn a_folder_without_pages_or_a_door_without_answers_fails() {
    struct Wall;
    impl Door for Wall {
        fn open(&mut self, _: &[PolicyFile], _: &Options) -> Result<(), String> {
            Ok(())
        }
        fn line(&mut self, _: serde_json::Value) -> Result<serde_json::Value, String> {
            Err("there is only a wall".into())
        }
    }
    assert!(play_pages(Path::new("src"), &mut LibraryDoor::default()).is_err());
    let failures = play_pages(Path::new("../../spec"), &mut Wall).unwrap_err();
    assert!(failures.contains("expected an answer, got there is only a wall"), "{failures}");
}
