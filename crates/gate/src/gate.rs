//! The gate: what happens to one call, from the store and back to it.
//!
//! [`Gate::call`] opens the session, judges, commits, and only then tells the verdict. If another writer was
//! first it judges again; if the store or Lockgate itself fails, the call is blocked. There is no thread and
//! no clock in here: the moment of a call is part of the call.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, RwLock},
};

use lockgate_call::{Call, Time};
use lockgate_policy::{Mode, Policy};
use serde_json::{Map, Value};

use crate::{
    approver::{Answer, Approver, Question},
    event::Event,
    explain::{NetView, explain},
    judge::{Events, Human, Judgement, judge, judge_answer, lapsed},
    registry::Registry,
    rulebook::{Attempt, Hooks, Rulebook, Success, Terms},
    session::{ApprovalId, Asked, Notes, Session},
    settle::{Outcome, Settlement, settle},
    status::Status,
    store::{MemoryStore, Store, StoreError},
    verdict::{Decision, Verdict},
};

/// How often a decision is begun anew because another writer was first.
const ATTEMPTS_MAX: usize = 100;

/// A policy in force, over a store of sessions.
pub struct Gate {
    rulebook: Rulebook,
    store: Box<dyn Store>,
    listener: Option<Box<Listener>>,
    halted: RwLock<Option<String>>,
}

/// Hears every verdict after it was stored, with the call it is about.
pub type Listener = dyn Fn(&Call, &Verdict) + Send + Sync;

/// Builds a [`Gate`].
pub struct GateBuilder {
    gate: Gate,
    hooks: Hooks,
    unknown: Option<UnknownNet>,
}

/// A hook was set on a net that the policy does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no net is called `{name}`; the policy has: {known}")]
pub struct UnknownNet {
    name: String,
    known: String,
}

/// An answer came for a question that nobody asks (any more).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question is not open: it was answered before, lapsed, or never asked.
    #[error("no question `{0}` is open: it was answered before, has lapsed, or was never asked")]
    NotOpen(String),
    /// The store failed; the question may still be open.
    #[error("the answer could not be stored: {0}")]
    NotStored(String),
}

impl Gate {
    /// A gate in memory with the usual terms.
    pub fn new(policy: Policy) -> Self {
        Self {
            rulebook: Rulebook { policy: Arc::new(policy), hooks: Arc::default(), terms: Terms::default() },
            store: Box::new(MemoryStore::new()),
            listener: None,
            halted: RwLock::default(),
        }
    }

    /// A gate with terms, hooks, a store or a listener of its own.
    pub fn builder(policy: Policy) -> GateBuilder {
        GateBuilder { gate: Self::new(policy), hooks: Hooks::default(), unknown: None }
    }

    /// Decides about a call. Where a human is wanted the answer is `ask`, and [`Gate::answer`] goes on.
    pub fn call(&self, call: &Call) -> Verdict {
        self.decide(call, Human::Reachable)
    }

    /// Decides about a call when nobody can be asked: what needs a human is blocked.
    pub fn call_unattended(&self, call: &Call) -> Verdict {
        self.decide(call, Human::Absent)
    }

    /// Decides about a call and, where a human is wanted, asks and waits.
    pub fn call_with(&self, call: &Call, approver: &mut dyn Approver) -> Verdict {
        let mut verdict = self.call(call);
        // A grant may bring up a rule that did not ask before; that is a question of its own.
        while let (Decision::Ask, Some(approval)) = (verdict.decision, verdict.approval.clone()) {
            let question = Question { approval: &approval, call, wanted_by: &verdict.obstacles };
            let answer = catch_unwind(AssertUnwindSafe(|| approver.ask(&question))).unwrap_or(Answer::Nobody);
            let wanted_by = std::mem::take(&mut verdict.obstacles);
            let answered = self.answer(&approval, answer == Answer::Granted, call.at);
            verdict = answered.unwrap_or_else(|error| failed(&error.to_string()));
            if answer == Answer::Nobody {
                return unattended(verdict, wanted_by);
            }
        }
        verdict
    }

    /// Takes in a human's answer. The first answer stands; a later one finds no open question.
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn answer(&self, approval: &ApprovalId, granted: bool, at: Time) -> Result<Verdict, AnswerError> {
        let not_open = || AnswerError::NotOpen(approval.to_string());
        // The kill switch may have been thrown while the human thought: then a yes is worth no more than a no.
        let halted = self.halted_verdict().filter(|_| granted);
        let judge =
            |session: &Session, granted| judge_answer(&self.rulebook, session, approval.number, granted, at);
        let judged = self.commit_with(&approval.session, |session| {
            let granted = granted && halted.is_none();
            // A refusal asks nobody's code, so it can be told after a panic as well.
            let judgement =
                catch_unwind(AssertUnwindSafe(|| judge(session, granted))).unwrap_or_else(|_| {
                    judge(session, false).map(|refusal| Judgement { verdict: panicked(), ..refusal })
                })?;
            let call = session.asked().get(&approval.number).map(|asked| asked.call.clone());
            Some((judgement.events, (halted.clone().unwrap_or(judgement.verdict), call)))
        });
        let (verdict, call) =
            judged.map_err(|error| AnswerError::NotStored(error.to_string()))?.ok_or_else(not_open)?;
        if let Some(call) = call {
            self.tell(&call, &verdict);
        }
        Ok(verdict)
    }

    /// Takes in a tool's result.
    ///
    /// # Errors
    /// When the store fails: then the result was not taken in and may be sent again.
    pub fn result(&self, outcome: &Outcome) -> Result<Settlement, StoreError> {
        let settled = self.commit_with(&outcome.session, |session| {
            let guarded = catch_unwind(AssertUnwindSafe(|| settle(&self.rulebook, session, outcome)));
            // A result hook that panics earns nothing: the call counts as failed.
            let mut settlement = guarded.unwrap_or_else(|_| {
                settle(&self.rulebook, session, &Outcome { ok: false, ..outcome.clone() })
            });
            Some((std::mem::take(&mut settlement.events), settlement))
        });
        settled.map(Option::unwrap_or_default)
    }

    /// Takes in what happened before the gate was there: each entry is a call that ran, and its result.
    ///
    /// Whatever the rules would have said, it did happen, so its effects count; refusals are returned for
    /// whoever wants to know.
    ///
    /// # Errors
    /// When the store fails; entries before that were taken in.
    pub fn replay(&self, session: &str, history: &[Past], at: Time) -> Result<Vec<Verdict>, StoreError> {
        let observing = Rulebook {
            policy: self.rulebook.policy.clone(),
            hooks: self.rulebook.hooks.clone(),
            terms: Terms { mode: Mode::Observe, ..self.rulebook.terms },
        };
        let mut verdicts = Vec::with_capacity(history.len());
        for (number, past) in history.iter().enumerate() {
            let id = format!("replay-{number}");
            let call = Call {
                session: session.to_owned(),
                id: id.clone(),
                tool: past.tool.clone(),
                input: past.input.clone(),
                at,
                ..Call::default()
            };
            let outcome = Outcome { session: session.to_owned(), id, ok: past.ok, at, ..Outcome::default() };
            let verdict = self.commit_with(session, |session| {
                let judgement = judge(&observing, session, &call, Human::Absent);
                let settlement = settle(&self.rulebook, &session.after(&judgement.events), &outcome);
                let events: Events = judgement.events.into_iter().chain(settlement.events).collect();
                Some((events, judgement.verdict))
            })?;
            verdicts.extend(verdict);
        }
        Ok(verdicts)
    }

    /// Where a session stands.
    ///
    /// # Errors
    /// When the store fails.
    pub fn status(&self, session: &str, at: Time) -> Result<Status, StoreError> {
        self.read(session, at, |stands| Status::of(&self.rulebook, session, stands))
    }

    /// What every net says to a call, without deciding anything.
    ///
    /// # Errors
    /// When the store fails.
    pub fn explain(&self, call: &Call) -> Result<Vec<NetView>, StoreError> {
        self.read(&call.session, call.at, |session| explain(&self.rulebook, session, call))
    }

    /// The question a human is asked, while it is open.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question(&self, approval: &ApprovalId) -> Result<Option<Asked>, StoreError> {
        let opened = self.store.open(&approval.session)?;
        Ok(opened.session().asked().get(&approval.number).cloned())
    }

    /// A copy of a session, for keeping or looking at.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session(&self, session: &str) -> Result<Session, StoreError> {
        self.store.open(session).map(|opened| opened.session().clone())
    }

    /// The nets of a session, to be activated and deactivated.
    pub fn registry<'a>(&'a self, session: &'a str) -> Registry<'a> {
        Registry::new(self, session)
    }

    /// Refuses every call of a session, or without a session every call of all, until [`Gate::resume`].
    ///
    /// # Errors
    /// When the store fails; halting everything cannot fail.
    pub fn halt(&self, session: Option<&str>, reason: &str) -> Result<(), StoreError> {
        match session {
            Some(session) => self.record(session, [Event::Halted { reason: reason.to_owned() }]),
            None => {
                *self.halted.write().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
                Ok(())
            }
        }
    }

    /// Judges calls again.
    ///
    /// # Errors
    /// When the store fails.
    pub fn resume(&self, session: Option<&str>) -> Result<(), StoreError> {
        match session {
            Some(session) => self.record(session, [Event::Resumed]),
            None => {
                *self.halted.write().unwrap_or_else(PoisonError::into_inner) = None;
                Ok(())
            }
        }
    }

    /// The rules in force.
    pub fn policy(&self) -> &Policy {
        &self.rulebook.policy
    }

    /// The rules in force with hooks and terms.
    pub fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    pub(crate) fn record(
        &self,
        session: &str,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<(), StoreError> {
        let events: Events = events.into_iter().collect();
        self.commit_with(session, |_| Some((events.clone(), ()))).map(|_| ())
    }

    fn decide(&self, call: &Call, human: Human) -> Verdict {
        let judged = match self.halted_verdict() {
            Some(verdict) => Ok(Some(verdict)),
            None => self.commit_with(&call.session, |session| {
                let Judgement { verdict, events } = self.judge_or_block(session, call, human);
                Some((events, verdict))
            }),
        };
        let verdict = match judged {
            Ok(Some(verdict)) => verdict,
            Ok(None) => failed("no judgement was made"),
            Err(error) => failed(&error.to_string()),
        };
        self.tell(call, &verdict);
        verdict
    }

    /// A judgement that panics, in our code or in the author's, is a refusal.
    fn judge_or_block(&self, session: &Session, call: &Call, human: Human) -> Judgement {
        catch_unwind(AssertUnwindSafe(|| judge(&self.rulebook, session, call, human))).unwrap_or_else(|_| {
            let blocked = Event::Blocked { id: call.id.clone(), tool: call.tool.clone(), at: call.at };
            Judgement { verdict: panicked(), events: vec![blocked] }
        })
    }

    /// Opens, decides and commits, as often as another writer was first.
    fn commit_with<T>(
        &self,
        session: &str,
        mut decide: impl FnMut(&Session) -> Option<(Events, T)>,
    ) -> Result<Option<T>, StoreError> {
        for _ in 0..ATTEMPTS_MAX {
            let opened = self.store.open(session)?;
            let Some((events, answer)) = decide(opened.session()) else { return Ok(None) };
            match opened.commit(&events) {
                Ok(()) => return Ok(Some(answer)),
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Conflict)
    }

    fn read<T>(&self, session: &str, at: Time, look: impl FnOnce(&Session) -> T) -> Result<T, StoreError> {
        let opened = self.store.open(session)?;
        let lapsed = lapsed(&self.rulebook, opened.session(), at);
        Ok(look(&opened.session().after(&lapsed)))
    }

    fn halted_verdict(&self) -> Option<Verdict> {
        let halted = self.halted.read().unwrap_or_else(PoisonError::into_inner);
        let reason = halted.as_ref()?;
        Some(Verdict::refused_by_gate("halted", format!("everything is halted: {reason}")))
    }

    fn tell(&self, call: &Call, verdict: &Verdict) {
        if let Some(listener) = &self.listener {
            // The verdict is stored and will be told; a listener that panics must not swallow it.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(call, verdict)));
        }
    }
}

/// A call that ran before the gate was there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// Whether it succeeded.
    pub ok: bool,
}

impl Past {
    /// A success with an empty input.
    pub fn success(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), input: Map::new(), ok: true }
    }
}

impl GateBuilder {
    /// Applies the rules under other terms.
    #[must_use]
    pub fn terms(mut self, terms: Terms) -> Self {
        self.gate.rulebook.terms = terms;
        self
    }

    /// Enforces or only observes, for the whole policy.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.gate.rulebook.terms.mode = mode;
        self
    }

    /// Keeps sessions elsewhere than in memory.
    #[must_use]
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.gate.store = Box::new(store);
        self
    }

    /// Tells somebody every verdict, under observe too.
    #[must_use]
    pub fn on_decision(mut self, listener: impl Fn(&Call, &Verdict) + Send + Sync + 'static) -> Self {
        self.gate.listener = Some(Box::new(listener));
        self
    }

    /// Asks a closure about every call that a net would let pass.
    #[must_use]
    pub fn validate(
        mut self,
        net: &str,
        validate: impl Fn(&Attempt<'_>, &mut Notes) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        if let Some(rule) = self.find(net) {
            self.hooks.validate(rule, Box::new(validate));
        }
        self
    }

    /// Tells a closure about every success that a deferred transition of a net waited for.
    #[must_use]
    pub fn on_result(
        mut self,
        net: &str,
        on_result: impl Fn(&Success<'_>, &mut Notes) + Send + Sync + 'static,
    ) -> Self {
        if let Some(rule) = self.find(net) {
            self.hooks.on_result(rule, Box::new(on_result));
        }
        self
    }

    /// The gate.
    ///
    /// # Errors
    /// When a hook names a net that the policy does not have: a hook that never runs must not look like one.
    pub fn build(mut self) -> Result<Gate, UnknownNet> {
        self.gate.rulebook.hooks = Arc::new(self.hooks);
        self.unknown.map_or(Ok(self.gate), Err)
    }

    fn find(&mut self, net: &str) -> Option<lockgate_policy::RuleId> {
        let policy = &self.gate.rulebook.policy;
        let found = policy.rule_named(net).map(|rule| rule.id);
        if found.is_none() {
            let names: Vec<&str> = policy.rules().iter().map(|rule| rule.name.as_str()).collect();
            self.unknown.get_or_insert(UnknownNet { name: net.to_owned(), known: names.join(", ") });
        }
        found
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gate").field("policy", &self.rulebook.policy.hash()).finish_non_exhaustive()
    }
}

/// The verdict when the author's code or ours panics.
fn panicked() -> Verdict {
    failed("a rule's own code or the gate panicked")
}

/// The verdict when Lockgate itself fails.
fn failed(why: &str) -> Verdict {
    Verdict::refused_by_gate(
        "lockgate",
        format!("Lockgate could not decide ({why}), so the call is blocked."),
    )
}

/// Nobody was there to answer: the reasons of the question stand, as a refusal.
fn unattended(verdict: Verdict, wanted_by: Vec<crate::verdict::Obstacle>) -> Verdict {
    let obstacles = wanted_by.into_iter().map(|mut obstacle| {
        obstacle.decision = Decision::Block;
        obstacle
    });
    Verdict::join(verdict.deeds, obstacles.collect())
}
