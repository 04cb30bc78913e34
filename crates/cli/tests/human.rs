//! Commands that open what the gate holds closed: only a human at a terminal of their own gets through, and every other
//! try is logged. All through the real binary and real processes; what needs `/proc` is for Linux.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{path::Path, process::Stdio};

use crate::world::{Said, World};
use lockgate_testkit::human::{self, Desk, Typed};
use serde_json::json;

const CAREFUL: &str = "require human-approval before deploy\n";

/// A session with a question that nobody waits for; the same on every run.
fn with_a_question(name: &str) -> World {
    let world = World::with(name, CAREFUL, "[hook]\ndeadline = \"120s\"\nask = \"wait\"\n");
    world.write("tools", "");
    world
}

fn ask(world: &World) -> std::process::Child {
    let event = json!({"event": "before", "session": "s1", "call": "c1", "tool": "deploy", "input": {},
        "cwd": world.path("project")});
    let hook = world.spawn(&["hook", "generic"], &event.to_string());
    world.first_question();
    hook
}

/// What the audit log says of refused commands.
fn refused(world: &World) -> Vec<String> {
    let options = lockgate::engine::store::Options::default();
    let store = lockgate::engine::store::Sqlite::open(world.database(), options).unwrap();
    let entries = store.audit_log(lockgate::engine::store::Query::default()).map(|link| link.unwrap().entry);
    entries.filter(|entry| entry.contains("refused-command")).collect()
}

#[test]
fn no_command_opens_anything_without_a_terminal() {
    let world = with_a_question("human-no-terminal");
    let hook = ask(&world);
    assert_eq!(world.lockgate(&["halt", "stop"]).code(), Some(0), "to close takes no human");
    let commands = [
        &["approve", "a1@generic/s1"][..],
        &["approve", "--all", "--yes"],
        &["approve", "--all", "--yes", "--json"],
        &["refuse", "--all", "--yes"],
        &["resume"],
        &["resume", "--session", "generic/s1", "--json"],
    ];
    for words in commands {
        // A session of its own has no controlling terminal, wherever the tests run.
        let lockgate = Path::new(env!("CARGO_BIN_EXE_lockgate"));
        let all: Vec<&str> =
            ["-w", lockgate.to_str().unwrap()].into_iter().chain(words.iter().copied()).collect();
        let mut command = world.command_of(Path::new("/usr/bin/setsid"), &all);
        let said = Said(command.stdin(Stdio::null()).output().unwrap());
        assert_eq!(said.code(), Some(2), "{words:?} {}", said.out());
        assert!(said.err().contains("open a terminal of your own"), "{words:?} {}", said.err());
    }
    let logged = refused(&world);
    assert_eq!(logged.len(), commands.len(), "{logged:?}");
    assert!(logged[0].contains(r#""command":"approve""#), "{}", logged[0]);
    assert_eq!(world.human(&["resume"]).code(), Some(0));
    assert_eq!(world.human(&["approve", "--all"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "pass");
}

#[test]
fn only_the_word_that_is_shown_is_a_yes() {
    let world = with_a_question("human-word");
    let hook = ask(&world);
    for typed in ["", "y", "yes", "approve", "mivoka", "\u{4}"] {
        let ran = world.human_typing(&["approve", "--all", "--yes"], Typed::Text(typed));
        assert_eq!(ran.output.status.code(), Some(1), "{typed:?} {ran:?}");
        assert!(ran.terminal.contains(r#"deploy"#), "the question is shown: {ran:?}");
    }
    // Words are made anew each time.
    let shown =
        |ran: human::Ran| ran.terminal.split("Type ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let word = shown(world.human_typing(&["approve", "--all"], Typed::Text("no")));
    let again = world.human_typing(&["approve", "--all"], Typed::Text(&word));
    assert_eq!(again.output.status.code(), Some(1), "{again:?}");
    assert_eq!(world.human(&["refuse", "a1@generic/s1"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

/// A program that drives a terminal of its own, as an agent could write it: it types back the word it reads.
const DRIVER: &str = r#"
import os, pty, re, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        got = os.read(fd, 1024)
    except OSError:
        break
    if not got:
        break
    seen += got
    word = re.search(rb"Type (\w+) to .*leave it: $", seen, re.S)
    if word:
        os.write(fd, word.group(1) + b"\n")
        seen = b""
sys.stdout.buffer.write(seen)
"#;

#[test]
fn an_agent_that_drives_a_terminal_answers_nothing() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        eprintln!("SKIPPED: there is no /usr/bin/python3 to drive a terminal with");
        return;
    }
    let world = with_a_question("human-driver");
    world.write("driver.py", DRIVER);
    let lockgate = env!("CARGO_BIN_EXE_lockgate");
    let driver = world.path("driver.py");
    let driver = driver.to_str().unwrap();
    // An agent that lives as long as its calls: it runs the hook, waits for the question, and then its tool.
    let agent = |session: &str, tool: &str| {
        let event = json!({"event": "before", "session": session, "call": "c1", "tool": "deploy", "input": {},
            "cwd": world.path("project")});
        world.write("event.json", &event.to_string());
        let text = format!(
            "{lockgate} hook generic < ../event.json > ../answer 2>&1 &\n\
             hook=$!\n\
             for i in $(seq 600); do {lockgate} pending | grep -q generic/{session} && break; sleep 0.1; done\n\
             {tool}\n\
             {lockgate} pending > ../left\n\
             kill $hook\n"
        );
        world.write("my-agent.sh", &text);
        let mut command = world.command_of(Path::new("/bin/sh"), &["../my-agent.sh"]);
        let said = command.stdin(Stdio::null()).output().unwrap();
        let said = [said.stdout, said.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (said.concat(), world.read("left"))
    };
    let approve = format!("{lockgate} approve --all --yes");
    let drive = format!("python3 {driver} {approve}");
    // It comes back when the agent has waited long enough for it to be an orphan, and says when it is done.
    let orphan = |start: &str| {
        format!(
            "rm -f ../orphaned; ({start} sh -c 'sleep 0.5; {drive}; touch ../orphaned' > ../orphan 2>&1 &)\n\
             for i in $(seq 600); do test -e ../orphaned && break; sleep 0.1; done; cat ../orphan"
        )
    };
    let mut logged = 0;
    for (session, (name, tool)) in [
        ("plainly", drive.clone()),
        ("by script", format!("script -qec '{approve}' /dev/null < /dev/null")),
        ("in a session of its own", format!("setsid -w {drive}")),
        ("as an orphan", orphan("setsid")),
        ("as an orphan without its variables", orphan("env -i PATH=$PATH HOME=$HOME setsid")),
        (
            "with another folder of data",
            format!("XDG_DATA_HOME=/tmp/none {drive} --state {}", world.database().display()),
        ),
    ]
    .iter()
    .enumerate()
    {
        let session = format!("s{session}");
        let (said, left) = agent(&session, tool);
        assert!(left.contains(&format!("generic/{session} ")), "{name}: {said} {left}");
        assert!(!left.contains("granted by"), "{name}: {said} {left}");
        let now = refused(&world).len();
        assert!(now > logged, "{name} was not logged: {said}");
        logged = now;
    }
}

#[test]
fn the_environment_of_an_agent_is_refused_wherever_it_stands() {
    let world = with_a_question("human-marked");
    let hook = ask(&world);
    for marker in
        ["CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "COPILOT_AGENT_SESSION_ID", "CURSOR_AGENT", "OPENCODE"]
    {
        // Of the process itself, and of its parent alone.
        let lockgate = env!("CARGO_BIN_EXE_lockgate");
        let own =
            Desk::new(Path::new("/usr/bin/env"), &[&format!("{marker}=1"), lockgate, "approve", "--all"]);
        let unset = format!("env -u {marker} {lockgate} approve --all; exit $?");
        let set = format!("{marker}=1");
        let parent = Desk::new(Path::new("/usr/bin/env"), &[set.as_str(), "sh", "-c", &unset]);
        for mut desk in [own, parent] {
            let plain = world.command_of(Path::new(lockgate), &[]);
            desk.command.current_dir(plain.get_current_dir().unwrap()).env_clear();
            desk.command.env("HOME", world.path("home")).env("PATH", "/usr/bin:/bin");
            desk.command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let ran = desk.run(Typed::Word);
            assert_eq!(ran.output.status.code(), Some(2), "{marker}: {ran:?}");
            let err = String::from_utf8_lossy(&ran.output.stderr).into_owned();
            assert!(err.contains("environment of a coding agent"), "{marker}: {err}");
        }
    }
    assert_eq!(world.human(&["refuse", "--all"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

#[test]
fn without_a_database_a_refusal_is_logged_beside_it() {
    let world = World::new("human-log");
    assert_eq!(world.lockgate(&["init", "claude-code", "--yes"]).code(), Some(0));
    let said = Said(
        world
            .command_of(
                Path::new("/usr/bin/setsid"),
                &["-w", env!("CARGO_BIN_EXE_lockgate"), "uninstall", "--yes"],
            )
            .output()
            .unwrap(),
    );
    assert_eq!(said.code(), Some(2), "{}", said.out());
    assert!(world.path("project/.claude/settings.local.json").exists());
    let log = world.read("home/.local/share/lockgate/refused-commands.jsonl");
    assert!(log.contains("uninstall") && log.lines().count() == 1, "{log}");
    assert_eq!(world.human(&["uninstall"]).code(), Some(0));
    assert!(!world.path("project/.claude/settings.local.json").exists());
}
