//! How long does a coding agent wait for one event of a hook?
//!
//! Cold processes, one after the other, from starting one to its end: `/bin/true`, which is what the machine itself takes;
//! `lockgate --version`; a hook whose event needs no policy; and whole decisions that are stored before they are told. What
//! stands between two rows is what that step costs. Then what a process does with its database, and one `fsync` of a file,
//! which no durable decision can be faster than. `LOCKGATE=/path/to/lockgate` measures another program.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_bench::{
    disk, pace, program, rules,
    work::{Language, Work},
};

use super::desk::{self, Cell, Desk};

/// What a process costs before it has anything to decide.
pub(crate) const STARTING: &str = "a cold process";

/// A whole decision, on disk before it is told.
pub(crate) const DECIDING: &str = "a cold process that decides";

const DATABASE: &str = "a process's turn with its database";

const DISK: &str = "the disk";

const RULES: usize = 100;

/// For how long the processes of one row are started again and again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fewer processes say nothing.
const PROCESSES_MIN: usize = 5;

/// Decisions of ours: who, which policy, which tool.
const DECISIONS: [(&str, Language, &str); 4] = [
    ("Lockgate, 100 one-line rules, none has a say", Language::Rules, "read"),
    ("Lockgate, 100 one-line rules, one counts", Language::Rules, "push"),
    ("Lockgate, 100 when/then rules", Language::WhenThen, "tool_99"),
    ("Lockgate, a ruleset of 100", Language::Ruleset, "tool_99"),
];

/// The same through a guardian, which has read the policy and opened the database before.
const GUARDED: (&str, &str) = ("Lockgate, 100 one-line rules, one counts, through the guardian", "push");

/// Starts processes.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    let root =
        tempfile::tempdir().map_err(|error| format!("cannot create a folder to run hooks in: {error}"))?;
    let program =
        program().ok_or("`lockgate` does not build; try `cargo build --profile dist -p lockgate-cli`")?;
    for work in desk.wanted(&[STARTING, DECIDING, DATABASE, DISK], |work| work) {
        match work {
            STARTING => starting(desk, &program, root.path())?,
            DECIDING => {
                deciding(desk, &program, root.path())?;
                guarded(desk, &program, root.path())?;
                peers(desk)?;
            }
            DATABASE => database(desk, root.path())?,
            _ => syncing(desk, root.path())?,
        }
    }
    Ok(())
}

fn starting(desk: &mut Desk<'_>, program: &Path, root: &Path) -> Result<(), String> {
    let place = Place::with_policy(program, root, Language::Rules)?;
    row(desk, STARTING, "/bin/true", None, || run(&mut Command::new("true"), b""))?;
    row(desk, STARTING, "Lockgate, --version", None, || run(&mut place.lockgate(&["--version"]), b""))?;
    let quiet = br#"{"hook_event_name":"Notification","session_id":"s"}"#;
    row(desk, STARTING, "Lockgate, an event without a call", None, || {
        run(&mut place.lockgate(&["hook", "claude-code"]), quiet)
    })
}

fn deciding(desk: &mut Desk<'_>, program: &Path, root: &Path) -> Result<(), String> {
    for (who, language, tool) in DECISIONS {
        let place = Place::with_policy(program, root, language)?;
        place.check_it_blocks()?;
        let mut number = 0;
        row(desk, DECIDING, who, None, || {
            number += 1;
            place.decide(tool, number)
        })?;
    }
    Ok(())
}

/// A guardian of the user who measures: who it runs as does not change what a hook waits for.
fn guarded(desk: &mut Desk<'_>, program: &Path, root: &Path) -> Result<(), String> {
    let place = Place::with_policy(program, root, Language::Rules)?;
    let Some(guardian) = Guardian::start(place, root)? else {
        desk.remark(Some(DECIDING), None, GUARDED.0, "no guardian runs on this system");
        return Ok(());
    };
    guardian.place.check_it_blocks()?;
    let mut number = 0;
    row(desk, DECIDING, GUARDED.0, DECISIONS.get(1).map(|(same, ..)| *same), || {
        number += 1;
        guardian.place.decide(GUARDED.1, number)
    })
}

/// A running guardian, ended when this is dropped.
struct Guardian {
    place: Place,
    daemon: Child,
}

impl Guardian {
    /// None where the system has none.
    fn start(place: Place, root: &Path) -> Result<Option<Self>, String> {
        let Some(user) = user_of(root) else { return Ok(None) };
        let root = fs::canonicalize(root).map_err(|error| super::cannot("find", root, &error))?;
        let (machine, socket) = (root.join("guardian.toml"), root.join("guardian.sock"));
        let policies = root.join("policies").join(user.to_string());
        for folder in [&policies, &root.join("data/users").join(user.to_string())] {
            fs::create_dir_all(folder).map_err(|error| super::cannot("create", folder, &error))?;
        }
        let (own, its) = (place.home.join(".config/lockgate"), policies.join("lockgate"));
        fs::rename(&own, &its).map_err(|error| super::cannot("move", &own, &error))?;
        let text = format!(
            "socket = {socket:?}\nuser = {user}\nusers = [{user}]\npolicies = {:?}\ndata = {:?}\ndeadline = \"60s\"\n",
            root.join("policies"),
            root.join("data"),
        );
        fs::write(&machine, text).map_err(|error| super::cannot("write", &machine, &error))?;
        let place = Place { machine: Some(machine), ..place };
        let mut command = place.lockgate(&["serve", "--guardian"]);
        let daemon = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let daemon = daemon.map_err(|error| format!("{command:?} does not start: {error}"))?;
        let guardian = Self { place, daemon };
        let started = Instant::now();
        while !socket.exists() {
            if started.elapsed() > PATIENCE {
                return Err("the guardian does not listen".to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Some(guardian))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

#[cfg(unix)]
fn user_of(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder).ok().map(|data| data.uid())
}

#[cfg(not(unix))]
fn user_of(_: &Path) -> Option<u32> {
    None
}

fn peers(desk: &mut Desk<'_>) -> Result<(), String> {
    for at in desk.wanted_peers() {
        let Some(peer) = desk.peers.get(at) else { continue };
        let (who, language) = (peer.name.clone(), peer.language);
        let Some(text) = Work::One.policy(language, RULES) else { continue };
        let (_folder, policy) = desk::policy(language.file_name(), &text)?;
        let Some(hook) = (peer.hook)(&policy, &Work::One.call(RULES)) else { continue };
        let once = || run(Command::new(&hook.program).args(&hook.args), &hook.stdin);
        let same = DECISIONS.iter().rev().find(|(_, ours, _)| *ours == language).or(DECISIONS.last());
        // A peer whose hook does not run is a footnote, and no reason to stop.
        match once() {
            Ok(_) => row(desk, DECIDING, &who, same.map(|(against, ..)| *against), once)?,
            Err(error) => desk.remark(Some(DECIDING), None, &who, error.lines().next().unwrap_or("fails")),
        }
    }
    Ok(())
}

fn database(desk: &mut Desk<'_>, root: &Path) -> Result<(), String> {
    for (is_synced, how) in [(true, "synced"), (false, "not synced")] {
        let file = root.join(format!("{how}.db"));
        let turns = (0..=desk.effort.processes).map(|_| disk::turn(&file, is_synced));
        let turns = turns.collect::<Result<Vec<_>, _>>()?;
        for (part, name) in disk::PARTS.into_iter().enumerate() {
            // The first one creates the file.
            let taken = turns.iter().skip(1).filter_map(|parts| parts.get(part)).map(nanoseconds).collect();
            let cell = Cell { work: DATABASE, size: None, who: &format!("{name}, {how}"), against: None };
            desk.put(&cell, "ns", pace::of(taken), env!("CARGO_PKG_VERSION"), None);
        }
    }
    Ok(())
}

fn syncing(desk: &mut Desk<'_>, root: &Path) -> Result<(), String> {
    let name = root.join("synced");
    let mut file = File::create(&name).map_err(|error| super::cannot("create", &name, &error))?;
    row(desk, DISK, "one fsync", None, || {
        disk::sync(&mut file).map_err(|error| super::cannot("write", &name, &error))
    })
}

/// A project, and a home of its own with a policy.
struct Place {
    program: PathBuf,
    home: PathBuf,
    project: PathBuf,
    /// The settings of a guardian, if one decides.
    machine: Option<PathBuf>,
}

impl Place {
    fn with_policy(program: &Path, root: &Path, language: Language) -> Result<Self, String> {
        let (home, project) = (root.join(format!("home-{language:?}")), root.join(format!("{language:?}")));
        let text = match language {
            Language::Rules => Some(rules(RULES)),
            _ => Work::One.policy(language, RULES),
        };
        // The user's own: beside a project's that nobody has trusted, the built-in policy would be measured as well.
        let own = home.join(".config").join("lockgate");
        let policy = own.join(language.file_name());
        for folder in [&own, &project] {
            fs::create_dir_all(folder).map_err(|error| super::cannot("create", folder, &error))?;
        }
        fs::write(&policy, text.unwrap_or_default())
            .map_err(|error| super::cannot("write", &policy, &error))?;
        Ok(Self { program: program.to_path_buf(), home, project, machine: None })
    }

    fn lockgate(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(machine) = &self.machine {
            command.arg("--machine").arg(machine);
        }
        command.args(words).current_dir(&self.project).env_clear().env("HOME", &self.home);
        command
    }

    /// A hook that had not found its policy would be fast for nothing.
    fn check_it_blocks(&self) -> Result<(), String> {
        let call = r#""tool_use_id":"1","tool_input":{"command":"drop table t99;"}"#;
        for tool in ["shell3", "tool_99"] {
            let event = format!(
                r#"{{"hook_event_name":"PreToolUse","session_id":"check","transcript_path":"/t","tool_name":"{tool}",{call}}}"#
            );
            let (_, told) = run_and_hear(&mut self.lockgate(&["hook", "claude-code"]), event.as_bytes())?;
            if told.contains(r#""deny""#) {
                return Ok(());
            }
        }
        Err("a hook lets pass what its policy blocks, so its policy is not read".to_owned())
    }

    /// The time of the decision alone. Calls end before the next one begins, as those of most agents do.
    fn decide(&self, tool: &str, number: usize) -> Result<Duration, String> {
        let event = |name: &str, rest: &str| {
            let call = format!(
                r#""tool_name":"{tool}","tool_input":{{"branch":"main","command":"ls"}},"tool_use_id":"{number}""#
            );
            format!(r#"{{"hook_event_name":"{name}","session_id":"s","transcript_path":"/t",{call}{rest}}}"#)
        };
        let hook = || self.lockgate(&["hook", "claude-code"]);
        let taken = run(&mut hook(), event("PreToolUse", "").as_bytes())?;
        run(&mut hook(), event("PostToolUse", r#","tool_response":"done""#).as_bytes())?;
        Ok(taken)
    }
}

fn run(command: &mut Command, input: &[u8]) -> Result<Duration, String> {
    run_and_hear(command, input).map(|(taken, _)| taken)
}

fn run_and_hear(command: &mut Command, input: &[u8]) -> Result<(Duration, String), String> {
    let started = Instant::now();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{command:?} does not start: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Not everybody reads to the end.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let taken = started.elapsed();
    if output.status.success() {
        Ok((taken, String::from_utf8_lossy(&output.stdout).into_owned()))
    } else {
        Err(format!(
            "a hook ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}

fn row(
    desk: &mut Desk<'_>,
    work: &str,
    who: &str,
    against: Option<&str>,
    mut take: impl FnMut() -> Result<Duration, String>,
) -> Result<(), String> {
    let cell = Cell { work, size: None, who, against };
    desk.say(&cell);
    let rounds = desk.effort.processes;
    let started = Instant::now();
    for _ in 0..(rounds / 10).max(1) {
        take()?;
        if started.elapsed() > PATIENCE / 10 {
            break;
        }
    }
    let mut taken = Vec::new();
    while taken.len() < rounds && (started.elapsed() < PATIENCE || taken.len() < PROCESSES_MIN) {
        taken.push(nanoseconds(&take()?));
    }
    let version = if who.starts_with("Lockgate") { env!("CARGO_PKG_VERSION") } else { "" };
    desk.put(&cell, "ns", pace::of(taken), version, None);
    Ok(())
}

fn nanoseconds(taken: &Duration) -> f64 {
    taken.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_timed_and_one_that_fails_is_told() {
        let run_shell = |script: &str| run(Command::new("sh").args(["-c", script]), b"an event");
        assert!(run_shell("test \"$(cat)\" = 'an event'").unwrap() > Duration::ZERO);
        let told = run_shell("echo no policy >&2; exit 2").unwrap_err();
        assert_eq!(told, "a hook ended with exit status: 2: no policy");
    }
}
