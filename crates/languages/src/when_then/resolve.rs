//! Joins the when/then files of a policy: fills in what rules extend, and drops those that are off.
//!
//! A rule takes over everything it does not say itself from the rule it extends, wherever that one stands. What it
//! says about one field, attribute, key of the context or of the sender replaces all that the other says about the
//! same one; what it says about others is added. The extended rule stays in force. Among several
//! `default_verdict`s the strictest counts.

use std::{cmp::Reverse, collections::BTreeMap};

use lockgate_policy::{Decision, Diagnostic, Source, Span, closest, condition::SenderField};

use crate::draft::Draft;
use crate::draft::when_then::DraftClause;

/// How many rules may extend one another in a row.
pub(super) const EXTENDS_DEPTH_MAX: usize = 32;
/// How many unknown rules get a guess at the one that was meant: guessing looks at every rule.
const GUESSES_MAX: usize = 20;

/// Completes the rules of all files together. Afterwards every rule left says what it wants.
pub(crate) fn resolve(drafts: &mut [Draft]) -> Vec<Diagnostic> {
    let mut family = Family::of(drafts);
    let parents = family.parents();
    let order = family.order(&parents);
    let mut resolved: Vec<Option<DraftClause>> = vec![None; family.rules.len()];
    for index in order {
        let Some((source, clause)) = family.rules.get(index).cloned() else { continue };
        let parent = parents.get(index).copied().flatten().and_then(|parent| resolved.get(parent)?.as_ref());
        let complete = match parent {
            Some(parent) => {
                family.mistakes.extend(inherits_being_off(&source, &clause, parent));
                Some(inherit(clause, parent))
            }
            None => Some(clause).filter(|clause| clause.extends.is_none()),
        };
        if let Some(place) = resolved.get_mut(index) {
            *place = complete;
        }
    }
    let mut mistakes = family.mistakes;
    let default = join_defaults(drafts, &mut mistakes);
    let mut resolved = resolved.into_iter();
    for draft in drafts {
        mistakes.extend(idle_sentences(draft, default));
        let written = std::mem::take(&mut draft.when_then.rules);
        let mut kept = Vec::with_capacity(written.len());
        for written in written {
            kept.extend(settle(draft, written, resolved.next().flatten(), default, &mut mistakes));
        }
        draft.when_then.rules = kept;
    }
    mistakes
}

/// All rules of all files, numbered in order.
struct Family {
    rules: Vec<(Source, DraftClause)>,
    by_id: BTreeMap<String, usize>,
    mistakes: Vec<Diagnostic>,
}

impl Family {
    fn of(drafts: &[Draft]) -> Self {
        let rules = drafts
            .iter()
            .flat_map(|draft| draft.when_then.rules.iter().map(|rule| (draft.source.clone(), rule.clone())));
        let mut family = Self { rules: rules.collect(), by_id: BTreeMap::new(), mistakes: Vec::new() };
        for (index, (source, rule)) in
            family.rules.iter().enumerate().filter(|(_, (_, rule))| !rule.id.is_empty())
        {
            match family.by_id.get(&rule.id).and_then(|first| family.rules.get(*first)) {
                Some((first_source, first)) => {
                    let place = first_source.place(first.id_span);
                    let message = format!("`{}` is already the id of the rule at {place}", rule.id);
                    let mistake = Diagnostic::error("duplicate-id", source, rule.id_span, message);
                    family.mistakes.push(mistake.remedy("rename one of them, or leave it out"));
                }
                None => {
                    family.by_id.insert(rule.id.clone(), index);
                }
            }
        }
        family
    }

    /// The rule that each rule extends.
    fn parents(&mut self) -> Vec<Option<usize>> {
        let mut parents = Vec::with_capacity(self.rules.len());
        let mut guesses = 0;
        for (source, rule) in &self.rules {
            let parent = rule.extends.as_ref().and_then(|(name, span)| {
                let parent = self.by_id.get(name).copied();
                if parent.is_none() {
                    guesses += 1;
                    let ids = self.by_id.keys().map(String::as_str);
                    let remedy = match closest(name, ids).filter(|_| guesses <= GUESSES_MAX) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => "name the `id` of a rule of this policy".to_owned(),
                    };
                    let message = format!("no rule is called `{name}`");
                    self.mistakes
                        .push(Diagnostic::error("unknown-rule", source, *span, message).remedy(remedy));
                }
                parent
            });
            parents.push(parent);
        }
        parents
    }

    /// The rules in an order in which each comes after the one it extends, without those in a circle.
    fn order(&mut self, parents: &[Option<usize>]) -> Vec<usize> {
        let mut depths: Vec<Option<usize>> = vec![None; parents.len()];
        let mut is_seen = vec![false; parents.len()];
        let mut order = Vec::with_capacity(parents.len());
        for start in 0..parents.len() {
            let mut path = Vec::new();
            let mut next = Some(start);
            while let Some(rule) = next.filter(|rule| is_seen.get(*rule) == Some(&false)) {
                if let Some(seen) = is_seen.get_mut(rule) {
                    *seen = true;
                }
                path.push(rule);
                next = parents.get(rule).copied().flatten();
            }
            if let Some(first) = next.and_then(|rule| path.iter().position(|other| *other == rule)) {
                self.report_circle(path.get(first..).unwrap_or_default());
                continue;
            }
            let mut depth = match next {
                // A rule that leads into a circle has no way to say what it takes over.
                Some(known) => match depths.get(known).copied().flatten() {
                    Some(depth) => depth + 1,
                    None => continue,
                },
                None => 0,
            };
            while let Some(rule) = path.pop() {
                if depth > EXTENDS_DEPTH_MAX {
                    self.report_depth(rule);
                    break;
                }
                if let Some(place) = depths.get_mut(rule) {
                    *place = Some(depth);
                }
                order.push(rule);
                depth += 1;
            }
        }
        order
    }

    fn report_circle(&mut self, circle: &[usize]) {
        let Some((source, rule)) = circle.iter().min().and_then(|first| self.rules.get(*first)) else {
            return;
        };
        let ids: Vec<String> = circle
            .iter()
            .chain(circle.first())
            .filter_map(|rule| self.rules.get(*rule))
            .map(|(_, rule)| format!("`{}`", rule.id))
            .take(EXTENDS_DEPTH_MAX)
            .collect();
        let span = rule.extends.as_ref().map_or(rule.id_span, |(_, span)| *span);
        let message = format!("rules extend one another in a circle: {}", ids.join(", "));
        self.mistakes.push(
            Diagnostic::error("extends-circle", source, span, message)
                .remedy("leave `extends` out of one of them, and write out what it takes over"),
        );
    }

    fn report_depth(&mut self, rule: usize) {
        let Some((source, rule)) = self.rules.get(rule) else { return };
        let message = format!("more than {EXTENDS_DEPTH_MAX} rules extend one another in a row");
        let span = rule.extends.as_ref().map_or(rule.id_span, |(_, span)| *span);
        self.mistakes.push(
            Diagnostic::error("extends-depth", source, span, message)
                .remedy("extend a rule further up instead"),
        );
    }
}

/// The rule with everything it does not say itself taken from the one it extends.
fn inherit(child: DraftClause, parent: &DraftClause) -> DraftClause {
    let mut held_back = parent.held_back.clone();
    held_back.extend(child.held_back);
    DraftClause {
        id: child.id,
        id_span: child.id_span,
        span: child.span,
        extends: child.extends,
        description: child.description.or_else(|| parent.description.clone()),
        message: child.message.or_else(|| parent.message.clone()),
        then: child.then.or(parent.then),
        severity: child.severity.or(parent.severity),
        priority: child.priority.or(parent.priority),
        enabled: child.enabled.or(parent.enabled),
        approval_strategy: child.approval_strategy.or(parent.approval_strategy),
        mode: child.mode.or(parent.mode),
        tools: child.tools.or_else(|| parent.tools.clone()),
        effects: child.effects.or_else(|| parent.effects.clone()),
        args: merge(child.args, &parent.args),
        session: merge(child.session, &parent.session),
        sender: merge::<SenderField, _>(child.sender, &parent.sender),
        time_of_day: child.time_of_day.or(parent.time_of_day),
        day_of_week: child.day_of_week.or(parent.day_of_week),
        context: merge(child.context, &parent.context),
        chain: child.chain.or_else(|| parent.chain.clone()),
        held_back,
    }
}

fn merge<K: PartialEq + Clone, V: Clone>(own: Vec<(K, V)>, parents: &[(K, V)]) -> Vec<(K, V)> {
    let mut merged: Vec<(K, V)> =
        parents.iter().filter(|(key, _)| !own.iter().any(|(taken, _)| taken == key)).cloned().collect();
    merged.extend(own);
    merged
}

fn inherits_being_off(source: &Source, child: &DraftClause, parent: &DraftClause) -> Option<Diagnostic> {
    let (_, span) = child.extends.as_ref()?;
    (child.enabled.is_none() && parent.enabled == Some(false)).then(|| {
        let message = format!("`{}` is off because `{}` is", child.id, parent.id);
        Diagnostic::warning("inherits-off", source, *span, message)
            .label("takes over `enabled: false`")
            .remedy("add `enabled: true` to it, or `enabled: false` to show that this is meant")
    })
}

/// The strictest of all `default_verdict`s, which is then that of every file that has one.
fn join_defaults(drafts: &mut [Draft], mistakes: &mut Vec<Diagnostic>) -> Decision {
    let given = drafts.iter().filter_map(|draft| {
        let when_then = &draft.when_then;
        Some((when_then.default_verdict?, when_then.mode, draft.source.clone()))
    });
    // One that only observes would let pass what another file's closes.
    let Some(((strictest, span), _, strict_source)) =
        given.min_by_key(|((decision, _), mode, _)| Reverse((*mode, *decision)))
    else {
        return Decision::Allow;
    };
    for draft in drafts {
        let Some((decision, own)) = &mut draft.when_then.default_verdict else { continue };
        if *decision != strictest {
            let message = format!(
                "this `default_verdict` does not count: {} says `{}`",
                strict_source.place(span),
                strict_source.slice(span)
            );
            mistakes.push(
                Diagnostic::warning("other-default", &draft.module.source, *own, message)
                    .label("the strictest of a policy counts")
                    .remedy("write the same in both files, or leave this one out"),
            );
            *decision = strictest;
        }
    }
    strictest
}

/// A rule as it counts, if it is on: complete, and with what its file says for all of its rules. What could not be
/// completed, which has been told, stays as written.
fn settle(
    draft: &Draft,
    written: DraftClause,
    complete: Option<DraftClause>,
    default: Decision,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<DraftClause> {
    if written.enabled == Some(false) {
        let message = format!("the rule `{}` is off", written.id);
        let note = Diagnostic::note("disabled-rule", &draft.source, written.id_span, message);
        mistakes.push(note.label("counts for nothing"));
    }
    let is_complete = complete.is_some();
    let mut rule = complete.unwrap_or(written);
    if rule.enabled == Some(false) {
        return None;
    }
    for mistake in std::mem::take(&mut rule.held_back) {
        if !mistakes.contains(&mistake) {
            mistakes.push(mistake);
        }
    }
    match rule.then {
        None if is_complete => mistakes.push(missing_then(draft, &rule)),
        Some(Decision::Allow) if default == Decision::Allow => mistakes.push(idle_allow(draft, &rule)),
        _ => {}
    }
    rule.mode = rule.mode.or(Some(draft.when_then.mode));
    if rule.then == Some(Decision::Ask) {
        rule.approval_strategy = rule.approval_strategy.or(draft.when_then.approval_strategy);
    }
    rule.chain = rule.chain.filter(|chain| !chain.steps.is_empty());
    Some(rule)
}

fn missing_then(draft: &Draft, rule: &DraftClause) -> Diagnostic {
    let message = match &rule.extends {
        None => format!("the rule `{}` has no `then`", rule.id),
        Some((parent, _)) => format!("neither `{}` nor `{parent}`, which it extends, has a `then`", rule.id),
    };
    Diagnostic::error("missing-key", &draft.source, rule.id_span, message)
        .remedy("add `then: block`, or one of `approve`, `redact`, `allow`")
}

/// `allow` lines where nothing is closed otherwise.
fn idle_sentences(draft: &Draft, default: Decision) -> Vec<Diagnostic> {
    let allows = draft.sentences.rules.iter().filter(|it| it.wants == Decision::Allow);
    let idle = |span: Span| {
        let message =
            "this `allow` line changes nothing: what no rule restricts is allowed anyway".to_owned();
        Diagnostic::warning("idle-allow", &draft.source, span, message)
            .label("opens nothing")
            .remedy("write `otherwise block`, or leave the line out: it makes no exception to other lines")
    };
    allows.filter(|_| default == Decision::Allow).map(|it| idle(it.span)).collect()
}

fn idle_allow(draft: &Draft, rule: &DraftClause) -> Diagnostic {
    let message = format!("`{}` changes nothing: what no rule restricts is allowed anyway", rule.id);
    Diagnostic::warning("idle-allow", &draft.source, rule.id_span, message).label("opens nothing").remedy(
        "write `default_verdict: block`, or leave the rule out: it makes no exception to stricter ones",
    )
}
