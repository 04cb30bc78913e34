//! Plays every page of a folder through a program that speaks the line protocol: `play-pages PROGRAM FOLDER`.
//!
//! The program is started once for each story with the arguments of `lockgate gate`. Packages for other languages have such
//! a program, so that they answer to the same pages as every other door.

use std::{
    env,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use lockgate_testkit::{ProcessDoor, play_pages};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [program, folder] = arguments.as_slice() else {
        let _ = writeln!(io::stderr(), "usage: play-pages PROGRAM FOLDER");
        return ExitCode::from(2);
    };
    let (told, passed, failed) = match play_pages(Path::new(folder), &mut ProcessDoor::new(program)) {
        Ok(played) => (played.to_string(), played.rows, 0),
        Err(failures) => (failures.clone(), 0, failures.lines().count()),
    };
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let counted = format!("test result: {word}. {passed} passed; {failed} failed; 0 ignored");
    match writeln!(io::stdout(), "{told}\n{counted}") {
        Ok(()) if failed == 0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
