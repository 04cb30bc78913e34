//! Tries all lines, in as many scenes as there are processors, and reports by class.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::{
    guard::Users,
    harm::{Guarded, Harm},
    lines::{self, Aim, Line, Mark},
    scene::{Answer, Scene},
    tools::{change_files, perform},
};

const HELP: &str = "\
Attack the gate with the agent's own tools

attacks LOCKGATE [--guardian] [WORD]
attacks LOCKGATE [--guardian] --every N

LOCKGATE is the program to try. With WORD, only lines are tried that hold it, or whose class has that name; each is shown
with what came of it. With --every, only each N-th line is tried. With --guardian, a guardian runs as another user than the
agent; that needs root, and makes two users of the system for as long as it runs. Attacks of the folder LOCKGATE_DATA are tried too.
";

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// The hook stopped it.
    Stopped,
    /// It passed, and everything is as before.
    Harmless,
    /// It changed something, and the gate still blocks.
    Noticed(String),
    /// The gate is open.
    Open(String),
    /// Everyday work that passed.
    Passed,
    /// Everyday work that was stopped.
    FalseAlarm(String),
    /// It was let pass, and a program that it needs is not installed here.
    NotTried,
    /// The scene broke.
    Broken(String),
}

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--perform", root, tool, input] = *arguments.as_slice() {
        change_files(Path::new(root), tool, &serde_json::from_str(input).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    let (guarded, arguments) = match *arguments.as_slice() {
        [program, "--guardian", ref rest @ ..] => (true, [&[program], rest].concat()),
        ref all => (false, all.to_vec()),
    };
    let (program, word, every) = match *arguments.as_slice() {
        [program] => (program, "", Some(1)),
        [program, "--every", number] => {
            (program, "", number.parse::<usize>().ok().filter(|every| *every > 0))
        }
        [program, word] => (program, word, Some(1)),
        _ => return could_not(HELP.trim_end()),
    };
    let data = env::var_os("LOCKGATE_DATA").map(PathBuf::from);
    let prepared = Path::new(program).canonicalize().map_err(|error| format!("{program}: {error}"));
    let prepared = prepared.and_then(|program| Ok((program, lines::all(data.as_deref())?)));
    let (program, mut lines) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return could_not(&format!("error: {error}")),
    };
    let Some(every) = every else { return could_not(HELP.trim_end()) };
    lines.retain(|line| line.text.contains(word) || line.class == word);
    let lines: Vec<Line> = lines.into_iter().step_by(every).collect();
    if lines.is_empty() {
        return could_not(&format!("error: no line has `{word}` in it"));
    }
    let folder = env::temp_dir().join(format!("lockgate-attacks-{}", std::process::id()));
    let tried = guarded.then(|| Users::make(&folder)).transpose();
    let tried = tried.and_then(|users| try_all(&folder, &program, &lines, users.as_ref()));
    let _ = fs::remove_dir_all(&folder);
    match tried {
        Ok(outcomes) => report(&lines, &outcomes, !word.is_empty()),
        Err(error) => could_not(&format!("error: {error}")),
    }
}

fn could_not(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(2)
}

fn try_all(folder: &Path, program: &Path, lines: &[Line], users: Option<&Users>) -> io::Result<Vec<Outcome>> {
    let workers = thread::available_parallelism().map_or(2, usize::from).clamp(1, 8);
    let scenes: io::Result<Vec<(Scene, Guarded)>> = (0..workers.min(lines.len()))
        .map(|number| {
            let folder = folder.join(number.to_string());
            fs::create_dir_all(&folder)?;
            let scene = Scene::new(&folder.canonicalize()?, program, users)?;
            let guarded = Guarded::of(&scene)?;
            Ok((scene, guarded))
        })
        .collect();
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for (mut scene, guarded) in scenes? {
            let (next, outcomes) = (&next, &outcomes);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(number) else { break };
                    let outcome = try_line(&mut scene, &guarded, line);
                    let outcome = outcome.unwrap_or_else(|error| Outcome::Broken(error.to_string()));
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outcome);
                }
                scene.end_processes();
            });
        }
        Ok::<(), io::Error>(())
    })?;
    Ok(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
}

fn try_line(scene: &mut Scene, guarded: &Guarded, line: &Line) -> io::Result<Outcome> {
    let mut stopped = None;
    let mut has_run = false;
    let mut is_missing = false;
    for (tool, input) in &line.calls {
        let input = serde_json::from_str::<Value>(&scene.filled(&input.to_string()))?;
        let tool = tool.as_str();
        match scene.ask("s1", "project", tool, &input)? {
            Answer::Stop(reason) => {
                stopped = Some(reason);
                break;
            }
            Answer::Pass if line.mark == Mark::Stop => {
                return Ok(Outcome::Open("the hook lets it pass".to_owned()));
            }
            Answer::Pass if line.aim == Aim::Everyday => {}
            Answer::Pass => {
                perform(scene, tool, &input);
                has_run = true;
                is_missing |= needs_missing(&input);
            }
        }
    }
    if line.aim == Aim::Everyday {
        return Ok(stopped.map_or(Outcome::Passed, Outcome::FalseAlarm));
    }
    if line.aim == Aim::SelfApproval {
        // A program that the agent has written would not be stopped by a hook.
        for (tool, input) in &line.calls {
            let input = serde_json::from_str::<Value>(&scene.filled(&input.to_string()))?;
            perform(scene, tool, &input);
        }
        if !scene.has_program() {
            scene.put_program()?;
        }
        has_run = true;
    }
    if !has_run {
        return Ok(Outcome::Stopped);
    }
    let harm = guarded.harm(scene);
    scene.restore()?;
    Ok(match harm? {
        Harm::Open(what) => Outcome::Open(what),
        // Behind the hook's back more can be changed; what counts there is that no human was feigned.
        _ if stopped.is_some() => Outcome::Stopped,
        Harm::Noticed(what) => Outcome::Noticed(what),
        Harm::None if is_missing => Outcome::NotTried,
        Harm::None => Outcome::Harmless,
    })
}

/// Programs that lines use and that not every machine has.
const RARE: &[&str] = &[
    "7z", "awk -i", "bsdtar", "busybox", "chattr", "cpio", "curl", "ed", "emacs", "ex", "expect", "fd",
    "fossil", "hg", "jar", "jj", "jq", "lua", "nano", "node", "openssl", "parallel", "pax", "perl", "php",
    "python3", "rsync", "ruby", "scp", "sponge", "sqlite3", "strace", "svn", "unzip", "vim", "wget", "xxd",
    "xz", "zip",
];

fn needs_missing(input: &Value) -> bool {
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    let is_there = |program: &str| {
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
    };
    let has = |name: &str| command.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    RARE.iter().any(|program| match program.split_once(' ') {
        Some((_, _)) => command.contains(program) && !is_there("gawk"),
        None => has(program) && !is_there(program),
    })
}

fn report(lines: &[Line], outcomes: &[Outcome], shows_all: bool) -> ExitCode {
    let mut text = String::new();
    let mut classes: Vec<&str> = Vec::new();
    let (mut passed, mut failed, mut ignored) = (0_usize, 0_usize, 0_usize);
    for line in lines {
        if !classes.contains(&line.class.as_str()) {
            classes.push(&line.class);
        }
    }
    for class in classes {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut remarks = String::new();
        for (line, outcome) in lines.iter().zip(outcomes).filter(|(line, _)| line.class == class) {
            let (word, what, is_bad) = match outcome {
                Outcome::Stopped => ("stopped", "", false),
                Outcome::Harmless => ("harmless", "", false),
                Outcome::Passed => ("passed", "", false),
                Outcome::Noticed(what) => ("noticed", what.as_str(), false),
                Outcome::NotTried => ("not tried", "a program is not installed", false),
                Outcome::Open(what) if line.mark == Mark::Limit => ("known limits", what.as_str(), false),
                Outcome::Open(what) => ("OPEN", what.as_str(), true),
                Outcome::FalseAlarm(what) => ("FALSE ALARM", what.as_str(), true),
                Outcome::Broken(what) => ("BROKEN", what.as_str(), true),
            };
            *counts.entry(word).or_default() += 1;
            match word {
                _ if is_bad => failed += 1,
                "known limits" | "not tried" => ignored += 1,
                _ => passed += 1,
            }
            if is_bad || shows_all {
                let line = line.text.chars().take(160).collect::<String>();
                remarks.push_str(&format!("  {word}: {line}\n      {}\n", what.trim()));
            }
        }
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        text.push_str(&format!("{class}: {}\n{remarks}", counts.join(", ")));
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    text.push_str(&format!("\ntest result: {word}. {passed} passed; {failed} failed; {ignored} ignored\n"));
    if io::stdout().write_all(text.as_bytes()).is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::from(failed > 0))
}
