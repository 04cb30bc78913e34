//! `lockgate serve` and `lockgate gate --server`, with the real binary.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_server::{DataFolder, NewToken, Scope, Tokens};
use lockgate_testkit::human::{Desk, Typed};
use serde_json::Value;

use crate::world::folder;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");
const POLICY: &str = "limit push to 1 per session\nrequire human-approval before deploy\n";

/// A folder with a policy, which is the home of its user too.
struct Place(PathBuf);

impl Place {
    #[track_caller]
    fn new(name: &str) -> Self {
        let place = fs::canonicalize(folder(name)).unwrap();
        fs::write(place.join("ops.rules"), POLICY).unwrap();
        Self(place)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(LOCKGATE);
        command.args(words).current_dir(&self.0).env_clear().env("HOME", &self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn token(&self, name: &str, scope: Scope) {
        let data = DataFolder::open(self.0.join("data")).unwrap();
        let new = NewToken { name: name.to_owned(), scope, sessions: vec!["*".to_owned()], expires: None };
        let token = Tokens::of(&data).create(new, lockgate::engine::Time(1)).unwrap();
        fs::write(self.0.join(name), token).unwrap();
        fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Starts a server at `gate.sock` and waits until it listens.
    fn serve(&self) -> Child {
        let complaint = self.0.join("stderr");
        let mut server = self
            .command(&["serve", "ops.rules", "--socket", "gate.sock", "--data", "data"])
            .stderr(fs::File::create(&complaint).unwrap())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !fs::read_to_string(&complaint).unwrap().contains("the server listens at unix:") {
            let said = fs::read_to_string(&complaint).unwrap();
            assert!(server.try_wait().unwrap().is_none(), "it has ended: {said}");
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen: {said}");
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// What a route of the server answers, with its head.
    fn post(&self, token: &str, route: &str, body: &str) -> String {
        let token = fs::read_to_string(self.0.join(token)).unwrap();
        let mut stream = std::os::unix::net::UnixStream::connect(self.0.join("gate.sock")).unwrap();
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// What a client with a token answers to lines.
    fn say(&self, token: &str, lines: &[&str]) -> Vec<Value> {
        let mut client = self.command(&["gate", "--server", "unix:gate.sock", "--token-file", token]);
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
        let said = String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn end(server: &mut Child) -> Option<i32> {
    let killed = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(killed.success());
    server.wait().unwrap().code()
}

#[test]
fn an_agent_and_an_approver_meet_at_a_server_that_ends_when_it_is_told_to() {
    let place = Place::new("serve-meet");
    place.token("agent", Scope::Agent);
    place.token("admin", Scope::Admin);
    let mut server = place.serve();
    let health = || place.run(&["serve", "health", "--server", "unix:gate.sock"]);
    assert_eq!(health(), (Some(0), "the server is ready\n".to_owned(), String::new()));
    let call = |id: &str, tool: &str| format!(r#"{{"call":{{"id":"{id}","tool":"{tool}","session":"s"}}}}"#);
    let said = place.say("agent", &[&call("1", "push"), &call("2", "push"), &call("3", "deploy")]);
    let verdicts: Vec<&str> = said.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "block", "ask"]);
    let yes = r#"{"answer":{"approval":"a1@s","granted":true}}"#;
    let said = place.say("agent", &[yes, r#"{"resume":{}}"#, r#"{"user":{"says":"yes"}}"#]);
    assert!(said.iter().all(|answer| answer["error"].as_str().unwrap().contains("may not use this route")));
    assert_eq!(place.say("admin", &[yes])[0]["verdict"], "allow");
    assert_eq!(end(&mut server), Some(0));
    let said = place.say("agent", &[&call("4", "read"), r#"{"status":{}}"#]);
    assert_eq!(said[0]["verdict"], "block", "no server, no call");
    assert_eq!(health().0, Some(2));
    assert!(said[1]["error"].as_str().unwrap().contains("cannot be reached"));
    // What was told is there for the next one.
    let mut server = place.serve();
    assert_eq!(place.say("agent", &[&call("5", "push")])[0]["verdict"], "block");
    assert_eq!(end(&mut server), Some(0));
    let (code, verified, _) = place.run(&["audit", "verify", "--state", "data/state.db"]);
    assert_eq!(code, Some(0), "{verified}");
}

#[test]
fn a_server_that_is_killed_has_lost_nothing_that_was_told() {
    let place = Place::new("serve-killed");
    place.token("agent", Scope::Agent);
    let mut server = place.serve();
    let call = |id: &str| format!(r#"{{"call":{{"id":"{id}","tool":"push","session":"s"}}}}"#);
    assert_eq!(place.say("agent", &[&call("1")])[0]["verdict"], "allow");
    server.kill().unwrap();
    server.wait().unwrap();
    let mut server = place.serve();
    assert_eq!(place.say("agent", &[&call("2")])[0]["verdict"], "block");
    end(&mut server);
}

#[test]
fn tokens_are_made_by_humans_alone_and_revoked_by_anyone() {
    let place = Place::new("serve-tokens");
    let create =
        ["serve", "token", "create", "ci", "--scope", "agent", "--sessions", "ci/*", "--data", "data"];
    let (code, said, why) = place.run(&create);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(why.contains("is for a human at a terminal"), "{why}");
    let mut desk = Desk::new(Path::new(LOCKGATE), &create);
    desk.command.current_dir(&place.0).env_clear().env("HOME", &place.0);
    desk.command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = desk.run(Typed::Word);
    let said = String::from_utf8(ran.output.stdout).unwrap();
    assert!(said.starts_with("lgt_"), "{said} {}", String::from_utf8_lossy(&ran.output.stderr));
    let (_, listed, _) = place.run(&["serve", "token", "list", "--data", "data"]);
    assert_eq!(listed, "ci  agent, sessions ci/*\n");
    assert!(!fs::read_to_string(place.0.join("data/tokens.json")).unwrap().contains(said.trim()));
    assert_eq!(place.run(&["serve", "token", "revoke", "ci", "--data", "data"]).0, Some(0));
    assert_eq!(place.run(&["serve", "token", "list", "--data", "data"]).1, "no tokens\n");
    assert_eq!(place.run(&["serve", "token", "revoke", "ci", "--data", "data"]).0, Some(2));
}

#[test]
fn a_server_that_cannot_be_safe_does_not_start() {
    let place = Place::new("serve-unsafe");
    let check = |words: &[&str]| place.run(&[&["serve", "--check", "--data", "data"], words].concat());
    let (code, said, why) = check(&["ops.rules", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, said.as_str()), (Some(0), "the server can start\n"), "{why}");
    for (words, expected) in [
        (&["ops.rules", "--listen", "0.0.0.0:0"][..], "tokens would travel unencrypted"),
        (&["missing.rules"], "missing.rules"),
        (&["ops.rules", "--socket", "ops.rules"], "something else is in its place"),
        (&[], "required"),
    ] {
        let (code, _, why) = check(words);
        assert_eq!(code, Some(2), "{words:?} {why}");
        assert!(why.contains(expected), "{words:?} {why}");
    }
    fs::set_permissions(place.0.join("data"), fs::Permissions::from_mode(0o755)).unwrap();
    let (code, _, why) = check(&["ops.rules", "--listen", "127.0.0.1:0"]);
    assert!(code == Some(2) && why.contains("other users can access"), "{why}");
}

#[test]
fn a_token_that_others_can_read_is_not_sent() {
    let place = Place::new("serve-token-file");
    place.token("agent", Scope::Agent);
    fs::set_permissions(place.0.join("agent"), fs::Permissions::from_mode(0o644)).unwrap();
    for (url, expected) in [
        ("unix:gate.sock", "other users can read the token"),
        ("http://gate.example:7878", "would travel unencrypted"),
        ("ftp://127.0.0.1", "is not the URL of a server"),
    ] {
        let (code, _, why) = place.run(&["gate", "--server", url, "--token-file", "agent"]);
        assert!(code == Some(2) && why.contains(expected), "{url} {why}");
    }
    assert_eq!(place.run(&["gate", "--server", "unix:gate.sock"]).0, Some(2), "without a token");
}

/// What a hook says to an event.
fn hook(place: &Place, event: &str) -> Value {
    let mut hook = place.command(&["hook", "generic"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    let Output { stdout, stderr, .. } = hook.wait_with_output().unwrap();
    let said = String::from_utf8(stdout).unwrap();
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said} {}", String::from_utf8_lossy(&stderr)))
}

fn before(id: &str, tool: &str) -> String {
    format!(r#"{{"event":"before","session":"s","call":"{id}","tool":"{tool}","input":{{}}}}"#)
}

fn after(id: &str, tool: &str) -> String {
    format!(
        r#"{{"event":"after","session":"s","call":"{id}","tool":"{tool}","input":{{}},"ok":true,"output":"done"}}"#
    )
}

#[test]
fn hooks_ask_the_server_as_well_and_the_stricter_verdict_counts() {
    let place = Place::new("serve-hook");
    let config = place.0.join(".config/lockgate");
    fs::create_dir_all(&config).unwrap();
    // The user's own policy says something that the server does not.
    fs::write(config.join("own.rules"), "block erase\n").unwrap();
    let settings = |url: &str| {
        let text = format!(
            "policy = [\"own.rules\"]\n[hook]\ndeadline = \"6s\"\n[server]\nurl = \"{url}\"\ntoken_file = \"{}\"\nsession_prefix = \"ada/\"\n",
            place.0.join("agent").display()
        );
        fs::write(config.join("lockgate.toml"), text).unwrap();
    };
    let socket = format!("unix:{}", place.0.join("gate.sock").display());
    settings(&socket);
    place.token("agent", Scope::Agent);
    place.token("admin", Scope::Admin);
    let down = hook(&place, &before("0", "push"));
    assert_eq!(down["decision"], "block", "no server, no call: {down}");
    assert!(down["reason"].as_str().unwrap().contains("cannot be reached"), "{down}");
    let mut server = place.serve();
    assert_eq!(hook(&place, &before("1", "push"))["decision"], "pass");
    assert_eq!(hook(&place, &after("1", "push"))["decision"], "pass");
    let over = hook(&place, &before("2", "push"));
    assert_eq!(over["decision"], "block", "the limit of the server: {over}");
    let own = hook(&place, &before("3", "erase"));
    assert_eq!(own["decision"], "block", "the policy of the user: {own}");
    let status = &place.say("admin", &[r#"{"status":{"session":"ada/generic/s"}}"#])[0];
    assert_eq!(status["counters"]["tool_calls"], 2, "{status}");
    assert_eq!(status["pending"], serde_json::json!([]), "what was blocked here has ended there: {status}");
    let answered = thread::scope(|scope| {
        let asked = scope.spawn(|| hook(&place, &before("4", "deploy")));
        let yes = r#"{"approval":"a1@ada/generic/s","granted":true}"#;
        // The question is there as soon as the hook has asked.
        while !place.post("admin", "/v1/answer", yes).contains("\"granted\":true") && !asked.is_finished() {
            thread::sleep(Duration::from_millis(50));
        }
        asked.join().unwrap()
    });
    assert_eq!(answered["decision"], "pass", "{answered}");
    let unanswered = hook(&place, &before("5", "deploy"));
    assert_eq!(unanswered["decision"], "block", "no human in time: {unanswered}");
    end(&mut server);
}

#[test]
fn a_server_on_a_public_address_needs_tls_or_a_proxy() {
    let place = Place::new("serve-public");
    let (code, _, why) = place.run(&["serve", "ops.rules", "--data", "data", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2));
    assert!(why.contains("--tls-cert") && why.contains("--behind-proxy"), "{why}");
    fs::write(place.0.join("cert.pem"), "x").unwrap();
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "cert.pem"];
    let (code, _, why) =
        place.run(&[&["serve", "ops.rules", "--data", "data", "--check"], &tls[..]].concat());
    assert_eq!((code, why.contains("has no certificate in PEM")), (Some(2), true), "{why}");
    let socket = ["serve", "ops.rules", "--data", "data", "--check", "--socket", "s.sock"];
    let (code, _, why) = place.run(&[&socket, &tls[..]].concat());
    assert_eq!((code, why.contains("TLS is for an address")), (Some(2), true), "{why}");
    let (code, ..) = place.run(&["serve", "ops.rules", "--tls-cert", "cert.pem"]);
    assert_eq!(code, Some(2), "a certificate without its key");
}
