//! A test of one value, for all languages.
//!
//! [`Test::truth`] says whether a value passes. A value that is missing or null passes no test but [`Operator::Exists`],
//! whether the test is negated or not. What else differs between the languages is the [`Coercion`]: whether a number
//! may be compared with a text, and what a value of another type means.

use std::{borrow::Cow, cmp::Ordering, fmt};

use lockgate_call::path;
use lockgate_pattern::{Match, Pattern, python_text};
use serde_json::{Number, Value};

use super::shape::Shape;
use crate::decision::Truth;

/// What a value must be like.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What it is compared with, and how.
    pub operator: Operator,
    /// Whether a value that is there must not be so.
    pub is_negated: bool,
    /// How values of other types are compared.
    pub coercion: Coercion,
}

/// What a value is compared with, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    /// The value is there and not null, or it is not.
    Exists(bool),
    /// The value is this one; `1` is `1.0`.
    Equals(Value),
    /// The value is one of these.
    OneOf(Vec<Value>),
    /// The text contains one of these.
    Contains(Vec<String>),
    /// The text starts with this.
    StartsWith(String),
    /// The text ends with this.
    EndsWith(String),
    /// One of these matches the text.
    Matches(Vec<Pattern>),
    /// The number is above this.
    Above(Number),
    /// The number is at least this.
    AtLeast(Number),
    /// The number is below this.
    Below(Number),
    /// The number is at most this.
    AtMost(Number),
    /// The path stays, by its text, under one of these folders. Variables, home folders, backslashes and control
    /// characters leave a doubt.
    Under(Vec<String>),
    /// The value is of this type, or has so many items.
    Shape(Shape),
}

/// How values are compared with something of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coercion {
    /// Texts are compared with the text that Python's `str()` makes of a value, numbers also with the number that a text
    /// spells.
    Text,
    /// No value changes its type, and one of the wrong type is a doubt.
    Typed,
    /// As text; of a list, what all its items say, and a doubt where they differ. An empty list and an object are doubts.
    Plain,
    /// As typed, and `null` is a doubt: it is neither there nor missing. A list contains its members.
    Strict,
}

impl Test {
    /// A test that compares texts as Python's `str()` makes them.
    pub fn text(operator: Operator) -> Self {
        Self { operator, is_negated: false, coercion: Coercion::Text }
    }

    /// A test of a plain value, or of every item of a list.
    pub fn plain(operator: Operator) -> Self {
        Self { operator, is_negated: false, coercion: Coercion::Plain }
    }

    /// A test that changes no types.
    pub fn typed(operator: Operator) -> Self {
        Self { operator, is_negated: false, coercion: Coercion::Typed }
    }

    /// A test that changes no types and takes `null` for a doubt.
    pub fn strict(operator: Operator) -> Self {
        Self { operator, is_negated: false, coercion: Coercion::Strict }
    }

    /// The test that a value passes if it is there and does not pass this one.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { is_negated: !self.is_negated, ..self }
    }

    /// Whether a value passes; null stands for a missing one.
    pub fn truth(&self, value: &Value) -> Truth {
        self.truth_in(value, None)
    }

    /// The same, where relative paths start at a folder.
    pub(crate) fn truth_in(&self, value: &Value, cwd: Option<&str>) -> Truth {
        match (&self.operator, value) {
            (Operator::Exists(wanted), value) => (value.is_null() != *wanted).into(),
            (_, Value::Null) => self.of_nothing(),
            (operator, value) => self.signed(operator.passes(value, self.coercion, cwd)),
        }
    }

    /// What the test says of a text.
    pub(super) fn truth_of_text(&self, text: &str) -> Truth {
        match (&self.operator, self.coercion) {
            (Operator::Exists(wanted), _) => (*wanted).into(),
            (operator, Coercion::Typed | Coercion::Strict) => self.signed(operator.passes_typed_text(text)),
            (_, Coercion::Text | Coercion::Plain) => self.truth(&Value::from(text)),
        }
    }

    /// What the test says where there is no value. `null` equals `null` where types count.
    fn of_nothing(&self) -> Truth {
        let takes_null = match &self.operator {
            Operator::Equals(expected) => expected.is_null(),
            Operator::OneOf(expected) => expected.iter().any(Value::is_null),
            _ => false,
        };
        (takes_null && self.coercion == Coercion::Strict && !self.is_negated).into()
    }

    fn signed(&self, truth: Truth) -> Truth {
        if self.is_negated { !truth } else { truth }
    }
}

impl Operator {
    /// The patterns it has.
    pub fn patterns(&self) -> &[Pattern] {
        match self {
            Self::Matches(patterns) => patterns,
            _ => &[],
        }
    }

    /// Whether a value that is there passes.
    fn passes(&self, value: &Value, coercion: Coercion, cwd: Option<&str>) -> Truth {
        match (self, coercion, value) {
            (Self::Shape(shape), _, value) => shape.is_of(value),
            (Self::Under(folders), _, Value::String(path)) => {
                folders.iter().any(|folder| is_certainly_under(path, folder, cwd)).into()
            }
            (Self::Contains(parts), Coercion::Strict, Value::Array(members)) => {
                members.iter().any(|member| parts.iter().any(|part| member == part)).into()
            }
            (_, Coercion::Plain, Value::Array(items)) => {
                let truths = items.iter().map(|item| match item {
                    Value::Null => Truth::Doubt,
                    item => self.passes(item, coercion, cwd),
                });
                Truth::together(truths).unwrap_or(Truth::Doubt)
            }
            (_, Coercion::Plain, Value::Object(_)) => Truth::Doubt,
            // `1,200` is a number to people.
            (_, Coercion::Plain, Value::String(text)) => match grouped_number(text) {
                Some(number) if self.is_of_numbers() => self.passes_as_text(&number),
                _ => self.passes_as_text(value),
            },
            (_, Coercion::Text | Coercion::Plain, value) => self.passes_as_text(value),
            (_, Coercion::Typed | Coercion::Strict, Value::String(text)) => self.passes_typed_text(text),
            (_, Coercion::Typed | Coercion::Strict, value) => self.passes_typed(value),
        }
    }

    fn passes_as_text(&self, value: &Value) -> Truth {
        let text = || python_text(value);
        match self {
            Self::Matches(patterns) => any_matches(patterns, &text()),
            Self::Contains(parts) => parts.iter().any(|part| text().contains(part)).into(),
            Self::StartsWith(part) => text().starts_with(part.as_str()).into(),
            Self::EndsWith(part) => text().ends_with(part.as_str()).into(),
            Self::Equals(expected) => is_equal_as_text(value, expected),
            Self::OneOf(expected) => {
                expected.iter().fold(Truth::No, |so_far, one| so_far.or(is_equal_as_text(value, one)))
            }
            Self::Above(_) | Self::AtLeast(_) | Self::Below(_) | Self::AtMost(_) => {
                number_of(value).map_or(Truth::Doubt, |number| self.orders(&number))
            }
            Self::Exists(_) | Self::Under(_) | Self::Shape(_) => Truth::Doubt,
        }
    }

    /// Whether it compares numbers.
    fn is_of_numbers(&self) -> bool {
        match self {
            Self::Above(_) | Self::AtLeast(_) | Self::Below(_) | Self::AtMost(_) => true,
            Self::Equals(value) => value.is_number(),
            Self::OneOf(values) => values.iter().all(Value::is_number),
            _ => false,
        }
    }

    fn passes_typed_text(&self, text: &str) -> Truth {
        let is = |expected: &Value| expected.as_str() == Some(text);
        match self {
            Self::Equals(expected) => is(expected).into(),
            Self::OneOf(expected) => expected.iter().any(is).into(),
            Self::Contains(parts) => parts.iter().any(|part| text.contains(part)).into(),
            Self::StartsWith(part) => text.starts_with(part).into(),
            Self::EndsWith(part) => text.ends_with(part).into(),
            Self::Matches(patterns) => any_matches(patterns, text),
            Self::Above(_)
            | Self::AtLeast(_)
            | Self::Below(_)
            | Self::AtMost(_)
            | Self::Exists(_)
            | Self::Under(_)
            | Self::Shape(_) => Truth::Doubt,
        }
    }

    fn passes_typed(&self, value: &Value) -> Truth {
        match (self, value) {
            (Self::Equals(expected), value) => is_same(value, expected).into(),
            (Self::OneOf(expected), value) => expected.iter().any(|one| is_same(value, one)).into(),
            (_, Value::Number(number)) => self.orders(number),
            _ => Truth::Doubt,
        }
    }

    /// Whether a number is on the right side; a doubt where no number is asked for.
    fn orders(&self, number: &Number) -> Truth {
        let (limit, is_meant): (_, fn(Ordering) -> bool) = match self {
            Self::Above(limit) => (limit, Ordering::is_gt),
            Self::AtLeast(limit) => (limit, Ordering::is_ge),
            Self::Below(limit) => (limit, Ordering::is_lt),
            Self::AtMost(limit) => (limit, Ordering::is_le),
            _ => return Truth::Doubt,
        };
        compare(number, limit).map_or(Truth::Doubt, |order| is_meant(order).into())
    }
}

/// A `$` may be replaced and a `\` may separate folders before the path is used, depending on the tool.
fn is_certainly_under(path: &str, folder: &str, cwd: Option<&str>) -> bool {
    !path.contains(['$', '\\']) && path::is_under(path, folder, cwd)
}

fn any_matches(patterns: &[Pattern], text: &str) -> Truth {
    patterns.iter().fold(Truth::No, |so_far, pattern| so_far.or(matches(pattern, text)))
}

fn matches(pattern: &Pattern, text: &str) -> Truth {
    match pattern.find(text) {
        Match::No => Truth::No,
        Match::At(_) => Truth::Yes,
        Match::Unsure => Truth::Doubt,
    }
}

fn is_equal_as_text(value: &Value, expected: &Value) -> Truth {
    match expected {
        Value::String(expected) => (python_text(value) == expected.as_str()).into(),
        Value::Number(expected) => {
            let number = number_of(value);
            number.is_some_and(|number| compare(&number, expected) == Some(Ordering::Equal)).into()
        }
        // A tool may well take the text for the word.
        Value::Bool(expected) => match value {
            Value::String(text) if text.eq_ignore_ascii_case(if *expected { "true" } else { "false" }) => {
                Truth::Doubt
            }
            _ => (value == expected).into(),
        },
        _ => (value == expected).into(),
    }
}

/// A number, or the number a text spells.
fn number_of(value: &Value) -> Option<Cow<'_, Number>> {
    match value {
        Value::Number(number) => Some(Cow::Borrowed(number)),
        Value::String(text) => serde_json::from_str(text.trim()).ok().map(Cow::Owned),
        _ => None,
    }
}

/// The number that a text spells with a comma before each three digits.
fn grouped_number(text: &str) -> Option<Value> {
    let text = text.trim();
    let (whole, _) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.trim_start_matches('-').split(',');
    let is_first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    let is_grouped = is_first && whole.contains(',') && groups.all(|group| group.len() == 3);
    let plain = text.replace(',', "");
    is_grouped.then(|| serde_json::from_str::<Number>(&plain).ok().map(Value::Number)).flatten()
}

/// Equal, where `1` is `1.0`. A truth value is not a number.
fn is_same(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Number(value), Value::Number(expected)) => compare(value, expected) == Some(Ordering::Equal),
        (Value::Array(values), Value::Array(expected)) => {
            values.len() == expected.len()
                && values.iter().zip(expected).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(fields), Value::Object(expected)) => {
            fields.len() == expected.len()
                && fields.iter().all(|(key, one)| expected.get(key).is_some_and(|other| is_same(one, other)))
        }
        (value, expected) => value == expected,
    }
}

/// Whole numbers are compared as such: as floating point, 2^53 + 1 would be at most 2^53.
pub fn compare(left: &Number, right: &Number) -> Option<Ordering> {
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

/// A test in words: `is at most 10`.
impl fmt::Display for Test {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[Value]| {
            values.iter().map(|value| format!("`{}`", python_text(value))).collect::<Vec<_>>().join(", ")
        };
        let (is, does) = if self.is_negated { ("is not", "does not ") } else { ("is", "") };
        let verb = |plain: &'static str, third: &'static str| if self.is_negated { plain } else { third };
        match &self.operator {
            Operator::Matches(patterns) => {
                write!(out, "{does}{} {}", verb("match", "matches"), either(patterns))
            }
            Operator::Contains(parts) => {
                write!(out, "{does}{} {}", verb("contain", "contains"), either(parts))
            }
            Operator::StartsWith(part) => write!(out, "{does}{} with `{part}`", verb("start", "starts")),
            Operator::EndsWith(part) => write!(out, "{does}{} with `{part}`", verb("end", "ends")),
            Operator::Equals(value) => write!(out, "{is} `{}`", python_text(value)),
            Operator::OneOf(values) if self.is_negated => write!(out, "is none of {}", list(values)),
            Operator::OneOf(values) => write!(out, "is one of {}", list(values)),
            Operator::Above(number) => write!(out, "{is} above {number}"),
            Operator::AtLeast(number) => write!(out, "{is} at least {number}"),
            Operator::Below(number) => write!(out, "{is} below {number}"),
            Operator::AtMost(number) => write!(out, "{is} at most {number}"),
            Operator::Under(folders) => {
                write!(out, "{does}{} under {}", verb("stay", "stays"), either(folders))
            }
            Operator::Shape(shape @ Shape::Items { .. }) => {
                write!(out, "{does}{} {shape}", verb("have", "has"))
            }
            Operator::Shape(shape) => write!(out, "{is} {shape}"),
            Operator::Exists(true) => write!(out, "is given"),
            Operator::Exists(false) => write!(out, "is not given"),
        }
    }
}

/// What a field must be like, in words: `` `path` must stay under `src` ``.
pub fn demand(field: &str, test: &Test) -> String {
    let either_value = |values: &[Value]| either(values.iter().map(plain));
    let wish = match &test.operator {
        Operator::Under(folders) => format!("must stay under {}", either(folders)),
        Operator::Equals(value) => format!("must be `{}`", plain(value)),
        Operator::OneOf(values) => format!("must be {}", either_value(values)),
        Operator::Matches(patterns) if test.is_negated => {
            format!("must be a text that does not match {}", either(patterns))
        }
        Operator::Matches(patterns) => format!("must match {}", either(patterns)),
        Operator::Contains(parts) => format!("must contain {}", either(parts)),
        Operator::StartsWith(part) => format!("must start with `{part}`"),
        Operator::EndsWith(part) => format!("must end with `{part}`"),
        Operator::Shape(shape @ Shape::Items { .. }) => format!("must have {shape}"),
        Operator::Shape(shape) => format!("must be {shape}"),
        Operator::Exists(true) => "must be given".to_owned(),
        Operator::Exists(false) => "must not be given".to_owned(),
        Operator::Above(limit) => format!("must be above {limit}"),
        Operator::AtLeast(limit) => format!("must be at least {limit}"),
        Operator::Below(limit) => format!("must be below {limit}"),
        Operator::AtMost(limit) => format!("must be at most {limit}"),
    };
    format!("`{field}` {wish}")
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

    use serde_json::Map;

    use super::*;
    use crate::statement::InputCheck;

    /// Tests the field `x` of an input; a value of `null` stands for itself, `missing` for no field.
    #[track_caller]
    fn check(test: Test, rows: &[(Value, bool)]) {
        let check = InputCheck { field: "x".into(), test, message: String::new() };
        for (value, expected) in rows {
            let mut input = Map::new();
            if value != "missing" {
                input.insert("x".into(), value.clone());
            }
            assert_eq!(check.holds(&input, Some("/desk")), *expected, "{check:?}: {value}");
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
        check(Test::strict(Operator::Under(vec!["src".into(), "/tmp".into()])), &rows);
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
        check(Test::strict(Operator::Equals(json!(1))), &rows);
        check(
            Test::strict(Operator::OneOf(vec![json!("a"), json!(1)])),
            &[&rows[..], &[(json!("a"), true), (json!("b"), false)]].concat(),
        );
        check(Test::strict(Operator::OneOf(vec![])), &[(json!(1), false), (json!(null), false)]);
        check(Test::strict(Operator::Equals(Value::Null)), &[(json!(null), true), (json!("missing"), false)]);
    }

    #[test]
    fn a_pattern_in_doubt_holds_neither_way() {
        let clear = || Pattern::word("rm");
        check(
            Test::strict(Operator::Matches(vec![clear()])),
            &[(json!("rm x"), true), (json!("ls"), false), (json!(["rm"]), false)],
        );
        let rows =
            [(json!("rm x"), false), (json!("ls"), true), (json!(["ls"]), false), (json!("missing"), false)];
        check(Test::strict(Operator::Matches(vec![clear()])).negated(), &rows);

        let doubtful = || Pattern::regex(r"(.*)(.*)(.*)\1x", "").unwrap();
        let long = json!("a".repeat(1000));
        check(Test::strict(Operator::Matches(vec![doubtful()])), &[(long.clone(), false)]);
        check(
            Test::strict(Operator::Matches(vec![doubtful()])).negated(),
            &[(long, false), (json!("b"), true)],
        );
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
        check(Test::strict(Operator::Contains(vec!["ok".into()])), &rows);
    }

    #[test]
    fn null_neither_exists_nor_is_missing() {
        let rows = |there: bool| [(json!(0), there), (json!("missing"), !there), (json!(null), false)];
        check(Test::strict(Operator::Exists(true)), &rows(true));
        check(Test::strict(Operator::Exists(false)), &rows(false));
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
        check(Test::strict(Operator::AtMost(number("9007199254740992.0"))), &rows);
        check(
            Test::strict(Operator::AtLeast(number("0.5"))),
            &[(json!(1), true), (json!(0.5), true), (json!(0), false), (json!("9"), false)],
        );
    }

    #[test]
    fn a_condition_says_what_it_wants() {
        let say = |test| demand("path", &test);
        let told = [
            say(Test::strict(Operator::Under(vec!["src".into(), "docs".into()]))),
            say(Test::strict(Operator::OneOf(vec![json!("a"), json!(1)]))),
            say(Test::strict(Operator::Matches(vec![Pattern::word("rm")])).negated()),
            say(Test::strict(Operator::AtMost(number("10")))),
        ];
        insta::assert_snapshot!(told.join("\n"), @"
        `path` must stay under `src` or `docs`
        `path` must be `a` or `1`
        `path` must be a text that does not match `rm`
        `path` must be at most 10
        ");
    }
}
