//! The JSON that functions of the host and authors of policies see.

use lockgate::{
    Attempt, Call, Diagnostic, Policy, PolicyError, Source, Success,
    engine::{
        languages,
        policy::{Clause, OutputRule},
    },
};
use serde_json::{Map, Value, json};

/// Warnings and notes for the author of a policy.
pub fn findings(policy: &Policy) -> Value {
    diagnostics(policy.findings())
}

/// The mistakes of a policy that cannot be loaded.
pub fn mistakes(error: &PolicyError) -> Value {
    match error {
        PolicyError::Mistaken(mistakes) => diagnostics(mistakes),
        _ => Value::Array(Vec::new()),
    }
}

/// What a text in YAML or JSON holds, by the parser that reads policies.
///
/// # Errors
/// Every mistake of the text.
pub fn data(name: &str, text: &str) -> Result<Value, PolicyError> {
    languages::data(&Source::new(name, text)).map_err(PolicyError::Mistaken)
}

/// The rules that look at calls of a tool, and then those that look at its results, in file order: `rule`, `kind` (check, sandbox,
/// session or output), `mode` and `tags`. Rules that remember by a net and workflows are not among them: they look at deeds
/// and stages.
pub fn rules_about(policy: &Policy, tool: &str) -> Value {
    let compiled = policy.compiled();
    let mut rules: Vec<Value> = compiled.clauses_about(tool).map(clause_form).collect();
    rules.extend(compiled.outputs_of(tool).map(output_form));
    // One rule of a file may be several clauses, one after the other.
    rules.dedup();
    Value::Array(rules)
}

/// A call as functions of the host see it.
pub fn call_form(call: &Call) -> Value {
    json!({ "id": call.id, "session": call.session, "tool": call.tool, "input": call.input })
}

/// What a validator looks at.
pub fn attempt_form(attempt: &Attempt<'_>) -> Value {
    let marking: Map<String, Value> =
        attempt.marking.iter().map(|(place, tokens)| ((*place).to_owned(), Value::from(*tokens))).collect();
    let pending: Vec<Value> =
        attempt.pending.iter().map(|call| json!({ "id": call.id, "deed": call.deed })).collect();
    json!({
        "call": call_form(attempt.call),
        "deed": attempt.deed,
        "transition": attempt.transition,
        "marking": marking,
        "pending": pending,
    })
}

/// What a result hook looks at.
pub fn success_form(success: &Success<'_>) -> Value {
    json!({
        "call": call_form(success.call),
        "deed": success.deed,
        "transition": success.transition,
    })
}

fn clause_form(clause: &Clause) -> Value {
    // Check, sandbox or session: the names of the kinds are their words.
    let kind = format!("{:?}", clause.rank.kind).to_lowercase();
    json!({ "rule": clause.name, "kind": kind, "mode": clause.mode, "tags": clause.tags })
}

fn output_form(rule: &OutputRule) -> Value {
    json!({ "rule": rule.name, "kind": "output", "mode": rule.mode, "tags": rule.tags })
}

/// What is known about a policy, as data: the message, its place and what to do.
fn diagnostics(all: &[Diagnostic]) -> Value {
    let one = |it: &Diagnostic| {
        let place = it.source.place(it.span);
        json!({
            "code": it.code,
            "severity": it.severity.to_string(),
            "message": it.message,
            "file": it.source.name(),
            "line": place.line,
            "column": place.column,
            "remedy": it.remedy,
        })
    };
    all.iter().map(one).collect()
}
