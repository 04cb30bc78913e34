//! Tries Lockgate between MCP clients and servers as others publish them: `./test mcp`.
//!
//! Clients play sessions with servers, with the gate in between and without it; the official conformance package does
//! as well. Models are missing on purpose: what matters here is what crosses the wire.

mod conformance;
mod cutter;
mod gate;
mod gated;
mod job;
mod peers;
mod recording;
mod session;
mod stage;
mod tap;
mod transparent;

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

use gate::Way;
use gated::{SCENARIOS, Scenario};
use job::{Job, Outcome};
use lockgate_e2e::npm_is_here;
use peers::{
    Client, PYTHON_AUTO, PYTHON_LEGACY, Peers, SUITES, Server, Suite, TYPESCRIPT_AUTO, TYPESCRIPT_LEGACY,
    TYPESCRIPT_MODERN, TYPESCRIPT_OLD,
};
use transparent::Pair;

const HELP: &str = "\
Try Lockgate between real MCP clients and servers

mcp-peers LOCKGATE FOLDER [WORD]
mcp-peers fetch FOLDER
mcp-peers tap FOLDER COMMAND…

LOCKGATE is the program to put in between, FOLDER keeps the peers that were fetched. With WORD, only tests are run whose
line holds it. `fetch` only fetches. `tap` stands before a command and keeps what is said in FOLDER.
";

const MODERN_PAIRS: &[&Client] =
    &[TYPESCRIPT_MODERN, PYTHON_AUTO, TYPESCRIPT_OLD, TYPESCRIPT_LEGACY, PYTHON_LEGACY];
const LEGACY_PAIRS: &[&Client] = &[TYPESCRIPT_OLD, TYPESCRIPT_AUTO, PYTHON_AUTO];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tap", folder, ..] => {
            let command = arguments.get(2..).unwrap_or_default();
            tap::stand(Path::new(folder), command).unwrap_or_else(|error| could_not(&format!("tap: {error}")))
        }
        ["fetch", folder] => match fetch(folder) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => could_not(&format!("error: {error}")),
        },
        [lockgate, folder] => try_all(lockgate, folder, ""),
        [lockgate, folder, word] => try_all(lockgate, folder, word),
        _ => could_not(HELP.trim_end()),
    }
}

fn could_not(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(2)
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

fn fetch(folder: &str) -> Result<Peers, String> {
    npm_is_here()?;
    let folder = PathBuf::from(folder);
    let folder = env::current_dir().map(|here| here.join(&folder)).unwrap_or(folder);
    Peers::fetch(&folder)
}

fn try_all(lockgate: &str, folder: &str, word: &str) -> ExitCode {
    let lockgate = match Path::new(lockgate).canonicalize() {
        Ok(lockgate) => lockgate,
        Err(error) => return could_not(&format!("error: {lockgate}: {error}")),
    };
    let this_program = match env::current_exe() {
        Ok(path) => path.display().to_string(),
        Err(error) => return could_not(&format!("error: {error}")),
    };
    let peers = match fetch(folder) {
        Ok(peers) => peers,
        Err(error) => return could_not(&format!("error: {error}")),
    };
    let job = Job { peers: &peers, lockgate: &lockgate, this_program };
    let tests = play(&job, &units(word), word);
    if tests.is_empty() {
        return could_not(&format!("error: no test has `{word}` in its line"));
    }
    let is_good = tests.iter().all(|test| test.is_good);
    if say(&tables(&tests)).and_then(|()| say(&summary(&tests))).is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::from(!is_good))
}

/// What is played in one go, because its tests share something.
enum Unit {
    Transparent(Pair, Vec<Way>),
    Gated(&'static Scenario, &'static Client, Way),
    Conformance(&'static Suite),
}

fn units(word: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    // The longest first, so that nobody waits for them at the end.
    units.extend(SUITES.iter().filter(|suite| suite_may_hold(suite, word)).map(Unit::Conformance));
    let with = |server, ways| move |client: &&'static Client| Pair { client, server, ways };
    let pairs = MODERN_PAIRS.iter().map(with(Server::Rig, Way::ALL));
    let pairs = pairs.chain(LEGACY_PAIRS.iter().map(with(Server::Everything, &[Way::Stdio, Way::Http])));
    let pairs = pairs.chain(LEGACY_PAIRS.iter().map(with(Server::Filesystem, &[Way::Stdio])));
    for pair in pairs {
        let ways: Vec<Way> = pair.ways.iter().copied().filter(|way| pair.name(*way).contains(word)).collect();
        if !ways.is_empty() {
            units.push(Unit::Transparent(pair, ways));
        }
    }
    for scenario in SCENARIOS {
        for (client, way) in scenario.plays() {
            if scenario.name(client, way).contains(word) {
                units.push(Unit::Gated(scenario, client, way));
            }
        }
    }
    units
}

/// Which scenarios a suite has is known only after it was run.
fn suite_may_hold(suite: &Suite, word: &str) -> bool {
    word.is_empty() || word.starts_with("conformance") || format!("conformance {}", suite.name).contains(word)
}

/// What came of a test, in a line and a cell of a table.
struct Test {
    line: String,
    is_good: bool,
    cell: Cell,
}

enum Cell {
    Transparent { client: &'static str, column: String },
    Gated { scenario: &'static str, column: String },
    Conformance { suite: &'static str, scenario: String, without: String, with: String },
}

fn play(job: &Job, units: &[Unit], word: &str) -> Vec<Test> {
    let (next, tests) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Peers wait for each other most of the time.
    let workers = 2 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = play_one(job, unit, word);
                    tests.lock().unwrap_or_else(PoisonError::into_inner).extend(played);
                }
            });
        }
    });
    tests.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn play_one(job: &Job, unit: &Unit, word: &str) -> Vec<Test> {
    match unit {
        Unit::Transparent(pair, ways) => {
            let told = |(way, outcome): (Way, Outcome)| {
                let column = format!("{}, {}", pair.server.name(), way.name());
                tell(pair.name(way), &outcome, Cell::Transparent { client: pair.client.name, column })
            };
            pair.run(job, ways).into_iter().map(told).collect()
        }
        Unit::Gated(scenario, client, way) => {
            let column = format!("{}, {}", client.name, way.name());
            let outcome = scenario.play(job, client, *way);
            vec![tell(
                scenario.name(client, *way),
                &outcome,
                Cell::Gated { scenario: scenario.sentence, column },
            )]
        }
        Unit::Conformance(suite) => {
            let told = |row: conformance::Row| {
                let conformance::Row { suite, scenario, without, with, outcome } = row;
                let line = format!("conformance {suite}: {scenario}");
                tell(line, &outcome, Cell::Conformance { suite, scenario, without, with })
            };
            let rows = conformance::run(job, suite).into_iter();
            let is_wanted = |row: &conformance::Row| {
                format!("conformance {}: {}", row.suite, row.scenario).contains(word)
            };
            rows.filter(is_wanted).map(told).collect()
        }
    }
}

fn tell(line: String, outcome: &Outcome, cell: Cell) -> Test {
    let text = match outcome {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("FAILED\n{}", indented(error)),
    };
    // Where nobody listens any more, the last line goes missing as well, and that is noticed.
    let _ = say(&format!("test {line} ... {text}"));
    Test { line, is_good: outcome.is_ok(), cell }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn tables(tests: &[Test]) -> String {
    let word = |test: &Test| if test.is_good { "holds" } else { "FAILS" };
    let mut matrices: [Vec<(String, String, &str)>; 2] = Default::default();
    let mut conformance: Vec<(&str, Vec<[String; 3]>)> = Vec::new();
    let [transparent, gated] = &mut matrices;
    for test in tests {
        match &test.cell {
            Cell::Transparent { client, column } => {
                transparent.push(((*client).to_owned(), column.clone(), word(test)));
            }
            Cell::Gated { scenario, column } => {
                gated.push(((*scenario).to_owned(), column.clone(), word(test)));
            }
            Cell::Conformance { suite, scenario, without, with } => {
                let row = [scenario.clone(), without.clone(), with.clone()];
                match conformance.iter_mut().find(|(name, _)| name == suite) {
                    Some((_, rows)) => rows.push(row),
                    None => conformance.push((suite, vec![row])),
                }
            }
        }
    }
    let mut text = String::new();
    for (title, cells) in
        [("What clients see is the same with the gate", transparent), ("What the gate does", gated)]
    {
        if !cells.is_empty() {
            text.push_str(&format!("\n{title}\n{}", matrix(cells)));
        }
    }
    for (suite, mut rows) in conformance {
        rows.sort();
        rows.insert(0, ["scenario".to_owned(), "without the gate".to_owned(), "with it".to_owned()]);
        text.push_str(&format!("\nConformance {suite}\n"));
        let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
        let (first, second) = (width(0).unwrap_or_default(), width(1).unwrap_or_default());
        for [scenario, without, with] in &rows {
            let mark = if with == without || scenario == "scenario" { "" } else { "  DIFFERS" };
            text.push_str(&format!("  {scenario:first$}  {without:second$}  {with}{mark}\n"));
        }
    }
    text
}

/// Lists of cells as rows and columns.
fn matrix(cells: &[(String, String, &str)]) -> String {
    let mut rows: Vec<&String> = cells.iter().map(|(row, _, _)| row).collect();
    let mut columns: Vec<&String> = cells.iter().map(|(_, column, _)| column).collect();
    for names in [&mut rows, &mut columns] {
        names.sort();
        names.dedup();
    }
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!("  {row}\n"));
        for column in &columns {
            let cell = cells.iter().find(|cell| cell.0 == *row && cell.1 == **column);
            if let Some((_, _, word)) = cell {
                text.push_str(&format!("    {word}  {column}\n"));
            }
        }
    }
    text
}

/// In the form of cargo's own tests, so that `./test` counts both.
fn summary(tests: &[Test]) -> String {
    let failed: Vec<&Test> = tests.iter().filter(|test| !test.is_good).collect();
    let mut text: String = failed.iter().map(|test| format!("FAILED: {}\n", test.line)).collect();
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = tests.len() - failed.len();
    text.push_str(&format!("test result: {word}. {passed} passed; {} failed; 0 ignored", failed.len()));
    text
}
