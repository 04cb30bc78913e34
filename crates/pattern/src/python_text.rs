//! Values as Python writes them as text.
//!
//! [`python_text`] gives what `str()` gives for a value read from JSON: rules written for Python are compared
//! with that. Missing on purpose: whole numbers beyond 64 bits, which are fractions here.

use std::{borrow::Cow, fmt::Write, sync::LazyLock};

use regex_syntax::hir::ClassUnicode;
use serde_json::{Number, Value};

use crate::{characters::has, word_edges::class};

/// What Python's `str()` gives: a text is itself, `5` is `5`, `true` is `True`, nothing is `None`, and lists
/// and mappings are written with their texts quoted, as in `{'a': [1, True]}`.
pub fn python_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => {
            let mut out = String::new();
            push(&mut out, other);
            Cow::Owned(out)
        }
    }
}

fn push(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => push_number(out, number),
        Value::String(text) => push_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push_quoted(out, key);
                out.push_str(": ");
                push(out, value);
            }
            out.push('}');
        }
    }
}

fn push_number(out: &mut String, number: &Number) {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(whole), ..) => out.push_str(&whole.to_string()),
        (_, Some(whole), _) => out.push_str(&whole.to_string()),
        (.., Some(fraction)) => push_fraction(out, fraction),
        _ => out.push_str(&number.to_string()),
    }
}

/// The fewest digits that give the same number back, with an exponent only for the very small and very large.
fn push_fraction(out: &mut String, number: f64) {
    let shortest = format!("{number:e}");
    let decimals = shortest
        .split_once('e')
        .and_then(|(digits, _)| digits.split_once('.'))
        .map_or(0, |(_, decimals)| decimals.len());
    // Of two shortest ones equally near, Python takes the one that ends in an even digit, as rounding does.
    let rounded = format!("{number:.decimals$e}");
    let scientific = if rounded.parse() == Ok(number) { rounded } else { shortest };

    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        push_plain(out, digits, exponent);
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push_str(&format!("{digits}e{sign}{:02}", exponent.unsigned_abs()));
}

/// Digits such as `-1.25` with their point moved by the exponent.
fn push_plain(out: &mut String, digits: &str, exponent: i32) {
    let unsigned = digits.trim_start_matches('-');
    out.push_str(if unsigned == digits { "" } else { "-" });
    let digits = unsigned.replace('.', "");
    let Ok(before) = usize::try_from(exponent) else {
        let zeros = usize::try_from(exponent.unsigned_abs()).unwrap_or_default().saturating_sub(1);
        out.push_str(&format!("0.{}{digits}", "0".repeat(zeros)));
        return;
    };
    let padded = format!("{digits:0<width$}", width = before + 2);
    let (whole, fraction) = padded.split_at_checked(before + 1).unwrap_or((&padded, "0"));
    out.push_str(&format!("{whole}.{fraction}"));
}

fn push_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match character {
            '\\' => out.write_str(r"\\"),
            '\n' => out.write_str(r"\n"),
            '\r' => out.write_str(r"\r"),
            '\t' => out.write_str(r"\t"),
            character if character == quote => write!(out, r"\{quote}"),
            ' '..='~' => out.write_char(character),
            character if !has(&UNPRINTABLE, character) => out.write_char(character),
            _ if code <= 0xff => write!(out, r"\x{code:02x}"),
            _ if code <= 0xffff => write!(out, r"\u{code:04x}"),
            _ => write!(out, r"\U{code:08x}"),
        };
    }
    out.push(quote);
}

/// Control characters, those that show nothing, separators, and numbers that stand for no character.
static UNPRINTABLE: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"[\p{C}\p{Z}]"));

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows were written by Python 3.11: a JSON text, and the `str()` of what it means.
    #[test]
    fn a_value_is_written_the_way_python_writes_it() {
        let rows = [
            ("\"text\"", "text"),
            ("\"\"", ""),
            ("\"a\\nb\"", "a\nb"),
            ("5", "5"),
            ("-5", "-5"),
            ("0", "0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1.0", "1.0"),
            ("-0.0", "-0.0"),
            ("0.1", "0.1"),
            ("1.5e3", "1500.0"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("1234567890123456.7", "1234567890123456.8"),
            ("1690671767444220.2", "1690671767444220.2"),
            ("-99747857915431.62", "-99747857915431.62"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e22", "1e+22"),
            ("1e-4", "0.0001"),
            ("1e-5", "1e-05"),
            ("0.00012345", "0.00012345"),
            ("1.5e-7", "1.5e-07"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("2.5e100", "2.5e+100"),
            ("100000.0", "100000.0"),
            ("true", "True"),
            ("false", "False"),
            ("null", "None"),
            ("[]", "[]"),
            ("{}", "{}"),
            ("[1,true,null,\"a\"]", "[1, True, None, 'a']"),
            ("{\"a\":[1,true],\"b\":{\"c\":2.0}}", "{'a': [1, True], 'b': {'c': 2.0}}"),
            ("[\"it's\"]", "[\"it's\"]"),
            ("[\"say \\\"x\\\"\"]", "['say \"x\"']"),
            ("[\"it's \\\"x\\\"\"]", "['it\\'s \"x\"']"),
            ("[\"\\\\\"]", "['\\\\']"),
            ("[\"\\n\\r\\t\\u0000\\u001f\\u007f\"]", "['\\n\\r\\t\\x00\\x1f\\x7f']"),
            ("[\"é\\u00a0\\u00ad\\u0085\"]", "['é\\xa0\\xad\\x85']"),
            ("[\"日\\u200b\\u2028\\ufeff\"]", "['日\\u200b\\u2028\\ufeff']"),
            ("[\"\u{1f600}\\udb40\\udc01\"]", "['\u{1f600}\\U000e0001']"),
            ("[\"\\ue000\\u0301\"]", "['\\ue000\u{301}']"),
            ("{\"b\":1,\"a\":2}", "{'b': 1, 'a': 2}"),
            ("{\"it's\":null}", "{\"it's\": None}"),
            ("[[],[[]],{}]", "[[], [[]], {}]"),
            ("[\" \"]", "[' ']"),
        ];
        for (json, expected) in rows {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(python_text(&value), expected, "{json}");
        }
    }
}
