//! Conditions on a call's input that a policy file can state.
//!
//! [`Condition::holds`] says yes only when the input leaves no doubt: a field that is missing, of another
//! type, or too hard for a pattern never holds, not even for the conditions that forbid something. Fields
//! inside fields are missing on purpose: a field is one key of the input, and dots are part of it.

use std::{cmp::Ordering, fmt};

use lockgate_call::path;
use serde_json::{Map, Number, Value};

use lockgate_pattern::{Match, Pattern};

/// What one field of a call's input must be like.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The key in the input.
    pub field: String,
    /// What its value must pass.
    pub test: Test,
}

/// What a value must be like.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A path that by its text stays under one of these folders. Variables, home folders, backslashes and
    /// control characters leave a doubt.
    Under(Vec<String>),
    /// This value; numbers are equal by size (`1` is `1.0`).
    Equals(Value),
    /// One of these values.
    OneOf(Vec<Value>),
    /// A text that matches.
    Matches(Pattern),
    /// A text that certainly does not match; no text at all does not pass.
    NotMatches(Pattern),
    /// A text with this in it, or a list with this as a member.
    Contains(String),
    /// Whether there is a value at all. `null` is a doubt: it passes neither as there nor as missing.
    Exists(bool),
    /// A number of at most this.
    AtMost(Number),
    /// A number of at least this.
    AtLeast(Number),
}

impl Condition {
    /// Whether the input certainly is as the condition asks. Relative paths start at `cwd`.
    pub fn holds(&self, input: &Map<String, Value>, cwd: Option<&str>) -> bool {
        match (&self.test, input.get(&self.field)) {
            (Test::Exists(expected), found) => found.is_some() == *expected && found != Some(&Value::Null),
            (test, Some(value)) => test.passes(value, cwd),
            (_, None) => false,
        }
    }
}

impl Test {
    fn passes(&self, value: &Value, cwd: Option<&str>) -> bool {
        match (self, value) {
            (Self::Under(folders), Value::String(path)) => {
                folders.iter().any(|folder| is_certainly_under(path, folder, cwd))
            }
            (Self::Equals(expected), value) => is_same(expected, value),
            (Self::OneOf(allowed), value) => allowed.iter().any(|expected| is_same(expected, value)),
            (Self::Matches(pattern), Value::String(text)) => matches!(pattern.find(text), Match::At(_)),
            (Self::NotMatches(pattern), Value::String(text)) => pattern.find(text) == Match::No,
            (Self::Contains(part), Value::String(text)) => text.contains(part),
            (Self::Contains(part), Value::Array(members)) => members.iter().any(|member| member == part),
            (Self::AtMost(limit), Value::Number(number)) => {
                compare(number, limit).is_some_and(Ordering::is_le)
            }
            (Self::AtLeast(limit), Value::Number(number)) => {
                compare(number, limit).is_some_and(Ordering::is_ge)
            }
            _ => false,
        }
    }
}

/// A `$` may be replaced and a `\` may separate folders before the path is used, depending on the tool.
fn is_certainly_under(path: &str, folder: &str, cwd: Option<&str>) -> bool {
    !path.contains(['$', '\\']) && path::is_under(path, folder, cwd)
}

fn is_same(expected: &Value, value: &Value) -> bool {
    match (expected, value) {
        (Value::Number(expected), Value::Number(number)) => {
            compare(expected, number) == Some(Ordering::Equal)
        }
        _ => expected == value,
    }
}

/// Whole numbers are compared as such: as floating point, 2^53 + 1 would be at most 2^53.
pub(crate) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    const EXACT_MAX: f64 = (1u128 << 100) as f64;
    let from_float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT_MAX);
    number.as_i128().or_else(|| from_float().map(|float| float as i128))
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        match &self.test {
            Test::Under(folders) => write!(out, "`{field}` must stay under {}", either(folders)),
            Test::Equals(value) => write!(out, "`{field}` must be `{}`", plain(value)),
            Test::OneOf(values) => write!(out, "`{field}` must be {}", either(values.iter().map(plain))),
            Test::Matches(pattern) => write!(out, "`{field}` must match `{pattern}`"),
            Test::NotMatches(pattern) => {
                write!(out, "`{field}` must be a text that does not match `{pattern}`")
            }
            Test::Contains(part) => write!(out, "`{field}` must contain `{part}`"),
            Test::Exists(true) => write!(out, "`{field}` must be given"),
            Test::Exists(false) => write!(out, "`{field}` must not be given"),
            Test::AtMost(limit) => write!(out, "`{field}` must be at most {limit}"),
            Test::AtLeast(limit) => write!(out, "`{field}` must be at least {limit}"),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn either(choices: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let choices: Vec<String> = choices.into_iter().map(|choice| format!("`{choice}`")).collect();
    choices.join(" or ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Tests the field `x` of an input; a value of `null` stands for itself, `missing` for no field.
    #[track_caller]
    fn check(test: Test, rows: &[(Value, bool)]) {
        let condition = Condition { field: "x".into(), test };
        for (value, expected) in rows {
            let mut input = Map::new();
            if value != "missing" {
                input.insert("x".into(), value.clone());
            }
            assert_eq!(condition.holds(&input, Some("/desk")), *expected, "{condition}: {value}");
        }
    }

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_holds_only_where_it_certainly_stays_under_a_folder() {
        let rows = [
            ("src/a.rs", true),
            ("src", true),
            ("/desk/src/a.rs", true),
            ("./src//b/../a.rs", true),
            ("/tmp/x", true),
            ("src/../secret", false),
            ("../src/a", false),
            ("srcs/a", false),
            ("/etc/passwd", false),
            ("/tmp/../etc/passwd", false),
            ("src/$HOME", false),
            ("~/src", false),
            ("src/..\\..\\x", false),
            ("src/a\0.rs", false),
            ("src/a\nb", false),
            ("", false),
            ("missing", false),
        ];
        let mut rows = rows.map(|(path, expected)| (json!(path), expected)).to_vec();
        rows.extend([(json!(null), false), (json!(["src/a"]), false), (json!(7), false)]);
        check(Test::Under(vec!["src".into(), "/tmp".into()]), &rows);
    }

    #[test]
    fn a_value_is_the_same_by_type_and_size() {
        let rows = [
            (json!(1), true),
            (json!(1.0), true),
            (json!("1"), false),
            (json!(true), false),
            (json!("missing"), false),
        ];
        check(Test::Equals(json!(1)), &rows);
        check(
            Test::OneOf(vec![json!("a"), json!(1)]),
            &[&rows[..], &[(json!("a"), true), (json!("b"), false)]].concat(),
        );
        check(Test::OneOf(vec![]), &[(json!(1), false), (json!(null), false)]);
        check(Test::Equals(Value::Null), &[(json!(null), true), (json!("missing"), false)]);
    }

    #[test]
    fn a_pattern_in_doubt_holds_neither_way() {
        let clear = || Pattern::word("rm");
        check(Test::Matches(clear()), &[(json!("rm x"), true), (json!("ls"), false), (json!(["rm"]), false)]);
        let rows =
            [(json!("rm x"), false), (json!("ls"), true), (json!(["ls"]), false), (json!("missing"), false)];
        check(Test::NotMatches(clear()), &rows);

        let doubtful = || Pattern::regex(r"(.*)(.*)(.*)\1x", "").unwrap();
        let long = json!("a".repeat(1000));
        check(Test::Matches(doubtful()), &[(long.clone(), false)]);
        check(Test::NotMatches(doubtful()), &[(long, false), (json!("b"), true)]);
    }

    #[test]
    fn a_part_is_looked_for_in_texts_and_lists() {
        let rows = [
            (json!("a-ok-b"), true),
            (json!(["ok"]), true),
            (json!(["a-ok-b"]), false),
            (json!({"ok": 1}), false),
            (json!("missing"), false),
        ];
        check(Test::Contains("ok".into()), &rows);
    }

    #[test]
    fn null_neither_exists_nor_is_missing() {
        let rows = |there: bool| [(json!(0), there), (json!("missing"), !there), (json!(null), false)];
        check(Test::Exists(true), &rows(true));
        check(Test::Exists(false), &rows(false));
    }

    #[test]
    fn numbers_are_compared_without_rounding() {
        let rows = [
            (json!(9_007_199_254_740_992_u64), true),
            (json!(9_007_199_254_740_993_u64), false),
            (json!(-1e300), true),
            (json!(1e300), false),
            (json!(0.5), true),
            (json!(u64::MAX), false),
            (json!("1"), false),
            (json!(null), false),
            (json!("missing"), false),
        ];
        check(Test::AtMost(number("9007199254740992.0")), &rows);
        check(
            Test::AtLeast(number("0.5")),
            &[(json!(1), true), (json!(0.5), true), (json!(0), false), (json!("9"), false)],
        );
    }

    #[test]
    fn a_condition_says_what_it_wants() {
        let say = |test| Condition { field: "path".into(), test }.to_string();
        let told = [
            say(Test::Under(vec!["src".into(), "docs".into()])),
            say(Test::OneOf(vec![json!("a"), json!(1)])),
            say(Test::NotMatches(Pattern::word("rm"))),
            say(Test::AtMost(number("10"))),
        ];
        insta::assert_snapshot!(told.join("\n"), @"
        `path` must stay under `src` or `docs`
        `path` must be `a` or `1`
        `path` must be a text that does not match `rm`
        `path` must be at most 10
        ");
    }
}
