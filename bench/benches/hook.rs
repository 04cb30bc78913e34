//! How long does a coding agent wait for one event of a hook?
//!
//! Starts cold processes, one after the other, and prints the milliseconds from starting one to its end: `/bin/true`,
//! which is what the machine itself takes; `lockgate --version`; a hook whose event needs no policy; and whole
//! decisions of 100 rules that are stored before they are told. What stands between two rows is what that step costs.
//! Then what a process does with its database, and one `fsync` of a file, which no durable decision can be faster than.
//!
//! `cargo bench -p lockgate-bench --bench hook`; it builds the program first. `LOCKGATE=/path/to/lockgate` measures
//! another one.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the table is what it is for, and a bench may stop"
)]

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use lockgate::{
    Time,
    gate::{Put, Reach, Resting, Shelf},
    store::{Durability, Options, Sqlite},
};
use lockgate_bench::{program, rules};

const RULES: usize = 100;

fn main() {
    let is_bench = std::env::args().any(|word| word == "--bench");
    // Under `cargo test` it only has to be seen to work, and nobody waits for a program to be built.
    let (rounds, program) = if is_bench { (300, Some(program().unwrap())) } else { (1, None) };
    let root = std::env::temp_dir().join(format!("lockgate-bench-{}", std::process::id()));
    let (home, project) = (root.join("home"), root.join("project"));
    fs::create_dir_all(project.join(".lockgate")).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(project.join(".lockgate/policy.rules"), rules(RULES)).unwrap();
    println!("{:44}{:>10}{:>10}{:>10}", format!("ms of {rounds} cold processes"), "min", "p50", "p99");
    row("/bin/true", &mut || run(&mut Command::new("true"), ""), rounds);
    if let Some(program) = program {
        let here = |words: &[&str]| {
            let mut command = Command::new(&program);
            command.args(words).current_dir(&project).env_clear().env("HOME", &home);
            command
        };
        row("lockgate --version", &mut || run(&mut here(&["--version"]), ""), rounds);
        let quiet = r#"{"hook_event_name":"Notification","session_id":"s"}"#;
        row("an event without a call", &mut || run(&mut here(&["hook", "claude-code"]), quiet), rounds);
        let mut number = 0;
        let mut decide = |tool: &str| {
            let event = |name: &str, rest: &str| {
                let call = format!(
                    r#""tool_name":"{tool}","tool_input":{{"branch":"main"}},"tool_use_id":"{number}""#
                );
                format!(
                    r#"{{"hook_event_name":"{name}","session_id":"s","transcript_path":"/t",{call}{rest}}}"#
                )
            };
            let taken = run(&mut here(&["hook", "claude-code"]), &event("PreToolUse", ""));
            // Calls end before the next one begins, as those of most agents do.
            run(&mut here(&["hook", "claude-code"]), &event("PostToolUse", r#","tool_response":"done""#));
            number += 1;
            taken
        };
        row("a decision, stored: no rule has a say", &mut || decide("read"), rounds);
        row("a decision, stored: one rule counts it", &mut || decide("push"), rounds);
    }
    for durability in [Durability::Full, Durability::Normal] {
        let file = root.join(format!("{durability:?}.db"));
        let parts: Vec<[Duration; 4]> = (0..=rounds).map(|_| store_once(&file, durability)).collect();
        for (part, name) in ["open", "take", "put", "close"].into_iter().enumerate() {
            let mut all = parts.iter().skip(1).map(|parts| parts[part]);
            row(&format!("{name}, {durability:?}"), &mut || all.next().unwrap_or_default(), rounds);
        }
    }
    let mut file = File::create(root.join("synced")).unwrap();
    row("one fsync", &mut || sync(&mut file), rounds);
    fs::remove_dir_all(&root).unwrap();
}

fn run(command: &mut Command, input: &str) -> Duration {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let taken = started.elapsed();
    assert!(output.status.success(), "{output:?}");
    taken
}

/// What a process does with its database: open, take, put, close.
fn store_once(file: &Path, durability: Durability) -> [Duration; 4] {
    let mut last = Instant::now();
    let mut lap = || std::mem::replace(&mut last, Instant::now()).elapsed();
    let store = Sqlite::open(file, Options { durability, ..Options::default() }).unwrap();
    let open = lap();
    let taken = store.take("s", Reach::Session).unwrap();
    let take = lap();
    let session = Some(Resting { bytes: &[b'x'; 2_000], clock: Time(1), questions: 0 });
    let entry = r#"{"at":1,"session":"s","what":"operator","act":"bench"}"#.to_owned();
    taken.put(&Put { session, commons: None, entries: &[entry] }).unwrap();
    let put = lap();
    drop(store);
    [open, take, put, lap()]
}

fn sync(file: &mut File) -> Duration {
    let started = Instant::now();
    file.write_all(&[0; 4096]).unwrap();
    file.sync_all().unwrap();
    started.elapsed()
}

fn row(name: &str, take: &mut dyn FnMut() -> Duration, rounds: usize) {
    let mut all: Vec<f64> = (0..rounds).map(|_| take().as_secs_f64() * 1_000.0).collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
    println!("{name:44}{:>10.2}{:>10.2}{:>10.2}", at(0.0), at(0.5), at(0.99));
}
