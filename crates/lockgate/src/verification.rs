//! What is known about a policy before an agent starts.
//!
//! [`Verification`] has the findings of the linter and the prover, without those that the author accepts, and the claims.
//! It serialises to the documented JSON of `lockgate verify --json`.

mod form;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lockgate_gate::Rulebook;
use lockgate_languages::{AcceptedFinding, accept};
use lockgate_policy::{Diagnostic, NetRule, Policy, Rule, Severity, Source};
use lockgate_prover::{Finding, NetReport, Proved, ProvedClaim, prove, verify};
use serde::Serialize;

/// What is known about a policy before an agent starts.
#[derive(Debug)]
pub struct Verification {
    policy: Option<Arc<Policy>>,
    nets: Vec<NetReport>,
    findings: Vec<Diagnostic>,
    accepted: Vec<AcceptedFinding>,
    proved: Option<Proved>,
}

impl Verification {
    /// Looks at a policy; one that does not load has only findings. For the doors of this repository.
    #[doc(hidden)]
    pub fn of(rulebook: Option<&Rulebook>, mut findings: Vec<Diagnostic>, sources: &[Source]) -> Self {
        let policy = rulebook.map(|rulebook| Arc::clone(&rulebook.policy));
        let (nets, further) = policy.as_deref().map(verify).unwrap_or_default();
        findings.extend(further);
        let proved = rulebook.map(prove);
        findings.extend(proved.iter().flat_map(|it| &it.findings).map(|it| it.diagnostic.clone()));
        let (findings, accepted) = match policy {
            Some(_) => accept(findings, sources),
            // What keeps a policy from loading cannot be accepted, and what it hides was not looked for.
            None => {
                let is_mistake = |it: &Diagnostic| it.severity == Severity::Error;
                let (mistakes, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_mistake);
                let (others, accepted) = accept(others, sources);
                let others = others.into_iter().filter(|it| it.code != "idle-acceptance");
                (mistakes.into_iter().chain(others).collect(), accepted)
            }
        };
        Self { policy, nets, findings, accepted, proved }
    }

    /// What the author should know, mistakes first where the policy does not load.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// Each claim of the policy with what became of it; none where the policy does not load.
    pub fn claims(&self) -> &[ProvedClaim] {
        self.proved.as_ref().map(|proved| proved.claims.as_slice()).unwrap_or_default()
    }

    /// Each net by itself.
    pub fn nets(&self) -> &[NetReport] {
        &self.nets
    }

    /// Whether a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Whether every net was explored completely, every rule is modelled exactly and every question was decided.
    pub fn is_exact(&self) -> bool {
        self.has_all_states() && self.proved.as_ref().is_some_and(Proved::is_exact)
    }

    /// Whether every net was explored completely.
    pub fn has_all_states(&self) -> bool {
        self.policy.is_some() && self.nets.iter().all(|net| net.is_exact)
    }

    /// How many markings all nets have together, each by itself.
    pub fn states(&self) -> u64 {
        self.nets.iter().fold(0, |sum, net| sum.saturating_add(net.states))
    }

    /// How many groups of rules there are that share no name with each other.
    pub fn components(&self) -> usize {
        match &self.policy {
            // A workflow has a say about every tool, open or not, so it is in one group with all others.
            Some(policy) if !policy.workflows().is_empty() => 1,
            Some(policy) => components(policy.nets()),
            None => 0,
        }
    }

    /// What was not decided, beside claims.
    pub fn undecided(&self) -> &[String] {
        self.proved.as_ref().map(|proved| proved.undecided.as_slice()).unwrap_or_default()
    }

    /// The rules that the proof does not know to the letter.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOutRule<'_>> {
        let mut last = None;
        self.proved.iter().flat_map(|it| &it.left_out).filter_map(move |left| {
            let rule = self.policy()?.rule(left.rule)?;
            let why = left.why.words();
            // A rule that is lowered to several is one for its author.
            let written = Some((rule.name.as_str(), &rule.place, why));
            let is_new = last != written;
            last = written;
            is_new.then_some(LeftOutRule { rule: &rule.name, why })
        })
    }

    /// The findings that the author accepts with a reason.
    #[doc(hidden)]
    pub fn accepted(&self) -> &[AcceptedFinding] {
        &self.accepted
    }

    /// The policy as the gate reads it; none where it does not load.
    #[doc(hidden)]
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_deref()
    }

    /// All rules as they are written, in file order: one that is lowered to several is one.
    #[doc(hidden)]
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        let mut last = None;
        self.policy().into_iter().flat_map(Policy::rules).filter(move |rule| {
            let written = Some((rule.name.as_str(), &rule.place));
            let is_new = last != written;
            last = written;
            is_new
        })
    }

    /// The findings that a session shows, with the session.
    #[doc(hidden)]
    pub fn shown_findings(&self) -> impl Iterator<Item = &Finding> {
        let told: HashSet<_> = self.findings.iter().map(key_of).collect();
        let is_told = move |it: &&Finding| !it.session.is_empty() && told.contains(&key_of(&it.diagnostic));
        self.proved_findings().filter(is_told)
    }

    fn proved_findings(&self) -> impl Iterator<Item = &Finding> {
        self.proved.iter().flat_map(|proved| &proved.findings)
    }
}

/// What tells a finding from all others.
fn key_of(finding: &Diagnostic) -> (&str, &str, &str, usize, usize) {
    (finding.code, &finding.message, finding.source.name(), finding.span.start, finding.span.end)
}

/// A rule that the proof does not know to the letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOutRule<'a> {
    /// The name of the rule.
    pub rule: &'a str,
    /// Why, in words.
    pub why: &'static str,
}

/// How many groups of rules there are that share no name with each other.
fn components(rules: &[NetRule]) -> usize {
    let mut group_of: Vec<usize> = (0..rules.len()).collect();
    let mut first_with: HashMap<Arc<str>, usize> = HashMap::new();
    let mut groups = rules.len();
    for (index, rule) in rules.iter().enumerate() {
        for name in rule.net.names() {
            let first = *first_with.entry(name).or_insert(index);
            let (one, other) = (leader(&mut group_of, first), leader(&mut group_of, index));
            if let (true, Some(group)) = (one != other, group_of.get_mut(other)) {
                *group = one;
                groups -= 1;
            }
        }
    }
    groups
}

/// The rule that stands for a rule's group. Every look shortens the way for the next one.
fn leader(group_of: &mut [usize], mut index: usize) -> usize {
    while let Some(above) = group_of.get(index).copied().filter(|above| *above != index) {
        let beyond = group_of.get(above).copied().unwrap_or(above);
        if let Some(group) = group_of.get_mut(index) {
            *group = beyond;
        }
        index = above;
    }
    index
}

#[cfg(test)]
mod tests {
    #[test]
    fn rules_that_share_a_name_are_one_group() {
        for (rules, groups) in [
            ("block a", 1),
            ("block a\nblock b", 2),
            ("block a\nrequire a before b\nlimit b to 2 per session", 1),
            ("require a before b\nrequire c before d\nrequire b before c\nblock e", 2),
            ("limit a to 2 per b\nlimit c to 2 per d\nlimit d to 2 per e\nlimit e to 2 per b", 1),
        ] {
            assert_eq!(crate::Policy::rules(rules).unwrap().verify().components(), groups, "{rules}");
        }
    }
}
