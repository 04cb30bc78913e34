//! Lines that come in.

use serde_json::json;

use super::*;

fn refusal(line: &str) -> String {
    decode(line).unwrap_err().to_string()
}

#[test]
fn a_call_may_say_everything_the_page_lists() {
    let line = r#"{"call": {"id": "1", "tool": "deploy", "input": {"to": "prod"}, "session": "s", "sender": "u",
            "principal": {"user_id": "ann"}, "context": {}, "metadata": {}, "environment": "production",
            "cwd": "/srv", "parent": "0", "ask": "none"}, "at": 7}"#;
    let request = decode(line).unwrap();
    assert_eq!(request.at, Some(Time(7)));
    let Message::Call(call) = request.message else { panic!("a call") };
    assert_eq!(call.ask, Human::Absent);
    let call = call.into_call("other", Time(7));
    assert_eq!((call.session.as_str(), call.id.as_str(), call.tool.as_str()), ("s", "1", "deploy"));
    assert_eq!(Value::Object(call.input), json!({"to": "prod"}));
    assert_eq!(call.about.principal, Some(json!({"user_id": "ann"})));
    assert_eq!(call.about.environment.as_deref(), Some("production"));
}

#[test]
fn a_call_without_input_has_an_empty_one() {
    for line in [r#"{"call":{"id":"1","tool":"a"}}"#, r#"{"call":{"id":"1","tool":"a","input":null}}"#] {
        let Message::Call(call) = decode(line).unwrap().message else { panic!("a call") };
        assert!(call.input.is_empty());
    }
}

#[test]
fn every_kind_of_line_is_read() {
    for line in [
        r#"{"result":{"id":"1","ok":true,"output":[1]}}"#,
        r#"{"answer":{"approval":"a1@s","granted":false,"by":"ann","comment":"no"}}"#,
        r#"{"session":{"id":"s","attributes":{},"counters":{}}}"#,
        r#"{"session":{"id":"s","attributes":null,"counters":null}}"#,
        r#"{"session":{"id":"s","counters":{"tool_calls":1,"attempts":2,"per_tool":{"a":1}}}}"#,
        r#"{"untaint":{"session":"s"}}"#,
        r#"{"stage":{"workflow":"w","set":"done"}}"#,
        r#"{"stage":{"workflow":"w","reset":"plan","session":"s"}}"#,
        r#"{"net":{"activate":"n"}}"#,
        r#"{"net":{"deactivate":"n","session":"s"},"at":null}"#,
        r#"{"halt":{"reason":"fire"}}"#,
        r#"{"resume":{}}"#,
        r#"{"status":{"session":"s"},"at":18446744073709551615}"#,
    ] {
        assert!(decode(line).is_ok(), "{line}");
    }
}

#[test]
fn what_is_no_message_is_refused_with_a_reason() {
    for (line, reason) in [
        ("", "the text ends where a value belongs (column 0)"),
        ("{", "the text ends inside an object (column 1)"),
        ("null", "a JSON object was expected"),
        (r#"[{"status":{}}]"#, "a JSON object was expected"),
        (r#"{"status":{}} {}"#, "there is text after the end of the value (column 15)"),
        ("{}", "a line says exactly one of"),
        (r#"{"at":1}"#, "a line says exactly one of"),
        (r#"{"status":{},"resume":{}}"#, "a line says exactly one of"),
        (r#"{"status":{},"resume":null}"#, "a line says exactly one of"),
        (r#"{"status":{},"status":{}}"#, "key `status` appears twice in one object"),
        (r#"{"calls":{}}"#, "`calls` is not known here: a line says one of"),
        (
            r#"{"call":{"id":"1","tool":"a","inptu":{}}}"#,
            "`call`: `inptu` is not known here; known are `id`, `tool`",
        ),
        (r#"{"call":["1","a",{}]}"#, "`call` is a JSON object"),
        (r#"{"call":{"tool":"a"}}"#, "`call`: `id` is missing"),
        (r#"{"call":{"id":"1"}}"#, "`call`: `tool` is missing"),
        (r#"{"call":{"id":"","tool":"a"}}"#, "`id` must not be empty"),
        (r#"{"call":{"id":"1","tool":""}}"#, "`tool` must not be empty"),
        (r#"{"call":{"id":"1","tool":"a","session":""}}"#, "`session` must not be empty"),
        (r#"{"call":{"id":1,"tool":"a"}}"#, "`call`: `id`: this is the number 1, and a text is needed"),
        (r#"{"call":{"id":"1","tool":"a","input":"x"}}"#, "`call`: `input` is a JSON object, not \"x\""),
        (
            r#"{"call":{"id":"1","tool":"a","ask":"later"}}"#,
            "`call`: `ask`: `later` is not known here; known are `wait` or `none`",
        ),
        (r#"{"result":{"id":"1"}}"#, "`result`: `ok` is missing"),
        (
            r#"{"result":{"id":"1","ok":"yes"}}"#,
            "`result`: `ok`: this is the text \"yes\", and `true` or `false` is needed",
        ),
        (r#"{"net":{}}"#, "say either `activate` or `deactivate`"),
        (r#"{"net":{"activate":"a","deactivate":"a"}}"#, "say either `activate` or `deactivate`"),
        (r#"{"stage":{"workflow":"w"}}"#, "say either `reset` or `set`"),
        (r#"{"halt":{}}"#, "`halt`: `reason` is missing"),
        (r#"{"session":{}}"#, "`session`: `id` is missing"),
        (r#"{"session":{"id":""}}"#, "`id` must not be empty"),
        (
            r#"{"session":{"id":"s","attributes":["admin"]}}"#,
            "`session`: `attributes` is a JSON object, not [\"admin\"]",
        ),
        (
            r#"{"session":{"id":"s","counters":{"calls":1}}}"#,
            "`session`: `counters` has `tool_calls`, `attempts` and `per_tool`, not `calls`",
        ),
        (
            r#"{"session":{"id":"s","counters":{"tool_calls":1.5}}}"#,
            "`session`: `counters`: `tool_calls` is a whole number from 0 on, not 1.5",
        ),
        (
            r#"{"session":{"id":"s","counters":{"attempts":-1}}}"#,
            "`session`: `counters`: `attempts` is a whole number from 0 on, not -1",
        ),
        (
            r#"{"session":{"id":"s","counters":{"per_tool":[1]}}}"#,
            "`session`: `counters`: `per_tool` is a JSON object, not [1]",
        ),
        (
            r#"{"session":{"id":"s","counters":{"per_tool":{"exec":"5"}}}}"#,
            "`session`: `counters`: `exec` is a whole number from 0 on, not \"5\"",
        ),
        (r#"{"untaint":{"session":""}}"#, "`session` must not be empty"),
        (r#"{"untaint":{"id":"s"}}"#, "`untaint`: `id` is not known here; known are `session`"),
        (r#"{"status":{},"at":-1}"#, "`at` is a whole number of milliseconds since 1970, not -1"),
        (r#"{"status":{},"at":"now"}"#, "`at` is a whole number of milliseconds since 1970, not \"now\""),
    ] {
        let refusal = refusal(line);
        assert!(refusal.starts_with(reason), "{line}\n  expected: {reason}\n  said: {refusal}");
    }
}

#[test]
fn a_key_that_stands_twice_is_refused_however_it_hides() {
    for input in [
        r#"{"command":"ls","command":"rm"}"#,
        r#"{"command":"ls","\u0063ommand":"rm"}"#,
        r#"{"a":[{"b":1,"b":1}]}"#,
    ] {
        let line = format!(r#"{{"call":{{"id":"1","tool":"bash","input":{input}}}}}"#);
        assert!(refusal(&line).contains("appears twice in one object"), "{line}");
    }
}

#[test]
fn a_line_nests_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        // The line itself, the call and its input are three.
        let (open, close) = ("[".repeat(depth - 3), "]".repeat(depth - 3));
        format!(r#"{{"call":{{"id":"1","tool":"a","input":{{"x":{open}{close}}}}}}}"#)
    };
    assert!(decode(&nested(DEPTH_MAX)).is_ok());
    assert!(refusal(&nested(DEPTH_MAX + 1)).starts_with("it nests deeper than 64"));
    assert!(decode(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_line_is_so_long_and_no_longer() {
    let frame = r#"{"halt":{"reason":""}}"#;
    let line = |length: usize| format!(r#"{{"halt":{{"reason":"{}"}}}}"#, "x".repeat(length - frame.len()));
    assert!(decode(&line(LINE_BYTES_MAX)).is_ok());
    assert_eq!(refusal(&line(LINE_BYTES_MAX + 1)), "the line is longer than 16777216 bytes");
}

#[test]
fn a_call_by_itself_may_go_without_an_id_and_say_how_it_ends() {
    let BareCall { call, ok, at } = decode_call(r#"{"tool":"deploy","ok":false,"at":5}"#, "7").unwrap();
    assert_eq!((call.id.as_str(), call.tool.as_str(), ok, at), ("7", "deploy", Some(false), Some(Time(5))));
    let BareCall { call, ok, at } = decode_call(r#"{"id":"x","tool":"deploy"}"#, "7").unwrap();
    assert_eq!((call.id.as_str(), ok, at), ("x", None, None));
    for text in [
        r#"{"tool":"a","ok":1}"#,
        r#"{"tool":"a","at":"now"}"#,
        r#"{"tool":""}"#,
        r#"{"tool":"a","id":null}"#,
        "[]",
    ] {
        assert!(decode_call(text, "7").is_err(), "{text}");
    }
}

#[test]
fn a_call_at_a_door_needs_no_id_and_its_result_names_the_call() {
    let line = r#"{"call":{"tool":"a","door":{"name":"before","by":["command"]}}}"#;
    let Message::Call(call) = decode(line).unwrap().message else { panic!("a call") };
    let call = call.into_call("s", Time(1));
    let key = call.about.duplicate_key.unwrap();
    assert_eq!(
        (&*key.door, key.identifying_fields.as_slice()),
        ("before", ["command".to_owned()].as_slice())
    );
    let line =
        r#"{"result":{"ok":true,"session":"t","call":{"tool":"a","session":"u","door":{"name":"after"}}}}"#;
    let Message::Result(result) = decode(line).unwrap().message else { panic!("a result") };
    let outcome = result.into_outcome("s", Time(1));
    assert_eq!(
        (outcome.session.as_str(), outcome.like.unwrap().session.as_str()),
        ("t", "t"),
        "no other session"
    );
    for (line, told) in [
        (r#"{"call":{"tool":"a","door":{"name":""}}}"#, "`door.name` must not be empty"),
        (r#"{"call":{"tool":"a","id":"","door":null}}"#, "`id` must not be empty"),
        (r#"{"call":{"tool":"a","door":["x"]}}"#, "`door` is a JSON object"),
        (r#"{"result":{"ok":true}}"#, "`result`: `id` is missing"),
        (r#"{"result":{"ok":true,"call":{"tool":"a"}}}"#, "`id` must not be empty"),
        (
            r#"{"result":{"ok":true,"id":"1","call":{"tool":"a","door":{"name":"x"}}}}"#,
            "say either `id` or `call`",
        ),
    ] {
        assert!(refusal(line).contains(told), "{line}: {}", refusal(line));
    }
}
