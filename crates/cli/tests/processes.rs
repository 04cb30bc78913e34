//! Many hook processes on one session: nothing is lost, nothing is spent twice, whatever dies on the way.
//!
//! A coding agent starts a process for every event and runs several at once. Each test starts real processes; what
//! was told to the host is compared with what the database holds afterwards.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use crate::world::folder;
use lockgate::engine::{
    gate::audit_log::{LogEntry, LogEvent},
    store::{Options, Query, Sqlite},
};
use serde_json::{Value, json};

/// A project and a home of this test's own.
struct World {
    home: PathBuf,
    project: PathBuf,
}

impl World {
    fn new(name: &str, policy: &str) -> Self {
        let root = folder(name);
        let world = Self { home: root.join("home"), project: root.join("project") };
        fs::create_dir_all(world.project.join(".lockgate")).unwrap();
        // Processes that wait for each other on a busy machine may take long.
        let settings = world.home.join(".config/lockgate");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("policy.rules"), "block never_called\n").unwrap();
        fs::write(settings.join("lockgate.toml"), "[hook]\ndeadline = \"300s\"\n").unwrap();
        world.write_policy(policy);
        world
    }

    fn write_policy(&self, policy: &str) {
        let file = self.project.join(".lockgate/policy.rules");
        let beside = self.project.join(".lockgate/.policy.new");
        fs::write(&beside, policy).unwrap();
        fs::rename(beside, file).unwrap();
    }

    fn hook(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command.args(["hook", "generic"]).current_dir(&self.project).env_clear().env("HOME", &self.home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn tell(&self, event: &Value) -> Output {
        let mut child = self.hook().spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// What the hook decides about a call. On a busy machine it may block because it waited too long; then it has decided
    /// nothing, and is asked again.
    fn call(&self, id: &str, tool: &str) -> String {
        for _ in 0..20 {
            let output = self.tell(&before(id, tool));
            if !has_waited_too_long(&output.stdout) {
                return decision(&output);
            }
        }
        panic!("the database is never free");
    }

    fn store(&self) -> Sqlite {
        let options = Options { wait: Duration::from_secs(60), ..Options::default() };
        Sqlite::open(self.home.join(".local/share/lockgate/lockgate.db"), options).unwrap()
    }

    /// The verdicts in the audit log, by call, after the chain was verified.
    fn verdicts(&self) -> BTreeMap<String, Vec<String>> {
        let store = self.store();
        let verified = store.verify_trail(None, &mut |_| {}).unwrap();
        assert!(verified.is_whole(), "{:?}", verified.problems);
        let mut verdicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for link in store.audit_log(Query::default()) {
            let entry: LogEntry = serde_json::from_str(&link.unwrap().entry).unwrap();
            if let LogEvent::Call { call, decided } = entry.what {
                verdicts.entry(call.id).or_default().push(decided.verdict.clone());
            }
        }
        verdicts
    }
}

fn before(id: &str, tool: &str) -> Value {
    json!({ "event": "before", "session": "s", "call": id, "tool": tool, "input": {} })
}

fn has_waited_too_long(answer: &[u8]) -> bool {
    let said: Value = serde_json::from_slice(answer).unwrap_or_default();
    let reason = said["reason"].as_str().unwrap_or_default();
    reason.starts_with("lockgate: ") && (reason.contains("was kept locked") || reason.contains("in time"))
}

fn decision(output: &Output) -> String {
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    assert_eq!(output.status.code(), Some(0), "Lockgate failed: {output:?}");
    said["decision"].as_str().unwrap_or_else(|| panic!("no answer: {output:?}")).to_owned()
}

/// Runs a piece of work in so many threads, and gathers what each came to.
fn at_once<T: Send>(threads: usize, work: impl Fn(usize) -> Vec<T> + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|it| {
                scope.spawn({
                    let work = &work;
                    move || work(it)
                })
            })
            .collect();
        all.into_iter().flat_map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn sixteen_processes_on_one_limit_are_admitted_exactly_as_often_as_it_says() {
    let (processes, calls, limit) = (16, 200, 1_000);
    let world = World::new("limit", &format!("limit push to {limit} per session"));
    let told = at_once(processes, |process| {
        (0..calls)
            .map(|number| {
                let id = format!("{process}-{number}");
                let word = world.call(&id, "push");
                (id, word)
            })
            .collect()
    });
    let passed = told.iter().filter(|(_, word)| word == "pass").count();
    assert_eq!((told.len(), passed), (processes * calls, limit));
    let verdicts = world.verdicts();
    assert_eq!(verdicts.len(), processes * calls);
    for (id, word) in told {
        let expected = if word == "pass" { "allow" } else { "block" };
        assert_eq!(verdicts[&id], [expected], "{id}");
    }
}

#[test]
fn a_process_that_is_killed_loses_no_verdict_that_was_told() {
    let limit = 60;
    let world = World::new("killed", &format!("limit push to {limit} per session"));
    let next = AtomicU64::new(0);
    let told = at_once(4, |process| {
        let mut told = Vec::new();
        for number in 0..60 {
            let id = format!("{process}-{number}");
            let mut child = world.hook().spawn().unwrap();
            let event = before(&id, "push").to_string();
            // Whoever is dead already hears nothing.
            let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
            // Some are killed at once, some in the middle, some after they have answered.
            if number % 3 != 0 {
                thread::sleep(Duration::from_micros(next.fetch_add(1, Ordering::Relaxed) * 997 % 12_000));
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let is_decided = !has_waited_too_long(&output.stdout);
            let said: Option<Value> = serde_json::from_slice(&output.stdout).ok().filter(|_| is_decided);
            told.extend(said.map(|said| (id, said["decision"] == "pass")));
        }
        told
    });
    let verdicts = world.verdicts();
    let admitted = verdicts.values().flatten().filter(|word| *word == "allow").count();
    assert!(admitted <= limit, "{admitted} were admitted");
    for (id, passed) in &told {
        let expected = if *passed { "allow" } else { "block" };
        assert_eq!(verdicts[id], [expected], "{id} was told");
    }
    // The rest of the budget is still there, and not more.
    let rest = (0..=limit).filter(|number| world.call(&format!("rest-{number}"), "push") == "pass").count();
    assert_eq!(admitted + rest, limit);
}

#[test]
fn two_editions_of_a_policy_that_alternate_never_refund() {
    let world = World::new("editions", "limit push to 9 per session");
    let editions = [
        "limit push to 9 per session\nrequire backup before delete",
        "limit push to 6 per session",
        "block pull",
    ];
    let (mut passed_limited, mut passed) = (0, 0);
    for round in 0..30 {
        world.write_policy(editions[round % 3]);
        let pass = world.call(&round.to_string(), "push") == "pass";
        passed += usize::from(pass);
        passed_limited += usize::from(pass && round % 3 != 2);
    }
    // The session is bound to the first edition: its limit counts whatever is in force, and the stricter one beside it.
    assert_eq!(passed_limited, 6);
    assert_eq!(passed, 9);
    world.verdicts();
}

#[test]
fn editions_that_alternate_under_many_processes_hold_the_stricter_limit_together() {
    let world = World::new("alternating", "limit push to 40 per session");
    let told = at_once(5, |process| {
        if process == 0 {
            for round in 0..60 {
                world.write_policy(
                    ["limit push to 40 per session", "limit push to 40 per session\nblock pull"][round % 2],
                );
                thread::sleep(Duration::from_millis(5));
            }
            return Vec::new();
        }
        (0..40).map(|number| world.call(&format!("{process}-{number}"), "push")).collect()
    });
    assert_eq!(told.iter().filter(|word| *word == "pass").count(), 40);
    world.verdicts();
}

#[test]
fn a_full_disk_blocks_and_nothing_told_before_is_lost() {
    let world = World::new("full", "limit push to 100 per session");
    assert_eq!(world.call("1", "push"), "pass");
    // A bound on the size of files stands for the end of the disk: what is written beyond it fails.
    let log = world.home.join(".local/share/lockgate/lockgate.db-wal");
    let blocks = fs::metadata(log).unwrap().len() / 512 + 40;
    let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" hook generic");
    let told: Vec<Output> = (2..12)
        .map(|number| {
            let mut command = Command::new("sh");
            command.args(["-c", &limit, env!("CARGO_BIN_EXE_lockgate")]);
            command.current_dir(&world.project).env_clear().env("HOME", &world.home);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let event = before(&number.to_string(), "push").to_string();
            let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
            child.wait_with_output().unwrap()
        })
        .collect();
    // Whatever the system does to a process that writes too much, the call does not pass unless it was stored.
    let verdicts = world.verdicts();
    let mut failed = 0;
    for (number, output) in (2..12).zip(&told) {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let passed = output.status.code() == Some(0) && said["decision"] == "pass";
        failed += usize::from(!passed);
        assert_eq!(verdicts.contains_key(&number.to_string()), passed, "{number}: {output:?}");
    }
    assert!(failed > 0, "the disk was never full");
    assert_eq!(world.call("12", "push"), "pass");
}
