//! `when` and `unless`: tests of the call, and what a `must` demands.
//!
//! What a missing value means depends on which way a sentence turns on it: where a yes closes, a missing value is not the
//! one that is asked for; where a yes opens, it is not either. So a negated test that opens wants the value to be there.

use lockgate_call::Selector;
use lockgate_pattern::Pattern;
use lockgate_policy::{
    Boundaries, Sandbox, Span,
    condition::{Attribute, Condition, Field, Operator, PrincipalField, Shape, Subject, Test},
};
use serde_json::{Number, Value};

use super::{
    lead::Mistake,
    pattern::PatternText,
    tokens::{Reader, Token, TokenKind},
};
use crate::draft::spoken::SpokenPart;

const TESTS: &str = "write `FIELD is VALUE`, `is over N`, `is missing`, `starts with \"…\"`, `ends with`, `contains` or \
                     `matches /…/`";

/// Words for types, which are values only in quotes.
const TYPES: [&str; 7] = ["number", "text", "string", "boolean", "list", "object", "integer"];

/// `when TEST and TEST` or `unless TEST and TEST`, if one stands here. `closes` says whether a yes restricts.
pub(super) fn conditions(reader: &mut Reader, closes: bool) -> Result<Vec<SpokenPart>, Mistake> {
    let mut parts = Vec::new();
    if reader.take(&["when"]) {
        for test in tests(reader, closes)? {
            parts.push(SpokenPart::Holds(test));
        }
    }
    if reader.take(&["unless"]) {
        let tests = tests(reader, !closes)?;
        parts.push(SpokenPart::Holds(Condition::Not(Box::new(all(tests)))));
    }
    Ok(parts)
}

pub(super) fn all(mut tests: Vec<Condition>) -> Condition {
    match (tests.len(), tests.pop()) {
        (1, Some(only)) => only,
        (_, last) => Condition::All(tests.into_iter().chain(last).collect()),
    }
}

fn tests(reader: &mut Reader, closes: bool) -> Result<Vec<Condition>, Mistake> {
    let mut tests = vec![test(reader, closes)?];
    while reader.is("and") && reader.ahead(1) != "not" && reader.ahead(1) != "after" && reader.take(&["and"])
    {
        tests.push(test(reader, closes)?);
    }
    if reader.is("or") {
        return Err(Mistake {
            code: "expected-word",
            span: reader.here(),
            message: "there is no `or` between tests".into(),
            label: "two tests are joined by `and`".into(),
            remedy: "write one line for each, or a list of values: `is a, b or c`".into(),
        });
    }
    Ok(tests)
}

/// Reads one test.
pub(super) fn test(reader: &mut Reader, closes: bool) -> Result<Condition, Mistake> {
    let subject = subject(reader)?;
    let value = |operator: Operator| Condition::value(subject.clone(), Test::plain(operator));
    let is_there = || value(Operator::Exists(true));
    let signed = |condition: Condition, is_negated: bool| match (is_negated, closes) {
        (false, _) => condition,
        (true, true) => Condition::Not(Box::new(condition)),
        (true, false) => Condition::All(vec![is_there(), Condition::Not(Box::new(condition))]),
    };
    if reader.take(&["is"]) {
        let is_negated = reader.take(&["not"]);
        if reader.take(&["missing"]) {
            return Ok(value(Operator::Exists(is_negated)));
        }
        if reader.take(&["present"]) {
            return Ok(value(Operator::Exists(!is_negated)));
        }
        if reader.is("inside") || reader.is("outside") {
            let is_negated = is_negated != reader.is("outside");
            return inside(reader, &subject, closes, is_negated);
        }
        if let Some(shape) = type_named(reader) {
            return Ok(signed(value(Operator::Shape(shape)), is_negated));
        }
        no_synonym(reader)?;
        if let Some(operator) = amount(reader)? {
            return Ok(signed(value(operator), is_negated));
        }
        return Ok(signed(value(one_of(values(reader)?)), is_negated));
    }
    if reader.take(&["has"]) {
        return Ok(value(Operator::Shape(items(reader)?)));
    }
    let is_negated = reader.take(&["not"]);
    match text_test(reader, &["starts", "ends", "contains", "matches"])? {
        Some(operator) => Ok(signed(value(operator), is_negated)),
        None => Err(reader.mistake(&["is", "has", "starts with", "ends with", "contains", "matches"], TESTS)),
    }
}

/// `inside PLACES` or `outside PLACES`, of the paths of a call that has the field.
fn inside(
    reader: &mut Reader,
    subject: &Subject,
    closes: bool,
    is_negated: bool,
) -> Result<Condition, Mistake> {
    let span = reader.here();
    if !matches!(subject, Subject::Input(_)) {
        return Err(reader.mistake(&["a value"], "only fields of the call can be inside a folder"));
    }
    let _ = reader.next();
    let places = places(reader, "folder")?;
    let there = Condition::value(subject.clone(), Test::plain(Operator::Exists(true)));
    let out_of = Boundaries { within: places.clone(), ..Boundaries::default() };
    let touches = Boundaries { not_within: places, ..Boundaries::default() };
    let not = |condition: Condition| Condition::Not(Box::new(condition));
    Ok(match (closes, is_negated) {
        // It may be there.
        (true, false) => Condition::All(vec![there, outside(touches, span)?]),
        // It may be elsewhere, or nobody says where.
        (true, true) => not(Condition::All(vec![there, not(outside(out_of, span)?)])),
        // It certainly is there.
        (false, false) => Condition::All(vec![there, not(outside(out_of, span)?)]),
        (false, true) => Condition::All(vec![there, not(outside(touches, span)?)]),
    })
}

/// What a call is that reaches out of boundaries.
pub(super) fn outside(boundaries: Boundaries, span: Span) -> Result<Condition, Mistake> {
    Sandbox::of_places(boundaries).map(|sandbox| Condition::Outside(Box::new(sandbox))).map_err(|error| {
        Mistake {
            code: "bad-boundary",
            span,
            message: error.to_string(),
            label: "here".into(),
            remedy: "write a folder, as in `./src`".into(),
        }
    })
}

/// `a number`, `a text` and the like, where they stand.
fn type_named(reader: &mut Reader) -> Option<Shape> {
    if !["a", "an"].contains(&reader.ahead(0)) {
        return None;
    }
    let (shape, length) = match (reader.ahead(1), reader.ahead(2)) {
        ("text" | "string", _) => (Shape::Text, 2),
        ("whole", "number") => (Shape::WholeNumber, 3),
        ("integer", _) => (Shape::WholeNumber, 2),
        ("number", _) => (Shape::Number, 2),
        ("boolean", _) => (Shape::Boolean, 2),
        ("list", _) => (Shape::List, 2),
        ("object", _) => (Shape::Object, 2),
        _ => return None,
    };
    (0..length).for_each(|_| drop(reader.next()));
    Some(shape)
}

/// `over 5 items`, behind `has`.
fn items(reader: &mut Reader) -> Result<Shape, Mistake> {
    const REMEDY: &str = "write a whole number and `items`, as in `has over 5 items`";
    let operator = amount(reader)?;
    let number = match &operator {
        Some(Operator::Above(n) | Operator::AtLeast(n) | Operator::Below(n) | Operator::AtMost(n)) => {
            n.clone()
        }
        _ if reader.take(&["no"]) => Number::from(0),
        _ => number(reader)?,
    };
    let Some(count) = number.as_u64() else { return Err(reader.mistake(&["a whole number"], REMEDY)) };
    if !(reader.take(&["items"]) || reader.take(&["item"])) {
        return Err(reader.mistake(&["items"], REMEDY));
    }
    let most = u64::MAX;
    Ok(match operator {
        Some(Operator::Above(_)) => Shape::Items { least: count.saturating_add(1), most },
        Some(Operator::AtLeast(_)) => Shape::Items { least: count, most },
        Some(Operator::Below(_)) if count == 0 => return Err(reader.mistake(&["a number over 0"], REMEDY)),
        Some(Operator::Below(_)) => Shape::Items { least: 0, most: count - 1 },
        Some(Operator::AtMost(_)) => Shape::Items { least: 0, most: count },
        _ => Shape::Items { least: count, most: count },
    })
}

/// `start with TEXTS` and the like; `words` are its four verbs.
fn text_test(reader: &mut Reader, words: &[&str; 4]) -> Result<Option<Operator>, Mistake> {
    let [starts, ends, contains, matches] = *words;
    if reader.take(&[starts, "with"]) {
        return either(reader, Operator::StartsWith, "^", "").map(Some);
    }
    if reader.take(&[ends, "with"]) {
        return either(reader, Operator::EndsWith, "", "$").map(Some);
    }
    if reader.take(&[contains]) {
        return Ok(Some(Operator::Contains(texts(reader)?)));
    }
    if reader.take(&[matches]) {
        return Ok(Some(Operator::Matches(patterns(reader)?)));
    }
    Ok(None)
}

/// One text, or several of which one is enough: for each item of a list another one may be.
fn either(
    reader: &mut Reader,
    one: fn(String) -> Operator,
    before: &str,
    behind: &str,
) -> Result<Operator, Mistake> {
    let span = reader.here();
    let mut texts = texts(reader)?;
    if let (1, Some(only)) = (texts.len(), texts.pop().inspect(|last| texts.push(last.clone()))) {
        return Ok(one(only));
    }
    let read = |text: &String| Pattern::regex(&format!("{before}{}{behind}", regex::escape(text)), "");
    let patterns: Result<Vec<Pattern>, _> = texts.iter().map(read).collect();
    patterns.map(Operator::Matches).map_err(|error| Mistake {
        code: "invalid-regex",
        span,
        message: format!("these texts cannot be looked for: {}", error.message),
        label: "here".into(),
        remedy: "write fewer or shorter texts".into(),
    })
}

/// Reads what a test is about: a field, or who or what stands behind the call.
pub(super) fn subject(reader: &mut Reader) -> Result<Subject, Mistake> {
    let token = match reader.peek() {
        Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => token.clone(),
        _ => {
            return Err(
                reader.mistake(&["a field"], "name a field of the call, as in `when amount is over 500`")
            );
        }
    };
    let subject = subject_of(&token)?;
    let _ = reader.next();
    Ok(subject)
}

pub(super) fn subject_of(token: &Token) -> Result<Subject, Mistake> {
    let text = token.text.as_str();
    if token.kind == TokenKind::Quoted {
        return Ok(Subject::Input(Field::new(text)));
    }
    let way = |rest: &str| {
        Selector::parse(rest).map_err(|error| Mistake {
            code: "bad-field",
            span: token.span,
            message: format!("`{text}` is not a field: {error}"),
            label: "not a field".into(),
            remedy: "write names with dots between them, as in `caller.claims.team`".into(),
        })
    };
    Ok(match text.split_once('.') {
        Some(("caller", "role")) => Subject::Principal(PrincipalField::Role),
        Some(("caller", "user" | "user_id")) => Subject::Principal(PrincipalField::UserId),
        Some(("caller", "service" | "service_id")) => Subject::Principal(PrincipalField::ServiceId),
        Some(("caller", "org" | "org_id")) => Subject::Principal(PrincipalField::OrgId),
        Some(("caller", "ticket" | "ticket_ref")) => Subject::Principal(PrincipalField::TicketRef),
        Some(("caller", rest)) => {
            Subject::Principal(PrincipalField::Claims(way(rest.strip_prefix("claims.").unwrap_or(rest))?))
        }
        Some(("session", rest)) => Subject::Session(Attribute::Named(rest.to_owned())),
        Some(("context", rest)) => Subject::Context(rest.to_owned()),
        Some(("output", rest)) => Subject::Result(way(rest)?),
        _ if text == "environment" => Subject::Environment,
        _ => Subject::Input(Field::new(text)),
    })
}

/// What people write for an amount, and what we call it.
const AMOUNT_SYNONYMS: [(&str, &str); 16] = [
    ("above", "over"),
    ("more", "over"),
    ("greater", "over"),
    ("larger", "over"),
    ("higher", "over"),
    (">", "over"),
    ("below", "under"),
    ("less", "under"),
    ("fewer", "under"),
    ("smaller", "under"),
    ("lower", "under"),
    ("<", "under"),
    (">=", "at least"),
    ("<=", "at most"),
    ("minimum", "at least"),
    ("maximum", "at most"),
];

/// Reports `is above 5`, which would otherwise be a value that is called `above`.
fn no_synonym(reader: &Reader) -> Result<(), Mistake> {
    let number_at = if reader.ahead(1) == "than" { 2 } else { 1 };
    let number = reader.ahead(number_at);
    let meant = AMOUNT_SYNONYMS.iter().find(|(word, _)| reader.is(word)).map(|(_, meant)| *meant);
    match meant.filter(|_| number_of(number).is_some()) {
        Some(meant) => Err(reader.mistake(&[meant], &format!("write `is {meant} {number}`"))),
        None => Ok(()),
    }
}

/// `over 5`, `under 5`, `at least 5`, `at most 5`.
pub(super) fn amount(reader: &mut Reader) -> Result<Option<Operator>, Mistake> {
    let make: fn(Number) -> Operator = if reader.take(&["over"]) {
        Operator::Above
    } else if reader.take(&["under"]) {
        Operator::Below
    } else if reader.take(&["at", "least"]) {
        Operator::AtLeast
    } else if reader.take(&["at", "most"]) {
        Operator::AtMost
    } else {
        return Ok(None);
    };
    number(reader).map(make).map(Some)
}

/// A number as people write it: `1,200.50`.
pub(super) fn number(reader: &mut Reader) -> Result<Number, Mistake> {
    let read = reader.peek().filter(|it| it.kind == TokenKind::Word).and_then(|it| number_of(&it.text));
    match read {
        Some(number) => {
            let _ = reader.next();
            Ok(number)
        }
        None => Err(reader.mistake(&["a number"], "write digits, as in `over 5000`")),
    }
}

fn number_of(text: &str) -> Option<Number> {
    let groups: Vec<&str> = text.split('.').next()?.trim_start_matches('-').split(',').collect();
    let is_grouped = groups.iter().skip(1).all(|group| group.len() == 3);
    serde_json::from_str(&text.replace(',', "")).ok().filter(|_| is_grouped)
}

/// `a, b or c`: numbers and booleans are also taken for what they spell.
fn values(reader: &mut Reader) -> Result<Vec<Value>, Mistake> {
    let mut values = Vec::new();
    loop {
        let token = match reader.peek() {
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => token.clone(),
            _ => return Err(reader.mistake(&["a value"], "write a value, or several: `is a, b or c`")),
        };
        let _ = reader.next();
        values.push(match (token.kind, token.text.as_str()) {
            (TokenKind::Word, "true") => Value::Bool(true),
            (TokenKind::Word, "false") => Value::Bool(false),
            (TokenKind::Word, text) => number_of(text).map_or_else(|| Value::from(text), Value::Number),
            (_, text) => Value::from(text),
        });
        if !more(reader) {
            return Ok(values);
        }
    }
}

fn one_of(mut values: Vec<Value>) -> Operator {
    match (values.len(), values.pop()) {
        (1, Some(only)) => Operator::Equals(only),
        (_, last) => Operator::OneOf(values.into_iter().chain(last).collect()),
    }
}

/// Whether a list goes on. `, else` and `, which` do not belong to it.
fn more(reader: &mut Reader) -> bool {
    if reader.take(&["or"]) {
        return true;
    }
    let is_listed = reader.is_comma() && !["else", "which"].contains(&reader.ahead(1));
    if is_listed {
        let _ = reader.take_comma();
        let _ = reader.take(&["or"]);
    }
    is_listed
}

pub(super) fn texts(reader: &mut Reader) -> Result<Vec<String>, Mistake> {
    let mut texts = Vec::new();
    loop {
        match reader.peek() {
            Some(token)
                if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) && !token.text.is_empty() =>
            {
                texts.push(token.text.clone());
                let _ = reader.next();
            }
            _ => {
                return Err(
                    reader.mistake(&["a text"], "write a text in quotes, as in `ends with \"@example.com\"`")
                );
            }
        }
        if !more(reader) {
            return Ok(texts);
        }
    }
}

fn patterns(reader: &mut Reader) -> Result<Vec<Pattern>, Mistake> {
    let mut patterns = Vec::new();
    loop {
        let token = match reader.peek() {
            Some(token) if token.kind != TokenKind::Comma => token.clone(),
            _ => {
                return Err(reader
                    .mistake(&["a regular expression"], "write it between slashes: `matches /^v[0-9]+/`"));
            }
        };
        let _ = reader.next();
        patterns.push(pattern(&token)?);
        if !more(reader) {
            return Ok(patterns);
        }
    }
}

fn pattern(token: &Token) -> Result<Pattern, Mistake> {
    let bad = |span: Span, message: String, remedy: &str| Mistake {
        code: "invalid-regex",
        span,
        message,
        label: "here".into(),
        remedy: remedy.to_owned(),
    };
    let (body, flags) = match PatternText::read(&token.text) {
        PatternText::Regex { body, flags } if !body.is_empty() => (body, flags),
        _ => {
            let message = format!("`{}` is not a regular expression", token.text);
            return Err(bad(
                token.span,
                message,
                "write it between slashes, or use `contains` for plain text",
            ));
        }
    };
    Pattern::regex(body, flags).map_err(|error| {
        let message = format!("invalid regular expression: {}", error.message);
        bad(token.span, message, "put a `\\` before a character that is meant literally")
    })
}

/// Folders, programs or hosts.
pub(super) fn places(reader: &mut Reader, what: &str) -> Result<Vec<String>, Mistake> {
    let mut places = Vec::new();
    loop {
        match reader.peek() {
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => {
                places.push(token.text.clone());
                let _ = reader.next();
            }
            _ => return Err(reader.mistake(&[what], &format!("name at least one {what}"))),
        }
        if !(reader.take(&["and"]) || more(reader)) {
            return Ok(places);
        }
    }
}

/// What breaks `VALUE must DEMAND`.
pub(super) fn broken(reader: &mut Reader, subject: &Subject) -> Result<SpokenPart, Mistake> {
    const DEMANDS: &str = "write `must be VALUES`, `must be at most N`, `must be present`, `must be inside FOLDERS`, `must \
                           start with`, `end with`, `contain` or `match`, or one of these behind `must not`";
    let value = |operator: Operator| Condition::value(subject.clone(), Test::plain(operator));
    let is_there = || value(Operator::Exists(true));
    // A value that is missing, of another type, or a list with one bad item breaks a demand.
    let unmet = |condition: Condition| {
        SpokenPart::Holds(Condition::Not(Box::new(Condition::All(vec![is_there(), condition]))))
    };
    let is_negated = reader.take(&["not"]);
    if reader.take(&["be"]) {
        let is_negated = is_negated || reader.take(&["not"]);
        if reader.take(&["present"]) {
            return Ok(SpokenPart::Holds(value(Operator::Exists(is_negated))));
        }
        if reader.take(&["inside"]) {
            let folders = places(reader, "folder")?;
            let mut boundaries = Boundaries::default();
            if is_negated {
                boundaries.not_within = folders;
                return Ok(SpokenPart::Reaches(boundaries));
            }
            boundaries.within = folders;
            let missing = SpokenPart::Holds(value(Operator::Exists(false)));
            return Ok(SpokenPart::Either(vec![missing, SpokenPart::Reaches(boundaries)]));
        }
        if reader.take(&["outside"]) {
            let not_within = places(reader, "folder")?;
            return Ok(SpokenPart::Reaches(Boundaries { not_within, ..Boundaries::default() }));
        }
        if TYPES.contains(&reader.ahead(0)) && !["or", "and"].contains(&reader.ahead(1)) {
            let word = reader.ahead(0).to_owned();
            let article = if ["object", "integer"].contains(&word.as_str()) { "an" } else { "a" };
            return Err(Mistake {
                code: "expected-word",
                span: reader.here(),
                message: format!("`{word}` may be a type or a value"),
                label: "a type or a value?".into(),
                remedy: format!("write `must be {article} {word}` for the type, `\"{word}\"` for the value"),
            });
        }
        no_synonym(reader)?;
        let operator = match (type_named(reader), amount(reader)?) {
            (Some(shape), _) => Operator::Shape(shape),
            (None, Some(operator)) => operator,
            (None, None) => one_of(values(reader)?),
        };
        return Ok(if is_negated { SpokenPart::Holds(value(operator)) } else { unmet(value(operator)) });
    }
    if reader.take(&["have"]) {
        let test = value(Operator::Shape(items(reader)?));
        return Ok(if is_negated { SpokenPart::Holds(test) } else { unmet(test) });
    }
    match text_test(reader, &["start", "end", "contain", "match"])? {
        Some(operator) => {
            let test = value(operator);
            Ok(if is_negated { SpokenPart::Holds(test) } else { unmet(test) })
        }
        None => Err(reader.mistake(&["be", "have", "start with", "end with", "contain", "match"], DEMANDS)),
    }
}
