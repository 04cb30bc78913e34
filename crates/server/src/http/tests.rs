//! The server from outside: real sockets, real tokens, every route with every scope.

mod approvals;
mod authzen;
mod bad_input;
mod events;
mod outbox;
mod pages;
mod rights;
mod tls;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
};

use lockgate::{
    Policy,
    engine::{
        Database, Gate, Time,
        store::{Options, Sqlite},
    },
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Listeners, Server, Service, ServiceOptions};
use crate::{DataFolder, NewToken, Scope, Tokens};

const POLICY: &str = "
    require backup before delete
    require human-approval before deploy
    limit push to 3 per session
";

/// A server at a port of its own. It ends, and its folder is gone, when this is dropped.
pub(super) struct World {
    folder: tempfile::TempDir,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        Self::with(ServiceOptions { rate: 100_000, ..ServiceOptions::default() })
    }

    fn with(options: ServiceOptions) -> Self {
        Self::over(tempfile::tempdir().unwrap(), options)
    }

    /// A server over a folder that may have been used before.
    fn over(folder: tempfile::TempDir, options: ServiceOptions) -> Self {
        Self::under(Policy::rules(POLICY).unwrap(), folder, options)
    }

    /// A server that listens as it is told, and tells what happens.
    fn at(
        listeners: Listeners,
        options: ServiceOptions,
        notice: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (folder, policy) = (tempfile::tempdir().unwrap(), Policy::rules(POLICY).unwrap());
        let service = service(policy, &folder, options);
        let (end, running, address) = run(service, listeners, notice);
        Self { folder, address, end, running }
    }

    /// A server with a policy of its own.
    fn under(policy: Policy, folder: tempfile::TempDir, options: ServiceOptions) -> Self {
        let service = service(policy, &folder, options);
        let listeners = Listeners { tcp: Some("127.0.0.1:0".parse().unwrap()), ..Listeners::default() };
        let (end, running, address) = run(service, listeners, |_| ());
        Self { folder, address, end, running }
    }

    fn data(&self) -> DataFolder {
        DataFolder::open(self.folder.path().join("data")).unwrap()
    }

    fn token(&self, name: &str, scope: Scope, sessions: &str) -> String {
        let new =
            NewToken { name: name.to_owned(), scope, sessions: vec![sessions.to_owned()], expires: None };
        Tokens::of(&self.data()).create(new, Time(1)).unwrap()
    }

    /// A token for all sessions, called after its scope.
    fn token_of(&self, scope: Scope) -> String {
        self.token(scope.word(), scope, "*")
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let authorization = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let authorization = format!("Bearer {token}");
        self.send("GET", path, &[("authorization", authorization.as_str())], b"")
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Value) {
        let (status, _, body) = self.send_whole(method, path, headers, body);
        (status, body)
    }

    /// The same with the head of the response.
    fn send_whole(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String, Value) {
        let own = ("host", self.address.to_string());
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("{}: {}\r\n", own.0, own.1));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has read enough may close before all was sent.
        let _ = stream.write_all(body);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let lower = head.to_lowercase();
        for header in
            ["cache-control: no-store", "x-content-type-options: nosniff", "content-security-policy:"]
        {
            assert!(status == 0 || lower.contains(header), "{header} is missing: {head}");
        }
        (status, head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// What is answered to a request without a token, with its head.
    fn get_or_nothing(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nconnection: close\r\nhost: {}\r\n\r\n", self.address);
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).lines().filter(|line| line.contains("HTTP")).collect()
    }

    /// The body of a response that is not JSON.
    fn get_text(&self, path: &str, token: &str) -> String {
        let head = format!(
            "GET {path} HTTP/1.1\r\nconnection: close\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
            self.address
        );
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn call(&self, token: &str, id: &str, tool: &str, session: &str) -> Value {
        let (status, answer) =
            self.post("/v1/call", token, &json!({"id": id, "tool": tool, "session": session}));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn end(&mut self) {
        drop(self.end.take());
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_session_is_judged_as_the_line_protocol_judges_it() {
    let world = World::new();
    let agent = world.token("agent", Scope::Agent, "s1");
    let (_, blocked) = world.post("/v1/call", &agent, &json!({"id": "1", "tool": "delete"}));
    assert_eq!(blocked["verdict"], "block");
    assert_eq!(blocked["session"], "s1", "a token for one session means that one");
    assert_eq!(blocked["reason"], "delete requires a successful call to backup first.");
    assert_eq!(world.call(&agent, "2", "backup", "s1")["verdict"], "allow");
    let (_, settled) = world.post("/v1/result", &agent, &json!({"id": "2", "ok": true}));
    assert_eq!(settled["settled"], true);
    assert_eq!(world.call(&agent, "3", "delete", "s1")["verdict"], "allow");
    let (_, status) = world.post("/v1/status", &agent, &json!({}));
    assert_eq!(status["counters"]["tool_calls"], 2);
    let (_, prompt) = world.post("/v1/prompt", &agent, &json!({}));
    assert!(prompt["prompt"].as_str().unwrap().contains("`push` 3 times more"), "{prompt}");
}

#[test]
fn a_limit_holds_for_calls_at_the_same_time() {
    let world = World::new();
    let agent = world.token_of(Scope::Agent);
    let allowed: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let (world, agent) = (&world, &agent);
                scope.spawn(move || {
                    let calls = (0..4).map(|n| world.call(agent, &format!("{number}-{n}"), "push", "s"));
                    calls.filter(|answer| answer["verdict"] == "allow").count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(allowed, 3);
}

#[test]
fn what_was_decided_is_there_after_a_restart_and_the_log_is_whole() {
    let mut world = World::new();
    let agent = world.token_of(Scope::Agent);
    for id in ["1", "2", "3"] {
        assert_eq!(world.call(&agent, id, "push", "s")["verdict"], "allow");
    }
    let approver = world.token_of(Scope::Approver);
    assert_eq!(world.post("/v1/halt", &approver, &json!({"reason": "stop", "session": "t"})).0, 200);
    world.end();
    let folder = std::mem::replace(&mut world.folder, tempfile::tempdir().unwrap());
    let again = World::over(folder, ServiceOptions::default());
    assert_eq!(again.call(&agent, "4", "push", "s")["verdict"], "block");
    assert!(again.call(&agent, "5", "read", "t")["reason"].as_str().unwrap().contains("stop"));
    let viewer = again.token_of(Scope::Viewer);
    let (status, verified) = again.get("/v1/audit/verify", &viewer);
    assert_eq!((status, &verified["whole"]), (200, &json!(true)), "{verified}");
    let (_, audit) = again.get("/v1/audit?tool=push&verdict=block", &viewer);
    assert_eq!(audit["records"].as_array().unwrap().len(), 1, "{audit}");
    let (_, sessions) = again.get("/v1/sessions", &viewer);
    let names: Vec<&str> =
        sessions["sessions"].as_array().unwrap().iter().map(|it| it["session"].as_str().unwrap()).collect();
    assert!(names.contains(&"s"), "{names:?}");
}

#[test]
fn verdicts_and_requests_are_counted_without_names() {
    let world = World::new();
    let (agent, viewer) = (world.token_of(Scope::Agent), world.token_of(Scope::Viewer));
    world.call(&agent, "1", "push", "secret-session");
    world.call(&agent, "2", "delete", "secret-session");
    world.call(&agent, "3", "deploy", "secret-session");
    let text = world.get_text("/metrics", &viewer);
    for line in [
        "lockgate_decisions_total{verdict=\"allow\"} 1",
        "lockgate_decisions_total{verdict=\"block\"} 1",
        "lockgate_decisions_total{verdict=\"ask\"} 1",
        "lockgate_questions_open 1",
        "lockgate_requests_total{route=\"/v1/call\",status=\"200\"} 3",
        "lockgate_request_seconds_count{route=\"/v1/call\"} 3",
        "lockgate_request_seconds_bucket{le=\"30.0\",route=\"/v1/call\"} 3",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    assert!(!text.contains("secret-session") && !text.contains("push"), "{text}");
}

#[test]
fn the_page_of_the_api_has_every_route() {
    let world = World::new();
    let (status, page) = world.get("/openapi.json", "");
    assert_eq!((status, page["openapi"].as_str()), (200, Some("3.1.0")));
    for route in super::routes::ROUTES {
        let is_told = page["paths"][route.path].is_object();
        assert_eq!(is_told, route.face != super::routes::Face::Page, "{}", route.path);
    }
    assert_eq!(page["paths"]["/v1/answer"]["post"]["x-scopes"], json!(["approver", "admin"]));
}

type Running = (Option<oneshot::Sender<()>>, Option<JoinHandle<()>>, SocketAddr);

fn service(policy: Policy, folder: &tempfile::TempDir, options: ServiceOptions) -> Service {
    let data = DataFolder::open(folder.path().join("data")).unwrap();
    let store = Database::Sqlite(Arc::new(Sqlite::open(data.state(), Options::default()).unwrap()));
    let builder = Gate::builder(policy.clone()).backend(store.backend());
    Service::new(builder, policy, store, &data, options).unwrap()
}

fn run(service: Service, at: Listeners, notice: impl Fn(&str) + Send + Sync + 'static) -> Running {
    let (end, ended) = oneshot::channel::<()>();
    let (told, address) = std::sync::mpsc::channel();
    let running = thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::bind(service, &at).await.unwrap().on_notice(notice);
            told.send(server.address().unwrap()).unwrap();
            server.run(async { drop(ended.await) }).await;
        });
    });
    (Some(end), Some(running), address.recv().unwrap())
}
