//! A policy as one system of small automata: what each rule makes of what can happen.
//!
//! The system lets happen at least what the gate lets happen. So whatever it rules out no session does, and what it
//! shows has to be played before it is believed. A rule whose refusals it knows word for word is *exact*; of others
//! it knows only what they refuse in any case ([`Composed::loose`]), and some it leaves out ([`LeftOut`]).

mod composed;
mod models;
mod requirements;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_call::Call;
use lockgate_gate::Human;
use lockgate_petri::prove::{LabelSet, Rule as Form, RuleId as FormId, System, TooManyRules};
use lockgate_policy::{
    Decision, Mode, NetRule, Policy, RuleId, Scope, Statement, Surroundings, Truth, View, Watch,
    clause::Clause,
    condition::{Attribute, Condition, Operator, Subject, Test, ValueTest},
};

use super::{
    labels::{Labels, LateResults, becomes_table},
    stages,
    table::{in_flight, table},
    together::{Classes, Passing},
};

pub use composed::{Composed, LeftOut, LeftOutReason, Played};

pub(super) use composed::is_as_strict;
pub(super) use models::{ProofModel, ProofModels};
pub(super) use requirements::Requirements;

impl Composed {
    /// Takes all rules of a policy together, calls one after another.
    ///
    /// # Errors
    /// When there are more rules than the engine takes.
    pub fn new(policy: &Policy) -> Result<Self, TooManyRules> {
        Self::of(&Labels::of(&[policy], LateResults::Never), 0, policy)
    }

    /// The same over labels that were numbered before, for the policy with this number.
    pub(super) fn of(labels: &Labels<'_>, number: usize, policy: &Policy) -> Result<Self, TooManyRules> {
        Composer::new(labels, number, policy).compose()
    }

    /// The same for one of two policies that are compared: there, rules that look at calls are compared one by one.
    pub(super) fn compared(
        labels: &Labels<'_>,
        number: usize,
        policy: &Policy,
    ) -> Result<Self, TooManyRules> {
        Composer { has_classes: false, ..Composer::new(labels, number, policy) }.compose()
    }

    /// The same where no human can agree to these labels.
    pub(super) fn unattended(
        labels: &Labels<'_>,
        number: usize,
        policy: &Policy,
        alone: &LabelSet,
    ) -> Result<Self, TooManyRules> {
        Composer { alone: Some(alone), ..Composer::new(labels, number, policy) }.compose()
    }
}

struct Composer<'a, 'p> {
    labels: &'a Labels<'p>,
    number: usize,
    policy: &'a Policy,
    /// The ways each rule knows, as it knows them.
    known: BTreeMap<RuleId, Vec<(usize, &'p Watch)>>,
    /// The ways each clause is about.
    about: BTreeMap<RuleId, Vec<usize>>,
    /// What no human can agree to.
    alone: Option<&'a LabelSet>,
    /// Whether rules that look at calls are taken together.
    has_classes: bool,
    /// The ways that some rule looks at more closely.
    looked: BTreeSet<usize>,
    forms: Vec<Form>,
    rules: Vec<Option<RuleId>>,
    covers: BTreeMap<FormId, Vec<RuleId>>,
    human: Vec<(RuleId, LabelSet)>,
    loose: BTreeSet<RuleId>,
    left_out: Vec<LeftOut>,
}

impl<'a, 'p> Composer<'a, 'p> {
    fn new(labels: &'a Labels<'p>, number: usize, policy: &'a Policy) -> Self {
        let mut known: BTreeMap<RuleId, Vec<(usize, &'p Watch)>> = BTreeMap::new();
        let mut about: BTreeMap<RuleId, Vec<usize>> = BTreeMap::new();
        for (index, way) in labels.ways() {
            for watch in labels.view(number, index) {
                known.entry(watch.rule).or_default().push((index, watch));
            }
            for clause in policy.clauses_about(&way.tool).filter(|_| !way.is_further) {
                about.entry(clause.id).or_default().push(index);
            }
        }
        Self {
            labels,
            number,
            policy,
            known,
            about,
            alone: None,
            has_classes: true,
            looked: BTreeSet::new(),
            forms: Vec::new(),
            rules: Vec::new(),
            covers: BTreeMap::new(),
            human: Vec::new(),
            loose: BTreeSet::new(),
            left_out: Vec::new(),
        }
    }

    fn compose(mut self) -> Result<Composed, TooManyRules> {
        for rule in self.policy.nets().iter().filter(|rule| rule.mode == Mode::Enforce) {
            self.net(rule);
        }
        let default = self.policy.default_clause().map(|clause| clause.id);
        for clause in
            self.policy.clauses().iter().filter(|clause| clause.acts() && Some(clause.id) != default)
        {
            self.clause(clause);
        }
        if let Some(clause) = self.policy.default_clause().filter(|clause| clause.acts()) {
            self.default(clause);
        }
        if self.has_classes {
            self.classes();
        }
        for workflow in self.policy.workflows() {
            for form in stages::forms(workflow, self.labels) {
                self.push(Some(workflow.id), form);
            }
            self.loose.insert(workflow.id);
            self.leave_out(
                workflow.id,
                LeftOutReason::Stages,
                self.labels.calls(self.labels.ways().map(|(way, _)| way)),
            );
        }
        for (first, further) in self.labels.further() {
            self.push(None, Form::Require { before: first, then: further, latched: true });
        }
        // These come last: a rule's forms have the same numbers whether results come late or not.
        for (made, late) in self.labels.in_flight() {
            self.push(None, Form::Require { before: made.clone(), then: late.clone(), latched: true });
            if let Some(table) = in_flight(&made, &late) {
                self.push(None, Form::Table(table));
            }
        }
        let Self { labels, forms, rules, covers, human, loose, left_out, .. } = self;
        let asked = human.iter().flat_map(|(_, labels)| labels.iter()).collect();
        Ok(Composed {
            asked,
            system: System::new(forms)?,
            acts: labels.acts.clone(),
            rules,
            covers,
            human,
            loose,
            left_out,
            cut: labels.ways.cut.clone(),
        })
    }

    fn push(&mut self, rule: Option<RuleId>, form: Form) {
        self.forms.push(form);
        self.rules.push(rule);
    }

    fn leave_out(&mut self, rule: RuleId, why: LeftOutReason, labels: LabelSet) {
        self.left_out.push(LeftOut { rule, why, labels });
    }

    /// A human is wanted whatever the session.
    fn ask(&mut self, rule: RuleId, labels: LabelSet) {
        if let Some(alone) = self.alone {
            let refused: LabelSet = labels.iter().filter(|label| alone.contains(*label)).collect();
            self.push(Some(rule), Form::Block(refused));
        }
        self.human.push((rule, labels));
    }

    fn net(&mut self, rule: &NetRule) {
        let known = self.known.get(&rule.id).map(Vec::as_slice).unwrap_or_default();
        let ways = |name: &str| -> Vec<usize> {
            let members = rule.members(name);
            known.iter().filter(|(_, watch)| members.contains(&&*watch.name)).map(|(way, _)| *way).collect()
        };
        let calls = |name: &str| self.labels.calls(ways(name));
        if rule.is_eased() {
            // It refuses less than its net does, which is at least what is let happen.
            let refused = known.iter().filter(|(_, watch)| watch.refuses).map(|(way, _)| *way);
            let labels = self.labels.calls(refused);
            let asks = rule.tail.as_ref().is_some_and(|tail| tail.asks);
            let why = if asks { LeftOutReason::Asks } else { LeftOutReason::Looks };
            return self.leave_out(rule.id, why, labels);
        }
        let form = match &rule.statement {
            // What a rule watches it never refuses, so these refuse only calls that earn nothing.
            Statement::Sequence { prerequisite: tool, dependent: action }
            | Statement::Limit { tool, scope: Scope::Action(action), .. }
                if tool == action =>
            {
                let labels = calls(tool);
                return self.leave_out(rule.id, LeftOutReason::Doubts, labels);
            }
            Statement::Sequence { prerequisite, dependent } => Form::Require {
                before: self.labels.successes(ways(prerequisite)),
                then: calls(dependent),
                latched: false,
            },
            Statement::Approval { tool } => {
                let labels = calls(tool);
                return self.ask(rule.id, labels);
            }
            Statement::Block { tool } => Form::Block(calls(tool)),
            Statement::Limit { tool, count, scope: Scope::Session } => {
                Form::Limit { spend: calls(tool), count: count.get() }
            }
            Statement::Limit { tool, count, scope: Scope::Action(action) } => {
                Form::LimitPer { spend: calls(tool), count: count.get(), refill: calls(action) }
            }
            Statement::Net(_) => return self.hand_written(rule),
        };
        self.push(Some(rule.id), form);
    }

    fn hand_written(&mut self, rule: &NetRule) {
        debug_assert!(becomes_table(rule), "late successes are numbered for these alone");
        let known = self.known.get(&rule.id).map(Vec::as_slice).unwrap_or_default();
        let mut letters = Vec::new();
        for (way, watch) in known.iter().filter(|(_, watch)| !watch.is_free) {
            let meetings = self.labels.meetings(self.number, rule.id, *way);
            letters.extend(meetings.into_iter().map(|(label, meets)| (label, *watch, meets)));
        }
        let calls = self.labels.calls(known.iter().map(|(way, _)| *way));
        if rule.net.guards().any(|guard| !guard.checks.is_empty()) {
            self.leave_out(rule.id, LeftOutReason::Looks, calls.clone());
        }
        if rule.net.guards().any(|guard| guard.is_manual) {
            self.leave_out(rule.id, LeftOutReason::Asks, calls.clone());
        }
        if turns_while_asking(rule) {
            return self.leave_out(rule.id, LeftOutReason::Questions, calls);
        }
        match table(rule, &letters, self.alone) {
            Some(table) => self.push(Some(rule.id), Form::Table(table)),
            None => self.leave_out(rule.id, LeftOutReason::TooLarge, calls),
        }
    }

    /// What a clause says whatever the call, or by what was counted.
    fn clause(&mut self, clause: &Clause) {
        let ways = self.about.get(&clause.id).cloned().unwrap_or_default();
        let labels = self.labels.calls(ways.iter().copied());
        if labels.is_empty() {
            return;
        }
        if clause.wants < Decision::Ask {
            // Where silence is not a yes, what lets pass now and then decides as much as what refuses.
            let is_yes = self.policy.default_clause().is_some_and(|default| default.wants >= Decision::Ask);
            if is_yes && clause.speaks_for_default && !clause.conditions.is_empty() {
                self.leave_out(clause.id, LeftOutReason::of(&clause.conditions), labels);
            }
            return;
        }
        match clause.conditions.as_slice() {
            [] => self.always(clause, labels),
            [when] if when.is_of_tool_name() => {
                let is_meant =
                    |way: &&usize| self.labels.ways.all.get(**way).is_some_and(|it| is_of(when, it));
                let meant = self.labels.calls(ways.iter().filter(is_meant).copied());
                self.always(clause, meant);
            }
            [
                Condition::Value(ValueTest {
                    subject: Subject::Session(Attribute::CallsOf(counter)),
                    test: Test { operator: Operator::AtLeast(count), is_negated: false, .. },
                    ..
                }),
            ] if clause.wants == Decision::Block => {
                let is_counted = |way: &&(usize, &super::ways::Way)| {
                    !way.1.is_further && self.policy.counters(&way.1.tool).contains(counter)
                };
                let all: Vec<(usize, &super::ways::Way)> = self.labels.ways().collect();
                let spend = self.labels.calls(all.iter().filter(is_counted).map(|(way, _)| *way));
                match count.as_u64() {
                    Some(count) if spend == labels => {
                        self.push(Some(clause.id), Form::Limit { spend, count })
                    }
                    _ => self.leave_out(clause.id, LeftOutReason::Looks, labels),
                }
            }
            conditions => {
                self.leave_out(clause.id, LeftOutReason::of(conditions), labels);
                self.looked.extend(ways);
            }
        }
    }

    /// What rules that look at calls close together, because whatever the call is, one of them applies.
    fn classes(&mut self) {
        let mut tools: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for way in &self.looked {
            let tool = self.labels.ways.all.get(*way).map(|way| &*way.tool);
            tools.entry(tool.unwrap_or_default()).or_default().push(*way);
        }
        let mut closed: BTreeMap<Vec<RuleId>, LabelSet> = BTreeMap::new();
        let never = |tool: &str, human: Human| match Classes::of(self.policy, tool, human)?.passing() {
            Passing::Never(rules) => Some(rules),
            Passing::Where(_) | Passing::Unknown => None,
        };
        let mut everywhere = LabelSet::default();
        for (tool, ways) in tools {
            let calls = self.labels.calls(ways);
            if let Some(rules) = never(tool, Human::Reachable) {
                everywhere = everywhere.and(&calls);
                let known = closed.entry(rules).or_default();
                *known = known.and(&calls);
                continue;
            }
            let alone = self.alone.into_iter().flat_map(LabelSet::iter);
            let alone: LabelSet = alone.filter(|label| calls.contains(*label)).collect();
            if let (false, Some(rules)) = (alone.is_empty(), never(tool, Human::Absent)) {
                let known = closed.entry(rules).or_default();
                *known = known.and(&alone);
            }
        }
        for (rules, labels) in closed {
            let form = FormId(self.forms.len());
            self.push(rules.first().copied(), Form::Block(labels));
            self.covers.insert(form, rules);
        }
        // What is closed whatever the call is known to the letter.
        let policy = self.policy;
        for left in self.left_out.iter_mut().filter(|left| policy.clause(left.rule).is_some()) {
            left.labels = left.labels.without(&everywhere);
        }
        self.left_out.retain(|left| !left.labels.is_empty() || policy.clause(left.rule).is_none());
    }

    fn always(&mut self, clause: &Clause, labels: LabelSet) {
        match clause.wants {
            Decision::Block => self.push(Some(clause.id), Form::Block(labels)),
            // Where silence is a yes, no human has to agree.
            Decision::Ask if clause.timeout.as_ref().is_some_and(|timeout| timeout.allows) => {}
            Decision::Ask => self.ask(clause.id, labels),
            Decision::Allow | Decision::Redact => {}
        }
    }

    /// The verdict for calls that no clause speaks of.
    fn default(&mut self, clause: &Clause) {
        let (mut always, mut perhaps) = (Vec::new(), Vec::new());
        for (index, way) in self.labels.ways().filter(|(_, way)| !way.is_further) {
            let mut speaking = self
                .policy
                .clauses_about(&way.tool)
                // A rule that wants as much or more opens nothing.
                .filter(|it| it.wants < clause.wants && it.speaks_for_default && it.mode == Mode::Enforce)
                .peekable();
            if speaking.peek().is_none() {
                always.push(index);
            } else if !speaking.any(|it| it.conditions.is_empty()) {
                perhaps.push(index);
            }
        }
        self.looked.extend(&perhaps);
        let perhaps = self.labels.calls(perhaps);
        if !perhaps.is_empty() {
            self.leave_out(clause.id, LeftOutReason::Looks, perhaps);
        }
        let always = self.labels.calls(always);
        if !always.is_empty() {
            self.always(clause, always);
        }
    }
}

/// Whether such an expression holds of a way. A doubt restricts.
fn is_of(when: &Condition, way: &super::ways::Way) -> bool {
    let call = Call::new("", &*way.tool).into();
    when.truth(&View::of_result(&call, None, &Surroundings::default())) != Truth::No
}

/// Whether a question to a human, which takes tokens until it is answered, may let another transition come first:
/// one for the same name, or one that fires by itself.
fn turns_while_asking(rule: &NetRule) -> bool {
    let mut names: Vec<&Arc<str>> = rule.net.guards().flat_map(|guard| &guard.tools).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    let fires_itself = rule.net.guards().any(|guard| guard.tools.is_empty());
    rule.net.guards().any(|guard| guard.is_manual) && (names.len() < count || fires_itself)
}
