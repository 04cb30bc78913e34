//! The dashboard and the playground in a real browser: `./test browser`, `./test playground`.
//!
//! `browser LOCKGATE FOLDER [WORD]` starts a server for each story, plays the story in Chromium, and keeps pictures of the pages in
//! the folder for review. A file that ends with `.html` in place of the program is the playground, which needs no server. No story may
//! make the browser complain: what the content policy forbids would be among it.

mod driver;
mod look;
mod playground;
mod stories;
mod team;

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use driver::{Browser, Driver, Programs, Setting};
use stories::{STORIES, Scene};
use team::Team;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (lockgate, folder, word) = match arguments.as_slice() {
        [lockgate, folder] => (Path::new(lockgate), Path::new(folder), ""),
        [lockgate, folder, word] => (Path::new(lockgate), Path::new(folder), word.as_str()),
        _ => return could_not("usage: browser LOCKGATE FOLDER [WORD]"),
    };
    let Some(programs) = Programs::find() else {
        return could_not(
            "there is no chromium with its chromedriver here; `apt-get install chromium chromium-driver` brings both",
        );
    };
    match play_all(&programs, lockgate, folder, word) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => could_not(&error),
    }
}

fn could_not(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {text}");
    ExitCode::from(2)
}

/// How many stories failed.
fn play_all(programs: &Programs, tried: &Path, folder: &Path, word: &str) -> Result<usize, String> {
    let said = |error: io::Error| error.to_string();
    // Pictures and databases of the last run would be taken for those of this one.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(said)?;
    let (tried, pictures) = (tried.canonicalize().map_err(said)?, folder.canonicalize().map_err(said)?);
    let driver = Driver::start(programs)?;
    let browser = driver.open(Setting::default())?;
    let failed = if tried.extension().is_some_and(|ending| ending == "html") {
        let scene = playground::Scene { browser: &browser, page: &tried, pictures: &pictures };
        play_chosen(&browser, playground::STORIES, word, |story, _| story(&scene))
    } else {
        play_chosen(&browser, STORIES, word, |story, number| {
            let team = Team::start(&tried, &pictures.join(format!("team-{number}")))?;
            story(&Scene { driver: &driver, browser: &browser, team: &team, pictures: &pictures })
        })
    }?;
    writeln!(io::stdout(), "pictures are in {}", pictures.display()).map_err(said)?;
    Ok(failed)
}

/// Plays the stories whose names have a word in them, and tells how each ended.
fn play_chosen<S>(
    browser: &Browser,
    stories: &[(&str, S)],
    word: &str,
    play: impl Fn(&S, usize) -> Result<(), String>,
) -> Result<usize, String> {
    let said = |error: io::Error| error.to_string();
    let chosen: Vec<_> = stories.iter().filter(|(name, _)| name.contains(word)).collect();
    if chosen.is_empty() {
        return Err(format!("no story has `{word}` in its name"));
    }
    let mut failed = 0;
    for (number, (name, story)) in chosen.iter().enumerate() {
        let begun = Instant::now();
        // The page of the last story still wants its server.
        browser.go("about:blank")?;
        browser.complaints()?;
        let played = play(story, number);
        let word = if played.is_ok() { "ok" } else { "FAILED" };
        writeln!(io::stdout(), "test {name} ... {word} ({:.1} s)", begun.elapsed().as_secs_f64())
            .map_err(said)?;
        if let Err(error) = played {
            failed += 1;
            writeln!(io::stdout(), "  {error}").map_err(said)?;
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let passed = chosen.len() - failed;
    writeln!(io::stdout(), "test result: {word}. {passed} passed; {failed} failed; 0 ignored")
        .map_err(said)?;
    Ok(failed)
}
