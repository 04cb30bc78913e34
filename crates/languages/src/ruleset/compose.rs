//! Several rulesets as one.
//!
//! [`compose`] joins from left to right: a rule with an id that is taken replaces the earlier one in its place,
//! other rules are added at the end, and the last default mode counts for all rules without their own. A ruleset
//! that another one extends comes in with that one, its rules first. A rule that is `locked` stays as its file wrote
//! it, and what is known about tools cannot be changed so that it does less. A file with `observe_alongside` adds
//! candidates that only watch, and changes nothing else. Whatever a later file takes from an earlier one is reported.
//! Missing on purpose: files that were not given are not looked for.

use std::collections::BTreeMap;

use lockgate_policy::{Diagnostic, HashSet, Mode, Severity, Source, Span, closest};

use crate::draft::Draft;
use crate::draft::ruleset::{Action, DeclaredTool, DraftRulesetRule, RuleKind, Ruleset};

/// How many rulesets may extend one another in a row.
pub const EXTENDS_DEPTH_MAX: usize = 32;
/// How much of what happens to rules is reported: a report looks through the files.
pub(super) const TOLD_MAX: usize = 100;

/// Joins the rulesets among some drafts. Afterwards the first draft with a ruleset holds all rules, each with the
/// file it came from, and the others hold none. A mistake leaves all drafts as they were.
pub fn compose(drafts: &mut [Draft]) -> Vec<Diagnostic> {
    if let Some(ruleset) = alone(drafts) {
        let mode = ruleset.mode;
        ruleset.rules.iter_mut().for_each(|rule| rule.mode = frozen_mode(rule, mode));
        return Vec::new();
    }
    let mut told = BoundedReport::default();
    let joined = join(drafts, &mut told);
    let is_sound = told.0.iter().all(|diagnostic| diagnostic.severity < Severity::Error);
    if let Some((joined, candidates)) = joined.filter(|_| is_sound) {
        let mut joined = Some(joined);
        let is_candidate = |draft: &&mut Draft| candidates.contains(&draft.source);
        drafts.iter_mut().filter(is_candidate).for_each(|draft| leave_out_claims(draft, &mut told));
        for ruleset in drafts.iter_mut().filter_map(|draft| draft.ruleset.as_mut()) {
            match joined.take() {
                Some(joined) => *ruleset = joined,
                None => (ruleset.rules, ruleset.tools, ruleset.extends) = (Vec::new(), Vec::new(), None),
            }
        }
    }
    told.0
}

/// The only ruleset, where there is nothing to join and nothing to tell. Most policies have no other, and joining
/// copies every rule.
fn alone(drafts: &mut [Draft]) -> Option<&mut Ruleset> {
    let mut rulesets = drafts.iter_mut().filter_map(|draft| draft.ruleset.as_mut());
    let ruleset = rulesets.next().filter(|ruleset| ruleset.extends.is_none())?;
    let is_plain = are_unlike(ruleset.rules.iter().map(|rule| rule.id.as_str()))
        && are_unlike(ruleset.tools.iter().map(|tool| tool.name.as_str()));
    (is_plain && rulesets.next().is_none()).then_some(ruleset)
}

fn are_unlike<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    let mut seen = HashSet::default();
    names.all(|name| seen.insert(name))
}

/// All rulesets as one, and the files whose rules are only candidates.
fn join(drafts: &[Draft], told: &mut BoundedReport) -> Option<(Ruleset, Vec<Source>)> {
    let files: Vec<File<'_>> = drafts
        .iter()
        .filter_map(|draft| Some(File { source: &draft.source, ruleset: draft.ruleset.as_ref()? }))
        .collect();
    let is_extended = |file: &&File<'_>| {
        let name = |(parent, _): &(String, Span)| *parent == file.ruleset.name;
        // Candidates change nothing, so they do not bring their parent along either.
        let mut others = files.iter().filter(|other| !other.ruleset.observe_alongside);
        others.any(|other| other.ruleset.extends.as_ref().is_some_and(name))
    };
    let lines: Option<Vec<Vec<File<'_>>>> =
        files.iter().filter(|file| !is_extended(file)).map(|file| line(file, &files, told)).collect();
    let lines = lines?;
    // What no line reaches goes round in a circle, and must not be lost: its own line says so.
    let is_reached =
        |file: &File<'_>| lines.iter().flatten().any(|other| std::ptr::eq(other.ruleset, file.ruleset));
    for file in files.iter().filter(|file| !is_reached(file)) {
        line(file, &files, told)?;
    }
    // The first ruleset is in force whatever it says of itself.
    let heads = lines.iter().skip(1).filter_map(|line| line.first());
    let candidates = heads.filter(|file| file.ruleset.observe_alongside).map(|file| file.source.clone());
    let candidates = candidates.collect();
    let mut layers = lines.iter().filter_map(|line| stacked(line, told)).collect::<Vec<_>>().into_iter();
    let mut joined = layers.next()?;
    for layer in layers {
        match layer.observe_alongside {
            true => add_candidates(&mut joined, layer, told),
            false => add(&mut joined, layer, told),
        }
    }
    Some((joined, candidates))
}

/// Takes what a file of candidates states out: it speaks of rules that only observe, so it would be broken.
fn leave_out_claims(draft: &mut Draft, told: &mut BoundedReport) {
    let claims = draft.module.claims.drain(..).map(|claim| claim.span);
    let first =
        claims.chain(draft.module.examples.drain(..).map(|example| example.span)).min_by_key(|it| it.start);
    if let Some(span) = first {
        told.tell(Severity::Note, || {
            let message = "what this file claims is not proved, because it only observes alongside";
            Diagnostic::note("claims-not-used", &draft.source, span, message)
                .remedy("state it in a file that is enforced")
        });
    }
}

/// A ruleset and the file it stands in.
#[derive(Clone, Copy)]
struct File<'d> {
    source: &'d Source,
    ruleset: &'d Ruleset,
}

/// Diagnostics up to a bound; the first mistake is always among them.
#[derive(Default)]
struct BoundedReport(Vec<Diagnostic>);

impl BoundedReport {
    fn tell(&mut self, severity: Severity, diagnostic: impl FnOnce() -> Diagnostic) {
        let is_first_mistake =
            || severity == Severity::Error && self.0.iter().all(|diagnostic| diagnostic.severity != severity);
        if self.0.len() < TOLD_MAX || is_first_mistake() {
            self.0.push(Diagnostic { severity, ..diagnostic() });
        }
    }
}

/// A ruleset and all it extends, the nearest first.
fn line<'d>(file: &File<'d>, files: &[File<'d>], told: &mut BoundedReport) -> Option<Vec<File<'d>>> {
    let mut line = vec![*file];
    while let Some(child) = line.last().copied()
        && let Some((parent, span)) = &child.ruleset.extends
    {
        match parent_of(&child, parent, *span, &line, files) {
            Ok(parent) => line.push(parent),
            Err(mistake) => {
                told.tell(Severity::Error, || *mistake);
                return None;
            }
        }
    }
    Some(line)
}

/// The first ruleset of a line, with the rules of all it extends before its own.
fn stacked(line: &[File<'_>], told: &mut BoundedReport) -> Option<Ruleset> {
    let child = line.first()?.ruleset.clone();
    let mut stacked = Ruleset { rules: Vec::new(), tools: Vec::new(), extends: None, ..child };
    let mut ids: BTreeMap<&str, &DraftRulesetRule> = BTreeMap::new();
    for File { ruleset, source } in line.iter().rev() {
        if let Some((_, span)) = ruleset.extends.as_ref().filter(|_| !ruleset.observe_alongside) {
            warn_of_weaker_mode(&stacked, ruleset.mode, &ruleset.name, (source, *span), told);
        }
        stacked.mode = ruleset.mode;
        // Before the rules: what a file says about tools may well fit its own locked rules.
        ruleset.tools.iter().for_each(|tool| declare(&mut stacked, tool, told));
        for rule in &ruleset.rules {
            // Both rules of one id would act, and nothing could tell them apart.
            match ids.insert(&rule.id, rule) {
                Some(earlier) => told.tell(Severity::Error, || {
                    let message = format!("the `id` `{}` is already taken by {}", rule.id, place(earlier));
                    let mistake = Diagnostic::error("duplicate-id", &rule.source, rule.id_span, message);
                    mistake
                        .remedy("rename this rule: a ruleset adds to what it extends, and replaces nothing")
                }),
                None => stacked.rules.push(frozen(rule, ruleset.mode)),
            }
        }
    }
    Some(stacked)
}

fn parent_of<'d>(
    child: &File<'_>,
    parent: &str,
    span: Span,
    line: &[File<'_>],
    files: &[File<'d>],
) -> Result<File<'d>, Box<Diagnostic>> {
    let mistake = |code, message: String, remedy: String| {
        Err(Box::new(Diagnostic::error(code, child.source, span, message).remedy(remedy)))
    };
    let mut named = files.iter().filter(|file| file.ruleset.name == parent);
    let found = match (named.next(), named.next()) {
        (Some(found), None) => *found,
        (Some(first), Some(second)) => {
            let (first, second) = (first.source.name(), second.source.name());
            let message =
                format!("`extends` may mean two rulesets called `{parent}`, in `{first}` and `{second}`");
            return mistake("ambiguous-parent", message, "give one of them another `name`".to_owned());
        }
        (None, _) => {
            let message = format!("`extends` names `{parent}`, and no ruleset here is called so");
            let meant = closest(parent, files.iter().map(|file| file.ruleset.name.as_str()));
            let remedy = meant.map(|meant| format!("did you mean `{meant}`?"));
            let otherwise = || format!("give the file whose `metadata.name` is `{parent}` too");
            return mistake("unknown-parent", message, remedy.unwrap_or_else(otherwise));
        }
    };
    if line.iter().any(|file| std::ptr::eq(file.ruleset, found.ruleset)) {
        let names: Vec<String> = line.iter().map(|file| format!("`{}`", file.ruleset.name)).collect();
        let message = format!("`extends` goes round in a circle: {}, `{parent}`", names.join(", "));
        return mistake("extends-cycle", message, "take one `extends` out".to_owned());
    }
    if line.len() >= EXTENDS_DEPTH_MAX {
        let message = format!("more than {EXTENDS_DEPTH_MAX} rulesets extend one another");
        return mistake("extends-depth", message, "join some of them into one file".to_owned());
    }
    Ok(found)
}

/// The rule; a locked one keeps the mode its own file gave it.
fn frozen(rule: &DraftRulesetRule, mode: Mode) -> DraftRulesetRule {
    DraftRulesetRule { mode: frozen_mode(rule, mode), ..rule.clone() }
}

fn frozen_mode(rule: &DraftRulesetRule, mode: Mode) -> Option<Mode> {
    rule.mode.or(rule.locked.then_some(mode))
}

/// Joins one more ruleset.
fn add(joined: &mut Ruleset, layer: Ruleset, told: &mut BoundedReport) {
    layer.tools.iter().for_each(|tool| declare(joined, tool, told));
    // A ruleset that is joined has rules of its own or of what it extends.
    if let Some(rule) = layer.rules.last() {
        let by = (&rule.source, rule.id_span);
        warn_of_weaker_mode(joined, layer.mode, &layer.name, by, told);
    }
    joined.mode = layer.mode;
    joined.name = layer.name;
    joined.description = layer.description.or(joined.description.take());
    if layer.observability != Default::default() {
        joined.observability = layer.observability;
    }
    let mut places = places(joined);
    for rule in layer.rules {
        match places.get(&rule.id).and_then(|at| joined.rules.get_mut(*at)) {
            // The same rule, through a ruleset that both extend.
            Some(earlier) if earlier.source == rule.source && earlier.span == rule.span => {}
            Some(earlier) if earlier.locked => {
                told.tell(Severity::Error, || locked(&rule, earlier, joined.mode))
            }
            Some(earlier) => {
                told.tell(overriding_severity(&rule, joined.mode), || {
                    overriding(&rule, earlier, joined.mode)
                });
                *earlier = rule;
            }
            None => {
                places.insert(rule.id.clone(), joined.rules.len());
                joined.rules.push(rule);
            }
        }
    }
}

/// Tells that a file makes rules of other files observe that would have acted.
fn warn_of_weaker_mode(
    joined: &Ruleset,
    mode: Mode,
    name: &str,
    by: (&Source, Span),
    told: &mut BoundedReport,
) {
    let softened = || joined.rules.iter().filter(|rule| rule.mode.is_none());
    if let (Some(rule), Mode::Enforce, Mode::Observe) = (softened().next(), joined.mode, mode) {
        told.tell(Severity::Warning, || {
            let (count, first) = (softened().count(), place(rule));
            let rules = if count == 1 { "a rule" } else { &format!("{count} rules") };
            let message = format!(
                "`defaults.mode` of `{name}` makes {rules} of other files only observe, the first at {first}"
            );
            let remedy = "give those rules `mode: enforce` or `locked: true`, or this file `mode: enforce`";
            Diagnostic::warning("mode-weakened", by.0, by.1, message).remedy(remedy)
        });
    }
}

/// Where each rule stands, by its id.
fn places(joined: &Ruleset) -> BTreeMap<String, usize> {
    joined.rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect()
}

fn add_candidates(joined: &mut Ruleset, layer: Ruleset, told: &mut BoundedReport) {
    if let Some(tool) = layer.tools.first() {
        told.tell(Severity::Note, || {
            let message =
                format!("`tools` of `{}` are not used, because it only observes alongside", layer.name);
            let note = Diagnostic::note("tools-not-used", &tool.source, tool.span, message);
            note.remedy("declare tools in a file that is enforced")
        });
    }
    let mut places = places(joined);
    for rule in layer.rules {
        let id = format!("{}:candidate", rule.id);
        let candidate = DraftRulesetRule { id, mode: Some(Mode::Observe), locked: false, ..rule };
        match places.get(&candidate.id).and_then(|at| joined.rules.get_mut(*at)) {
            Some(earlier) => {
                told.tell(Severity::Note, || overriding(&candidate, earlier, joined.mode));
                *earlier = candidate;
            }
            None => {
                places.insert(candidate.id.clone(), joined.rules.len());
                joined.rules.push(candidate);
            }
        }
    }
}

/// What is known about a tool, from now on. That a tool has acted already means that a result is only warned about:
/// a later file cannot take a locked rule's teeth out by saying so.
fn declare(joined: &mut Ruleset, tool: &DeclaredTool, told: &mut BoundedReport) {
    let has_teeth = |rule: &&DraftRulesetRule| {
        let acts = matches!(rule.action, Action::Block | Action::Redact);
        rule.locked && acts && matches!(rule.kind, RuleKind::Post { .. }) && rule.concerns(&tool.name)
    };
    let known = joined.tools.iter_mut().find(|known| known.name == tool.name);
    let was_harmless = known.as_ref().is_none_or(|known| !known.side_effect.has_acted());
    let is_new = known.as_ref().is_none_or(|known| known.source != tool.source || known.span != tool.span);
    if is_new
        && was_harmless
        && tool.side_effect.has_acted()
        && let Some(rule) = joined.rules.iter().find(has_teeth)
    {
        told.tell(Severity::Error, || {
            let message = format!(
                "the `side_effect` of `{}` would turn the locked rule `{}` at {} into a warning",
                tool.name,
                rule.id,
                place(rule)
            );
            let mistake = Diagnostic::error("rule-locked", &tool.source, tool.span, message);
            mistake.remedy("leave the tool out here, or ask the owner of that file to declare it")
        });
        return;
    }
    match known {
        Some(known) => *known = tool.clone(),
        None => joined.tools.push(tool.clone()),
    }
}

/// What a rule does to the one it takes the place of.
fn does(rule: &DraftRulesetRule, mode: Mode) -> &'static str {
    match rule.mode.unwrap_or(mode) {
        _ if !rule.enabled => "disables",
        Mode::Observe => "replaces, and only observes,",
        Mode::Enforce => "replaces",
    }
}

fn overriding_severity(rule: &DraftRulesetRule, mode: Mode) -> Severity {
    if does(rule, mode) == "replaces" { Severity::Note } else { Severity::Warning }
}

fn overriding(rule: &DraftRulesetRule, earlier: &DraftRulesetRule, mode: Mode) -> Diagnostic {
    let message = format!("`{}` {} the rule at {}", rule.id, does(rule, mode), place(earlier));
    let note = Diagnostic::note("rule-overridden", &rule.source, rule.id_span, message);
    note.remedy("give it another `id` if both are meant, or the earlier one `locked: true`")
}

fn locked(rule: &DraftRulesetRule, earlier: &DraftRulesetRule, mode: Mode) -> Diagnostic {
    let message =
        format!("`{}` {} the rule at {}, which is locked", rule.id, does(rule, mode), place(earlier));
    let mistake = Diagnostic::error("rule-locked", &rule.source, rule.id_span, message);
    mistake.remedy("give this rule another `id`, or ask the owner of that file")
}

fn place(rule: &DraftRulesetRule) -> String {
    rule.source.place(rule.id_span).to_string()
}
