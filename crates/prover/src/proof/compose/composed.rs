//! A policy as one system over what can happen, and what is not in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_petri::prove::{Label, LabelSet, Rule as Form, RuleId as FormId, System, Trace};
use lockgate_policy::{
    NetRule, Policy, RuleId,
    condition::{Attribute, Condition, Subject},
};

use crate::proof::{
    act::{Act, End},
    labels::becomes_table,
};

/// A policy as one system over what can happen.
#[derive(Debug)]
pub struct Composed {
    pub(in crate::proof) system: System,
    pub(in crate::proof) acts: Vec<Act>,
    /// The rule each form of the system came from; none for what holds of calls in flight.
    pub(in crate::proof) rules: Vec<Option<RuleId>>,
    /// The forms that several rules which look at calls come to together, with those rules.
    pub(in crate::proof) covers: BTreeMap<FormId, Vec<RuleId>>,
    /// The rules that want a human whatever the session, with what they want one for.
    pub(in crate::proof) human: Vec<(RuleId, LabelSet)>,
    /// All that one of them wants a human for.
    pub(in crate::proof) asked: LabelSet,
    /// Rules that may refuse more than their forms do.
    pub(in crate::proof) loose: BTreeSet<RuleId>,
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
    pub why: LeftOutReason,
    /// What it may refuse.
    pub(in crate::proof) labels: LabelSet,
}

/// Why a rule is not in the system as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOutReason {
    /// It looks at inputs, or at who or what stands behind the call.
    Looks,
    /// It forbids something for a while: a session that waits gets past it.
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
    /// It refuses only calls that do not surely do what they are named for.
    Doubts,
}

impl LeftOutReason {
    /// Why a clause with these conditions is left out. All of them must hold, so one that passes with time is enough.
    pub(in crate::proof) fn of(conditions: &[Condition]) -> Self {
        let is_window = |it: &Condition| match it {
            Condition::Called { .. } | Condition::CalledInOrder { .. } => true,
            Condition::Past(past) => past.within_ms.is_some(),
            _ => false,
        };
        let is_budget = |it: &Condition| matches!(it, Condition::Value(value) if matches!(value.subject, Subject::Session(Attribute::Calls | Attribute::Attempts)));
        if conditions.iter().any(is_window) {
            Self::Time
        } else if conditions.iter().all(is_budget) {
            Self::Budget
        } else {
            Self::Looks
        }
    }

    /// In words, with the rule as the subject.
    pub fn words(self) -> &'static str {
        match self {
            Self::Looks => "depends on call arguments",
            Self::Time => "forbids for a limited time, so a session can wait",
            Self::Budget => "counts all calls of a session together",
            Self::Stages => "its stages depend on call arguments",
            Self::TooLarge => "its net has too many markings",
            Self::Questions => "its net may change while a human is asked",
            Self::Asks => "its marking decides whether a human is asked",
            Self::Doubts => "restricts only calls that may have no effect, such as dry runs",
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
    pub(in crate::proof) fn rules_of(&self, form: FormId) -> &[RuleId] {
        let alone = || self.rules.get(form.0).map(Option::as_slice).unwrap_or_default();
        self.covers.get(&form).map_or_else(alone, Vec::as_slice)
    }

    /// Whether a rule refuses exactly what its forms refuse.
    pub(in crate::proof) fn is_exact(&self, rule: RuleId) -> bool {
        !self.loose.contains(&rule) && self.left_out.iter().all(|it| it.rule != rule)
    }

    /// Whether a form may refuse more than the system knows once calls do not surely do what they are named for: such a
    /// call refills no limit, and no hand-written net moves by one. The form that is returned refuses at least as much.
    pub(in crate::proof) fn doubted(&self, form: &Form) -> Option<Form> {
        match form {
            Form::LimitPer { spend, count, .. } => Some(Form::Limit { spend: spend.clone(), count: *count }),
            // Only what is read in a script is uncertain.
            Form::Table(_) if self.acts.iter().any(|act| act.way.is_read()) => {
                Some(Form::Block(form.alphabet()))
            }
            _ => None,
        }
    }

    /// Whether a human is wanted only by rules that always want one, whatever the call and wherever a net stands.
    pub(in crate::proof) fn asks_always(&self, policy: &Policy) -> bool {
        let looks = |left: &LeftOut| policy.clause(left.rule).is_some();
        let is_manual = |rule: &NetRule| rule.net.guards().any(|guard| guard.is_manual);
        self.covers.is_empty()
            && !self.left_out.iter().any(looks)
            && !policy.nets().iter().any(|rule| becomes_table(rule) && is_manual(rule))
    }

    /// A trace as acts.
    pub(in crate::proof) fn played(&self, trace: &Trace) -> Vec<Played> {
        let acts = |labels: &[Label]| labels.iter().filter_map(|label| self.act(*label).cloned()).collect();
        trace.runs().iter().map(|run| Played { acts: acts(&run.labels), times: run.times }).collect()
    }

    /// A form that refuses at least what its rule refuses, however late results come: a success may earn nothing if its
    /// call was made while there was one already.
    pub(in crate::proof) fn strict(&self, form: &Form) -> Form {
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

/// Whether a form refuses at least what another one does, however calls turn out: it gives less, is refilled by no more,
/// and counts as much.
pub(in crate::proof) fn is_as_strict(form: &Form, than: &Form) -> bool {
    let (
        Form::LimitPer { spend, count, refill },
        Form::LimitPer { spend: their_spend, count: their_count, refill: their_refill },
    ) = (form, than)
    else {
        return form == than;
    };
    let holds = |all: &LabelSet, some: &LabelSet| some.iter().all(|label| all.contains(label));
    count <= their_count && holds(spend, their_spend) && holds(their_refill, refill)
}
