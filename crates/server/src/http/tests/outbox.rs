//! Webhooks, against receivers that speak as the real ones do.

use std::{
    net::TcpListener,
    sync::{Mutex, mpsc},
    time::Duration,
};

use super::*;
use crate::webhooks::Webhooks;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A receiver that answers each request with the next of these statuses, and then with the last one.
struct Receiver {
    address: SocketAddr,
    heard: Mutex<mpsc::Receiver<(String, Value)>>,
}

impl Receiver {
    fn new(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (told, heard) = mpsc::channel();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let (head, body) = read_request(&mut stream);
                let status = statuses.get(number).or(statuses.last()).unwrap();
                let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nok");
                if told.send((head, serde_json::from_str(&body).unwrap())).is_err() {
                    return;
                }
            }
        });
        Self { address, heard: Mutex::new(heard) }
    }

    /// The next request, within this time.
    fn next(&self, time: Duration) -> Option<(String, Value)> {
        self.heard.lock().unwrap().recv_timeout(time).ok()
    }

    fn heard(&self) -> (String, Value) {
        self.next(Duration::from_secs(30)).expect("a delivery")
    }
}

fn read_request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(ToOwned::to_owned));
            if body.len() >= length.unwrap().trim().parse::<usize>().unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
        assert!(read > 0, "the request is cut: {text}");
    }
}

fn options(file: &str) -> ServiceOptions {
    ServiceOptions { webhooks: Webhooks::read(file).unwrap(), rate: 100_000, ..ServiceOptions::default() }
}

fn signed(receiver: &Receiver, sessions: &str) -> String {
    let address = receiver.address;
    format!(
        "[[webhook]]\nname = \"desk\"\nurl = \"http://{address}/hook?x=1\"\nsecrets = [\"{SECRET}\"]\nsessions = [\"{sessions}\"]\n"
    )
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap()
}

#[test]
fn a_question_is_told_signed_and_again_until_it_is_taken() {
    let receiver = Receiver::new(&[500, 200]);
    let world = World::with(options(&signed(&receiver, "a/*")));
    let agent = world.token_of(Scope::Agent);
    let key = "AKIAIOSFODNN7EXAMPLE";
    world.call(&agent, "0", "deploy", "b/1");
    let call = json!({"id": "1", "tool": "deploy", "session": "a/1", "input": {"key": key}});
    assert_eq!(world.post("/v1/call", &agent, &call).1["verdict"], "ask");
    let (first, told) = receiver.heard();
    assert!(first.starts_with("POST /hook?x=1 HTTP/1.1"), "{first}");
    assert_eq!(
        (&told["type"], &told["data"]["approval"]),
        (&json!("question.asked"), &json!("a1@a/1")),
        "{told}"
    );
    assert!(!told.to_string().contains(key), "{told}");
    assert!(header(&first, "webhook-signature").starts_with("v1,"));
    let (second, again) = receiver.heard();
    assert_eq!(header(&second, "webhook-id"), header(&first, "webhook-id"), "the same delivery");
    assert_eq!(again["data"]["approval"], "a1@a/1");
    assert!(
        receiver.next(Duration::from_secs(2)).is_none(),
        "it was taken, and the other session is not its affair"
    );
    let (status, list) = world.get("/v1/deliveries", &world.token_of(Scope::Admin));
    assert_eq!((status, &list["webhooks"][0]["dead"]), (200, &json!([])), "{list}");
}

#[test]
fn what_was_not_told_is_a_dead_letter_that_can_be_sent_again() {
    let receiver = Receiver::new(&[500]);
    let world = World::with(options(&signed(&receiver, "*")));
    let (agent, approver, admin) =
        (world.token_of(Scope::Agent), world.token_of(Scope::Approver), world.token_of(Scope::Admin));
    world.call(&agent, "1", "deploy", "s");
    receiver.heard();
    // The question is answered elsewhere before the receiver has taken it.
    assert_eq!(world.post("/v1/answer", &approver, &json!({"approval": "a1@s", "granted": true})).0, 200);
    let dead = || world.get("/v1/deliveries", &admin).1["webhooks"][0]["dead"].clone();
    let begun = std::time::Instant::now();
    while dead() == json!([]) && begun.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    let letter = dead()[0].clone();
    assert_eq!(
        (&letter["approval"], &letter["why"]),
        (&json!("a1@s"), &json!("it answered 500")),
        "{letter}"
    );
    let retry = json!({"webhook": "desk", "n": letter["n"]});
    assert_eq!(world.post("/v1/deliveries/retry", &approver, &retry).0, 403);
    assert_eq!(world.post("/v1/deliveries/retry", &admin, &retry).0, 200);
    assert_eq!(world.post("/v1/deliveries/retry", &admin, &retry).0, 404);
    assert_eq!(world.post("/v1/deliveries/retry", &admin, &json!({"webhook": "x", "n": 1})).0, 404);
    assert_eq!(dead(), json!([]));
}

#[test]
fn a_receiver_is_told_after_a_restart_what_was_asked_before() {
    let receiver = Receiver::new(&[503, 503, 200]);
    let mut world = World::with(options(&signed(&receiver, "*")));
    let agent = world.token_of(Scope::Agent);
    world.call(&agent, "1", "deploy", "s");
    receiver.heard();
    world.end();
    while receiver.next(Duration::from_millis(300)).is_some() {}
    let folder = std::mem::replace(&mut world.folder, tempfile::tempdir().unwrap());
    let _again = World::over(folder, options(&signed(&receiver, "*")));
    assert_eq!(receiver.heard().1["data"]["approval"], "a1@s");
}

#[test]
fn slack_teams_and_telegram_get_their_own_form() {
    let receivers = [Receiver::new(&[200]), Receiver::new(&[202]), Receiver::new(&[200])];
    let at = |number: usize| receivers[number].address;
    let file = format!(
        "link = \"https://gate.example\"\n\
         [[webhook]]\nname = \"slack\"\nkind = \"slack\"\nurl = \"http://{}/services/T/B/x\"\n\
         [[webhook]]\nname = \"teams\"\nkind = \"teams\"\nurl = \"http://{}/workflows/x\"\n\
         [[webhook]]\nname = \"telegram\"\nkind = \"telegram\"\nurl = \"http://{}\"\nbot_token = \"12:AB\"\nchat = \"-1\"\n",
        at(0),
        at(1),
        at(2),
    );
    let world = World::with(options(&file));
    let agent = world.token_of(Scope::Agent);
    world.call(&agent, "1", "deploy", "s");
    let [slack, teams, telegram] = receivers.each_ref().map(Receiver::heard);
    assert!(
        slack.0.starts_with("POST /services/T/B/x ")
            && slack.1["text"].as_str().unwrap().contains("`deploy`")
    );
    let card = &teams.1["attachments"][0]["content"];
    assert!(card["body"][0]["text"].as_str().unwrap().contains("a1@s"), "{card}");
    assert!(telegram.0.starts_with("POST /bot12:AB/sendMessage "), "{}", telegram.0);
    assert_eq!((&telegram.1["chat_id"], telegram.1["text"].is_string()), (&json!("-1"), true));
}
