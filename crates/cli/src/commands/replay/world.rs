//! The recorded world, judged anew.
//!
//! [`World::take`] takes in entries of the audit log in their order. Every call is judged by the policy as its session stands
//! by then; what is compared is the verdict, what goes on is the record. A call that ran then has run here, even if
//! this policy refuses it (its effects count, as under `observe`); one that did not run then has not run here, even if
//! this policy lets it pass. So each verdict is the answer to "what would this policy say, after what really
//! happened?", one flip does not drag all later ones along, and the policy of the record flips nothing.
//!
//! What humans said is taken from the record where this policy asks about the same call. Missing on purpose are programs
//! of conditions (nothing is run) and what tools returned (the audit log does not keep it).

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use lockgate::engine::{
    Call, Counts, Decision, Detectors, LocalEyes, Mask, Mode, Outcome, Policy, SeenCall, Session, Terms,
    Time, Verdict,
    gate::{
        ApprovalId, Event, Human, Judgement, Remembered, Rulebook, SharedEvent, SharedState, Stand,
        audit_log::{LogEntry, LogEvent, LoggedCall, LoggedDecision, LoggedRule},
        judge, judge_answer, settle,
    },
    policy::{DecidedCall, RuleId, WindowMarks, workflow::Step},
};
use serde_json::{Map, Value, json};

/// What the gate refuses by itself, whatever the policy: its own protection, and its own faults.
const NO_MATTER_OF_POLICY: [&str; 2] = ["self-protection", "lockgate"];

/// A verdict that would be another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flip {
    /// The record it is compared with.
    pub(super) n: u64,
    pub(super) at: Time,
    pub(super) session: String,
    pub(super) call: LoggedCall,
    /// What was decided.
    pub(super) old: LoggedDecision,
    /// What this policy decides.
    pub(super) new: LoggedDecision,
    /// What really happened is not what this policy wants, and the session goes on with what happened.
    pub(super) ran: bool,
}

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Calls whose verdicts were compared.
    pub(super) calls: u64,
    /// Those of which the audit log does not show the whole input.
    pub(super) masked: u64,
    /// Calls that were refused by Lockgate itself, whatever the policy: they are not compared.
    pub(super) not_of_policy: u64,
    /// What operators did that this policy knows nothing of.
    pub(super) acts_left_out: u64,
}

/// All sessions of an audit log, under a policy.
pub(super) struct World {
    enforcing: Rulebook,
    /// The same where nothing is refused.
    observing: Rulebook,
    sessions: HashMap<String, Session>,
    shared_state: SharedState,
    /// The questions of the record that wait for an answer, by session and call.
    open: HashMap<(String, String), Question>,
    /// What humans said, by question.
    answers: HashMap<String, bool>,
    counted: Counted,
}

/// A question of the record.
struct Question {
    /// Its name in the record.
    approval: String,
    call: SeenCall,
    /// Its number here; none where this policy does not ask, and the call waits for what becomes of it.
    number: Option<u64>,
}

impl World {
    pub(super) fn new(policy: impl Into<Arc<Policy>>, mode: Mode) -> Self {
        let plain = Rulebook::new(policy);
        let under = |mode| Rulebook {
            policy: plain.policy.clone(),
            hooks: plain.hooks.clone(),
            terms: Terms { mode, ..plain.terms },
            around: plain.around.clone(),
            protection: None,
            names: plain.names.clone(),
            answer_trust: plain.answer_trust.clone(),
        };
        Self {
            enforcing: under(mode),
            observing: under(Mode::Observe),
            sessions: HashMap::new(),
            shared_state: SharedState::default(),
            open: HashMap::new(),
            answers: HashMap::new(),
            counted: Counted::default(),
        }
    }

    /// What was counted so far.
    pub(super) fn counted(&self) -> Counted {
        self.counted
    }

    /// Takes in the next entry; where a verdict would be another, says so. Entries that are not compared are taken in all
    /// the same: later ones rest on them.
    pub(super) fn take(&mut self, n: u64, entry: LogEntry, is_compared: bool) -> Option<Flip> {
        let at = entry.time();
        let Some(session) = entry.session else {
            self.operate_all(&entry.what);
            return None;
        };
        match entry.what {
            LogEvent::Call { call, decided } => {
                let compared = self.decide(&session, &call, &decided, at, is_compared)?;
                let Compared { verdict, ran } = compared;
                let (call, old, new) = (*call, *decided, LoggedDecision::of(&verdict));
                is_compared.then_some(Flip { n, at, session, call, old, new, ran })
            }
            LogEvent::Answer { approval, granted, .. } => {
                self.answers.insert(approval, granted);
                None
            }
            LogEvent::Result { id, tool, ok, found, .. } => {
                let outcome = Outcome { session, id, tool, ok, at, ..Outcome::default() };
                self.settle(&outcome, &found);
                None
            }
            LogEvent::Lapsed { id, approval: Some(_) } => {
                // Where this policy asked as well, its question lapses by itself.
                if let Some(question) = self.open.remove(&(session.clone(), id)) {
                    match question.number {
                        None => self.refuse(&question.call.at(at)),
                        Some(_) => drop(self.open.insert((session, question.call.id.clone()), question)),
                    }
                }
                None
            }
            LogEvent::Operator { act, about } => {
                self.operate(&session, &act, &about, at);
                None
            }
            // The call was judged at its first door, and leases run out by themselves.
            LogEvent::Duplicate { .. } | LogEvent::Lapsed { approval: None, .. } => None,
        }
    }

    /// Judges a call of the record, and goes on as the record does. Gives the verdict where it is another.
    fn decide(
        &mut self,
        session: &str,
        recorded: &LoggedCall,
        decided: &LoggedDecision,
        at: Time,
        is_compared: bool,
    ) -> Option<Compared> {
        let key = (session.to_owned(), recorded.id.clone());
        let is_answered = self.open.get(&key).is_some_and(|question| match decided.approval.as_ref() {
            Some(approval) if decided.verdict == "ask" => {
                *approval != question.approval && self.answers.contains_key(&question.approval)
            }
            Some(approval) => *approval == question.approval,
            None => false,
        });
        if is_answered && let Some(question) = self.open.remove(&key) {
            return self.answered(question, decided, at);
        }
        let call = Self::call_of(session, recorded, at);
        let is_gates_own = |rule: &LoggedRule| {
            rule.place.is_empty() && !rule.observed && NO_MATTER_OF_POLICY.contains(&rule.rule.as_str())
        };
        if decided.verdict == "block" && decided.rules.iter().any(is_gates_own) {
            self.counted.not_of_policy += u64::from(is_compared);
            self.refuse(&call);
            return None;
        }
        if is_compared {
            self.counted.calls += 1;
            self.counted.masked += u64::from(recorded.is_masked);
        }
        let judged = self.judged(&call, decided);
        let (old, new) = (Ran::of(&decided.verdict), Ran::of(judged.verdict.decision.word()));
        let is_same = judged.verdict.decision.word() == decided.verdict;
        if old == new {
            let number = judged.verdict.approval.as_ref().map(|approval| approval.number);
            self.commit(&call, &judged);
            if old == Ran::Waits {
                self.ask(decided, call, number);
            }
        } else {
            self.go_on(old, decided, call);
        }
        (!is_same).then_some(Compared { verdict: judged.verdict, ran: old == Ran::Yes && new != Ran::Yes })
    }

    /// Judges a call. Where the record refused it because no human could be asked, none can be asked now.
    fn judged(&self, call: &SeenCall, decided: &LoggedDecision) -> Judgement {
        let judged = judge(&self.enforcing, self.stand(&call.session), call, Human::Reachable);
        if decided.verdict == "block" && judged.verdict.decision == Decision::Ask {
            let unattended = judge(&self.enforcing, self.stand(&call.session), call, Human::Absent);
            if masked(&unattended.verdict.reason) == decided.reason {
                return unattended;
            }
        }
        judged
    }

    /// A human has answered, or it is too late for that.
    fn answered(&mut self, question: Question, decided: &LoggedDecision, at: Time) -> Option<Compared> {
        let old = Ran::of(&decided.verdict);
        let granted = self.answers.remove(&question.approval).unwrap_or(old != Ran::No);
        let call = question.call.at(at);
        let Some(number) = question.number else {
            // That this policy does not ask was told when the record asked.
            let judged = judge(&self.enforcing, self.stand(&call.session), &call, Human::Reachable);
            match (old, judged.verdict.lets_pass()) {
                (Ran::Yes, true) => self.commit(&call, &judged),
                _ => self.go_on(old, decided, call),
            }
            return None;
        };
        let answer = |world: &Self, granted| {
            judge_answer(&world.enforcing, world.stand(&call.session), number, granted, at)
        };
        let judged = answer(self, granted);
        let verdict = judged.as_ref().map(|judged| judged.verdict.clone()).unwrap_or_else(lapsed);
        let new = Ran::of(verdict.decision.word());
        match &judged {
            Some(judged) if old == new => {
                let number = judged.verdict.approval.as_ref().map(|approval| approval.number);
                self.commit(&call, judged);
                if old == Ran::Waits {
                    self.ask(decided, call.clone(), number);
                }
            }
            _ => {
                // What the question holds is given back before the record goes on.
                let refusal = answer(self, false);
                if let Some(refusal) = &refusal {
                    self.commit(&call, refusal);
                }
                match old {
                    Ran::No if refusal.is_some() => {}
                    old => self.go_on(old, decided, call.clone()),
                }
            }
        }
        let is_same = verdict.decision.word() == decided.verdict;
        (!is_same).then_some(Compared { verdict, ran: old == Ran::Yes && new != Ran::Yes })
    }

    /// Goes on as the record does, where this policy decides otherwise.
    fn go_on(&mut self, old: Ran, decided: &LoggedDecision, call: SeenCall) {
        match old {
            Ran::Yes => {
                let judged = judge(&self.observing, self.stand(&call.session), &call, Human::Absent);
                self.commit(&call, &judged);
            }
            Ran::No => self.refuse(&call),
            Ran::Waits => self.ask(decided, call, None),
        }
    }

    /// A question of the record is open from now on.
    fn ask(&mut self, decided: &LoggedDecision, call: SeenCall, number: Option<u64>) {
        let approval = decided.approval.clone().unwrap_or_default();
        let key = (call.session.clone(), call.id.clone());
        self.open.insert(key, Question { approval, call, number });
    }

    /// The call did not run: it was tried and refused, and counts as that.
    fn refuse(&mut self, call: &Call) {
        let stand = self.stand(&call.session);
        let at = call.at.max(stand.session.clock());
        let (tool, decision) = (call.tool.as_str(), Decision::Block);
        let heard = DecidedCall { tool, decision, succeeded: false, refused_by: &|_| false, at };
        let WindowMarks { marks, shared } = self.enforcing.policy.marks(&heard, &stand);
        let remembered = Some(Box::new(Remembered { marks, ..Remembered::default() }));
        let (id, tool) = (call.id.clone(), call.tool.clone());
        self.session(&call.session).apply(&Event::Blocked { id, tool, at, remembered });
        self.shared_state.apply(&SharedEvent::Marked { at, marks: shared });
    }

    fn commit(&mut self, call: &Call, judged: &Judgement) {
        let session = self.session(&call.session);
        judged.events.iter().for_each(|event| session.apply(event));
        judged.shared.iter().for_each(|event| self.shared_state.apply(event));
    }

    fn settle(&mut self, outcome: &Outcome, found: &[Arc<str>]) {
        let mut settled = settle(&self.enforcing, self.stand(&outcome.session), outcome);
        // What the output held is not in the audit log, but the kinds of sensitive data in it are.
        if !found.is_empty() && self.enforcing.policy.watches_taints() {
            let seen = |remembered: &mut Option<Box<Remembered>>| {
                let remembered = remembered.get_or_insert_default();
                remembered.taints = found.to_vec();
                remembered.is_tainted = true;
            };
            if let Some(Event::Settled { remembered, .. } | Event::Stray { remembered, .. }) =
                settled.events.last_mut()
            {
                seen(remembered);
            }
        }
        let session = self.session(&outcome.session);
        settled.events.iter().for_each(|event| session.apply(event));
        settled.shared.iter().for_each(|event| self.shared_state.apply(event));
    }

    /// What an operator did to everything.
    fn operate_all(&mut self, what: &LogEvent) {
        let LogEvent::Operator { act, about } = what else { return };
        match act.as_str() {
            "halt" => self.shared_state.apply(&SharedEvent::Halted { reason: text(about, "reason") }),
            "resume" => self.shared_state.apply(&SharedEvent::Resumed),
            "forget" => {
                let names = about.get("sessions").and_then(Value::as_array).into_iter().flatten();
                for name in names.filter_map(Value::as_str) {
                    self.sessions.remove(name);
                    self.open.retain(|(session, _), _| session != name);
                }
            }
            "prune" => {}
            _ => self.counted.acts_left_out += 1,
        }
    }

    /// What an operator did to a session.
    fn operate(&mut self, session: &str, act: &str, about: &Map<String, Value>, at: Time) {
        // A record is replayed under one policy: which ones decided when it was made changes nothing here.
        if ["policy-changed", "policy-restored", "policy-followed", "accept-policy", "hook-changed"]
            .contains(&act)
        {
            return;
        }
        if act == "release" {
            self.sessions.remove(session);
            self.open.retain(|(of, _), _| of != session);
            return;
        }
        let rule = || self.rule(&text(about, "rule"));
        let number = |name: &str| about.get(name).and_then(Value::as_u64).unwrap_or_default();
        let event = match act {
            "halt" => Some(Event::Halted { reason: text(about, "reason") }),
            "resume" => Some(Event::Resumed),
            "untaint" => Some(Event::Untainted),
            "describe" => {
                let attributes = about.get("attributes").and_then(Value::as_object).cloned();
                attributes.map(|attributes| Event::Described { attributes })
            }
            "seed" => {
                let counts = Counts { attempts: number("attempts"), tool_calls: number("tool_calls") };
                Some(Event::Seeded { counts, per_tool: Vec::new() })
            }
            "begin" => {
                let named = about.get("inactive").and_then(Value::as_array);
                let named: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
                let rules = self.enforcing.policy.rules().filter(|rule| named.contains(&rule.name.as_str()));
                Some(Event::Began { inactive: rules.map(|rule| rule.id).collect() })
            }
            "activate" => rule().map(|rule| Event::Activated { rule }),
            "deactivate" => rule().map(|rule| Event::Deactivated { rule }),
            "move" => {
                let step =
                    about.get("step").cloned().and_then(|step| serde_json::from_value::<Step>(step).ok());
                rule().zip(step).map(|(rule, step)| Event::Moved { at, rule, step })
            }
            _ => None,
        };
        match event {
            Some(event) => self.session(session).apply(&event),
            None => self.counted.acts_left_out += 1,
        }
    }

    fn rule(&self, name: &str) -> Option<RuleId> {
        self.enforcing.policy.rules().find(|rule| rule.name == name).map(|rule| rule.id)
    }

    fn session(&mut self, name: &str) -> &mut Session {
        self.sessions.entry(name.to_owned()).or_default()
    }

    fn stand(&self, name: &str) -> Stand<'_> {
        static FRESH: LazyLock<Session> = LazyLock::new(Session::default);
        Stand { shared_state: &self.shared_state, ..Stand::from(self.sessions.get(name).unwrap_or(&FRESH)) }
    }

    /// The call as far as the audit log shows it.
    fn call_of(session: &str, recorded: &LoggedCall, at: Time) -> SeenCall {
        let LoggedCall { id, tool, input, door, cwd, sender, principal, parent, .. } = recorded.clone();
        let mut call = Call { session: session.to_owned(), id, tool, input, at, ..Call::default() };
        call.about.cwd = cwd;
        call.about.sender = sender;
        call.about.principal = principal;
        call.about.parent = parent;
        // Hooks name their sessions after the host, and tell rules the host.
        if let (Some(_), Some((host, _))) = (door, session.split_once('/')) {
            call.about.metadata = Some(json!({ "host": host }));
        }
        SeenCall::look(call, Some(&LocalEyes))
    }
}

/// What this policy says where the record says something else.
struct Compared {
    verdict: Verdict,
    ran: bool,
}

/// Whether a call runs after a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    Yes,
    No,
    Waits,
}

impl Ran {
    fn of(verdict: &str) -> Self {
        match verdict {
            "allow" | "redact" => Self::Yes,
            "ask" => Self::Waits,
            _ => Self::No,
        }
    }
}

/// The verdict where a human's answer finds no question any more.
fn lapsed() -> Verdict {
    let approval = ApprovalId { session: String::new(), number: 0 };
    let reason = "the question to a human would have lapsed before the answer came.".to_owned();
    let mut verdict = Verdict::still_asking(approval);
    (verdict.decision, verdict.reason, verdict.approval) = (Decision::Block, reason, None);
    verdict
}

fn masked(text: &str) -> String {
    Detectors::standard().mask_text(text, Mask::Stars).0.into_owned()
}

fn text(about: &Map<String, Value>, name: &str) -> String {
    about.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
