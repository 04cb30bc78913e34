//! `lockgate audit` and `lockgate replay` as operators meet them: a trail that hooks wrote, read by the real binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use crate::world::folder;
use serde_json::{Value, json};

/// After so long without a line the command is taken to hang: it keeps a broken build from waiting for ever.
const HANGS: Duration = Duration::from_secs(300);

const POLICY: &str = "limit push to 1 per session\nblock format\nrequire test before deploy\n";

/// A project with a policy, and a home of its own.
struct Project {
    folder: PathBuf,
}

impl Project {
    fn new(name: &str) -> Self {
        let folder = folder(name);
        fs::create_dir_all(folder.join(".lockgate")).unwrap();
        fs::create_dir_all(folder.join("home")).unwrap();
        fs::write(folder.join(".lockgate/policy.rules"), POLICY).unwrap();
        Self { folder }
    }

    /// A project in which something has happened.
    fn used(name: &str) -> Self {
        let project = Self::new(name);
        for (session, call, tool) in
            [("s", "1", "push"), ("s", "2", "push"), ("s", "3", "read"), ("t", "1", "format")]
        {
            project.before(session, call, tool, &json!({}));
        }
        project.hook(&json!({
            "event": "after", "session": "s", "call": "1", "tool": "push", "input": {}, "ok": true, "output": "done"
        }));
        project
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command.args(words).current_dir(&self.folder).env("HOME", self.folder.join("home")).env("TZ", "UTC");
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        // The command may well not read what it is sent.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn hook(&self, event: &Value) {
        let output = self.run(&["hook", "generic"], &event.to_string());
        assert_eq!(output.status.code(), Some(0), "{event}: {}{}", out(&output), err(&output));
    }

    fn before(&self, session: &str, call: &str, tool: &str, input: &Value) {
        self.hook(
            &json!({"event": "before", "session": session, "call": call, "tool": tool, "input": input}),
        );
    }

    /// What a command prints that ends so.
    fn prints(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words, "");
        assert_eq!(output.status.code(), Some(code), "{words:?}\n{}{}", out(&output), err(&output));
        out(&output)
    }

    fn refuses(&self, words: &[&str]) -> String {
        let output = self.run(words, "");
        assert_eq!(output.status.code(), Some(2), "{words:?}\n{}{}", out(&output), err(&output));
        assert_eq!(out(&output), "", "{words:?}");
        err(&output)
    }

    fn database(&self) -> PathBuf {
        self.folder.join("home/.local/share/lockgate/lockgate.db")
    }

    /// Does something to the database behind our back.
    fn tamper(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.database()).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn looking_makes_no_database() {
    let project = Project::new("audit-fresh");
    let nowhere = project.folder.join("nowhere.db");
    for words in
        [&["audit"][..], &["audit", "verify"], &["audit", "prune", "--before", "1d", "--yes"], &["replay"]]
    {
        let said = project.refuses(words);
        assert!(said.contains("has not judged a call here yet"), "{words:?}: {said}");
        assert!(!project.database().exists(), "{words:?}");
    }
    let said = project.refuses(&["audit", "--state", nowhere.to_str().unwrap()]);
    assert!(said.contains("nowhere.db") && !nowhere.exists(), "{said}");
    fs::write(&nowhere, "").unwrap();
    project.refuses(&["audit", "--state", nowhere.to_str().unwrap()]);
    assert_eq!(fs::read(&nowhere).unwrap(), b"");
}

#[test]
fn a_listing_says_when_who_what_and_why() {
    let project = Project::used("audit-list");
    let listed = project.prints(&["audit"], 0);
    let shown: Vec<String> = listed
        .lines()
        .map(|line| line.split_whitespace().enumerate().filter(|(it, _)| ![1, 2].contains(it)).map(|it| it.1))
        .map(|words| words.collect::<Vec<_>>().join(" "))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    1 generic/s allow push
    2 generic/s block push limit-push-1: push has reached its limit of 1 calls per session.
    3 generic/s allow read
    4 generic/t block format block-format: format is blocked and cannot be called.
    5 generic/s result push 1 ok
    ");
}

#[test]
fn filters_choose_entries() {
    let project = Project::used("audit-filters");
    for (words, numbers) in [
        (&[][..], &[1, 2, 3, 4, 5][..]),
        (&["--session", "generic/s"], &[1, 2, 3, 5]),
        (&["--session", "generic/*"], &[1, 2, 3, 4, 5]),
        (&["--session", "*/t"], &[4]),
        (&["--session", "s"], &[]),
        (&["--tool", "push"], &[1, 2, 5]),
        (&["--tool", "p?sh", "--verdict", "block"], &[2]),
        (&["--verdict", "block"], &[2, 4]),
        (&["--verdict", "allow"], &[1, 3]),
        (&["--verdict", "ask"], &[]),
        (&["--rule", "*format*"], &[4]),
        (&["--since", "1h"], &[1, 2, 3, 4, 5]),
        (&["--until", "1h"], &[]),
        (&["--since", "2020-01-01", "--until", "2020-01-02T00:00:00Z"], &[]),
        (&["--limit", "2"], &[4, 5]),
        (&["--limit", "1", "--verdict", "allow"], &[3]),
        (&["--limit", "0"], &[]),
    ] {
        let words: Vec<&str> = ["audit", "--json"].iter().chain(words).copied().collect();
        let listed = lines(&project.prints(&words, 0));
        let found: Vec<u64> = listed.iter().map(|link| link["n"].as_u64().unwrap()).collect();
        assert_eq!(found, numbers, "{words:?}");
    }
    for (words, told) in [
        (&["audit", "--since", "yesterday"][..], "how long ago"),
        (&["audit", "--verdict", "maybe"], "possible values"),
        (&["audit", "--json", "--csv"], "choose one"),
    ] {
        let said = project.refuses(words);
        assert!(said.contains(told), "{words:?}: {said}");
    }
}

#[test]
fn people_see_the_last_fifty_and_programs_all() {
    let project = Project::new("audit-many");
    for call in 1..=51 {
        project.before("s", &call.to_string(), "read", &json!({}));
    }
    assert_eq!(project.prints(&["audit"], 0).lines().count(), 50);
    assert_eq!(project.prints(&["audit", "--limit", "51"], 0).lines().count(), 51);
    assert_eq!(project.prints(&["audit", "--json"], 0).lines().count(), 51);
    assert_eq!(project.prints(&["audit", "--csv"], 0).lines().count(), 52);
}

#[test]
fn a_table_has_one_row_for_each_entry_and_no_formulas() {
    let project = Project::new("audit-csv");
    project.before("s", "=1", "@push", &json!({"text": "a \"b\",\n\u{1b}[2J"}));
    let table = project.prints(&["audit", "--csv"], 0);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert_eq!(rows[0], "n,time,session,what,call,tool,input,verdict,rule,reason,policy,hash");
    assert!(rows[1].contains(r#",generic/s,call,"'=1","'@push","{""text"":""a \""b\"",\n"#), "{table}");
    assert!(!table.contains('\u{1b}'), "{table}");
}

#[test]
fn nothing_that_an_agent_wrote_reaches_the_terminal_as_it_is() {
    let project = Project::new("audit-visible");
    project.before("s\u{1b}[2J", "1", "a\u{202e}b", &json!({"command": "echo \u{1b}]0;x\u{7}"}));
    let listed = project.prints(&["audit"], 0);
    assert!(listed.contains("\\u{1b}") && listed.contains("\\u{202e}"), "{listed}");
    assert!(!listed.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{listed}");
    let json = lines(&project.prints(&["audit", "--json"], 0));
    assert_eq!(json[0]["entry"]["call"]["tool"], "a\u{202e}b");
}

/// A command that follows the audit log, and the lines it prints.
struct Follow {
    child: Child,
    lines: Receiver<String>,
}

impl Follow {
    fn new(project: &Project, words: &[&str]) -> Self {
        let words: Vec<&str> = ["audit", "--follow"].iter().chain(words).copied().collect();
        let mut child = project.command(&words).spawn().unwrap();
        let (tells, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tells.send(line)));
        Self { child, lines }
    }

    fn line(&self) -> Value {
        let line = self.lines.recv_timeout(HANGS).unwrap_or_else(|_| panic!("the command says nothing more"));
        serde_json::from_str(&line).unwrap()
    }
}

#[cfg(unix)]
#[test]
fn whoever_follows_sees_what_comes_until_interrupted() {
    for signal in ["-TERM", "-INT"] {
        let project = Project::used(&format!("audit-follow{signal}"));
        let mut follow = Follow::new(&project, &["--json", "--limit", "1", "--session", "generic/s"]);
        assert_eq!(follow.line()["n"], 5);
        project.before("t", "2", "read", &json!({}));
        project.before("s", "4", "format", &json!({}));
        let next = follow.line();
        assert_eq!((&next["n"], &next["entry"]["verdict"]), (&json!(7), &json!("block")));
        let id = follow.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(follow.child.wait().unwrap().code(), Some(0), "{signal}");
        assert!(follow.lines.recv_timeout(HANGS).is_err(), "nothing else is printed");
    }
}

#[test]
fn a_whole_trail_verifies_and_its_head_can_be_noted() {
    let project = Project::used("audit-whole");
    let text = project.prints(&["audit", "verify"], 0);
    assert!(text.contains("5 records looked at") && text.contains("whole: every record"), "{text}");
    let noted = |word: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(word)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    let (head, key) = (noted("head"), noted("key"));
    project.before("s", "9", "read", &json!({}));
    let text = project.prints(&["audit", "verify", "--expect", &head, "--key", &key], 0);
    assert!(text.contains("6 records") && text.contains("record 5 is the one you noted"), "{text}");
    let answer = &lines(&project.prints(&["audit", "verify", "--json"], 0))[0];
    assert_eq!(
        (&answer["whole"], &answer["records"], &answer["head"]["n"]),
        (&json!(true), &json!(6), &json!(6))
    );
    assert_eq!(answer["head"]["key"], key.as_str());
    // What was noted is not what is there.
    let other = "0".repeat(64);
    let text = project.prints(&["audit", "verify", "--expect", &format!("5:{other}")], 1);
    assert!(text.contains("the chain was rewritten"), "{text}");
    let text = project.prints(&["audit", "verify", "--expect", &format!("99:{other}")], 1);
    assert!(text.contains("an older copy was brought back"), "{text}");
    let text = project.prints(&["audit", "verify", "--key", &other], 1);
    assert!(text.contains("another key signs this audit log"), "{text}");
    for wrong in ["5", "5:", "5:abc", "x:0000"] {
        assert!(
            project.refuses(&["audit", "verify", "--expect", wrong]).contains("64 hex digits"),
            "{wrong}"
        );
    }
}

#[test]
fn what_was_changed_behind_our_back_is_told_with_its_number() {
    for (name, sql, told) in [
        (
            "byte",
            "UPDATE trail SET entry = replace(entry, 'push', 'pull') WHERE n = 2",
            "record 2 does not have the hash",
        ),
        ("gone", "DELETE FROM trail WHERE n = 3", "record 3 is missing"),
        ("end", "DELETE FROM trail WHERE n = 5", "the chain was cut"),
        ("hidden", "UPDATE trail SET session = 'generic/x' WHERE n = 4", "record 4 is filed under another"),
        (
            "head",
            "UPDATE head SET n = 4, hash = (SELECT hash FROM trail WHERE n = 4)",
            "was not signed by the key",
        ),
        (
            "edited",
            "UPDATE session SET clock = 0 WHERE name = 'generic/s'",
            "session `generic/s` is not as it was written",
        ),
        ("deleted", "DELETE FROM session WHERE name = 'generic/s'", "session `generic/s` is missing"),
    ] {
        let project = Project::used(&format!("audit-tampered-{name}"));
        project.tamper(sql);
        let text = project.prints(&["audit", "verify"], 1);
        assert!(text.contains(told) && !text.contains("whole"), "{name}: {text}");
        let answer = &lines(&project.prints(&["audit", "verify", "--json"], 1))[0];
        assert_eq!(answer["whole"], false, "{name}");
        assert!(answer["problems"][0]["sentence"].is_string(), "{name}");
    }
}

#[test]
fn a_session_whose_row_was_changed_is_blocked_and_others_go_on() {
    for (name, sql) in [
        ("edited", "UPDATE session SET bytes = (SELECT bytes FROM session WHERE name = 'generic/t')"),
        ("deleted", "DELETE FROM session WHERE name = 'generic/s'"),
    ] {
        let project = Project::used(&format!("audit-sealed-{name}"));
        project.tamper(&format!("{sql} {}", if name == "edited" { "WHERE name = 'generic/s'" } else { "" }));
        let call = |session: &str| {
            let event =
                json!({"event": "before", "session": session, "call": "9", "tool": "push", "input": {}});
            let output = project.run(&["hook", "generic"], &event.to_string());
            out(&output) + &err(&output)
        };
        let told = call("s");
        assert!(told.contains("Stop and tell the user") && told.contains("lockgate audit verify"), "{told}");
        assert!(told.contains("\"block\""), "{told}");
        let told = call("u");
        assert!(!told.contains("block"), "{told}");
    }
}

#[test]
fn an_anchor_of_the_settings_finds_an_older_copy() {
    let project = Project::new("audit-anchor");
    let config = project.folder.join("home/.config/lockgate");
    let anchor = project.folder.join("anchor");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("user.rules"), "block never").unwrap();
    fs::write(config.join("lockgate.toml"), format!("anchor = {:?}\n", anchor.to_str().unwrap())).unwrap();
    let call = |id: &str| {
        let event = json!({"event": "before", "session": "s", "call": id, "tool": "read", "input": {}});
        let output = project.run(&["hook", "generic"], &event.to_string());
        out(&output) + &err(&output)
    };
    let told = call("1");
    assert!(told.contains("block") && told.contains("put an empty file there"), "{told}");
    fs::write(&anchor, "").unwrap();
    assert!(!call("2").contains("block"));
    // An agent must not touch it.
    let command = format!("truncate -s 0 {}", anchor.display());
    let event = json!({"event": "before", "session": "s", "call": "t", "tool": "bash", "input": {"command": command}});
    let told = out(&project.run(&["hook", "generic"], &event.to_string()));
    assert!(told.contains("an agent must leave alone"), "{told}");
    let copy = |from: &str, to: &str| {
        for ending in ["", "-wal"] {
            let path =
                |folder: &str| project.database().with_file_name(format!("{folder}lockgate.db{ending}"));
            fs::copy(path(from), path(to)).unwrap();
        }
        fs::remove_file(project.database().with_file_name("lockgate.db-shm")).ok();
    };
    copy("", "old-");
    assert!(!call("3").contains("block"));
    copy("old-", "");
    let told = call("4");
    assert!(told.contains("block") && told.contains("is older than its anchor"), "{told}");
    assert!(project.refuses(&["audit", "verify"]).contains("is older than its anchor"));
}

#[test]
fn an_export_verifies_by_itself_and_only_whole() {
    let project = Project::used("audit-export");
    let file = project.folder.join("trail.jsonl");
    let path = file.to_str().unwrap();
    project.prints(&["audit", "--export", path], 0);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, project.prints(&["audit", "--export", "-"], 0));
    assert_eq!(text.lines().count(), 6);
    let told = project.prints(&["audit", "verify", path], 0);
    assert!(told.contains("whole: every record") && told.contains("give it with --key"), "{told}");
    let head = &lines(&text)[5]["head"];
    let (key, hash) = (head["key"].as_str().unwrap(), head["hash"].as_str().unwrap());
    let told = project.prints(&["audit", "verify", path, "--key", key, "--expect", &format!("5:{hash}")], 0);
    assert!(!told.contains("say it with --key") && told.contains("record 5 is the one you noted"), "{told}");
    project.prints(&["audit", "verify", path, "--key", &"0".repeat(64)], 1);

    let cut: Vec<&str> = text.lines().take(5).collect();
    fs::write(&file, cut.join("\n")).unwrap();
    let output = project.run(&["audit", "verify", path], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("no signed head"), "{}", err(&output));
    fs::write(&file, text.replacen("push", "pull", 1)).unwrap();
    assert!(project.prints(&["audit", "verify", path], 1).contains("record 1 does not have the hash"));
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("{\"n\":2,")).collect();
    fs::write(&file, without.join("\n")).unwrap();
    assert!(project.prints(&["audit", "verify", path], 1).contains("record 2 is missing"));

    for filter in [
        &["--session", "generic/s"][..],
        &["--tool", "push"],
        &["--verdict", "block"],
        &["--limit", "3"],
        &["--since", "1h"],
    ] {
        let words: Vec<&str> = ["audit", "--export", path].iter().chain(filter).copied().collect();
        assert!(project.refuses(&words).contains("cannot be verified"), "{filter:?}");
    }
    // An export that fails leaves the older one, and nothing else.
    project.tamper("DELETE FROM trail WHERE n = 3");
    project.refuses(&["audit", "--export", path]);
    assert_eq!(fs::read_to_string(&file).unwrap(), without.join("\n"));
    let left = fs::read_dir(&project.folder)
        .unwrap()
        .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains(".new"));
    assert_eq!(left.count(), 0);
}

#[test]
fn pruning_forgets_what_is_old_and_says_so() {
    let project = Project::used("audit-prune");
    assert!(project.refuses(&["audit", "prune", "--before", "0s"]).contains("--yes"));
    assert!(project.refuses(&["audit", "prune", "--before", "2999-01-01", "--yes"]).contains("future"));
    let told = project.prints(&["audit", "prune", "--before", "1h", "--yes"], 0);
    assert!(told.starts_with("0 sessions forgotten and 0 records pruned"), "{told}");
    assert_eq!(project.prints(&["audit", "--json"], 0).lines().count(), 5);
    let answer = &lines(&project.prints(&["audit", "prune", "--before", "0s", "--yes", "--json"], 0))[0];
    assert_eq!(answer["sessions"], 2, "{answer}");
    assert!(answer["records"].as_u64().unwrap() >= 5, "{answer}");
    let left = lines(&project.prints(&["audit", "--json"], 0));
    assert_eq!(left.last().unwrap()["entry"]["act"], "prune");
    let told = project.prints(&["audit", "verify"], 0);
    assert!(told.contains("whole: every record"), "{told}");
    // What was spent is spent no more.
    project.before("s", "20", "push", &json!({}));
    let last = lines(&project.prints(&["audit", "--json", "--limit", "1"], 0));
    assert_eq!(last[0]["entry"]["verdict"], "allow");
}

#[test]
fn a_replay_tells_which_verdicts_flip() {
    let project = Project::used("replay");
    let same = project.prints(&["replay"], 0);
    assert!(same.contains("4 calls of 2 sessions: every verdict stays"), "{same}");
    let new = project.folder.join("new.rules");
    fs::write(&new, "limit push to 2 per session\nblock read\nrequire human-approval before format\n")
        .unwrap();
    let new = new.to_str().unwrap();
    let text = project.prints(&["replay", new], 1);
    let shown: Vec<String> = text
        .lines()
        .map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [n, _day, _time, rest @ ..] if n.parse::<u64>().is_ok() && line.starts_with("     ") => {
                format!("{n} {}", rest.join(" "))
            }
            _ => line.to_owned(),
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    generic/s
    2 block → allow push
            was limit-push-1: push has reached its limit of 1 calls per session.
    3 allow → block read
            now block-read: read is blocked and cannot be called.
            it ran, so what follows is judged as if it had been let pass

    generic/t
    4 block → ask format
            was block-format: format is blocked and cannot be called.
            now approve-before-format: format requires human approval.

    4 calls of 2 sessions: 3 verdicts would flip (1 newly allowed, 1 newly asked, 1 newly blocked)
    ");
    let answer = &lines(&project.prints(&["replay", new, "--json"], 1))[0];
    assert_eq!(answer["newly"], json!({"allow": 1, "redact": 0, "ask": 1, "block": 1}));
    assert_eq!(answer["flips"][0]["n"], 2);
    // Only some are compared; all that came before is played.
    let answer = &lines(&project.prints(&["replay", new, "--json", "--session", "generic/t"], 1))[0];
    assert_eq!((&answer["calls"], &answer["flips"][0]["new"]["verdict"]), (&json!(1), &json!("ask")));
    project.prints(&["replay", new, "--mode", "observe", "--session", "generic/s"], 1);
    assert!(project.refuses(&["replay", new, "--session", "nobody"]).contains("no recorded call"));
    // The same from an export.
    let file = project.folder.join("trail.jsonl");
    let path = file.to_str().unwrap();
    project.prints(&["audit", "--export", path], 0);
    assert_eq!(project.prints(&["replay", new, "--file", path], 1), text);
    fs::write(&file, "{}\n").unwrap();
    assert!(project.refuses(&["replay", new, "--file", path]).contains("line 1"));
}
