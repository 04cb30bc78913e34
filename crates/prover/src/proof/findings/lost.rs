//! Sessions after which something is never possible again, or nothing at all.

use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use lockgate_petri::prove::{
    Answer, Label, LabelSet, Onward, Rule as Form, RuleId as FormId, State, System, Trace,
};

use super::proving::{FindingDraft, Proving, VisibleName, calls_in};
use crate::proof::compose::ProofModels;

impl<'b, 'p> Proving<'_, 'b, 'p> {
    /// `trap` and `exhausted`: sessions after which something that was possible never is again.
    pub(super) fn lost(&mut self, dead: &BTreeSet<Label>) {
        let names = self.living(dead);
        let goals: Vec<LabelSet> = names.iter().map(|named| self.calls(named)).collect();
        let answers = self.both.plain.prover.all_can_lose(&goals);
        let mut last: Option<LosingSession<'_>> = None;
        for ((named, goal), answer) in names.iter().zip(&goals).zip(answers) {
            let name = &named.name;
            let trace = match answer {
                Answer::No(_) => continue,
                Answer::Undecided(_) => {
                    self.undecided.push(format!("whether `{name}` stays possible"));
                    continue;
                }
                Answer::Yes(trace) => trace,
            };
            // Many names are lost by one session.
            let lost = match &mut last {
                Some(known) if known.trace == trace => known,
                _ => last.insert(LosingSession::by(trace, &self.composed.system)),
            };
            // That nothing opens it again has to hold for late results, too.
            if let Some(late) = self.both.late_for(goal)
                && !lost.stays_closed(self.both, &calls_in(late, named))
            {
                self.undecided.push(format!("whether `{name}` stays possible when results come late"));
                continue;
            }
            let refusing = lost.closed.refusing(goal);
            let rules = self.rules_about(named, &refusing);
            let is_own = |form: &FormId| match self.composed.system.rules().get(form.0) {
                Some(Form::Limit { spend, .. }) => goal.iter().any(|label| spend.contains(label)),
                _ => false,
            };
            // That a limit ends what it limits is what it is there for.
            if refusing.iter().any(is_own) || rules.is_empty() {
                continue;
            }
            let is_limit = |form: &FormId| {
                let form = self.composed.system.rules().get(form.0);
                matches!(form, Some(Form::Limit { .. } | Form::LimitPer { .. }))
            };
            let because = self.listed_rules(&rules);
            let found = if refusing.iter().any(is_limit) {
                let message = format!(
                    "a session can use up what `{name}` needs: then {because} keeps it closed for good"
                );
                FindingDraft::note("exhausted", message, "raise the limit, if that is not meant")
            } else {
                let message = format!(
                    "a session can get where `{name}` is never possible again: {because} keeps it closed"
                );
                FindingDraft::warning("trap", message, "open a way back, or forbid the way in")
            };
            let trace = self.composed.played(&lost.trace);
            self.find(FindingDraft { rules, tools: vec![name.clone()], trace, ..found });
        }
    }

    /// `stuck`: sessions after which nothing that rules speak of can be called any more.
    pub(super) fn stuck(&mut self, dead: &BTreeSet<Label>) {
        let living = self.living(dead);
        if living.is_empty() {
            return;
        }
        let calls = |names: &[VisibleName]| {
            names.iter().flat_map(|it| self.calls(it).iter().collect::<Vec<_>>()).collect()
        };
        let all: LabelSet = calls(&self.names);
        let trace = match self.both.plain.prover.can_get_stuck(&all) {
            // Beside rules under which late results matter, this is unknown.
            Answer::Yes(_) if self.both.late.is_some() => return,
            Answer::Yes(trace) if !trace.is_empty() => trace,
            Answer::Yes(_) | Answer::No(_) => return,
            Answer::Undecided(_) => {
                self.undecided.push("whether a session can get stuck".to_owned());
                return;
            }
        };
        let goal: LabelSet = calls(&living);
        let refusing = ClosedState::after(&self.composed.system, &trace).refusing(&goal);
        let rules = self.rules(refusing);
        let message = format!(
            "a session can get where nothing that the rules speak of can be called any more: {}",
            self.listed_rules(&rules)
        );
        let remedy = "raise a limit or open a way back, if sessions are meant to go on";
        let trace = self.composed.played(&trace);
        let tools = living.into_iter().map(|named| named.name).collect();
        self.find(FindingDraft { rules, tools, trace, ..FindingDraft::note("stuck", message, remedy) });
    }
}

/// A session after which something is never possible again.
struct LosingSession<'a> {
    trace: Trace,
    closed: ClosedState<'a>,
    /// What can follow it where results come late, once it was looked for.
    onward: Option<Option<Onward<'a>>>,
}

impl<'a> LosingSession<'a> {
    pub(super) fn by(trace: Trace, system: &'a System) -> Self {
        Self { closed: ClosedState::after(system, &trace), trace, onward: None }
    }

    /// Whether late results open none of these calls.
    fn stays_closed(&mut self, both: &'a ProofModels<'_, '_>, calls: &LabelSet) -> bool {
        let onward = self.onward.get_or_insert_with(|| both.onward(&self.trace));
        onward.as_ref().is_some_and(|onward| onward.can_call(calls).is_no())
    }
}

/// Where a session stands, and what is closed there.
struct ClosedState<'a> {
    pub(super) system: &'a System,
    state: State,
    /// The rules that refuse each label, as far as they were looked for.
    refusing: HashMap<Label, Vec<FormId>, RandomState>,
}

impl<'a> ClosedState<'a> {
    fn after(system: &'a System, trace: &Trace) -> Self {
        Self { system, state: system.replay(trace).unwrap_or_default(), refusing: HashMap::default() }
    }

    /// The rules that refuse all ways of a goal, and all ways of what those rules wait for, in ascending order.
    fn refusing(&mut self, goal: &LabelSet) -> Vec<FormId> {
        let Self { system, state, refusing } = self;
        let mut found: Vec<FormId> = Vec::new();
        let mut wanted: Vec<Label> = goal.iter().collect();
        let mut seen: HashSet<Label, RandomState> = goal.iter().collect();
        while let Some(label) = wanted.pop() {
            let forms = refusing.entry(label).or_insert_with(|| system.refusing(state, label).collect());
            for form in forms {
                found.push(*form);
                let waits_for = match system.rules().get(form.0) {
                    Some(Form::Require { before, .. }) => before,
                    Some(Form::Since { needs, .. }) => needs,
                    Some(Form::LimitPer { refill, .. }) => refill,
                    _ => continue,
                };
                wanted.extend(waits_for.iter().filter(|label| seen.insert(*label)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
