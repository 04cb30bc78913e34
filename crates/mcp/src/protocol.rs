//! The words of MCP that the proxy itself reads or writes, and the answers it gives in its own name.
//!
//! "Legacy" are the revisions that begin with `initialize`; "modern" is the stateless one, where every request says
//! what its client can do. Everything else of the protocol passes by unread.

use serde_json::{Map, Value, json};

use crate::message::{Id, to_text};

/// The modern revision.
pub const MODERN: &str = "2026-07-28";

/// Where a modern request says its revision.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Where a modern request says what its client can do.
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// It is no message, or not one that can be taken now.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are not those of the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The server is gone, or Lockgate itself failed.
pub const INTERNAL_ERROR: i64 = -32603;

/// An error as an answer. Without an id if the request is unknown.
pub fn error(id: Option<&Id>, code: i64, message: &str) -> String {
    let id = id.map_or(Value::Null, Id::to_value);
    to_text(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}

/// An answer.
pub(crate) fn answer(id: &Id, result: &Value) -> String {
    to_text(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// What a call is answered whose tool did not run, or whose output is kept back: a result, because models read
/// results and clients keep errors to themselves.
pub(crate) fn refusal(is_modern: bool, sentence: &str) -> Value {
    let mut result = json!({
        "content": [{ "type": "text", "text": format!("Lockgate: {sentence}") }],
        "isError": true,
    });
    if let (true, Value::Object(result)) = (is_modern, &mut result) {
        result.insert("resultType".to_owned(), "complete".into());
    }
    result
}

/// The name of our question among those of a result that wants input.
pub(crate) const QUESTION: &str = "lockgate";

/// What a client shows its human.
pub(crate) fn elicitation(is_modern: bool, message: &str) -> Value {
    let mut params = json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { "approve": { "type": "boolean", "title": "Approve", "description": "Let this call run" } },
            "required": ["approve"],
        },
    });
    if let (true, Value::Object(params)) = (is_modern, &mut params) {
        params.insert("mode".to_owned(), "form".into());
    }
    params
}

/// Whether a human said yes: they accepted the form, and ticked it. Anything else is a no.
pub(crate) fn is_yes(response: Option<&Value>) -> bool {
    let accepted = |response: &Value| response.get("action").and_then(Value::as_str) == Some("accept");
    let ticked = |response: &Value| response.pointer("/content/approve") == Some(&Value::Bool(true));
    response.is_some_and(|response| accepted(response) && ticked(response))
}

/// Whether what a client says it can do includes showing a form.
pub(crate) fn shows_forms(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|it| it.get("elicitation")).and_then(Value::as_object);
    // Before there were kinds of them, an empty object said forms.
    elicitation.is_some_and(|kinds| kinds.is_empty() || kinds.contains_key("form"))
}

/// Whether a request is of the modern revision.
pub(crate) fn is_modern(meta: Option<&Map<String, Value>>) -> bool {
    meta.is_some_and(|meta| meta.contains_key(VERSION_KEY))
}
