//! A proof on its way: the policy, its composed system, and what was found so far.
//!
//! All kinds of findings share the questions here: which rules and names a part of the system stands for, and how a
//! finding becomes a diagnostic at its first rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_pattern::ToolGlob;
use lockgate_petri::prove::{Label, LabelSet, Rule as Form, RuleId as FormId};
use lockgate_policy::{Diagnostic, Policy, Rule, RuleId, Severity, Statement};

use crate::proof::{
    compose::{Composed, Played, ProofModel, ProofModels},
    labels::Labels,
};

/// Something about the policy as a whole.
#[derive(Clone, Debug)]
pub struct ProofFinding {
    /// The message and its place.
    pub diagnostic: Diagnostic,
    /// The rules it rests on, the first one first.
    pub rules: Vec<RuleId>,
    /// The tools it is about.
    pub tools: Vec<Arc<str>>,
    /// The session that shows it, where there is one.
    pub trace: Vec<Played>,
}

/// How many rules a message names; of more, the first ones and how many there are. The finding itself has all of them.
const RULES_LISTED_MAX: usize = 20;

pub(super) struct Proving<'a, 'b, 'p> {
    pub(super) policy: &'a Policy,
    pub(super) both: &'a ProofModels<'b, 'p>,
    /// Calls one after another.
    pub(super) composed: &'a Composed,
    pub(super) names: Vec<VisibleName>,
    pub(super) findings: Vec<ProofFinding>,
    pub(super) undecided: Vec<String>,
}

impl<'b, 'p> Proving<'_, 'b, 'p> {
    pub(super) fn calls(&self, named: &VisibleName) -> LabelSet {
        calls_in(&self.both.plain, named)
    }

    /// The names that some session can call.
    pub(super) fn living(&self, dead: &BTreeSet<Label>) -> Vec<VisibleName> {
        let lives = |named: &&VisibleName| self.calls(named).iter().any(|label| !dead.contains(&label));
        self.names.iter().filter(lives).cloned().collect()
    }

    pub(super) fn rules(&self, forms: impl IntoIterator<Item = FormId>) -> Vec<RuleId> {
        let mut rules: Vec<RuleId> =
            forms.into_iter().flat_map(|form| self.composed.rules_of(form)).copied().collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// The same, those first that know a name as it is meant, then those that close it.
    pub(super) fn rules_about(&self, named: &VisibleName, forms: &[FormId]) -> Vec<RuleId> {
        let goal = self.calls(named);
        let closes = |form: &&FormId| {
            let labels = restricted(self.composed.system.rules().get(form.0));
            labels.is_none_or(|labels| goal.iter().any(|label| labels.contains(label)))
        };
        let closing: BTreeSet<RuleId> =
            forms.iter().filter(closes).flat_map(|form| self.composed.rules_of(*form)).copied().collect();
        let mut parts: [Vec<RuleId>; 4] = Default::default();
        for rule in self.rules(forms.iter().copied()) {
            let part = match (named.by.contains(&rule), closing.contains(&rule)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            parts.get_mut(part).into_iter().for_each(|part| part.push(rule));
        }
        parts.concat()
    }

    pub(super) fn names_of_labels(&self, labels: &LabelSet) -> Vec<Arc<str>> {
        let deed = |label: Label| self.composed.act(label).map(|act| act.way.deed());
        let names: BTreeSet<Arc<str>> = labels.iter().filter_map(deed).collect();
        names.into_iter().collect()
    }

    /// The names that a rule restricts.
    pub(super) fn names_of_rule(&self, rule: RuleId) -> Vec<Arc<str>> {
        if let Some(clause) = self.policy.clause(rule) {
            return clause.tools.iter().map(|tool| Arc::from(tool.as_str())).collect();
        }
        let Some(net) = self.policy.net(rule) else { return Vec::new() };
        match &net.statement {
            Statement::Sequence { dependent: tool, .. }
            | Statement::Approval { tool }
            | Statement::Block { tool }
            | Statement::Limit { tool, .. } => net.members(tool).into_iter().map(Arc::from).collect(),
            Statement::Net(_) => net.net.names(),
        }
    }

    pub(super) fn listed_rules(&self, rules: &[RuleId]) -> String {
        let words = |rule: &Rule| format!("`{}` ({}:{})", rule.name, rule.place.file, rule.place.line);
        let known = rules.iter().filter_map(|rule| self.policy.rule(*rule));
        let mut names: Vec<String> = known.take(RULES_LISTED_MAX).map(words).collect();
        if rules.len() > RULES_LISTED_MAX {
            names.push(format!("and {} more", rules.len() - RULES_LISTED_MAX));
        }
        names.join(", ")
    }

    pub(super) fn find(&mut self, found: FindingDraft) {
        let Some(rule) = found.rules.first().and_then(|rule| self.policy.rule(*rule)) else { return };
        let diagnostic = Diagnostic {
            code: found.code,
            severity: found.severity,
            message: found.message.clone(),
            source: rule.source.clone(),
            span: rule.span,
            label: String::new(),
            remedy: Some(found.remedy.to_owned()),
        };
        let FindingDraft { rules, tools, trace, .. } = found;
        self.findings.push(ProofFinding { diagnostic, rules, tools, trace });
    }
}

/// A finding on its way.
pub(super) struct FindingDraft {
    pub(super) code: &'static str,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) remedy: &'static str,
    pub(super) rules: Vec<RuleId>,
    pub(super) tools: Vec<Arc<str>>,
    pub(super) trace: Vec<Played>,
}

impl FindingDraft {
    pub(super) fn new(severity: Severity, code: &'static str, message: String, remedy: &'static str) -> Self {
        Self { code, severity, message, remedy, rules: Vec::new(), tools: Vec::new(), trace: Vec::new() }
    }

    pub(super) fn error(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Error, code, message, remedy)
    }

    pub(super) fn warning(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Warning, code, message, remedy)
    }

    pub(super) fn note(code: &'static str, message: String, remedy: &'static str) -> Self {
        Self::new(Severity::Note, code, message, remedy)
    }
}

/// A name as some rules see it.
#[derive(Clone, Debug)]
pub(super) struct VisibleName {
    pub(super) name: Arc<str>,
    /// The ways it is called.
    ways: Vec<usize>,
    /// The rules that see it so.
    by: BTreeSet<RuleId>,
}

/// The names that rules speak of, each once for all rules that mean the same by it.
pub(super) fn names(policy: &Policy, labels: &Labels<'_>) -> Vec<VisibleName> {
    let mut names: BTreeMap<(Arc<str>, Option<RuleId>), Vec<usize>> = BTreeMap::new();
    let mut add = |name: &Arc<str>, rule: Option<RuleId>, way: usize| {
        let ways = names.entry((name.clone(), rule)).or_default();
        if ways.last() != Some(&way) {
            ways.push(way);
        }
    };
    let named: BTreeSet<&str> =
        policy.clauses().iter().flat_map(|clause| &clause.tools).map(String::as_str).collect();
    let staged: BTreeSet<String> = policy
        .workflows()
        .iter()
        .flat_map(|workflow| &workflow.stages)
        .flat_map(|stage| stage.tools.iter().flatten().filter_map(ToolGlob::exact))
        .collect();
    for (index, way) in labels.ways() {
        labels.view(0, index).iter().for_each(|watch| add(&watch.name, Some(watch.rule), index));
        if !way.is_further && (named.contains(&*way.tool) || staged.contains(&*way.tool)) {
            add(&way.tool, None, index);
        }
    }
    let mut unique: BTreeMap<(Arc<str>, Vec<usize>), BTreeSet<RuleId>> = BTreeMap::new();
    for ((name, rule), ways) in names {
        unique.entry((name, ways)).or_default().extend(rule);
    }
    unique.into_iter().map(|((name, ways), by)| VisibleName { name, ways, by }).collect()
}

pub(super) fn calls_in(asked: &ProofModel<'_, '_>, named: &VisibleName) -> LabelSet {
    asked.labels.calls(named.ways.iter().copied())
}

/// What a form may refuse; none where that depends on its state.
pub(super) fn restricted(form: Option<&Form>) -> Option<&LabelSet> {
    match form? {
        Form::Require { then, .. } | Form::Never { then, .. } | Form::Since { then, .. } => Some(then),
        Form::Block(labels) | Form::Limit { spend: labels, .. } | Form::LimitPer { spend: labels, .. } => {
            Some(labels)
        }
        Form::Table(_) => None,
    }
}

pub(super) fn listed(names: &[Arc<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.join(", "),
    }
}
