//! Plays every page of a folder through a program that speaks the line protocol: `play-pages PROGRAM FOLDER`.
//!
//! The program is started once for each story with the arguments of `lockgate gate`. Packages for other languages have such
//! a program, so that they answer to the same pages as every other door.

use std::{path::Path, process::ExitCode};

use lockgate_testkit::{ProcessDoor, play_pages};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder] = arguments.as_slice() else {
        eprintln!("usage: play-pages PROGRAM FOLDER");
        return ExitCode::from(2);
    };
    match play_pages(Path::new(folder), &mut ProcessDoor::new(program)) {
        Ok(played) => {
            println!("{program}: {played}");
            println!("test result: ok. {} passed; 0 failed; 0 ignored", played.rows);
            ExitCode::SUCCESS
        }
        Err(failures) => {
            println!("{failures}");
            println!("test result: FAILED. 0 passed; {} failed; 0 ignored", failures.lines().count());
            ExitCode::FAILURE
        }
    }
}
