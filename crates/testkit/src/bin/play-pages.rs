//! Plays every page of a folder through a program that speaks the line protocol: `play-pages PROGRAM FOLDER [DIFFERENCES]`.
//!
//! The file of differences names the rows that the program's language cannot say.
//!
//! The program is started once for each story with the arguments of `lockgate gate`. Packages for other languages have such
//! a program, so that they answer to the same pages as every other door.

use std::{
    env, fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use lockgate_testkit::{ProcessDoor, play_pages_but};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (program, folder, differences) = match arguments.as_slice() {
        [program, folder] => (program, folder, Ok(String::new())),
        [program, folder, differences] => (program, folder, fs::read_to_string(differences)),
        _ => {
            let _ = writeln!(io::stderr(), "usage: play-pages PROGRAM FOLDER [DIFFERENCES]");
            return ExitCode::from(2);
        }
    };
    let differences = match differences {
        Ok(differences) => differences,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the differences cannot be read: {error}");
            return ExitCode::from(2);
        }
    };
    let played = play_pages_but(Path::new(folder), &mut ProcessDoor::new(program), &differences);
    let (told, passed, failed) = match played {
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
