//! Tries Lockgate with real coding agents, which talk to a scripted model: `./test hosts`.
//!
//! Every agent of [`AGENTS`] plays every scenario of [`SCENARIOS`]; each pair is one test. Agents with a licence of
//! their own are fetched and run only where somebody has asked for it. Real models are missing on purpose: what
//! matters here is what an agent does with our answers.

mod agents;
mod scenarios;
mod stage;

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use agents::{AGENTS, Agent};
use lockgate_e2e::{NODE, npm_is_here};
use scenarios::{SCENARIOS, Scenario};
use stage::Fetched;

const HELP: &str = "\
Try Lockgate with real coding agents

hosts LOCKGATE FOLDER [WORD]

LOCKGATE is the program to put into their hooks, FOLDER keeps the agents that were fetched. With WORD, only tests
are run whose line holds it.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (program, cache, word) = match arguments.as_slice() {
        [program, cache] => (program, cache, ""),
        [program, cache, word] => (program, cache, word.as_str()),
        _ => return could_not(HELP.trim_end()),
    };
    let program = match Path::new(program).canonicalize() {
        Ok(program) => program,
        Err(error) => return could_not(&format!("error: {program}: {error}")),
    };
    if let Err(error) = npm_is_here() {
        return could_not(&format!("error: {error}"));
    }
    let cache = PathBuf::from(cache);
    let cache = env::current_dir().map(|here| here.join(&cache)).unwrap_or(cache);
    let tests = try_all(&program, &cache, word);
    if tests.is_empty() {
        return could_not(&format!("error: no test has `{word}` in its line"));
    }
    let is_good = tests.iter().all(|test| !matches!(test.outcome, Outcome::Failed));
    if say(&matrix(&tests)).and_then(|()| say(&summary(&tests))).is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::from(!is_good))
}

fn could_not(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(2)
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// An agent in a scenario, and what came of it.
struct Test {
    agent: &'static Agent,
    scenario: &'static Scenario,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// An agent in a scenario, and what was fetched for it, or why it was not; none where nobody has asked for it.
type Pair = (&'static Agent, &'static Scenario, Option<Result<Fetched, String>>);

fn try_all(lockgate: &Path, cache: &Path, word: &str) -> Vec<Test> {
    let mut pairs: Vec<Pair> = Vec::new();
    for agent in AGENTS {
        let wanted: Vec<_> =
            SCENARIOS.iter().filter(|it| it.is_for(agent) && line(agent, it).contains(word)).collect();
        if wanted.is_empty() {
            continue;
        }
        let fetched = may_run(agent).then(|| fetch(agent, cache));
        pairs.extend(wanted.into_iter().map(|scenario| (agent, scenario, fetched.clone())));
    }
    let (next, tests) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((agent, scenario, fetched)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = try_one(agent, scenario, fetched.as_ref(), lockgate);
                    let mut tests = tests.lock().unwrap_or_else(PoisonError::into_inner);
                    tests.push(Test { agent, scenario, outcome });
                }
            });
        }
    });
    tests.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn try_one(
    agent: &Agent,
    scenario: &Scenario,
    fetched: Option<&Result<Fetched, String>>,
    lockgate: &Path,
) -> Outcome {
    let played = match fetched {
        None => None,
        Some(Ok(fetched)) => Some(scenario.play(agent, fetched, lockgate)),
        Some(Err(error)) => Some(Err(error.clone())),
    };
    let (outcome, text) = match played {
        None => (Outcome::Skipped, "ignored".to_owned()),
        Some(Ok(())) => (Outcome::Passed, "ok".to_owned()),
        Some(Err(error)) => (Outcome::Failed, format!("FAILED\n{}", indented(&error))),
    };
    // Where nobody listens any more, the last line goes missing as well, and that is noticed.
    let _ = say(&format!("test {} ... {text}", line(agent, scenario)));
    outcome
}

fn line(agent: &Agent, scenario: &Scenario) -> String {
    format!("{}: {}", agent.name, scenario.name)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn may_run(agent: &Agent) -> bool {
    agent.opt_in.is_none_or(|variable| env::var_os(variable).is_some_and(|value| value == "1"))
}

fn fetch(agent: &Agent, cache: &Path) -> Result<Fetched, String> {
    let _ = say(&format!("{} {} is kept in {}", agent.name, agent.package.version, cache.display()));
    let programs = Vec::from([agent.package.programs(cache)?, NODE.programs(cache)?]);
    let mut brought = Vec::new();
    if let Some((package, folders)) = agent.brings {
        let from = package.folder(cache)?;
        brought.extend(folders.iter().map(|to| (from.clone(), *to)));
    }
    Ok(Fetched { programs, brought })
}

/// Scenarios downwards, agents from left to right.
fn matrix(tests: &[Test]) -> String {
    let width = SCENARIOS.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    let mut text = format!("\n{:width$}", "");
    let names: String = AGENTS.iter().map(|agent| format!("  {:11}", agent.name)).collect();
    text.push_str(names.trim_end());
    for scenario in SCENARIOS {
        let row: String =
            AGENTS.iter().map(|agent| format!("  {:11}", cell(tests, agent, scenario))).collect();
        text.push_str(&format!("\n{:width$}{}", scenario.name, row.trim_end()));
    }
    for agent in AGENTS {
        if let Some(variable) = agent.opt_in
            && tests.iter().any(|test| test.agent.name == agent.name && test.outcome == Outcome::Skipped)
        {
            text.push_str(&format!(
                "\nSKIPPED: {} has a licence of its own; {variable}=1 fetches and runs it",
                agent.name
            ));
        }
    }
    text
}

fn cell(tests: &[Test], agent: &Agent, scenario: &Scenario) -> &'static str {
    let test = tests.iter().find(|test| test.agent.name == agent.name && test.scenario.name == scenario.name);
    match test.map(|test| test.outcome) {
        Some(Outcome::Passed) => "holds",
        Some(Outcome::Failed) => "FAILS",
        Some(Outcome::Skipped) => "skipped",
        None => "-",
    }
}

/// In the form of cargo's own tests, so that `./test` counts both.
fn summary(tests: &[Test]) -> String {
    let count = |outcome| tests.iter().filter(|test| test.outcome == outcome).count();
    let (passed, failed, skipped) = (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Skipped));
    let word = if failed == 0 { "ok" } else { "FAILED" };
    format!("\ntest result: {word}. {passed} passed; {failed} failed; {skipped} ignored")
}
