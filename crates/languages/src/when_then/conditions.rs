//! What the input, the session and the host's context must be like.
//!
//! Every operator does what its name says, and several under one key must all hold. What cannot ever hold, and
//! what other programs would read as something else than it looks like, is a mistake.

use lockgate_pattern::{Pattern, python_text};
use lockgate_policy::{
    Span, closest,
    condition::{Operator, Test},
};
use serde_json::Value as Json;

use super::{File, values::is_null};
use crate::draft::when_then::DraftClause;
use crate::yaml::{Entry, Node, Value, did_you_mean};

const OPERATORS: [&str; 14] = [
    "regex",
    "not_regex",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "eq",
    "in",
    "not_in",
    "gt",
    "gte",
    "lt",
    "lte",
    "exists",
];
const COUNTER_OPERATORS: [&str; 8] = ["eq", "in", "not_in", "gt", "gte", "lt", "lte", "exists"];
const TAINT_OPERATORS: [&str; 3] = ["contains", "not_contains", "eq"];
/// What other languages call our operators.
const FOREIGN_OPERATORS: [(&str, &str); 17] = [
    ("!=", "not_in"),
    ("ne", "not_in"),
    ("neq", "not_in"),
    ("not", "not_in"),
    ("not_eq", "not_in"),
    ("not_equals", "not_in"),
    ("nin", "not_in"),
    ("equals", "eq"),
    ("==", "eq"),
    ("match", "regex"),
    ("matches", "regex"),
    ("pattern", "regex"),
    ("prefix", "starts_with"),
    ("suffix", "ends_with"),
    ("one_of", "in"),
    ("min", "gte"),
    ("max", "lte"),
];

/// What stands under a key of `args` or `session`.
type Tests = Vec<(String, Vec<Test>)>;

impl File<'_> {
    /// What the input must be like, by field.
    pub(super) fn args(&mut self, node: &Node, what: &str) -> Tests {
        let entries = self.reader.map(node, what).unwrap_or_default();
        let read = |entry: &Entry| Some((entry.key.clone(), self.field(entry)?));
        entries.iter().filter_map(read).collect()
    }

    fn field(&mut self, entry: &Entry) -> Option<Vec<Test>> {
        let (node, what) = (&entry.value, format!("`{}`", entry.key));
        match &node.value {
            Value::Map(entries) => self.tests(node, entries, &OPERATORS),
            Value::List(_) => self.bare_list(node, &what),
            _ if is_null(node) => {
                let message = format!("{what} must be a test, not nothing");
                let remedy = "write `{exists: false}` for a field that must not be there, `{}` for any value";
                self.reader.error("wrong-type", node.span, message, remedy);
                None
            }
            _ => match self.value(node, &what)? {
                Json::Bool(value) => Some(vec![Test::text(Operator::Equals(value.into()))]),
                // A number alone is looked for among the digits of the value, as any other text is.
                value => {
                    let text = python_text(&value);
                    let remedy = "write a regular expression as Python has it, or `{contains: …}` for a text";
                    let pattern = self.compiled(node, &text, Pattern::python(&text), remedy)?;
                    Some(vec![Test::text(Operator::Matches(vec![pattern]))])
                }
            },
        }
    }

    fn bare_list(&mut self, node: &Node, what: &str) -> Option<Vec<Test>> {
        let written = self.reader.source.slice(node.span);
        let remedy = match written.starts_with('[') && written.len() < 40 {
            true => format!("write `{{in: {written}}}` for any of them"),
            false => "write `{in: […]}` for any of them".to_owned(),
        };
        self.reader.error("wrong-type", node.span, format!("{what} cannot be a list"), remedy);
        None
    }

    /// A mapping of operators, or `{predicate: OPERATOR, value: OPERAND}`. Empty, it asks only for a value.
    fn tests(&mut self, node: &Node, entries: &[Entry], operators: &[&str]) -> Option<Vec<Test>> {
        if entries.is_empty() {
            return Some(vec![Test::text(Operator::Exists(true))]);
        }
        if entries.iter().any(|entry| entry.key == "predicate") {
            let fields = self.reader.fields(node, "a test", &["predicate", "value"])?;
            let (predicate, value) = (fields.get("predicate"), fields.require(&mut self.reader, "value"));
            let name = self.reader.text_strict(predicate?, "`predicate`")?;
            let operator = self.operator(&name, predicate?.span, operators)?;
            return Some(vec![self.test(operator, value?)?]);
        }
        let mut tests = Vec::new();
        for entry in entries {
            let operator = self.operator(&entry.key, entry.key_span, operators);
            tests.push(operator.and_then(|operator| self.test(operator, &entry.value)));
        }
        let tests = tests.into_iter().collect::<Option<Vec<Test>>>()?;
        if tests.len() > 1 && tests.iter().any(|test| test.operator == Operator::Exists(false)) {
            let message = "this never holds: a missing value passes no other test";
            let remedy = "keep `exists: false` alone, and write a second rule for the rest";
            self.reader.error("never-holds", node.span, message, remedy);
        }
        Some(tests)
    }

    fn operator<'o>(&mut self, name: &str, span: Span, operators: &[&'o str]) -> Option<&'o str> {
        let found = operators.iter().find(|operator| **operator == name);
        if found.is_none() {
            let lower = name.to_lowercase();
            let meant =
                FOREIGN_OPERATORS.iter().find(|(foreign, _)| *foreign == lower).map(|(_, ours)| *ours);
            let remedy = match meant.filter(|ours| operators.contains(ours)) {
                Some("not_in") => "write `not_in: […]`".to_owned(),
                Some(ours) => format!("did you mean `{ours}`?"),
                None => did_you_mean(name, operators.iter().copied())
                    .unwrap_or_else(|| format!("write one of `{}`", operators.join("`, `"))),
            };
            let message = format!("no operator `{name}` exists for this");
            self.reader.error("unknown-operator", span, message, remedy);
        }
        found.copied()
    }

    fn test(&mut self, operator: &str, node: &Node) -> Option<Test> {
        let what = format!("`{operator}`");
        let test = Test::text(match operator {
            "regex" | "not_regex" => Operator::Matches(vec![self.regex(node, &what)?]),
            "contains" | "not_contains" => Operator::Contains(vec![self.words(node, &what)?]),
            "starts_with" => Operator::StartsWith(self.words(node, &what)?),
            "ends_with" => Operator::EndsWith(self.words(node, &what)?),
            "eq" => Operator::Equals(self.value(node, &what)?),
            "in" | "not_in" => Operator::OneOf(self.any_of(node, &what)?),
            "gt" => Operator::Above(self.reader.number(node, &what)?),
            "gte" => Operator::AtLeast(self.reader.number(node, &what)?),
            "lt" => Operator::Below(self.reader.number(node, &what)?),
            "lte" => Operator::AtMost(self.reader.number(node, &what)?),
            _ => Operator::Exists(self.reader.boolean(node, &what)?),
        });
        Some(if operator.starts_with("not_") { test.negated() } else { test })
    }

    fn any_of(&mut self, node: &Node, what: &str) -> Option<Vec<Json>> {
        let items = self.filled_list(node, what, "name at least one value, or leave it out")?;
        let values: Vec<Option<Json>> = items.iter().map(|item| self.value(item, what)).collect();
        values.into_iter().collect()
    }

    /// What the session must be like, by counter or attribute.
    pub(super) fn session(&mut self, node: &Node) -> Tests {
        let entries = self.reader.map(node, "`session`").unwrap_or_default();
        let read = |entry: &Entry| Some((entry.key.clone(), self.attribute(entry)?));
        entries.iter().filter_map(read).collect()
    }

    fn attribute(&mut self, entry: &Entry) -> Option<Vec<Test>> {
        match entry.key.as_str() {
            "total_calls" => self.counter(entry, &COUNTER_OPERATORS[..7]),
            "taints" => self.taints(&entry.value),
            key => match key.strip_prefix("tool_count.").filter(|tool| !tool.is_empty()) {
                Some(tool) if tool.contains(['*', '?']) => {
                    let message = format!("`{tool}` is counted under its exact name only");
                    let remedy = "name one tool, or count all calls with `total_calls`";
                    self.reader.error("not-a-name", entry.key_span, message, remedy);
                    None
                }
                Some(_) => self.counter(entry, &COUNTER_OPERATORS),
                None if self.is_misspelt_counter(key, entry.key_span) => None,
                None => self.named_attribute(entry),
            },
        }
    }

    /// An attribute that was hardly meant as one would never be there, so it is reported.
    fn is_misspelt_counter(&mut self, key: &str, span: Span) -> bool {
        let remedy = if key.starts_with("tool_count") {
            "write `tool_count.NAME` with the name of the tool".to_owned()
        } else if closest(key, ["total_calls"]).is_some() {
            "did you mean `total_calls`?".to_owned()
        } else if ["taint", "tainted"].contains(&key) || key.eq_ignore_ascii_case("taints") {
            "did you mean `taints`?".to_owned()
        } else {
            return false;
        };
        self.reader.error("unknown-key", span, format!("a session has no counter `{key}`"), remedy);
        true
    }

    fn counter(&mut self, entry: &Entry, operators: &[&str]) -> Option<Vec<Test>> {
        let (node, what) = (&entry.value, format!("`{}`", entry.key));
        let Value::Map(entries) = &node.value else {
            let count = self.reader.count(node, &what)?;
            return Some(vec![Test::text(Operator::Equals(count.into()))]);
        };
        let tests = self.tests(node, entries, operators)?;
        if !tests.iter().all(is_of_counts) {
            let message = format!("{what} is a count, and is compared with whole numbers from 0 up");
            self.reader.error(
                "wrong-type",
                node.span,
                message,
                "write 0, 1, 2 or more, in digits and without quotes",
            );
            return None;
        }
        Some(tests)
    }

    /// The kinds of sensitive data seen: exactly these, or at least this one.
    fn taints(&mut self, node: &Node) -> Option<Vec<Test>> {
        match &node.value {
            Value::Map(entries) if !entries.is_empty() => self.tests(node, entries, &TAINT_OPERATORS),
            Value::List(items) => {
                let kinds: Vec<Option<String>> =
                    items.iter().map(|item| self.reader.text_strict(item, "a kind in `taints`")).collect();
                let kinds = kinds.into_iter().collect::<Option<Vec<String>>>()?;
                Some(vec![Test::text(Operator::Equals(kinds.into()))])
            }
            _ => {
                let message = "`taints` must be a list of kinds, or say which kind it contains";
                let remedy = "write `taints: {contains: EMAIL}`";
                self.reader.error("wrong-type", node.span, message, remedy);
                None
            }
        }
    }

    fn named_attribute(&mut self, entry: &Entry) -> Option<Vec<Test>> {
        let (node, what) = (&entry.value, format!("`{}`", entry.key));
        match &node.value {
            Value::Map(entries) => self.tests(node, entries, &OPERATORS),
            Value::List(_) => self.bare_list(node, &what),
            _ => Some(vec![match self.value(node, &what)? {
                Json::String(text) => match text.strip_prefix('!') {
                    Some(other) => {
                        Test::text(Operator::OneOf(vec![self.negated(node, other)?.into()])).negated()
                    }
                    None => Test::text(Operator::Equals(text.into())),
                },
                value => Test::text(Operator::Equals(value)),
            }]),
        }
    }

    /// What the host must have said about the call, and when the rule counts.
    pub(super) fn context(&mut self, node: &Node, clause: &mut DraftClause) {
        for entry in self.reader.map(node, "`context`").unwrap_or_default() {
            match entry.key.as_str() {
                "time_of_day" => clause.time_of_day = self.time_of_day(&entry.value),
                "day_of_week" => clause.day_of_week = self.day_of_week(&entry.value),
                key => match closest(key, ["time_of_day", "day_of_week"]) {
                    Some(meant) => {
                        let message = format!("`{key}` is not a key that hosts know");
                        let remedy = format!("did you mean `{meant}`?");
                        self.reader.error("unknown-key", entry.key_span, message, remedy);
                    }
                    None => clause.context.extend(self.said(entry).map(|test| (entry.key.clone(), test))),
                },
            }
        }
    }

    fn said(&mut self, entry: &Entry) -> Option<Test> {
        let (node, what) = (&entry.value, format!("`{}` of `context`", entry.key));
        Some(match &node.value {
            Value::List(_) => {
                let values = self.any_of(node, &what)?;
                Test::text(Operator::OneOf(
                    values.iter().map(|value| Json::from(&*python_text(value))).collect(),
                ))
            }
            Value::Map(_) => {
                let message = format!("{what} must be a text or a list of them, not a mapping");
                let remedy = "write the value, `\"!value\"` for any other, or a list for any of them; operators are \
                              for `args_match` and `session`";
                self.reader.error("wrong-type", node.span, message, remedy);
                return None;
            }
            _ => {
                let text = python_text(&self.value(node, &what)?).into_owned();
                match text.strip_prefix('!') {
                    Some(other) => {
                        Test::text(Operator::OneOf(vec![self.negated(node, other)?.into()])).negated()
                    }
                    None => Test::text(Operator::OneOf(vec![text.into()])),
                }
            }
        })
    }

    /// What follows a `!`.
    fn negated(&mut self, node: &Node, other: &str) -> Option<String> {
        if other.is_empty() {
            let remedy = "write what it must not be behind the `!`";
            self.reader.error("wrong-type", node.span, "nothing is left out by this `!`", remedy);
            return None;
        }
        Some(other.to_owned())
    }
}

/// Whether a test compares with numbers that a counter can have.
fn is_of_counts(test: &Test) -> bool {
    match &test.operator {
        Operator::Equals(value) => value.is_u64(),
        Operator::OneOf(values) => values.iter().all(Json::is_u64),
        Operator::Above(bound)
        | Operator::AtLeast(bound)
        | Operator::Below(bound)
        | Operator::AtMost(bound) => bound.is_u64(),
        _ => true,
    }
}
