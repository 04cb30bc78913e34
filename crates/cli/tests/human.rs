//! Commands that open what the gate holds closed: only a human at a terminal of their own gets through, and every other
//! try is logged. All through the real binary and real processes; what needs `/proc` is for Linux.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{fs, io::Write, path::Path, process::Stdio, sync::Arc, thread, time::Duration};

use crate::world::{Said, World};
use lockgate::engine::{
    ApprovalId, Gate, Time,
    gate::{AnswerClaim, Asked, Backend, SignedAnswer, StoredAnswer},
    languages::compile,
    store::{Options, Sqlite},
};
use lockgate_agents::{
    Environment,
    human_key::{Cost, SealedKey},
};
use lockgate_testkit::human::{self, Desk, PASSPHRASE, Ran, Typed};
use serde_json::{Value, json};

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
    let options = Options::default();
    let store = Sqlite::open(world.database(), options).unwrap();
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
        &["resume"],
        &["resume", "--session", "generic/s1", "--json"],
    ];
    for words in commands {
        // A session of its own has no controlling terminal, wherever the tests run.
        let lockgate = Path::new(env!("CARGO_BIN_EXE_lockgate"));
        let all: Vec<&str> =
            ["-w", lockgate.to_str().unwrap()].into_iter().chain(words.iter().copied()).collect();
        let mut command = world.command_of(Path::new("/usr/bin/setsid"), &all);
        // A passphrase is neither taken from stdin nor from a variable.
        command.env("LOCKGATE_PASSPHRASE", PASSPHRASE);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let _ = writeln!(child.stdin.take().unwrap(), "{PASSPHRASE}");
        let said = Said::of(child);
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

/// The human's key of a world, and the environment it is in.
fn key_of(world: &World) -> (ed25519_dalek::SigningKey, SealedKey, Environment) {
    let home = Some(world.path("home"));
    let environment = Environment { home, ..Environment::default() };
    let sealed = SealedKey::read(&environment).unwrap().unwrap();
    (sealed.unlock(PASSPHRASE.as_bytes()).unwrap(), sealed, environment)
}

/// The entries of the audit log that say this.
fn logged(world: &World, act: &str) -> Vec<String> {
    let store = Sqlite::open(world.database(), Options::default()).unwrap();
    let entries = store.audit_log(lockgate::engine::store::Query::default()).map(|link| link.unwrap().entry);
    entries.filter(|entry| entry.contains(&format!("\"{act}\""))).collect()
}

#[test]
fn only_the_passphrase_is_a_yes() {
    let world = with_a_question("human-passphrase");
    let hook = ask(&world);
    for typed in ["", "\u{4}", "\u{3}"] {
        let ran = world.human_typing(&["approve", "--all", "--yes"], Typed::Text(typed));
        assert_eq!(ran.output.status.code(), Some(1), "{typed:?} {ran:?}");
        assert!(ran.terminal.contains("deploy"), "the question is shown: {ran:?}");
        assert!(!ran.terminal.contains("Type "), "no word takes the place of the passphrase: {ran:?}");
    }
    // Three wrong ones end the command, and the next has to wait, even with the right one.
    let wrong = Typed::Lines(&["y", "correct horsf", "Correct horse", "correct horse"]);
    let ran = world.human_typing(&["approve", "--all", "--yes"], wrong);
    assert_eq!(ran.output.status.code(), Some(2), "{ran:?}");
    assert_eq!(ran.terminal.matches("That is not the passphrase.").count(), 3, "{ran:?}");
    assert_eq!(logged(&world, "wrong-passphrase").len(), 3);
    for words in [&["approve", "--all"][..], &["resume"], &["passphrase", "change"]] {
        let ran = world.human_typing(words, Typed::Word);
        let err = String::from_utf8_lossy(&ran.output.stderr).into_owned();
        assert_eq!(ran.output.status.code(), Some(2), "{ran:?}");
        assert!(err.contains("wrong 3 times; try again in "), "{words:?}: {err}");
        assert!(!ran.terminal.contains("horse"), "what is typed is not shown: {ran:?}");
    }
    assert!(world.first_question()["answer"].is_null());
    let attempts = "home/.local/share/lockgate/human.attempts";
    world.write(attempts, r#"{"failed":3,"last":0}"#);
    assert_eq!(world.human(&["approve", "--all"]).code(), Some(0));
    assert_eq!(world.read(attempts), r#"{"failed":0,"last":0}"#);
    assert_eq!(Said::of(hook).json()["decision"], "pass");
    let answers = logged(&world, "answer");
    assert!(answers[0].contains("\"signature\""), "the log keeps the signature: {answers:?}");
    assert_eq!(world.lockgate(&["audit", "verify"]).code(), Some(0));
}

#[test]
fn a_no_needs_no_proof() {
    let world = with_a_question("human-refuse");
    let hook = ask(&world);
    assert_eq!(world.lockgate(&["refuse", "a1@generic/s1"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "block");
    assert_eq!(world.lockgate(&["audit", "verify"]).code(), Some(0));
}

#[test]
fn every_command_that_opens_asks_for_the_passphrase() {
    let world = with_a_question("human-openings");
    let mut hook = ask(&world);
    assert_eq!(world.lockgate(&["init", "claude-code", "--yes", "--no-exclude"]).code(), Some(0));
    assert_eq!(world.lockgate(&["halt", "stop"]).code(), Some(0));
    assert_eq!(world.lockgate(&["halt", "stop", "--session", "generic/s1"]).code(), Some(0));
    world.write("project/.lockgate/policy.rules", &format!("{CAREFUL}block nothing\n"));
    let commands = [
        &["approve", "1"][..],
        &["approve", "--all", "--yes"],
        &["resume"],
        &["resume", "--session", "generic/s1", "--json"],
        &["trust"],
        &["uninstall", "claude-code"],
        &["uninstall", "claude-code", "--yes", "--json"],
        &["passphrase", "change"],
        &["passphrase", "adopt"],
    ];
    let run = |words: &[&str]| -> Ran { world.human_typing(words, Typed::Text("")) };
    for words in commands {
        let ran = run(words);
        assert_eq!(ran.output.status.code(), Some(1), "{words:?}: {ran:?}");
        assert!(ran.terminal.contains("Passphrase to "), "{words:?}: {ran:?}");
    }
    // Without a set-up human they refuse, and say what to do.
    let key = world.path("home/.local/share/lockgate/human.key");
    fs::rename(&key, world.path("aside")).unwrap();
    for words in commands {
        let ran = run(words);
        let err = String::from_utf8_lossy(&ran.output.stderr).into_owned();
        assert_eq!(ran.output.status.code(), Some(2), "{words:?}: {ran:?}");
        assert!(
            err.contains("run `lockgate passphrase ") || err.contains("`lockgate passphrase set`"),
            "{words:?}: {err}"
        );
        assert!(!ran.terminal.contains("Type "), "{words:?}: {ran:?}");
    }
    // Only a human's choice in the settings takes the passphrase away.
    world.write("home/.config/lockgate/policy.rules", "block nothing\n");
    world.write("home/.config/lockgate/lockgate.toml", "approvals = \"unprotected\"\n");
    let status = world.lockgate(&["status"]).out();
    assert!(status.contains("UNPROTECTED"), "{status}");
    assert!(world.lockgate(&["doctor", "claude-code"]).out().contains("UNPROTECTED"));
    for words in [&["resume"][..], &["resume", "--session", "generic/s1"], &["approve", "1"]] {
        let ran = world.human_typing(words, Typed::Word);
        assert_eq!(ran.output.status.code(), Some(0), "{words:?}: {ran:?}");
        assert!(ran.terminal.contains("Type "), "{words:?}: {ran:?}");
    }
    assert_eq!(logged(&world, "unprotected-command").len(), 3);
    // The hook that waits was started where a passphrase was needed, and takes no unsigned yes.
    while hook.try_wait().unwrap().is_none() {
        world.lockgate(&["refuse", "--all"]);
    }
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

#[test]
fn a_project_cannot_take_the_passphrase_away_unless_it_is_trusted() {
    let world = World::new("human-unprotected-project");
    world.write("project/.lockgate/policy.rules", CAREFUL);
    world.write("project/.lockgate/lockgate.toml", "approvals = \"unprotected\"\n");
    let status = world.lockgate(&["status", "--json"]).json();
    assert_eq!(status["approvals"], "answers need your passphrase");
    assert!(status["settings"]["waiting"].to_string().contains("approvals"), "{status}");
    world.trust();
    let status = world.lockgate(&["status", "--json"]).json();
    assert!(status["approvals"].to_string().contains("UNPROTECTED"), "{status}");
}

#[test]
fn a_passphrase_is_set_and_changed_at_the_terminal() {
    let world = World::without_human("human-set");
    world.write("project/.lockgate/policy.rules", CAREFUL);
    world.write("project/.lockgate/lockgate.toml", "[hook]\ndeadline = \"120s\"\nask = \"wait\"\n");
    world.trust();
    // Nobody can answer yet, so the hook does not wait for an answer.
    let event = |session: &str| {
        json!({"event": "before", "session": session, "call": "c1", "tool": "deploy", "input": {},
            "cwd": world.path("project")})
        .to_string()
    };
    let said = world.hook("generic", &event("s0")).json();
    assert!(said["reason"].as_str().unwrap().contains("lockgate passphrase set"), "{said}");
    assert!(world.lockgate(&["doctor", "claude-code", "--json"]).out().contains("no passphrase is set"));
    assert!(world.lockgate(&["init", "claude-code", "--dry-run"]).err().contains("no passphrase is set"));
    let told = |words: &[&str], lines: &[&str]| {
        let ran = world.human_typing(words, Typed::Lines(lines));
        assert!(!ran.terminal.contains("sesame"), "{ran:?}");
        let err = String::from_utf8_lossy(&ran.output.stderr).into_owned();
        (ran.output.status.code().unwrap(), err)
    };
    let (one, two) = ("open sesame", "close sesame");
    assert_eq!(told(&["passphrase", "set"], &[""]).0, 1);
    assert!(told(&["passphrase", "set"], &["tiny"]).1.contains("too short"));
    assert!(told(&["passphrase", "set"], &[one, two]).1.contains("differ"));
    assert!(!world.path("home/.local/share/lockgate/human.key").exists());
    assert_eq!(told(&["passphrase", "set"], &[one, one]), (0, String::new()));
    assert!(told(&["passphrase", "set"], &[one, one]).1.contains("set already"));
    let public_key = |world: &World| {
        let text = world.read("home/.local/share/lockgate/human.key");
        serde_json::from_str::<Value>(&text).unwrap()["public_key"].clone()
    };
    let before = public_key(&world);
    assert_eq!(told(&["passphrase", "change"], &[one, two, two]), (0, String::new()));
    assert_eq!(public_key(&world), before, "the same key");
    let hook = world.spawn(&["hook", "generic"], &event("s1"));
    world.first_question();
    assert_eq!(told(&["approve", "--all"], &[one, two]).0, 0, "the old one is wrong");
    assert_eq!(Said::of(hook).json()["decision"], "pass");
    // Another key without the old passphrase halts every session.
    let ran = world.human_typing(&["passphrase", "reset"], Typed::Word);
    assert_eq!(ran.output.status.code(), Some(0), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.output.stderr).contains("ALL SESSIONS MUST BE RESTARTED"));
    assert_ne!(public_key(&world), before);
    let said = world.hook("generic", &event("s1").replace("c1", "c2")).json();
    assert!(said["reason"].as_str().unwrap().contains("was replaced"), "{said}");
    assert_eq!(logged(&world, "human-key").len(), 2);
}

/// The question of a session, read without its policy.
fn question(world: &World, approval: &ApprovalId) -> (Asked, [u8; 16]) {
    let store = Arc::new(Sqlite::open(world.database(), Options::default()).unwrap());
    let database = store.database_id().unwrap();
    let gate = Gate::builder(compile(Vec::new()).0).backend(store).build().unwrap();
    (gate.question(approval).unwrap().unwrap(), database)
}

#[test]
fn a_forged_answer_in_the_database_never_grants() {
    let world = with_a_question("human-forged");
    let hooks = ["s1", "s2"].map(|session| {
        let event = json!({"event": "before", "session": session, "call": "c1", "tool": "deploy",
            "input": {"to": session}, "cwd": world.path("project")});
        world.spawn(&["hook", "generic"], &event.to_string())
    });
    for _ in 0..600 {
        let said = world.lockgate(&["pending", "--json"]);
        if said.code() == Some(0) && said.json()["questions"].as_array().unwrap().len() == 2 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let [mine, other] = ["s1", "s2"].map(|it| ApprovalId { session: format!("generic/{it}"), number: 1 });
    let (key, _, _) = key_of(&world);
    let stranger = SealedKey::make(b"stranger", Cost::for_tests()).unwrap().unlock(b"stranger").unwrap();
    let (asked, database) = question(&world, &mine);
    let (other_asked, _) = question(&world, &other);
    let at = Time(asked.call.at.0 + 1);
    let claim = |granted| asked.claim(&database, &mine, granted, "ada", at);
    let with = |change: &dyn Fn(&mut AnswerClaim)| {
        let mut changed = claim(true);
        change(&mut changed);
        Some(changed.sign(&key))
    };
    let text = |signed: Option<SignedAnswer>| signed.map(|it| serde_json::to_string(&it).unwrap());
    let genuine = text(Some(claim(true).sign(&key))).unwrap();
    let rows = [
        ("unsigned", None, "has no signature"),
        ("another key", text(Some(claim(true).sign(&stranger))), "not made by the human's key"),
        (
            "another key under the human's name",
            Some(
                genuine.replace(
                    &text(Some(claim(true).sign(&key)))
                        .map(|it| {
                            serde_json::from_str::<Value>(&it).unwrap()["signature"]
                                .as_str()
                                .unwrap()
                                .to_owned()
                        })
                        .unwrap(),
                    &"0".repeat(128),
                ),
            ),
            "not made by the human's key",
        ),
        (
            "a no that was made a yes",
            text(Some(claim(false).sign(&key))),
            "another question or another answer",
        ),
        (
            "the answer to another question",
            text(Some(other_asked.claim(&database, &other, true, "ada", at).sign(&key))),
            "another question or another answer",
        ),
        ("another database", text(with(&|it| it.database = "00".repeat(16))), "another question"),
        ("another input", text(with(&|it| it.input = "00".repeat(32))), "another question"),
        ("another policy", text(with(&|it| it.policy = "00".repeat(32))), "another question"),
        ("another number", text(with(&|it| it.number = 2)), "another question"),
        ("another call", text(with(&|it| it.call = "c2".to_owned())), "another question"),
        ("an answer that has expired", text(with(&|it| it.expires = it.at)), "another question"),
        ("an answer of another moment", text(with(&|it| it.at -= 1)), "another question"),
        ("an answer of somebody else", text(with(&|it| it.by = "bob".to_owned())), "another question"),
        ("a rule that said something else", text(with(&|it| it.rules.clear())), "another question"),
    ];
    let store = Sqlite::open(world.database(), Options::default()).unwrap();
    let connection = rusqlite::Connection::open(world.database()).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    for (number, (name, proof, why)) in rows.iter().enumerate() {
        // Sealed as Lockgate seals it: who can read the key beside the database can do that.
        let proof = proof.as_ref().map(|text| Arc::new(serde_json::from_str(text).unwrap()));
        let forged = StoredAnswer { proof, ..StoredAnswer::unsigned(true, "ada", at) };
        let entry = json!({"at": at.0, "what": "noise"}).to_string();
        assert!(store.keep_answer("generic/s1", 1, &forged, &entry).unwrap(), "{name}");
        // The hook that waits takes it away.
        let left =
            || -> i64 { connection.query_row("SELECT count(*) FROM answer", [], |row| row.get(0)).unwrap() };
        let is_gone = (0..600).any(|_| {
            thread::sleep(Duration::from_millis(100));
            left() == 0
        });
        assert!(is_gone, "{name}");
        let rejected = logged(&world, "rejected-answer");
        assert_eq!(rejected.len(), number + 1, "{name}: {rejected:?}");
        assert!(rejected[number].contains(why), "{name}: {}", rejected[number]);
        assert!(question(&world, &mine).0.deadline > at, "{name}: the question is open");
    }
    let verified = world.lockgate(&["audit", "verify"]);
    assert_eq!(verified.code(), Some(1), "{}", verified.out());
    assert!(verified.out().contains("did not count: it has no signature"), "{}", verified.out());
    // The human can still answer, though somebody was first.
    assert_eq!(world.human(&["approve", "--all"]).code(), Some(0));
    for hook in hooks {
        assert_eq!(Said::of(hook).json()["decision"], "pass");
    }
    // A yes that was changed afterwards is named too.
    connection.execute("UPDATE answer SET by = 'bob' WHERE session = 'generic/s2'", []).unwrap();
    let verified = world.lockgate(&["audit", "verify"]).out();
    assert!(verified.contains("the answer to question 1 of session `generic/s2`"), "{verified}");
}

#[test]
fn a_key_that_was_replaced_is_noticed() {
    let world = with_a_question("human-replaced");
    let hook = ask(&world);
    let key = world.path("home/.local/share/lockgate/human.key");
    fs::rename(&key, world.path("aside")).unwrap();
    let refused = |remedy: &str| {
        let said = world.human(&["approve", "--all"]);
        assert_eq!(said.code(), Some(2), "{}", said.out());
        assert!(said.err().contains(remedy), "{}", said.err());
        let doctor = world.lockgate(&["doctor", "claude-code", "--json"]).out();
        assert!(doctor.contains(remedy), "{doctor}");
    };
    refused("lockgate passphrase reset");
    assert!(world.human(&["passphrase", "set"]).err().contains("lockgate passphrase reset"));
    // An agent's own key, with a passphrase that it knows.
    human::set_up(&world.path("home"));
    refused("lockgate passphrase adopt");
    // With the old file everything is as before.
    fs::rename(world.path("aside"), &key).unwrap();
    assert_eq!(world.human(&["approve", "--all"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "pass");
    // Where the database's record is taken away, that is named too.
    let connection = rusqlite::Connection::open(world.database()).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.execute("DELETE FROM human", []).unwrap();
    let verified = world.lockgate(&["audit", "verify"]).out();
    assert!(verified.contains("the public key of the human is missing"), "{verified}");
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
    word = re.search(rb"(Type (\w+)|Passphrase) to .*leave it: $", seen, re.S)
    if word:
        os.write(fd, (word.group(2) or b"correct horse") + b"\n")
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
