//! How `when` is read: expressions, selectors and operators.
//!
//! Whatever is unknown is a mistake: a selector without an answer would never hold, and its rule never act.

use lockgate_call::{Selector, SelectorError};
use lockgate_pattern::Pattern;
use lockgate_policy::{
    FileId, Span, closest,
    condition::{Condition, Operator, PrincipalField, Subject, Test, ValueTest},
};

use super::{
    CustomNames, File,
    keys::{OPERATORS, Operand},
};
use crate::yaml::{Entry, Node, Value, did_you_mean};

/// How many expressions one `all` or `any` may hold.
pub(super) const PARTS_MAX: usize = 1_000;

/// First words of selectors, and what follows them.
pub(super) const SELECTORS: [(&str, &str); 9] = [
    ("args", "args.FIELD"),
    ("effect", "effect: deletion outside ./build"),
    ("principal", "principal.role"),
    ("environment", "environment"),
    ("tool", "tool.name"),
    ("env", "env.NAME"),
    ("metadata", "metadata.FIELD"),
    ("output", "output.text"),
    ("result", "result.FIELD"),
];
const PRINCIPAL_FIELDS: [&str; 6] = ["user_id", "service_id", "org_id", "role", "ticket_ref", "claims"];

/// Where in a ruleset an expression or a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Pre,
    Post,
    Session,
    Sandbox,
}

/// Why a text is not a selector, and what to write.
pub(super) struct SelectorMistake {
    message: String,
    pub(super) remedy: String,
}

/// Reads a selector.
pub(super) fn subject(text: &str, custom: &CustomNames) -> Result<Subject, SelectorMistake> {
    let unknown =
        |remedy: String| SelectorMistake { message: format!("no selector is called `{text}`"), remedy };
    let (head, rest) = text.split_once('.').map_or((text, None), |(head, rest)| (head, Some(rest)));
    let way = |rest: &str| {
        way_into(rest).map_err(|error| SelectorMistake {
            message: format!("`{text}` is not a selector"),
            remedy: error.to_string(),
        })
    };
    Ok(match (head, rest) {
        ("environment", None) => Subject::Environment,
        ("tool", Some("name")) => Subject::ToolName,
        ("output", Some("text")) => Subject::OutputText,
        ("args", Some(rest)) => Subject::Argument(way(rest)?),
        ("metadata", Some(rest)) => Subject::Metadata(way(rest)?),
        ("result", Some(rest)) => Subject::Result(way(rest)?),
        ("env", Some(name)) if is_variable(name) => Subject::Variable(name.to_owned()),
        ("principal", Some(rest)) => Subject::Principal(match rest.split_once('.') {
            Some(("claims", claim)) => PrincipalField::Claims(way(claim)?),
            _ => match rest {
                "user_id" => PrincipalField::UserId,
                "service_id" => PrincipalField::ServiceId,
                "org_id" => PrincipalField::OrgId,
                "role" => PrincipalField::Role,
                "ticket_ref" => PrincipalField::TicketRef,
                "claims" => return Err(unknown("say which claim: `principal.claims.NAME`".to_owned())),
                other => {
                    let meant = closest(other, PRINCIPAL_FIELDS);
                    let remedy = meant.map(|meant| format!("did you mean `principal.{meant}`?"));
                    let known = "a principal has `user_id`, `service_id`, `org_id`, `role`, `ticket_ref` and \
                                     `claims.NAME`";
                    return Err(unknown(remedy.unwrap_or_else(|| known.to_owned())));
                }
            },
        }),
        (head, rest) => {
            if let Some((_, form)) = SELECTORS.iter().find(|(known, _)| *known == head) {
                return Err(unknown(format!("write `{form}`")));
            }
            if let (Some(rest), true) = (rest, custom.selectors.iter().any(|known| known == head)) {
                return Ok(Subject::Custom { prefix: head.to_owned(), rest: way(rest)? });
            }
            let known = SELECTORS.iter().map(|(known, _)| *known);
            let meant = closest(head, known.chain(custom.selectors.iter().map(String::as_str)));
            return Err(unknown(match (meant, rest) {
                (Some(meant), Some(rest)) => format!("did you mean `{meant}.{rest}`?"),
                (Some(meant), None) => format!("did you mean `{meant}`?"),
                (None, _) => {
                    let forms: Vec<String> = SELECTORS.iter().map(|(_, form)| format!("`{form}`")).collect();
                    format!("the selectors are {}", forms.join(", "))
                }
            }));
        }
    })
}

/// A way into an object. Where only dots are special, every other character may be part of a name.
fn way_into(text: &str) -> Result<Selector, SelectorError> {
    if text.starts_with('[') {
        return Err(SelectorError::BadBracket);
    }
    match Selector::parse(text) {
        Err(SelectorError::BadName) if !text.contains(['"', '\'', '[', ']', '\\']) => {
            let quoted: Vec<String> = text.split('.').map(|name| format!("\"{name}\"")).collect();
            Selector::parse(&quoted.join("."))
        }
        parsed => parsed,
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_')
}

impl File<'_> {
    pub(super) fn expression(&mut self, node: &Node, place: Place) -> Option<Condition> {
        let entries = self.reader.map(node, "an expression in `when`")?;
        let entry = match entries {
            [entry] => entry,
            [] => {
                let remedy = "write a test such as `args.command: {contains: rm}`";
                self.reader.error(
                    "empty-expression",
                    node.span,
                    "an expression in `when` says nothing",
                    remedy,
                );
                return None;
            }
            [first, second, ..] => {
                let message = format!(
                    "an expression in `when` says one thing, not both `{}` and `{}`",
                    first.key, second.key
                );
                let remedy = "put the tests into a list: `all: [{…}, {…}]` or `any: [{…}, {…}]`";
                self.reader.error("two-in-one", second.key_span, message, remedy);
                return None;
            }
        };
        match entry.key.as_str() {
            "all" => self.expressions(entry, place).map(Condition::All),
            "any" => self.expressions(entry, place).map(Condition::Any),
            "not" => self.expression(&entry.value, place).map(|part| Condition::Not(Box::new(part))),
            "effect" if place == Place::Pre => {
                // Its file is known when rules are joined.
                let names = self.reader.effects(&entry.value)?;
                Some(Condition::Deed { file: FileId(u32::MAX), names })
            }
            "effect" => {
                let message = "what a call does is asked before it is done";
                let remedy = "make this a rule with `type: pre`";
                self.reader.error("unknown-selector", entry.key_span, message, remedy);
                None
            }
            _ => self.leaf(entry, place),
        }
    }

    fn expressions(&mut self, entry: &Entry, place: Place) -> Option<Vec<Condition>> {
        let what = format!("`{}` in `when`", entry.key);
        let items = self.reader.list(&entry.value, &what)?;
        if items.is_empty() || items.len() > PARTS_MAX {
            let message = format!("{what} must list from 1 to {PARTS_MAX} expressions, not {}", items.len());
            self.reader.error("empty-list", entry.value.span, message, "write them as a list of `- …` lines");
            return None;
        }
        let parts: Vec<Option<Condition>> = items.iter().map(|item| self.expression(item, place)).collect();
        parts.into_iter().collect()
    }

    fn leaf(&mut self, entry: &Entry, place: Place) -> Option<Condition> {
        let selector = self.selector(entry, place);
        let what = format!("`{}` in `when`", entry.key);
        let operator = match self.reader.map(&entry.value, &what)? {
            [operator] => self.operator(operator, &what),
            [] => {
                let message = format!("{what} has no operator");
                self.reader.error(
                    "empty-expression",
                    entry.value.span,
                    message,
                    "write one such as `exists: true`",
                );
                None
            }
            [first, second, ..] => {
                let message = format!("{what} has two operators, `{}` and `{}`", first.key, second.key);
                let remedy = "write two tests in a list: `all: [{…}, {…}]`";
                self.reader.error("two-in-one", second.key_span, message, remedy);
                None
            }
        };
        let span = Span::new(entry.key_span.start, entry.value.span.end.max(entry.key_span.end));
        Some(Condition::Value(ValueTest { subject: selector?, test: operator?, span }))
    }

    fn selector(&mut self, entry: &Entry, place: Place) -> Option<Subject> {
        match subject(&entry.key, self.custom) {
            Ok(selector) if selector.is_of_output() && place != Place::Post => {
                let message = format!("`{}` in `when` is there only when the tool has answered", entry.key);
                let remedy = "make this a rule with `type: post`, or look at `args.…`";
                self.reader.error("no-output-yet", entry.key_span, message, remedy);
                None
            }
            Ok(selector) => Some(selector),
            Err(mistake) => {
                let message = format!("{}, in `when`", mistake.message);
                self.reader.error("unknown-selector", entry.key_span, message, mistake.remedy);
                None
            }
        }
    }

    fn operator(&mut self, entry: &Entry, what: &str) -> Option<Test> {
        let (name, node) = (entry.key.as_str(), &entry.value);
        let Some((_, operand)) = OPERATORS.iter().find(|(known, _)| *known == name) else {
            let known = || OPERATORS.iter().map(|(known, _)| *known);
            let listed = || known().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let remedy =
                did_you_mean(name, known()).unwrap_or_else(|| format!("the operators are {}", listed()));
            let message = format!("{what} has no operator `{name}`");
            self.reader.error("unknown-operator", entry.key_span, message, remedy);
            return None;
        };
        let called = format!("`{name}`");
        Some(match (operand, name) {
            (Operand::Boolean, _) => Test::typed(Operator::Exists(self.reader.boolean(node, &called)?)),
            (Operand::Anything, "equals") => Test::typed(Operator::Equals(self.reader.json(node, &called)?)),
            (Operand::Anything, _) => {
                Test::typed(Operator::Equals(self.reader.json(node, &called)?)).negated()
            }
            (Operand::Anythings, "in") => {
                Test::typed(Operator::OneOf(self.several(node, name, Self::any_value)?))
            }
            (Operand::Anythings, _) => {
                Test::typed(Operator::OneOf(self.several(node, name, Self::any_value)?)).negated()
            }
            (Operand::Text, "contains") => Test::typed(Operator::Contains(vec![self.any_text(node, name)?])),
            (Operand::Text, "starts_with") => Test::typed(Operator::StartsWith(self.any_text(node, name)?)),
            (Operand::Text, _) => Test::typed(Operator::EndsWith(self.any_text(node, name)?)),
            (Operand::Texts, _) => {
                Test::typed(Operator::Contains(self.several(node, name, Self::any_text)?))
            }
            (Operand::Expression, _) => Test::typed(Operator::Matches(vec![self.pattern(node, name)?])),
            (Operand::Expressions, _) => {
                Test::typed(Operator::Matches(self.several(node, name, Self::pattern)?))
            }
            (Operand::Number, "gt") => Test::typed(Operator::Above(self.reader.number(node, &called)?)),
            (Operand::Number, "gte") => Test::typed(Operator::AtLeast(self.reader.number(node, &called)?)),
            (Operand::Number, "lt") => Test::typed(Operator::Below(self.reader.number(node, &called)?)),
            (Operand::Number, _) => Test::typed(Operator::AtMost(self.reader.number(node, &called)?)),
        })
    }

    /// A list with at least one entry. All entries are read, so that all mistakes are reported.
    fn several<T>(
        &mut self,
        node: &Node,
        name: &str,
        mut one: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.reader.list(node, &format!("`{name}`"))?;
        if items.is_empty() {
            let message = format!("`{name}` is an empty list");
            self.reader.error("empty-list", node.span, message, "name at least one value");
            return None;
        }
        let read: Vec<Option<T>> = items.iter().map(|item| one(self, item, name)).collect();
        read.into_iter().collect()
    }

    fn any_value(&mut self, node: &Node, name: &str) -> Option<serde_json::Value> {
        self.reader.json(node, &format!("`{name}`"))
    }

    /// A text, which may be empty.
    fn any_text(&mut self, node: &Node, name: &str) -> Option<String> {
        match &node.value {
            Value::Scalar { text, quoted: true } if text.is_empty() => Some(String::new()),
            _ => self.reader.text(node, &format!("`{name}`")),
        }
    }

    fn pattern(&mut self, node: &Node, name: &str) -> Option<Pattern> {
        let text = self.reader.text(node, &format!("`{name}`"))?;
        match Pattern::python(&text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                // The place is exact where the expression stands in the file just as it is read.
                let start = self.reader.source.slice(node.span).find(&text).map(|at| node.span.start + at);
                let span = match (start, error.at) {
                    (Some(start), Some(at)) => Span::new(start + at.start, start + at.end),
                    _ => node.span,
                };
                let message = format!("`{name}`: {}", error.message);
                self.reader.error(
                    "bad-pattern",
                    span,
                    message,
                    "write a regular expression as Python has it",
                );
                None
            }
        }
    }

    /// What a placeholder of a message stands for; otherwise what to do about it, if it looks like one.
    pub(super) fn placeholder(&self, written: &str, place: Place) -> Result<Subject, Option<String>> {
        let none = CustomNames::default();
        let custom = if place == Place::Sandbox { &none } else { self.custom };
        match subject(written, custom) {
            Ok(selector) if selector.is_of_output() && place != Place::Post => {
                Err(Some("a result is there only in rules with `type: post`".to_owned()))
            }
            Ok(selector) => Ok(selector),
            Err(mistake) => {
                let is_word = |c: char| c.is_alphanumeric() || "._-".contains(c);
                let looks_like_one = written.contains('.') && written.chars().all(is_word);
                Err(looks_like_one.then_some(mistake.remedy))
            }
        }
    }
}
