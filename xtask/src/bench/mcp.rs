//! How much longer does a tool call take because the proxy stands between client and server?
//!
//! A server that answers at once is called over pipes, one call after the other: directly, through a process that only
//! passes lines on, through `lockgate mcp` without a store, and through it with every decision stored before it is told.
//! Server and passer-on are this program too, told by an environment variable. `LOCKGATE=/path/to/lockgate` measures
//! another program.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_bench::{job::Pace, pace, program, rules};

use super::{
    desk::{Cell, Desk},
    reading::told,
};

/// The one work there is.
pub(crate) const CALLING: &str = "one tool call over pipes";

const RULES: usize = 100;

const ROLE: &str = "LOCKGATE_BENCH_ROLE";

/// Plays server or passer-on where the environment says so.
pub(crate) fn play_role() -> Option<ExitCode> {
    let played = match env::var(ROLE).ok()?.as_str() {
        "server" => answer(io::stdin().lock(), &mut io::stdout().lock()),
        "pipe" => pass_on(),
        other => Err(io::Error::other(format!("no such role: `{other}`"))),
    };
    Some(played.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

/// Calls the server each way.
pub(crate) fn measure(desk: &mut Desk<'_>) -> Result<(), String> {
    let root =
        tempfile::tempdir().map_err(|error| format!("cannot create a folder for a policy: {error}"))?;
    let policy = root.path().join("policy.rules");
    fs::write(&policy, rules(RULES)).map_err(|error| super::cannot("write", &policy, &error))?;
    let program =
        program().ok_or("`lockgate` does not build; try `cargo build --profile dist -p lockgate-cli`")?;
    let through = |more: &[&str]| -> io::Result<Command> {
        let mut command = Command::new(&program);
        command.args(["mcp", "--policy", "policy.rules"]).args(more).arg("--").arg(env::current_exe()?);
        command.current_dir(root.path()).env("HOME", root.path()).env(ROLE, "server");
        Ok(command)
    };
    let ways = [
        ("directly", as_role(root.path(), "server")),
        ("through a process that passes lines on", as_role(root.path(), "pipe")),
        ("Lockgate, in memory", through(&["--memory"])),
        ("Lockgate, every decision stored", through(&[])),
    ];
    let mut direct = None;
    for (who, command) in ways {
        let cell = Cell { work: CALLING, size: None, who, against: None };
        desk.say(&cell);
        let command = command.map_err(|error| format!("cannot find this program: {error}"))?;
        let pace = call(command, desk.effort.calls).map_err(|error| format!("{who}: {error}"))?;
        let note = added(pace, direct);
        direct = direct.or(Some(pace.median));
        desk.put(&cell, "ns", pace, env!("CARGO_PKG_VERSION"), note);
    }
    Ok(())
}

fn added(pace: Pace, direct: Option<f64>) -> Option<String> {
    let more = pace.median - direct?;
    let word = if more < 0.0 { "less" } else { "more" };
    Some(format!("{} {word} than directly", told(more.abs(), "ns")))
}

fn as_role(root: &Path, role: &str) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.current_dir(root).env(ROLE, role);
    Ok(command)
}

/// Calls a server over and over.
fn call(mut command: Command, rounds: usize) -> io::Result<Pace> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut from = BufReader::new(from);
    let mut once = |id: usize| call_once(&mut to, &mut from, id);
    for id in 0..rounds / 10 {
        once(id)?;
    }
    let taken = (0..rounds).map(|id| Ok(once(rounds + id)?.as_secs_f64() * 1e9));
    let taken = taken.collect::<io::Result<Vec<f64>>>()?;
    drop(to);
    child.wait()?;
    Ok(pace::of(taken))
}

fn call_once(to: &mut impl Write, from: &mut impl BufRead, id: usize) -> io::Result<Duration> {
    let note = "x".repeat(200);
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read","arguments":{{"path":"/srv/data/{id}.txt","note":"{note}"}}}}}}"#
    );
    let mut line = String::new();
    let started = Instant::now();
    writeln!(to, "{text}")?;
    from.read_line(&mut line)?;
    let taken = started.elapsed();
    if line.contains(r#""text":"done""#) {
        Ok(taken)
    } else {
        Err(io::Error::other(format!("answered `{}`", line.trim())))
    }
}

/// A server that answers every call at once: its answers are the shortest there are, so that the way is what is measured.
fn answer(from: impl BufRead, to: &mut impl Write) -> io::Result<()> {
    for line in from.lines().map_while(Result::ok) {
        let id: String =
            line.split(r#""id":"#).nth(1).unwrap_or("0").chars().take_while(char::is_ascii_digit).collect();
        let result = r#"{"content":[{"type":"text","text":"done"}]}"#;
        writeln!(to, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        to.flush()?;
    }
    Ok(())
}

/// Passes lines on in both directions, as the simplest proxy would.
fn pass_on() -> io::Result<()> {
    let mut child =
        as_role(Path::new("."), "server")?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let back = thread::spawn(move || copy(BufReader::new(from), &mut io::stdout().lock()));
    let forth = copy(io::stdin().lock(), &mut to);
    drop(to);
    // Whether the way back has ended well does not matter once nobody asks any more.
    let _ = back.join();
    child.wait()?;
    forth
}

fn copy(from: impl BufRead, to: &mut impl Write) -> io::Result<()> {
    for line in from.lines().map_while(Result::ok) {
        writeln!(to, "{line}")?;
        to.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_answered_by_its_number() {
        let mut asked = Vec::new();
        let nobody = call_once(&mut asked, &mut io::empty(), 41).unwrap_err();
        assert_eq!(nobody.to_string(), "answered ``");
        let mut answered = Vec::new();
        answer(asked.as_slice(), &mut answered).unwrap();
        assert!(String::from_utf8(answered.clone()).unwrap().contains(r#""id":41,"#));
        call_once(&mut io::sink(), &mut answered.as_slice(), 41).unwrap();
    }

    #[test]
    fn what_a_way_adds_is_told_against_the_direct_one() {
        let pace = |median| Pace { median, ..Pace::default() };
        assert_eq!(added(pace(70_000.0), None), None);
        assert_eq!(added(pace(438_000.0), Some(70_000.0)).unwrap(), "368 µs more than directly");
        assert_eq!(added(pace(65_000.0), Some(70_000.0)).unwrap(), "5.0 µs less than directly");
    }
}
