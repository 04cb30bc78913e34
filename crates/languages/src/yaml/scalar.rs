//! What an unquoted word of a YAML file means: nothing, a boolean, a number or a text.

use serde_json::Number;

use super::tree::{Node, Value};

/// What a scalar means.
pub(super) enum Plain<'n> {
    Null,
    Boolean(bool),
    Number(Number),
    /// A number that YAML reads in another way than JSON, or that fits no number: `0x1F`, `007`, `1e999`.
    OddNumber,
    Text(&'n str),
}

impl<'n> Plain<'n> {
    pub(super) fn of(node: &'n Node) -> Option<Self> {
        let Value::Scalar { text, quoted } = &node.value else {
            return None;
        };
        Some(match text.as_str() {
            text if *quoted => Self::Text(text),
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "true" | "True" | "TRUE" => Self::Boolean(true),
            "false" | "False" | "FALSE" => Self::Boolean(false),
            text => match json_number(text) {
                Some(number) => Self::Number(number),
                None if is_odd_number(text) => Self::OddNumber,
                None => Self::Text(text),
            },
        })
    }
}

fn json_number(text: &str) -> Option<Number> {
    // Most texts are words, and being refused by the reader of numbers takes long.
    let may_be_one = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    if may_be_one { serde_json::from_str(text).ok() } else { None }
}

pub(super) fn is_odd_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    let in_base = |prefix, base| {
        unsigned.strip_prefix(prefix).is_some_and(|digits: &str| {
            !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
        })
    };
    let decimal = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    (decimal && text.parse::<f64>().is_ok())
        || in_base("0x", 16)
        || in_base("0o", 8)
        || [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&unsigned)
}
