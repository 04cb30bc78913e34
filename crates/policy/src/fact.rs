//! Whether one fact of a clause holds.
//!
//! Values are compared the way the language means it: as texts, as Python's `str()` makes them, or as numbers
//! where a number is asked for. A value that is missing or null passes no test but `exists: false`; one that
//! cannot be compared is a doubt.

use std::{borrow::Cow, cmp::Ordering, fmt};

use jiff::{Timestamp, tz::TimeZone};
use lockgate_call::{Call, Selected, Time, sensitive::suspicious};
use lockgate_pattern::{Match, Pattern, python_text};
use serde_json::{Map, Number, Value};

use crate::{
    clause::{Attribute, Fact, Field, Memory, Schedule, View, unreadable_scripts},
    condition::compare,
    decision::Truth,
    sandbox::Reached,
    when_then::draft::{ContextTest, Sanitizer, SenderField, Test},
};

impl Fact {
    /// Whether it holds of this call.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        let View { call, now, around, memory } = *view;
        match self {
            Self::Input { field, test } => field.test(&call.input, |value| test.truth(value)),
            Self::Session { of, test } => of.truth(memory, test),
            Self::Sender { field, patterns } => {
                sender(call, field).map_or(Truth::No, |text| any_matches(patterns, text))
            }
            Self::Context { key, test } => test.truth(context(call, key)),
            Self::Schedule(schedule) => schedule.truth(now, &around.zone),
            Self::Called { window, count, within_ms, is_end_included, is_shared } => {
                let found = if *is_shared { memory.shared_window(*window) } else { memory.window(*window) };
                // A moment exactly as old as the window is long: some windows still count it.
                let oldest = match now.0.checked_sub(*within_ms).map(Time) {
                    Some(oldest) if *is_end_included => oldest,
                    Some(oldest) => oldest.after_ms(1),
                    // Time is younger than the window is long.
                    None => Time(0),
                };
                found.is_some_and(|window| window.has(*count, oldest)).into()
            }
            Self::CalledInOrder { window, within_ms } => {
                let times = memory.window(*window).map(|window| &window.times);
                let is_taken = |(time, within_ms): (&Time, &u64)| now.0.saturating_sub(*within_ms) <= time.0;
                let is_full = times.is_some_and(|times| {
                    times.len() == within_ms.len() && times.iter().zip(within_ms).all(is_taken)
                });
                is_full.into()
            }
            Self::Earned { earned, decided } => {
                let holds = |facts: &[Fact]| facts.iter().all(|fact| fact.truth(view) == Truth::Yes);
                match (holds(earned), holds(decided)) {
                    (true, _) => Truth::Yes,
                    (false, true) => Truth::Doubt,
                    (false, false) => Truth::No,
                }
            }
            Self::Expression(when) => around.with_facts(call, None, |facts| when.truth(facts)),
            Self::Outside(sandbox) => match sandbox.judge(call) {
                Reached::Inside => Truth::No,
                Reached::Outside(_) => Truth::Yes,
                Reached::Doubt(_) => Truth::Doubt,
            },
            Self::Tainted => memory.is_tainted().into(),
            Self::Suspicious(sanitizer) => sanitizer.refuses(&call.input).is_some().into(),
            Self::Unreadable { declared } => (!unreadable_scripts(call, declared).is_empty()).into(),
        }
    }
}

/// A fact in words, for whoever asks why a rule did not apply.
impl fmt::Display for Fact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { field, test } => write!(out, "`{}` {test}", field.text),
            Self::Session { of: Attribute::Named(name), test } => {
                write!(out, "the session's `{name}` {test}")
            }
            Self::Session { of: Attribute::Attempts, test } => {
                write!(out, "the number of attempts {test}")
            }
            Self::Session { of: Attribute::Calls, test } => write!(out, "the number of calls {test}"),
            Self::Session { of: Attribute::CallsOf(tool), test } => {
                write!(out, "the number of calls of `{tool}` {test}")
            }
            Self::Session { of: Attribute::Taints, test } => write!(out, "the sensitive data seen {test}"),
            Self::Sender { field, patterns } => {
                let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
                match field {
                    SenderField::Name => write!(out, "the sender is `{}`", patterns.join("` or `")),
                    SenderField::Key(key) => {
                        write!(out, "the sender's `{key}` is `{}`", patterns.join("` or `"))
                    }
                }
            }
            Self::Context { key, test: ContextTest::Is(texts) } => {
                write!(out, "the context's `{key}` is `{}`", texts.join("` or `"))
            }
            Self::Context { key, test: ContextTest::IsNot(text) } => {
                write!(out, "the context's `{key}` is not `{text}`")
            }
            Self::Schedule(schedule) => write!(out, "{schedule}"),
            Self::Called { count, within_ms, .. } => {
                write!(out, "{count} such calls in the last {within_ms} ms")
            }
            Self::CalledInOrder { within_ms, .. } => {
                write!(out, "{} such calls in this order", within_ms.len())
            }
            Self::Earned { earned, .. } => {
                earned.first().map_or(Ok(()), |fact| write!(out, "{fact}, all of them succeeded"))
            }
            Self::Expression(_) => write!(out, "what the rule looks for is there"),
            Self::Outside(_) => write!(out, "the call reaches out of its sandbox"),
            Self::Tainted => write!(out, "a result held sensitive data"),
            Self::Suspicious(_) => write!(out, "the input looks like an attack"),
            Self::Unreadable { .. } => write!(out, "the call has a script that cannot be read"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[Value]| {
            values.iter().map(|value| format!("`{}`", python_text(value))).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Regex(pattern) => write!(out, "matches `{pattern}`"),
            Self::NotRegex(pattern) => write!(out, "does not match `{pattern}`"),
            Self::Contains(part) => write!(out, "contains `{part}`"),
            Self::NotContains(part) => write!(out, "does not contain `{part}`"),
            Self::StartsWith(part) => write!(out, "starts with `{part}`"),
            Self::EndsWith(part) => write!(out, "ends with `{part}`"),
            Self::Equal(value) => write!(out, "is `{}`", python_text(value)),
            Self::In(values) => write!(out, "is one of {}", list(values)),
            Self::NotIn(values) => write!(out, "is none of {}", list(values)),
            Self::Above(number) => write!(out, "is above {number}"),
            Self::AtLeast(number) => write!(out, "is at least {number}"),
            Self::Below(number) => write!(out, "is below {number}"),
            Self::AtMost(number) => write!(out, "is at most {number}"),
            Self::Exists(true) => write!(out, "is given"),
            Self::Exists(false) => write!(out, "is not given"),
        }
    }
}

impl Field {
    /// A field as written: with dots it is a key of that name, or the way into nested fields, or both.
    pub fn new(text: &str) -> Self {
        let nested = lockgate_call::Selector::parse(text).ok().filter(|_| text.contains(['.', '[', '*']));
        Self { text: text.to_owned(), nested }
    }

    /// The field a selector points at, and at most more than that.
    pub(crate) fn at(way: &lockgate_call::Selector) -> Self {
        let text = way.to_string();
        // A plain name needs no walk.
        let is_plain = text.chars().all(|it| it.is_alphanumeric() || it == '_');
        Self { nested: (!is_plain).then(|| way.clone()), text }
    }

    /// What a test says about everything the field may mean; missing fields pass only `Test::Exists(false)`,
    /// which is asked about as null.
    pub(crate) fn test(&self, input: &Map<String, Value>, mut test: impl FnMut(&Value) -> Truth) -> Truth {
        let plain = input.get(&self.text).filter(|value| !value.is_null());
        let Some(nested) = &self.nested else { return test(plain.unwrap_or(&Value::Null)) };
        let mut found: Vec<&Value> = plain.into_iter().collect();
        match nested.select(input) {
            Selected::Missing | Selected::Null => {}
            Selected::Found(values) => found.extend(values.into_iter().filter(|value| !value.is_null())),
            // The key as written is there; the way it may mean besides leads nowhere.
            Selected::WrongType { .. } if !found.is_empty() => {}
            Selected::WrongType { .. } | Selected::TooMany => return Truth::Doubt,
        }
        Truth::together(found.into_iter().map(&mut test)).unwrap_or_else(|| test(&Value::Null))
    }
}

impl Test {
    /// What the test says about a value; null stands for none.
    pub fn truth(&self, value: &Value) -> Truth {
        if let Self::Exists(wanted) = self {
            return (value.is_null() != *wanted).into();
        }
        if value.is_null() {
            return Truth::No;
        }
        let text = || python_text(value);
        match self {
            Self::Regex(pattern) => matches(pattern, &text()),
            Self::NotRegex(pattern) => !matches(pattern, &text()),
            Self::Contains(part) => text().contains(part).into(),
            Self::NotContains(part) => !Truth::from(text().contains(part)),
            Self::StartsWith(part) => text().starts_with(part.as_str()).into(),
            Self::EndsWith(part) => text().ends_with(part.as_str()).into(),
            Self::Equal(expected) => is_equal(value, expected),
            Self::In(expected) => is_one_of(value, expected),
            Self::NotIn(expected) => !is_one_of(value, expected),
            Self::Above(limit) => is_ordered(value, limit, Ordering::is_gt),
            Self::AtLeast(limit) => is_ordered(value, limit, Ordering::is_ge),
            Self::Below(limit) => is_ordered(value, limit, Ordering::is_lt),
            Self::AtMost(limit) => is_ordered(value, limit, Ordering::is_le),
            Self::Exists(_) => Truth::Yes,
        }
    }
}

fn matches(pattern: &Pattern, text: &str) -> Truth {
    match pattern.find(text) {
        Match::No => Truth::No,
        Match::At(_) => Truth::Yes,
        Match::Unsure => Truth::Doubt,
    }
}

fn any_matches(patterns: &[Pattern], text: &str) -> Truth {
    patterns.iter().fold(Truth::No, |so_far, pattern| so_far.or(matches(pattern, text)))
}

fn is_equal(value: &Value, expected: &Value) -> Truth {
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

fn is_one_of(value: &Value, expected: &[Value]) -> Truth {
    expected.iter().fold(Truth::No, |so_far, expected| so_far.or(is_equal(value, expected)))
}

fn is_ordered(value: &Value, limit: &Number, is_meant: fn(Ordering) -> bool) -> Truth {
    let ordering = number_of(value).and_then(|number| compare(&number, limit));
    ordering.map_or(Truth::Doubt, |ordering| is_meant(ordering).into())
}

/// A number, or the number a text spells.
fn number_of(value: &Value) -> Option<Cow<'_, Number>> {
    match value {
        Value::Number(number) => Some(Cow::Borrowed(number)),
        Value::String(text) => serde_json::from_str(text.trim()).ok().map(Cow::Owned),
        _ => None,
    }
}

impl Attribute {
    fn truth(&self, memory: &dyn Memory, test: &Test) -> Truth {
        let counted = |count: u64| test.truth(&Value::from(count));
        match self {
            Self::Named(name) => match (memory.attribute(name), test) {
                // Who the caller did not speak of may well be none of those meant.
                (None | Some(Value::Null), Test::NotIn(_) | Test::NotContains(_) | Test::NotRegex(_)) => {
                    Truth::Doubt
                }
                (value, test) => test.truth(value.unwrap_or(&Value::Null)),
            },
            Self::Attempts => counted(memory.attempts()),
            Self::Calls => counted(memory.calls()),
            Self::CallsOf(tool) => memory.calls_of(tool).map_or(Truth::No, counted),
            Self::Taints => taints(memory.taints(), test),
        }
    }
}

/// The kinds are a set: in which order they were found says nothing.
fn taints(kinds: &[std::sync::Arc<str>], test: &Test) -> Truth {
    let has = |kind: &str| kinds.iter().any(|it| &**it == kind);
    match test {
        Test::Equal(Value::Array(wanted)) => {
            let all = wanted.iter().all(|kind| kind.as_str().is_some_and(has));
            let only = kinds.iter().all(|kind| wanted.iter().any(|it| it == &**kind));
            (all && only).into()
        }
        Test::Contains(kind) => has(kind).into(),
        Test::NotContains(kind) => (!has(kind)).into(),
        Test::Exists(wanted) => (kinds.is_empty() != *wanted).into(),
        _ => Truth::Doubt,
    }
}

fn sender<'a>(call: &'a Call, field: &SenderField) -> Option<&'a str> {
    let found = match (call.about.sender.as_ref()?, field) {
        (Value::String(name), SenderField::Name) => Some(name.as_str()),
        (Value::Object(sender), SenderField::Name) => sender.get("name").and_then(Value::as_str),
        (Value::Object(sender), SenderField::Key(key)) => sender.get(key).and_then(Value::as_str),
        _ => None,
    };
    found.filter(|text| !text.is_empty())
}

fn context<'a>(call: &'a Call, key: &str) -> Option<&'a Value> {
    call.about.context.as_ref()?.get(key).filter(|value| !value.is_null())
}

impl ContextTest {
    pub(crate) fn truth(&self, value: Option<&Value>) -> Truth {
        let is = |expected: &str| value.is_some_and(|value| python_text(value) == expected);
        match self {
            Self::Is(texts) => texts.iter().any(|text| is(text)).into(),
            // What the host did not say may be anything.
            Self::IsNot(_) if value.is_none() => Truth::Doubt,
            Self::IsNot(text) => (!is(text)).into(),
        }
    }
}

impl Schedule {
    pub(crate) fn truth(&self, now: Time, local: &TimeZone) -> Truth {
        let Ok(timestamp) = i64::try_from(now.0).map(Timestamp::from_millisecond) else {
            return Truth::Doubt;
        };
        let Ok(timestamp) = timestamp else { return Truth::Doubt };
        let moment = timestamp.to_zoned(self.zone.as_ref().unwrap_or(local).clone());
        let minute = u16::try_from(i32::from(moment.hour()) * 60 + i32::from(moment.minute())).unwrap_or(0);
        let in_time = self.time.map(|time| {
            let (from, to) = (time.from_minute, time.to_minute);
            let is_in =
                if from <= to { (from..=to).contains(&minute) } else { minute >= from || minute <= to };
            (time.is_negated, is_in)
        });
        let in_days = self.days.map(|days| {
            let today = usize::try_from(moment.weekday().to_monday_zero_offset()).unwrap_or(0);
            (days.is_negated, days.days.get(today).copied().unwrap_or(false))
        });
        let holds = |(is_negated, is_in): (bool, bool)| is_in != is_negated;
        match (in_time, in_days) {
            // Both negated: outside of the schedule that the two describe together.
            (Some((true, in_time)), Some((true, in_days))) => (!(in_time && in_days)).into(),
            (in_time, in_days) => (in_time.is_none_or(holds) && in_days.is_none_or(holds)).into(),
        }
    }
}

/// When it is, in words: `it is Mon, Tue at 09:00-18:00 (Europe/Berlin)`.
impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let time =
            self.time.map(|it| (it.is_negated, format!("{}-{}", clock(it.from_minute), clock(it.to_minute))));
        let days = self.days.map(|it| {
            let meant = DAYS.iter().zip(it.days).filter(|(_, is_meant)| *is_meant).map(|(day, _)| *day);
            let meant: Vec<&str> = meant.collect();
            // Three and more in a row are a range.
            let text = match meant.as_slice() {
                [first, _, .., last] if meant.len() > 2 && DAYS.join(" ").contains(&meant.join(" ")) => {
                    format!("{first}-{last}")
                }
                _ => meant.join(", "),
            };
            (it.is_negated, text)
        });
        let not = |is_negated: bool| if is_negated { "not " } else { "" };
        match (days, time) {
            (Some((true, days)), Some((true, time))) => write!(out, "it is outside of {days} at {time}")?,
            (Some((no_days, days)), Some((no_time, time))) => {
                write!(out, "it is {}{days}, and {}{time}", not(no_days), not(no_time))?;
            }
            (Some((is_negated, when)), None) | (None, Some((is_negated, when))) => {
                write!(out, "it is {}{when}", not(is_negated))?;
            }
            (None, None) => write!(out, "it is any time")?,
        }
        match self.zone.as_ref().and_then(TimeZone::iana_name) {
            Some(zone) => write!(out, " in {zone}"),
            None => Ok(()),
        }
    }
}

impl Sanitizer {
    /// Why an input is refused.
    pub(crate) fn refuses(&self, input: &Map<String, Value>) -> Option<String> {
        let mut size = Size::default();
        input.iter().for_each(|(key, value)| size.add(key, value, 1));
        let over = |what: &str, found: u64, most: Option<u64>| {
            most.filter(|most| found > *most)
                .map(|most| format!("{what} ({found}, and at most {most} are allowed)"))
        };
        let is_blocked = || {
            let texts = &size.texts;
            let blocked = |pattern: &&Pattern| texts.iter().any(|text| pattern.find(text) != Match::No);
            self.blocked_patterns.iter().find(blocked).map(|pattern| format!("something like `{pattern}`"))
        };
        // Many programs drop such a character, and then read a word that no rule has seen.
        let is_hidden = |c: char| c.is_control() && !['\t', '\n', '\r'].contains(&c);
        let has_hidden = || {
            let hidden = size.texts.iter().find_map(|text| text.chars().find(|c| is_hidden(*c)));
            hidden.map(|hidden| format!("a text has the control character U+{:04X}", u32::from(hidden)))
        };
        over("a text is too long", size.chars, self.string_chars_max)
            .or_else(|| over("there are too many keys", size.keys, self.keys_max))
            .or_else(|| over("values are nested too deeply", size.depth, self.depth_max))
            .or_else(has_hidden)
            .or_else(is_blocked)
            .or_else(|| suspicious(input, &self.detectors).map(|(kind, text)| format!("{kind} in `{text}`")))
    }
}

/// How large an input is, and every text in it.
#[derive(Default)]
struct Size<'a> {
    chars: u64,
    keys: u64,
    depth: u64,
    texts: Vec<&'a str>,
}

impl<'a> Size<'a> {
    fn add(&mut self, key: &'a str, value: &'a Value, depth: u64) {
        self.keys += 1;
        self.text(key);
        self.value(value, depth);
    }

    // Invariant: doors bound how deep an input may be nested, so this ends.
    fn value(&mut self, value: &'a Value, depth: u64) {
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item, depth + 1)),
            Value::Object(object) => object.iter().for_each(|(key, value)| self.add(key, value, depth + 1)),
            _ => {}
        }
    }

    fn text(&mut self, text: &'a str) {
        self.chars = self.chars.max(text.chars().count() as u64);
        self.texts.push(text);
    }
}

#[cfg(test)]
mod tests;
