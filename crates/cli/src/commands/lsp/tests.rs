use std::io::Cursor;

use super::*;

/// What the server says to these messages.
fn talk(messages: &[Value]) -> Vec<Value> {
    let mut input = Vec::new();
    messages.iter().for_each(|message| wire::write(&mut input, message).unwrap());
    let tools = vec!["Bash".to_owned()];
    let mut server =
        Server { documents: HashMap::new(), checked: KnownTools::default(), tools, is_over: false };
    let mut out = Vec::new();
    server.serve(&mut Cursor::new(input), &mut out).map_err(|_| "it ended in an error").unwrap();
    let (mut said, mut rest) = (Vec::new(), Cursor::new(out));
    while let Some(message) = wire::read(&mut rest).map_err(|_| "not a message").unwrap() {
        said.push(message);
    }
    said
}

fn open(text: &str) -> Value {
    let document = json!({"uri": "file:///p.rules", "languageId": "lockgate", "version": 1, "text": text});
    json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})
}

fn ask(id: u64, method: &str, line: u64, character: u64) -> Value {
    let params = json!({"textDocument": {"uri": "file:///p.rules"}, "position": {"line": line, "character": character}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_mistake_is_told_with_its_place_and_a_fix() {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 20}});
    let params =
        json!({"textDocument": {"uri": "file:///p.rules"}, "range": range, "context": {"diagnostics": []}});
    let said = talk(&[
        open("require tests befor deploy\n"),
        json!({"jsonrpc": "2.0", "id": 1, "method": "textDocument/codeAction", "params": params}),
    ]);
    let first = said[0].pointer("/params/diagnostics/0").unwrap();
    assert_eq!(first["code"], "expected-word");
    assert_eq!(
        first["range"],
        json!({"start": {"line": 0, "character": 14}, "end": {"line": 0, "character": 19}})
    );
    assert_eq!(said[1].pointer("/result/0/edit/changes").unwrap()["file:///p.rules"][0]["newText"], "before");
}

#[test]
fn hover_definition_and_completion_know_the_file() {
    let text = "tools network = curl, wget\nblock network after any secret-read\n";
    let said = talk(&[
        open(text),
        ask(1, "textDocument/hover", 1, 2),
        ask(2, "textDocument/definition", 1, 8),
        ask(3, "textDocument/completion", 1, 6),
        ask(4, "textDocument/completion", 2, 0),
    ]);
    assert!(
        said[1]
            .pointer("/result/contents/value")
            .unwrap()
            .as_str()
            .unwrap()
            .starts_with("These calls are blocked")
    );
    assert_eq!(said[2].pointer("/result/range/start/line"), Some(&json!(0)));
    let labels = |message: &Value| -> Vec<String> {
        let items = message["result"].as_array().unwrap();
        items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    assert!(
        labels(&said[3]).contains(&"Bash".to_owned()) && labels(&said[3]).contains(&"network".to_owned())
    );
    assert!(labels(&said[4]).contains(&"require".to_owned()));
}

#[test]
fn what_is_not_known_is_an_error_and_the_server_goes_on() {
    let said = talk(&[ask(1, "textDocument/rename", 0, 0), ask(2, "shutdown", 0, 0)]);
    assert_eq!(said[0].pointer("/error/code"), Some(&json!(-32601)));
    assert_eq!(said[1]["result"], Value::Null);
}
