//! Which language a policy file is written in.
//!
//! Told by content: a file with a top-level `kind: Net` is a hand-written net, one with `kind: Ruleset` is a
//! ruleset, `kind: Workflow` a workflow, a YAML or JSON file without `kind` and with a key such as `rules` has when/then rules, and anything else
//! that is not YAML or JSON by name is one statement a line. A file of a language we do not read is an error: a policy
//! that is not understood must never be taken for an empty one.

use lockgate_policy::{Diagnostic, Severity, Source, Span};

use crate::{
    draft::Draft,
    nets, one_line,
    ruleset::{self, CustomNames},
    when_then, workflow,
};

/// Whether a file is read as YAML, whatever its language.
pub fn is_yaml(source: &Source) -> bool {
    let has_head = || ["kind", "apiVersion"].iter().any(|word| source.text().contains(word));
    has_yaml_name(source)
        || (has_head()
            && (nets::is_net(source) || workflow::is_workflow(source) || ruleset::is_ruleset(source)))
}

fn has_yaml_name(source: &Source) -> bool {
    let extension = source.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    ["yaml", "yml", "json"].contains(&extension)
}

/// Parses a file in whatever language it is written.
pub(crate) fn parse(source: &Source, custom: &CustomNames) -> (Draft, Vec<Diagnostic>) {
    // Looking for the word first spares long files of one-line rules a second reading.
    if source.text().contains("kind") && nets::is_net(source) {
        return nets::parse(source);
    }
    let has_head = ["kind", "apiVersion"].iter().any(|word| source.text().contains(word));
    let may_be_workflow = ["Workflow", "stages"].iter().any(|word| source.text().contains(word));
    if has_head && may_be_workflow && workflow::is_workflow(source) {
        return workflow::parse(source);
    }
    if has_head && ruleset::is_ruleset(source) {
        return ruleset::parse_with(source, custom);
    }
    if has_yaml_name(source) {
        if when_then::is_when_then(source) {
            return when_then::parse(source);
        }
        let unknown = Diagnostic {
            code: "unknown-language",
            severity: Severity::Error,
            message: format!("`{}` is in no language this gate reads", source.name()),
            source: source.clone(),
            span: Span::new(0, source.text().find('\n').unwrap_or(source.text().len())),
            label: "has no `kind` we know and no `rules:` at the top".to_owned(),
            remedy: Some(remedy(source).to_owned()),
        };
        return (Draft::of(source), vec![unknown]);
    }
    one_line::parse(source)
}

/// What to add to a file whose language cannot be told. A list that was pasted without its head is told by its words.
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
