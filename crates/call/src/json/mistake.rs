//! What is wrong with JSON or TOML that somebody wrote, in words for that person.
//!
//! Parsers speak of an `unknown field`, an `invalid type` and `expected u64`: words of their code. Every door that reads
//! what a user wrote asks [`json_mistake`], [`line_mistake`] or [`plain_mistake`] instead, and [`read_fields`] says
//! besides in which field the mistake is. What is not one of the parsers' phrases stays as it is.

use serde::de::DeserializeOwned;
use serde_json::{Error, Map, Value};

/// What is wrong with a JSON text, with the line and the column.
pub fn json_mistake(error: &Error) -> String {
    let what = plain_mistake(without_place(&error.to_string()));
    match error.line() {
        0 => what,
        line => format!("{what} (line {line}, column {})", error.column()),
    }
}

/// The same for a text that is one line among others: only its column means something to the sender.
pub fn line_mistake(error: &Error) -> String {
    let what = plain_mistake(without_place(&error.to_string()));
    match error.line() {
        0 => what,
        _ => format!("{what} (column {})", error.column()),
    }
}

/// Reads the fields of an object as a type, or says which field is wrong and how.
///
/// # Errors
/// When they do not fit; the text is a sentence for whoever wrote them.
pub fn read_fields<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, String> {
    let value = Value::Object(fields);
    let error = match T::deserialize(&value) {
        Ok(read) => return Ok(read),
        Err(error) => error.to_string(),
    };
    let what = plain_mistake(without_place(&error));
    let Value::Object(mut fields) = value else { return Err(what) };
    // A field that is named already needs no search.
    if ["missing field", "unknown field", "duplicate field"].iter().any(|phrase| error.starts_with(phrase)) {
        return Err(what);
    }
    // The wrong field is the one without which the mistake is another, or none.
    let names: Vec<String> = fields.keys().cloned().collect();
    let is_wrong = |name: &String| {
        let Some(removed) = fields.shift_remove(name) else { return false };
        let without = Value::Object(fields.clone());
        let is_wrong = T::deserialize(&without).err().is_none_or(|other| other.to_string() != error);
        fields.insert(name.clone(), removed);
        is_wrong
    };
    match names.into_iter().find(is_wrong) {
        Some(name) if what.starts_with(&format!("`{name}`")) => Err(what),
        Some(name) => Err(format!("`{name}`: {what}")),
        None => Err(what),
    }
}

/// What a parser says, in our words and without a place.
pub fn plain_mistake(message: &str) -> String {
    let message = message.trim();
    let named = |phrase: &str| message.strip_prefix(phrase)?.split_once('`');
    if let Some((name, _)) = named("missing field `") {
        return format!("`{name}` is missing");
    }
    if let Some((name, _)) = named("duplicate field `") {
        return format!("`{name}` appears twice");
    }
    if let Some((name, rest)) = named("unknown field `").or_else(|| named("unknown variant `")) {
        let listed = rest.trim_start_matches(", expected ").trim_start_matches("one of ");
        return match listed {
            "" | ", there are no fields" | ", there are no variants" => format!("`{name}` is not known here"),
            listed => format!("`{name}` is not known here; known are {listed}"),
        };
    }
    for phrase in ["invalid type: ", "invalid value: "] {
        if let Some((found, wanted)) =
            message.strip_prefix(phrase).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return format!("this is {}, and {} is needed", found_word(found), wanted_word(wanted));
        }
    }
    if let Some((found, wanted)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("this has {found} entries, and {} is needed", wanted_word(wanted));
    }
    if message.starts_with("data did not match any variant") {
        return "this has none of the shapes that are known here".to_owned();
    }
    let known = SYNTAX.iter().find(|(phrase, _)| message == *phrase);
    // The parser of TOML says what is wrong before it lists what its grammar has there.
    let plain = || message.split(", expected ").next().unwrap_or(message).to_owned();
    known.map_or_else(plain, |(_, ours)| (*ours).to_owned())
}

/// What the parser of JSON says about a text, and what we say.
const SYNTAX: [(&str, &str); 23] = [
    ("EOF while parsing a list", "the text ends inside a list"),
    ("EOF while parsing an object", "the text ends inside an object"),
    ("EOF while parsing a string", "the text ends inside quotes"),
    ("EOF while parsing a value", "the text ends where a value belongs"),
    ("expected `:`", "a `:` is missing after a key"),
    ("expected `,` or `]`", "a `,` or `]` is missing in a list"),
    ("expected `,` or `}`", "a `,` or `}` is missing in an object"),
    ("expected ident", "a word is misspelt: JSON has `true`, `false` and `null`"),
    ("expected value", "a value is missing, or begins with a character that JSON does not have"),
    ("expected `\"`", "a `\"` is missing"),
    ("invalid escape", "a `\\` comes before a character that cannot be escaped"),
    ("invalid number", "a number is written in a way that JSON does not have"),
    ("number out of range", "a number is too large"),
    ("invalid unicode code point", "an escaped character does not exist"),
    (
        "control character (\\u0000-\\u001F) found while parsing a string",
        "a string contains a control character: write it as an escape, such as `\\n`",
    ),
    ("key must be a string", "a key has no quotes"),
    ("float key must be finite", "a key is not a finite number"),
    ("lone leading surrogate in hex escape", "half of an escaped character is missing"),
    ("unexpected end of hex escape", "half of an escaped character is missing"),
    ("trailing comma", "a `,` comes before the end of a list or an object"),
    ("trailing characters", "there is text after the end of the value"),
    ("recursion limit exceeded", "lists and objects are nested too deeply"),
    ("invalid value", "a value is not one that JSON has"),
];

/// The message without the parser's own words for the place.
fn without_place(message: &str) -> &str {
    let is_place = |rest: &str| {
        let numbers = rest.split_once(" column ");
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.is_some_and(|(line, column)| is_number(line) && is_number(column))
    };
    match message.rsplit_once(" at line ") {
        Some((what, rest)) if is_place(rest) => what,
        _ => message,
    }
}

fn found_word(found: &str) -> String {
    let inside = |rest: &str| rest.trim_matches('`').to_owned();
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    for kind in ["integer ", "floating point "] {
        if let Some(number) = found.strip_prefix(kind) {
            return format!("the number {}", inside(number));
        }
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "unit value" => "nothing".to_owned(),
        found => found.strip_prefix("boolean ").map_or_else(|| found.to_owned(), inside),
    }
}

fn wanted_word(wanted: &str) -> String {
    let word = match wanted {
        "a string" | "a borrowed string" | "a character" | "string or map" => "a text",
        "a boolean" => "`true` or `false`",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" | "a table" => "an object",
        "a sequence" => "a list",
        "unit" => "null",
        "any valid JSON value" => "a JSON value",
        wanted if wanted.starts_with("struct ") || wanted.starts_with("internally tagged enum ") => {
            "an object"
        }
        wanted if wanted.starts_with("tuple ") || wanted.starts_with("an array of length") => "a list",
        wanted if wanted.starts_with("enum ") => "one of the words that are known here",
        wanted => wanted,
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only its reading is of interest")]
        id: String,
        #[expect(dead_code, reason = "only its reading is of interest")]
        ok: Option<bool>,
        #[expect(dead_code, reason = "only its reading is of interest")]
        count: Option<u64>,
        #[expect(dead_code, reason = "only its reading is of interest")]
        list: Option<Vec<String>>,
        #[expect(dead_code, reason = "only its reading is of interest")]
        map: Option<BTreeMap<String, u64>>,
    }

    /// Phrases of the parsers.
    const THEIRS: [&str; 12] = [
        "EOF",
        "unknown field",
        "unknown variant",
        "missing field",
        "duplicate field",
        "invalid type",
        "invalid value",
        "invalid length",
        "expected",
        "sequence",
        "at line",
        "trailing",
    ];

    #[test]
    fn a_wrong_field_is_named_with_what_it_needs() {
        let rows = [
            (r#"{}"#, "`id` is missing"),
            (r#"{"id": 5}"#, "`id`: this is the number 5, and a text is needed"),
            (r#"{"id": null}"#, "`id`: this is null, and a text is needed"),
            (r#"{"id": "a", "x": 1}"#, "`x` is not known here; known are `id`, `ok`, `count`, `list`, `map`"),
            (
                r#"{"id": "a", "ok": "yes"}"#,
                "`ok`: this is the text \"yes\", and `true` or `false` is needed",
            ),
            (
                r#"{"id": "a", "count": -1}"#,
                "`count`: this is the number -1, and a whole number from 0 on is needed",
            ),
            (
                r#"{"id": "a", "count": 1.5}"#,
                "`count`: this is the number 1.5, and a whole number from 0 on is needed",
            ),
            (r#"{"id": "a", "list": {}}"#, "`list`: this is an object, and a list is needed"),
            (r#"{"id": "a", "list": [1]}"#, "`list`: this is the number 1, and a text is needed"),
            (r#"{"id": "a", "map": [true]}"#, "`map`: this is a list, and an object is needed"),
        ];
        for (json, expected) in rows {
            let Ok(Value::Object(fields)) = serde_json::from_str(json) else { panic!("{json}") };
            assert_eq!(read_fields::<Sample>(fields).unwrap_err(), expected, "{json}");
        }
    }

    #[test]
    fn no_phrase_of_a_parser_is_left() {
        let texts = [
            "",
            "{",
            "[",
            "[1",
            "[1 2]",
            "{\"a\"",
            "{\"a\" 1}",
            "{\"a\": 1 2}",
            "{a: 1}",
            "tru",
            "nul",
            "x",
            "\"a",
            "\"\\q\"",
            "\"\u{1}\"",
            "\"\\ud800\"",
            "\"\\ud800x\"",
            "1.",
            "1e",
            "1e999",
            "01",
            "[1,]",
            "{\"a\": 1,}",
            "{} x",
            "-",
            "\"\\u12\"",
        ];
        for text in texts {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            let deep = serde_json::from_str::<Value>(&"[".repeat(200)).unwrap_err();
            for error in [error, deep] {
                for told in [json_mistake(&error), line_mistake(&error)] {
                    let left = THEIRS.iter().find(|phrase| told.contains(**phrase));
                    assert_eq!(left, None, "{text:?}: {told}");
                    assert!(told.contains("column "), "{text:?}: {told}");
                }
            }
        }
        for json in [r#"{"id": 1}"#, r#"{"id": "a", "ok": []}"#, r#"[]"#, r#"{"id": "a", "y": 1}"#, "{}", "5"]
        {
            let error = serde_json::from_str::<Sample>(json).unwrap_err();
            let told = json_mistake(&error);
            assert_eq!(THEIRS.iter().find(|phrase| told.contains(**phrase)), None, "{json}: {told}");
        }
    }

    #[test]
    fn our_own_words_stay() {
        for told in
            ["key `a` appears twice in one object", "`input` is a JSON object, not 5", "he left at line 5"]
        {
            assert_eq!(plain_mistake(without_place(told)), told);
        }
        assert_eq!(without_place("key `a` stands twice at line 1 column 5"), "key `a` stands twice");
    }
}
