//! Calls that no session can make: because rules wait for each other, or forbid them altogether.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_petri::prove::{Answer, Label, LabelSet, Rule as Form, RuleId as FormId};

use super::proving::{FindingDraft, Proving, VisibleName, calls_in, listed};

/// A name that no session can call, and why.
pub(super) struct DeadName {
    pub(super) named: VisibleName,
    /// In ascending order; none where it waits for ever, and the reason was not looked for.
    reasons: Option<Vec<FormId>>,
}

impl<'b, 'p> Proving<'_, 'b, 'p> {
    /// The names that no session can ever call.
    pub(super) fn dead(&mut self) -> Vec<DeadName> {
        let prover = &self.both.plain.prover;
        // Most names are seen to be called on one long session: only the others need a question each.
        let seen = prover.seen_to_happen();
        let is_seen = |labels: &LabelSet| labels.iter().any(|label| seen.contains(label));
        let names: Vec<(VisibleName, LabelSet)> =
            self.names.iter().map(|it| (it.clone(), self.calls(it))).collect();
        let names = names.into_iter().filter(|(_, labels)| !labels.is_empty() && !is_seen(labels));
        let (names, calls): (Vec<VisibleName>, Vec<LabelSet>) = names.unzip();
        let searched = calls.iter().filter(|labels| !prover.wait_for_ever(labels)).cloned();
        let mut answers = prover.all_can_call_one_by_one(&searched.collect::<Vec<_>>()).into_iter();
        let mut dead = Vec::new();
        for (named, labels) in names.into_iter().zip(calls) {
            let mut reasons: Option<Vec<FormId>> = None;
            let mut is_dead = self.composed.cut.is_empty();
            let answers = if prover.wait_for_ever(&labels) { None } else { answers.next() };
            for answer in answers.into_iter().flatten() {
                match answer {
                    Answer::No(reason) => reasons.get_or_insert_default().extend(&reason.rules),
                    Answer::Undecided(_) => {
                        is_dead = false;
                        self.undecided.push(format!("whether `{}` can be called", named.name));
                        break;
                    }
                    Answer::Yes(_) => {
                        is_dead = false;
                        break;
                    }
                }
            }
            if let Some(reasons) = &mut reasons {
                reasons.sort_unstable();
                reasons.dedup();
            }
            if let (true, Some(late)) = (is_dead, self.both.late_for(&labels))
                && !late.prover.can_call(&calls_in(late, &named)).is_no()
            {
                is_dead = false;
                self.undecided.push(format!("whether `{}` can be called when results come late", named.name));
            }
            if is_dead {
                dead.push(DeadName { named, reasons });
            }
        }
        dead
    }

    /// `circular`: requirements that wait for each other.
    pub(super) fn cycles(&mut self, dead: &[DeadName]) {
        let mut dead_by_label: BTreeMap<Label, Vec<&Arc<str>>> = BTreeMap::new();
        for it in dead {
            for label in self.calls(&it.named).iter() {
                dead_by_label.entry(label).or_default().push(&it.named.name);
            }
        }
        for cycle in self.composed.system.cycles() {
            let rules = self.rules(cycle.waits.iter().map(|(_, rule)| *rule));
            let on_it = cycle.labels.iter().filter_map(|label| dead_by_label.get(label)).flatten();
            let names: BTreeSet<Arc<str>> = on_it.map(|name| Arc::clone(name)).collect();
            let names: Vec<Arc<str>> = names.into_iter().collect();
            // What holds of results alone is not a rule of an author.
            if rules.is_empty() || names.is_empty() {
                continue;
            }
            let listed = listed(&names);
            let message = match names.len() {
                1 => format!("{listed} waits for itself, so it can never be called"),
                _ => format!("{listed} wait for each other in a circle, so none of them can ever be called"),
            };
            let remedy = "take one of these rules out, or let one of them wait for something else";
            self.find(FindingDraft {
                rules,
                tools: names,
                ..FindingDraft::error("circular", message, remedy)
            });
        }
    }

    /// `dead-tool`: a name that rules speak of and no session can ever call.
    pub(super) fn dead_tools(&mut self, dead: &[DeadName]) {
        let circular = self.findings.iter().filter(|found| found.diagnostic.code == "circular");
        let circular: BTreeSet<Arc<str>> = circular.flat_map(|found| found.tools.iter().cloned()).collect();
        // What the author blocks in so many words is not a finding, and neither is a circle that was reported.
        for DeadName { named, reasons } in dead.iter().filter(|it| !circular.contains(&it.named.name)) {
            let (name, labels) = (&named.name, self.calls(named));
            let waited: Vec<FormId>;
            let reasons = match reasons {
                Some(reasons) => reasons,
                None => {
                    waited = match self.both.plain.prover.can_call(&labels) {
                        Answer::No(reason) => reason.rules,
                        Answer::Yes(_) | Answer::Undecided(_) => continue,
                    };
                    &waited
                }
            };
            let rules = self.rules_about(named, reasons);
            let blocked: BTreeSet<Label> = reasons
                .iter()
                .filter_map(|form| match self.composed.system.rules().get(form.0) {
                    Some(Form::Block(blocked)) if !self.composed.covers.contains_key(form) => Some(blocked),
                    _ => None,
                })
                .flat_map(|blocked| blocked.iter().collect::<Vec<_>>())
                .collect();
            let is_blocked = labels.iter().all(|label| blocked.contains(&label));
            if is_blocked || rules.is_empty() {
                continue;
            }
            let because = self.listed_rules(&rules);
            let message = match rules.len() {
                1 => format!("no session can ever call `{name}`: {because} rules it out"),
                _ => format!("no session can ever call `{name}`: {because} together rule it out"),
            };
            let remedy = "take out or change one of these rules, or block it explicitly";
            let tools = vec![name.clone()];
            self.find(FindingDraft { rules, tools, ..FindingDraft::error("dead-tool", message, remedy) });
        }
    }

    /// `unreachable-approval`: a human who will never be asked.
    pub(super) fn unreachable_approvals(&mut self, dead: &BTreeSet<Label>) {
        for (rule, labels) in &self.composed.human {
            let names = match self.names_of_rule(*rule) {
                names if names.is_empty() => self.names_of_labels(labels),
                names => names,
            };
            if names.is_empty() || labels.is_empty() || !labels.iter().all(|label| dead.contains(&label)) {
                continue;
            }
            let message =
                format!("no human will ever be asked about {}: it can never be called", listed(&names));
            let remedy = "take the rule out, or open the way to the tool";
            let found = FindingDraft::warning("unreachable-approval", message, remedy);
            self.find(FindingDraft { rules: vec![*rule], tools: names, ..found });
        }
    }
}
