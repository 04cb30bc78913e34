//! What a value is like, whatever it says: its type, and how many items it has.

use std::fmt;

use serde_json::Value;

use crate::decision::Truth;

/// What a value is like, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// A number; a text that spells one is not.
    Number,
    /// A number without a fraction.
    WholeNumber,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
    /// A list of so many items; anything but a list and an object is one item.
    Items {
        /// How many at least.
        least: u64,
        /// How many at most.
        most: u64,
    },
}

impl Shape {
    /// Whether a value is like this.
    pub(super) fn is_of(self, value: &Value) -> Truth {
        match (self, value) {
            (Self::Items { .. }, Value::Object(_)) => Truth::Doubt,
            (Self::Items { least, most }, value) => {
                let items = value.as_array().map_or(1, |items| items.len() as u64);
                (least..=most).contains(&items).into()
            }
            (Self::Text, value) => value.is_string().into(),
            (Self::Number, value) => value.is_number().into(),
            (Self::WholeNumber, value) => value.as_f64().is_some_and(|it| it.fract() == 0.0).into(),
            (Self::Boolean, value) => value.is_boolean().into(),
            (Self::List, value) => value.is_array().into(),
            (Self::Object, value) => value.is_object().into(),
        }
    }
}

/// In words: `a whole number`, `over 3 items`.
impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => write!(out, "a text"),
            Self::Number => write!(out, "a number"),
            Self::WholeNumber => write!(out, "a whole number"),
            Self::Boolean => write!(out, "a boolean"),
            Self::List => write!(out, "a list"),
            Self::Object => write!(out, "an object"),
            Self::Items { least, most: u64::MAX } => write!(out, "at least {least} items"),
            Self::Items { least: 0, most } => write!(out, "at most {most} items"),
            Self::Items { least, most } => write!(out, "{least} to {most} items"),
        }
    }
}
