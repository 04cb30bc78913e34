//! Which value a test is about, and what is found there.
//!
//! [`Subject::look`] finds the value in the call, in its result, in what the host says, or in what the session knows.
//! [`Found`] keeps apart what is missing from what may be there but is unknown.

use lockgate_call::{Selected, Selector};
use serde_json::{Map, Number, Value};

use super::{attribute::Attribute, found::Found};
use crate::view::View;

/// The environment of a call that names none.
const ENVIRONMENT_DEFAULT: &str = "production";

/// Which value a test or a placeholder is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A field of the call's input: the key as written, or the nested field it may mean.
    Input(Field),
    /// Where this points in the call's input.
    Argument(Selector),
    /// What the trusted caller said about the session, or what was counted.
    Session(Attribute),
    /// Who sent the message behind the call.
    Sender(SenderField),
    /// What the host said about the call under this key.
    Context(String),
    /// Who stands behind the call.
    Principal(PrincipalField),
    /// The deployment the agent runs in.
    Environment,
    /// The tool's own name.
    ToolName,
    /// A variable of the gate's own environment.
    Variable(String),
    /// Facts about the call.
    Metadata(Selector),
    /// The result as a text.
    OutputText,
    /// Where this points in a structured result.
    Result(Selector),
    /// What the host says about the call under a name of its own.
    Custom {
        /// The name.
        prefix: String,
        /// Where in it.
        rest: Selector,
    },
}

/// A field of an input: the key as written, and if it has dots, the nested field it may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As written.
    pub text: String,
    /// The nested field it may mean.
    pub nested: Option<Selector>,
}

/// What about the sender is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SenderField {
    /// The sender as a whole: a text, or the `name` of a mapping.
    Name,
    /// This key of a mapping.
    Key(String),
}

/// What is known about who stands behind a call.
#[derive(Clone, Debug, PartialEq)]
pub enum PrincipalField {
    /// `principal.user_id`
    UserId,
    /// `principal.service_id`
    ServiceId,
    /// `principal.org_id`
    OrgId,
    /// `principal.role`
    Role,
    /// `principal.ticket_ref`
    TicketRef,
    /// `principal.claims.…`
    Claims(Selector),
}

impl Subject {
    /// What is found of a call, or of its result.
    pub(crate) fn look<'a>(&self, view: &View<'a>) -> Found<'a> {
        let View { call, around, output, memory, .. } = *view;
        let about = &call.about;
        match self {
            Self::Input(field) => field.look(&call.input),
            Self::Argument(way) => in_object(way, &call.input),
            Self::Session(attribute) => attribute.look(memory),
            Self::Sender(field) => about.sender.as_ref().map_or(Found::Missing, |sender| field.look(sender)),
            Self::Context(key) => about.context.as_ref().and_then(|it| it.get(key)).into(),
            Self::Principal(field) => about.principal.as_ref().map_or(Found::Missing, |who| field.look(who)),
            Self::Environment => Found::Text(about.environment.as_deref().unwrap_or(ENVIRONMENT_DEFAULT)),
            Self::ToolName => Found::Text(&call.tool),
            Self::Variable(name) => match around.variables.get(name) {
                Some(text) => Found::Own(typed(text)),
                None => Found::Missing,
            },
            Self::Metadata(way) => about.metadata.as_ref().map_or(Found::Missing, |it| within(way, it)),
            Self::OutputText => match output {
                None | Some(Value::Null) => Found::Missing,
                Some(Value::String(text)) => Found::Text(text),
                Some(output) => Found::Output(output),
            },
            Self::Result(way) => output.map_or(Found::Missing, |output| in_result(way, output)),
            Self::Custom { prefix, rest } => {
                match around.custom.get(prefix).and_then(|describe| describe(call)) {
                    Some(value) => owned(&within(rest, &value)),
                    None => Found::Missing,
                }
            }
        }
    }

    /// Whether there is something to see only when the tool has answered.
    pub fn is_of_output(&self) -> bool {
        matches!(self, Self::OutputText | Self::Result(_))
    }

    /// Whether a value that was not given may well be the one that is asked about.
    pub(super) fn is_open_where_missing(&self) -> bool {
        matches!(self, Self::Session(Attribute::Named(_)) | Self::Context(_))
    }
}

impl Field {
    /// A field as written: with dots it is a key of that name, or the way into nested fields, or both.
    pub fn new(text: &str) -> Self {
        let nested = Selector::parse(text).ok().filter(|_| text.contains(['.', '[', '*']));
        Self { text: text.to_owned(), nested }
    }

    /// The field a selector points at, and at most more than that.
    pub fn at(way: &Selector) -> Self {
        let text = way.to_string();
        // A plain name needs no walk.
        let is_plain = text.chars().all(|it| it.is_alphanumeric() || it == '_');
        Self { nested: (!is_plain).then(|| way.clone()), text }
    }

    /// Everything the field may mean.
    pub(crate) fn look<'a>(&self, input: &'a Map<String, Value>) -> Found<'a> {
        let plain = input.get(&self.text).filter(|value| !value.is_null());
        let Some(nested) = &self.nested else { return plain.into() };
        let mut found: Vec<&Value> = plain.into_iter().collect();
        match nested.select(input) {
            Selected::Missing | Selected::Null => {}
            Selected::Found(values) => found.extend(values.into_iter().filter(|value| !value.is_null())),
            // The key as written is there; the way it may mean besides leads nowhere.
            Selected::WrongType { .. } if !found.is_empty() => {}
            Selected::WrongType { .. } | Selected::TooMany => return Found::Unclear,
        }
        Found::of(found)
    }
}

impl SenderField {
    fn look<'a>(&self, sender: &'a Value) -> Found<'a> {
        let found = match (sender, self) {
            (Value::String(name), Self::Name) => Some(name.as_str()),
            (Value::Object(sender), Self::Name) => sender.get("name").and_then(Value::as_str),
            (Value::Object(sender), Self::Key(key)) => sender.get(key).and_then(Value::as_str),
            _ => None,
        };
        found.filter(|text| !text.is_empty()).map_or(Found::Missing, Found::Text)
    }
}

impl PrincipalField {
    fn look<'a>(&self, principal: &'a Value) -> Found<'a> {
        // Who is only named may well have the role that is asked for.
        if !principal.is_object() && !principal.is_null() {
            return Found::Unclear;
        }
        let key = match self {
            Self::UserId => "user_id",
            Self::ServiceId => "service_id",
            Self::OrgId => "org_id",
            Self::Role => "role",
            Self::TicketRef => "ticket_ref",
            Self::Claims(way) => {
                return principal.get("claims").map_or(Found::Missing, |claims| within(way, claims));
            }
        };
        match principal.get(key) {
            None | Some(Value::Null) => Found::Missing,
            Some(value) => Found::Value(value),
        }
    }
}

fn in_object<'a>(way: &Selector, object: &'a Map<String, Value>) -> Found<'a> {
    found(way.select(object), |at| at.select(object))
}

fn within<'a>(way: &Selector, value: &'a Value) -> Found<'a> {
    found(way.select_in(value), |at| at.select_in(value))
}

fn found<'a>(selected: Selected<'a>, at_place: impl FnOnce(&Selector) -> Selected<'a>) -> Found<'a> {
    match selected {
        Selected::Found(values) => Found::of(values),
        Selected::Missing | Selected::Null => Found::Missing,
        Selected::TooMany => Found::Unclear,
        Selected::WrongType { at } => match at_place(&at) {
            Selected::Found(values) if !values.iter().any(|value| may_hold_fields(value)) => Found::Missing,
            _ => Found::Unclear,
        },
    }
}

/// Whether a value that is not an object may be read as one by a tool: fields in a list, or written out in a text,
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
fn in_result<'a>(way: &Selector, output: &'a Value) -> Found<'a> {
    let structured = output.get("structuredContent");
    let items = output.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = items.filter_map(|item| item.get("text").or_else(|| item.pointer("/resource/text")));
    let inner = structured.into_iter().chain(texts);
    inner.fold(in_plain(way, output), |so_far, said| agreed(so_far, in_plain(way, said)))
}

/// A field of what a tool says. Many tools answer with JSON in a text.
fn in_plain<'a>(way: &Selector, output: &'a Value) -> Found<'a> {
    match output {
        Value::String(text) if may_hold_fields(output) => match serde_json::from_str::<Value>(text) {
            Ok(value) => owned(&within(way, &value)),
            Err(_) => Found::Unclear,
        },
        output => within(way, output),
    }
}

/// What stands in two places that should say the same.
fn agreed<'a>(one: Found<'a>, other: Found<'a>) -> Found<'a> {
    let is_same = match (&one, &other) {
        (Found::Missing, _) => return other,
        (_, Found::Missing) => return one,
        (Found::Value(value), Found::Own(own)) | (Found::Own(own), Found::Value(value)) => *value == own,
        (one, other) => one == other,
    };
    if is_same { one } else { Found::Unclear }
}

/// What was found in a value that will not live long.
fn owned<'a>(found: &Found<'_>) -> Found<'a> {
    match found {
        Found::Value(value) => Found::Own((*value).clone()),
        Found::Missing => Found::Missing,
        // Whether several agree can only be asked while they are there; a doubt is the safe answer.
        _ => Found::Unclear,
    }
}

/// A variable as the language types it: truth values and numbers are taken out of their text.
pub fn typed(text: &str) -> Value {
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
        None => Value::from(text),
    }
}
