//! Rules that an argument evades: by being left out, by another type, or by a value that no other rule guards.

use lockgate_pattern::Match;
use lockgate_policy::{
    Decision, Mode, ToolName, Tools,
    condition::{Operator, Test},
};

use super::Linter;
use crate::draft::when_then::DraftClause;

impl Linter<'_> {
    /// A test that a call gets around: it says what a field must not be like, and no field is like nothing. Told once
    /// a rule.
    pub(super) fn evadable(&mut self, rule: &DraftClause) {
        if rule.then == Some(Decision::Allow) || rule.mode == Some(Mode::Observe) {
            return;
        }
        let evadable = rule.args.iter().find_map(|(key, tests)| {
            let operator = tests.iter().find_map(negation)?;
            // Who says that it is there knows that it may be missing.
            let is_known = tests.iter().any(|test| matches!(test.operator, Operator::Exists(_)));
            // Each rule asks all others, but only rules with such a test ask.
            let mut others = self.draft.when_then.rules.iter();
            let is_guarded = is_known || others.any(|other| guards(other, rule, key));
            (!is_guarded).then_some((key, operator))
        });
        let Some((key, operator)) = evadable else { return };
        self.note(
            "evadable",
            self.place(rule.span, key, rule.id_span),
            format!("a call without `{key}` gets around `{}`", rule.id),
            &format!("`{operator}` only looks at a value that is there"),
            format!("add a rule for the same tool with `{key}: {{exists: false}}`"),
        );
    }
}

/// The name of a test that says what a value must not be like.
fn negation(test: &Test) -> Option<&'static str> {
    match &test.operator {
        _ if !test.is_negated => None,
        Operator::Contains(_) => Some("not_contains"),
        Operator::Matches(_) => Some("not_regex"),
        Operator::OneOf(_) => Some("not_in"),
        _ => None,
    }
}

/// Whether one rule catches the calls of another's tools in which a field is missing, and is as strict.
fn guards(guard: &DraftClause, rule: &DraftClause, key: &str) -> bool {
    let is_missing = |(field, tests): &(String, Vec<Test>)| {
        field == key && matches!(tests.as_slice(), [test] if test.operator == Operator::Exists(false))
    };
    let asks_nothing_else = guard.args.len() == 1
        && guard.session.is_empty()
        && guard.sender.is_empty()
        && guard.context.is_empty()
        && guard.time_of_day.is_none()
        && guard.day_of_week.is_none()
        && guard.chain.is_none();
    guard.args.iter().any(is_missing)
        && asks_nothing_else
        && guard.then >= rule.then
        && guard.mode != Some(Mode::Observe)
        && takes_all(guard.tools.as_ref(), rule.tools.as_ref())
}

/// Whether tools are named in a way that takes all of others.
fn takes_all(tools: Option<&Tools>, others: Option<&Tools>) -> bool {
    let (Some(Tools::Any(names)), Some(Tools::Any(others))) = (tools, others) else {
        return !matches!(tools, Some(Tools::Any(_)));
    };
    let takes = |name: &ToolName, other: &ToolName| match (name, other) {
        (ToolName::Exact(name), ToolName::Exact(other)) => name == other,
        (ToolName::Matching(pattern), ToolName::Exact(other)) => matches!(pattern.find(other), Match::At(_)),
        (ToolName::Matching(pattern), ToolName::Matching(other)) => pattern == other,
        (ToolName::Exact(_), ToolName::Matching(_)) => false,
    };
    others.iter().all(|other| names.iter().any(|name| takes(name, other)))
}
