//! A model that follows a script: what real coding agents talk to in tests, on loopback and without a network.
//!
//! [`StubModel`] speaks the four protocols agents use, and keeps no state: which [`Turn`] of a [`Script`] comes next is
//! the number of tool results that the conversation holds already. Every request is written to a log, because what
//! the model was told is what a test has to look at. Token counts, failures and keys are missing on purpose.

use std::{
    fs::File,
    io::{self, Cursor, Write},
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
};

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

/// One thing the model does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Turn {
    /// It asks for a tool.
    Tool {
        /// The tool, as the agent calls it.
        tool: String,
        /// An object; or a text, for tools that take one. Where a field is `{"found": PATTERN}`, it becomes the
        /// number that the pattern finds in the conversation.
        input: Value,
    },
    /// It says something, which ends its turn.
    Text {
        /// What it says.
        text: String,
    },
}

/// What the model does, turn by turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Turn>);

impl Script {
    /// These turns; whoever asks for more is told that it is done.
    pub fn new(turns: Vec<Turn>) -> Self {
        Self(turns)
    }

    /// What comes after so many tool results.
    fn after(&self, results: usize) -> Turn {
        self.0.get(results).cloned().unwrap_or_else(|| Turn::Text { text: "All is done.".to_owned() })
    }
}

/// A model that answers on a port of its own until it is dropped.
pub struct StubModel {
    server: Arc<Server>,
    port: u16,
    thread: Option<JoinHandle<()>>,
}

impl StubModel {
    /// Starts on this port of loopback, or on any free one for 0. Requests are written to the log, one JSON object a
    /// line: `method`, `path`, `body`, and `results`, the number of tool results in it.
    ///
    /// # Errors
    /// When the port is taken or the log cannot be made.
    pub fn start(port: u16, script: Script, log: &Path) -> io::Result<Self> {
        let server = Arc::new(Server::http(("127.0.0.1", port)).map_err(io::Error::other)?);
        let port = server.server_addr().to_ip().map_or(port, |address| address.port());
        let mut log = File::create(log)?;
        let heard = Arc::clone(&server);
        let thread = thread::spawn(move || {
            // One after another: the log then tells in which order things happened.
            while let Ok(request) = heard.recv() {
                // An agent that hangs up before it is answered is free to do so.
                let _ = serve(request, &script, &mut log);
            }
        });
        Ok(Self { server, port, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers for as long as the process lives.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for StubModel {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut request: Request, script: &Script, log: &mut File) -> io::Result<()> {
    let mut bytes = Vec::new();
    request.as_reader().read_to_end(&mut bytes)?;
    // What is no JSON is kept as text: a log that lost something would prove nothing.
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
    let path = request.url().to_owned();
    let results = results_in(&body);
    let told = json!({ "method": request.method().as_str(), "path": path, "results": results, "body": body });
    log.write_all(format!("{told}\n").as_bytes())?;
    let reply = match request.method() {
        Method::Post => answer(&path, &body, script),
        _ if path.split('?').next().is_some_and(|path| path.ends_with("/models")) => Reply::json(&models()),
        _ => Reply::json(&json!({})),
    };
    request.respond(reply.response())
}

/// What is sent back.
#[derive(Debug, PartialEq)]
struct Reply {
    status: u16,
    kind: &'static str,
    text: String,
}

impl Reply {
    fn json(value: &Value) -> Self {
        Self { status: 200, kind: "application/json", text: value.to_string() }
    }

    /// Events that carry their names in a line of their own as well.
    fn named_events(events: &[Value]) -> Self {
        let line = |event: &Value| {
            let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
            format!("event: {name}\ndata: {event}\n\n")
        };
        Self::events(events.iter().map(line).collect())
    }

    fn plain_events(events: &[Value]) -> Self {
        Self::events(events.iter().map(|event| format!("data: {event}\n\n")).collect())
    }

    fn events(text: String) -> Self {
        Self { status: 200, kind: "text/event-stream", text }
    }

    fn response(self) -> Response<Cursor<Vec<u8>>> {
        let response = Response::from_string(self.text).with_status_code(self.status);
        match Header::from_bytes("content-type", self.kind) {
            Ok(header) => response.with_header(header),
            Err(()) => response,
        }
    }
}

fn models() -> Value {
    json!({ "object": "list", "data": [{ "id": "stub-model", "object": "model", "created": 0, "owned_by": "stub" }] })
}

/// The answer to a conversation, in the protocol that its path names.
fn answer(path: &str, body: &Value, script: &Script) -> Reply {
    let path = path.split('?').next().unwrap_or_default();
    let streams = body.get("stream") == Some(&Value::Bool(true));
    if path.ends_with("/messages") {
        messages(body, streams, script)
    } else if path.ends_with("/responses") {
        responses(body, streams, script)
    } else if path.ends_with("/chat/completions") {
        chat_completions(body, streams, script)
    } else if path.ends_with(":streamGenerateContent") {
        Reply::plain_events(&[gemini(body, script)])
    } else if path.ends_with(":generateContent") {
        Reply::json(&gemini(body, script))
    } else if path.ends_with("/count_tokens") {
        Reply::json(&json!({ "input_tokens": 1 }))
    } else if path.ends_with(":countTokens") {
        Reply::json(&json!({ "totalTokens": 1 }))
    } else {
        let error =
            json!({ "error": { "type": "not_found_error", "message": "the stub does not know this path" } });
        Reply { status: 404, ..Reply::json(&error) }
    }
}

/// What comes next. Agents also ask for titles and summaries, without offering a tool; those get a word.
fn next(body: &Value, results: usize, script: &Script) -> Turn {
    match body.get("tools").and_then(Value::as_array) {
        Some(tools) if !tools.is_empty() => match script.after(results) {
            Turn::Tool { tool, input } => Turn::Tool { tool, input: filled(input, body) },
            text @ Turn::Text { .. } => text,
        },
        _ => Turn::Text { text: "ok".to_owned() },
    }
}

/// Some numbers only the agent knows, such as that of a shell it keeps running.
fn filled(mut input: Value, body: &Value) -> Value {
    for field in input.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        let pattern = field.get("found").and_then(Value::as_str).and_then(|text| Regex::new(text).ok());
        if let Some(pattern) = pattern {
            let text = body.to_string();
            let number = pattern.captures(&text).and_then(|found| found.get(1)?.as_str().parse::<u64>().ok());
            *field = Value::from(number);
        }
    }
    input
}

/// How many tool results a conversation holds, in whatever protocol.
fn results_in(body: &Value) -> usize {
    let of_messages = list(body, "messages").iter().flat_map(|message| list(message, "content"));
    let of_gemini = list(body, "contents").iter().flat_map(|content| list(content, "parts"));
    of_messages.filter(|block| is(block, "type", "tool_result")).count()
        + list(body, "messages").iter().filter(|message| is(message, "role", "tool")).count()
        + list(body, "input").iter().filter(|item| is_output(item)).count()
        + of_gemini.filter(|part| part.get("functionResponse").is_some()).count()
}

fn is_output(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call_output"))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is(value: &Value, field: &str, text: &str) -> bool {
    value.get(field).and_then(Value::as_str) == Some(text)
}

/// Anthropic Messages.
fn messages(body: &Value, streams: bool, script: &Script) -> Reply {
    let results = results_in(body);
    let (block, opening, delta, stop) = match next(body, results, script) {
        Turn::Text { text } => (
            json!({ "type": "text", "text": text }),
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        Turn::Tool { tool, input } => {
            let id = format!("toolu_{results:08}");
            (
                json!({ "type": "tool_use", "id": id, "name": tool, "input": input }),
                json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
                "tool_use",
            )
        }
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = |content: Value, stop: Value| {
        json!({
            "id": format!("msg_{results:08}"), "type": "message", "role": "assistant", "model": body.get("model"),
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
        })
    };
    if !streams {
        return Reply::json(&message(json!([block]), json!(stop)));
    }
    Reply::named_events(&[
        json!({ "type": "message_start", "message": message(json!([]), Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": opening }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ])
}

/// OpenAI Responses.
fn responses(body: &Value, streams: bool, script: &Script) -> Reply {
    let results = results_in(body);
    let (id, call) = (format!("item_{results:08}"), format!("call_{results:08}"));
    let item = match next(body, results, script) {
        Turn::Text { text } => json!({
            "type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Turn::Tool { tool, input: Value::String(input) } => json!({
            "type": "custom_tool_call", "id": id, "call_id": call, "name": tool, "input": input,
            "status": "completed",
        }),
        Turn::Tool { tool, input } => json!({
            "type": "function_call", "id": id, "call_id": call, "name": tool, "arguments": input.to_string(),
            "status": "completed",
        }),
    };
    let response = |status: &str, output: &[&Value]| {
        json!({
            "id": format!("resp_{results:08}"), "object": "response", "created_at": 0, "status": status,
            "model": body.get("model"), "output": output, "tools": [], "tool_choice": "auto",
            "parallel_tool_calls": false,
            "usage": {
                "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2,
            },
        })
    };
    let whole = response("completed", &[&item]);
    if !streams {
        return Reply::json(&whole);
    }
    let created = response("in_progress", &[]);
    Reply::named_events(&[
        json!({ "type": "response.created", "sequence_number": 0, "response": created }),
        json!({ "type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "sequence_number": 3, "response": whole }),
    ])
}

/// OpenAI Chat Completions.
fn chat_completions(body: &Value, streams: bool, script: &Script) -> Reply {
    let results = results_in(body);
    let (message, finish) = match next(body, results, script) {
        Turn::Text { text } => (json!({ "role": "assistant", "content": text }), "stop"),
        Turn::Tool { tool, input } => {
            let function = json!({ "name": tool, "arguments": input.to_string() });
            let call = json!({
                "index": 0, "id": format!("call_{results:08}"), "type": "function", "function": function,
            });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let whole = |object: &str, choice: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl_{results:08}"), "object": object, "created": 0, "model": body.get("model"),
            "choices": [choice], "usage": usage,
        })
    };
    if !streams {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return Reply::json(&whole("chat.completion", choice, &usage));
    }
    let part = |delta: Value, finish: Value, usage: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        whole("chat.completion.chunk", choice, usage)
    };
    let mut reply = Reply::plain_events(&[
        part(message, Value::Null, &Value::Null),
        part(json!({}), json!(finish), &usage),
    ]);
    reply.text.push_str("data: [DONE]\n\n");
    reply
}

/// Gemini; a stream is one event that holds everything.
fn gemini(body: &Value, script: &Script) -> Value {
    let results = results_in(body);
    let part = match next(body, results, script) {
        Turn::Text { text } => json!({ "text": text }),
        Turn::Tool { tool, input } => json!({ "functionCall": { "name": tool, "args": input } }),
    };
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": "stub",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        serde_json::from_value(json!([{ "tool": "sh", "input": { "do": "it" } }, { "text": "so be it" }]))
            .unwrap()
    }

    /// Every protocol: its path, and a conversation with so many tool results.
    fn conversations(results: usize) -> Vec<(&'static str, Value)> {
        let many = |result: Value| vec![result; results];
        vec![
            (
                "/v1/messages?beta=true",
                json!({ "messages": [{ "content": "go" }, { "content": many(json!({ "type": "tool_result" })) }] }),
            ),
            ("/v1/responses", json!({ "input": many(json!({ "type": "function_call_output" })) })),
            ("/v1/responses", json!({ "input": many(json!({ "type": "custom_tool_call_output" })) })),
            ("/v1/chat/completions", json!({ "messages": many(json!({ "role": "tool" })) })),
            (
                "/v1beta/models/m:generateContent",
                json!({ "contents": [{ "parts": many(json!({ "functionResponse": {} })) }] }),
            ),
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                json!({ "contents": [{ "parts": many(json!({ "functionResponse": {} })) }] }),
            ),
        ]
    }

    #[test]
    fn the_next_step_is_the_number_of_results_in_every_protocol() {
        for (results, expected, others) in [
            (0, "sh", ["so be it", "All is done."]),
            (1, "so be it", ["\"sh\"", "All is done."]),
            (2, "All is done.", ["\"sh\"", "so be it"]),
            (9, "All is done.", ["\"sh\"", "so be it"]),
        ] {
            for (path, mut body) in conversations(results) {
                for streams in [false, true] {
                    body["stream"] = json!(streams);
                    body["tools"] = json!([{ "name": "sh" }]);
                    let reply = answer(path, &body, &script());
                    assert_eq!(reply.status, 200, "{path}");
                    assert!(reply.text.contains(expected), "{path} after {results}: {}", reply.text);
                    assert!(others.iter().all(|other| !reply.text.contains(other)), "{path}: {}", reply.text);
                }
            }
        }
    }

    #[test]
    fn whoever_offers_no_tool_gets_a_word() {
        for (path, mut body) in conversations(0) {
            for tools in [json!(null), json!([])] {
                body["tools"] = tools;
                let reply = answer(path, &body, &script());
                assert!(
                    reply.text.contains("\"ok\"") && !reply.text.contains("sh\""),
                    "{path}: {}",
                    reply.text
                );
            }
        }
    }

    #[test]
    fn a_number_that_only_the_agent_knows_is_found_in_the_conversation() {
        let script: Script = serde_json::from_value(
            json!([{ "tool": "type", "input": { "to": { "found": "shell (\\d+)" } } }]),
        )
        .unwrap();
        for (said, expected) in [("running as shell 4711.", r#"\"to\":4711"#), ("nothing", r#"\"to\":null"#)]
        {
            let body = json!({ "tools": ["type"], "messages": [{ "role": "user", "content": said }] });
            let reply = answer("/v1/chat/completions", &body, &script);
            assert!(reply.text.contains(expected), "{}", reply.text);
        }
    }

    #[test]
    fn an_unknown_path_is_not_answered_as_if_it_were_known() {
        assert_eq!(answer("/v1/other", &json!({}), &script()).status, 404);
    }

    #[test]
    fn every_request_is_in_the_log_whatever_it_holds() {
        use std::{io::Read, net::TcpStream};

        let log = std::env::temp_dir().join(format!("lockgate-stub-{}.jsonl", std::process::id()));
        let model = StubModel::start(0, script(), &log).unwrap();
        let ask = |text: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let head = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length:";
        let told = ask(&format!("POST /v1/responses {head} 17\r\n\r\n{{\"tools\":[\"any\"]}}"));
        assert!(told.starts_with("HTTP/1.1 200") && told.contains("function_call"), "{told}");
        assert!(ask(&format!("POST /v1/responses {head} 3\r\n\r\n{{{{{{")).starts_with("HTTP/1.1 200"));
        assert!(ask(&format!("GET /v1/models {head} 0\r\n\r\n")).contains("stub-model"));
        drop(model);
        let lines = std::fs::read_to_string(&log).unwrap();
        let bodies: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone()).collect();
        assert_eq!(bodies, [json!({ "tools": ["any"] }), json!("{{{"), json!("")]);
        std::fs::remove_file(&log).unwrap();
    }
}
