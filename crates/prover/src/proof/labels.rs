//! What can happen in a session, numbered for the engine.
//!
//! A call that is let pass and ends well is one label, one that does not is another. Where it matters that a result
//! comes late there is a third: the success of a call that was made before. It matters only beside rules that can
//! close what they have opened (hand-written nets, refilled limits, workflows) and for claims about what happened
//! since: under the other rules, whatever a session does with calls in flight, one with calls one after another does
//! as well (`docs/proof.md` has the argument, and the tests compare both).

use std::{collections::BTreeMap, sync::Arc};

use lockgate_petri::{
    TransitionId,
    prove::{Label, LabelSet},
};
use lockgate_policy::{FileId, Mode, NetRule, Policy, Property, RuleId, Scope, Statement};
use smallvec::SmallVec;

use super::{
    act::{Act, End},
    ways::{View, Way, Ways},
};

/// Whose results may come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LateResults {
    /// None: calls come one after another.
    Never,
    /// Those that hang together with a rule under which it matters.
    ByRules,
    /// Those as well that a claim about what happened since speaks of.
    ByClaims,
}

/// The labels of one policy, or of two that are compared.
#[derive(Debug)]
pub(super) struct Labels<'p> {
    pub(super) ways: Arc<Ways>,
    pub(super) acts: Vec<Act>,
    /// The way of each label.
    way_of: Vec<usize>,
    of_way: Vec<WayLabels>,
    late: Vec<LateLabels>,
    /// The ways that hang together with one whose result may come late.
    near_late: Vec<bool>,
    /// What the rules of each policy know of each way.
    views: Arc<Vec<Vec<View<'p>>>>,
}

/// What does not depend on whose results come late.
struct Basis<'p> {
    ways: Arc<Ways>,
    views: Arc<Vec<Vec<View<'p>>>>,
    /// The ways whose success a rule counts.
    earns: Vec<bool>,
}

impl<'p> Basis<'p> {
    fn of(policies: &[&'p Policy]) -> Self {
        let ways = Ways::of(policies);
        let view = |policy: &&'p Policy| ways.all.iter().map(|way| ways.view(way, policy)).collect();
        let views: Vec<Vec<View<'p>>> = policies.iter().map(view).collect();
        let earns = earning(&ways, &views, policies);
        Self { ways: Arc::new(ways), views: Arc::new(views), earns }
    }
}

#[derive(Clone, Debug)]
struct WayLabels {
    success: Label,
    failure: Option<Label>,
    /// Where a hand-written net waits, one for each transition that may.
    late: SmallVec<[Label; 1]>,
}

/// A late success that one hand-written net learns of, by one transition.
#[derive(Debug)]
struct LateLabels {
    label: Label,
    way: usize,
    policy: usize,
    rule: RuleId,
    transition: TransitionId,
}

/// How a rule meets a label.
pub(super) enum Encounter {
    /// The call is made, and it succeeds or not.
    Call { succeeds: bool },
    /// A call made before succeeds, and this transition waited for it.
    LateResults(TransitionId),
}

impl<'p> Labels<'p> {
    pub(super) fn of(policies: &[&'p Policy], late: LateResults) -> Self {
        Self::numbered(&Basis::of(policies), policies, late)
    }

    /// With calls one after another; and where it matters that results come late, with those.
    pub(super) fn both(policies: &[&'p Policy]) -> (Self, Option<Self>) {
        let basis = Basis::of(policies);
        let late = Self::numbered(&basis, policies, LateResults::ByRules);
        (Self::numbered(&basis, policies, LateResults::Never), Some(late).filter(Self::has_late))
    }

    fn numbered(basis: &Basis<'p>, policies: &[&'p Policy], late: LateResults) -> Self {
        let Basis { ways, views, earns } = basis;
        let is_late = delicate(ways, views, policies, late);
        let mut labels = Self {
            ways: ways.clone(),
            acts: Vec::new(),
            way_of: Vec::new(),
            of_way: Vec::new(),
            late: Vec::new(),
            near_late: near(ways, &is_late),
            views: views.clone(),
        };
        for (index, (earns, is_late)) in earns.iter().zip(is_late).enumerate() {
            labels.number(index, *earns, *earns && is_late, policies);
        }
        labels
    }

    fn number(&mut self, index: usize, earns: bool, is_late: bool, policies: &[&'p Policy]) {
        let Some(way) = self.ways.all.get(index).map(|way| Arc::new(way.clone())) else { return };
        let mut push = |end| {
            self.acts.push(Act { way: way.clone(), end });
            self.way_of.push(index);
            Label(u32::try_from(self.acts.len() - 1).unwrap_or(u32::MAX))
        };
        // The engine prefers lower numbers among equals, and a success reads better than a failure.
        let success = push(End::Success);
        let failure = earns.then(|| push(End::NoSuccess));
        let mut late: SmallVec<[Label; 1]> = SmallVec::new();
        for (number, policy) in policies.iter().enumerate().filter(|_| is_late) {
            for watch in self.views.get(number).and_then(|views| views.get(index)).into_iter().flatten() {
                let Some(net) = policy.net(watch.rule).filter(|net| becomes_table(net)) else { continue };
                for transition in watch.transitions.iter().filter(|it| net.net.guard(**it).is_deferred) {
                    let label = push(End::LateSuccess);
                    late.push(label);
                    let (policy, rule, transition) = (number, watch.rule, *transition);
                    self.late.push(LateLabels { label, way: index, policy, rule, transition });
                }
            }
        }
        if is_late && late.is_empty() {
            late.push(push(End::LateSuccess));
        }
        self.of_way.push(WayLabels { success, failure, late });
    }

    /// The ways, with their numbers.
    pub(super) fn ways(&self) -> impl Iterator<Item = (usize, &Way)> {
        self.ways.all.iter().enumerate()
    }

    /// The way of a label, with its number.
    pub(super) fn way_of(&self, label: Label) -> Option<(usize, &Way)> {
        let number = *self.way_of.get(label.0 as usize)?;
        Some((number, self.ways.all.get(number)?))
    }

    /// What the rules of a policy know of a way.
    pub(super) fn view(&self, policy: usize, way: usize) -> &View<'p> {
        const NOTHING: &View<'_> = &Vec::new();
        self.views.get(policy).and_then(|views| views.get(way)).unwrap_or(NOTHING)
    }

    /// The labels by which these ways are called.
    pub(super) fn calls(&self, ways: impl IntoIterator<Item = usize>) -> LabelSet {
        let of_ways = ways.into_iter().filter_map(|way| self.of_way.get(way));
        of_ways.flat_map(|it| [Some(it.success), it.failure]).flatten().collect()
    }

    /// The labels by which these ways succeed.
    pub(super) fn successes(&self, ways: impl IntoIterator<Item = usize>) -> LabelSet {
        let of_ways = ways.into_iter().filter_map(|way| self.of_way.get(way));
        of_ways.flat_map(|it| it.late.iter().copied().chain([it.success])).collect()
    }

    /// How a hand-written net meets a way.
    pub(super) fn meetings(&self, policy: usize, rule: RuleId, way: usize) -> Vec<(Label, Encounter)> {
        let Some(of_way) = self.of_way.get(way) else { return Vec::new() };
        let mut found = vec![(of_way.success, Encounter::Call { succeeds: true })];
        found.extend(of_way.failure.map(|label| (label, Encounter::Call { succeeds: false })));
        let is_it = |late: &&LateLabels| late.way == way && late.policy == policy && late.rule == rule;
        found.extend(
            self.late.iter().filter(is_it).map(|late| (late.label, Encounter::LateResults(late.transition))),
        );
        found
    }

    /// For each tool: its calls, and what can only be a further command of one.
    pub(super) fn further(&self) -> impl Iterator<Item = (LabelSet, LabelSet)> {
        let mut tools: BTreeMap<&str, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (index, way) in self.ways() {
            let (first, further) = tools.entry(&way.tool).or_default();
            if way.is_further { further.push(index) } else { first.push(index) }
        }
        let scripts = tools.into_values().filter(|(_, further)| !further.is_empty());
        scripts.map(|(first, further)| (self.calls(first), self.calls(further)))
    }

    /// For each way that may succeed late: the call without success, and the late successes of it.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (LabelSet, LabelSet)> {
        let late = self.of_way.iter().filter(|it| !it.late.is_empty());
        late.filter_map(|it| Some((it.failure?.into(), it.late.iter().copied().collect())))
    }

    /// Whether a result of one of these may come late, which are numbered by others.
    pub(super) fn is_late(&self, others: &Labels<'_>, labels: &LabelSet) -> bool {
        self.of_way.iter().zip(&others.of_way).any(|(it, other)| {
            let is_one =
                labels.contains(other.success) || other.failure.is_some_and(|it| labels.contains(it));
            !it.late.is_empty() && is_one
        })
    }

    /// Whether the shortest session here is the shortest of calls: one call may be several ways.
    pub(super) fn counts_calls(&self) -> bool {
        !self.ways.reads_scripts && !self.has_late()
    }

    /// What a label of other numbers, with calls one after another, is called here.
    pub(super) fn translated(&self, label: Label, others: &Labels<'_>) -> Option<Label> {
        let act = others.acts.get(label.0 as usize)?;
        let of_way = self.of_way.get(*others.way_of.get(label.0 as usize)?)?;
        match act.end {
            End::Success => Some(of_way.success),
            End::NoSuccess => of_way.failure,
            End::LateSuccess => None,
        }
    }

    /// Whether one of these is a further command of a call.
    pub(super) fn is_further(&self, labels: &LabelSet) -> bool {
        let act = |label: Label| self.acts.get(label.0 as usize);
        labels.iter().filter_map(act).any(|act| act.way.is_further)
    }

    /// Whether one of these, which are numbered by others, hangs together with a result that may come late.
    pub(super) fn is_near_late(&self, others: &Labels<'_>, labels: &LabelSet) -> bool {
        let is_near = |label: Label| {
            let way = others.way_of.get(label.0 as usize);
            way.and_then(|way| self.near_late.get(*way)).copied().unwrap_or(true)
        };
        labels.iter().any(is_near)
    }

    /// Whether some result may come late.
    pub(super) fn has_late(&self) -> bool {
        self.of_way.iter().any(|it| !it.late.is_empty())
    }

    /// The calls whose success a rule counts.
    pub(super) fn earning_calls(&self) -> LabelSet {
        let earning = self.of_way.iter().filter_map(|it| Some([it.success, it.failure?]));
        earning.flatten().collect()
    }

    /// The ways that are calls of a name, as the rules of a file would see it.
    pub(super) fn named(&self, name: &str, policy: &Policy, file: FileId, with: &[&str]) -> Vec<usize> {
        self.ways.called(name, policy, file, with).map(|(index, _)| index).collect()
    }
}

/// Whether a net becomes a table, because no simpler form says the same.
pub(super) fn becomes_table(rule: &NetRule) -> bool {
    matches!(rule.statement, Statement::Net(_))
}

/// The ways whose success some rule or claim counts.
fn earning(ways: &Ways, views: &[Vec<View<'_>>], policies: &[&Policy]) -> Vec<bool> {
    let waits = |policy: &Policy, view: &View<'_>| {
        view.iter().any(|watch| {
            let net = policy.net(watch.rule).filter(|net| net.mode == Mode::Enforce);
            net.is_some_and(|net| watch.transitions.iter().any(|it| net.net.guard(*it).is_deferred))
        })
    };
    let mut is_claimed = vec![false; ways.all.len()];
    for policy in policies {
        for (file, claim) in policy.claims_by_file() {
            let (Property::NeverBefore { needs, .. } | Property::NeverWithoutSince { needs, .. }) =
                &claim.property
            else {
                continue;
            };
            for (index, _) in ways.called(needs, policy, file, &claim.property.names()) {
                is_claimed.get_mut(index).into_iter().for_each(|claimed| *claimed = true);
            }
        }
    }
    is_claimed
        .into_iter()
        .enumerate()
        .map(|(index, is_claimed)| {
            let is_counted = |(policy, views): (&&Policy, &Vec<View<'_>>)| {
                !policy.workflows().is_empty() || views.get(index).is_some_and(|view| waits(policy, view))
            };
            is_claimed || policies.iter().zip(views).any(is_counted)
        })
        .collect()
}

/// The ways that hang together with a rule under which it matters when a result comes.
fn delicate(ways: &Ways, views: &[Vec<View<'_>>], policies: &[&Policy], late: LateResults) -> Vec<bool> {
    if late == LateResults::Never {
        return vec![false; ways.all.len()];
    }
    let mut groups = Groups::new(ways.all.len());
    let mut marked: Vec<usize> = Vec::new();
    for (policy, views) in policies.iter().zip(views) {
        let mut first: Vec<Option<usize>> = vec![None; policy.rules().count()];
        for (index, view) in views.iter().enumerate() {
            for watch in view {
                let Some(net) = policy.net(watch.rule).filter(|net| net.mode == Mode::Enforce) else {
                    continue;
                };
                let Some(first) = first.get_mut(watch.rule.index()) else { continue };
                groups.join(*first.get_or_insert(index), index);
                if is_delicate(net) {
                    marked.push(index);
                }
            }
        }
        let mut counted: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (index, way) in ways.all.iter().enumerate() {
            for counter in policy.counters(&way.tool) {
                groups.join(*counted.entry(counter).or_insert(index), index);
            }
        }
        for (file, claim) in policy.claims_by_file() {
            if let (LateResults::ByClaims, Property::NeverWithoutSince { .. }) = (late, &claim.property) {
                let names = claim.property.names();
                let meant = names.iter().flat_map(|name| ways.called(name, policy, file, &names));
                marked.extend(meant.map(|(index, _)| index));
            }
        }
        if !policy.workflows().is_empty() {
            marked.extend(0..ways.all.len());
        }
    }
    let mut is_marked = vec![false; ways.all.len()];
    for index in marked {
        let leader = groups.leader(index);
        is_marked.get_mut(leader).into_iter().for_each(|marked| *marked = true);
    }
    (0..ways.all.len()).map(|index| is_marked.get(groups.leader(index)).copied().unwrap_or(true)).collect()
}

/// The ways that hang together with a delicate one, or are further commands of calls that do.
fn near(ways: &Ways, is_delicate: &[bool]) -> Vec<bool> {
    let mut tools: BTreeMap<&str, bool> = BTreeMap::new();
    for (way, is_delicate) in ways.all.iter().zip(is_delicate) {
        *tools.entry(&way.tool).or_default() |= is_delicate;
    }
    // A tool that shares rules with such a tool only by other commands of it is taken in as well.
    if ways.reads_scripts && tools.values().any(|it| *it) {
        return vec![true; ways.all.len()];
    }
    ways.all.iter().map(|way| tools.get(&*way.tool).copied().unwrap_or(true)).collect()
}

fn is_delicate(rule: &NetRule) -> bool {
    match &rule.statement {
        Statement::Net(_) | Statement::Limit { scope: Scope::Action(_), .. } => true,
        Statement::Sequence { .. }
        | Statement::Approval { .. }
        | Statement::Block { .. }
        | Statement::Limit { scope: Scope::Session, .. } => false,
    }
}

/// Which ways hang together.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn leader(&mut self, mut index: usize) -> usize {
        while let Some(above) = self.0.get(index).copied().filter(|above| *above != index) {
            // Every look shortens the way for the next one.
            let beyond = self.0.get(above).copied().unwrap_or(above);
            self.0.get_mut(index).into_iter().for_each(|group| *group = beyond);
            index = above;
        }
        index
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.leader(one), self.leader(other));
        self.0.get_mut(other).into_iter().for_each(|group| *group = one);
    }
}
