//! Every page of `spec/`, played through the doors that need no process.
//!
//! The program itself answers to the same pages in the tests of its own crate.

#![expect(clippy::panic, clippy::print_stdout, reason = "helpers of tests may stop and say so")]

use std::path::Path;

use lockgate_testkit::{Door, LibraryDoor, LinesDoor, Options, PolicyFile, play_pages};

fn check(name: &str, door: &mut dyn Door) {
    match play_pages(Path::new("../../spec"), door) {
        Ok(count) => println!("{name}: {count}"),
        Err(failures) => panic!("{name}:\n{failures}"),
    }
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
