//! Whether an expression holds of a call, or of its result.
//!
//! A value that is missing or null makes every test false but `exists`. A value of the wrong type is a doubt,
//! and a doubt ends the question where it is met: `all` asks nobody after it, and neither does `any`. So the
//! order of the tests counts, as in the language. A text is looked at to its end, however long it is.
//! Missing on purpose: any memory. What a rule does with a doubt is the gate's to decide.

use std::cmp::Ordering;

use lockgate_call::{Call, Selected, Selector};
use lockgate_pattern::{Match, Pattern, python_text};
use serde_json::{Map, Number, Value};

use super::draft::{Expr, Operator, PrincipalField, RulesetSelector};
use crate::{condition::compare, decision::Truth};

/// The environment of a call that names none.
const ENVIRONMENT_DEFAULT: &str = "production";

/// Everything an expression may look at.
#[derive(Clone, Copy)]
pub struct RulesetFacts<'a> {
    /// The call.
    pub call: &'a Call,
    /// The variables of the gate's environment.
    pub environment_variables: &'a dyn Fn(&str) -> Option<String>,
    /// What the tool answered, once it has.
    pub output: Option<&'a Value>,
    /// What the host says about a call under a name of its own.
    pub custom: &'a dyn Fn(&str, &Call) -> Option<Value>,
}

/// What a selector finds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Looked<'a> {
    /// Nothing, or null.
    Missing,
    /// Something that may well hold the field, but not as a field.
    Unclear,
    Text(&'a str),
    /// One value, or several behind a wildcard.
    Values(Vec<&'a Value>),
    /// A value that was made up just now.
    Own(Value),
    /// The whole result, to be looked at as a text.
    Output(&'a Value),
}

impl Expr {
    /// Whether it holds.
    pub fn truth(&self, facts: &RulesetFacts<'_>) -> Truth {
        match self {
            Self::All(parts) => first_not(parts, Truth::Yes, facts),
            Self::Any(parts) => first_not(parts, Truth::No, facts),
            Self::Not(part) => !part.truth(facts),
            Self::Leaf { selector, operator, .. } => operator.holds_of(&selector.look(facts)),
        }
    }
}

/// The first answer that is not the one to go on with.
fn first_not(parts: &[Expr], go_on: Truth, facts: &RulesetFacts<'_>) -> Truth {
    parts.iter().map(|part| part.truth(facts)).find(|truth| *truth != go_on).unwrap_or(go_on)
}

impl RulesetSelector {
    pub(super) fn look<'a>(&self, facts: &RulesetFacts<'a>) -> Looked<'a> {
        let about = &facts.call.about;
        match self {
            Self::Args(way) => in_object(way, &facts.call.input),
            Self::Principal(field) => about.principal.as_ref().map_or(Looked::Missing, |who| field.look(who)),
            Self::Environment => Looked::Text(about.environment.as_deref().unwrap_or(ENVIRONMENT_DEFAULT)),
            Self::ToolName => Looked::Text(&facts.call.tool),
            Self::Env(name) => match (facts.environment_variables)(name) {
                Some(text) => Looked::Own(typed(text)),
                None => Looked::Missing,
            },
            Self::Metadata(way) => {
                about.metadata.as_ref().map_or(Looked::Missing, |value| within(way, value))
            }
            Self::OutputText => match facts.output {
                None | Some(Value::Null) => Looked::Missing,
                Some(Value::String(text)) => Looked::Text(text),
                Some(output) => Looked::Output(output),
            },
            Self::Result(way) => facts.output.map_or(Looked::Missing, |output| in_result(way, output)),
            Self::Custom { prefix, rest } => match (facts.custom)(prefix, facts.call) {
                Some(value) => owned(within(rest, &value)),
                None => Looked::Missing,
            },
        }
    }
}

impl PrincipalField {
    fn look<'a>(&self, principal: &'a Value) -> Looked<'a> {
        // Who is only named may well have the role that is asked for.
        if !principal.is_object() && !principal.is_null() {
            return Looked::Unclear;
        }
        let key = match self {
            Self::UserId => "user_id",
            Self::ServiceId => "service_id",
            Self::OrgId => "org_id",
            Self::Role => "role",
            Self::TicketRef => "ticket_ref",
            Self::Claims(way) => {
                return principal.get("claims").map_or(Looked::Missing, |claims| within(way, claims));
            }
        };
        match principal.get(key) {
            None | Some(Value::Null) => Looked::Missing,
            Some(value) => Looked::Values(vec![value]),
        }
    }
}

fn in_object<'a>(way: &Selector, object: &'a Map<String, Value>) -> Looked<'a> {
    found(way.select(object), |at| at.select(object))
}

fn within<'a>(way: &Selector, value: &'a Value) -> Looked<'a> {
    found(way.select_in(value), |at| at.select_in(value))
}

fn found<'a>(selected: Selected<'a>, at_place: impl FnOnce(&Selector) -> Selected<'a>) -> Looked<'a> {
    match selected {
        Selected::Found(values) => Looked::Values(values),
        Selected::Missing | Selected::Null => Looked::Missing,
        Selected::TooMany => Looked::Unclear,
        Selected::WrongType { at } => match at_place(&at) {
            Selected::Found(values) if !values.iter().any(|value| may_hold_fields(value)) => Looked::Missing,
            _ => Looked::Unclear,
        },
    }
}

/// Whether a value that is no object may be read as one by a tool: fields in a list, or written out in a text,
/// must not be a way around a rule that names them.
fn may_hold_fields(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_start().starts_with(['{', '[']),
        Value::Array(items) => items.iter().any(|item| item.is_object() || may_hold_fields(item)),
        Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A field of a result. MCP wraps what a tool says, into a field of its own, into texts of a list, or into both; it may
/// be read from any of them, so where they disagree there is a doubt.
fn in_result<'a>(way: &Selector, output: &'a Value) -> Looked<'a> {
    let structured = output.get("structuredContent");
    let items = output.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = items.filter_map(|item| item.get("text").or_else(|| item.pointer("/resource/text")));
    let inner = structured.into_iter().chain(texts);
    inner.fold(in_plain(way, output), |so_far, said| agreed(so_far, in_plain(way, said)))
}

/// A field of what a tool says. Many tools answer with JSON in a text.
fn in_plain<'a>(way: &Selector, output: &'a Value) -> Looked<'a> {
    match output {
        Value::String(text) if may_hold_fields(output) => match serde_json::from_str::<Value>(text) {
            Ok(value) => owned(within(way, &value)),
            Err(_) => Looked::Unclear,
        },
        output => within(way, output),
    }
}

/// What stands in two places that should say the same.
fn agreed<'a>(one: Looked<'a>, other: Looked<'a>) -> Looked<'a> {
    let is_same = match (&one, &other) {
        (Looked::Missing, _) => return other,
        (_, Looked::Missing) => return one,
        (Looked::Values(values), Looked::Own(own)) | (Looked::Own(own), Looked::Values(values)) => {
            matches!(values.as_slice(), [value] if *value == own)
        }
        (one, other) => one == other,
    };
    if is_same { one } else { Looked::Unclear }
}

/// What was found in a value that will not live long.
fn owned<'a>(looked: Looked<'_>) -> Looked<'a> {
    match looked {
        Looked::Values(values) => match values.as_slice() {
            [value] => Looked::Own((*value).clone()),
            // Whether several agree can only be asked while they are there; a doubt is the safe answer.
            _ => Looked::Unclear,
        },
        Looked::Missing => Looked::Missing,
        Looked::Unclear | Looked::Text(_) | Looked::Own(_) | Looked::Output(_) => Looked::Unclear,
    }
}

/// A variable as the language types it: truth values and numbers are taken out of their text.
pub(super) fn typed(text: String) -> Value {
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("true") {
        return true.into();
    }
    if trimmed.eq_ignore_ascii_case("false") {
        return false.into();
    }
    let digits: String = trimmed.strip_prefix('+').unwrap_or(trimmed).chars().filter(|c| *c != '_').collect();
    let is_number = digits.contains(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    let whole = digits.parse::<i64>().ok().filter(|_| is_number).map(Number::from);
    let float = digits.parse::<f64>().ok().filter(|_| is_number);
    match whole.or_else(|| Number::from_f64(float?)) {
        Some(number) => Value::Number(number),
        None => Value::String(text),
    }
}

impl Operator {
    /// What it says about one value; null stands for none.
    pub(crate) fn truth(&self, value: &Value) -> Truth {
        if value.is_null() {
            self.holds_of(&Looked::Missing)
        } else {
            self.holds_of(&Looked::Values(vec![value]))
        }
    }

    fn holds_of(&self, looked: &Looked<'_>) -> Truth {
        if let (Self::Exists(wanted), false) = (self, *looked == Looked::Unclear) {
            return (is_there(looked) == *wanted).into();
        }
        match looked {
            Looked::Missing => Truth::No,
            Looked::Unclear => Truth::Doubt,
            Looked::Text(text) => self.holds_of_text(text),
            Looked::Own(value) => self.holds_of_value(value),
            Looked::Values(values) => {
                Truth::together(values.iter().map(|value| self.holds_of_value(value))).unwrap_or(Truth::No)
            }
            Looked::Output(output) => self.holds_of_output(output),
        }
    }

    fn holds_of_value(&self, value: &Value) -> Truth {
        match value {
            Value::Null => Truth::No,
            Value::String(text) => self.holds_of_text(text),
            value => match self {
                Self::Exists(wanted) => (*wanted).into(),
                Self::Equals(expected) => is_same(value, expected).into(),
                Self::NotEquals(expected) => (!is_same(value, expected)).into(),
                Self::In(expected) => is_one_of(value, expected).into(),
                Self::NotIn(expected) => (!is_one_of(value, expected)).into(),
                Self::Gt(limit) => is_ordered(value, limit, Ordering::is_gt),
                Self::Gte(limit) => is_ordered(value, limit, Ordering::is_ge),
                Self::Lt(limit) => is_ordered(value, limit, Ordering::is_lt),
                Self::Lte(limit) => is_ordered(value, limit, Ordering::is_le),
                Self::Contains(_)
                | Self::ContainsAny(_)
                | Self::StartsWith(_)
                | Self::EndsWith(_)
                | Self::Matches(_)
                | Self::MatchesAny(_) => Truth::Doubt,
            },
        }
    }

    fn holds_of_text(&self, text: &str) -> Truth {
        let is = |expected: &Value| expected.as_str() == Some(text);
        match self {
            Self::Exists(wanted) => (*wanted).into(),
            Self::Equals(expected) => is(expected).into(),
            Self::NotEquals(expected) => (!is(expected)).into(),
            Self::In(expected) => expected.iter().any(is).into(),
            Self::NotIn(expected) => (!expected.iter().any(is)).into(),
            Self::Contains(part) => text.contains(part).into(),
            Self::ContainsAny(parts) => parts.iter().any(|part| text.contains(part)).into(),
            Self::StartsWith(part) => text.starts_with(part).into(),
            Self::EndsWith(part) => text.ends_with(part).into(),
            Self::Matches(pattern) => matches(pattern, text),
            Self::MatchesAny(patterns) => {
                patterns.iter().fold(Truth::No, |so_far, pattern| so_far.or(matches(pattern, text)))
            }
            Self::Gt(_) | Self::Gte(_) | Self::Lt(_) | Self::Lte(_) => Truth::Doubt,
        }
    }

    /// A structured result is its JSON text. That text hides what it escapes, and others write the same result
    /// with other spaces and quotes: where one of those fits, and each text within is one, there is a doubt.
    fn holds_of_output(&self, output: &Value) -> Truth {
        let truth = self.holds_of_text(&output.to_string());
        let is_negative = matches!(self, Self::NotEquals(_) | Self::NotIn(_));
        if truth != Truth::No || is_negative {
            return truth;
        }
        let fits = |text: &str| self.holds_of_text(text) != Truth::No;
        let is_found =
            fits(&python_text(output)) || fits(&spaced(output)) || texts_in(output).into_iter().any(fits);
        if is_found { Truth::Doubt } else { Truth::No }
    }
}

fn is_there(looked: &Looked<'_>) -> bool {
    match looked {
        Looked::Missing => false,
        Looked::Own(value) => !value.is_null(),
        Looked::Values(values) => values.iter().any(|value| !value.is_null()),
        Looked::Unclear | Looked::Text(_) | Looked::Output(_) => true,
    }
}

fn matches(pattern: &Pattern, text: &str) -> Truth {
    match pattern.find(text) {
        Match::No => Truth::No,
        Match::At(_) => Truth::Yes,
        Match::Unsure => Truth::Doubt,
    }
}

fn is_one_of(value: &Value, expected: &[Value]) -> bool {
    expected.iter().any(|expected| is_same(value, expected))
}

/// Equal, where `1` is `1.0`. A truth value is no number.
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

fn is_ordered(value: &Value, limit: &Number, is_meant: fn(Ordering) -> bool) -> Truth {
    match value {
        Value::Number(number) => compare(number, limit).map_or(Truth::Doubt, |order| is_meant(order).into()),
        _ => Truth::Doubt,
    }
}

/// Every text in a value, names of fields too.
fn texts_in(value: &Value) -> Vec<&str> {
    let (mut texts, mut open) = (Vec::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                texts.extend(fields.keys().map(String::as_str));
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

/// JSON with a space after `:` and `,`, as most people write it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}
