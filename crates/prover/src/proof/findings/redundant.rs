//! Rules, and conditions of rules, that change nothing because others already refuse the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_petri::prove::{Answer, Label, Prover, Rule as Form, RuleId as FormId};
use lockgate_policy::{
    Decision, RuleId, ToolName,
    clause::Clause,
    condition::{Condition, Subject},
};

use super::proving::{FindingDraft, Proving, restricted};
use crate::proof::{
    compose::{Requirements, is_as_strict},
    samples::Naming,
    together::Blocks,
};

impl<'b, 'p> Proving<'_, 'b, 'p> {
    /// `redundant` and `unreachable-limit`: rules that change no verdict in any session.
    pub(super) fn redundant(&mut self, dead: &BTreeSet<Label>) {
        let mut forms: BTreeMap<RuleId, usize> = BTreeMap::new();
        let is_own = |form: &FormId| !self.composed.covers.contains_key(form);
        for rule in (0..self.composed.rules.len()).map(FormId).filter(is_own) {
            self.composed.rule(rule).into_iter().for_each(|rule| *forms.entry(rule).or_default() += 1);
        }
        // What rules block whatever the session, in so many words.
        let blocked: BTreeSet<Label> = (0..self.composed.rules.len())
            .map(FormId)
            .filter(is_own)
            .filter_map(|form| match self.composed.system.rules().get(form.0) {
                Some(Form::Block(labels)) => Some(labels.iter().collect::<Vec<_>>()),
                _ => None,
            })
            .flatten()
            .collect();
        let requirements = Requirements::of(&self.composed.system);
        let answers = self.both.plain.prover.all_can_matter();
        let idle =
            answers.iter().zip(0..).filter(|(answer, _)| answer.is_no()).map(|(_, number)| FormId(number));
        let late = self.matter_late(idle.filter(is_own));
        for (number, answer) in answers.into_iter().enumerate() {
            let form = FormId(number);
            let Some(rule) = self.composed.rule(form).filter(|_| is_own(&form)) else { continue };
            // What is not known to the letter may refuse more than is seen here.
            if !self.composed.is_exact(rule) || forms.get(&rule) != Some(&1) || !self.composed.cut.is_empty()
            {
                continue;
            }
            let Some(head) = self.policy.rule(rule) else { continue };
            let reason = match answer {
                Answer::Yes(_) => continue,
                Answer::Undecided(_) => {
                    self.undecided.push(format!("whether `{}` ever changes a verdict", head.name));
                    continue;
                }
                Answer::No(reason) => reason,
            };
            let own = self.composed.system.rules().get(number);
            let is_entangled = own.is_some_and(|own| requirements.entangle(own));
            if is_entangled || late.contains(&form) {
                self.undecided.push(format!("whether `{}` matters when results come late", head.name));
                continue;
            }
            if own.is_some_and(|own| self.is_doubted(form, own)) {
                self.undecided.push(format!(
                    "whether `{}` matters for calls that may not do what they are named for",
                    head.name
                ));
                continue;
            }
            let others: Vec<RuleId> = self.rules(reason.rules.iter().copied().filter(|it| *it != form));
            let names = self.names_of_rule(rule);
            // A tool that can never be called is reported as such; that its rules are idle follows. What is blocked in so
            // many words is not told, so there the idle rule is.
            let restricted = restricted(self.composed.system.rules().get(number));
            let is_dead = restricted.is_some_and(|labels| labels.iter().any(|label| dead.contains(&label)));
            // Of two rules that block the same, neither is reported: one of them has to stay.
            let is_block = matches!(self.composed.system.rules().get(number), Some(Form::Block(_)));
            let is_blocked = !is_block
                && restricted.is_some_and(|labels| labels.iter().all(|label| blocked.contains(&label)));
            if is_dead && !is_blocked {
                continue;
            }
            let is_limit = !is_blocked
                && matches!(
                    self.composed.system.rules().get(number),
                    Some(Form::Limit { .. } | Form::LimitPer { .. })
                );
            let name = &head.name;
            let by = self.already_said_by(&others);
            let (code, message) = if is_limit {
                ("unreachable-limit", format!("`{name}` can never be reached{by}"))
            } else {
                ("redundant", format!("`{name}` changes no verdict in any session{by}"))
            };
            let rules = std::iter::once(rule).chain(others).collect();
            let remedy = "take the rule out, or say what it is meant to add";
            self.find(FindingDraft { rules, tools: names, ..FindingDraft::warning(code, message, remedy) });
        }
    }

    /// Those of some forms of which it is not proved that they change nothing when results come late.
    fn matter_late(&self, forms: impl Iterator<Item = FormId>) -> BTreeSet<FormId> {
        let Some(late) = &self.both.late else { return BTreeSet::new() };
        let rules = self.composed.system.rules();
        let is_near = |form: &FormId| {
            rules.get(form.0).is_some_and(|own| self.both.late_for(&own.alphabet()).is_some())
        };
        let (mut asked, mut found) = (Vec::new(), BTreeSet::new());
        for form in forms.filter(is_near) {
            match late.composed.system.rules().get(form.0) {
                Some(own) => asked.push((late.composed.strict(own), form)),
                None => drop(found.insert(form)),
            }
        }
        let is_idle = late.prover.all_never_violate_instead(&asked);
        found.extend(asked.iter().zip(is_idle).filter(|(_, is_idle)| !is_idle).map(|((_, form), _)| *form));
        found
    }

    /// Whether it is not proved that an idle form changes nothing for calls that earn nothing either.
    fn is_doubted(&self, form: FormId, own: &Form) -> bool {
        let Some(strictest) = self.composed.doubted(own) else { return false };
        let rules = self.composed.system.rules();
        let mut others = rules.iter().enumerate().filter(|(number, _)| *number != form.0);
        if others.any(|(_, other)| is_as_strict(other, own)) {
            return false;
        }
        let asked = [(strictest, form)];
        let never = |prover: &Prover<'_>| prover.all_never_violate_instead(&asked).iter().all(|never| *never);
        !never(&self.both.plain.prover) || self.both.late.as_ref().is_some_and(|late| !never(&late.prover))
    }

    /// `redundant`: rules that look at calls, and block only what other such rules block.
    pub(super) fn redundant_conditions(&mut self, dead: &BTreeSet<Label>) {
        let policy = self.policy;
        let naming = Naming::of(policy);
        let mut blocks: BTreeMap<&str, Option<Blocks<'_>>> = BTreeMap::new();
        let living: BTreeSet<Arc<str>> = self.living(dead).into_iter().map(|named| named.name).collect();
        let mut told: BTreeSet<RuleId> = BTreeSet::new();
        let looks =
            |it: &&Clause| it.acts() && it.wants == Decision::Block && it.conditions.iter().any(is_of_call);
        // Later rules first, and a reported rule makes nothing else redundant: all of it may be taken out together.
        for clause in policy.clauses().iter().rev().filter(looks) {
            let names = naming.of_clause(clause.id);
            let exact = names.iter().map(|name| match name {
                Some(ToolName::Exact(tool)) => Some(tool.as_str()),
                Some(ToolName::Matching(_)) | None => None,
            });
            let Some(tools) = exact.collect::<Option<Vec<&str>>>().filter(|tools| !tools.is_empty()) else {
                continue;
            };
            if tools.iter().any(|tool| !living.contains(*tool)) {
                continue;
            }
            let mut others: BTreeSet<RuleId> = BTreeSet::new();
            let is_idle = tools.iter().all(|tool| {
                let blocks = blocks.entry(tool).or_insert_with(|| Blocks::of(policy, tool));
                let instead = blocks.as_ref().and_then(|it| it.instead_of(clause, &told));
                others.extend(instead.iter().flatten());
                instead.is_some()
            });
            if !is_idle {
                continue;
            }
            told.insert(clause.id);
            let others: Vec<RuleId> = others.into_iter().collect();
            let by = self.already_said_by(&others);
            let message = format!("`{}` changes no verdict in any session{by}", clause.name);
            let remedy = "take the rule out, or say what it is meant to add";
            let rules = std::iter::once(clause.id).chain(others).collect();
            let tools = tools.into_iter().map(Arc::from).collect();
            self.find(FindingDraft { rules, tools, ..FindingDraft::warning("redundant", message, remedy) });
        }
    }

    fn already_said_by(&self, rules: &[RuleId]) -> String {
        match rules {
            [] => String::new(),
            [_] => format!(": {} already says so", self.listed_rules(rules)),
            _ => format!(": {} already say so", self.listed_rules(rules)),
        }
    }
}

/// Whether a condition is about the call, and not about the session or the hour.
fn is_of_call(condition: &Condition) -> bool {
    match condition {
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) => true,
        Condition::Value(value) => !matches!(value.subject, Subject::Session(_)),
        _ => false,
    }
}
