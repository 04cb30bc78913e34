//! Reads a file in its language.
//!
//! A file of a language we do not read is an error: a policy that is not understood must never be taken for an empty one.

use lockgate_call::path::normalise;
use lockgate_policy::{Diagnostic, Source, Span};

use crate::{
    detect::{Language, detect},
    draft::Draft,
    nets, one_line,
    ruleset::{self, CustomNames},
    when_then, workflow,
};

/// Reads a file in its language. `beside` are all files of the policy: a file knows the words of those that it includes.
pub(crate) fn parse(source: &Source, beside: &[Source], custom: &CustomNames) -> (Draft, Vec<Diagnostic>) {
    match detect(source) {
        Language::OneLine => one_line::parse_beside(source, &included(source, beside)),
        Language::WhenThen => when_then::parse(source),
        Language::Ruleset => ruleset::parse_with(source, custom),
        Language::Workflow => workflow::parse(source),
        Language::Net => nets::parse(source),
        Language::Unknown => (Draft::of(source), vec![unknown_language(source)]),
    }
}

/// The files of one-line rules that a file includes, and those that they include.
fn included<'s>(source: &Source, beside: &'s [Source]) -> Vec<&'s Source> {
    let mut found: Vec<&Source> = Vec::new();
    let mut names = one_line::includes(source);
    while let Some(name) = names.pop() {
        let is_it = |it: &&Source| normalise(it.name(), None).is_ok_and(|known| known == name);
        let Some(file) = beside.iter().find(is_it).filter(|it| detect(it) == Language::OneLine) else {
            continue;
        };
        if file != source && !found.contains(&file) {
            found.push(file);
            names.extend(one_line::includes(file));
        }
    }
    found
}

fn unknown_language(source: &Source) -> Diagnostic {
    let first_line = Span::new(0, source.text().find('\n').unwrap_or(source.text().len()));
    let message = format!("`{}` is in no language this gate reads", source.name());
    Diagnostic::error("unknown-language", source, first_line, message)
        .label("has no `kind` we know and no `rules:` at the top")
        .remedy(remedy(source))
}

/// What to add to a file whose language is unknown. A list that was pasted without its head is known by its words.
fn remedy(source: &Source) -> &'static str {
    let has_rule_type = source.text().lines().any(|line| {
        let line = line.trim_start_matches([' ', '-', '{']);
        line.strip_prefix("type:").is_some_and(|rest| {
            ["pre", "post", "session", "sandbox"].contains(&rest.trim().trim_matches(['"', '\'']))
        })
    });
    if has_rule_type {
        return "this looks like rules of a ruleset: put them under `rules:` in a file that says \
                `apiVersion: edictum/v1`, `kind: Ruleset`, `metadata: {name: NAME}` and `defaults: {mode: enforce}`";
    }
    "add `rules:` above when/then rules, `kind: Ruleset` to a ruleset, `kind: Workflow` to a workflow, `kind: Net` to a \
     hand-written net, or give one-line rules the ending `.rules`"
}
