//! What the runners of other systems share: reading the job, keeping time, answering.
//!
//! A runner is `fn main() -> ExitCode { answer(do_it) }`. Whatever goes wrong is a sentence on stderr and exit 1, so
//! that no figure is told for work that was not done. Comparing the verdict with what was expected is not done here:
//! whoever asks does that.

use std::{error::Error, fs, process::ExitCode};

#[path = "../../../../src/job.rs"]
pub mod job;
#[path = "../../../../src/pace.rs"]
pub mod pace;
#[path = "../../../../src/work.rs"]
pub mod work;

pub mod ask;

use job::{Answer, Done, Job, Pace, Told};

/// What a job came to, or why it could not be done as asked.
pub type Outcome = Result<Answer, Box<dyn Error>>;

/// Reads the job from stdin and writes what came of it to stdout.
pub fn answer(run: impl FnOnce(&Job) -> Outcome) -> ExitCode {
    match one_line(run) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn one_line(run: impl FnOnce(&Job) -> Outcome) -> Result<String, Box<dyn Error>> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let job = serde_json::from_str(&line).map_err(|problem| format!("stdin holds no job: {problem}"))?;
    Ok(serde_json::to_string(&run(&job)?)?)
}

/// The texts of the job's files whose names end so, one after the other.
pub fn texts(job: &Job, ending: &str) -> Result<String, Box<dyn Error>> {
    let mut texts = String::new();
    for path in job.files.iter().filter(|path| path.extension().is_some_and(|found| found == ending)) {
        let text = fs::read_to_string(path)
            .map_err(|problem| format!("cannot read `{}`: {problem}", path.display()))?;
        texts.push_str(&text);
    }
    if texts.is_empty() {
        return Err(format!("none of the job's files has a text and a name that ends in `.{ending}`").into());
    }
    Ok(texts)
}

/// A job that was done.
pub fn done(version: String, verdict: Option<Told>, pace: Pace) -> Answer {
    Answer::Done(Done { version, verdict, ..Done::of(pace) })
}

/// A job that the system has no way to do.
pub fn cannot(why: &str) -> Answer {
    Answer::Cannot { cannot: why.to_owned() }
}

/// What was decided.
pub fn told(is_allowed: bool) -> Told {
    if is_allowed { Told::Allow } else { Told::Block }
}
