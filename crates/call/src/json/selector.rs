//! Where in a JSON value a rule looks: `a.b[0]`, `a."b.c"`, `a[*].b`.
//!
//! [`Selector::select`] gives what stands there and tells a missing field, a null and a value of the wrong
//! shape apart: a rule that treats them alike can be slipped past by leaving a field out. A prefix such as
//! `args.` is missing on purpose: which value is looked into is the caller's business, who takes it off.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// The longest selector, in bytes and in steps.
const SELECTOR_BYTES_MAX: usize = 1_024;
const STEPS_MAX: usize = 32;

/// The most values one selector may pass on its way, however many wildcards it has.
const SELECTED_MAX: usize = 10_000;

/// A way into a JSON value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    pub(crate) steps: Vec<Step>,
}

/// One step of a [`Selector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The value of this key.
    Key(String),
    /// The item at this position.
    Index(usize),
    /// Every item of a list: `[*]`.
    Items,
    /// Every value of an object: `*`.
    Values,
}

/// What stands where a selector points.
#[derive(Clone, Debug, PartialEq)]
pub enum Selected<'a> {
    /// These values; more than one only behind a wildcard, and at least one that is not null.
    Found(Vec<&'a Value>),
    /// Nothing: a key or an item on the way is not there, or a wildcard meets nothing.
    Missing,
    /// Null, or something within null.
    Null,
    /// A value on the way is no object or list, as the next step needs it; `at` is the way to that value.
    WrongType {
        /// Where the value stands.
        at: Selector,
    },
    /// More values than we are ready to look at.
    TooMany,
}

/// Why a text is no selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// Nothing, or nothing between two dots.
    #[error("a selector has a name between its dots: write `a.b`, and `\"\"` for an empty name")]
    EmptyName,
    /// A quote without its partner.
    #[error("a quoted name ends with the quote it began with")]
    OpenQuote,
    /// A bracket without its partner, or with something else in it.
    #[error("brackets hold a position, a `*` or a quoted name: `[0]`, `[*]`, `['a.b']`")]
    BadBracket,
    /// A character that only makes sense in quotes.
    #[error("a name with other characters than letters, digits, `_`, `-`, `$` and `@` is quoted: `\"a b\"`")]
    BadName,
    /// Too many bytes or steps.
    #[error("a selector has at most {STEPS_MAX} steps and {SELECTOR_BYTES_MAX} bytes")]
    TooLong,
}

impl Selector {
    /// Reads a selector: keys with dots between them, quoted where they hold one (`"a.b"`, `['a.b']`), positions
    /// in lists (`[0]`) and wildcards (`[*]` over a list, `*` over an object).
    ///
    /// # Errors
    /// A [`SelectorError`] that says how to write it.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.len() > SELECTOR_BYTES_MAX {
            return Err(SelectorError::TooLong);
        }
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside)?,
                None => name(rest)?,
            };
            if steps.len() >= STEPS_MAX {
                return Err(SelectorError::TooLong);
            }
            steps.push(step);
            rest = match after.strip_prefix('.') {
                Some(next) if next.starts_with('[') => return Err(SelectorError::EmptyName),
                Some(next) => next,
                None if after.is_empty() => return Ok(Self { steps }),
                None if after.starts_with('[') => after,
                None => return Err(SelectorError::BadName),
            };
        }
    }

    /// The names on its way, from the outside in; positions and wildcards are left out.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            _ => None,
        })
    }

    /// Puts a value where it points, with whatever is missing on the way: a wildcard becomes one item. Whether the
    /// value stands there then; it does not where something else is in the way or a position is past
    /// `PUT_ITEMS_MAX`.
    pub fn put(&self, object: &mut Map<String, Value>, value: Value) -> bool {
        let mut root = Value::Object(std::mem::take(object));
        let place = self.steps.iter().try_fold(&mut root, |at, step| child(at, step));
        let is_put = place.map(|place| *place = value).is_some();
        if let Value::Object(whole) = root {
            *object = whole;
        }
        is_put
    }

    /// What stands there in an object, such as the input of a call.
    #[must_use]
    pub fn select<'a>(&self, object: &'a Map<String, Value>) -> Selected<'a> {
        let Some((first, rest)) = self.steps.split_first() else {
            return Selected::Missing;
        };
        let start = match first {
            Step::Key(key) => object.get(key).into_iter().collect(),
            Step::Values => object.values().collect(),
            Step::Index(_) | Step::Items => return Selected::WrongType { at: Self::default() },
        };
        self.walk(start, rest)
    }

    /// What stands there in any value.
    #[must_use]
    pub fn select_in<'a>(&self, value: &'a Value) -> Selected<'a> {
        self.walk(vec![value], &self.steps)
    }

    /// Behind a wildcard some values may lack what the next step needs: they are passed over as long as others
    /// have it, and what is left is told by the first that had not.
    fn walk<'a>(&self, mut values: Vec<&'a Value>, steps: &[Step]) -> Selected<'a> {
        let mut instead = Selected::Missing;
        for (i, step) in steps.iter().enumerate() {
            let mut next = Vec::new();
            for value in values {
                match (step, value) {
                    (Step::Key(key), Value::Object(object)) => next.extend(object.get(key)),
                    (Step::Index(index), Value::Array(items)) => next.extend(items.get(*index)),
                    (Step::Items, Value::Array(items)) => next.extend(items),
                    (Step::Values, Value::Object(object)) => next.extend(object.values()),
                    (_, Value::Null) => note(&mut instead, Selected::Null),
                    _ => {
                        let passed = self.steps.len().saturating_sub(steps.len()).saturating_add(i);
                        let steps = self.steps.iter().take(passed).cloned().collect();
                        note(&mut instead, Selected::WrongType { at: Self { steps } });
                    }
                }
                if next.len() > SELECTED_MAX {
                    return Selected::TooMany;
                }
            }
            values = next;
        }
        if values.is_empty() {
            instead
        } else if values.iter().all(|value| value.is_null()) {
            Selected::Null
        } else {
            Selected::Found(values)
        }
    }
}

/// The first reason stands.
fn note<'a>(instead: &mut Selected<'a>, reason: Selected<'a>) {
    if *instead == Selected::Missing {
        *instead = reason;
    }
}

/// Reads what follows a `[`.
fn bracket(text: &str) -> Result<(Step, &str), SelectorError> {
    let (step, after) = if text.starts_with(['"', '\'']) {
        quoted(text)?
    } else {
        let (inside, _) = text.split_once(']').ok_or(SelectorError::BadBracket)?;
        let is_position = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
        let step = match inside {
            "*" => Step::Items,
            _ if is_position => Step::Index(inside.parse().map_err(|_| SelectorError::BadBracket)?),
            _ => return Err(SelectorError::BadBracket),
        };
        (step, text.strip_prefix(inside).unwrap_or_default())
    };
    after.strip_prefix(']').map(|after| (step, after)).ok_or(SelectorError::BadBracket)
}

/// Reads a name up to the next dot or bracket.
fn name(text: &str) -> Result<(Step, &str), SelectorError> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, after) = text.split_at_checked(end).unwrap_or((text, ""));
    match name {
        "" => Err(SelectorError::EmptyName),
        "*" => Ok((Step::Values, after)),
        name if name.chars().all(is_plain) => Ok((Step::Key(name.into()), after)),
        _ => Err(SelectorError::BadName),
    }
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-$@".contains(c)
}

/// Reads a name in quotes; within, a backslash keeps the next character.
fn quoted(text: &str) -> Result<(Step, &str), SelectorError> {
    let mut characters = text.chars();
    let quote = characters.next();
    let mut name = String::new();
    while let Some(c) = characters.next() {
        match c {
            '\\' => name.push(characters.next().ok_or(SelectorError::OpenQuote)?),
            c if Some(c) == quote => return Ok((Step::Key(name), characters.as_str())),
            c => name.push(c),
        }
    }
    Err(SelectorError::OpenQuote)
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            let dot = if i > 0 { "." } else { "" };
            match step {
                Step::Key(key) if !key.is_empty() && key.chars().all(is_plain) => write!(f, "{dot}{key}")?,
                Step::Key(key) => {
                    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(f, "{dot}\"{key}\"")?;
                }
                Step::Values => write!(f, "{dot}*")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Items => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// The longest list that [`Selector::put`] makes up.
const PUT_ITEMS_MAX: usize = 64;

/// What stands one step further, made up where nothing does.
fn child<'a>(at: &'a mut Value, step: &Step) -> Option<&'a mut Value> {
    let index = match step {
        Step::Key(_) | Step::Values => {
            let key = if let Step::Key(key) = step { key.as_str() } else { "any" };
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            return Some(at.as_object_mut()?.entry(key).or_insert(Value::Null));
        }
        Step::Index(index) => *index,
        Step::Items => 0,
    };
    if index >= PUT_ITEMS_MAX {
        return None;
    }
    if at.is_null() {
        *at = Value::Array(Vec::new());
    }
    let items = at.as_array_mut()?;
    while items.len() <= index {
        items.push(Value::Null);
    }
    items.get_mut(index)
}
