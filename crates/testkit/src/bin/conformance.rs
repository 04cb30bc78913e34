//! Plays recorded cases through Lockgate and counts those that agree.

use std::{
    env, fs,
    io::{self, Write},
    process::ExitCode,
};

use lockgate_testkit::conformance::{LANGUAGES, Recorded, play_folder};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match arguments.as_slice() {
        ["--help" | "-h" | "help"] => io::stdout().write_all(help().as_bytes()).map(|()| 0),
        [language, path] => match play(language, path) {
            Ok((report, holds)) => {
                writeln!(io::stdout(), "{report}").map(|()| holds.map_or(2, |it| u8::from(!it)))
            }
            Err(error) => writeln!(io::stderr(), "error: {error}").map(|()| 2),
        },
        _ => io::stderr().write_all(help().as_bytes()).map(|()| 2),
    };
    // Whoever closes our output does not learn the answer.
    ExitCode::from(said.unwrap_or(2))
}

/// The report, and whether everything in it is as it should be, where that can be told.
fn play(language: &str, path: &str) -> Result<(String, Option<bool>), String> {
    let known = LANGUAGES.iter().find(|(name, _)| *name == language);
    let (_, recorded) =
        known.ok_or_else(|| format!("no language is called `{language}`; known: {}", names()))?;
    let unread = |error: io::Error| format!("cannot read `{path}`: {error}");
    match recorded {
        Recorded::InFile(conformance) => {
            let text = fs::read_to_string(path).map_err(unread)?;
            let report = conformance(&text).map_err(|bad| format!("`{path}` is no recording: {bad}"))?;
            Ok((report.to_string(), Some(report.holds())))
        }
        Recorded::InFolder(by_name) => {
            let report = play_folder(path.as_ref(), *by_name).map_err(unread)?;
            Ok((report.to_string(), report.holds()))
        }
        Recorded::InTable(compare) => {
            let report = compare(path.as_ref()).map_err(unread)?;
            Ok((report.to_string(), report.holds()))
        }
    }
}

fn help() -> String {
    format!(
        "Play recorded cases through the gate and count those that agree\n\n\
         conformance LANGUAGE FILE\n\
         conformance edictum FOLDER\n\
         conformance petri FOLDER\n\n\
         Languages: {}\n\
         Exit 0: all agree, 1: some do not, 2: could not tell.\n",
        names()
    )
}

fn names() -> String {
    LANGUAGES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
