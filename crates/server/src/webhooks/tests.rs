//! What is read, and what is sent.

use super::*;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn question() -> Value {
    json!({"approval": "a1@s", "session": "s", "tool": "deploy", "input": {"to": "<prod>", "note": "a\u{202e}b\nTool: x"},
           "rules": [{"rule": "r", "text": "require human-approval before deploy"}]})
}

fn message(text: &str) -> Message {
    let webhooks = Webhooks::read(text).unwrap();
    let question = question();
    let told = Told { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at_seconds: 1_614_265_330, question: &question };
    webhooks.all[0].message(&told, webhooks.link.as_ref())
}

#[test]
fn a_delivery_is_signed_as_standard_webhooks_wants_it() {
    // The example of that standard.
    let key = key(SECRET).unwrap();
    let signed = signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
    assert_eq!(signed, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    let text = format!(
        "[[webhook]]\nname = \"a\"\nurl = \"https://a.example/x\"\nsecrets = [\"{SECRET}\", \"{SECRET}\"]\n"
    );
    let sent = message(&text);
    let [id, at, signatures] = sent.headers.as_slice() else { panic!("three headers") };
    assert_eq!((id.1.as_str(), at.1.as_str()), ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"));
    let right = format!("v1,{}", signature(&key, &id.1, &at.1, &sent.body));
    assert_eq!(signatures.1, format!("{right} {right}"), "one for each secret");
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    assert_eq!((&body["type"], &body["data"]["approval"]), (&json!("question.asked"), &json!("a1@s")));
}

#[test]
fn chats_get_their_own_form_and_no_text_hides_another() {
    let link = "link = \"https://gate.example\"\n[[webhook]]\nname = \"a\"\n";
    let slack = message(&format!("{link}kind = \"slack\"\nurl = \"https://hooks.slack.example/T/B/x\"\n"));
    let body: Value = serde_json::from_str(&slack.body).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.contains("&lt;prod&gt;") && text.contains("\\u{202e}"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("Tool: x")), "{text}");
    assert!(text.ends_with("Sign in to answer: https://gate.example/"), "{text}");
    let teams = message(&format!("{link}kind = \"teams\"\nurl = \"https://t.example/x\"\n"));
    let body: Value = serde_json::from_str(&teams.body).unwrap();
    let card = &body["attachments"][0]["content"];
    assert_eq!(
        (&card["type"], &card["actions"][0]["url"]),
        (&json!("AdaptiveCard"), &json!("https://gate.example/"))
    );
    let telegram = message(&format!("{link}kind = \"telegram\"\nbot_token = \"12:AB_c\"\nchat = \"-100\"\n"));
    assert_eq!(telegram.url.as_str(), "https://api.telegram.org/bot12:AB_c/sendMessage");
    let body: Value = serde_json::from_str(&telegram.body).unwrap();
    assert_eq!(body["chat_id"], "-100");
    assert!(slack.headers.is_empty() && telegram.headers.is_empty());
}

#[test]
fn mistakes_are_told_without_the_secrets() {
    let file = |rest: &str| format!("[[webhook]]\nname = \"a\"\n{rest}");
    for (text, told) in [
        ("webhok = 1".to_owned(), "line 1 is not understood"),
        (file("url = \"https://a.example\""), "needs `secrets`"),
        (file("url = \"https://a.example\"\nsecrets = [\"hunter2\"]"), "is not one: write `whsec_`"),
        (file(&format!("url = \"http://a.example\"\nsecrets = [\"{SECRET}\"]")), "begins with https://"),
        (file(&format!("url = \"hunter2\"\nsecrets = [\"{SECRET}\"]")), "is not a URL"),
        (file(&format!("secrets = [\"{SECRET}\"]")), "needs a `url`"),
        (file("kind = \"slack\"\nurl = \"https://a.example\"\nchat = \"1\""), "needs `bot_token` and `chat`"),
        (file("kind = \"telegram\"\nbot_token = \"hunter2/../x\"\nchat = \"1\""), "is not one"),
        (file("kind = \"telegram\"\nchat = \"1\""), "needs `bot_token` and `chat`"),
        (file("kind = \"fax\"\nurl = \"https://a.example\""), "line 3 is not understood"),
        ("[[webhook]]\nname = \"../a\"\n".to_owned(), "1 to 64 letters"),
    ] {
        let error = Webhooks::read(&text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(told) && !error.contains("hunter2"), "{text}\n{error}");
    }
    let twice = format!("{0}{0}", file("kind = \"slack\"\nurl = \"https://a.example\"\n"));
    assert_eq!(Webhooks::read(&twice).unwrap_err().to_string(), "two webhooks are called `a`");
    let debug = format!(
        "{:?}",
        Webhooks::read(&file("kind = \"slack\"\nurl = \"https://a.example/hunter2\"")).unwrap()
    );
    assert!(!debug.contains("hunter2"), "{debug}");
}

#[test]
fn a_long_input_is_cut_and_says_so() {
    let mut question = question();
    question["input"]["note"] = Value::from("x".repeat(10_000));
    let text = shown(&question, None);
    assert!(text.len() < 2_000 && text.contains("read it whole before you answer"), "{text}");
}
