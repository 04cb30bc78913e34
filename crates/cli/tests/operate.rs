//! Looking after agents from another terminal: questions, the kill switch, where sessions stand, and the doctor. All
//! through the real binary, in a project and a home of the test's own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::fs;

use crate::world::{Said, World};
use lockgate_testkit::human::Typed;
use serde_json::json;

const CAREFUL: &str = "require human-approval before deploy\n";

/// Long enough for a slow machine; tests end as soon as the answer is there.
const PATIENT: &str = "[hook]\ndeadline = \"120s\"\n";

fn deploy(world: &World, session: &str) -> String {
    let folder = world.path("project");
    let event = json!({"event": "before", "session": session, "call": "c1", "tool": "deploy",
        "input": {"to": "prod"}, "cwd": folder});
    event.to_string()
}

#[test]
fn a_waiting_hook_goes_on_as_the_human_says() {
    for (word, decision, granted) in [("approve", "pass", true), ("refuse", "block", false)] {
        let world = World::with(&format!("wait-{word}"), CAREFUL, PATIENT);
        let hook = world.spawn(&["hook", "generic"], &deploy(&world, "s1"));
        let question = world.first_question();
        assert_eq!(question["approval"], "a1@generic/s1");
        assert_eq!(question["tool"], "deploy");
        assert_eq!(question["input"], json!({"to": "prod"}));
        assert_eq!(question["asked_by"], "hook");
        let ms = |key: &str| question[key].as_u64().unwrap();
        assert_eq!(ms("waits_until") - ms("asked_at"), 120_000, "as the settings say");
        assert_eq!(question["rules"][0]["text"], CAREFUL.trim());
        assert_eq!(question["short_id"], 1);
        let shown = world.lockgate(&["pending", "1"]).out();
        assert!(
            shown.contains("a1@generic/s1") && shown.contains("asked") && shown.contains("open for"),
            "{shown}"
        );
        assert!(shown.contains(r#"{"to":"prod"}"#) && shown.contains(CAREFUL.trim()), "{shown}");

        let said = world.human(&[word, "1", "--by", "ada"]);
        assert_eq!(said.code(), Some(0), "{}", said.err());
        let answer = Said::of(hook);
        assert_eq!(answer.json()["decision"], decision, "{}", answer.err());

        // The first answer stands, and who comes later is told whose it was.
        for late in ["approve", "refuse"] {
            let said = world.lockgate(&[late, "a1@generic/s1", "--json"]);
            assert_eq!(said.code(), Some(1));
            assert_eq!(said.json()["answers"][0]["result"], "late");
            assert_eq!(said.json()["answers"][0]["answer"]["by"], "ada");
            assert_eq!(said.json()["answers"][0]["answer"]["granted"], granted);
            let told = world.lockgate(&[late, "a1@generic/s1"]).err();
            assert!(told.contains("ada already") && told.contains("the first answer stands"), "{told}");
        }
        assert_eq!(world.lockgate(&["pending"]).out(), "no questions are waiting for a human\n");
    }
}

#[test]
fn a_hook_that_nobody_answers_blocks() {
    let world = World::with("nobody", CAREFUL, "[hook]\ndeadline = \"2s\"\n");
    let said = world.hook("generic", &deploy(&world, "s1"));
    assert_eq!(said.json()["decision"], "block", "{}", said.err());
    let late = world.lockgate(&["approve", "a1@generic/s1"]);
    assert_eq!(late.code(), Some(2), "{}", late.out());
}

#[test]
fn an_answer_needs_an_open_question() {
    let world = World::with("no-question", CAREFUL, PATIENT);
    // Where nothing was judged yet there is no database, and none is made by looking.
    for words in
        [&["approve", "a1@generic/s1"][..], &["approve", "1"], &["halt", "--session", "s", "x"], &["resume"]]
    {
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(2), "{words:?}");
        assert!(said.err().contains("does not exist"), "{}", said.err());
        assert!(!world.database().exists());
    }
    let said = world.lockgate(&["pending"]);
    assert_eq!((said.code(), said.out().as_str()), (Some(0), "no questions are waiting for a human\n"));
    assert!(
        said.err().contains("has not judged a call here yet") && !world.database().exists(),
        "{}",
        said.err()
    );
    let named = world.lockgate(&["pending", "--state", "nowhere.db"]);
    assert!(named.code() == Some(2) && named.err().contains("does not exist"), "{}", named.err());
    world.hook("generic", r#"{"event": "before", "session": "s1", "tool": "read", "input": {}}"#);
    for (words, told) in [
        // No answer comes before its question.
        (&["approve", "a1@generic/s1"][..], "question a1@generic/s1 is not open"),
        (&["approve", "a1@generic/other"], "question a1@generic/other is not open"),
        (&["refuse", "nonsense"], "`nonsense` does not name a question"),
        (&["approve", "a99999999999999999999@generic/s1"], "does not name a question"),
        (&["approve", "1"], "no question has the id 1"),
        (&["approve", "0"], "no question has the id 0"),
        (&["approve", "99999999999999999999"], "does not name a question"),
        (&["pending", "7"], "no question has the id 7"),
        (&["pending", "a1@generic/s1"], "question a1@generic/s1 is not open"),
        (&["approve"], "required arguments"),
        (&["approve", "a1@generic/s1", "--all"], "cannot be used with"),
        (&["approve", "a1@generic/s1", "--by", ""], "--by"),
    ] {
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(2), "{words:?} {}", said.out());
        assert!(said.err().contains(told), "{words:?}: {}", said.err());
    }
    let hook = world.spawn(&["hook", "generic"], &deploy(&world, "s1"));
    world.first_question();
    let said = world.human(&["refuse", "a1@generic/s1"]);
    assert_eq!(said.code(), Some(0), "{}", said.err());
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

#[test]
fn all_questions_are_answered_together_only_where_somebody_agrees() {
    let world = World::with("all", CAREFUL, PATIENT);
    let hooks = ["s1", "s2"].map(|session| world.spawn(&["hook", "generic"], &deploy(&world, session)));
    for _ in 0..600 {
        let said = world.lockgate(&["pending", "--json"]);
        if said.code() == Some(0) && said.json()["questions"].as_array().unwrap().len() == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    for words in [&["approve", "--all"][..], &["approve", "--all", "--yes"]] {
        let said = world.lockgate(words);
        assert_eq!(said.code(), Some(2), "{words:?}");
        assert!(said.err().contains("for a human at a terminal"), "{}", said.err());
    }
    let other = world.human_typing(&["approve", "--all", "--yes"], Typed::Text(""));
    assert_eq!(other.output.status.code(), Some(1), "{other:?}");
    assert!(
        other.terminal.contains("a1@generic/s1") && other.terminal.contains("a1@generic/s2"),
        "{other:?}"
    );
    // A no needs neither a terminal nor a proof.
    let said = world.lockgate(&["refuse", "--all"]);
    assert_eq!((said.code(), said.out().lines().count()), (Some(0), 2), "{}{}", said.out(), said.err());
    for hook in hooks {
        assert_eq!(Said::of(hook).json()["decision"], "block");
    }
    assert_eq!(world.lockgate(&["approve", "--all"]).out(), "no questions are waiting for a human\n");
}

#[test]
fn who_answered_is_in_the_trail() {
    let world = World::with("trail", CAREFUL, PATIENT);
    let hook = world.spawn(&["hook", "generic"], &deploy(&world, "s1"));
    world.first_question();
    assert_eq!(world.human(&["approve", "a1@generic/s1", "--by", "ada"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "pass");
    let store =
        lockgate::engine::store::Sqlite::open(world.database(), lockgate::engine::store::Options::default())
            .unwrap();
    let entries: Vec<String> =
        store.audit_log(lockgate::engine::store::Query::default()).map(|link| link.unwrap().entry).collect();
    let answers: Vec<&String> = entries.iter().filter(|entry| entry.contains(r#""what":"answer""#)).collect();
    assert_eq!(answers.len(), 1, "{entries:?}");
    assert!(answers[0].contains(r#""by":"ada""#) && answers[0].contains(r#""granted":true"#), "{answers:?}");
}

#[test]
fn sessions_keep_the_policy_they_began_under_when_they_are_looked_at() {
    let world = World::with("strangers", CAREFUL, PATIENT);
    let hook = world.spawn(&["hook", "generic"], &deploy(&world, "s1"));
    world.first_question();
    // From another folder, with another policy.
    world.write("project/sub/.lockgate/policy.rules", "block format\n");
    let mut other = world.command_of(env!("CARGO_BIN_EXE_lockgate").as_ref(), &["pending", "--json"]);
    let said = Said(other.current_dir(world.path("project/sub")).output().unwrap());
    assert_eq!(said.json()["questions"][0]["rules"][0]["text"], CAREFUL.trim());
    // And where its own policy is broken meanwhile, it still shows and can be answered.
    world.write("project/.lockgate/policy.rules", "requir a\n");
    let shown = world.lockgate(&["pending", "1"]);
    assert!(shown.out().contains("a1@generic/s1"), "{}{}", shown.out(), shown.err());
    assert_eq!(world.human(&["refuse", "a1@generic/s1"]).code(), Some(0));
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

#[test]
fn a_secret_in_a_question_is_shown_masked() {
    let policy = "rules:\n  - {id: mask, when: {tool: send}, then: redact}\n  - {id: ask, when: {tool: send}, then: approve}\n";
    let world = World::new("masked");
    world.write("project/.lockgate/policy.yaml", policy);
    world.write("project/.lockgate/lockgate.toml", PATIENT);
    world.trust();
    let event = json!({"event": "before", "session": "s", "tool": "send",
        "input": {"to": "ada@example.com"}, "cwd": world.path("project")});
    let hook = world.spawn(&["hook", "generic"], &event.to_string());
    let question = world.first_question();
    assert_eq!(question["masked"], true, "{question}");
    for words in [&["pending"][..], &["pending", "1"]] {
        let shown = world.lockgate(words).out();
        assert!(!shown.contains("ada@example.com"), "{shown}");
        assert_eq!(shown.contains("hides parts of the input"), words.len() == 2, "{shown}");
    }
    world.human(&["refuse", "--all", "--yes"]);
    assert_eq!(Said::of(hook).json()["decision"], "block");
}

#[test]
fn a_halt_stops_the_next_call_until_it_is_resumed() {
    let read = |session: &str| {
        json!({"event": "before", "session": session, "tool": "read", "input": {}}).to_string()
    };
    let world = World::with("halt", CAREFUL, "");
    let decision = |session: &str| world.hook("generic", &read(session)).json()["decision"].clone();
    assert_eq!((decision("s1"), decision("s2")), (json!("pass"), json!("pass")));
    for (words, decisions) in [
        (&["halt", "--session", "generic/s1", "look first"][..], ["block", "pass"]),
        (&["resume", "--session", "generic/s1"], ["pass", "pass"]),
        (&["halt", "all stop"], ["block", "block"]),
        (&["resume"], ["pass", "pass"]),
    ] {
        let said = world.human(words);
        assert_eq!(said.code(), Some(0), "{words:?} {}", said.err());
        assert_eq!([decision("s1"), decision("s2")], decisions.map(|it| json!(it)), "{words:?}");
    }
    let blocked = world.lockgate(&["halt", "a freeze"]);
    assert!(blocked.out().contains("lockgate resume"), "{}", blocked.out());
    assert!(world.hook("generic", &read("s1")).out().contains("a freeze"));
    assert!(world.lockgate(&["status"]).out().contains("a freeze"));
    // One switch does not hide the other.
    let resumed = world.human(&["resume", "--session", "generic/s1"]);
    assert_eq!(resumed.code(), Some(1));
    assert!(resumed.err().contains("still halted"), "{}", resumed.err());
    let unknown = world.lockgate(&["halt", "--session", "generic/s9", "stop"]);
    assert_eq!(unknown.code(), Some(2));
    assert!(unknown.err().contains("no session is called `generic/s9`"), "{}", unknown.err());
    // A policy that is broken must not keep anybody from the switch.
    world.write("project/.lockgate/policy.rules", "requir a\n");
    assert_eq!(world.human(&["resume"]).code(), Some(0));
    world.write("project/.lockgate/policy.rules", CAREFUL);
    assert_eq!(decision("s1"), "pass");
}

#[test]
fn a_halt_works_bare_and_before_the_first_call() {
    let read = json!({"event": "before", "session": "s1", "tool": "read", "input": {}}).to_string();
    let world = World::with("halt-first", CAREFUL, "");
    assert!(!world.database().exists());
    let halted = world.lockgate(&["halt"]);
    assert_eq!(halted.code(), Some(0), "{}", halted.err());
    assert_eq!(
        halted.out(),
        "halted: every further call of every session is blocked until `lockgate resume`\n"
    );
    assert!(halted.err().contains(world.database().to_str().unwrap()), "{}", halted.err());
    let blocked = world.hook("generic", &read);
    assert_eq!(blocked.json()["decision"], "block");
    assert!(blocked.out().contains("everything is halted: a human has stopped it"), "{}", blocked.out());
    assert_eq!(world.human(&["resume"]).code(), Some(0));
    assert_eq!(world.hook("generic", &read).json()["decision"], "pass");
    // A database that is named has to be there: a halt of a mistyped one would stop nothing.
    let elsewhere = world.lockgate(&["halt", "--state", "nowhere.db"]);
    assert_eq!(elsewhere.code(), Some(2), "{}", elsewhere.out());
    assert!(!world.path("project/nowhere.db").exists());
}

/// One line for each question, live, with a notification where there is a program for it.
#[cfg(unix)]
#[test]
fn a_watched_list_tells_what_arrives_and_what_is_answered() {
    use std::{
        io::{BufRead, BufReader},
        os::unix::fs::PermissionsExt,
        process::Command,
    };

    let world = World::with("pending-watch", CAREFUL, PATIENT);
    world.write("home/bin/notify-send", "#!/bin/sh\nprintf '%s|' \"$@\" >> \"$HOME/notified\"\n");
    fs::set_permissions(world.path("home/bin/notify-send"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.command_of(env!("CARGO_BIN_EXE_lockgate").as_ref(), &["pending", "--watch"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("home/bin").display()));
    // Begins before there is a database. Each step waits for what the list says.
    let mut watching = command.spawn().unwrap();
    let mut list = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut line = || list.next().unwrap().unwrap();
    assert_eq!(line(), "no questions are waiting for a human");
    let hook = world.spawn(&["hook", "generic"], &deploy(&world, "s1"));
    let asked = line();
    assert!(asked.starts_with(" 1  ") && asked.ends_with(r#"generic/s1  deploy  {"to":"prod"}"#), "{asked}");
    assert_eq!(world.human(&["approve", "1", "--by", "ada"]).code(), Some(0));
    let answered = line();
    assert!(answered.contains("granted by ada") || answered == "1  closed", "{answered}");
    assert_eq!(Said::of(hook).json()["decision"], "pass");
    let killed = Command::new("kill").args(["-TERM", &watching.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    // The program that notifies may still run.
    for _ in 0..600 {
        if fs::read_to_string(world.path("home/notified")).is_ok_and(|text| text.ends_with('|')) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let notified = world.read("home/notified");
    assert_eq!(
        notified,
        "--app-name=Lockgate|--|Lockgate: question 1 waits for you|deploy  {\"to\":\"prod\"}\nlockgate pending 1|"
    );
}

#[test]
fn status_tells_what_counts_here_and_where_each_session_stands() {
    let world = World::with("status", "require test before deploy\n", "");
    let fresh = world.lockgate(&["status"]);
    assert_eq!(fresh.code(), Some(0), "{}", fresh.err());
    assert!(fresh.out().contains("no session yet") && !world.database().exists(), "{}", fresh.out());
    for (session, tool) in [("s1", "read"), ("s1", "deploy"), ("s2", "read")] {
        let event = json!({"event": "before", "session": session, "tool": tool, "input": {}});
        world.hook("generic", &event.to_string());
    }
    let told = world.lockgate(&["status", "--json"]).json();
    assert_eq!(told["settings"]["origin"], "project");
    assert_eq!(told["settings"]["mode"], "enforce");
    assert_eq!(told["settings"]["protect"], true);
    assert_eq!(told["settings"]["state"], world.database().to_str().unwrap());
    let sessions = told["sessions"].as_array().unwrap();
    assert_eq!(sessions[0]["session"], "generic/s2", "the newest first");
    assert_eq!(
        (&sessions[1]["judged"], &sessions[1]["let_pass"], &sessions[1]["in_flight"]),
        (&json!(2), &json!(1), &json!(1))
    );
    let shown = world.lockgate(&["status"]).out();
    assert!(
        shown.contains("generic/s1") && shown.contains("2 calls judged, 1 let pass, 1 in flight"),
        "{shown}"
    );
    let one = world.lockgate(&["status", "--session", "generic/s1"]);
    assert!(one.out().contains("`deploy`: a successful `test` opens it"), "{}{}", one.out(), one.err());
    let none = world.lockgate(&["status", "--session", "generic/s9"]);
    assert_eq!(none.code(), Some(2));
    assert!(none.err().contains("`lockgate status` lists them"), "{}", none.err());
    // Settings that cannot be used are told, not passed over.
    world.write("project/.lockgate/lockgate.toml", "modee = 1\n");
    let broken = world.lockgate(&["status"]);
    assert_eq!(broken.code(), Some(2));
    assert!(broken.out().contains("modee"), "{}{}", broken.out(), broken.err());
}

/// The table and what is said below it; what depends on the machine is left out.
fn table(shown: &str) -> String {
    let lines = shown.lines().skip_while(|line| !line.is_empty());
    lines.filter(|line| !line.trim_start().starts_with("time ")).collect::<Vec<_>>().join("\n")
}

const AGENTS: [&str; 7] = ["claude-code", "codex", "gemini-cli", "copilot", "cursor", "opencode", "openclaw"];

#[test]
fn the_doctor_finds_nothing_where_nothing_is_wrong() {
    let world = World::new("healthy");
    let words: Vec<&str> = ["init", "--yes"].into_iter().chain(AGENTS).collect();
    assert_eq!(world.lockgate(&words).code(), Some(0));
    let files = |world: &World| {
        let mut found = Vec::new();
        let mut folders = vec![world.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    };
    let before = files(&world);
    let said = world.lockgate(&["doctor", "--json"]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    let told = said.json();
    let rows = told["agents"].as_array().unwrap();
    assert_eq!(rows.len(), AGENTS.len());
    for row in rows {
        let checks = row["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 7, "{row}");
        let is_well = |check: &serde_json::Value| check["result"] == "ok" && check.get("told").is_none();
        assert!(checks.iter().all(is_well), "{row}");
    }
    assert!(told["hook_ms"].is_number() && told["enforced"] == true, "{told}");
    assert!(told.to_string().contains("look at `/hooks`"));
    insta::assert_snapshot!(table(&world.lockgate(&["doctor", "codex"]).out()), @r"
           hook   pass   guard  bad event  bad policy  bad database  no state
    codex  ok     ok     ok     ok         ok          ok            ok

        note   codex: whether it was trusted is known to Codex alone: look at
               `/hooks`
        note   codex: a hook that is killed or too slow lets the tool run; Lockgate
               answers long before
    ");
    // Neither sessions nor settings of the user are touched.
    assert_eq!(files(&world), before);
}

#[test]
fn the_doctor_says_what_is_wrong() {
    type Sabotage = fn(&World);
    let cases: &[(&str, Sabotage, &str)] = &[
        (
            "removed",
            |world| fs::remove_file(world.path("project/.claude/settings.local.json")).unwrap(),
            "it has no hook of Lockgate",
        ),
        (
            "lax",
            |world| {
                let text = world.read("project/.claude/settings.local.json");
                world.write(
                    "project/.claude/settings.local.json",
                    &text.replace("\"onFailure\": \"block\"", "\"onFailure\": \"allow\""),
                );
            },
            "not as strict as it could be",
        ),
        (
            "off",
            |world| world.write("project/.claude/settings.json", "{\"disableAllHooks\": true}"),
            "turns all hooks off",
        ),
        ("policy", |world| world.write("project/.lockgate/policy.rules", "requir a\n"), "requir"),
        ("settings", |world| world.write("project/.lockgate/lockgate.toml", "modee = 1\n"), "modee"),
        (
            "observe",
            |world| {
                world.write("project/.lockgate/lockgate.toml", "mode = \"observe\"\n");
                world.trust();
            },
            "calls pass",
        ),
        (
            "unprotected",
            |world| {
                world.write("project/.lockgate/lockgate.toml", "protect = false\n");
                world.trust();
            },
            "an agent may change its own policy",
        ),
        (
            "moved",
            |world| {
                let text = world.read("project/.claude/settings.local.json");
                let text = text.replace(env!("CARGO_BIN_EXE_lockgate"), "/nowhere/lockgate");
                world.write("project/.claude/settings.local.json", &text);
            },
            "`/nowhere/lockgate`, which is not there",
        ),
        (
            "database",
            |world| world.write("home/.local/share/lockgate/lockgate.db", &"nonsense ".repeat(1000)),
            "lockgate.db",
        ),
    ];
    for (name, sabotage, told) in cases {
        let world = World::new(&format!("sick-{name}"));
        assert_eq!(world.lockgate(&["init", "claude-code", "--yes"]).code(), Some(0));
        sabotage(&world);
        let said = world.lockgate(&["doctor", "claude-code"]);
        assert_eq!(said.code(), Some(1), "{name}: {}{}", said.out(), said.err());
        let flat = said.out().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(told), "{name}: {}", said.out());
    }
}

/// A program that fails, or that answers nonsense, is not taken for a gate by its name.
#[cfg(unix)]
#[test]
fn the_doctor_believes_no_program_by_its_name() {
    use std::os::unix::fs::PermissionsExt;

    for (name, script) in [
        ("silent", "#!/bin/sh\ncat >/dev/null\n"),
        ("failing", "#!/bin/sh\nexit 1\n"),
        ("chatty", "#!/bin/sh\ncat >/dev/null\necho '{\"decision\":\"pass\"}'\n"),
    ] {
        for agent in AGENTS {
            let world = World::new(&format!("fake-{name}-{agent}"));
            assert_eq!(world.lockgate(&["init", agent, "--yes"]).code(), Some(0));
            let fake = world.path("home/bin/lockgate");
            world.write("home/bin/lockgate", script);
            fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
            for file in [
                ".claude/settings.local.json",
                ".codex/hooks.json",
                ".gemini/settings.json",
                ".github/hooks/lockgate.json",
                ".cursor/hooks.json",
                ".opencode/plugins/lockgate.js",
                ".openclaw/extensions/lockgate/index.js",
            ] {
                let path = world.path(&format!("project/{file}"));
                if let Ok(text) = fs::read_to_string(&path) {
                    fs::write(path, text.replace(env!("CARGO_BIN_EXE_lockgate"), fake.to_str().unwrap()))
                        .unwrap();
                }
            }
            let said = world.lockgate(&["doctor", agent, "--json"]);
            assert_eq!(said.code(), Some(1), "{name} {agent}: {}", said.out());
            let told = said.json();
            let wrong = |check: &str| {
                let checks = told["agents"][0]["checks"].as_array().unwrap();
                checks.iter().any(|it| it["check"] == check && it["result"] == "wrong")
            };
            assert!(wrong("guard"), "{name} {agent}: {told}");
        }
    }
}

#[test]
fn the_doctor_status_and_verify_say_what_waits_for_trust() {
    let world = World::new("waiting");
    assert_eq!(world.lockgate(&["init", "claude-code", "--yes"]).code(), Some(0));
    world.write("project/.lockgate/lockgate.toml", "mode = \"observe\"\nprotect = false\n");
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = world.lockgate(&["doctor", "claude-code"]);
    // Nothing of it counts, so everything is enforced.
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    for told in [
        flat(said.out()),
        flat(world.lockgate(&["status"]).out()),
        flat(world.lockgate(&["verify", ".lockgate"]).err()),
    ] {
        let is_told = ["was never trusted here", "mode = \"observe\"", "protect = false", "`lockgate trust`"];
        assert!(is_told.iter().all(|words| told.contains(words)), "{told}");
    }
    let start = json!({"event": "start", "session": "s"}).to_string();
    assert!(world.hook("generic", &start).err().contains("protect = false"));
    let list = |world: &World| world.lockgate(&["trust", "--list", "--json"]).json()["projects"].clone();
    assert_eq!(list(&world), json!([]));
    world.trust();
    assert_eq!(list(&world)[0]["state"], "trusted");
    world.write("project/.lockgate/lockgate.toml", "mode = \"observe\"\n");
    assert_eq!(list(&world)[0]["state"], "changed");
    assert!(flat(world.lockgate(&["status"]).out()).contains("was changed since it was trusted"));
    assert_eq!(world.lockgate(&["trust", "--revoke"]).code(), Some(0));
    assert_eq!(world.lockgate(&["trust", "--revoke"]).code(), Some(1), "it was not trusted");
    assert_eq!(list(&world), json!([]));
}

#[test]
fn only_a_human_trusts() {
    let world = World::new("untrusted");
    world.write("project/.lockgate/policy.rules", "observe block push\n");
    let said = world.lockgate(&["trust"]);
    assert_eq!(said.code(), Some(2), "{}{}", said.out(), said.err());
    assert!(said.err().contains("human"), "{}", said.err());
    let told = world.lockgate(&["trust", "--json"]).json();
    assert_eq!(told["trusted"], false);
    assert!(told["waiting"][0].as_str().unwrap().contains("`observe`"), "{told}");
    assert!(!world.path("home/.local/share/lockgate/trusted").exists());
    let refused = world.human_typing(&["trust"], Typed::Text("yes"));
    assert_eq!(refused.output.status.code(), Some(1), "{refused:?}");
    assert!(!world.path("home/.local/share/lockgate/trusted").exists());
    let agreed = world.human_typing(&["trust"], Typed::Word);
    assert_eq!(agreed.output.status.code(), Some(0), "{agreed:?}");
    assert!(agreed.terminal.contains("policy.rules") && agreed.terminal.contains("`observe`"), "{agreed:?}");
    assert_eq!(world.lockgate(&["trust", "--json"]).json()["trusted"], true);
    assert_eq!(world.lockgate(&["trust"]).code(), Some(0), "it is trusted already");
    // An agent has no other way: the command is blocked, and so is the folder of the records.
    for command in ["lockgate trust", "echo '{}' > ~/.local/share/lockgate/trusted/x.json"] {
        let event = json!({"event": "before", "session": "s", "tool": "bash", "input": {"command": command}});
        assert_eq!(world.hook("generic", &event.to_string()).json()["decision"], "block", "{command}");
    }
    // Nothing can be trusted that cannot be understood.
    world.write("project/.lockgate/policy.rules", "blok a\n");
    let broken = world.lockgate(&["trust"]);
    assert_eq!(broken.code(), Some(2));
    assert!(broken.err().contains("blok"), "{}", broken.err());
    let none = World::new("nothing-to-trust");
    assert!(none.lockgate(&["trust"]).err().contains("nothing could be trusted"));
}

#[test]
fn programs_that_are_not_run_are_told() {
    let world = World::new("exec");
    let flow = "apiVersion: edictum/v1\nkind: Workflow\nmetadata: {name: flow}\nstages:\n  - {id: one, tools: [Read], \
                exit: [{condition: 'exec(\"true\")'}]}\n  - {id: two, tools: [Bash]}\n";
    world.write("project/.lockgate/flow.yaml", flow);
    world.write("project/flow.yaml", flow);
    let told = |words: &[&str]| {
        let said = world.lockgate(words);
        let text = format!("{}{}", said.out(), said.err());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains("exec(\"true\") is never run here")
    };
    assert!(told(&["gate", "flow.yaml"]) && !told(&["gate", "flow.yaml", "--exec"]));
    assert!(told(&["verify", "flow.yaml"]) && told(&["doctor", "claude-code"]));
    world.write("home/.config/lockgate/lockgate.toml", "exec = true\n");
    world.write("home/.config/lockgate/policy.rules", "block deploy\n");
    assert!(!told(&["verify", "flow.yaml"]) && !told(&["doctor", "claude-code"]));
}

#[test]
fn a_policy_that_blocks_everything_is_no_fault() {
    let world = World::new("strict");
    assert_eq!(world.lockgate(&["init", "--yes", "claude-code", "cursor"]).code(), Some(0));
    world.write(
        "project/.lockgate/strict.yaml",
        "default_verdict: block\nrules:\n  - {id: one, when: {tool: nothing}, then: allow}\n",
    );
    let said = world.lockgate(&["doctor", "claude-code", "cursor", "--json"]);
    assert_eq!(said.code(), Some(0), "{}{}", said.out(), said.err());
    assert!(said.out().contains("the policy blocks `ls`"), "{}", said.out());
}

#[test]
fn a_doctor_without_a_patient_cannot_tell() {
    let world = World::new("no-agent");
    let said = world.lockgate(&["doctor"]);
    assert_eq!(said.code(), Some(2), "{}", said.out());
    assert!(said.err().contains("name one of claude-code"), "{}", said.err());
}

/// Changes the database behind the back of Lockgate.
fn tamper(world: &World, sql: &str) {
    let connection = rusqlite::Connection::open(world.database()).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
}

#[test]
fn one_changed_answer_hides_no_other_question() {
    let world = World::with("changed-answer", CAREFUL, PATIENT);
    let mut hooks = ["s1", "s2"].map(|session| world.spawn(&["hook", "generic"], &deploy(&world, session)));
    for _ in 0..600 {
        let said = world.lockgate(&["pending", "--json"]);
        if said.code() == Some(0) && said.json()["questions"].as_array().unwrap().len() == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    tamper(
        &world,
        "INSERT INTO answer(session, number, granted, by, at, proof, seal) VALUES ('generic/s1', 1, 1, 'x', 1, '', x'00')",
    );
    let said = world.lockgate(&["pending", "--json"]);
    let questions = said.json()["questions"].clone();
    assert_eq!(questions.as_array().unwrap().len(), 1, "{questions}");
    assert_eq!(questions[0]["approval"], "a1@generic/s2");
    assert!(said.err().contains("question a1@generic/s1: "), "{}", said.err());
    assert_eq!(world.human(&["approve", "a1@generic/s2"]).code(), Some(0));
    hooks.iter_mut().for_each(|hook| drop(hook.kill()));
    hooks.iter_mut().for_each(|hook| drop(hook.wait()));
}

#[test]
fn a_human_gives_up_a_damaged_session_and_it_stays_halted() {
    let world = World::with("release", "limit spend to 1 per session\n", "");
    let spend = |session: &str| {
        let event = json!({"event": "before", "session": session, "tool": "spend", "input": {}});
        world.hook("generic", &event.to_string()).json()["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(["s1", "s1", "s2"].map(spend), ["pass", "block", "pass"]);
    let release = ["resume", "--session", "generic/s1", "--damaged"];
    let whole = world.human(&release);
    assert_eq!(whole.code(), Some(1), "{}", whole.err());
    assert_eq!(spend("s1"), "block");
    tamper(
        &world,
        "UPDATE session SET bytes = (SELECT bytes FROM session WHERE name = 'generic/s2') WHERE name = 'generic/s1'",
    );
    assert_eq!(spend("s1"), "block");
    // Without a human at a terminal nothing is given up.
    assert_eq!(world.lockgate(&release).code(), Some(2));
    assert_eq!(world.lockgate(&["audit", "verify"]).code(), Some(1));
    let released = world.human(&release);
    assert_eq!(released.code(), Some(0), "{}{}", released.out(), released.err());
    assert_eq!(spend("s1"), "block", "it is halted");
    assert_eq!(world.lockgate(&["audit", "verify"]).code(), Some(0));
    let log = world.lockgate(&["audit", "--json"]).out();
    assert!(log.contains("\"release\""), "{log}");
    // A human may let it begin anew; that is another proof.
    assert_eq!(world.human(&["resume", "--session", "generic/s1"]).code(), Some(0));
    assert_eq!(spend("s1"), "pass");
}
