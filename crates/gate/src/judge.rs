//! Judges one tool call.
//!
//! [`judge`] asks every question, even after the first refusal, so that the verdict names every obstacle;
//! the strictest wins. It only reads the session; [`Session::apply`] changes it once the events are stored.
//! There is no clock and no I/O in here.

use std::sync::Arc;

use lockgate_call::{Call, SeenCall, Time};
use lockgate_policy::{Decision, Deeds, RuleId};

use crate::{
    duplicate::{identified, seen_before},
    hearing::heard,
    human::{Answer, Human},
    record::{Events, Judgement, Record},
    rulebook::Rulebook,
    scratch::Scratch,
    signed_answer::SignedAnswer,
    stages::{self},
    state::{Asked, Event, Session, Stand, Steps},
    verdict::{About, Obstacle, Verdict, rejected_sentence, timeout_sentence},
};

/// Decides about a call.
pub fn judge<'a>(
    rulebook: &Rulebook,
    stand: impl Into<Stand<'a>>,
    call: &SeenCall,
    human: Human,
) -> Judgement {
    judge_with(rulebook, stand, call, human, None)
}

/// The same with something in the way that another policy put there.
pub(crate) fn judge_with<'a>(
    rulebook: &Rulebook,
    stand: impl Into<Stand<'a>>,
    call: &SeenCall,
    human: Human,
    imposed: Option<&Obstacle>,
) -> Judgement {
    let Stand { session, shared_state, ran } = stand.into();
    let mut record = Record::from(lapsed(rulebook, session, call.at));
    let session = session.after(&record.events);
    let stand = Stand { session: &session, shared_state, ran };
    let halted = halt(stand);
    if let (None, Some((id, door))) = (&halted, seen_before(&session, call)) {
        record.events.push(Event::Duplicate { id, at: call.at, door });
        return record.judgement(Verdict::join(Deeds::new(), Vec::new()));
    }
    let call = &*identified(&session, call);
    let verdict = halted
        .or_else(|| objection_of_gate(rulebook, stand, call))
        .unwrap_or_else(|| judge_by_rules(rulebook, stand, call, (human, &[], imposed), &mut record));
    record.block(rulebook, stand, &verdict, call);
    record.judgement(verdict)
}

/// Decides about a call by itself: there is no session, so no workflow is asked where it stands, and nothing is stored.
pub(crate) fn evaluate(rulebook: &Rulebook, call: &SeenCall) -> Verdict {
    let session = Session { inactive: rulebook.names.off_at_first().clone(), ..Session::default() };
    let stand = Stand::from(&session);
    let (groups, mut hearing) = heard(rulebook, stand, call, (Human::Absent, &[], None));
    hearing.wants = None;
    hearing.close(Verdict::join_deeds(groups), &mut Record::from(Events::new()))
}

/// Takes in a human's answer: after a grant everything is judged again, as the session stands now. None if the
/// question is not open.
pub fn judge_answer<'a>(
    rulebook: &Rulebook,
    stand: impl Into<Stand<'a>>,
    number: u64,
    answer: impl Into<Answer>,
    at: Time,
) -> Option<Judgement> {
    judge_answer_with(rulebook, stand.into(), number, (answer.into(), None), at, None)
}

/// The same with the signed answer, which proves the answers that stand from it, and with something in the way that
/// another policy put there.
pub(crate) fn judge_answer_with(
    rulebook: &Rulebook,
    stand: Stand<'_>,
    number: u64,
    (answer, proof): (Answer, Option<&Arc<SignedAnswer>>),
    at: Time,
    imposed: Option<&Obstacle>,
) -> Option<Judgement> {
    let (granted, timed_out) = (answer == Answer::Granted, answer == Answer::Nobody);
    let Stand { session, shared_state, ran } = stand;
    let asked = session.asked.get(&number)?;
    let at = at.max(session.clock);
    let call = asked.call.clone().at(at);
    let mut record = Record::from(lapsed(rulebook, session, at));
    let session = session.after(&record.events);
    if !session.asked.contains_key(&number) {
        let reason = "the approval of a human did not come in time: ask again.".to_owned();
        let verdict = Verdict::refused_by_gate("approval-expired", reason);
        return Some(record.judgement(Verdict { timed_out: true, ..verdict }));
    }
    let mut scratch = Scratch::new(&rulebook.policy, &session);
    scratch.give_back(&asked.taken);
    // Silence is not an answer that could stand.
    let answers = match timed_out {
        true => Vec::new(),
        false => record.standing_answers(rulebook, asked, granted, at, proof),
    };
    let steps = if granted { stages::agreed(&session, asked) } else { Steps::new() };
    let closed = Event::Closed { at, number, answer, moves: scratch.into_changes().0, answers, steps };
    let session = session.after(std::slice::from_ref(&closed));
    record.events.push(closed);
    let stand = Stand { session: &session, shared_state, ran };
    record.is_agreed = granted;
    let verdict = if granted {
        halt(stand).or_else(|| objection_of_gate(rulebook, stand, &call)).unwrap_or_else(|| {
            let human = (Human::Reachable, &*asked.rules, imposed);
            judge_by_rules(rulebook, stand, &call, human, &mut record)
        })
    } else {
        let verdict = rejected(rulebook, asked, timed_out);
        let tool = rulebook.policy.name(&call.tool);
        record.steps = stages::refused(&session, asked, &verdict.reason, &tool, at);
        verdict
    };
    record.block(rulebook, stand, &verdict, &call);
    Some(record.judgement(verdict))
}

/// Leases and questions that have run out by now.
pub(crate) fn lapsed(rulebook: &Rulebook, session: &Session, now: Time) -> Events {
    let at = now.max(session.clock);
    // Most decisions make one event.
    let mut events = Events::with_capacity(1);
    events.extend(session.flights.due(at).map(|id| Event::Lapsed { id: id.clone(), at }));
    if session.asked.is_empty() {
        return events;
    }
    // Questions are few (`asked_max`) and may give tokens back to one net, so each sees the one before.
    let mut scratch = Scratch::new(&rulebook.policy, session);
    for (number, asked) in session.asked.iter().filter(|(_, asked)| asked.ends(&rulebook.terms) <= at) {
        scratch.give_back(&asked.taken);
        events.push(Event::Expired { at, number: *number, moves: scratch.moves() });
    }
    events
}

/// Why no call is let pass at all, where that is so.
fn halt(stand: Stand<'_>) -> Option<Verdict> {
    let everything = stand.shared_state.halted().map(|reason| format!("everything is halted: {reason}"));
    let session = || stand.session.halted().map(|reason| format!("this session is halted: {reason}"));
    everything.or_else(session).map(|reason| Verdict::refused_by_gate("halted", reason))
}

/// What else the gate itself has against a call, before any rule is asked.
fn objection_of_gate(rulebook: &Rulebook, stand: Stand<'_>, call: &Call) -> Option<Verdict> {
    let session = stand.session;
    let waits = session.asked.values().any(|asked| asked.call.id == call.id);
    if waits || session.flights.get(&call.id).is_some() {
        let reason = format!("call id '{}' is already in use by a call that has not finished.", call.id);
        return Some(Verdict::refused_by_gate("call-id", reason));
    }
    if session.flights.len() >= rulebook.terms.flights_max {
        let reason = format!(
            "{} calls of this session have not reported a result: report them, then call again.",
            session.flights.len()
        );
        return Some(Verdict::refused_by_gate("calls-in-flight", reason));
    }
    None
}

/// Asks every rule that knows a deed of the call, in order, on one scratch copy of the session. The human has agreed to
/// what the rules beside them wanted.
fn judge_by_rules(
    rulebook: &Rulebook,
    stand: Stand<'_>,
    call: &SeenCall,
    human: (Human, &[RuleId], Option<&Obstacle>),
    record: &mut Record,
) -> Verdict {
    let (groups, mut hearing) = heard(rulebook, stand, call, human);
    hearing.hear_workflows();
    hearing.close(Verdict::join_deeds(groups), record)
}

/// The verdict after a human said no, or nothing in time.
fn rejected(rulebook: &Rulebook, asked: &Asked, timed_out: bool) -> Verdict {
    let sentence = if timed_out { timeout_sentence } else { rejected_sentence };
    let groups = rulebook.policy.deeds(&asked.call);
    let mut obstacles = Vec::new();
    let tool = rulebook.policy.name(&asked.call.tool);
    for (audience, deeds) in &groups {
        for deed in deeds {
            let watches = rulebook.policy.watches(*audience, deed);
            let wanting = watches.filter(|watch| asked.rules.contains(&watch.rule));
            for watch in wanting {
                if let Some(rule) = rulebook.policy.net(watch.rule) {
                    // What is only guessed was not what the human rejected.
                    let is_guessed = deed.basis.is_guess();
                    let name = if is_guessed { &tool } else { &watch.name };
                    let mut obstacle = Obstacle::of_rule(rule, name, Decision::Block, sentence(name));
                    obstacle.about = if is_guessed { About::Guessed } else { About::Seen };
                    obstacles.push(obstacle);
                }
            }
        }
    }
    for clause in asked.rules.iter().filter_map(|rule| rulebook.policy.clause(*rule)) {
        obstacles.push(Obstacle::of_rule(clause, &tool, Decision::Block, sentence(&tool)));
    }
    for workflow in stages::asking(asked).filter_map(|rule| rulebook.policy.workflow(rule)) {
        obstacles.push(Obstacle::of_rule(workflow, &tool, Decision::Block, sentence(&tool)));
    }
    let mut verdict = Verdict::join(Verdict::join_deeds(groups), obstacles);
    if verdict.decision != Decision::Block {
        // The rules that asked are gone or only observe by now; no is still no.
        let name = if timed_out { "timeout" } else { "approval-refused" };
        verdict = Verdict::refused_by_gate(name, sentence(&asked.call.tool));
    }
    Verdict { timed_out, ..verdict }
}
