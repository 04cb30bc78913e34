//! Variables by which a program may become another one.

use serde_json::Value;

/// Variables that change how programs speak, not what they do.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBUG",
    "VERBOSE",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "REPLY",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "LOG_LEVEL",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Whether setting the variable may make a program another one, or make it run others. A name with a small letter is
/// the script's own.
pub(super) fn may_change_programs(name: &str) -> bool {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_own = name.chars().any(|c| c.is_ascii_lowercase());
    !(is_name && (is_own || HARMLESS.contains(&name) || name.starts_with("LC_")))
}

/// The variables that a field for them sets: as keys, as `NAME=value`, or as the names of a list.
pub(super) fn variables(value: &Value) -> Vec<String> {
    let before_sign = |text: &str| text.split_once('=').map(|(name, _)| name.trim().to_owned());
    match value {
        Value::String(text) => text.split_whitespace().filter_map(before_sign).collect(),
        Value::Object(object) => object.keys().cloned().collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item {
                Value::String(text) => Vec::from_iter(before_sign(text)),
                Value::Object(entry) => {
                    let names = ["name", "key"].iter().filter_map(|key| entry.get(*key)?.as_str());
                    names.map(ToOwned::to_owned).collect()
                }
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}
