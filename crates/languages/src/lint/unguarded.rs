//! `unguarded-effect`: a tool acts, and no rule speaks of it.
//!
//! What a tool does is told by the list of tools, by the policy itself (`send is a message`), by the table of agents' tools, and
//! at last by its name: most attacks that pass a policy use a tool that its author forgot.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_call::{EffectKind, EffectPattern, tool_effect, without_server};
use lockgate_policy::{Clause, Condition, Decision, Diagnostic, Policy, Severity, Source, Span, is_phrase};

use super::listed::ListedTools;

/// How many tools are named.
const NAMED_MAX: usize = 8;

/// What a tool does whose name begins with such a verb.
const VERBS: [(EffectKind, &str); 6] = [
    (EffectKind::Message, "send email mail message notify invite reply dm sms tweet"),
    (EffectKind::Payment, "pay transfer refund charge buy purchase order reserve book"),
    (EffectKind::Deletion, "delete remove drop cancel destroy purge erase revoke kick"),
    (EffectKind::Publication, "publish post deploy release share"),
    (EffectKind::Upload, "upload push"),
    (
        EffectKind::Write,
        "create write update append add edit set rename move schedule reschedule insert put patch replace grant",
    ),
];

/// The tools that act although no rule speaks of them, in one finding.
pub(super) fn unguarded(policy: &Policy, sources: &[Source], listed: &ListedTools) -> Option<Diagnostic> {
    let source = sources.first()?;
    let is_closed = policy.default_clause().is_some_and(|default| default.wants != Decision::Allow);
    if is_closed || !policy.workflows().is_empty() {
        return None;
    }
    let guarded: BTreeSet<EffectKind> =
        policy.known_names().filter_map(|known| Some(EffectPattern::parse(&known.name)?.kind)).collect();
    let acting = acting(policy, listed);
    let forgotten: Vec<String> = acting
        .iter()
        .filter(|(tool, effects)| effects.is_disjoint(&guarded) && !is_spoken_of(policy, tool))
        .map(|(tool, effects)| {
            let words: Vec<&str> = effects.iter().map(|kind| kind.word()).collect();
            format!("`{tool}` ({})", words.join(", "))
        })
        .collect();
    let (named, more) = forgotten.split_at(forgotten.len().min(NAMED_MAX));
    let first =
        acting.keys().find(|tool| named.first().is_some_and(|it| it.starts_with(&format!("`{tool}`"))))?;
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let message = format!("no rule speaks of tools that act: {}{more}", named.join(", "));
    let end = source.text().find('\n').unwrap_or(source.text().len());
    let finding = Diagnostic::warning("unguarded-effect", source, Span::new(0, end), message);
    // What only a name says is a guess.
    let is_told = |tool: &str| {
        tool_effect(tool).is_some()
            || listed.get(tool).is_some_and(|it| !it.effects.is_empty())
            || policy.declared_effects().any(|(declared, _)| declared == tool)
    };
    let is_sure = forgotten.iter().filter_map(|it| it.split('`').nth(1)).any(is_told);
    let severity = if is_sure { Severity::Warning } else { Severity::Note };
    let finding = Diagnostic { severity, ..finding };
    Some(finding.label("they always pass").remedy(format!(
        "write a line about each, such as `ask about {first}`, or `otherwise ask` and `allow` what is meant"
    )))
}

/// What each tool does beside reading, as far as it is known.
fn acting(policy: &Policy, listed: &ListedTools) -> BTreeMap<String, BTreeSet<EffectKind>> {
    let mut acting: BTreeMap<String, BTreeSet<EffectKind>> = BTreeMap::new();
    for (tool, kind) in policy.declared_effects() {
        acting.entry(tool.to_owned()).or_default().insert(kind);
    }
    for (tool, said) in listed {
        let effects = acting.entry(tool.clone()).or_default();
        effects.extend(said.effects.iter().copied());
        if effects.is_empty() {
            effects.extend(tool_effect(tool).or_else(|| by_name(tool)));
        }
    }
    let acts = |kind: &EffectKind| !matches!(kind, EffectKind::Read | EffectKind::Download);
    acting.values_mut().for_each(|effects| effects.retain(acts));
    acting.retain(|_, effects| !effects.is_empty());
    acting
}

fn by_name(tool: &str) -> Option<EffectKind> {
    let name = without_server(tool);
    let end = name.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(name.len());
    let verb = name.get(..end)?;
    VERBS.iter().find(|(_, verbs)| verbs.split(' ').any(|it| it == verb)).map(|(kind, _)| *kind)
}

fn is_spoken_of(policy: &Policy, tool: &str) -> bool {
    let is_named = policy.known_names().any(|known| {
        *known.name == *tool
            && (!known.watches.is_empty() || known.has_actions || !known.renamed_in.is_empty())
    });
    // Rules about effects speak of a tool by what it does.
    let is_of_effects = |clause: &Clause| {
        clause
            .conditions
            .iter()
            .any(|it| matches!(it, Condition::Deed { names, .. } if names.iter().all(|name| is_phrase(name))))
    };
    is_named || policy.clauses_about(tool).any(|clause| !is_of_effects(clause))
}
