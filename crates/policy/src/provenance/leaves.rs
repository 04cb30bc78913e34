//! The values that a JSON value is made of, as texts.

use serde_json::{Number, Value};

/// Hands on every text and number in a value; each number with all its digits.
pub(crate) fn each_leaf(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => take(if *flag { "true" } else { "false" }),
        Value::Number(number) => take(&written_out(number)),
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_leaf(item, take)),
        Value::Object(fields) => fields.values().for_each(|value| each_leaf(value, take)),
    }
}

/// Hands on the name of every field in a value.
pub(super) fn each_name(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_name(item, take)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            take(name);
            each_name(value, take);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A number with all its digits: a tool may write `1e21` that way.
fn written_out(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    }
}

/// Hands on what a tool says. MCP wraps it into a field of its own or into texts, and many tools answer with JSON in a
/// text.
pub(super) fn said_by_tool(output: &Value, take: &mut dyn FnMut(&Value)) {
    let structured = output.get("structuredContent");
    let content = output.get("content").and_then(Value::as_array);
    if structured.is_none() && content.is_none() {
        return parsed(output, take);
    }
    if let Some(said) = structured {
        parsed(said, take);
    }
    let text = |item: &'_ Value| item.get("text").or_else(|| item.pointer("/resource/text")).cloned();
    for text in content.into_iter().flatten().filter_map(text) {
        parsed(&text, take);
    }
}

fn parsed(said: &Value, take: &mut dyn FnMut(&Value)) {
    if let Value::String(text) = said
        && text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return take(&value);
    }
    take(said);
}
