//! JSON-RPC messages, read no further than needed.
//! [`Message::read`] parses the envelope and nothing else; everything that the relay does not change is passed on byte
//! for byte. Messages that parsers could interpret differently (a duplicate key, an answer that is also a
//! request) are rejected, so that a client, a server and the gate never disagree about what was said. Batches are
//! left out: one revision of 2025 had them, the next took them away.

use std::{borrow::Cow, fmt};

use lockgate::engine::call::{StrictJson, line_mistake};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value, value::RawValue};

/// The longest message that is read, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The longest id, in bytes.
const ID_BYTES_MAX: usize = 1024;

/// How many members one object may have that is read no further.
const MEMBERS_MAX: usize = 1024;

/// What names a request until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// What it is.
    pub kind: Kind,
    /// All its members, in the order in which they came.
    pub members: Members<'a>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Wants an answer.
    Request {
        /// Its name until then.
        id: Id,
        /// What is wanted.
        method: String,
    },
    /// Wants none.
    Notice {
        /// The method.
        method: String,
    },
    /// Answers a request; without an id where the other side could not read one.
    Answer {
        /// The request.
        id: Option<Id>,
    },
}

/// Why something is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// When it is none, or could be read in two ways.
    pub fn read(text: &'a str) -> Result<Self, Malformed> {
        if text.len() > MESSAGE_BYTES_MAX {
            return Err(Malformed(format!("the message is longer than {MESSAGE_BYTES_MAX} bytes")));
        }
        if text.trim_start().starts_with('[') {
            return Err(Malformed("batches of messages are not part of the protocol".into()));
        }
        let members = Members::read(text)?;
        if members.text("jsonrpc")?.as_deref() != Some("2.0") {
            return Err(Malformed("`jsonrpc` must be \"2.0\"".into()));
        }
        let id = members.get("id").map(Id::read).transpose()?;
        let (result, error) = (members.get("result").is_some(), members.get("error").is_some());
        let kind = match (members.text("method")?, id) {
            (Some(_), _) if result || error => {
                return Err(Malformed("a message is a request or an answer, not both".into()));
            }
            (Some(method), None) => Kind::Notice { method },
            (Some(method), Some(Some(id))) => Kind::Request { id, method },
            (Some(_), Some(None)) => return Err(Malformed("the id of a request is not null".into())),
            (None, Some(id)) if result != error => Kind::Answer { id },
            (None, Some(_)) => {
                return Err(Malformed("an answer has either a result or an error".into()));
            }
            (None, None) => return Err(Malformed("there is neither a method nor an id".into())),
        };
        Ok(Self { kind, members })
    }

    /// The request that a text answers, even where it is not a message that can be passed on; none where it is not known.
    pub fn answered(text: &str) -> Option<Id> {
        let members = Members::read(text).ok()?;
        members.get("id").filter(|_| members.get("method").is_none()).and_then(|id| Id::read(id).ok())?
    }

    /// The same for a text of which only the beginning and the end are there.
    pub fn answered_by_ends(start: &[u8], end: &[u8]) -> Option<Id> {
        let mut head = Head::default();
        // It breaks off somewhere; what was read before that counts.
        let _ = HeadReader(&mut head).deserialize(&mut serde_json::Deserializer::from_slice(start));
        if head.is_request {
            return None;
        }
        head.id.or_else(|| {
            let end = std::str::from_utf8(end).ok()?;
            let (_, tail) = end.rsplit_once("\"id\"")?;
            let tail = tail.trim_start().strip_prefix(':')?.trim();
            Self::answered(&format!("{{\"id\":{tail}"))
        })
    }

    /// What a request or notice carries.
    pub fn params(&self) -> Option<&RawValue> {
        self.members.get("params")
    }
}

impl Id {
    /// Reads an id; none for null.
    fn read(raw: &RawValue) -> Result<Option<Self>, Malformed> {
        if raw.get().len() > ID_BYTES_MAX {
            return Err(Malformed(format!("the id is longer than {ID_BYTES_MAX} bytes")));
        }
        match serde_json::from_str(raw.get()) {
            Ok(Value::Null) => Ok(None),
            Ok(Value::String(text)) => Ok(Some(Self::Text(text))),
            Ok(Value::Number(number)) => {
                let whole = number.as_i64().ok_or_else(|| Malformed("the id is not an integer".into()))?;
                Ok(Some(Self::Number(whole)))
            }
            _ => Err(Malformed("the id is neither a string nor a number".into())),
        }
    }

    /// Reads an id from a value, such as that of a request to cancel.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(Self::Number),
            _ => None,
        }
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

/// The members of an object, their values unread.
#[derive(Clone, Debug, Default)]
pub struct Members<'a>(Vec<(String, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// When it is not an object, or has a duplicate name.
    pub fn read(text: &'a str) -> Result<Self, Malformed> {
        serde_json::from_str(text)
            .map_err(|error| Malformed(format!("it is not a JSON object: {}", line_mistake(&error))))
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// The text of a member; none where it is not there.
    ///
    /// # Errors
    /// When it is there and no text.
    pub fn text(&self, name: &str) -> Result<Option<String>, Malformed> {
        let read = |raw: &RawValue| serde_json::from_str::<String>(raw.get());
        let text = self.get(name).map(read).transpose();
        text.map_err(|_| Malformed(format!("`{name}` is not a string")))
    }

    /// The object in a member; none where it is not there.
    ///
    /// # Errors
    /// When it is there and no object, or could be read in two ways.
    pub fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, Malformed> {
        self.get(name).map(|raw| read_object(name, raw)).transpose()
    }

    /// Puts a value where the member is, or at the end.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.0.push((name.to_owned(), Cow::Owned(value))),
        }
    }

    /// Takes a member away.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(own, _)| own != name);
    }

    /// As JSON: each value as it came.
    pub fn to_text(&self) -> String {
        to_text(self)
    }

    /// As one value.
    pub fn to_raw(&self) -> Box<RawValue> {
        to_raw(self)
    }
}

/// What the beginning of a message tells.
#[derive(Default)]
struct Head {
    id: Option<Id>,
    is_request: bool,
}

struct HeadReader<'h>(&'h mut Head);

impl<'de> DeserializeSeed<'de> for HeadReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeadReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<String>()? {
            match name.as_str() {
                "id" => self.0.id = Id::of(&entries.next_value::<Value>()?),
                _ => {
                    self.0.is_request |= name == "method";
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// An object that reads the same for everybody.
pub fn read_object(name: &str, raw: &RawValue) -> Result<Map<String, Value>, Malformed> {
    match read_value(name, raw)? {
        Value::Object(object) => Ok(object),
        _ => Err(Malformed(format!("`{name}` is not an object"))),
    }
}

/// A value that reads the same for everybody.
pub fn read_value(name: &str, raw: &RawValue) -> Result<Value, Malformed> {
    let read = serde_json::from_str::<StrictJson>(raw.get());
    read.map(|StrictJson(value)| value)
        .map_err(|error| Malformed(format!("`{name}`: {}", line_mistake(&error))))
}

/// As JSON text. What we write ourselves can always be written.
pub fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// As JSON that is passed on unread.
pub fn to_raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(String, Cow<'de, RawValue>)> = Vec::new();
                while let Some(name) = entries.next_key::<String>()? {
                    if members.iter().any(|(own, _)| *own == name) {
                        return Err(A::Error::custom(format!("key `{name}` appears twice in one object")));
                    }
                    if members.len() == MEMBERS_MAX {
                        return Err(A::Error::custom(format!("it has more than {MEMBERS_MAX} members")));
                    }
                    members.push((name, Cow::Borrowed(entries.next_value::<&'de RawValue>()?)));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, &**value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        Message::read(text).err().map(|malformed| malformed.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_message_asks_tells_or_answers() {
        let request = |id| Kind::Request { id, method: "a".into() };
        for (text, kind) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, request(Id::Number(1))),
            (r#"{"jsonrpc":"2.0","id":"1","method":"a"}"#, request(Id::Text("1".into()))),
            (r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"a"}"#, request(Id::Number(i64::MIN))),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, Kind::Notice { method: "a".into() }),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Kind::Answer { id: Some(Id::Number(1)) }),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, Kind::Answer { id: None }),
        ] {
            assert_eq!(Message::read(text).unwrap().kind, kind, "{text}");
        }
    }

    #[test]
    fn every_bound_holds_one_past_it() {
        let frame = r#"{"jsonrpc":"2.0","method":""}"#.len();
        let long =
            |length: usize| format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat(length - frame));
        assert_eq!(reason(&long(MESSAGE_BYTES_MAX)), "");
        assert!(reason(&long(MESSAGE_BYTES_MAX + 1)).contains("longer than 16777216 bytes"));
        // The quotes count.
        let id =
            |length: usize| format!(r#"{{"jsonrpc":"2.0","method":"a","id":"{}"}}"#, "i".repeat(length - 2));
        assert_eq!(reason(&id(ID_BYTES_MAX)), "");
        assert!(reason(&id(ID_BYTES_MAX + 1)).contains("the id is longer than 1024 bytes"));
        let members = |count: usize| {
            let more: String = (2..count).map(|it| format!(r#","m{it}":0"#)).collect();
            format!(r#"{{"jsonrpc":"2.0","method":"a"{more}}}"#)
        };
        assert_eq!(reason(&members(MEMBERS_MAX)), "");
        assert!(reason(&members(MEMBERS_MAX + 1)).contains("more than 1024 members"));
    }

    #[test]
    fn what_is_changed_leaves_the_rest_as_it_came() {
        let text = r#"{"b":1.0,"a":{"y":1, "x":2},"c":"\u0041"}"#;
        let mut members = Members::read(text).unwrap();
        assert_eq!(members.text("c").unwrap().unwrap(), "A");
        members.set("a", to_raw(&7));
        members.set("d", to_raw(&"new"));
        members.remove("c");
        assert_eq!(members.to_text(), r#"{"b":1.0,"a":7,"d":"new"}"#);
    }
}
