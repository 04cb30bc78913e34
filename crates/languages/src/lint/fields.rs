//! `unknown-field`: a rule asks for a field that the listed tool does not have.

use std::collections::BTreeSet;

use lockgate_policy::{Clause, Condition, Diagnostic, Policy, Severity, closest, condition::Subject};

use super::listed::ListedTools;

/// The fields that rules on a tool look at, and the tool does not have.
pub(super) fn unknown_fields(policy: &Policy, listed: &ListedTools) -> Vec<Diagnostic> {
    policy.clauses().iter().flat_map(|clause| unknown_in(clause, listed)).collect()
}

fn unknown_in(clause: &Clause, listed: &ListedTools) -> Vec<Diagnostic> {
    let known = |tool: &String| Some((tool.clone(), listed.get(tool)?.fields.clone()?));
    // Of several tools each may have other fields.
    let tools: Vec<(String, BTreeSet<String>)> = clause.tools.iter().filter_map(known).collect();
    if tools.is_empty() || tools.len() < clause.tools.len() {
        return Vec::new();
    }
    let fields: BTreeSet<&str> = tools.iter().flat_map(|(_, fields)| fields).map(String::as_str).collect();
    let is_known = |field: &str| {
        let first = field.split(['.', '[']).next().unwrap_or(field);
        fields.contains(field) || fields.contains(first)
    };
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let asked = clause.conditions.iter().flat_map(Condition::parts).filter_map(asked_field);
    let unknown: Vec<&str> = asked.filter(|field| !is_known(field) && told.insert(field)).collect();
    unknown.into_iter().map(|field| finding(clause, field, &fields, &tools)).collect()
}

fn asked_field(condition: &Condition) -> Option<&str> {
    match condition {
        Condition::Value(test) => match &test.subject {
            Subject::Input(field) => Some(&field.text),
            _ => None,
        },
        Condition::Untraced(test) => Some(&test.field.text),
        _ => None,
    }
}

fn finding(
    clause: &Clause,
    field: &str,
    fields: &BTreeSet<&str>,
    tools: &[(String, BTreeSet<String>)],
) -> Diagnostic {
    let names: Vec<String> = tools.iter().map(|(tool, _)| format!("`{tool}`")).collect();
    let message = format!("{} has no field `{field}`", names.join(" or "));
    // The field itself is marked where it stands in the text of the rule.
    let text = clause.source.slice(clause.span);
    let at = text.find(field).map(|at| clause.span.start + at);
    let span = at.map_or(clause.span, |start| lockgate_policy::Span::new(start, start + field.len()));
    let finding = Diagnostic::warning("unknown-field", &clause.source, span, message);
    match closest(field, fields.iter().copied()) {
        Some(meant) => Diagnostic { severity: Severity::Error, ..finding }
            .label(format!("closest is `{meant}`"))
            .remedy(format!("write `{meant}`")),
        None => {
            let known: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
            let known = if known.is_empty() { "no fields".to_owned() } else { known.join(", ") };
            finding.label("not in its input").remedy(format!("its input has {known}"))
        }
    }
}
