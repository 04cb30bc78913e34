//! JSON that every reader reads alike.
//!
//! [`StrictJson`] is what a door parses before anything is judged. Repairing is left out on purpose: what could be
//! read in two ways is refused.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// A JSON value without a key that stands twice, and no deeper than [`StrictJson::DEPTH_MAX`].
///
/// Of `{"command": "ls", "command": "rm"}` one reader takes the first and another the last; a gate that
/// judges one while the tool runs the other is no gate.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictJson(pub Value);

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StrictAt(0).deserialize(deserializer).map(Self)
    }
}

impl StrictJson {
    /// How deep objects and arrays may stand in each other.
    pub const DEPTH_MAX: usize = 64;
}

/// Reads a value that stands so deep in others.
#[derive(Clone, Copy)]
struct StrictAt(usize);

impl StrictAt {
    fn inside<E: Error>(self) -> Result<Self, E> {
        if self.0 >= StrictJson::DEPTH_MAX {
            return Err(E::custom(format!("it nests deeper than {}", StrictJson::DEPTH_MAX)));
        }
        Ok(Self(self.0 + 1))
    }
}

impl<'de> DeserializeSeed<'de> for StrictAt {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictAt {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inside)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            // Before the value is read: whatever follows, the line is refused.
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("key `{key}` appears twice in one object")));
            }
            object.insert(key, entries.next_value_seed(inside)?);
        }
        Ok(Value::Object(object))
    }
}
