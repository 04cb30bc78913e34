//! Rules of two policies that the proof does not represent exactly, compared by their text.

use std::{collections::BTreeSet, sync::Arc};

use lockgate_pattern::Match;
use lockgate_policy::{
    Decision, Policy, RuleId, ToolName,
    clause::{Clause, Standing},
};

use super::{Change, ComparedPolicy};
use crate::proof::{compose::LeftOutReason, fingerprint::fingerprint, samples::Naming};

/// A rule that has to be compared as it is written.
struct LooseRule {
    pub(in crate::proof) rule: RuleId,
    fingerprint: String,
    tools: Vec<Arc<str>>,
    why: &'static str,
}

impl ComparedPolicy<'_> {
    /// The rules of this one that the system does not know to the letter and the other one does not have.
    pub(in crate::proof) fn looks_otherwise_than(&self, other: &Self) -> Vec<Change> {
        let mut theirs: Vec<String> =
            other.loose_rules(self).iter().map(|loose| loose.fingerprint.clone()).collect();
        let mut changes = Vec::new();
        let covers = self.always_in_both(other);
        let naming = Naming::of(self.policy);
        for LooseRule { rule, fingerprint, tools, why } in self.loose_rules(other) {
            let clause = self.policy.clause(rule);
            let is_idle = |clause| {
                covers.iter().any(|it| is_covered(clause, it, &naming))
                    || self.is_the_default(clause, &naming) && other.is_the_default(clause, &naming)
            };
            if clause.is_some_and(is_idle) {
                continue;
            }
            // What lets pass decides nothing where silence is a yes, and is not a difference where both say it.
            let is_yes = |clause: &Clause| clause.wants < Decision::Ask;
            if clause.is_some_and(is_yes) && other.says(&fingerprint) {
                continue;
            }
            match theirs.iter().position(|it| *it == fingerprint) {
                Some(place) => drop(theirs.swap_remove(place)),
                None => {
                    let asks = self.policy.clause(rule).is_some_and(|clause| clause.wants == Decision::Ask);
                    changes.push(self.undecided(rule, asks, tools, why.to_owned()));
                }
            }
        }
        changes
    }

    /// The clauses of both that want something whatever the call.
    fn always_in_both(&self, other: &Self) -> Vec<&Clause> {
        let always = |of: &'_ Self| {
            let naming = Naming::of(of.policy);
            let default = of.policy.default_clause().map(|clause| clause.id);
            // A rule that lets an answer stand asks less often than one that does not.
            let asks_each_time = |clause: &Clause| {
                clause.wants == Decision::Ask
                    && clause.standing == Standing::Once
                    && !clause.timeout.as_ref().is_some_and(|timeout| timeout.allows)
            };
            let is_it = |clause: &&Clause| {
                clause.acts()
                    && clause.conditions.is_empty()
                    && (clause.wants == Decision::Block || asks_each_time(clause))
                    && Some(clause.id) != default
            };
            let clauses = of.policy.clauses().iter().filter(is_it);
            clauses.map(|clause| (clause.id, fingerprint(of.policy, &naming, clause.id))).collect::<Vec<_>>()
        };
        let theirs: BTreeSet<String> =
            always(other).into_iter().map(|(_, fingerprint)| fingerprint).collect();
        let mine = always(self).into_iter().filter(|(_, fingerprint)| theirs.contains(fingerprint));
        mine.filter_map(|(rule, _)| self.policy.clause(rule)).collect()
    }

    /// Whether a clause wants what is decided without it: the default, which no rule opens for these tools.
    fn is_the_default(&self, clause: &Clause, naming: &Naming) -> bool {
        let Some(default) = self.policy.default_clause().filter(|default| default.acts()) else {
            return false;
        };
        let opens = |it: &Clause| it.wants < default.wants;
        let is_open = match naming.of_clause(clause.id) {
            [] => true,
            names => names.iter().any(|name| match name {
                Some(ToolName::Exact(name)) => self.policy.clauses_about(name).any(opens),
                Some(ToolName::Matching(_)) | None => self.policy.clauses().iter().any(opens),
            }),
        };
        let is_plain = clause.standing == Standing::Once && clause.timeout.is_none();
        clause.id != default.id && clause.wants == default.wants && is_plain && !is_open
    }

    /// What has to be compared as it is written.
    /// Whether some clause says just this.
    fn says(&self, wanted: &str) -> bool {
        let naming = Naming::of(self.policy);
        self.policy.clauses().iter().any(|clause| fingerprint(self.policy, &naming, clause.id) == wanted)
    }

    fn loose_rules(&self, other: &Self) -> Vec<LooseRule> {
        let naming = Naming::of(self.policy);
        let mut found: Vec<LooseRule> = Vec::new();
        let mut known: BTreeSet<RuleId> = BTreeSet::new();
        for left in self.composed.left_out.iter().filter(|left| known.insert(left.rule)) {
            // A net or a workflow knows calls by their names, and maps may give others.
            let seen = if self.policy.clause(left.rule).is_some() {
                String::new()
            } else {
                format!("{:?}", left.labels)
            };
            let names = left.labels.iter().filter_map(|label| Some(self.composed.act(label)?.way.deed()));
            let tools: BTreeSet<Arc<str>> = names.collect();
            found.push(LooseRule {
                rule: left.rule,
                fingerprint: format!("{seen}{}", fingerprint(self.policy, &naming, left.rule)),
                tools: tools.into_iter().collect(),
                why: left.why.words(),
            });
        }
        let has_default = |policy: &Policy| {
            policy.default_clause().is_some_and(|clause| clause.acts() && clause.wants >= Decision::Ask)
        };
        let has_default = has_default(self.policy) && has_default(other.policy);
        for clause in self.policy.clauses().iter().filter(|it| it.acts() && !known.contains(&it.id)) {
            let Some(why) = why_loose(clause, &naming, has_default) else { continue };
            let tools = clause.tools.iter().map(|tool| Arc::from(tool.as_str())).collect();
            let fingerprint = fingerprint(self.policy, &naming, clause.id);
            found.push(LooseRule { rule: clause.id, fingerprint, tools, why });
        }
        found
    }
}

/// Why the system does not know all of what a clause says, though it does not say so.
fn why_loose(clause: &Clause, naming: &Naming, has_default: bool) -> Option<&'static str> {
    match clause.wants {
        // These matter where they speak in the place of the default.
        Decision::Allow | Decision::Redact => {
            (has_default && clause.speaks_for_default).then(|| LeftOutReason::Looks.words())
        }
        Decision::Ask if clause.standing != Standing::Once => {
            Some("a human's answer to it stands for later calls")
        }
        Decision::Ask if clause.timeout.is_some_and(|timeout| timeout.allows) => {
            Some("a timeout counts as approval")
        }
        Decision::Ask | Decision::Block => {
            let names = naming.of_clause(clause.id);
            let is_exact = |name: &Option<ToolName>| matches!(name, Some(ToolName::Exact(_)));
            let is_known = !names.is_empty() && names.iter().all(is_exact);
            // A trap, the default and a rule that names tools by a pattern are about tools without a name in the policy.
            let is_known = is_known && naming.trap(clause.id).is_none();
            (!is_known).then_some("it is about tools that no rule names")
        }
    }
}

/// Whether a clause makes no difference beside another one that always wants as much, of the same tools.
fn is_covered(clause: &Clause, by: &Clause, naming: &Naming) -> bool {
    let is_as_strict = by.wants >= clause.wants && (by.wants == Decision::Block || by.speaks_for_default);
    if clause.id == by.id || !is_as_strict {
        return false;
    }
    let covering = naming.of_clause(by.id);
    let is_every = |name: &Option<ToolName>| match name {
        None => true,
        Some(ToolName::Matching(pattern)) => pattern.to_string() == "*",
        Some(ToolName::Exact(_)) => false,
    };
    let is_taken = |name: &Option<ToolName>| match name {
        Some(ToolName::Exact(name)) => covering.iter().flatten().any(|it| match it {
            ToolName::Exact(other) => other == name,
            ToolName::Matching(pattern) => matches!(pattern.find(name), Match::At(_)),
        }),
        Some(ToolName::Matching(pattern)) => covering.iter().flatten().any(|it| match it {
            ToolName::Exact(_) => false,
            ToolName::Matching(other) => other.key() == pattern.key(),
        }),
        None => false,
    };
    let names = naming.of_clause(clause.id);
    covering.iter().any(is_every) || !names.is_empty() && names.iter().all(is_taken)
}
