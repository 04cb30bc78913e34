//! What is kept of calls and results as evidence.
//!
//! Texts are kept as they are where they are short, readable and without secrets; else by their hash, or with what is
//! secret covered. Nothing that was covered or hashed can be weighed again: [`is_folded`] tells.

use std::sync::Arc;

use lockgate_call::{
    canonical_text,
    sensitive::{Detectors, Hit},
};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::trim::trimmed;

/// The longest text that is kept as it is, in characters.
const TEXT_CHARACTERS_MAX: usize = 4_096;

/// The most fields of a result that are kept.
const FIELDS_MAX: usize = 64;

/// What a hash begins with.
const HASH_START: &str = "sha256:";

/// What stands for a secret.
const COVER: &str = "********";

/// The text of a script as it is kept.
pub(super) fn command(text: &str) -> Arc<str> {
    let text = trimmed(text);
    let is_readable = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if is_long(text) || !text.chars().all(is_readable) {
        return hash(text).into();
    }
    without_secrets(text).into()
}

/// The same for a script whose success the call does not prove: as if it went on in the background. Where that
/// cannot be put behind it, by its hash.
pub(super) fn doubtful_command(text: &str) -> Arc<str> {
    let text = trimmed(text);
    match text {
        "" => Arc::default(),
        text if text.contains(['#', '\n', '\\', '\'', '"', '`']) => hash(text).into(),
        text => command(&format!("{text} &")),
    }
}

/// Whether a piece of evidence is not kept as it was: by its hash, or with something covered.
pub(crate) fn is_folded(text: &str) -> bool {
    text.starts_with(HASH_START) || text.contains(COVER)
}

/// A text with its secrets covered.
pub(super) fn without_secrets(text: &str) -> String {
    let mut covered = String::with_capacity(text.len());
    let mut end = 0;
    for hit in Detectors::standard().find(text).into_iter().filter(Hit::is_secret) {
        if let Some(before) = text.get(end..hit.range.start) {
            covered.push_str(before);
            covered.push_str(COVER);
        }
        end = end.max(hit.range.end);
    }
    covered.push_str(text.get(end..).unwrap_or_default());
    covered
}

/// The object in a result whose fields conditions ask about; what is too long, nested or secret in it stands as its
/// hash.
pub(crate) fn result_object(output: &Value) -> Option<Map<String, Value>> {
    let parsed;
    let object = match output {
        Value::String(text) => {
            parsed = serde_json::from_str::<Map<String, Value>>(text).ok()?;
            &parsed
        }
        Value::Object(object) => match (object.get("structuredContent"), object.get("content")) {
            (Some(Value::Object(structured)), _) => structured,
            (_, Some(Value::Array(items))) => {
                parsed = only_text(items)?;
                &parsed
            }
            _ => object,
        },
        _ => return None,
    };
    Some(object.iter().take(FIELDS_MAX).map(|(field, value)| (field.clone(), kept(value))).collect())
}

/// The object in the text of a list of one text.
fn only_text(items: &[Value]) -> Option<Map<String, Value>> {
    let [item] = items else { return None };
    let text = item.get("text").filter(|_| item.get("type").is_some_and(|kind| kind == "text"))?;
    serde_json::from_str(text.as_str()?).ok()
}

fn kept(value: &Value) -> Value {
    let is_plain = match value {
        Value::String(text) => !is_long(text) && without_secrets(text) == *text,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    };
    if is_plain { value.clone() } else { hash(&canonical_text(value)).into() }
}

/// Whether the value of a field is this text, as a condition writes it. What stands as a hash is none.
pub(crate) fn field_text(found: &Value, value: &str) -> bool {
    match found {
        Value::String(text) => text == value && !is_hash(text),
        Value::Number(number) => number.to_string() == value,
        Value::Bool(true) => matches!(value, "True" | "true"),
        Value::Bool(false) => matches!(value, "False" | "false"),
        Value::Null => value.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_long(text: &str) -> bool {
    text.chars().nth(TEXT_CHARACTERS_MAX).is_some()
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text);
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once(HASH_START.to_owned()).chain(hex).collect()
}

fn is_hash(text: &str) -> bool {
    let hex = text.strip_prefix(HASH_START);
    hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
