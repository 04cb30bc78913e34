//! What the conditions of a clause say, as numbers that two clauses can be compared by.
//!
//! Two conditions have the same number only if they have the same text, so they mean the same.

use lockgate_pattern::Pattern;
use lockgate_policy::{
    HashMap,
    clause::Clause,
    condition::{Coercion, Condition, Operator, ValueTest},
};

/// The facts of a clause, by number.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) needs: Vec<usize>,
    pub(super) implies: Vec<usize>,
}

/// Numbers for facts: the same fact has the same number.
#[derive(Default)]
pub(super) struct Numbers {
    by_text: HashMap<String, usize>,
    uses: Vec<usize>,
}

impl Numbers {
    pub(super) fn of(&mut self, clause: &Clause) -> Facts {
        let mut facts = Facts::default();
        for (at, condition) in clause.conditions.iter().enumerate() {
            match condition {
                Condition::All(_) | Condition::Any(_) | Condition::Not(_) => {
                    self.add_expression(condition, &mut facts);
                }
                Condition::Value(value) if value.test.coercion == Coercion::Typed => {
                    self.add_expression(condition, &mut facts);
                }
                condition => {
                    let number = self.number(text_of_condition(clause, at, condition));
                    facts.needs.push(number);
                    facts.implies.push(number);
                }
            }
        }
        facts.implies.sort_unstable();
        facts.implies.dedup();
        facts
    }

    /// A doubt ends the question where it is met, so the parts of an expression count in their order: what begins
    /// with all parts of another applies only where that does, and what has the same parts elsewhere may not.
    fn add_expression(&mut self, expression: &Condition, facts: &mut Facts) {
        let mut parts = Vec::new();
        flatten(expression, &mut parts);
        let mut so_far = None;
        for part in parts {
            let number = self.number(format!("after {so_far:?} {}", text_of(part)));
            so_far = Some(number);
            facts.implies.push(number);
        }
        facts.needs.extend(so_far);
    }

    fn number(&mut self, text: String) -> usize {
        let next = self.uses.len();
        let number = *self.by_text.entry(text).or_insert(next);
        match self.uses.get_mut(number) {
            Some(uses) => *uses += 1,
            None => self.uses.push(1),
        }
        number
    }

    pub(super) fn uses(&self, number: usize) -> usize {
        self.uses.get(number).copied().unwrap_or(0)
    }
}

/// The parts that must all hold, in their order.
pub(super) fn flatten<'e>(expression: &'e Condition, parts: &mut Vec<&'e Condition>) {
    match expression {
        Condition::All(all) => all.iter().for_each(|part| flatten(part, parts)),
        part => parts.push(part),
    }
}

/// A condition as a text that only the same condition has.
fn text_of_condition(clause: &Clause, at: usize, condition: &Condition) -> String {
    match condition {
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Value(_) => text_of(condition),
        Condition::Schedule(schedule) => format!("schedule {schedule:?}"),
        Condition::Tainted => "tainted".to_owned(),
        Condition::Unreadable(test) => format!("unreadable {test:?}"),
        Condition::Untraced(test) => format!("untraced {test:?}"),
        Condition::Unsaid(words) => format!("unsaid {words:?}"),
        // What is counted, and how, belongs to one rule; sandboxes and detectors are hardly ever written twice.
        Condition::Called { .. }
        | Condition::CalledInOrder { .. }
        | Condition::Earned { .. }
        | Condition::Outside(_)
        | Condition::Deed { .. }
        | Condition::Only { .. }
        | Condition::Past(_)
        | Condition::Attack(_) => format!("own {:?} {at}", clause.id),
    }
}

fn text_of(expression: &Condition) -> String {
    let texts = |parts: &[Condition]| parts.iter().map(text_of).collect::<Vec<_>>().join(", ");
    match expression {
        Condition::All(parts) => format!("all({})", texts(parts)),
        Condition::Any(parts) => format!("any({})", texts(parts)),
        Condition::Not(part) => format!("not({})", text_of(part)),
        Condition::Value(ValueTest { subject, test, .. }) => {
            let not = if test.is_negated { "not " } else { "" };
            format!("{subject:?} {:?} {not}{}", test.coercion, text_of_operator(&test.operator))
        }
        other => format!("{other:?}"),
    }
}

fn text_of_operator(operator: &Operator) -> String {
    match operator {
        Operator::Matches(patterns) => format!("matches {}", keys(patterns)),
        other => format!("{other:?}"),
    }
}

/// Patterns differ by text and language; whether one was already put together says nothing.
fn keys(patterns: &[Pattern]) -> String {
    patterns.iter().map(|pattern| format!("{:?}", pattern.key())).collect::<Vec<_>>().join(", ")
}
