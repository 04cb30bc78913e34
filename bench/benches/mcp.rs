//! How much longer does a tool call take because the proxy stands between client and server?
//!
//! A server that answers at once is called over pipes, one call after the other: directly, through a process that only
//! passes lines on, through `lockgate mcp` without a store, and through it with every decision stored before it is told.
//! The table shows the microseconds of a whole call and what each way adds to the direct one.
//!
//! `cargo bench -p lockgate-bench --bench mcp`; it builds the program first. `LOCKGATE=/path/to/lockgate` measures
//! another one.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the table is what it is for, and a bench may stop"
)]

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_bench::{program, rules};

const RULES: usize = 100;

fn main() {
    match env::var("LOCKGATE_BENCH_ROLE").as_deref() {
        Ok("server") => return answer(),
        Ok("pipe") => return pass_on(),
        _ => {}
    }
    let is_bench = env::args().any(|word| word == "--bench");
    // Under `cargo test` it only has to be seen to work, and nobody waits for a program to be built.
    let (rounds, program) = if is_bench { (5_000, Some(program().unwrap())) } else { (10, None) };
    let root = env::temp_dir().join(format!("lockgate-bench-mcp-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("policy.rules"), rules(RULES)).unwrap();
    println!(
        "{:44}{:>10}{:>10}{:>10}{:>14}",
        format!("µs of {rounds} calls, {RULES} rules"),
        "min",
        "p50",
        "p99",
        "p50 added"
    );
    let direct = row("directly", as_role(&root, "server"), rounds, None);
    row("through a process that passes lines on", as_role(&root, "pipe"), rounds, Some(direct));
    if let Some(program) = program {
        for (name, more) in
            [("through lockgate mcp, in memory", &["--memory"][..]), ("the same, every decision stored", &[])]
        {
            let mut command = Command::new(&program);
            command
                .arg("mcp")
                .args(["--policy", "policy.rules"])
                .args(more)
                .arg("--")
                .arg(env::current_exe().unwrap());
            command.current_dir(&root).env("HOME", &root).env("LOCKGATE_BENCH_ROLE", "server");
            row(name, command, rounds, Some(direct));
        }
    }
    fs::remove_dir_all(&root).unwrap();
}

fn as_role(root: &Path, role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.current_dir(root).env("LOCKGATE_BENCH_ROLE", role);
    command
}

/// Calls a server over and over, and prints how long that takes.
fn row(name: &str, mut command: Command, rounds: usize, direct: Option<Duration>) -> Duration {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    let mut call = |id: usize| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read","arguments":{{"path":"/srv/data/{id}.txt","note":"{}"}}}}}}"#,
            "x".repeat(200)
        );
        let started = Instant::now();
        writeln!(to, "{text}").unwrap();
        line.clear();
        from.read_line(&mut line).unwrap();
        let taken = started.elapsed();
        assert!(line.contains(r#""text":"done""#), "{name}: {line}");
        taken
    };
    for id in 0..rounds / 10 {
        call(id);
    }
    let mut taken: Vec<Duration> = (0..rounds).map(|id| call(rounds + id)).collect();
    taken.sort();
    drop(to);
    end(child);
    let micros = |part: usize| taken[(taken.len() - 1) * part / 100].as_secs_f64() * 1e6;
    let added =
        direct.map_or_else(String::new, |direct| format!("{:.1}", micros(50) - direct.as_secs_f64() * 1e6));
    println!("{name:44}{:>10.1}{:>10.1}{:>10.1}{added:>14}", micros(0), micros(50), micros(99));
    taken[(taken.len() - 1) / 2]
}

fn end(mut child: Child) {
    let _ = child.wait();
}

/// A server that answers every call at once.
fn answer() {
    let (stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    for line in stdin.lines().map_while(Result::ok) {
        // Its own answers are the shortest there are, so that the way is what is measured.
        let id: String =
            line.split(r#""id":"#).nth(1).unwrap_or("0").chars().take_while(char::is_ascii_digit).collect();
        let result = r#"{"content":[{"type":"text","text":"done"}]}"#;
        if writeln!(stdout, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return;
        }
    }
}

/// Passes lines on in both directions, as the simplest proxy would.
fn pass_on() {
    let mut child =
        as_role(&PathBuf::from("."), "server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let back = thread::spawn(move || copy(BufReader::new(from), &mut io::stdout().lock()));
    copy(io::stdin().lock(), &mut to);
    drop(to);
    let _ = back.join();
    end(child);
}

fn copy(from: impl BufRead, to: &mut impl Write) {
    for line in from.lines().map_while(Result::ok) {
        if writeln!(to, "{line}").and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
