//! A policy as one system of small automata: what each rule makes of what can happen.
//!
//! The system lets happen at least what the gate lets happen. So whatever it rules out no session does, and what it
//! shows has to be played before it is believed. A rule whose refusals it knows word for word is *exact*; of others
//! it knows only what they refuse in any case ([`Composed::loose`]), and some it leaves out ([`LeftOut`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use lockgate_call::Call;
use lockgate_petri::prove::{
    Answer, Bounds, Label, LabelSet, Onward, Prover, Rule as Form, RuleId as FormId, System, Table,
    TooManyRules, Trace,
};
use lockgate_policy::{
    Decision, Mode, NetRule, Policy, RuleId, Scope, Statement, Surroundings, Truth, View, Watch,
    clause::Clause,
    condition::{Attribute, Condition, Operator, Subject, Test, ValueTest},
};

use super::{
    labels::{Act, End, Labels, Late, becomes_table},
    stages,
    table::table,
    together::{Classes, Human, Passing},
};

/// A policy as one system over what can happen.
#[derive(Debug)]
pub struct Composed {
    pub(super) system: System,
    pub(super) acts: Vec<Act>,
    /// The rule each form of the system came from; none for what holds of calls in flight.
    pub(super) rules: Vec<Option<RuleId>>,
    /// The forms that several rules which look at calls come to together, with those rules.
    pub(super) covers: BTreeMap<FormId, Vec<RuleId>>,
    /// The rules that want a human whatever the session, with what they want one for.
    pub(super) human: Vec<(RuleId, LabelSet)>,
    /// All that one of them wants a human for.
    pub(super) asked: LabelSet,
    /// Rules that may refuse more than their forms do.
    pub(super) loose: BTreeSet<RuleId>,
    /// What is not in the system.
    pub left_out: Vec<LeftOut>,
    /// Tools of which there are too many ways to look at all.
    pub cut: Vec<Arc<str>>,
}

/// A rule of which some or all is not in the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The rule.
    pub rule: RuleId,
    /// Why.
    pub why: Why,
    /// What it may refuse.
    pub(super) labels: LabelSet,
}

/// Why a rule is not in the system as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It looks at inputs, or at who or what stands behind the call.
    Looks,
    /// It forbids something for a while: whoever waits gets past it.
    Time,
    /// It counts all calls of a session together.
    Budget,
    /// It is a workflow: what moves its stages depends on the texts of calls.
    Stages,
    /// Its net has too many markings to be written out.
    TooLarge,
    /// While a human is asked, its net may take another turn than it would have taken.
    Questions,
    /// Where its net stands decides whether it asks a human.
    Asks,
}

impl Why {
    /// In words, after "because".
    pub fn words(self) -> &'static str {
        match self {
            Self::Looks => "it looks at more than what was called",
            Self::Time => "it forbids something for a while, and whoever waits gets past it",
            Self::Budget => "it counts all calls of a session together",
            Self::Stages => "what moves its stages depends on the texts of calls",
            Self::TooLarge => "its net has too many markings to be written out",
            Self::Questions => "while a human is asked, its net may take another turn",
            Self::Asks => "where its net stands decides whether it asks a human",
        }
    }
}

/// Acts in order and how often they happen in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Played {
    /// The acts in order.
    pub acts: Vec<Act>,
    /// How often they happen in a row.
    pub times: u64,
}

impl Composed {
    /// Takes all rules of a policy together, calls one after another.
    ///
    /// # Errors
    /// When there are more rules than the engine takes.
    pub fn new(policy: &Policy) -> Result<Self, TooManyRules> {
        Self::of(&Labels::of(&[policy], Late::Never), 0, policy)
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

    /// The same where nobody is there to agree to these labels.
    pub(super) fn unattended(
        labels: &Labels<'_>,
        number: usize,
        policy: &Policy,
        alone: &LabelSet,
    ) -> Result<Self, TooManyRules> {
        Composer { alone: Some(alone), ..Composer::new(labels, number, policy) }.compose()
    }

    /// The system.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// What a label stands for.
    pub fn act(&self, label: Label) -> Option<&Act> {
        self.acts.get(label.0 as usize)
    }

    /// The rule that a form of the system came from; of several, the first.
    pub fn rule(&self, form: FormId) -> Option<RuleId> {
        self.rules.get(form.0).copied().flatten()
    }

    /// All rules that a form of the system came from.
    pub(super) fn rules_of(&self, form: FormId) -> &[RuleId] {
        let alone = || self.rules.get(form.0).map(Option::as_slice).unwrap_or_default();
        self.covers.get(&form).map_or_else(alone, Vec::as_slice)
    }

    /// Whether a rule refuses exactly what its forms refuse.
    pub(super) fn is_exact(&self, rule: RuleId) -> bool {
        !self.loose.contains(&rule) && self.left_out.iter().all(|it| it.rule != rule)
    }

    /// Whether a human is wanted only by rules that always want one, whatever the call and wherever a net stands.
    pub(super) fn asks_always(&self, policy: &Policy) -> bool {
        let looks = |left: &LeftOut| policy.clause(left.rule).is_some();
        let is_manual = |rule: &NetRule| rule.net.guards().any(|guard| guard.is_manual);
        self.covers.is_empty()
            && !self.left_out.iter().any(looks)
            && !policy.nets().iter().any(|rule| becomes_table(rule) && is_manual(rule))
    }

    /// A trace as acts.
    pub(super) fn played(&self, trace: &Trace) -> Vec<Played> {
        let acts = |labels: &[Label]| labels.iter().filter_map(|label| self.act(*label).cloned()).collect();
        trace.runs().iter().map(|run| Played { acts: acts(&run.labels), times: run.times }).collect()
    }

    /// A form that refuses at least what its rule refuses, however late results come: a success may earn nothing if its
    /// call was made while there was one already.
    pub(super) fn strict(&self, form: &Form) -> Form {
        match form {
            Form::Require { before, then, latched: false } => {
                let is_late = |label: &Label| self.act(*label).is_some_and(|act| act.end == End::LateSuccess);
                let before = before.iter().filter(|label| !is_late(label)).collect();
                Form::Require { before, then: then.clone(), latched: false }
            }
            form => form.clone(),
        }
    }

    /// How many groups of rules have nothing to do with each other.
    pub fn components(&self) -> usize {
        self.system.components().len()
    }
}

/// A policy over one numbering of what can happen, ready for questions.
pub(super) struct Asked<'a, 'p> {
    pub(super) labels: &'a Labels<'p>,
    pub(super) composed: &'a Composed,
    pub(super) prover: Prover<'a>,
}

/// The same twice where it matters that results come late. Sessions are looked for with calls one after another
/// first: most are there, and those are easier to read.
pub(super) struct Both<'a, 'p> {
    pub(super) plain: Asked<'a, 'p>,
    pub(super) late: Option<Asked<'a, 'p>>,
}

/// Most states of one search where results may come late. There are many more of them, and a plain answer was found
/// before.
const LATE_STATES_MAX: usize = 5_000;

impl<'a, 'p> Asked<'a, 'p> {
    pub(super) fn new(labels: &'a Labels<'p>, composed: &'a Composed) -> Self {
        let bounds = if labels.has_late() {
            Bounds { states_max: LATE_STATES_MAX, lose_states_max: LATE_STATES_MAX, ..Bounds::default() }
        } else {
            Bounds::default()
        };
        Self { labels, composed, prover: Prover::with_bounds(&composed.system, bounds) }
    }
}

impl<'a, 'p> Both<'a, 'p> {
    /// Is there a session that …? A no holds for late results as well.
    pub(super) fn ask(&self, question: impl Fn(&Asked<'a, 'p>) -> Answer) -> (Answer, &Asked<'a, 'p>) {
        match (question(&self.plain), &self.late) {
            (Answer::No(_), Some(late)) => (question(late), late),
            (answer, _) => (answer, &self.plain),
        }
    }
}

impl<'a, 'p> Both<'a, 'p> {
    /// The same with late results, if those may make a difference to these labels of calls one after another.
    pub(super) fn late_for(&self, labels: &LabelSet) -> Option<&Asked<'a, 'p>> {
        self.late.as_ref().filter(|late| late.labels.is_near_late(self.plain.labels, labels))
    }
}

impl Both<'_, '_> {
    /// Whether late results open none of these after a session in which every call has ended, its labels those of calls
    /// one after another.
    pub(super) fn stays_closed(&self, trace: &Trace, calls: &LabelSet) -> bool {
        self.late.is_none() || self.onward(trace).is_some_and(|onward| onward.can_call(calls).is_no())
    }

    /// What can follow a session in which every call has ended where results come late; none where it cannot be played.
    pub(super) fn onward(&self, trace: &Trace) -> Option<Onward<'_>> {
        let late = self.late.as_ref()?;
        let system = &late.composed.system;
        let translated = trace.translated(|label| late.labels.translated(label, self.plain.labels));
        let mut state = translated.and_then(|trace| system.replay(&trace).ok())?;
        // Every call has ended, so nothing is in flight.
        let flights = late.composed.rules.iter().zip(0..).filter(|(rule, _)| rule.is_none());
        flights.for_each(|(_, number)| state.forget(system, FormId(number)));
        Some(late.prover.onward(state))
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
    /// What nobody is there to agree to.
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
                Why::Stages,
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

    fn leave_out(&mut self, rule: RuleId, why: Why, labels: LabelSet) {
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
            known.iter().filter(|(_, watch)| *watch.name == *name).map(|(way, _)| *way).collect()
        };
        let calls = |name: &str| self.labels.calls(ways(name));
        let form = match &rule.statement {
            // What a rule watches it never refuses, so these refuse nothing.
            Statement::Sequence { prerequisite, dependent } if prerequisite == dependent => return,
            Statement::Limit { tool, scope: Scope::Action(action), .. } if tool == action => return,
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
            self.leave_out(rule.id, Why::Looks, calls.clone());
        }
        if rule.net.guards().any(|guard| guard.is_manual) {
            self.leave_out(rule.id, Why::Asks, calls.clone());
        }
        if turns_while_asking(rule) {
            return self.leave_out(rule.id, Why::Questions, calls);
        }
        match table(rule, &letters, self.alone) {
            Some(table) => self.push(Some(rule.id), Form::Table(table)),
            None => self.leave_out(rule.id, Why::TooLarge, calls),
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
            // Where silence is no yes, what lets pass now and then decides as much as what refuses.
            let is_yes = self.policy.default_clause().is_some_and(|default| default.wants >= Decision::Ask);
            if is_yes && clause.speaks_for_default && !clause.conditions.is_empty() {
                self.leave_out(clause.id, why(&clause.conditions), labels);
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
                    _ => self.leave_out(clause.id, Why::Looks, labels),
                }
            }
            conditions => {
                self.leave_out(clause.id, why(conditions), labels);
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
            if let Some(rules) = never(tool, Human::Agrees) {
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
            // Where silence is a yes, nobody has to agree.
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
                // Whoever wants as much or more opens nothing.
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
            self.leave_out(clause.id, Why::Looks, perhaps);
        }
        let always = self.labels.calls(always);
        if !always.is_empty() {
            self.always(clause, always);
        }
    }
}

/// Whether such an expression holds of a way. A doubt restricts.
fn is_of(when: &Condition, way: &super::ways::Way) -> bool {
    let call = Call::new("", &*way.tool);
    when.truth(&View::of_result(&call, None, &Surroundings::default())) != Truth::No
}

/// So many calls of one kind in flight are told apart from more.
const IN_FLIGHT_COUNTED: u32 = 2;

/// No more calls succeed late than were made, as long as few are in flight.
fn in_flight(made: &LabelSet, late: &LabelSet) -> Option<Table> {
    // Where several rules wait for one success, it is several labels.
    if late.len() != 1 {
        return None;
    }
    let many = IN_FLIGHT_COUNTED + 1;
    let makes =
        made.iter().flat_map(|label| (0..=many).map(move |count| (count, label, many.min(count + 1))));
    let ends = late.iter().flat_map(|label| {
        (1..=many).map(move |count| (count, label, if count == many { many } else { count - 1 }))
    });
    Table::new(many + 1, 0, made.and(late), makes.chain(ends).collect::<Vec<_>>()).ok()
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

/// Why a clause with these conditions is left out. All of them must hold, so one that passes with time is enough.
fn why(conditions: &[Condition]) -> Why {
    let is_window = |it: &Condition| matches!(it, Condition::Called { .. } | Condition::CalledInOrder { .. });
    let is_budget = |it: &Condition| matches!(it, Condition::Value(value) if matches!(value.subject, Subject::Session(Attribute::Calls | Attribute::Attempts)));
    if conditions.iter().any(is_window) {
        Why::Time
    } else if conditions.iter().all(is_budget) {
        Why::Budget
    } else {
        Why::Looks
    }
}

/// The requirements of a system by what they wait for.
pub(super) struct Requirements<'a> {
    by_before: HashMap<Label, Vec<(&'a LabelSet, &'a LabelSet)>, RandomState>,
}

impl<'a> Requirements<'a> {
    pub(super) fn of(system: &'a System) -> Self {
        let mut by_before: HashMap<Label, Vec<(&LabelSet, &LabelSet)>, RandomState> = HashMap::default();
        for form in system.rules() {
            let Form::Require { before, then, latched: false } = form else { continue };
            for label in before.iter() {
                by_before.entry(label).or_default().push((before, then));
            }
        }
        Self { by_before }
    }

    /// Whether a requirement and another one are about some of the same, and not all of it. What is earned for one of
    /// them may then come too early to be earned for the other while results are in flight.
    pub(super) fn entangle(&self, form: &Form) -> bool {
        let Form::Require { before, then, latched: false } = form else { return false };
        let mut others = before.iter().filter_map(|label| self.by_before.get(&label)).flatten();
        others.any(|(others, thens)| {
            (*others, *thens) != (before, then) && thens.iter().any(|label| then.contains(label))
        })
    }
}
