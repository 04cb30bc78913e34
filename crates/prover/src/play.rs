//! Sessions that the prover found, played through the judge.
//!
//! [`play`] makes up a call for each act, lets humans agree and results come as the session says, and tells what was
//! decided on the way. Where a rule forbids something for a while, the session waits.

use std::{collections::HashMap, sync::Arc};

use lockgate_call::{Call, Time};
use lockgate_gate::{
    Commons, Event, Human, Judgement, Outcome, Rulebook, Session, Stand, Verdict, judge, judge_answer, settle,
};
use lockgate_policy::{Decision, Deeds, Policy};
use serde_json::{Map, Value};

use crate::proof::{Act, End, Moment, Played, Run, Way, openers, sample};

/// The longest session that is played, in calls.
pub const PLAYED_MAX: u64 = 100_000;

/// How long a session waits where a rule forbids something for a while: more than an hour, a day, a month.
const WAITS_MS: [u64; 3] = [61 * 60_000, 25 * 3_600_000, 32 * 86_400_000];

/// When a session starts: the first day of 2026, as the sessions of spec pages do, so that one can be pasted there.
pub const PLAYED_FROM: Time = Time(1_767_225_600_000);

/// One call of a session, and what became of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The call.
    pub call: Call,
    /// What it is called for, in the words of the rules.
    pub deed: Arc<str>,
    /// All it amounts to.
    pub deeds: Deeds,
    /// How long the session waited before it, in milliseconds.
    pub waited_ms: u64,
    /// What was decided before anybody answered.
    pub decision: Decision,
    /// What a human said who was asked.
    pub granted: Option<bool>,
    /// What was decided in the end, once somebody had answered.
    pub came: Decision,
    /// How it ended.
    pub ended: Ended,
}

impl Step {
    /// Whether the same happens again; the ids and moments of two calls always differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let happens = |step: &Self| (step.waited_ms, step.decision, step.granted, step.came, step.ended);
        happens(self) == happens(other)
            && self.deed == other.deed
            && self.call.tool == other.call.tool
            && self.call.input == other.call.input
            && self.call.about == other.call.about
    }
}

/// How a call of a played session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was not let pass.
    Refused,
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
    /// Its result comes later.
    Open,
    /// This is no call, but the late success of an earlier one.
    LateSuccess,
}

/// A part of a session, and how often it happens in a row.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its calls.
    pub steps: Vec<Step>,
    /// How often.
    pub times: u64,
}

/// What a session came to.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The session as it was played, up to the first call that was refused.
    pub parts: Vec<Part>,
    /// The verdict on the last call, before anybody answered.
    pub verdict: Verdict,
    /// Whether every call was let pass.
    pub passes: bool,
}

impl Seen {
    /// What happened, in order.
    pub(crate) fn moments(&self) -> Vec<(&Call, Moment)> {
        let mut moments = Vec::new();
        for part in &self.parts {
            for _ in 0..part.times {
                for step in part.steps.iter().filter(|step| step.ended != Ended::Refused) {
                    if step.ended != Ended::LateSuccess {
                        moments.push((&step.call, Moment::Called));
                    }
                    if matches!(step.ended, Ended::Success | Ended::LateSuccess) {
                        moments.push((&step.call, Moment::Succeeded));
                    }
                }
            }
        }
        moments
    }

    /// The last call.
    pub fn last(&self) -> Option<&Step> {
        self.parts.iter().rev().find_map(|part| part.steps.last())
    }
}

/// Which calls a session is made of, where rules tell calls apart that the prover does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// The plainest ones.
    Plain,
    /// Ones that are let pass.
    Passing,
    /// Ones that are let pass without asking anybody.
    Unasked,
}

impl Inputs {
    /// Whether a call with this verdict will do.
    fn take(self, decision: Decision) -> bool {
        match self {
            Self::Plain => true,
            Self::Passing => decision != Decision::Block,
            Self::Unasked => decision < Decision::Ask,
        }
    }
}

/// Plays a session; none if a call cannot be made up that all of these policies see as meant, if it is empty or too
/// long. Ends at the first call that is refused.
pub(crate) fn play(
    rulebook: &Rulebook,
    played: &[Played],
    policies: &[&Policy],
    inputs: Inputs,
) -> Option<Seen> {
    let length = |it: &Played| (it.acts.len() as u64).saturating_mul(it.times);
    if played.iter().map(length).fold(0, u64::saturating_add) > PLAYED_MAX {
        return None;
    }
    let mut late: HashMap<Arc<Way>, u64> = HashMap::new();
    for run in played {
        for act in run.acts.iter().filter(|act| act.end == End::LateSuccess) {
            let count = late.entry(act.way.clone()).or_default();
            *count = count.saturating_add(run.times);
        }
    }
    let is_choosy = inputs != Inputs::Plain && looks_at_inputs(&rulebook.policy);
    let mut stage = Stage::new(rulebook);
    let (mut parts, mut last): (Vec<Part>, Option<Verdict>) = (Vec::new(), None);
    for run in played {
        let mut calls = calls_of(&run.acts, policies)?;
        for _ in 0..run.times {
            let mut steps = Vec::new();
            for Made { ways, call, others, end } in &mut calls {
                let Some(way) = ways.first() else { continue };
                let (step, verdict) = match call {
                    Some(call) => {
                        if is_choosy && !inputs.take(stage.decision(call)) {
                            let others = others.get_or_insert_with(|| {
                                let ways: Vec<&Way> = ways.iter().map(|way| &**way).collect();
                                openers(&ways, policies, "")
                            });
                            let better = others.iter().find(|other| inputs.take(stage.decision(other)));
                            let better = better.or_else(|| {
                                others.iter().find(|other| Inputs::Passing.take(stage.decision(other)))
                            });
                            better.into_iter().for_each(|better| call.clone_from(better));
                        }
                        let is_open = *end == End::NoSuccess && late.get_mut(way).is_some_and(take_one);
                        let ends = (!is_open).then_some(*end == End::Success);
                        let call = Call { id: stage.next_id(), ..call.clone() };
                        let (step, verdict) = stage.call(call, way.deed(), Some(true), ends);
                        if is_open {
                            stage.open.push((way.clone(), step.call.clone()));
                        }
                        (step, Some(verdict))
                    }
                    None => match stage.succeed_late(way) {
                        Some(step) => (step, None),
                        // One success is several acts where several rules wait for it.
                        None => continue,
                    },
                };
                let passes = step.ended != Ended::Refused;
                steps.push(step);
                last = verdict.or(last);
                if !passes {
                    add_round(&mut parts, steps);
                    return Some(Seen { parts, verdict: last?, passes: false });
                }
            }
            add_round(&mut parts, steps);
        }
    }
    Some(Seen { parts, verdict: last?, passes: true })
}

/// Whether some rule may tell calls apart that the prover does not.
fn looks_at_inputs(policy: &Policy) -> bool {
    let has_checks =
        || policy.nets().iter().flat_map(|rule| rule.net.guards()).any(|it| !it.checks.is_empty());
    !policy.clauses().is_empty() || has_checks()
}

/// One more round. What repeats for the rules may differ for the gate: an answer that stands is asked for once, and
/// somewhere a session has to wait.
fn add_round(parts: &mut Vec<Part>, steps: Vec<Step>) {
    let is_same = |part: &&mut Part| {
        part.steps.len() == steps.len()
            && part.steps.iter().zip(&steps).all(|(one, other)| one.is_like(other))
    };
    match parts.last_mut().filter(is_same) {
        _ if steps.is_empty() => {}
        Some(part) => part.times += 1,
        None => parts.push(Part { steps, times: 1 }),
    }
}

/// Takes one of these, if any are left.
fn take_one(left: &mut u64) -> bool {
    let has_one = *left > 0;
    *left = left.saturating_sub(1);
    has_one
}

/// A call that was made up for acts, or a late success of one.
struct Made {
    /// What it is, and further commands of the same call.
    ways: Vec<Arc<Way>>,
    /// None for a late success.
    call: Option<Call>,
    /// Other calls that are the same to the prover, once somebody has asked for them.
    others: Option<Vec<Call>>,
    end: End,
}

/// A call for each act; further commands belong to the call before them. None where none can be made up.
fn calls_of(acts: &[Act], policies: &[&Policy]) -> Option<Vec<Made>> {
    let mut made = Vec::new();
    let mut rest = acts;
    while let Some((first, after)) = rest.split_first() {
        if first.end == End::LateSuccess {
            made.push(Made { ways: vec![first.way.clone()], call: None, others: None, end: first.end });
            rest = after;
            continue;
        }
        let is_part =
            |act: &&Act| act.way.is_further && act.way.tool == first.way.tool && act.end != End::LateSuccess;
        let further = after.iter().take_while(is_part).count();
        let (parts, after) = after.split_at_checked(further)?;
        let ways: Vec<&Way> = std::iter::once(first).chain(parts).map(|act| &*act.way).collect();
        // The commands of one call succeed together or not at all.
        if parts.iter().any(|act| act.end != first.end) {
            return None;
        }
        let call = Some(sample(&ways, policies, "")?);
        let ways = std::iter::once(first).chain(parts).map(|act| act.way.clone()).collect();
        made.push(Made { ways, call, others: None, end: first.end });
        rest = after;
    }
    Some(made)
}

/// A session that was found as calls that all of these policies see as meant, without late results.
pub(crate) fn runs_of(played: &[Played], policies: &[&Policy]) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    for part in played {
        for Made { call, end, .. } in calls_of(&part.acts, policies)? {
            // Calls of a part take turns, and what does not succeed is no way to anything.
            let is_plain = end == End::Success && (part.times == 1 || part.acts.len() == 1);
            let call = call.filter(|_| is_plain)?;
            runs.push(Run { call, times: part.times, wait_ms: 0, output: None });
        }
    }
    Some(runs)
}

/// A session that is played.
pub(crate) struct Stage<'a> {
    rulebook: &'a Rulebook,
    session: Session,
    commons: Commons,
    calls: u64,
    now: Time,
    /// Whether it waits where a rule forbids something for a while.
    is_patient: bool,
    /// Calls whose results have not come.
    open: Vec<(Arc<Way>, Call)>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(rulebook: &'a Rulebook) -> Self {
        Self {
            rulebook,
            session: Session::default(),
            commons: Commons::default(),
            calls: 0,
            now: PLAYED_FROM,
            is_patient: true,
            open: Vec::new(),
        }
    }

    /// One in which all calls come at once.
    pub(crate) fn hurried(rulebook: &'a Rulebook) -> Self {
        Self { is_patient: false, ..Self::new(rulebook) }
    }

    /// A session that begins at a moment, and what the trusted caller says about it.
    pub(crate) fn starting(rulebook: &'a Rulebook, now: Time, attributes: Map<String, Value>) -> Self {
        let mut stage = Self { now, ..Self::new(rulebook) };
        stage.session.apply(&Event::Described { attributes });
        stage
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = self.now.after_ms(ms);
    }

    pub(crate) fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("c{}", self.calls)
    }

    fn stand(&self) -> Stand<'_> {
        Stand { commons: &self.commons, ..Stand::from(&self.session) }
    }

    /// One call, what a human says who is asked, and how it ends; none: not yet.
    pub(crate) fn call(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        ends: Option<bool>,
    ) -> (Step, Verdict) {
        let (waited_ms, judged) = self.judge_in_time(&call);
        let end = ends.map(|ok| Outcome { ok, ..Outcome::default() });
        self.decided(call, deed, granted, end, (waited_ms, judged))
    }

    /// The same at once, whatever may be let pass later; what it returns is handed in.
    pub(crate) fn call_now(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        output: Option<Value>,
    ) -> (Step, Verdict) {
        let judged = judge(self.rulebook, self.stand(), &call.clone().at(self.now), Human::Reachable);
        let end = Some(Outcome { ok: true, output, ..Outcome::default() });
        self.decided(call, deed, granted, end, (0, judged))
    }

    fn decided(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        end: Option<Outcome>,
        (waited_ms, judged): (u64, Judgement),
    ) -> (Step, Verdict) {
        let call = call.at(self.now);
        self.take(&judged.events, &judged.shared);
        let verdict = judged.verdict;
        let (mut passes, mut came) = (verdict.lets_pass(), verdict.decision);
        let mut answer = None;
        if let (Some(approval), Some(granted)) = (&verdict.approval, granted)
            && let Some(answered) =
                judge_answer(self.rulebook, self.stand(), approval.number, granted, self.now)
        {
            self.take(&answered.events, &answered.shared);
            (passes, came) = (answered.verdict.lets_pass(), answered.verdict.decision);
            answer = Some(granted);
        }
        let ended = match (passes, end) {
            (false, _) => Ended::Refused,
            (true, None) => Ended::Open,
            (true, Some(Outcome { ok, output, .. })) => {
                self.settle(&call, ok, output);
                if ok { Ended::Success } else { Ended::Failure }
            }
        };
        let (decision, granted, deeds) = (verdict.decision, answer, verdict.deeds.clone());
        (Step { call, deed, deeds, waited_ms, decision, granted, came, ended }, verdict)
    }

    /// What is decided about a call, now or later.
    fn decision(&self, call: &Call) -> Decision {
        let judge_at =
            |at: Time| judge(self.rulebook, self.stand(), &call.clone().at(at), Human::Reachable).verdict;
        let now = judge_at(self.now).decision;
        let later = WAITS_MS.iter().map(|wait| judge_at(self.now.after_ms(*wait)).decision);
        match now {
            Decision::Block if self.is_patient => later.min().map_or(now, |later| later.min(now)),
            now => now,
        }
    }

    /// Judges a call; where it is refused now and not later, later.
    fn judge_in_time(&mut self, call: &Call) -> (u64, Judgement) {
        let judge_at = |stage: &Self, at: Time| {
            judge(stage.rulebook, stage.stand(), &call.clone().at(at), Human::Reachable)
        };
        let now = judge_at(self, self.now);
        if now.verdict.decision != Decision::Block || !self.is_patient {
            return (0, now);
        }
        for wait in WAITS_MS {
            let at = Time(self.now.0.saturating_add(wait));
            let later = judge_at(self, at);
            if later.verdict.decision != Decision::Block {
                self.now = at;
                return (wait, later);
            }
        }
        (0, now)
    }

    /// The result of the oldest open call of a way.
    fn succeed_late(&mut self, way: &Arc<Way>) -> Option<Step> {
        let place = self.open.iter().position(|(open, _)| open == way)?;
        let (way, call) = self.open.remove(place);
        self.settle(&call, true, None);
        Some(Step {
            call,
            deed: way.deed(),
            deeds: Deeds::new(),
            waited_ms: 0,
            decision: Decision::Allow,
            granted: None,
            came: Decision::Allow,
            ended: Ended::LateSuccess,
        })
    }

    fn settle(&mut self, call: &Call, ok: bool, output: Option<Value>) {
        let outcome = Outcome { ok, output, at: self.now, ..Outcome::success(call) };
        let settled = settle(self.rulebook, self.stand(), &outcome);
        self.take(&settled.events, &settled.shared);
    }

    fn take(&mut self, events: &[Event], shared: &[lockgate_gate::Shared]) {
        events.iter().for_each(|event| self.session.apply(event));
        shared.iter().for_each(|event| self.commons.apply(event));
    }
}
