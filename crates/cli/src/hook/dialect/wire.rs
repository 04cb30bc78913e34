//! What all dialects share: fields of an event that must be there, and answers that cannot be taken for others.
//!
//! Whatever is missing or has another type than expected is [`Misread`], with a sentence that names the field. There
//! is no host in here.

use serde_json::{Map, Value};

use super::{Event, Misread, Reply, Said, Told};

/// Where in the life of a call an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// The tool has not run yet: it can be kept from running.
    Before,
    /// The tool has run: its output can be changed where the host lets us.
    After,
    /// The tool has failed, and the host shows the failure whatever we answer.
    Failed,
    /// Anything else.
    Other,
}

/// How many letters of a value are shown in a message.
const SHOWN_MAX: usize = 40;

/// A text that must be there and say something.
pub(super) fn text<'e>(event: &'e Event, key: &str) -> Result<&'e str, Misread> {
    match event.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        Some(Value::String(_)) => Err(Misread(format!("the field `{key}` of the event is empty"))),
        Some(other) => Err(mistyped(key, other, "a text")),
        None => Err(Misread(format!("the event has no field `{key}`"))),
    }
}

/// A text that may be missing; what is empty is missing.
pub(super) fn optional_text(event: &Event, key: &str) -> Result<Option<String>, Misread> {
    match event.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(mistyped(key, other, "a text")),
    }
}

/// An object that must be there, as itself or written as JSON into a text.
pub(super) fn object(event: &Event, key: &str) -> Result<Map<String, Value>, Misread> {
    match value(event, key)? {
        Value::Object(object) => Ok(object.clone()),
        Value::String(json) => serde_json::from_str(json)
            .map_err(|_| Misread(format!("the field `{key}` of the event is a text that is no JSON object"))),
        other => Err(mistyped(key, other, "an object")),
    }
}

/// A value that must be there, of any type.
pub(super) fn value<'e>(event: &'e Event, key: &str) -> Result<&'e Value, Misread> {
    event.get(key).ok_or_else(|| Misread(format!("the event has no field `{key}`")))
}

fn mistyped(key: &str, found: &Value, wanted: &str) -> Misread {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Misread(format!("the field `{key}` of the event is {found}, and {wanted} is expected"))
}

/// An event that no gate has a say in: nothing, unless it carries a call after all.
pub(super) fn quiet(event: &Event) -> Result<Told, Misread> {
    match event.keys().find(|key| names_a_call(key)) {
        Some(key) => Err(Misread(format!(
            "the event carries a tool call in `{key}`, which is not expected at this event"
        ))),
        None => Ok(Told::Nothing),
    }
}

/// An event of a kind that we do not know: nothing, unless something in it looks like a call, however deep.
pub(super) fn unknown(event: &Event, name: &str) -> Result<Told, Misread> {
    if event.iter().any(|(key, value)| names_a_call(key) || holds_a_call(value)) {
        let name: String = name.chars().take(SHOWN_MAX).collect();
        return Err(Misread(format!(
            "the event `{name}` is not known and carries a tool call; a newer lockgate may know it"
        )));
    }
    Ok(Told::Nothing)
}

fn holds_a_call(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|(key, value)| names_a_call(key) || holds_a_call(value)),
        Value::Array(values) => values.iter().any(holds_a_call),
        _ => false,
    }
}

/// Whether a field's name says that it holds a tool's name or input, in whatever spelling.
pub(super) fn names_a_call(key: &str) -> bool {
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

/// One JSON object on one line, and success.
pub(super) fn answer(object: &Value) -> Reply {
    Reply { stdout: format!("{object}\n"), ..Reply::default() }
}

/// Nothing printed, and success.
pub(super) fn silence() -> Reply {
    Reply::default()
}

/// What every host with command hooks takes for a block: a line on stderr and exit code 2.
///
/// The line begins with our name: one host runs the tool where the line is empty, another where it is JSON.
pub(super) fn refuse(line: &str) -> Reply {
    Reply { stderr: complaint(line), code: 2, ..Reply::default() }
}

/// A line for stderr.
pub(super) fn complaint(line: &str) -> String {
    let line: Vec<&str> = sentence(line).split_whitespace().collect();
    format!("lockgate: {}\n", line.join(" "))
}

/// What is said where no reason was given: a host may run the tool when the reason is empty.
const NO_REASON: &str = "Lockgate does not let this pass, and gave no reason.";

/// A reason that is never empty.
pub(super) fn sentence(reason: &str) -> &str {
    if reason.trim().is_empty() { NO_REASON } else { reason }
}

/// Why, of whatever was said.
pub(super) fn reason_of(said: &Said) -> &str {
    match said {
        Said::Pass => sentence(""),
        Said::Change { reason, .. }
        | Said::Ask { reason }
        | Said::Defer { reason }
        | Said::Block { reason }
        | Said::Replace { reason, .. }
        | Said::Withhold { reason } => sentence(reason),
    }
}

/// What is told where a host shows an output whatever we answer.
pub(super) fn cannot_hide(reason: &str) -> String {
    format!("{} Lockgate could not hide this output: the host offers no way to.", sentence(reason))
}

/// The value as the agent would read it.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Words that say which of several shapes a value has. A host that checks shapes drops an output without them, and
/// shows the one we meant to hide.
const SHAPE_WORDS: &[(&str, &[&str])] = &[
    ("type", &["text", "image", "audio", "resource", "resource_link", "create", "update", "notebook", "pdf"]),
    ("mode", &["content", "files_with_matches", "count"]),
    ("status", &["completed", "async_launched", "pending", "in_progress"]),
];

/// A picture of one transparent dot: what stands in for pictures, since a host refuses what is no picture.
const EMPTY_PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// The value with every text and number taken out and its shape kept: the reason stands in the first text.
pub(super) fn withheld(value: &Value, reason: &str) -> Value {
    let mut reason = Some(sentence(reason));
    hollow(value, "", &mut reason)
}

fn hollow(value: &Value, key: &str, reason: &mut Option<&str>) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => Value::from(0),
        Value::String(text) if text.is_empty() || is_shape_word(key, text) => value.clone(),
        Value::String(_) if key == "base64" || key == "data" => Value::from(EMPTY_PICTURE),
        Value::String(text) if text.starts_with("image/") => Value::from("image/png"),
        Value::String(_) => Value::from(reason.take().unwrap_or("[withheld]")),
        Value::Array(values) => values.iter().map(|value| hollow(value, key, reason)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), hollow(value, key, reason))).collect()
        }
    }
}

fn is_shape_word(key: &str, text: &str) -> bool {
    SHAPE_WORDS.iter().any(|(name, words)| *name == key && words.contains(&text))
}

/// Whether two values have the same keys and types all the way down.
pub(super) fn same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => true,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_shape(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same_shape(one, other)))
        }
        _ => false,
    }
}
