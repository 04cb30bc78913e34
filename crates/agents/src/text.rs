//! Small readers of text that hooks, settings and the line protocol share.

use std::time::Duration;

use lockgate::engine::call::{StrictJson, line_mistake};
use serde_json::{Map, Value};

/// The longest line that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Reads one JSON object that two readers could not read in two ways; the error says what is wrong.
///
/// # Errors
/// When the text is too long, is not JSON, is not an object, or names a field twice.
pub fn read_object(text: &str) -> Result<Map<String, Value>, String> {
    if text.len() > LINE_BYTES_MAX {
        return Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"));
    }
    match serde_json::from_str(text) {
        Ok(StrictJson(Value::Object(fields))) => Ok(fields),
        Ok(_) => Err("a JSON object was expected".to_owned()),
        Err(error) => Err(line_mistake(&error)),
    }
}

/// A text of several lines as one, for places that have no room for more.
pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The duration that a text like `30s` says; none if it is not such a text.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|sign: char| sign.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ms).map(Duration::from_millis)
}
