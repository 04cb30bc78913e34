//! The gate: what happens to one call, from the store and back to it.
//!
//! [`Gate::call`] opens the session, judges, commits, and only then tells the verdict. If another writer was
//! first it judges again; if the store or Lockgate itself fails, the call is blocked. There is no thread and
//! no clock in here: the moment of a call is part of the call.

mod bound;
mod builder;
mod failure;
mod first_answer;
mod operate;
mod questions;
mod results;

pub use builder::{GateBuilder, UnknownNet};
pub use operate::{Past, StageError};
pub use questions::AnswerError;

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use lockgate_call::{Call, SeenCall, Time};
use lockgate_policy::{Policy, workflow::Ran};
use serde_json::Value;

use failure::{catching, failed, panicked, policy_changed, withheld};

use crate::{
    audit_log::{self, LogEntry, LogEvent},
    both::Rules,
    duplicate::question_about,
    explain::{NetView, explain},
    human::Human,
    judge::{evaluate, lapsed},
    record::{Events, Judgement},
    rulebook::Rulebook,
    runner::Runner,
    settle::{Outcome, Settlement, look_at},
    stages::WantedRun,
    state::{ApprovalId, Asked, Event, Session, SharedEvent, Stand},
    status::Status,
    store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError},
    verdict::Verdict,
};

/// How often a decision is begun anew because another writer was first.
const ATTEMPTS_MAX: usize = 100;

/// How many programs of conditions are run for one decision.
const RUNS_MAX: usize = 64;

/// A policy in force, over a store of sessions.
pub struct Gate {
    rulebook: Rulebook,
    store: Box<dyn Store>,
    listener: Option<Box<Listener>>,
    runner: Option<Box<dyn Runner>>,
}

/// Hears every verdict after it was stored, with the call it is about.
pub type Listener = dyn Fn(&Call, &Verdict) + Send + Sync;

impl Gate {
    /// A gate in memory with the usual terms.
    pub fn new(policy: impl Into<Arc<Policy>>) -> Self {
        Self {
            rulebook: Rulebook::new(policy),
            store: Box::new(MemoryStore::new()),
            listener: None,
            runner: None,
        }
    }

    /// Decides about a call. Where a human is wanted the answer is `ask`, and [`Gate::answer`] goes on.
    ///
    /// A door hands in what it has seen ([`SeenCall::look`]). A bare [`Call`] is copied, and its links are
    /// not looked up.
    pub fn call<'c>(&self, call: impl Into<Cow<'c, SeenCall>>) -> Verdict {
        self.decide(&call.into(), Human::Reachable)
    }

    /// Decides about a call when no human can be asked: calls that need one are blocked.
    pub fn call_unattended<'c>(&self, call: impl Into<Cow<'c, SeenCall>>) -> Verdict {
        self.decide(&call.into(), Human::Absent)
    }

    /// The same, unless a question about this very call is open: its name is returned, and nothing is stored. An agent
    /// may come back with a call that it put off. The session is opened once.
    ///
    /// # Errors
    /// The open question.
    pub fn call_unless_asked(&self, call: &SeenCall, human: Human) -> Result<Verdict, ApprovalId> {
        let mut open = None;
        let verdict = self.decide_unless(call, human, |session| {
            let is_same = |asked: &&Asked| asked.call.input == call.input && asked.call.tool == call.tool;
            let number = question_about(session, call)?;
            session.asked().get(&number).filter(is_same)?;
            open = Some(ApprovalId { session: call.session.clone(), number });
            Some(())
        });
        open.map_or(Ok(verdict), Err)
    }

    /// Decides about a call without a session and without storing anything: every rule that would be in the way
    /// of a first call is named, and no human is asked. Workflows are not asked: they are about sessions. Where an output
    /// is given, the settlement says what would be kept back of it.
    pub fn evaluate<'c>(
        &self,
        call: impl Into<Cow<'c, SeenCall>>,
        output: Option<&Value>,
    ) -> (Verdict, Settlement) {
        let call = &*call.into();
        let judged = catch_unwind(AssertUnwindSafe(|| evaluate(&self.rulebook, call)));
        let verdict = judged.unwrap_or_else(|_| panicked());
        let tool = Some(call.tool.clone());
        let outcome = Outcome { tool, output: output.cloned(), ..Outcome::success(call) };
        let looked = catch_unwind(AssertUnwindSafe(|| look_at(&self.rulebook, call, &outcome)));
        (verdict, looked.unwrap_or_else(|_| withheld(Settlement::default())))
    }

    /// What would be decided about a call now, without storing anything: a dry run. No program is run and no human is asked,
    /// so a verdict of `ask` has no question.
    ///
    /// # Errors
    /// When the store fails.
    pub fn foresee<'c>(&self, call: impl Into<Cow<'c, SeenCall>>) -> Result<Verdict, StoreError> {
        let call = &*call.into();
        self.opened(&call.session, |opened| {
            let begins = if opened.held().is_some() { Events::new() } else { self.begins(opened.session()) };
            let begun = opened.session().after(&begins);
            let stand = Stand { session: &begun, ..stand_of(opened) };
            let judged = judge_or_block(self.rules_of(opened), stand, call, Human::Reachable);
            Verdict { approval: None, ..judged.verdict }
        })
    }

    /// Where a session stands.
    ///
    /// # Errors
    /// When the store fails.
    pub fn status(&self, session: &str, at: Time) -> Result<Status, StoreError> {
        self.read(session, at, |rulebook, stand| Status::of(rulebook, session, stand))
    }

    /// What every net says to a call, without deciding anything.
    ///
    /// # Errors
    /// When the store fails.
    pub fn explain<'c>(&self, call: impl Into<Cow<'c, SeenCall>>) -> Result<Vec<NetView>, StoreError> {
        let call = &*call.into();
        let under_both = self.opened(&call.session, |opened| {
            let stand = Stand { session: opened.held()?.session, ..stand_of(opened) };
            Some(explain(&self.rulebook, stand, call))
        })?;
        match under_both {
            Some(views) => Ok(views),
            None => self.read(&call.session, call.at, |rulebook, stand| explain(rulebook, stand, call)),
        }
    }

    /// A copy of a session, for keeping or looking at.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session(&self, session: &str) -> Result<Session, StoreError> {
        self.opened(session, |opened| {
            let Some(held) = opened.held() else {
                let session = opened.session();
                return session.after(&self.begins(session)).into_owned();
            };
            // Rules are named by their numbers in the policy in force.
            Session { bound: opened.session().bound.clone(), ..held.session.clone() }
        })
    }

    /// What a session takes in before anything else: which rules are off at first. One that has begun otherwise
    /// keeps what it has.
    fn begins(&self, session: &Session) -> Events {
        let off = self.rulebook.names.off_at_first();
        if off.is_empty() || session.has_begun || !session.is_untouched() {
            return Events::new();
        }
        vec![Event::Began { inactive: off.iter().copied().collect() }]
    }

    /// The rules in force.
    pub fn policy(&self) -> &Policy {
        &self.rulebook.policy
    }

    /// The rules in force with hooks and terms.
    pub fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    fn decide(&self, call: &SeenCall, human: Human) -> Verdict {
        self.decide_unless(call, human, |_| None)
    }

    /// The same, but nothing is judged or stored where `is_left` finds something in the session.
    fn decide_unless(
        &self,
        call: &SeenCall,
        human: Human,
        mut is_left: impl FnMut(&Session) -> Option<()>,
    ) -> Verdict {
        let mut left = false;
        let judged = self.commit_running(&call.session, |rules, stand| {
            left = is_left(stand.session).is_some();
            if left {
                return None;
            }
            let Judgement { verdict, events, changed, shared, wants } =
                judge_or_block(rules, stand, call, human);
            let told = self.told(|| audit_log::decided(&self.rulebook.policy, call, &verdict, &events));
            Some((Commit { events, changed, shared, told, at: call.at, answer: verdict }, wants))
        });
        let verdict = match judged {
            Ok(Some(verdict)) => verdict,
            Ok(None) => failed("no judgement was made"),
            Err(error) => failed(&error.to_string()),
        };
        if !left {
            self.tell(call, &verdict);
        }
        verdict
    }

    /// The same where a decision may want programs to be run first. They run while the session is not locked;
    /// then it is opened and judged anew, as it stands by then.
    fn commit_running<T>(
        &self,
        session: &str,
        mut decide: impl for<'a> FnMut(Rules<'a>, Stand<'a>) -> Option<(Commit<T>, Option<WantedRun>)>,
    ) -> Result<Option<T>, StoreError> {
        let mut ran = Ran::default();
        loop {
            let (mut wanted, mut runs_programs) = (None, false);
            let may_run = ran.len() < RUNS_MAX;
            let decided = self.commit_with(session, |rules, stand| {
                runs_programs = rules.runs_programs();
                let (commit, wants) = decide(rules, Stand { ran: &ran, ..stand })?;
                wanted = wants.filter(|_| may_run);
                wanted.is_none().then_some(commit)
            })?;
            let Some(WantedRun { exec, folder }) = wanted else { return Ok(decided) };
            let run = || match &self.runner {
                _ if !runs_programs => {
                    Err("its program was not run: a human has to accept the changed policy first".to_owned())
                }
                Some(runner) => runner.run(&exec, folder.as_deref()),
                None => Err("this gate runs no programs".to_owned()),
            };
            let ended = catch_unwind(AssertUnwindSafe(run));
            ran.took(exec.clone(), ended.unwrap_or_else(|_| Err("the program runner panicked".to_owned())));
        }
    }

    /// Opens, decides and commits, as often as another writer was first. A panic on the way is an error.
    fn commit_with<T>(
        &self,
        session: &str,
        decide: impl for<'a> FnMut(Rules<'a>, Stand<'a>) -> Option<Commit<T>>,
    ) -> Result<Option<T>, StoreError> {
        catching(|| self.commit_or_panic(session, decide))
    }

    fn commit_or_panic<T>(
        &self,
        session: &str,
        mut decide: impl for<'a> FnMut(Rules<'a>, Stand<'a>) -> Option<Commit<T>>,
    ) -> Result<Option<T>, StoreError> {
        let reach = if self.rulebook.policy.shares() { Reach::SharedState } else { Reach::Session };
        for _ in 0..ATTEMPTS_MAX {
            let opened = self.store.open(session, reach)?;
            let begins = if opened.held().is_some() { Events::new() } else { self.begins(opened.session()) };
            let decided = {
                let begun = opened.session().after(&begins);
                decide(self.rules_of(&*opened), Stand { session: &begun, ..stand_of(&*opened) })
            };
            let Some(Commit { mut events, changed, shared, mut told, at, answer }) = decided else {
                return Ok(None);
            };
            if !begins.is_empty() {
                told.splice(..0, self.operated(&begins));
                events.splice(..0, begins);
            }
            let changed = match (opened.held(), changed) {
                (None, _) => Events::new(),
                (Some(_), Some(changed)) => changed,
                (Some(_), None) if events.iter().all(Event::is_of_no_rule) => events.clone(),
                (Some(_), None) => return Err(policy_changed()),
            };
            told.splice(
                ..0,
                opened.news().filter(|_| self.store.keeps_audit_log()).map(audit_log::policy_news),
            );
            let entries = self.entries(Some((session, opened.session())), &events, told, at);
            let changes = Changes {
                events: &events,
                changed: &changed,
                accepts: false,
                shared: &shared,
                entries: &entries,
            };
            match opened.commit(&changes) {
                Ok(()) => return Ok(Some(answer)),
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Conflict)
    }

    /// What the audit log is told, where there is one.
    fn told<T>(&self, tell: impl FnOnce() -> T) -> Vec<T> {
        if self.store.keeps_audit_log() { vec![tell()] } else { Vec::new() }
    }

    fn operated<'e>(&self, events: impl IntoIterator<Item = &'e Event>) -> Vec<LogEvent> {
        let policy = &self.rulebook.policy;
        events.into_iter().filter_map(|event| audit_log::operated(policy, event)).collect()
    }

    /// What the audit log says about a commit: first what ran out before it, then what was decided.
    fn entries(
        &self,
        of: Option<(&str, &Session)>,
        events: &[Event],
        told: Vec<LogEvent>,
        at: Time,
    ) -> Vec<LogEntry> {
        if !self.store.keeps_audit_log() {
            return Vec::new();
        }
        let lapses = of.into_iter().flat_map(|(name, session)| audit_log::lapses(name, session, events));
        let at = of.map_or(at, |(_, session)| at.max(session.clock())).0;
        let session = of.map(|(name, _)| name.to_owned());
        let policy = Some(self.rulebook.policy.hash().to_string());
        let entry = |what| LogEntry { at, session: session.clone(), policy: policy.clone(), what };
        lapses.chain(told).map(entry).collect()
    }

    fn read<T>(
        &self,
        session: &str,
        at: Time,
        look: impl FnOnce(&Rulebook, Stand<'_>) -> T,
    ) -> Result<T, StoreError> {
        self.opened(session, |opened| {
            let rulebook = self.rules_of(opened).accepted();
            let Stand { session, shared_state, ran } = stand_of(opened);
            let begins = self.begins(session);
            let session = &*session.after(&begins);
            let lapsed = lapsed(rulebook, session, at);
            look(rulebook, Stand { session: &session.after(&lapsed), shared_state, ran })
        })
    }

    /// Opens a session as it is stored, to look at it.
    fn opened<T>(&self, session: &str, look: impl FnOnce(&dyn OpenedSession) -> T) -> Result<T, StoreError> {
        catching(|| Ok(look(&*self.store.open(session, Reach::Look)?)))
    }

    fn tell(&self, call: &Call, verdict: &Verdict) {
        if let Some(listener) = &self.listener {
            // The verdict is stored and will be told; a listener that panics must not swallow it.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(call, verdict)));
        }
    }
}

/// A judgement that panics, in our code or in the author's, is a refusal.
fn judge_or_block<'a>(rules: Rules<'a>, stand: Stand<'a>, call: &SeenCall, human: Human) -> Judgement {
    catch_unwind(AssertUnwindSafe(|| rules.judge(stand, call, human))).unwrap_or_else(|_| {
        let (id, tool) = (call.id.clone(), call.tool.clone());
        let events = vec![Event::Blocked { id, tool, at: call.at, remembered: None }];
        Judgement { verdict: panicked(), events, changed: None, shared: Vec::new(), wants: None }
    })
}

/// What a decision stores, and what it answers once that is done.
struct Commit<T> {
    events: Events,
    /// The same under a changed policy that waits; none where it is the same or where there is none.
    changed: Option<Events>,
    shared: Vec<SharedEvent>,
    /// What the audit log is told about it.
    told: Vec<LogEvent>,
    /// When; a session's time never runs backwards.
    at: Time,
    answer: T,
}

impl<T> Commit<T> {
    /// Nothing is stored.
    fn answering(answer: T) -> Self {
        let (events, shared, told) = (Events::new(), Vec::new(), Vec::new());
        Self { events, changed: None, shared, told, at: Time(0), answer }
    }
}

fn stand_of<'a>(opened: &'a (dyn OpenedSession + 'a)) -> Stand<'a> {
    Stand { session: opened.session(), shared_state: opened.shared_state(), ran: Ran::nothing() }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gate").field("policy", &self.rulebook.policy.hash()).finish_non_exhaustive()
    }
}
