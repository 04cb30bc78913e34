//! What no session of a workflow can ever do, under all rules of a policy.
//!
//! [`prove`] walks the workflow's net and tells the author which stages are never reached or never left, which
//! evidence that no call can give, and which rule is to blame. One walk is enough: see [`Walk`]. Missing on purpose: what
//! other nets and limits do to a session on its way; only rules that block a tool whatever the call are looked at.

use std::collections::BTreeSet;

use lockgate_petri::{Marking, Net, PlaceId};
use lockgate_policy::{
    Diagnostic, Policy, Rule,
    workflow::{Condition, Requirement, Stage, Workflow},
};

use super::net::{
    Giving, Move, NoWay, WorkflowNet, active, entry_gives, may_run, place_of, stage_gives, way_on,
    workflow_net,
};
use crate::report::NetReport;

/// How many rules that block are named in one finding.
const BLOCKERS_NAMED_MAX: usize = 3;

/// Walks a workflow's net: how many states it has, and what can never happen in it.
pub(crate) fn prove(workflow: &Workflow, policy: &Policy) -> (NetReport, Vec<Diagnostic>) {
    let report =
        |states, is_exact| NetReport { rule: workflow.id, name: workflow.name.clone(), states, is_exact };
    let is_blocked = |tool: &str| policy.blocker(tool).is_some();
    let Ok(drawn) = workflow_net(workflow, &is_blocked) else {
        let message = format!("workflow `{}` is too large to be looked at whole", workflow.name);
        let finding = Diagnostic::note("undecided", &workflow.source, workflow.span, message)
            .remedy("ask for less evidence, or make several workflows of it");
        return (report(1, false), vec![finding]);
    };
    let walk = Walk::new(workflow, &drawn);
    let findings = WorkflowProof { workflow, policy, net: drawn.net(), walk: &walk }.findings();
    (report(walk.states, walk.is_exact), findings)
}

/// The way of a session that gives every piece of evidence as soon as it can.
///
/// It reaches all stages that any session reaches. Giving evidence or an approval takes only the token that says
/// it is still lacking, which nothing else asks for, and what it gives is never taken again: so it can be moved to
/// the front of any session without closing anything. Breaking a condition only takes a token that moving on
/// asks for: so it can be left out. What is left is one line of stages.
struct Walk {
    /// Where the session comes to rest.
    end: Marking,
    /// The stages it comes through; none while the first one has not begun.
    reached: Vec<usize>,
    states: u64,
    is_exact: bool,
}

impl Walk {
    fn new(workflow: &Workflow, drawn: &WorkflowNet) -> Self {
        let net = drawn.net();
        let places: Vec<Option<PlaceId>> =
            workflow.stages.iter().map(|stage| net.place(&active(&stage.id))).collect();
        let mut walk = Self { end: net.initial().clone(), reached: Vec::new(), states: 0, is_exact: true };
        // The places that may or may not be marked, each on its own, in what was reached so far.
        let mut free: BTreeSet<PlaceId> = BTreeSet::new();
        loop {
            for given in drawn.moves(Move::Gives) {
                if net.fire(&mut walk.end, given).is_ok() {
                    free.extend(changed(net.outputs(given), net.inputs(given)));
                }
            }
            for broken in drawn.moves(Move::Breaks).filter(|it| net.is_enabled(&walk.end, *it)) {
                free.extend(changed(net.inputs(broken), net.outputs(broken)));
            }
            walk.count(free.len());
            let is_marked = |place: &Option<PlaceId>| place.is_some_and(|it| walk.end.tokens(it) > 0);
            walk.reached.extend(places.iter().position(is_marked));
            // Only one stage is active, so at most one way leads on.
            let Some(onwards) = drawn.moves(Move::MovesOn).find(|it| net.is_enabled(&walk.end, *it)) else {
                return walk;
            };
            for (place, _) in net.inputs(onwards) {
                free.remove(place);
            }
            if net.fire(&mut walk.end, onwards).is_err() {
                return walk;
            }
        }
    }

    /// Counts the states in one stage: every choice of what may or may not have happened so far.
    fn count(&mut self, free: usize) {
        let choices = u32::try_from(free).ok().and_then(|free| 1_u64.checked_shl(free));
        let sum = choices.and_then(|choices| self.states.checked_add(choices));
        self.is_exact &= sum.is_some();
        self.states = sum.unwrap_or(u64::MAX);
    }
}

/// The places of the first arcs that the second ones have no part in.
fn changed(arcs: &[(PlaceId, u64)], others: &[(PlaceId, u64)]) -> impl Iterator<Item = PlaceId> {
    arcs.iter().map(|(place, _)| *place).filter(|place| !others.iter().any(|(other, _)| other == place))
}

struct WorkflowProof<'a> {
    workflow: &'a Workflow,
    policy: &'a Policy,
    net: &'a Net,
    walk: &'a Walk,
}

/// A requirement that never holds.
struct Unmet<'a> {
    requirement: &'a Requirement,
    /// The stage it belongs to.
    of: usize,
    /// The last stage in which its evidence would still help; none if that is before the first.
    until: Option<usize>,
}

impl<'a> WorkflowProof<'a> {
    fn findings(&self) -> Vec<Diagnostic> {
        let unmet = self.unmet();
        let mut findings: Vec<Diagnostic> =
            unmet.iter().filter_map(|unmet| self.dead_evidence(unmet)).collect();
        findings.extend(self.trap(&unmet));
        findings.extend(self.dead_stages());
        // Where evidence is missing, the rules that block have been named.
        let told = self.walk.reached.last().filter(|_| !unmet.is_empty());
        let reached = self.walk.reached.iter().filter(|at| Some(*at) != told);
        findings.extend(reached.filter_map(|at| self.closed(self.workflow.stages.get(*at)?)));
        findings.sort_by_key(|finding| finding.span.start);
        findings
    }

    /// What is missing where the walk came to rest. All that was asked before it held.
    fn unmet(&self) -> Vec<Unmet<'a>> {
        let stages = &self.workflow.stages;
        let mut asked: Vec<Unmet<'a>> = Vec::new();
        let mut ask = |of: usize, until: Option<usize>, requirements: &'a [Requirement]| {
            asked.extend(requirements.iter().map(|requirement| Unmet { requirement, of, until }));
        };
        match self.walk.reached.last() {
            None => ask(0, None, stages.first().map(|first| first.entry.as_slice()).unwrap_or_default()),
            Some(&at) => {
                ask(at, Some(at), stages.get(at).map(|stage| stage.exit.as_slice()).unwrap_or_default());
                let entered = way_on(self.workflow, at).unwrap_or(at + 1..=at + 1);
                for (of, stage) in stages.iter().enumerate().filter(|(of, _)| entered.contains(of)) {
                    ask(of, Some(at), &stage.entry);
                }
            }
        }
        asked.retain(|unmet| self.never_holds(unmet));
        asked
    }

    fn never_holds(&self, unmet: &Unmet<'_>) -> bool {
        // A stage between here and there has ended by then.
        if let (Condition::StageComplete(stage), Some(until)) = (&unmet.requirement.condition, unmet.until)
            && self.workflow.find(stage).is_some_and(|(at, _)| (until..unmet.of).contains(&at))
        {
            return false;
        }
        // So has a human agreed to every line between here and there.
        if let (Condition::Approval(stage), Some(until)) = (&unmet.requirement.condition, unmet.until)
            && self
                .workflow
                .find(stage)
                .is_some_and(|(at, it)| it.is_boundary() && (until + 1..unmet.of).contains(&at))
        {
            return false;
        }
        let place = place_of(unmet.requirement).and_then(|place| self.net.place(&place));
        place.is_some_and(|place| self.walk.end.tokens(place) == 0)
    }

    fn dead_evidence(&self, unmet: &Unmet<'_>) -> Option<Diagnostic> {
        let (why, remedy) = self.why(unmet)?;
        let requirement = unmet.requirement;
        let message = format!("`{}` can never hold: {why}", requirement.text);
        Some(
            self.error("dead-evidence", requirement.span, message)
                .label("no call can show this")
                .remedy(remedy),
        )
    }

    /// Why evidence cannot be given, and what to do about it.
    fn why(&self, unmet: &Unmet<'_>) -> Option<(String, String)> {
        let stages = &self.workflow.stages;
        let stage = stages.get(unmet.until.unwrap_or(0))?;
        let id = &stage.id;
        let up_to = match unmet.until {
            Some(1..) => format!("in `{id}` or before"),
            Some(0) => format!("in `{id}`"),
            None => format!("before `{id}`"),
        };
        let none_other = match &unmet.requirement.condition {
            Condition::FileRead(_) => format!("no other tool open {up_to} reads files"),
            Condition::CommandMatches(_) => format!("no other tool of `{id}` runs commands"),
            _ => String::new(),
        };
        if let Some(blocked) = self.blocked(unmet) {
            let rest = if none_other.is_empty() { String::new() } else { format!(", and {none_other}") };
            let remedy = "open the tool, or ask for something that can be shown without it";
            return Some((format!("{blocked}{rest}"), remedy.to_owned()));
        }
        Some(match &unmet.requirement.condition {
            Condition::FileRead(_) => (
                format!("no tool open {up_to} reads files"),
                format!("add a tool that reads files, such as `Read`, to the tools of `{id}`"),
            ),
            Condition::CommandMatches(pattern) if pattern.is_impossible() => {
                ("no text matches the expression".to_owned(), "look for a slip in the expression".to_owned())
            }
            Condition::CommandMatches(_) if unmet.until != Some(unmet.of) => (
                "commands count only in the stage that asks for them, and that has not begun".to_owned(),
                "move the condition to the `exit` of the stage before".to_owned(),
            ),
            Condition::CommandMatches(pattern) if !may_run(stage, pattern) => (
                format!("a check of `{id}` refuses every command that matches"),
                "take out the check, or the condition".to_owned(),
            ),
            Condition::CommandMatches(_) => (
                format!("no tool open in `{id}` runs commands"),
                format!("add a tool that runs commands, such as `Bash`, to the tools of `{id}`"),
            ),
            Condition::ResultMatches { tool, .. } => {
                (format!("`{tool}` is not open {up_to}"), format!("add `{tool}` to the tools of `{id}`"))
            }
            Condition::StageComplete(_)
            | Condition::Approval(_)
            | Condition::CommandNotMatches(_)
            | Condition::Exec(_) => return None,
        })
    }

    /// The tools that could have given evidence, and the rules that block them.
    fn blocked(&self, unmet: &Unmet<'_>) -> Option<String> {
        let (condition, of) = (&unmet.requirement.condition, unmet.of);
        let is_blocked = |tool: &str| self.policy.blocker(tool).is_some();
        let givings = (0..unmet.until.map_or(0, |until| until + 1))
            .map(|at| stage_gives(self.workflow, at, of, condition, &is_blocked))
            .chain([entry_gives(self.workflow, of, condition, &is_blocked)]);
        let tools: BTreeSet<String> = givings
            .flat_map(|giving| match giving {
                Giving::Blocked(tools) => tools,
                Giving::Can | Giving::Cannot => Vec::new(),
            })
            .collect();
        (!tools.is_empty()).then(|| self.blocks(tools.iter().map(String::as_str)))
    }

    /// Which rules block these tools.
    fn blocks<'t>(&self, tools: impl ExactSizeIterator<Item = &'t str>) -> String {
        let more = tools.len().saturating_sub(BLOCKERS_NAMED_MAX);
        let named = tools.take(BLOCKERS_NAMED_MAX).filter_map(|tool| {
            let Rule { name, place, .. } = self.policy.blocker(tool)?;
            Some(format!("`{tool}` is blocked by `{name}` ({}:{})", place.file, place.line))
        });
        let mut named: Vec<String> = named.collect();
        if more > 0 {
            named.push(format!("{more} more are blocked as well"));
        }
        named.join(", ")
    }

    /// A stage that is reached and never left, though something comes after it.
    fn trap(&self, unmet: &[Unmet<'_>]) -> Option<Diagnostic> {
        let at = *self.walk.reached.last()?;
        let (stage, next) = (self.workflow.stages.get(at)?, self.workflow.stages.get(at + 1)?);
        let id = &stage.id;
        let (why, remedy) = match way_on(self.workflow, at) {
            Err(NoWay::IsTheEnd) => return None,
            Err(NoWay::TakesEveryCall) => (
                format!("every call belongs to `{id}`, so none ever begins `{}`", next.id),
                format!("list the tools of `{id}`: a call of another one ends the stage"),
            ),
            Err(NoWay::NothingBegins) => (
                "no stage after it takes calls, and only a call that belongs to a later stage ends it"
                    .to_owned(),
                format!("give `{id}` an `exit` or an `approval`"),
            ),
            Err(NoWay::StandsForMany(glob)) => (
                format!("`{glob}` stands for many tools, and nothing else marks its end"),
                format!("give `{id}` an `exit` or an `approval`, or name its tools one by one"),
            ),
            Err(NoWay::TakesCallsOf(later)) => (
                format!("every tool of `{later}` is open in `{id}` as well, and nothing else marks its end"),
                format!(
                    "give `{id}` an `exit` or an `approval`, or leave a tool of `{later}` out of its tools"
                ),
            ),
            Ok(_) => {
                let texts: Vec<String> =
                    unmet.iter().map(|unmet| format!("`{}`", unmet.requirement.text)).collect();
                if texts.is_empty() {
                    return None;
                }
                let first = unmet.iter().find_map(|unmet| Some(self.why(unmet)?.1));
                // All that is left is an approval for a stage that this one leads to.
                let remedy = first.unwrap_or_else(|| {
                    format!("leave the condition out: that stage asks anyway; or give `{id}` an `exit`")
                });
                (format!("{} can never hold here", texts.join(" and ")), remedy)
            }
        };
        let message = format!("a session that reaches stage `{id}` can never leave it: {why}");
        Some(self.error("stage-trap", stage.span, message).label("never left").remedy(remedy))
    }

    /// The stages that no session reaches, told at the first of them.
    fn dead_stages(&self) -> Option<Diagnostic> {
        let first_dead = self.walk.reached.last().map_or(0, |last| last + 1);
        let stages = &self.workflow.stages;
        let dead: Vec<String> =
            stages.iter().skip(first_dead).map(|stage| format!("`{}`", stage.id)).collect();
        let stage = stages.get(first_dead)?;
        let what = match dead.as_slice() {
            [one] => format!("stage {one}"),
            several => format!("stages {}", several.join(", ")),
        };
        let (why, remedy) = match first_dead.checked_sub(1).and_then(|last| stages.get(last)) {
            Some(last) => (
                format!("no session ever leaves `{}`", last.id),
                format!("make it possible to leave `{}`, or take out what comes after it", last.id),
            ),
            None => (
                format!("the entry of `{}` can never be met", stage.id),
                format!("ask for something else before `{}`", stage.id),
            ),
        };
        let message = format!("no session can reach {what}: {why}");
        Some(self.error("dead-stage", stage.span, message).label("never reached").remedy(remedy))
    }

    /// A stage all of whose tools are blocked.
    fn closed(&self, stage: &Stage) -> Option<Diagnostic> {
        let names: Vec<String> =
            stage.tools.as_ref()?.iter().map(lockgate_pattern::ToolGlob::exact).collect::<Option<_>>()?;
        let is_closed = !names.is_empty() && names.iter().all(|name| self.policy.blocker(name).is_some());
        let takes_calls = !stage.is_terminal || !stage.exit.is_empty();
        (is_closed && takes_calls).then(|| {
            let blocks = self.blocks(names.iter().map(String::as_str));
            let message = format!("no tool can ever be called in stage `{}`: {blocks}", stage.id);
            self.error("closed-stage", stage.span, message)
                .label("no tool is open")
                .remedy("open one of its tools, or take out the stage")
        })
    }

    fn error(&self, code: &'static str, span: lockgate_policy::Span, message: String) -> Diagnostic {
        Diagnostic::error(code, &self.workflow.source, span, message)
    }
}

#[cfg(test)]
mod tests;
