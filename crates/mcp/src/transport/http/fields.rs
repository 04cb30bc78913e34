//! Header fields: their names, and how what a message says is repeated in them.
//!
//! [`RepeatedFields`] is what a message says about itself that headers repeat; [`encode`] and [`decode`] turn text into
//! a header value and back. Which headers a tool wants repeated of its arguments is known to the relay.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::header::HeaderValue;

use crate::message::{Id, Kind, Malformed, Members, Message};

/// The revision without sessions.
pub(super) const MODERN: &str = "2026-07-28";

/// Revisions without sessions.
pub(super) const MODERNS: [&str; 1] = [MODERN];

/// Revisions with sessions, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Revisions in which a stream may begin with an event that has no data. The modern one is here for clients that want
/// it and begin a session nevertheless.
pub(super) const PRIMED: [&str; 2] = [MODERN, "2025-11-25"];

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const METHOD: &str = "mcp-method";
pub(super) const NAME: &str = "mcp-name";
pub(super) const PARAMETER_PREFIX: &str = "mcp-param-";
pub(super) const LAST_EVENT: &str = "last-event-id";

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Where a message names its revision.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Where a request of the modern revision says what its client can do.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

const ENCODED_BEGIN: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// What a message says about itself that headers repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RepeatedFields {
    /// The revision it is written in; only the modern one says so.
    pub version: Option<String>,
    /// Its method; none in an answer.
    pub method: Option<String>,
    /// The tool, prompt, resource or task it is about.
    pub name: Option<String>,
    /// Whether it says what its client can do, which only the modern revision asks for.
    pub has_capabilities: bool,
}

impl RepeatedFields {
    /// Reads a message as far as headers repeat it.
    ///
    /// # Errors
    /// When it could be read in two ways.
    pub(super) fn read(message: &Message<'_>) -> Result<Self, Malformed> {
        let method = match &message.kind {
            Kind::Request { method, .. } | Kind::Notice { method } => method.clone(),
            Kind::Answer { .. } => return Ok(Self::default()),
        };
        let is_object = |raw: &&serde_json::value::RawValue| raw.get().starts_with('{');
        let Some(params) = message.params().filter(is_object) else {
            return Ok(Self { method: Some(method), ..Self::default() });
        };
        let params = Members::read(params.get())?;
        let meta = params.get("_meta").filter(is_object).map(|raw| Members::read(raw.get())).transpose()?;
        let version = meta.as_ref().map(|meta| meta.text(VERSION_KEY)).transpose()?.flatten();
        let capabilities = meta.as_ref().and_then(|meta| meta.get(CAPABILITIES_KEY)).filter(is_object);
        let name = name_key(&method).map(|key| params.text(key)).transpose()?.flatten();
        Ok(Self { version, method: Some(method), name, has_capabilities: capabilities.is_some() })
    }

    /// Whether it is written in the revision without sessions, or in one that came later.
    pub(super) fn is_modern(&self) -> bool {
        self.version.is_some()
    }
}

/// The revision that a client wants to begin a session with.
pub(super) fn wanted_version(text: &str) -> Option<String> {
    let message = Message::read(text).ok()?;
    Members::read(message.params()?.get()).ok()?.text("protocolVersion").ok()?
}

/// Whether requests of a method are about something that has a name.
pub(super) fn has_name(method: Option<&str>) -> bool {
    method.and_then(name_key).is_some()
}

/// Which parameter of a request names what it is about.
fn name_key(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// A text as a header value: as it is where it is plain, else in base64.
pub(super) fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let edges = text.starts_with(' ') || text.ends_with(' ');
    // What begins like an encoded value is encoded as well, or it would be taken for one.
    if plain && !edges && !text.starts_with(ENCODED_BEGIN) {
        return text.to_owned();
    }
    format!("{ENCODED_BEGIN}{}{ENCODED_END}", STANDARD.encode(text))
}

/// The text of a header value; none where it is neither plain nor well encoded.
pub(super) fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    match text.strip_prefix(ENCODED_BEGIN).and_then(|rest| rest.strip_suffix(ENCODED_END)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// The request that a message answers.
pub(super) fn answered(text: &str) -> Option<Id> {
    match Message::read(text).ok()?.kind {
        Kind::Answer { id } => id,
        _ => None,
    }
}

/// A media type without its parameters.
pub(super) fn media_type(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_not_plain_is_encoded() {
        for (text, value) in [
            ("read_file", "read_file"),
            ("two words", "two words"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("a\r\nX-Forged: 1", "=?base64?YQ0KWC1Gb3JnZWQ6IDE=?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encode(text), value);
        }
    }

    #[test]
    fn what_is_badly_encoded_is_no_text() {
        for value in ["=?base64?%%?=", "=?base64?/w==?="] {
            assert_eq!(decode(&HeaderValue::from_static(value)), None, "{value}");
        }
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
    }

    #[test]
    fn a_message_tells_its_revision_method_and_name() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        for (method, params, name) in [
            ("tools/call", r#""name":"a""#, Some("a")),
            ("prompts/get", r#""name":"a""#, Some("a")),
            ("resources/read", r#""uri":"file:///a","name":"b""#, Some("file:///a")),
            ("tasks/get", r#""taskId":"t""#, Some("t")),
            ("tools/list", r#""name":"a""#, None),
        ] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{meta}}}}}"#);
            let told = RepeatedFields::read(&Message::read(&text).unwrap()).unwrap();
            let told = (told.version.as_deref(), told.method.as_deref(), told.name.as_deref());
            assert_eq!(told, (Some(MODERN), Some(method), name));
        }
    }

    #[test]
    fn a_message_that_names_two_revisions_is_refused() {
        let key = VERSION_KEY;
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{{"{key}":"2026-07-28","{key}":"1"}}}}}}"#
        );
        assert!(RepeatedFields::read(&Message::read(&text).unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded_again(text in any::<String>()) {
            let value = HeaderValue::from_str(&encode(&text)).unwrap();
            assert_eq!(decode(&value), Some(text));
        }
    }
}
