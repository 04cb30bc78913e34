//! Judges one tool call.
//!
//! [`judge`] asks every question, even after the first refusal, so that the verdict names every obstacle;
//! the strictest wins. It only reads the session; [`Session::apply`] changes it once the events are stored.
//! There is no clock and no I/O in here.

use std::sync::Arc;

use lockgate_call::{Call, Time};
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{Deed, Deeds, Rule, RuleId, Statement, Watch};
use smallvec::SmallVec;

use crate::{
    event::{Closing, Event},
    next::next_steps,
    rulebook::{Attempt, Rulebook},
    scratch::Scratch,
    session::{ApprovalId, Asked, Flight, Session, Waiting},
    verdict::{
        Decision, Obstacle, Verdict, blocked_sentence, doubtful_sentence, human_sentence, rejected_sentence,
        restless_sentence,
    },
};

/// A verdict, and what happens to the session if it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The answer for the agent.
    pub verdict: Verdict,
    /// What the session has to take in before the verdict may be told.
    pub events: Events,
}

/// The events of one decision, in order.
pub type Events = Vec<Event>;

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Human {
    /// Somebody can be asked.
    Reachable,
    /// Nobody can be asked: what needs a human is blocked.
    Absent,
}

/// Decides about a call.
pub fn judge(rulebook: &Rulebook, session: &Session, call: &Call, human: Human) -> Judgement {
    let mut events = lapsed(rulebook, session, call.at);
    let session = session.after(&events);
    let verdict = objection_of_gate(rulebook, &session, call)
        .unwrap_or_else(|| judge_by_rules(rulebook, &session, call, Consent::from(human), &mut events));
    record_block(&verdict, call, &mut events);
    Judgement { verdict, events }
}

/// Takes in a human's answer: after a grant everything is judged again, as the session stands now. None if the
/// question is not open.
pub fn judge_answer(
    rulebook: &Rulebook,
    session: &Session,
    number: u64,
    granted: bool,
    at: Time,
) -> Option<Judgement> {
    let asked = session.asked.get(&number)?;
    let at = at.max(session.clock);
    let call = Call { at, ..asked.call.clone() };
    let mut events = lapsed(rulebook, session, at);
    let session = session.after(&events);
    if !session.asked.contains_key(&number) {
        let reason = "the question to a human has lapsed: ask again.".to_owned();
        return Some(Judgement { verdict: Verdict::refused_by_gate("approval-expired", reason), events });
    }
    let mut scratch = Scratch::new(&rulebook.policy, &session);
    scratch.give_back(&asked.taken);
    let how = if granted { Closing::Granted } else { Closing::Refused };
    let closed = Event::Closed { at, number, how, moves: scratch.into_changes().0 };
    let session = session.after(std::slice::from_ref(&closed));
    events.push(closed);
    let verdict = if granted {
        objection_of_gate(rulebook, &session, &call).unwrap_or_else(|| {
            judge_by_rules(rulebook, &session, &call, Consent::Given(&asked.rules), &mut events)
        })
    } else {
        rejected(rulebook, asked)
    };
    record_block(&verdict, &call, &mut events);
    Some(Judgement { verdict, events })
}

fn record_block(verdict: &Verdict, call: &Call, events: &mut Events) {
    if verdict.decision == Decision::Block {
        events.push(Event::Blocked { id: call.id.clone(), tool: call.tool.clone(), at: call.at });
    }
}

/// What a human has said about a call so far.
#[derive(Clone, Copy)]
enum Consent<'a> {
    /// Nothing yet, and somebody can be asked.
    Open,
    /// Nothing, and nobody can be asked.
    Absent,
    /// Yes, to what these rules wanted.
    Given(&'a [RuleId]),
}

impl From<Human> for Consent<'_> {
    fn from(human: Human) -> Self {
        match human {
            Human::Reachable => Self::Open,
            Human::Absent => Self::Absent,
        }
    }
}

/// Leases and questions that have run out by now.
pub(crate) fn lapsed(rulebook: &Rulebook, session: &Session, now: Time) -> Events {
    let at = now.max(session.clock);
    // Most decisions make one event.
    let mut events = Events::with_capacity(1);
    let is_due = session.leases.0.front().is_some_and(|(deadline, _)| *deadline <= at);
    if !is_due && session.asked.is_empty() {
        return events;
    }
    for (deadline, id) in session.leases.0.iter().take_while(|(deadline, _)| *deadline <= at) {
        if session.flights.get(id).is_some_and(|flight| flight.deadline == *deadline) {
            events.push(Event::Lapsed { id: id.clone(), at });
        }
    }
    // Questions are few (`asked_max`) and may give tokens back to one net, so each sees the one before.
    let mut scratch = Scratch::new(&rulebook.policy, session);
    for (number, asked) in session.asked.iter().filter(|(_, asked)| asked.deadline <= at) {
        scratch.give_back(&asked.taken);
        events.push(Event::Closed { at, number: *number, how: Closing::Expired, moves: scratch.moves() });
    }
    events
}

/// What the gate itself has against a call, before any rule is asked.
fn objection_of_gate(rulebook: &Rulebook, session: &Session, call: &Call) -> Option<Verdict> {
    if let Some(reason) = session.halted() {
        return Some(Verdict::refused_by_gate("halted", format!("this session is halted: {reason}")));
    }
    let waits = session.asked.values().any(|asked| asked.call.id == call.id);
    if waits || session.flights.contains_key(call.id.as_str()) {
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

/// Asks every rule that knows a deed of the call, in order, on one scratch copy of the session.
fn judge_by_rules(
    rulebook: &Rulebook,
    session: &Session,
    call: &Call,
    consent: Consent<'_>,
    events: &mut Events,
) -> Verdict {
    let policy = &rulebook.policy;
    let groups = policy.deeds(call);
    let mut hearing = Hearing {
        rulebook,
        call,
        consent,
        scratch: Scratch::new(policy, session),
        obstacles: Vec::new(),
        waiting: SmallVec::new(),
        fired: SmallVec::new(),
    };
    for (audience, deeds) in &groups {
        for deed in deeds {
            for watch in policy.watches(*audience, deed) {
                if let (true, Some(rule)) = (session.is_active(watch.rule), policy.rule(watch.rule)) {
                    hearing.hear(rule, watch, deed);
                }
            }
        }
    }
    hearing.close(session, Verdict::join_deeds(groups), events)
}

/// One call before the rules.
struct Hearing<'a> {
    rulebook: &'a Rulebook,
    call: &'a Call,
    consent: Consent<'a>,
    scratch: Scratch<'a>,
    obstacles: Vec<Obstacle>,
    waiting: SmallVec<[Waiting; 1]>,
    fired: SmallVec<[(RuleId, TransitionId); 2]>,
}

impl Hearing<'_> {
    /// Asks one rule about one deed.
    fn hear(&mut self, rule: &Rule, watch: &Watch, deed: &Deed) {
        if watch.is_free {
            return;
        }
        match choose(rule, watch, deed, self.scratch.marking(rule)) {
            Some(transition) => self.pass(rule, transition, &watch.name, deed),
            None if watch.refuses => {
                self.object(rule, &watch.name, Decision::Block, blocked_sentence(rule, &watch.name));
            }
            None => {
                // A rule never refuses what it only watches. Its success may still count by the time it is
                // known, because what is in the way now may be a question still open.
                let deferred = watch.transitions.iter().find(|it| rule.net.guard(**it).is_deferred);
                if let (true, Some(transition)) = (deed.earns(), deferred) {
                    self.wait(rule, *transition, &watch.name);
                }
            }
        }
    }

    /// The marking lets the deed pass; the conditions, the author's code and a human may still object.
    fn pass(&mut self, rule: &Rule, transition: TransitionId, name: &Arc<str>, deed: &Deed) {
        let guard = rule.net.guard(transition);
        for check in &guard.checks {
            if !check.condition.holds(&self.call.input, self.call.about.cwd.as_deref()) {
                self.object(rule, name, Decision::Block, check.message.clone());
            }
        }
        if let Some(validate) = self.rulebook.hooks.validator(rule.id) {
            let transition = rule.net.net().transition_name(transition);
            let attempt = Attempt { call: self.call, deed: name, transition };
            if let Err(refusal) = self.scratch.with_notes(rule.id, |notes| validate(&attempt, notes)) {
                self.object(rule, name, Decision::Block, refusal);
            }
        }
        if guard.is_manual {
            self.want_human(rule, name);
        }
        if guard.is_deferred {
            if deed.earns() {
                self.wait(rule, transition, name);
            }
        } else if !deed.certain && is_hand_written(rule) && !is_standstill(rule, transition) {
            // Firing might give what was not earned, and not firing might spare what was spent.
            self.object(rule, name, Decision::Block, doubtful_sentence(name));
        } else if self.scratch.fire(rule, transition) {
            self.fired.push((rule.id, transition));
        } else {
            self.object(rule, name, Decision::Block, restless_sentence(name));
        }
    }

    fn wait(&mut self, rule: &Rule, transition: TransitionId, name: &Arc<str>) {
        self.waiting.push(Waiting { rule: rule.id, transition, deed: name.clone() });
    }

    fn want_human(&mut self, rule: &Rule, name: &Arc<str>) {
        let decision = match self.consent {
            Consent::Given(rules) if rules.contains(&rule.id) => return,
            Consent::Given(_) | Consent::Open => Decision::Ask,
            Consent::Absent => Decision::Block,
        };
        self.object(rule, name, decision, human_sentence(rule, name));
        if let Some(last) = self.obstacles.last_mut() {
            last.is_human = true;
        }
    }

    fn object(&mut self, rule: &Rule, name: &Arc<str>, decision: Decision, reason: String) {
        let mut obstacle = Obstacle::of_rule(rule, name, decision, reason);
        obstacle.mode = obstacle.mode.min(self.rulebook.terms.mode);
        self.obstacles.push(obstacle);
    }

    /// Joins what was said into a verdict, and says what the session has to take in.
    fn close(self, session: &Session, deeds: Deeds, events: &mut Events) -> Verdict {
        let Self { rulebook, call, scratch, obstacles, waiting, fired, .. } = self;
        let mut verdict = Verdict::join(deeds, obstacles);
        match verdict.decision {
            Decision::Allow | Decision::Redact => {
                let (moves, notes) = scratch.into_changes();
                let is_told = waiting.iter().any(|it| rulebook.hooks.result_hook(it.rule).is_some());
                let flight = Flight {
                    tool: rulebook.policy.name(&call.tool),
                    waiting,
                    call: is_told.then(|| Arc::new(call.clone())),
                    deadline: call.at.max(session.clock).after_ms(rulebook.terms.lease_ms),
                };
                events.push(Event::Allowed {
                    id: Arc::from(call.id.as_str()),
                    at: call.at,
                    flight,
                    moves,
                    notes,
                });
            }
            Decision::Ask if session.asked.len() >= rulebook.terms.asked_max => {
                let reason = format!(
                    "{} questions of this session wait for a human: answer them first.",
                    session.asked.len()
                );
                return Verdict::refused_by_gate("questions-waiting", reason);
            }
            Decision::Ask => {
                let number = session.approvals_made + 1;
                verdict.approval = Some(ApprovalId { session: call.session.clone(), number });
                events.push(ask(rulebook, session, call, number, &verdict, &fired));
            }
            Decision::Block => {
                verdict.next = next_steps(rulebook, session, &verdict.obstacles);
            }
        }
        verdict
    }
}

/// The transition by which a rule lets a deed pass: the first that is enabled, and credits only for what earns.
pub(crate) fn choose(rule: &Rule, watch: &Watch, deed: &Deed, marking: &Marking) -> Option<TransitionId> {
    let mut open = watch.transitions.iter().filter(|it| deed.earns() || !rule.net.guard(**it).is_credit);
    open.find(|transition| rule.net.net().is_enabled(marking, **transition)).copied()
}

/// The question to a human: the tokens of the call are taken until the answer.
fn ask(
    rulebook: &Rulebook,
    session: &Session,
    call: &Call,
    number: u64,
    verdict: &Verdict,
    fired: &[(RuleId, TransitionId)],
) -> Event {
    let at = call.at.max(session.clock);
    let mut scratch = Scratch::new(&rulebook.policy, session);
    let taken = fired.iter().copied().filter(|(id, transition)| {
        // A second deed may live on what the first one gives; that is not there to be taken yet.
        rulebook.policy.rule(*id).is_some_and(|rule| scratch.take(rule, *transition))
    });
    let asked = Asked {
        call: call.clone(),
        taken: taken.collect(),
        rules: verdict
            .obstacles
            .iter()
            .filter(|it| it.decision == Decision::Ask)
            .filter_map(|it| it.rule)
            .collect(),
        deadline: at.after_ms(rulebook.terms.approval_ms),
    };
    let (moves, _) = scratch.into_changes();
    Event::Asked { at, number, asked: Box::new(asked), moves }
}

/// The verdict after a human said no.
fn rejected(rulebook: &Rulebook, asked: &Asked) -> Verdict {
    let groups = rulebook.policy.deeds(&asked.call);
    let mut obstacles = Vec::new();
    for (audience, deeds) in &groups {
        for deed in deeds {
            let watches = rulebook.policy.watches(*audience, deed);
            let wanting = watches.filter(|watch| asked.rules.contains(&watch.rule));
            for watch in wanting {
                if let Some(rule) = rulebook.policy.rule(watch.rule) {
                    let reason = rejected_sentence(&watch.name);
                    obstacles.push(Obstacle::of_rule(rule, &watch.name, Decision::Block, reason));
                }
            }
        }
    }
    let verdict = Verdict::join(Verdict::join_deeds(groups), obstacles);
    if verdict.decision == Decision::Block {
        return verdict;
    }
    // The rules that asked are gone or only observe by now; no is still no.
    Verdict::refused_by_gate("approval-refused", rejected_sentence(&asked.call.tool))
}

fn is_hand_written(rule: &Rule) -> bool {
    matches!(rule.statement, Statement::Net(_))
}

/// Whether firing a transition changes no marking.
fn is_standstill(rule: &Rule, transition: TransitionId) -> bool {
    rule.net.net().inputs(transition) == rule.net.net().outputs(transition)
}
