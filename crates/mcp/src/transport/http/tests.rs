//! Both sides of HTTP, against each other and against peers that write bytes by hand.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use super::{Acceptor, BadTarget, ConversationKind, HttpTarget, ServeError, ServeOptions, connect, serve};
use crate::{
    message::{Id, MESSAGE_BYTES_MAX},
    transport::link::{Incoming, Link, Outgoing},
};

/// Nothing here takes long; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

/// Long enough for what must not happen to happen.
const MOMENT: Duration = Duration::from_millis(300);

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it took too long")
}

// A gate that plays tools.

/// Calls what it was given for each conversation.
struct Play<F>(F);

impl<F, W> Acceptor for Play<F>
where
    F: Fn(Link, ConversationKind) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    fn begin(&self, link: Link, kind: ConversationKind) {
        tokio::spawn((self.0)(link, kind));
    }
}

struct Served {
    address: SocketAddr,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn start_with(options: ServeOptions, acceptor: impl Acceptor) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    Served { address, task: tokio::spawn(serve(listener, options, Arc::new(acceptor))) }
}

async fn start(acceptor: impl Acceptor) -> Served {
    start_with(ServeOptions::default(), acceptor).await
}

async fn start_echo() -> Served {
    start(Play(|link, _| echo(link))).await
}

fn answer(id: &Value, result: &Value) -> Outgoing {
    Outgoing {
        text: json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
        ..Outgoing::default()
    }
}

fn notice(method: &str, about: Option<&Value>) -> Outgoing {
    let text = json!({"jsonrpc": "2.0", "method": method}).to_string();
    Outgoing { text, about: about.and_then(Id::of), ..Outgoing::default() }
}

fn value_of(incoming: Option<Incoming>) -> Option<Value> {
    match incoming? {
        Incoming::Message(text) => Some(serde_json::from_str(&text).unwrap()),
        _ => None,
    }
}

/// Answers every request with its method and parameters; some say something before.
async fn echo(mut link: Link) {
    while let Some(message) = value_of(link.from.recv().await) {
        let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
        match method {
            "notifications/initialized" => drop(link.to.send(notice("notifications/own", None)).await),
            _ if id.is_null() => {}
            "initialize" => drop(link.to.send(answer(id, &json!({"protocolVersion": "2025-11-25"}))).await),
            "unknown" => {
                let text = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}});
                drop(link.to.send(Outgoing { text: text.to_string(), ..Outgoing::default() }).await);
            }
            "chatty" => {
                for step in ["notifications/one", "notifications/two"] {
                    drop(link.to.send(notice(step, Some(id))).await);
                }
                drop(link.to.send(answer(id, &json!("after two"))).await);
            }
            "quit" => return,
            _ => {
                drop(link.to.send(answer(id, &json!({"method": method, "params": message["params"]}))).await)
            }
        }
    }
}

// Clients.

fn target(address: SocketAddr) -> HttpTarget {
    HttpTarget { url: format!("http://{address}/mcp"), headers: Vec::new() }
}

fn request(id: u64, method: &str, params: impl Into<Value>) -> String {
    let params: Value = params.into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A request of the revision without sessions.
fn modern(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, params)
}

async fn say(link: &Link, text: impl Into<String>) {
    let outgoing = Outgoing { text: text.into(), ..Outgoing::default() };
    soon(link.to.send(outgoing)).await.unwrap();
}

async fn hear(link: &mut Link) -> Incoming {
    soon(link.from.recv()).await.expect("the conversation ended")
}

async fn hear_value(link: &mut Link) -> Value {
    let incoming = hear(link).await;
    value_of(Some(incoming.clone())).unwrap_or_else(|| panic!("no message: {incoming:?}"))
}

async fn hear_loss(link: &mut Link) -> (Option<Id>, String) {
    match hear(link).await {
        Incoming::Gone { about, reason } => (about, reason),
        other => panic!("not lost: {other:?}"),
    }
}

/// Sends bytes and reads until the server closes; gives the status and everything after the head.
async fn raw(address: SocketAddr, bytes: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut all = Vec::new();
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let _ = soon(stream.read_to_end(&mut all)).await;
    let text = String::from_utf8(all).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// Reads what comes until something is in it.
async fn read_until(stream: &mut TcpStream, what: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(what) {
        let mut piece = [0; 1024];
        let length = soon(stream.read(&mut piece)).await.unwrap();
        assert!(length > 0, "it ended without {what}: {seen}");
        seen.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    seen
}

/// A request as bytes. What is given replaces what is usual; an empty value leaves it out.
fn http(address: SocketAddr, method: &str, fields: &[(&str, &str)], body: &str) -> Vec<u8> {
    let (host, length) = (address.to_string(), body.len().to_string());
    let mut all = vec![
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("content-length", length.as_str()),
        ("connection", "close"),
    ];
    for field in fields {
        all.retain(|(name, _)| name != &field.0);
        all.push(*field);
    }
    let head =
        all.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}\r\n"));
    format!("{method} /mcp HTTP/1.1\r\n{}\r\n{body}", head.collect::<String>()).into_bytes()
}

async fn post(address: SocketAddr, fields: &[(&str, &str)], body: &str) -> (u16, String, String) {
    raw(address, &http(address, "POST", fields, body)).await
}

async fn begin_session(address: SocketAddr) -> String {
    let (status, head, _) = post(address, &[], &request(0, "initialize", json!({}))).await;
    assert_eq!(status, 200);
    let line = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("no session");
    line.to_owned()
}

const MODERN_CALL: [(&str, &str); 3] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "read")];

// Both sides against each other.

#[tokio::test]
async fn a_session_works_from_its_first_message_to_its_end() {
    let (told, mut talks) = mpsc::channel(8);
    let served = start(Play(move |link, kind| {
        let told = told.clone();
        async move {
            told.send(kind).await.unwrap();
            echo(link).await;
            told.send(ConversationKind::Request).await.unwrap();
        }
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, request(1, "initialize", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["result"]["protocolVersion"], "2025-11-25");
    assert!(matches!(soon(talks.recv()).await, Some(ConversationKind::Session(id)) if id.len() == 32));
    say(&link, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(hear_value(&mut link).await["method"], "notifications/own", "on the server's own stream");
    say(&link, request(2, "tools/call", json!({"name": "read"}))).await;
    assert_eq!(hear_value(&mut link).await["result"]["params"]["name"], "read");
    say(&link, request(3, "chatty", json!({}))).await;
    let heard = [hear_value(&mut link).await, hear_value(&mut link).await, hear_value(&mut link).await];
    assert_eq!(heard[0]["method"], "notifications/one");
    assert_eq!(heard[1]["method"], "notifications/two");
    assert_eq!((&heard[2]["id"], &heard[2]["result"]), (&json!(3), &json!("after two")));
    drop(link);
    assert_eq!(
        soon(talks.recv()).await,
        Some(ConversationKind::Request),
        "the end of the client ends the conversation"
    );
}

#[tokio::test]
async fn requests_without_a_session_are_conversations_of_their_own() {
    let (told, mut talks) = mpsc::channel(8);
    let served = start(Play(move |link, kind| {
        told.try_send(kind).unwrap();
        echo(link)
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    for (id, name) in [(1, "read"), (2, "lösche"), (3, " =?base64?")] {
        let text = modern(id, "tools/call", json!({"name": name}));
        let mirrored = vec![("Mcp-Param-Path".to_owned(), "a\r\nb".to_owned())];
        soon(link.to.send(Outgoing { text, about: None, mirrored })).await.unwrap();
        assert_eq!(hear_value(&mut link).await["result"]["params"]["name"], name);
        assert_eq!(soon(talks.recv()).await, Some(ConversationKind::Request));
    }
    say(&link, modern(4, "unknown", json!({}))).await;
    let heard = hear_value(&mut link).await;
    assert_eq!((&heard["id"], &heard["error"]["code"]), (&json!(4), &json!(-32601)), "the body of a 404");
    say(&link, modern(5, "chatty", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["method"], "notifications/one");
}

#[tokio::test]
async fn a_request_that_is_given_up_is_cancelled_by_closing_its_stream() {
    let (told, mut heard) = mpsc::channel(8);
    let served = start(Play(move |mut link: Link, _| {
        let told = told.clone();
        async move {
            while let Some(message) = value_of(link.from.recv().await) {
                told.send(Some(message)).await.unwrap();
            }
            told.send(None).await.unwrap();
            drop(link);
        }
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, modern(7, "tools/call", json!({"name": "slow"}))).await;
    assert_eq!(soon(heard.recv()).await.flatten().unwrap()["id"], 7);
    say(&link, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#).await;
    let cancelled = soon(heard.recv()).await.flatten().unwrap();
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(7))
    );
    assert_eq!(soon(heard.recv()).await, Some(None), "then the conversation is over");
    // Its id is free again, and nothing was said about the loss of what nobody wants.
    say(&link, modern(7, "tools/call", json!({"name": "slow"}))).await;
    assert_eq!(soon(heard.recv()).await.flatten().unwrap()["id"], 7);
    assert!(link.from.try_recv().is_err());
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_stream_cancels() {
    let (told, mut heard) = mpsc::channel(8);
    let served = start(Play(move |mut link: Link, _| {
        let told = told.clone();
        async move {
            let asked = value_of(link.from.recv().await).unwrap();
            link.to.send(notice("notifications/begun", Some(&asked["id"]))).await.unwrap();
            told.send(value_of(link.from.recv().await)).await.unwrap();
            told.send(value_of(link.from.recv().await)).await.unwrap();
        }
    }))
    .await;
    let body = modern(7, "tools/call", json!({"name": "read"}));
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(&http(served.address, "POST", &MODERN_CALL, &body)).await.unwrap();
    let seen = read_until(&mut stream, "notifications/begun").await;
    assert!(seen.to_ascii_lowercase().contains("x-accel-buffering: no"));
    drop(stream);
    assert_eq!(soon(heard.recv()).await.flatten().unwrap()["method"], "notifications/cancelled");
    assert_eq!(soon(heard.recv()).await, Some(None));
}

#[tokio::test]
async fn two_requests_at_once_are_answered_on_their_own_streams() {
    let served = start(Play(|mut link: Link, _| async move {
        let begin = value_of(link.from.recv().await).unwrap();
        link.to.send(answer(&begin["id"], &json!({}))).await.unwrap();
        let one = value_of(link.from.recv().await).unwrap();
        let two = value_of(link.from.recv().await).unwrap();
        for asked in [&two, &one] {
            let said = format!("notifications/{}", asked["method"].as_str().unwrap());
            link.to.send(notice(&said, Some(&asked["id"]))).await.unwrap();
        }
        for asked in [&one, &two] {
            link.to.send(answer(&asked["id"], &asked["method"])).await.unwrap();
        }
        let _ = link.from.recv().await;
    }))
    .await;
    let session = begin_session(served.address).await;
    let fields = [("mcp-session-id", session.as_str())];
    let (red, blue) = (request(1, "red", json!({})), request(2, "blue", json!({})));
    let answers = tokio::join!(post(served.address, &fields, &red), post(served.address, &fields, &blue));
    for ((status, head, body), own, other) in [(answers.0, "red", "blue"), (answers.1, "blue", "red")] {
        assert_eq!(status, 200);
        assert!(head.contains("text/event-stream"), "{head}");
        assert!(
            body.contains(&format!("notifications/{own}")) && body.contains(&format!("\"result\":\"{own}\""))
        );
        assert!(!body.contains(other), "{body}");
    }
}

#[tokio::test]
async fn what_comes_while_no_stream_is_open_waits_for_the_next_one() {
    let served = start_echo().await;
    let session = begin_session(served.address).await;
    let fields = [("mcp-session-id", session.as_str())];
    let told =
        post(served.address, &fields, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((told.0, told.2.as_str()), (202, ""));
    let (_, _, body) = post(served.address, &fields, &request(1, "tools/list", json!({}))).await;
    let own = body.find("notifications/own").expect("it was kept");
    assert!(own < body.find("tools/list").unwrap(), "{body}");
}

#[tokio::test]
async fn a_session_is_needed_known_and_can_be_ended() {
    let served = start_echo().await;
    let list = request(1, "tools/list", json!({}));
    let session = begin_session(served.address).await;
    let known = [("mcp-session-id", session.as_str())];
    type Fields<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Fields<'_>, u16); 10] = [
        ("POST", &[], 400),
        ("GET", &[], 400),
        ("DELETE", &[], 400),
        ("POST", &[("mcp-session-id", "00000000000000000000000000000000")], 404),
        ("GET", &[("mcp-session-id", "no\tsession")], 404),
        ("POST", &[("mcp-session-id", &session), ("mcp-protocol-version", "1999-01-01")], 400),
        ("POST", &[("mcp-session-id", &session), ("mcp-protocol-version", "2025-06-18")], 200),
        ("POST", &known, 200),
        ("DELETE", &known, 204),
        ("POST", &known, 404),
    ];
    for (method, fields, status) in cases {
        let bytes = http(served.address, method, fields, if method == "POST" { &list } else { "" });
        assert_eq!(raw(served.address, &bytes).await.0, status, "{method} {fields:?}");
    }
}

#[tokio::test]
async fn a_gate_that_ends_without_an_answer_says_so() {
    let served = start_echo().await;
    let session = begin_session(served.address).await;
    let (status, _, body) =
        post(served.address, &[("mcp-session-id", &session)], &request(5, "quit", json!({}))).await;
    let data = body.lines().find_map(|line| line.strip_prefix("data: ")).expect("the stream says nothing");
    let said: Value = serde_json::from_str(data).unwrap();
    assert_eq!((status, &said["id"], &said["error"]["code"]), (200, &json!(5), &json!(-32603)));
    let (status, ..) =
        post(served.address, &[("mcp-session-id", &session)], &request(6, "x", json!({}))).await;
    assert_eq!(status, 404, "the session is over with it");
}

// Streams that break.

/// How a client of the newest revision with sessions names it.
const NEWEST: (&str, &str) = ("mcp-protocol-version", "2025-11-25");

/// What the `id` lines of a stream say.
fn event_ids(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

/// Says one thing about each request, and answers it once it is let go on. Gives everything that it heard.
async fn start_slow() -> (Served, Arc<Semaphore>, mpsc::Receiver<Value>) {
    start_slow_with(ServeOptions::default()).await
}

async fn start_slow_with(options: ServeOptions) -> (Served, Arc<Semaphore>, mpsc::Receiver<Value>) {
    let (told, heard) = mpsc::channel(512);
    let go_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go_on);
    let acceptor = Play(move |mut link: Link, _| {
        let (told, gate) = (told.clone(), Arc::clone(&gate));
        async move {
            while let Some(message) = value_of(link.from.recv().await) {
                told.send(message.clone()).await.unwrap();
                let (id, to, gate) = (message["id"].clone(), link.to.clone(), Arc::clone(&gate));
                match message["method"].as_str() {
                    Some("initialize") => drop(to.send(answer(&id, &json!({}))).await),
                    Some("slow" | "tools/call") => drop(tokio::spawn(async move {
                        let _ = to.send(notice("notifications/one", Some(&id))).await;
                        gate.acquire().await.unwrap().forget();
                        let _ = to.send(notice("notifications/two", Some(&id))).await;
                        let _ = to.send(answer(&id, &json!("done"))).await;
                    })),
                    _ => {}
                }
            }
        }
    });
    (start_with(options, acceptor).await, go_on, heard)
}

/// Asks for something slow and reads until it has begun.
async fn begin_slow(address: SocketAddr, session: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let fields = [("mcp-session-id", session), NEWEST];
    stream.write_all(&http(address, "POST", &fields, &request(1, "slow", json!({})))).await.unwrap();
    let seen = read_until(&mut stream, "notifications/one\"}\n\n").await;
    let last = event_ids(&seen).last().map(|id| (*id).to_owned()).expect("no event has an id");
    (stream, last)
}

async fn resume(address: SocketAddr, session: &str, last: &str) -> (u16, String) {
    let fields = [("mcp-session-id", session), NEWEST, ("last-event-id", last)];
    let (status, _, body) = raw(address, &http(address, "GET", &fields, "")).await;
    (status, body)
}

#[tokio::test]
async fn only_clients_that_know_priming_events_get_them_and_every_event_of_a_session_has_an_id() {
    let served = start_echo().await;
    let begin = |version: &str| request(0, "initialize", json!({"protocolVersion": version}));
    for (version, is_primed) in [
        ("2026-07-28", true),
        ("2025-11-25", true),
        ("2025-06-18", false),
        ("2025-03-26", false),
        ("2024-11-05", false),
        ("3000-01-01", false),
        ("", false),
    ] {
        let (status, head, body) = post(served.address, &[], &begin(version)).await;
        assert_eq!((status, head.contains("text/event-stream")), (200, true), "{version} {body}");
        assert_eq!(body.contains("retry: 1000\ndata:\n\n"), is_primed, "{version} {body}");
    }
    let session = begin_session(served.address).await;
    let known = ("mcp-session-id", session.as_str());
    for (version, method, is_primed, messages) in [
        ("2025-11-25", "tools/list", true, 1),
        ("2025-11-25", "chatty", true, 3),
        ("2025-11-25", "unknown", true, 1),
        ("2025-06-18", "tools/list", false, 1),
        ("2025-06-18", "chatty", false, 3),
        ("", "chatty", false, 3),
    ] {
        let fields = [known, ("mcp-protocol-version", version)];
        let (status, head, body) = post(served.address, &fields, &request(1, method, json!({}))).await;
        assert_eq!((status, head.contains("text/event-stream")), (200, true), "{version} {method}");
        assert_eq!(body.contains("data:\n"), is_primed, "{version} {method} {body}");
        assert_eq!(body.matches("data: {").count(), messages, "{version} {method} {body}");
        let mut given = event_ids(&body);
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), messages + usize::from(is_primed), "{version} {method} {body}");
    }
    for (version, first) in [("2025-11-25", "data:\n\n"), ("2025-06-18", ": still here\n\n")] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let fields = [known, ("mcp-protocol-version", version)];
        stream.write_all(&http(served.address, "GET", &fields, "")).await.unwrap();
        read_until(&mut stream, first).await;
    }
}

#[tokio::test]
async fn a_stream_that_was_cut_is_resumed_with_exactly_the_rest() {
    let (served, go_on, mut heard) = start_slow().await;
    let session = begin_session(served.address).await;
    let (stream, last) = begin_slow(served.address, &session).await;
    drop(stream);
    // It goes on while nobody listens, or after its client has come back.
    for is_back_before in [false, true] {
        let session = begin_session(served.address).await;
        let (stream, last) = begin_slow(served.address, &session).await;
        drop(stream);
        let rest = async {
            if !is_back_before {
                tokio::time::sleep(MOMENT).await;
            }
            resume(served.address, &session, &last).await
        };
        let permitted = async {
            if is_back_before {
                tokio::time::sleep(MOMENT).await;
            }
            go_on.add_permits(2);
        };
        let ((status, body), ()) = tokio::join!(rest, permitted);
        assert_eq!(status, 200);
        assert!(!body.contains("notifications/one"), "{body}");
        let two = body.find("notifications/two").expect("the rest is missing");
        assert!(two < body.find("\"done\"").expect("the answer is missing"), "{body}");
        assert_eq!((body.matches("notifications/two").count(), body.matches("\"done\"").count()), (1, 1));
        let end = event_ids(&body).last().map(|id| (*id).to_owned()).unwrap();
        assert_eq!(resume(served.address, &session, &end).await, (204, String::new()), "nothing more comes");
    }
    // The first client is still expected, and gets its own answer.
    let (_, body) = resume(served.address, &session, &last).await;
    assert!(body.contains("\"done\""), "{body}");
    let mut methods = Vec::new();
    while let Ok(message) = heard.try_recv() {
        methods.push(message["method"].as_str().unwrap().to_owned());
    }
    assert!(!methods.contains(&"notifications/cancelled".to_owned()), "{methods:?}");
}

#[tokio::test]
async fn a_cut_gives_a_call_up_only_in_the_revision_without_sessions() {
    for is_modern in [true, false] {
        let (served, _go_on, mut heard) = start_slow().await;
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let body = if is_modern {
            modern(1, "tools/call", json!({"name": "read"}))
        } else {
            request(1, "tools/call", json!({"name": "read"}))
        };
        let session = begin_session(served.address).await;
        soon(heard.recv()).await.unwrap();
        let legacy = [("mcp-session-id", session.as_str()), NEWEST];
        let fields: &[(&str, &str)] = if is_modern { &MODERN_CALL } else { &legacy };
        stream.write_all(&http(served.address, "POST", fields, &body)).await.unwrap();
        read_until(&mut stream, "notifications/one").await;
        assert_eq!(soon(heard.recv()).await.unwrap()["method"], "tools/call");
        drop(stream);
        match timeout(if is_modern { PATIENCE } else { MOMENT }, heard.recv()).await {
            Ok(next) => {
                assert_eq!((is_modern, &next.unwrap()["method"]), (true, &json!("notifications/cancelled")))
            }
            Err(_) => assert!(!is_modern, "nobody was told"),
        }
    }
}

#[tokio::test]
async fn an_id_that_names_no_event_of_the_session_is_refused_and_disturbs_nobody() {
    let (served, go_on, _heard) = start_slow().await;
    let session = begin_session(served.address).await;
    let (mut stream, last) = begin_slow(served.address, &session).await;
    let other = begin_session(served.address).await;
    let (_stream, of_other) = begin_slow(served.address, &other).await;
    let (stem, _) = last.rsplit_once('-').unwrap();
    for odd in [
        of_other.clone(),
        format!("{stem}-2"),
        format!("{stem}-18446744073709551615"),
        format!("{stem}-1-1"),
        format!("0{last}"),
        "0".into(),
        "*".into(),
        "x".repeat(20_000),
        "9".repeat(20_000),
        "\u{e9}".into(),
        format!("{last}\r\nlast-event-id: {last}"),
    ] {
        let (status, body) = resume(served.address, &session, &odd).await;
        assert_eq!(status, 400, "{odd:.50} {body}");
        assert!(!body.contains("xxxxxxxx") && body.len() < 500, "{body}");
    }
    let (status, body) = resume(served.address, &session, "1-1").await;
    assert_eq!(status, 400);
    assert!(body.contains("leave the header out"), "{body}");
    go_on.add_permits(2);
    read_until(&mut stream, "\"done\"").await;
}

#[tokio::test]
async fn of_two_clients_that_come_back_at_once_one_hears_the_rest() {
    let (served, go_on, _heard) = start_slow().await;
    let session = begin_session(served.address).await;
    let (mut first, last) = begin_slow(served.address, &session).await;
    let back = || resume(served.address, &session, &last);
    let permitted = async {
        tokio::time::sleep(MOMENT).await;
        go_on.add_permits(1);
    };
    let (one, two, three, ()) = tokio::join!(back(), back(), back(), permitted);
    let answers: Vec<bool> = [&one, &two, &three].iter().map(|(_, body)| body.contains("\"done\"")).collect();
    assert_eq!(answers.iter().filter(|has_it| **has_it).count(), 1, "{one:?} {two:?} {three:?}");
    assert!([one.0, two.0, three.0] == [200; 3]);
    let mut rest = String::new();
    soon(first.read_to_string(&mut rest)).await.unwrap();
    assert!(
        !rest.contains("notifications") && !rest.contains("error"),
        "the stream they left has ended: {rest}"
    );
}

#[tokio::test]
async fn a_resumed_stream_needs_a_place_like_any_other() {
    let (served, go_on, mut heard) = start_slow().await;
    let session = begin_session(served.address).await;
    soon(heard.recv()).await.unwrap();
    let (mut stream, last) = begin_slow(served.address, &session).await;
    soon(heard.recv()).await.unwrap();
    let bytes = http(served.address, "POST", &MODERN_CALL, &modern(1, "tools/call", json!({"name": "read"})));
    let mut open = Vec::new();
    for _ in 1..super::server::STREAMS_MAX {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        soon(heard.recv()).await.unwrap();
        open.push(stream);
    }
    assert_eq!(resume(served.address, &session, &last).await.0, 503);
    go_on.add_permits(super::server::STREAMS_MAX);
    read_until(&mut stream, "\"done\"").await;
}

#[tokio::test]
async fn the_clients_own_stream_is_resumed_too() {
    let served = start_echo().await;
    let session = begin_session(served.address).await;
    let known = [("mcp-session-id", session.as_str()), NEWEST];
    let own = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let open = async |last: &str| {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let fields = [known[0], NEWEST, ("last-event-id", last)];
        stream.write_all(&http(served.address, "GET", &fields, "")).await.unwrap();
        stream
    };
    let mut stream = open("").await;
    let begun = read_until(&mut stream, "data:\n\n").await;
    post(served.address, &known, own).await;
    let seen = read_until(&mut stream, "notifications/own\"}\n\n").await;
    drop(stream);
    // Who missed it gets it again; who saw it gets the next one only. Who is cut again at once comes back to the same
    // place.
    for (last, says) in [(event_ids(&begun)[0], 0), (event_ids(&seen)[0], 1)] {
        let mut stream = open(last).await;
        for _ in 0..says {
            post(served.address, &known, own).await;
        }
        let heard = read_until(&mut stream, "notifications/own\"}\n\n").await;
        assert_eq!(event_ids(&heard)[0], last, "{heard}");
        assert_eq!(heard.matches("notifications/own").count(), 1, "{heard}");
    }
}

#[tokio::test]
async fn our_own_client_comes_back_when_its_connection_is_cut() {
    // With a token the server may be known by another port than its own.
    let options = ServeOptions { token: Some("s3cret".into()), ..ServeOptions::default() };
    let (served, go_on, _heard) = start_slow_with(options).await;
    let (address, cut) = forward(served.address).await;
    let mut target = target(address);
    target.headers.push(("Authorization".into(), "Bearer s3cret".into()));
    let mut link = connect(&target).unwrap();
    say(&link, request(0, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    hear_value(&mut link).await;
    say(&link, request(1, "slow", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["method"], "notifications/one");
    cut.send(()).await.unwrap();
    go_on.add_permits(1);
    assert_eq!(hear_value(&mut link).await["method"], "notifications/two");
    assert_eq!(hear_value(&mut link).await["result"], "done");
}

/// Stands before a server; whenever it is told to, it cuts all connections.
async fn forward(server: SocketAddr) -> (SocketAddr, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (cut, mut told) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                Ok((mut client, _)) = listener.accept() => {
                    open.spawn(async move {
                        let mut server = TcpStream::connect(server).await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    });
                }
                Some(()) = told.recv() => open.abort_all(),
            }
        }
    });
    (address, cut)
}

// What is sent away.

#[tokio::test]
async fn strangers_and_what_is_no_json_are_sent_away() {
    let served = start_echo().await;
    let list = request(1, "initialize", json!({}));
    for (fields, status) in [
        (("origin", "http://evil.example"), 403),
        (("origin", "null"), 403),
        (("host", "evil.example"), 403),
        (("content-type", "text/plain"), 415),
        (("content-type", ""), 415),
        (("accept", "application/json"), 406),
        (("content-length", "x"), 400),
        (("origin", "http://localhost:3000"), 200),
    ] {
        let (given, _, body) = post(served.address, &[fields], &list).await;
        assert_eq!(given, status, "{fields:?} {body}");
    }
    for (method, status) in [("PUT", 405), ("OPTIONS", 405), ("HEAD", 405), ("BREW", 405)] {
        let (given, head, _) = raw(served.address, &http(served.address, method, &[], "")).await;
        assert_eq!(given, status, "{method}");
        assert!(head.contains("allow: post, get, delete"), "{head}");
    }
    let elsewhere =
        String::from_utf8(http(served.address, "POST", &[], &list)).unwrap().replace("/mcp", "/mcp/../x");
    assert_eq!(raw(served.address, elsewhere.as_bytes()).await.0, 404);
    for body in [
        "",
        "[]",
        "{}",
        "nonsense",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]",
        "\u{feff}{}",
    ] {
        assert_eq!(post(served.address, &[], body).await.0, 400, "{body}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let options = ServeOptions { token: Some("s3cret".into()), ..ServeOptions::default() };
    assert!(!format!("{options:?}").contains("s3cret"));
    let served = start_with(options, Play(|link, _| echo(link))).await;
    let text = request(1, "initialize", json!({}));
    let (status, head, _) = post(served.address, &[], &text).await;
    assert_eq!(status, 401);
    assert!(head.contains("www-authenticate: bearer"));
    for (given, status) in [("Bearer s3cre7", 401), ("Bearer s3cret", 200)] {
        assert_eq!(post(served.address, &[("authorization", given)], &text).await.0, status, "{given}");
    }
    let mut known = target(served.address);
    known.headers.push(("Authorization".into(), "Bearer s3cret".into()));
    let mut link = connect(&known).unwrap();
    say(&link, text.clone()).await;
    assert_eq!(hear_value(&mut link).await["id"], 1);
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, text).await;
    let (about, reason) = hear_loss(&mut link).await;
    assert_eq!(about, Some(Id::Number(1)));
    assert!(reason.contains("credentials"), "{reason}");
}

#[tokio::test]
async fn beyond_this_machine_nobody_is_served_without_a_token() {
    let acceptor = || Arc::new(Play(|link, _| echo(link)));
    let open = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = soon(serve(open, ServeOptions::default(), acceptor())).await;
    assert!(matches!(refused, Err(ServeError::Open(_))));
    let near = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = ServeOptions { token: Some(String::new()), ..ServeOptions::default() };
    assert!(matches!(soon(serve(near, options, acceptor())).await, Err(ServeError::EmptyToken)));
}

#[tokio::test]
async fn headers_of_the_modern_revision_have_to_agree_with_the_message() {
    let served = start_echo().await;
    let call = modern(1, "tools/call", json!({"name": "read"}));
    let with = |changes: &[(&'static str, &'static str)]| {
        let mut fields = MODERN_CALL.to_vec();
        for change in changes {
            fields.retain(|(name, _)| *name != change.0);
            fields.push(*change);
        }
        fields
    };
    let strange = call.replace("2026-07-28", "2027-01-01");
    let silent = request(1, "tools/call", json!({"name": "read"}));
    let incapable = call.replace("clientCapabilities", "x");
    let nameless = modern(1, "tools/call", json!({}));
    let unknown = modern(1, "unknown", json!({}));
    for (changes, body, status, code) in [
        (vec![], &call, 200, 0),
        (vec![("mcp-name", "=?base64?cmVhZA==?=")], &call, 200, 0),
        (vec![("mcp-protocol-version", "")], &call, 400, -32020),
        (vec![("mcp-protocol-version", "2025-11-25")], &call, 400, -32020),
        (vec![("mcp-method", "")], &call, 400, -32020),
        (vec![("mcp-method", "tools/list")], &call, 400, -32020),
        (vec![("mcp-name", "")], &call, 400, -32020),
        (vec![("mcp-name", "Read")], &call, 400, -32020),
        (vec![("mcp-name", "=?base64?%?=")], &call, 400, -32020),
        (vec![], &silent, 400, -32602),
        (vec![], &incapable, 400, -32602),
        (vec![], &nameless, 400, -32020),
        (vec![("mcp-name", "")], &nameless, 200, 0),
        (vec![("mcp-protocol-version", "2027-01-01")], &strange, 400, -32022),
        (vec![("mcp-method", "unknown")], &unknown, 404, -32601),
    ] {
        let (given, _, answer) = post(served.address, &with(&changes), body).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let given_code = answer["error"]["code"].as_i64().unwrap_or_default();
        assert_eq!((given, given_code, &answer["id"]), (status, code, &json!(1)), "{changes:?} {body}");
        if code == -32022 {
            assert_eq!(answer["error"]["data"]["requested"], "2027-01-01");
            assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
        }
    }
    let twice = String::from_utf8(http(served.address, "POST", &MODERN_CALL, &call)).unwrap();
    let twice = twice.replace("mcp-name: read", "mcp-name: read\r\nmcp-name: write");
    assert_eq!(raw(served.address, twice.as_bytes()).await.0, 400);
}

#[tokio::test]
async fn a_message_may_be_as_long_as_allowed_and_no_longer() {
    let served = start_echo().await;
    let message = |length: usize| {
        let begin = request(1, "initialize", json!({}));
        begin.replace("{}", &format!("{{\"pad\":\"{}\"}}", "x".repeat(length - begin.len() - 8)))
    };
    let fits = message(MESSAGE_BYTES_MAX);
    assert_eq!(fits.len(), MESSAGE_BYTES_MAX);
    assert_eq!(post(served.address, &[], &fits).await.0, 200);
    // By its length nothing has to be read.
    let head = http(served.address, "POST", &[("content-length", &(MESSAGE_BYTES_MAX + 1).to_string())], "");
    assert_eq!(raw(served.address, &head).await.0, 413);
    let chunked = [("content-length", ""), ("transfer-encoding", "chunked")];
    let pieces = format!("{:x}\r\n{fits}\r\n1\r\n \r\n0\r\n\r\n", fits.len());
    let (status, ..) = post(served.address, &chunked, &pieces).await;
    // The server may close before it has read everything, and then the answer can get lost on the way.
    assert!(matches!(status, 413 | 0), "{status}");
}

#[tokio::test]
async fn garbage_breaks_nothing() {
    let served = start_echo().await;
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    ] {
        let (status, ..) = raw(served.address, bytes).await;
        assert_ne!(status, 200, "{bytes:?}");
    }
    let not_text = [&http(served.address, "POST", &[("content-length", "2")], "")[..], b"\xff\xfe"].concat();
    assert_eq!(raw(served.address, &not_text).await.0, 400);
    begin_session(served.address).await;
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused() {
    let served = start_echo().await;
    let text = request(1, "initialize", json!({}));
    let names: Vec<String> = (0..60).map(|n| format!("x-{n}")).collect();
    let many = |count: usize| names.iter().take(count).map(|name| (name.as_str(), "1")).collect::<Vec<_>>();
    // Five more are always there.
    assert_eq!(post(served.address, &many(59), &text).await.0, 200);
    assert_eq!(post(served.address, &many(60), &text).await.0, 431);
    let usual = http(served.address, "POST", &[("x-long", "x")], "");
    let usual = String::from_utf8(usual).unwrap();
    // Without the first line, and without what stands between and after names and values.
    let usual: usize = usual.lines().skip(1).map(|line| line.len().saturating_sub(": ".len())).sum();
    // The length of the text has more digits than that of nothing.
    let room = super::server::HEAD_BYTES_MAX - usual + 1 - (text.len().to_string().len() - 1);
    for (length, status) in [(room, 200), (room + 1, 431), (200 * 1024, 431)] {
        assert_eq!(
            post(served.address, &[("x-long", &"x".repeat(length))], &text).await.0,
            status,
            "{length}"
        );
    }
}

// Bounds.

#[tokio::test]
async fn a_client_that_does_not_read_slows_down_who_speaks_to_it() {
    const MESSAGES: usize = 400;
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let served = start(Play(move |mut link: Link, _| {
        let sent = Arc::clone(&counter);
        async move {
            let asked = value_of(link.from.recv().await).unwrap();
            let text = json!({"jsonrpc": "2.0", "method": "m", "params": "x".repeat(64 * 1024)}).to_string();
            for _ in 0..MESSAGES {
                let outgoing = Outgoing { text: text.clone(), ..Outgoing::default() };
                link.to.send(outgoing).await.unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
            link.to.send(answer(&asked["id"], &json!("done"))).await.unwrap();
            let _ = link.from.recv().await;
        }
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, modern(1, "tools/call", json!({"name": "read"}))).await;
    tokio::time::sleep(MOMENT).await;
    let before = sent.load(Ordering::SeqCst);
    assert!(before < MESSAGES, "all was sent though nobody read");
    for _ in 0..MESSAGES {
        assert_eq!(hear_value(&mut link).await["method"], "m");
    }
    assert_eq!(hear_value(&mut link).await["result"], "done");
}

#[tokio::test]
async fn one_stream_too_many_is_refused() {
    let (told, mut begun) = mpsc::channel(256);
    let served = start(Play(move |mut link: Link, _| {
        let told = told.clone();
        async move {
            let _ = link.from.recv().await;
            told.send(()).await.unwrap();
            while link.from.recv().await.is_some() {}
            drop(link);
        }
    }))
    .await;
    let body = modern(1, "tools/call", json!({"name": "read"}));
    let bytes = http(served.address, "POST", &MODERN_CALL, &body);
    let mut open = Vec::new();
    for _ in 0..super::server::STREAMS_MAX {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        soon(begun.recv()).await.unwrap();
        open.push(stream);
    }
    assert_eq!(raw(served.address, &bytes).await.0, 503);
}

#[tokio::test]
async fn one_connection_too_many_waits_until_another_ends() {
    let served = start_echo().await;
    let bytes =
        http(served.address, "POST", &[("connection", "keep-alive")], &request(1, "initialize", json!({})));
    let mut open = Vec::new();
    for _ in 0..super::server::CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        soon(stream.read_u8()).await.unwrap();
        open.push(stream);
    }
    let mut waiting = TcpStream::connect(served.address).await.unwrap();
    waiting.write_all(&bytes).await.unwrap();
    assert!(timeout(MOMENT, waiting.read_u8()).await.is_err(), "it was served though all seats were taken");
    open.pop();
    soon(waiting.read_u8()).await.unwrap();
}

// Servers that write bytes by hand.

/// A server that gives each connection the next answer, piece by piece, and closes it. Gives the requests it got.
async fn scripted(answers: Vec<Vec<Vec<u8>>>) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, asked) = mpsc::channel(16);
    tokio::spawn(async move {
        for pieces in answers {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            told.send(read_request(&mut stream).await).await.unwrap();
            for piece in pieces {
                // A client that has its answer may close before the rest.
                let _ = stream.write_all(&piece).await;
                let _ = stream.flush().await;
                tokio::task::yield_now().await;
            }
        }
    });
    (address, asked)
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).await.unwrap() > 0, "cut off: {head}");
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn answer_with(status: &str, media: &str, body: &str) -> Vec<Vec<u8>> {
    let length = body.len();
    vec![
        format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    ]
}

/// A stream that ends when its connection does.
fn stream_of(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec();
    std::iter::once(head).chain(pieces.iter().map(|piece| piece.to_vec())).collect()
}

#[tokio::test]
async fn streams_are_read_however_they_are_cut() {
    let stream = "\u{feff}: hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"ä\"}\r\n\r\n\
        event: ping\ndata: {}\n\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    for size in [1, 2, 3, 7, 1000] {
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        let (address, _asked) = scripted(vec![stream_of(&pieces)]).await;
        let mut link = connect(&target(address)).unwrap();
        say(&link, request(1, "tools/list", json!({}))).await;
        assert_eq!(hear(&mut link).await, Incoming::Message(r#"{"jsonrpc":"2.0", "method":"ä"}"#.into()));
        assert_eq!(hear_value(&mut link).await["id"], 1);
    }
}

#[tokio::test]
async fn a_failed_exchange_loses_its_own_request_and_no_other() {
    let fine = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let long = format!("data: {}", "x".repeat(MESSAGE_BYTES_MAX + 1));
    let long_json = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        MESSAGE_BYTES_MAX + 1
    );
    let other = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"SERVER WORDS"}}"#;
    for (script, reason) in [
        (answer_with("500 No", "text/plain", "SERVER WORDS"), "refused the request (500"),
        (answer_with("404 No", "application/json", other), "has ended the session (404"),
        (answer_with("401 No", "text/html", ""), "wants other credentials (401"),
        (
            answer_with("302 Found\r\nlocation: http://evil.example/", "application/json", fine),
            "not followed",
        ),
        (answer_with("200 OK", "text/html", fine), "did not answer, or its answer is not JSON"),
        (answer_with("202 Accepted", "text/plain", ""), "did not answer, or its answer is not JSON"),
        (answer_with("200 OK", "application/json", ""), "did not answer, or its answer is not JSON"),
        (vec![long_json.into_bytes()], "longer than"),
        (stream_of(&[long.as_bytes()]), "longer than"),
        (stream_of(&[b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res"]), "ended the stream before the answer"),
        (
            vec![
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\ndata"
                    .to_vec(),
            ],
            "broke before the answer",
        ),
        (vec![], "broke before it answered"),
        (vec![b"SSH-2.0-x\r\n".to_vec()], "broke before it answered"),
    ] {
        let (address, _asked) = scripted(vec![script, answer_with("200 OK", "application/json", fine)]).await;
        let mut link = connect(&target(address)).unwrap();
        say(&link, request(7, "tools/list", json!({}))).await;
        let (about, given) = hear_loss(&mut link).await;
        assert_eq!(about, Some(Id::Number(7)));
        assert!(given.contains(reason) && !given.contains("SERVER WORDS"), "{given}: {reason}");
        say(&link, request(1, "tools/list", json!({}))).await;
        assert_eq!(hear_value(&mut link).await["id"], 1, "{reason}");
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_is_passed_on_whatever_its_status() {
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"no"}}"#;
    let (address, _asked) = scripted(vec![answer_with("400 Bad Request", "application/json", error)]).await;
    let mut link = connect(&target(address)).unwrap();
    say(&link, modern(7, "tools/list", json!({}))).await;
    assert_eq!(hear(&mut link).await, Incoming::Message(error.into()));
}

#[tokio::test]
async fn a_server_that_is_not_there_loses_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut link = connect(&target(address)).unwrap();
    say(&link, request(7, "tools/list", json!({}))).await;
    let (about, reason) = hear_loss(&mut link).await;
    assert_eq!(about, Some(Id::Number(7)));
    assert!(reason.contains(&format!("cannot connect to {address}")), "{reason}");
}

#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to_over_https() {
    let (address, _asked) = scripted(vec![]).await;
    let target = HttpTarget { url: format!("https://{address}/mcp"), headers: Vec::new() };
    match connect(&target) {
        Ok(mut link) => {
            say(&link, request(7, "tools/list", json!({}))).await;
            assert_eq!(hear_loss(&mut link).await.0, Some(Id::Number(7)));
        }
        // Some machines have no certificates at all.
        Err(error) => assert!(matches!(error, BadTarget::Certificates(_)), "{error}"),
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_where_the_server_allows_it() {
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
    let begun = answer_with("200 OK\r\nmcp-session-id: s-1\r\nconnection: close", "application/json", result);
    let cut: &[u8] =
        b"retry: 1\nid: e-1\ndata:\n\nid: e-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\ndata: {\"js";
    let rest: &[u8] = b"id: e-3\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n";
    let script = vec![begun, stream_of(&[cut]), vec![], stream_of(&[rest])];
    let (address, mut asked) = scripted(script).await;
    let mut link = connect(&target(address)).unwrap();
    say(&link, request(1, "initialize", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["id"], 1);
    say(&link, request(2, "tools/list", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["method"], "m");
    assert_eq!(hear_value(&mut link).await["id"], 2);
    let first = soon(asked.recv()).await.unwrap();
    assert!(!first.contains("mcp-session-id") && !first.contains("mcp-protocol-version"), "{first}");
    for expected in ["post /mcp", "get /mcp", "get /mcp"] {
        let request = soon(asked.recv()).await.unwrap();
        assert!(request.starts_with(expected), "{request}");
        assert!(request.contains("mcp-session-id: s-1\r\nmcp-protocol-version: 2025-11-25"), "{request}");
        assert_eq!(request.contains("last-event-id: e-2"), expected.starts_with("get"), "{request}");
    }
}

#[tokio::test]
async fn a_server_that_makes_clients_poll_is_polled_until_it_answers() {
    let polls = super::client::progress::ATTEMPTS_MAX as usize + 2;
    let mut script = vec![stream_of(&[b"retry: 1\nid: e-1\ndata:\n\n"])];
    script.extend(std::iter::repeat_n(stream_of(&[]), polls));
    script.push(stream_of(&[b"id: e-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"]));
    let (address, mut asked) = scripted(script).await;
    let mut link = connect(&target(address)).unwrap();
    say(&link, request(7, "tools/list", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["id"], 7);
    assert!(soon(asked.recv()).await.unwrap().starts_with("post"));
    for _ in 0..=polls {
        assert!(soon(asked.recv()).await.unwrap().contains("last-event-id: e-1"));
    }
}

#[tokio::test]
async fn one_request_too_many_is_refused_and_answers_still_get_through() {
    let (told, mut heard) = mpsc::channel(512);
    let served = start(Play(move |mut link: Link, _| {
        let told = told.clone();
        async move {
            let begin = value_of(link.from.recv().await).unwrap();
            link.to.send(answer(&begin["id"], &json!({"protocolVersion": "2025-11-25"}))).await.unwrap();
            while let Some(message) = value_of(link.from.recv().await) {
                told.send(message).await.unwrap();
            }
        }
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, request(1000, "initialize", json!({}))).await;
    hear_value(&mut link).await;
    let most = super::client::connection::REQUESTS_MAX as u64;
    for id in 0..most {
        say(&link, request(id, "wait", json!({}))).await;
        soon(heard.recv()).await.unwrap();
    }
    say(&link, request(most, "wait", json!({}))).await;
    let (about, reason) = hear_loss(&mut link).await;
    assert_eq!(about, Some(Id::Number(most as i64)));
    assert!(reason.contains("try again later"), "{reason}");
    say(&link, r#"{"jsonrpc":"2.0","id":"asked","result":{}}"#).await;
    assert_eq!(soon(heard.recv()).await.unwrap()["id"], "asked");
}

#[tokio::test]
async fn targets_that_cannot_be_spoken_to_are_refused_without_showing_secrets() {
    let with = |url: &str, name: &str, value: &str| {
        let target = HttpTarget { url: url.into(), headers: vec![(name.into(), value.into())] };
        assert!(!format!("{target:?}").contains("s3cret"), "{target:?}");
        connect(&target).err().map(|error| format!("{error} {error:?}"))
    };
    let fine = "http://127.0.0.1:1/mcp?key=s3cret";
    assert_eq!(with(fine, "Authorization", "Bearer s3cret"), None);
    for (url, name, value) in [
        ("nonsense s3cret", "x", "1"),
        ("ftp://127.0.0.1/s3cret", "x", "1"),
        ("http://user:s3cret@127.0.0.1/", "x", "1"),
        (fine, "bad name", "s3cret"),
        (fine, "x", "s3cret\r\nHost: evil.example"),
        (fine, "Host", "s3cret"),
        (fine, "MCP-Session-Id", "s3cret"),
        (fine, "Content-Length", "s3cret"),
    ] {
        let error = with(url, name, value).unwrap_or_else(|| panic!("{url} {name} was taken"));
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn parameters_are_repeated_in_headers_of_their_own_only() {
    let fine = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let (address, mut asked) = scripted(vec![answer_with("200 OK", "application/json", fine)]).await;
    let mut link = connect(&target(address)).unwrap();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let text = modern(1, "tools/call", json!({"name": "read"}));
    for (mirrored, reason) in [
        (vec![field("a b", "1")], "cannot be the name of a header"),
        (vec![field("Region", "1"), field("mcp-param-region", "2")], "would appear twice"),
    ] {
        soon(link.to.send(Outgoing { text: text.clone(), about: None, mirrored })).await.unwrap();
        let (about, given) = hear_loss(&mut link).await;
        assert_eq!(about, Some(Id::Number(1)));
        assert!(given.contains(reason), "{given}");
    }
    let mirrored = vec![field("Mcp-Param-Region", "eu"), field("Authorization", "x\r\ny: z")];
    soon(link.to.send(Outgoing { text, about: None, mirrored })).await.unwrap();
    assert_eq!(hear_value(&mut link).await["id"], 1);
    let request = soon(asked.recv()).await.unwrap();
    for line in [
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        "mcp-name: read",
        "mcp-param-region: eu",
    ] {
        assert!(request.contains(&format!("{line}\r\n")), "{line}: {request}");
    }
    assert!(!request.contains("\r\nauthorization") && request.contains("mcp-param-authorization: =?base64?"));
}

#[tokio::test]
async fn a_stream_that_breaks_for_good_is_given_up() {
    let cut: &[u8] = b"retry: 0\nid: e-1\ndata:\n\n";
    let attempts = super::client::progress::ATTEMPTS_MAX as usize;
    let mut script = vec![stream_of(&[cut])];
    script.extend(std::iter::repeat_n(vec![], attempts));
    let fine = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
    script.push(answer_with("200 OK", "application/json", fine));
    let (address, mut asked) = scripted(script).await;
    let mut link = connect(&target(address)).unwrap();
    say(&link, request(7, "tools/list", json!({}))).await;
    assert_eq!(hear_loss(&mut link).await.0, Some(Id::Number(7)));
    say(&link, request(8, "tools/list", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["id"], 8);
    let mut methods = Vec::new();
    for _ in 0..attempts + 2 {
        methods.push(soon(asked.recv()).await.unwrap().split(' ').next().unwrap().to_owned());
    }
    assert_eq!(methods.iter().filter(|method| *method == "get").count(), attempts);
    assert_eq!(methods.last().unwrap(), "post");
}

#[tokio::test]
async fn a_session_name_that_cannot_be_repeated_is_refused() {
    let most = super::client::connection::SESSION_ID_BYTES_MAX;
    for (name, fine) in [("x".repeat(most), true), ("x".repeat(most + 1), false), ("\u{e9}".into(), false)] {
        let result = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let status = format!("200 OK\r\nmcp-session-id: {name}");
        let (address, _asked) = scripted(vec![answer_with(&status, "application/json", result)]).await;
        let mut link = connect(&target(address)).unwrap();
        say(&link, request(1, "initialize", json!({}))).await;
        assert_eq!(matches!(hear(&mut link).await, Incoming::Message(_)), fine);
    }
}

#[tokio::test]
async fn one_notice_too_many_waits_until_another_was_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let link = connect(&target(listener.local_addr().unwrap())).unwrap();
    let most = super::client::driver::NOTES_MAX;
    for _ in 0..=most {
        say(&link, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
    }
    let mut open = Vec::new();
    for _ in 0..most {
        open.push(soon(listener.accept()).await.unwrap().0);
    }
    assert!(timeout(MOMENT, listener.accept()).await.is_err(), "more were sent than may be under way");
    open.pop();
    open.push(soon(listener.accept()).await.unwrap().0);
}

#[tokio::test]
async fn in_a_session_a_request_is_given_up_in_words() {
    let (told, mut heard) = mpsc::channel(8);
    let served = start(Play(move |mut link: Link, _| {
        let told = told.clone();
        async move {
            let begin = value_of(link.from.recv().await).unwrap();
            link.to.send(answer(&begin["id"], &json!({"protocolVersion": "2025-11-25"}))).await.unwrap();
            while let Some(message) = value_of(link.from.recv().await) {
                told.send(message).await.unwrap();
            }
        }
    }))
    .await;
    let mut link = connect(&target(served.address)).unwrap();
    say(&link, request(1, "initialize", json!({}))).await;
    hear_value(&mut link).await;
    say(&link, request(2, "wait", json!({}))).await;
    assert_eq!(soon(heard.recv()).await.unwrap()["id"], 2);
    say(&link, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#).await;
    assert_eq!(soon(heard.recv()).await.unwrap()["params"]["requestId"], 2);
}

#[tokio::test]
async fn a_server_that_never_speaks_by_itself_is_not_asked_again() {
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}"#;
    let later = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let close = "\r\nconnection: close";
    let script = vec![
        answer_with(&format!("200 OK{close}"), "application/json", result),
        answer_with(&format!("202 Accepted{close}"), "text/plain", ""),
        answer_with(&format!("405 Method Not Allowed{close}"), "text/plain", ""),
        answer_with(&format!("200 OK{close}"), "application/json", later),
    ];
    let (address, mut asked) = scripted(script).await;
    let mut link = connect(&target(address)).unwrap();
    say(&link, request(1, "initialize", json!({}))).await;
    hear_value(&mut link).await;
    say(&link, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    for expected in ["post", "post", "get"] {
        let request = soon(asked.recv()).await.unwrap();
        assert!(request.starts_with(expected), "{request}");
    }
    say(&link, request(2, "tools/list", json!({}))).await;
    assert_eq!(hear_value(&mut link).await["id"], 2);
    assert!(soon(asked.recv()).await.unwrap().starts_with("post"));
}
