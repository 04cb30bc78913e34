//! Every page of `spec/`, played through the program itself: one process for each story.

use std::path::Path;

use lockgate_testkit::{GuardianDoor, HttpDoor, ProcessDoor, play_pages};

#[test]
fn the_program_answers_to_every_page() {
    let mut door = ProcessDoor::new(env!("CARGO_BIN_EXE_lockgate"));
    match play_pages(Path::new("../../spec"), &mut door) {
        Ok(count) => println!("program: {count}"),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn the_server_answers_to_every_page() {
    let mut door = HttpDoor::new(env!("CARGO_BIN_EXE_lockgate"));
    match play_pages(Path::new("../../spec"), &mut door) {
        Ok(count) => println!("server: {count}"),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn the_guardian_answers_to_every_page() {
    let mut door = GuardianDoor::new(env!("CARGO_BIN_EXE_lockgate"));
    match play_pages(Path::new("../../spec"), &mut door) {
        Ok(count) => println!("guardian: {count}"),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn a_program_that_says_nothing_fails() {
    let mut door = ProcessDoor::new("true");
    assert!(play_pages(Path::new("../../spec"), &mut door).is_err());
}
