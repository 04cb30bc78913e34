//! Policies that decide nothing.
//!
//! A file without a rule lets everything pass, and that is never meant: an editor may have emptied the file a moment ago,
//! or everything stands behind one `#`. It is an error, so that no door takes it for a policy that allows. A policy whose
//! rules were all switched off by their author allows everything on purpose, perhaps; that is a warning.

use lockgate_policy::{Decision, Diagnostic, Map, Module, Policy, Severity, Source, Span};

use crate::{draft::Draft, one_line::comment_start};

/// The mistake of a file that was read without one and has no rule.
pub(crate) fn void_file(draft: &Draft) -> Option<Diagnostic> {
    if draft.has_rules() {
        return None;
    }
    let source = &draft.source;
    let message = format!("`{}` has no rule, so it would let every call pass", source.name());
    let label = if source.text().trim().is_empty() { "the file is empty" } else { "no rule in this file" };
    Some(finding("no-rules", source, message).label(label).remedy(remedy(draft)))
}

/// The finding about a policy whose files have rules of which none acts.
pub(crate) fn void_policy(policy: &Policy, sources: &[Source]) -> Option<Diagnostic> {
    let is_default = |rule: &lockgate_policy::Rule| {
        policy.default_clause().is_some_and(|it| it.id == rule.id && it.wants == Decision::Allow)
    };
    let source = sources.first().filter(|_| policy.rules().all(is_default))?;
    let message = "no rule of this policy is on, so it would let every call pass".to_owned();
    let remedy = "turn a rule on, or take the file out of the policy";
    let finding = finding("no-rules", source, message).label("all rules are off").remedy(remedy);
    Some(Diagnostic { severity: Severity::Warning, ..finding })
}

/// A mistake that is about a whole file; it is reported at the first line.
fn finding(code: &'static str, source: &Source, message: String) -> Diagnostic {
    let end = source.text().find('\n').unwrap_or(source.text().len());
    Diagnostic::error(code, source, Span::new(0, end), message)
}

fn remedy(draft: &Draft) -> String {
    let Draft { module: Module { source, maps, claims, examples, .. }, when_then, .. } = draft;
    if when_then.is_written || draft.ruleset.is_some() {
        return "add a rule under `rules`, or take the file out of the policy".to_owned();
    }
    if is_commented_out(source) {
        return "write one statement a line: everything behind `#` is a comment".to_owned();
    }
    if let Some(Map { name, .. }) = maps.first() {
        return format!("add a rule about `{name}`, such as `require human-approval before {name}`");
    }
    if !claims.is_empty() || !examples.is_empty() {
        return "put the claims and examples into the file of the rules that they are about".to_owned();
    }
    "add a rule, such as `require human-approval before deploy`, or take the file out of the policy"
        .to_owned()
}

/// Whether comments hold what looks like rules, as after a paste that lost its line ends.
fn is_commented_out(source: &Source) -> bool {
    let comment = |line: &str| comment_start(line).and_then(|at| line.get(at..)).map(str::to_owned);
    source.text().split('\n').filter_map(comment).any(|comment| {
        let mut words = comment.split_whitespace().map(|word| word.trim_matches('#'));
        let starts = |word: &str| ["require", "limit", "block"].contains(&word);
        let is_second = |word: &str| ["before", "to", "per"].contains(&word);
        words.by_ref().any(starts) && (words.any(is_second) || comment.contains("block "))
    })
}
