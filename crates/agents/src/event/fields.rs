//! Fields of an event that must be there.
//!
//! Whatever is missing or has another type than expected is an [`EventError`], with a sentence that names the field.

use serde_json::{Map, Value};

use super::message::{Event, EventError, Message, Phase};

/// Where in the life of a call an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The tool has not run yet: it can be kept from running.
    Before,
    /// The tool has run: its output can be changed where the agent lets us.
    After,
    /// The tool has failed, and the agent shows the failure whatever we answer.
    Failed,
    /// Anything else.
    Other,
}

/// How many letters of a value are shown in a message.
const SHOWN_MAX: usize = 40;

/// A text that must be there and say something.
pub(crate) fn text<'e>(message: &'e Message, key: &str) -> Result<&'e str, EventError> {
    match message.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        Some(Value::String(_)) => Err(EventError(format!("the field `{key}` of the event is empty"))),
        Some(other) => Err(mistyped(key, other, "a text")),
        None => Err(EventError(format!("the event has no field `{key}`"))),
    }
}

/// A text that may be missing; what is empty is missing.
pub(crate) fn optional_text(message: &Message, key: &str) -> Result<Option<String>, EventError> {
    match message.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(mistyped(key, other, "a text")),
    }
}

/// An object that must be there, as itself or written as JSON into a text.
pub(crate) fn object(message: &Message, key: &str) -> Result<Map<String, Value>, EventError> {
    match value(message, key)? {
        Value::Object(object) => Ok(object.clone()),
        Value::String(json) => serde_json::from_str(json).map_err(|_| {
            EventError(format!("the field `{key}` of the event is a string that is not a JSON object"))
        }),
        other => Err(mistyped(key, other, "an object")),
    }
}

/// A value that must be there, of any type.
pub(crate) fn value<'e>(message: &'e Message, key: &str) -> Result<&'e Value, EventError> {
    message.get(key).ok_or_else(|| EventError(format!("the event has no field `{key}`")))
}

fn mistyped(key: &str, found: &Value, wanted: &str) -> EventError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    EventError(format!("the field `{key}` of the event is {found}, and {wanted} is expected"))
}

/// An event that no gate has a say in: nothing, unless it carries a call after all.
pub(crate) fn quiet(message: &Message) -> Result<Event, EventError> {
    match message.keys().find(|key| names_a_call(key)) {
        Some(key) => Err(EventError(format!(
            "the event carries a tool call in `{key}`, which is not expected at this event"
        ))),
        None => Ok(Event::Other),
    }
}

/// An event of a kind that we do not know: nothing, unless something in it looks like a call, however deep.
pub(crate) fn unknown(message: &Message, name: &str) -> Result<Event, EventError> {
    if message.iter().any(|(key, value)| names_a_call(key) || holds_a_call(value)) {
        let name: String = name.chars().take(SHOWN_MAX).collect();
        return Err(EventError(format!(
            "the event `{name}` is not known and carries a tool call; a newer lockgate may know it"
        )));
    }
    Ok(Event::Other)
}

fn holds_a_call(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|(key, value)| names_a_call(key) || holds_a_call(value)),
        Value::Array(values) => values.iter().any(holds_a_call),
        _ => false,
    }
}

/// Whether a field's name says that it holds a tool's name or input, in whatever spelling.
pub(crate) fn names_a_call(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    matches!(
        plain.to_ascii_lowercase().as_str(),
        "tool"
            | "toolname"
            | "toolinput"
            | "toolinputs"
            | "toolarg"
            | "toolargs"
            | "toolargument"
            | "toolarguments"
            | "toolparams"
            | "toolparameters"
            | "toolcall"
            | "toolcalls"
            | "tooluse"
    )
}

/// How a session starts, as Claude Code and those who follow it say.
pub(crate) fn phase_of(message: &Message) -> Phase {
    match message.get("source").and_then(Value::as_str) {
        Some("resume") => Phase::Resumed,
        Some("compact") => Phase::Compacted,
        _ => Phase::Started,
    }
}
