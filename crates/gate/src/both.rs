//! Decides under two policies: the one that a session is bound to, and the one in force.
//!
//! Each policy judges alone, on its own view of the session. The stricter verdict is the verdict, and the other side then
//! takes in the same outcome, so both views have the same history: a call is in flight for both, is asked about for both,
//! or was blocked for both. So a call is let pass only if the accepted policy alone and the policy in force alone let it
//! pass. Nothing is shared between the two views: a credit that one policy gives is not a credit under the other.

use std::sync::Arc;

use lockgate_call::{SeenCall, Time};
use lockgate_policy::{Decision, Policy};

use crate::{
    human::{Answer, Human},
    judge::{judge, judge_answer_with, judge_with},
    output::OutputDecision,
    record::{Events, Judgement},
    rulebook::Rulebook,
    settle::{Outcome, Settlement, look_at, settle},
    signed_answer::SignedAnswer,
    state::{Asked, Event, Session, SharedState, Stand},
    verdict::{Obstacle, Verdict},
};

/// The gate's name for what another policy put in the way.
const IMPOSED: &str = "changed-policy";

/// What is added to a reason that only the accepted policy has.
const HELD: &str = "(The policy that this session is bound to says so; it was changed since, and no human has accepted the \
                    change with `lockgate accept-policy`.)";

/// An answer, and the signature that proves it where there is one.
type ProvedAnswer<'p> = (Answer, Option<&'p Arc<SignedAnswer>>);

/// The rules that decide about a session.
#[derive(Clone, Copy)]
pub(crate) enum Rules<'a> {
    /// Those in force.
    One(&'a Rulebook),
    /// Those in force, and others that the session is bound to.
    Both(Both<'a>),
}

impl<'a> Rules<'a> {
    pub(crate) fn judge(self, stand: Stand<'a>, call: &SeenCall, human: Human) -> Judgement {
        match self {
            Self::One(rulebook) => judge(rulebook, stand, call, human),
            Self::Both(both) => both.judge(stand, call, human),
        }
    }

    pub(crate) fn judge_answer(
        self,
        stand: Stand<'a>,
        number: u64,
        answer: ProvedAnswer<'_>,
        at: Time,
    ) -> Option<Judgement> {
        match self {
            Self::One(rulebook) => judge_answer_with(rulebook, stand, number, answer, at, None),
            Self::Both(both) => both.judge_answer(stand, number, answer, at),
        }
    }

    pub(crate) fn settle(self, stand: Stand<'a>, outcome: &Outcome) -> (Settlement, Option<Events>) {
        match self {
            Self::One(rulebook) => (settle(rulebook, stand, outcome), None),
            Self::Both(both) => {
                let (settlement, changed) = both.settle(stand, outcome);
                (settlement, Some(changed))
            }
        }
    }

    /// Whether programs of conditions may be run: all that decide must say so.
    pub(crate) fn runs_programs(self) -> bool {
        match self {
            Self::One(rulebook) => rulebook.terms.runs_programs,
            Self::Both(both) => both.accepted.terms.runs_programs && both.current.terms.runs_programs,
        }
    }

    /// The policies that decide.
    pub(crate) fn policies(self) -> [Option<&'a Policy>; 2] {
        match self {
            Self::One(rulebook) => [Some(&rulebook.policy), None],
            Self::Both(both) => [Some(&both.accepted.policy), Some(&both.current.policy)],
        }
    }

    /// The rules that the session is bound to.
    pub(crate) fn accepted(self) -> &'a Rulebook {
        match self {
            Self::One(rulebook) => rulebook,
            Self::Both(both) => both.accepted,
        }
    }
}

/// Two policies that decide together.
#[derive(Clone, Copy)]
pub(crate) struct Both<'a> {
    /// The rules that the session is bound to.
    pub(crate) accepted: &'a Rulebook,
    /// The rules in force.
    pub(crate) current: &'a Rulebook,
    /// The session under the rules in force.
    pub(crate) session: &'a Session,
}

/// One of the two sides.
#[derive(Clone, Copy)]
struct Side<'a> {
    rulebook: &'a Rulebook,
    stand: Stand<'a>,
}

impl<'a> Both<'a> {
    /// Decides about a call; `stand` is the session under the accepted rules.
    pub(crate) fn judge(&self, stand: Stand<'a>, call: &SeenCall, human: Human) -> Judgement {
        let ours = SharedState { halted: stand.shared_state.halted.clone(), ..SharedState::default() };
        let (accepted, current) = self.sides(stand, &ours);
        let first = judge(accepted.rulebook, accepted.stand, call, human);
        if let Some(Event::Duplicate { .. }) = first.events.last() {
            let changed = Some(first.events.clone());
            return Judgement { changed, ..first };
        }
        // Both give the call the same id.
        let call = &*named_as_in(&first.events, call);
        let imposing = |side: Side<'_>, imposed: Option<&Obstacle>| {
            judge_with(side.rulebook, side.stand, call, human, imposed)
        };
        let second = imposing(current, self.doubt().as_ref());
        self.join(first, second, |is_accepted, imposed| {
            imposing(if is_accepted { accepted } else { current }, Some(imposed))
        })
    }

    /// Takes in a human's answer; none if the question is not open.
    pub(crate) fn judge_answer(
        &self,
        stand: Stand<'a>,
        number: u64,
        (answer, proof): ProvedAnswer<'_>,
        at: Time,
    ) -> Option<Judgement> {
        let ours = SharedState { halted: stand.shared_state.halted.clone(), ..SharedState::default() };
        let (accepted, current) = self.sides(stand, &ours);
        // A question that has run out on one side is answered on neither.
        let answer = if self.session.asked().contains_key(&number) { answer } else { Answer::Refused };
        let answer = (answer, proof);
        let first = judge_answer_with(accepted.rulebook, accepted.stand, number, answer, at, None)?;
        let second =
            judge_answer_with(current.rulebook, current.stand, number, answer, at, self.doubt().as_ref());
        let Some(second) = second else { return Some(Judgement { changed: Some(Events::new()), ..first }) };
        Some(self.join(first, second, |is_accepted, imposed| {
            let Side { rulebook, stand } = if is_accepted { accepted } else { current };
            let judged = judge_answer_with(rulebook, stand, number, answer, at, Some(imposed));
            // The question is open: it was answered a moment ago on this very session.
            judged.unwrap_or_else(|| refusal(imposed))
        }))
    }

    /// Takes in a result, and what the session has to take in under the rules in force.
    pub(crate) fn settle(&self, stand: Stand<'a>, outcome: &Outcome) -> (Settlement, Events) {
        let ours = SharedState { halted: stand.shared_state.halted.clone(), ..SharedState::default() };
        let (accepted, current) = self.sides(stand, &ours);
        let mut first = settle(accepted.rulebook, accepted.stand, outcome);
        let second = settle(current.rulebook, current.stand, outcome);
        first.shared.clear();
        // What one side has masked, the other looks at again.
        let mut joined = match (&first.output, second.decision) {
            (_, OutputDecision::Block) | (None, _) => second.clone(),
            (Some(masked), _) => {
                let call = call_of(outcome);
                let outcome = Outcome { output: Some(masked.clone()), ..outcome.clone() };
                let again = look_at(current.rulebook, &call, &outcome);
                Settlement { output: again.output.or_else(|| Some(masked.clone())), ..second.clone() }
            }
        };
        if first.decision >= second.decision {
            joined.reason.clone_from(&first.reason);
            joined.rules.splice(..0, first.rules.iter().cloned());
            joined.decision = first.decision;
            if first.decision == OutputDecision::Block {
                joined.output.clone_from(&first.output);
            }
        }
        for kind in &first.found {
            if !joined.found.contains(kind) {
                joined.found.push(kind.clone());
            }
        }
        joined.warnings.extend(first.warnings.iter().cloned());
        joined.settled = first.settled;
        joined.shared = Vec::new();
        let changed = std::mem::replace(&mut joined.events, first.events);
        (joined, changed)
    }

    /// What is remembered for all sessions together is known by the numbers of the rules in force, so the accepted rules
    /// do not see it.
    fn sides<'s>(&'s self, stand: Stand<'s>, ours: &'s SharedState) -> (Side<'s>, Side<'s>) {
        let accepted = Side { rulebook: self.accepted, stand: Stand { shared_state: ours, ..stand } };
        let current = Side { rulebook: self.current, stand: Stand { session: self.session, ..stand } };
        (accepted, current)
    }

    /// Why no call can be decided under both.
    fn doubt(&self) -> Option<Obstacle> {
        let shares = self.accepted.policy.shares() || self.current.policy.shares();
        shares.then(|| {
            let reason = "the policy was changed after this session began, and it has rules that count over all sessions, \
                          so no call is decided until the change is accepted; tell the human: run `lockgate \
                          accept-policy`, or restore the policy.";
            Obstacle::of_gate("policy-changed", reason.to_owned())
        })
    }

    /// The stricter of two judgements, with both sides brought to the same outcome.
    fn join(
        &self,
        mut first: Judgement,
        mut second: Judgement,
        again: impl Fn(bool, &Obstacle) -> Judgement,
    ) -> Judgement {
        let strictest = first.verdict.decision.max(second.verdict.decision);
        let is_blocked = |it: &Judgement| it.wants.is_none() && it.verdict.decision == Decision::Block;
        if let (Some(wants), false) =
            (first.wants.clone().or_else(|| second.wants.clone()), is_blocked(&first) || is_blocked(&second))
        {
            return Judgement { wants: Some(wants), ..first };
        }
        let (told_first, told_second) = (first.verdict.clone(), second.verdict.clone());
        if strictest >= Decision::Ask {
            let imposed = imposed(strictest);
            if first.wants.is_some() || first.verdict.decision < strictest {
                first = again(true, &imposed);
            }
            if second.wants.is_some() || second.verdict.decision < strictest {
                second = again(false, &imposed);
            }
        }
        let is_same = first.verdict.decision.max(Decision::Redact)
            == second.verdict.decision.max(Decision::Redact)
            && first.wants.is_none()
            && second.wants.is_none();
        if !is_same {
            // A side that does not come to the same outcome, such as one with too many open questions, ends the call.
            let block = imposed(Decision::Block);
            first = again(true, &block);
            second = again(false, &block);
        }
        let mut verdict = self.join_verdicts(told_first, told_second);
        if !is_same || first.verdict.decision == Decision::Block {
            let refused = [&first.verdict, &second.verdict].into_iter().flat_map(|it| it.obstacles.clone());
            if verdict.decision != Decision::Block {
                let others = refused.filter(|it| it.decision == Decision::Block && it.name != IMPOSED);
                let mut obstacles: Vec<Obstacle> = others.collect();
                if obstacles.is_empty() {
                    obstacles.push(imposed(Decision::Block));
                }
                verdict = Verdict::join(verdict.deeds, obstacles);
            }
            verdict.approval = None;
        } else {
            verdict.approval.clone_from(&first.verdict.approval);
            self.agree_on_question(&mut first.events, &mut second.events, &verdict);
        }
        let (events, changed) = (first.events, Some(second.events));
        Judgement { verdict, events, changed, shared: Vec::new(), wants: None }
    }

    /// One question for both sides: the shorter deadline counts, and silence is a yes only if it is one for every rule.
    fn agree_on_question(&self, first: &mut Events, second: &mut Events, verdict: &Verdict) {
        let (Some((number, one)), Some((other_number, other))) = (asked_in(first), asked_in(second)) else {
            return;
        };
        *other_number = *number;
        let asks = |asked: &Asked| !asked.rules.is_empty() || !asked.boundaries.is_empty();
        let asking = [&*one, &*other].into_iter().filter(|asked| asks(asked));
        let allows_late = asking.clone().count() > 0 && asking.clone().all(|asked| asked.allows_late);
        let deadline = asking.map(|asked| asked.deadline).min().unwrap_or(one.deadline);
        for asked in [one, other] {
            (asked.allows_late, asked.deadline) = (allows_late, deadline);
            asked.shown.clone_from(&verdict.input);
        }
    }

    /// All that both say; the rules are those in force, as far as they have them.
    fn join_verdicts(&self, accepted: Verdict, current: Verdict) -> Verdict {
        let said = |verdict: &Verdict| -> Vec<Obstacle> {
            let all = verdict.obstacles.iter().chain(&verdict.observed).chain(&verdict.allowed_by);
            all.cloned().collect()
        };
        let known = said(&current);
        let mut obstacles: Vec<Obstacle> = said(&accepted);
        for obstacle in &mut obstacles {
            let is_known = known.iter().any(|it| it.name == obstacle.name && it.reason == obstacle.reason);
            obstacle.rule =
                obstacle.rule.and_then(|rule| same_rule(&self.accepted.policy, &self.current.policy, rule));
            if !is_known && !obstacle.file.is_empty() && obstacle.decision >= Decision::Ask {
                obstacle.reason = format!("{} {HELD}", obstacle.reason);
            }
        }
        obstacles.extend(known);
        let input = match (accepted.input, current.input) {
            (Some(masked), Some(_)) => {
                let masking = self.current.policy.masking();
                let (again, _) = masking.detectors.mask_object(&masked, masking.mask);
                Some(again.map_or(masked, Box::new))
            }
            (one, other) => one.or(other),
        };
        let next = if current.next.is_empty() { accepted.next } else { current.next };
        let timed_out = accepted.timed_out || current.timed_out;
        Verdict { input, next, timed_out, ..Verdict::join(current.deeds, obstacles) }
    }
}

/// What is in the way of one side because the other side says so.
fn imposed(decision: Decision) -> Obstacle {
    let reason = "the policy was changed after this session began, and one of both versions does not let this call pass; \
                  tell the human: run `lockgate accept-policy`, or restore the policy."
        .to_owned();
    Obstacle { decision, is_human: decision == Decision::Ask, ..Obstacle::of_gate(IMPOSED, reason) }
}

fn refusal(imposed: &Obstacle) -> Judgement {
    let verdict = Verdict::join(lockgate_policy::Deeds::new(), vec![imposed.clone()]);
    Judgement { verdict, events: Events::new(), changed: None, shared: Vec::new(), wants: None }
}

/// The rule of another policy that keeps its state under the same key.
fn same_rule(from: &Policy, to: &Policy, rule: lockgate_policy::RuleId) -> Option<lockgate_policy::RuleId> {
    Some(to.rule_kept_under(&from.rule(rule)?.key)?.id)
}

/// The question that events ask.
fn asked_in(events: &mut Events) -> Option<(&mut u64, &mut Asked)> {
    events.iter_mut().find_map(|event| match event {
        Event::Asked { number, asked, .. } => Some((number, &mut **asked)),
        _ => None,
    })
}

/// The call, with the id that its events use.
fn named_as_in<'c>(events: &Events, call: &'c SeenCall) -> std::borrow::Cow<'c, SeenCall> {
    let id = events.iter().find_map(|event| match event {
        Event::Allowed { id, .. } => Some(id.to_string()),
        Event::Blocked { id, .. } => Some(id.clone()),
        Event::Asked { asked, .. } => Some(asked.call.id.clone()),
        _ => None,
    });
    match id {
        Some(id) if id != call.id => std::borrow::Cow::Owned(call.with_id(id)),
        _ => std::borrow::Cow::Borrowed(call),
    }
}

/// What a result says about its call.
fn call_of(outcome: &Outcome) -> SeenCall {
    let tool = outcome.tool.as_deref().unwrap_or_default();
    lockgate_call::Call::new(outcome.id.as_str(), tool).in_session(&*outcome.session).into()
}
