//! Sessions that the prover found, played through the judge.
//!
//! [`play`] makes up a call for each act, lets humans agree and results come as the session says, and reports what was
//! decided on the way. Where a rule forbids something for a while, the session waits.

mod rehearsal;

use std::{collections::HashMap, sync::Arc};

use lockgate_call::Call;
use lockgate_gate::{Rulebook, Verdict};
use lockgate_policy::{Decision, Policy};

use crate::proof::{Act, End, Moment, Played, Run, Way, openers, sample};

pub use rehearsal::{CallEnd, PLAYED_FROM, Step};

pub(crate) use rehearsal::Rehearsal;

/// The longest session that is played, in calls.
pub const PLAYED_MAX: u64 = 100_000;

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
pub struct PlayedSession {
    /// The session as it was played, up to the first call that was refused.
    pub parts: Vec<Part>,
    /// The verdict on the last call, before a human answered.
    pub verdict: Verdict,
    /// Whether every call was let pass.
    pub passes: bool,
}

impl PlayedSession {
    /// What happened, in order.
    pub(crate) fn moments(&self) -> Vec<(&Call, Moment)> {
        let mut moments = Vec::new();
        for part in &self.parts {
            for _ in 0..part.times {
                for step in part.steps.iter().filter(|step| step.ended != CallEnd::Refused) {
                    if step.ended != CallEnd::LateSuccess {
                        moments.push((&step.call, Moment::Called));
                    }
                    if matches!(step.ended, CallEnd::Success | CallEnd::LateSuccess) {
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
    /// Ones that are let pass without asking a human.
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
) -> Option<PlayedSession> {
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
    let mut stage = Rehearsal::new(rulebook);
    let (mut parts, mut last): (Vec<Part>, Option<Verdict>) = (Vec::new(), None);
    for run in played {
        let mut calls = calls_of(&run.acts, policies)?;
        for _ in 0..run.times {
            let mut steps = Vec::new();
            for MadeCall { ways, call, others, end } in &mut calls {
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
                let passes = step.ended != CallEnd::Refused;
                steps.push(step);
                last = verdict.or(last);
                if !passes {
                    add_round(&mut parts, steps);
                    return Some(PlayedSession { parts, verdict: last?, passes: false });
                }
            }
            add_round(&mut parts, steps);
        }
    }
    Some(PlayedSession { parts, verdict: last?, passes: true })
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
struct MadeCall {
    /// What it is, and further commands of the same call.
    ways: Vec<Arc<Way>>,
    /// None for a late success.
    call: Option<Call>,
    /// Other calls that are the same to the prover, once they are asked for.
    others: Option<Vec<Call>>,
    end: End,
}

/// A call for each act; further commands belong to the call before them. None where none can be made up.
fn calls_of(acts: &[Act], policies: &[&Policy]) -> Option<Vec<MadeCall>> {
    let mut made = Vec::new();
    let mut rest = acts;
    while let Some((first, after)) = rest.split_first() {
        if first.end == End::LateSuccess {
            made.push(MadeCall { ways: vec![first.way.clone()], call: None, others: None, end: first.end });
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
        made.push(MadeCall { ways, call, others: None, end: first.end });
        rest = after;
    }
    Some(made)
}

/// A session that was found as calls that all of these policies see as meant, without late results.
pub(crate) fn runs_of(played: &[Played], policies: &[&Policy]) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    for part in played {
        for MadeCall { call, end, .. } in calls_of(&part.acts, policies)? {
            // Calls of a part take turns, and a call that does not succeed leads nowhere.
            let is_plain = end == End::Success && (part.times == 1 || part.acts.len() == 1);
            let call = call.filter(|_| is_plain)?;
            runs.push(Run { call, times: part.times, wait_ms: 0, output: None });
        }
    }
    Some(runs)
}
