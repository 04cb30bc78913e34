//! The gate: what happens to one call, from the store and back to it.
//!
//! [`Gate::call`] opens the session, judges, commits, and only then tells the verdict. If another writer was
//! first it judges again; if the store or Lockgate itself fails, the call is blocked. There is no thread and
//! no clock in here: the moment of a call is part of the call.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use jiff::tz::TimeZone;
use lockgate_call::{Call, Time};
use lockgate_policy::{
    Decision, Mode, Policy, Surroundings, Workflow,
    workflow::{Moved, Progress, Ran, Step, UnknownStage, progress::Why},
};
use serde_json::{Map, Value};

use crate::{
    approver::{Answer, Approver, Question},
    audit::{Record, records},
    commons::{Shared, Stand},
    event::{Closing, Event},
    explain::{NetView, explain},
    judge::{Events, Human, Judgement, evaluate, judge, judge_answer, lapsed},
    output::{OutputDecision, suppressed},
    protection::Protection,
    registry::{Names, Registry, UnknownName},
    rulebook::{Attempt, Hooks, Rulebook, Success, Terms},
    runner::Runner,
    session::{ApprovalId, Asked, Counts, Notes, Session},
    settle::{Outcome, Settlement, look_at, settle},
    shelf::{Shelf, Shelved},
    sighting::question_about,
    stages::{Wanted, stand_in},
    status::Status,
    store::{Changes, MemoryStore, OpenedSession, Reach, Store, StoreError},
    trail::{self, Entry, What},
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
    recorder: Option<Box<RecordListener>>,
    runner: Option<Box<dyn Runner>>,
}

/// Hears what happened, in order, after it was stored.
pub type RecordListener = dyn Fn(&Record) + Send + Sync;

/// Hears every verdict after it was stored, with the call it is about.
pub type Listener = dyn Fn(&Call, &Verdict) + Send + Sync;

/// Builds a [`Gate`].
pub struct GateBuilder {
    gate: Gate,
    hooks: Hooks,
    around: Surroundings,
    unknown: Option<UnknownNet>,
    named: Vec<(String, Vec<String>)>,
    active: Option<Vec<String>>,
}

/// Something was said about a net that the policy does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownNet {
    /// A hook was set on it.
    #[error("no net is called `{name}`; the policy has: {known}")]
    Hooked {
        /// The name given.
        name: String,
        /// The nets there are.
        known: String,
    },
    /// It was named, or is to be active at first.
    #[error(transparent)]
    Named(#[from] UnknownName),
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

/// An operator's move was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// The policy has no such workflow.
    #[error("no workflow is called `{name}`; the policy has: {known}")]
    UnknownWorkflow {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The workflow has no such stage.
    #[error(transparent)]
    UnknownStage(#[from] UnknownStage),
    /// The store failed; nothing was moved.
    #[error("the move could not be stored: {0}")]
    NotStored(String),
}

impl Gate {
    /// A gate in memory with the usual terms.
    pub fn new(policy: Policy) -> Self {
        Self {
            rulebook: Rulebook::new(policy),
            store: Box::new(MemoryStore::new()),
            listener: None,
            recorder: None,
            runner: None,
        }
    }

    /// A gate with terms, hooks, a store or a listener of its own.
    pub fn builder(policy: Policy) -> GateBuilder {
        let mut gate = Self::new(policy);
        let around = Arc::try_unwrap(std::mem::take(&mut gate.rulebook.around)).unwrap_or_default();
        GateBuilder { gate, hooks: Hooks::default(), around, unknown: None, named: Vec::new(), active: None }
    }

    /// Decides about a call. Where a human is wanted the answer is `ask`, and [`Gate::answer`] goes on.
    pub fn call(&self, call: &Call) -> Verdict {
        self.decide(call, Human::Reachable)
    }

    /// Decides about a call when nobody can be asked: what needs a human is blocked.
    pub fn call_unattended(&self, call: &Call) -> Verdict {
        self.decide(call, Human::Absent)
    }

    /// The same, unless a question about this very call is open: its name is returned, and nothing is stored. An agent
    /// may come back with a call that it put off. The session is opened once. `attended` says whether a human can be
    /// asked.
    ///
    /// # Errors
    /// The open question.
    pub fn call_unless_asked(&self, call: &Call, attended: bool) -> Result<Verdict, ApprovalId> {
        let human = if attended { Human::Reachable } else { Human::Absent };
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

    /// Decides about a call and, where a human is wanted, asks and waits.
    pub fn call_with(&self, call: &Call, approver: &mut dyn Approver) -> Verdict {
        let mut verdict = self.call(call);
        // A grant may bring up a rule that did not ask before; that is a question of its own.
        while let (Decision::Ask, Some(approval)) = (verdict.decision, verdict.approval.clone()) {
            let input = verdict.input.as_deref().unwrap_or(&call.input);
            let question = Question { approval: &approval, call, input, wanted_by: &verdict.obstacles };
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
        self.answer_by(approval, granted, Some("caller"), at)
    }

    /// The same where it is known who answered; none where the trail tells that already.
    ///
    /// # Errors
    /// As [`Gate::answer`].
    pub fn answer_by(
        &self,
        approval: &ApprovalId,
        granted: bool,
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        self.close(approval, Closing::from(granted), by, at)
    }

    fn close(
        &self,
        approval: &ApprovalId,
        how: Closing,
        by: Option<&str>,
        at: Time,
    ) -> Result<Verdict, AnswerError> {
        let not_open = || AnswerError::NotOpen(approval.to_string());
        let judge = |stand: Stand<'_>, how| judge_answer(&self.rulebook, stand, approval.number, how, at);
        let judged = self.commit_running(&approval.session, |stand| {
            // A refusal asks nobody's code, so it can be told after a panic as well.
            let judgement = catch_unwind(AssertUnwindSafe(|| judge(stand, how))).unwrap_or_else(|_| {
                judge(stand, Closing::Refused).map(|refusal| Judgement { verdict: panicked(), ..refusal })
            })?;
            let call = stand.session.asked().get(&approval.number).map(|asked| asked.call.clone());
            let Judgement { verdict, events, shared, wants } = judgement;
            let answered = by.map(|by| trail::answered(approval, how == Closing::Granted, by));
            let mut told: Vec<What> = answered.into_iter().collect();
            if let (true, Some(call)) = (self.store.keeps_trail(), &call) {
                told.push(trail::decided(call, &verdict, &events).about(approval));
            }
            let commit = Commit { events, shared, told, at, ..Commit::answering((verdict, call)) };
            Some((commit, wants))
        });
        let (verdict, call) =
            judged.map_err(|error| AnswerError::NotStored(error.to_string()))?.ok_or_else(not_open)?;
        if let Some(call) = call {
            self.tell(&call, &verdict);
        }
        Ok(verdict)
    }

    /// Takes in that no human has answered by now. Where every rule that asked says so, that is a yes once the
    /// time is over; otherwise the call is refused because of a timeout.
    ///
    /// # Errors
    /// When the question is not open, or the store fails: then nothing was decided.
    pub fn time_out(&self, approval: &ApprovalId, at: Time) -> Result<Verdict, AnswerError> {
        let question = self.question(approval).map_err(|error| AnswerError::NotStored(error.to_string()))?;
        let granted = question.is_some_and(|asked| asked.allows_late && asked.deadline <= at);
        let how = if granted { Closing::Granted } else { Closing::TimedOut };
        self.close(approval, how, Some(trail::TIMEOUT), at)
    }

    /// Decides about a call without a session and without storing anything: every rule that would be in the way
    /// of a first call is named, and nobody is asked. Workflows are not asked: they are about sessions. Whether anything would be kept back of an output is told
    /// where one is given.
    pub fn evaluate(&self, call: &Call, output: Option<&Value>) -> (Verdict, Settlement) {
        let judged = catch_unwind(AssertUnwindSafe(|| evaluate(&self.rulebook, call)));
        let verdict = judged.unwrap_or_else(|_| panicked());
        let tool = Some(call.tool.clone());
        let outcome = Outcome { tool, output: output.cloned(), ..Outcome::success(call) };
        let looked = catch_unwind(AssertUnwindSafe(|| look_at(&self.rulebook, call, &outcome)));
        (verdict, looked.unwrap_or_else(|_| withheld(Settlement::default())))
    }

    /// Takes in a tool's result.
    ///
    /// # Errors
    /// When the store fails: then the result was not taken in and may be sent again.
    pub fn result(&self, outcome: &Outcome) -> Result<Settlement, StoreError> {
        self.settle_unless(outcome, |_| false).map(Option::unwrap_or_default)
    }

    /// The same, unless a question about the call is open: its name is returned, and nothing is stored. The session is
    /// opened once.
    ///
    /// # Errors
    /// As [`Gate::result`].
    pub fn result_unless_asked(
        &self,
        call: &Call,
        outcome: &Outcome,
    ) -> Result<Result<Settlement, ApprovalId>, StoreError> {
        let mut open = None;
        let settled = self.settle_unless(outcome, |session| {
            open = question_about(session, call);
            open.is_some()
        })?;
        let name = |number| ApprovalId { session: call.session.clone(), number };
        Ok(open.map_or_else(|| Ok(settled.unwrap_or_default()), |number| Err(name(number))))
    }

    fn settle_unless(
        &self,
        outcome: &Outcome,
        mut is_left: impl FnMut(&Session) -> bool,
    ) -> Result<Option<Settlement>, StoreError> {
        self.commit_with(&outcome.session, |stand| {
            if is_left(stand.session) {
                return None;
            }
            let guarded = |outcome: &Outcome| {
                catch_unwind(AssertUnwindSafe(|| settle(&self.rulebook, stand, outcome))).ok()
            };
            // A result hook that panics earns nothing: the call counts as failed. Where looking at the output
            // panics, nothing of it is passed on.
            let failure = || Outcome { ok: false, ..outcome.clone() };
            let blind = || Outcome { output: None, ..failure() };
            let mut settlement = guarded(outcome)
                .or_else(|| guarded(&failure()))
                .unwrap_or_else(|| withheld(settle(&self.rulebook, stand, &blind())));
            let events = std::mem::take(&mut settlement.events);
            let shared = std::mem::take(&mut settlement.shared);
            let told = self.told(|| trail::settled(outcome, &settlement, &events));
            Some(Commit { events, shared, told, at: outcome.at, ..Commit::answering(settlement) })
        })
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
            around: self.rulebook.around.clone(),
            protection: self.rulebook.protection.clone(),
            names: self.rulebook.names.clone(),
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
            let verdict = self.commit_with(session, |stand| {
                let Judgement { verdict, mut events, mut shared, .. } =
                    judge(&observing, stand, &call, Human::Absent);
                let after = stand.session.after(&events);
                let settlement = settle(&self.rulebook, Stand { session: &after, ..stand }, &outcome);
                events.extend(settlement.events);
                shared.extend(settlement.shared);
                let told = self.told(|| trail::decided(&call, &verdict, &events));
                Some(Commit { events, shared, told, at, ..Commit::answering(verdict) })
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
        self.read(session, at, |stand| Status::of(&self.rulebook, session, stand))
    }

    /// What every net says to a call, without deciding anything.
    ///
    /// # Errors
    /// When the store fails.
    pub fn explain(&self, call: &Call) -> Result<Vec<NetView>, StoreError> {
        self.read(&call.session, call.at, |stand| explain(&self.rulebook, stand, call))
    }

    /// The question a human is asked, while it is open.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question(&self, approval: &ApprovalId) -> Result<Option<Asked>, StoreError> {
        let opened = self.store.open(&approval.session, Reach::Look)?;
        Ok(opened.session().asked().get(&approval.number).cloned())
    }

    /// The open question about a call, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn question_about(&self, call: &Call) -> Result<Option<(ApprovalId, Asked)>, StoreError> {
        let opened = self.store.open(&call.session, Reach::Look)?;
        let session = opened.session();
        let found = question_about(session, call).and_then(|number| {
            let approval = ApprovalId { session: call.session.clone(), number };
            Some((approval, session.asked().get(&number)?.clone()))
        });
        Ok(found)
    }

    /// A copy of a session, for keeping or looking at.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session(&self, session: &str) -> Result<Session, StoreError> {
        self.store.open(session, Reach::Look).map(|opened| {
            let session = opened.session();
            session.after(&self.begins(session)).into_owned()
        })
    }

    /// What a session takes in before anything else: which rules are off at first. One that has begun otherwise
    /// keeps what it has.
    fn begins(&self, session: &Session) -> Events {
        let off = self.rulebook.names.off_at_first();
        if off.is_empty() || session.has_begun || *session != Session::default() {
            return Events::new();
        }
        vec![Event::Began { inactive: off.iter().copied().collect() }]
    }

    /// Takes in what the trusted caller knows about a session; null makes an attribute unknown again. Rules
    /// believe it, so it must never come from the agent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn describe(&self, session: &str, attributes: Map<String, Value>) -> Result<(), StoreError> {
        self.record(session, [Event::Described { attributes }], Time(0))
    }

    /// Takes in what was counted before this gate was there. Whether it did: a session that has begun keeps its
    /// own counts.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seed(
        &self,
        session: &str,
        counts: Counts,
        per_tool: &[(String, u64)],
    ) -> Result<bool, StoreError> {
        let mut counted: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for (tool, calls) in per_tool {
            // Under its own name a tool is kept whether a rule counts it or not, for whoever asks later.
            let name = self.rulebook.policy.name(tool);
            let others = self.rulebook.policy.counters(tool).into_iter().filter(|counter| *counter != name);
            for counter in others.chain([name.clone()]) {
                let sum = counted.entry(counter).or_default();
                *sum = sum.saturating_add(*calls);
            }
        }
        let per_tool: Vec<(Arc<str>, u64)> = counted.into_iter().collect();
        let seeded = self.commit_with(session, |stand| {
            let event = Event::Seeded { counts, per_tool: per_tool.clone() };
            let told = self.operated([&event]);
            stand.session.is_fresh().then(|| Commit { events: vec![event], told, ..Commit::answering(()) })
        })?;
        Ok(seeded.is_some())
    }

    /// Opens again what sensitive data had closed. For a human who has looked, never for the agent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn untaint(&self, session: &str) -> Result<(), StoreError> {
        self.record(session, [Event::Untainted], Time(0))
    }

    /// Moves a session to a stage of a workflow: back, or with all that was shown so far. For an operator, never
    /// for the agent: what the stage asks for is not looked at.
    ///
    /// # Errors
    /// When there is no such workflow or stage, or the store fails: then nothing was moved.
    pub fn move_stage(
        &self,
        session: &str,
        workflow: &str,
        how: Moved,
        stage: &str,
        at: Time,
    ) -> Result<(), StageError> {
        let workflow = self.workflow_named(workflow)?;
        self.step(session, workflow, at, |progress| Ok(workflow.moved(progress, how, stage)?))
    }

    /// Takes over where a session stands in a workflow from elsewhere, by the evidence it brings.
    ///
    /// # Errors
    /// When there is no such workflow, or the store fails: then nothing was taken over.
    pub fn import_progress(
        &self,
        session: &str,
        workflow: &str,
        progress: &Progress,
        at: Time,
    ) -> Result<(), StageError> {
        let workflow = self.workflow_named(workflow)?;
        self.step(session, workflow, at, |_| Ok(workflow.adopt(progress, Why::Imported)))
    }

    fn workflow_named(&self, name: &str) -> Result<&Workflow, StageError> {
        let workflows = self.rulebook.policy.workflows();
        workflows.iter().find(|workflow| workflow.name == name).ok_or_else(|| {
            let known: Vec<&str> = workflows.iter().map(|workflow| workflow.name.as_str()).collect();
            StageError::UnknownWorkflow { name: name.to_owned(), known: known.join(", ") }
        })
    }

    fn step(
        &self,
        session: &str,
        workflow: &Workflow,
        at: Time,
        make: impl Fn(&Progress) -> Result<Step, StageError>,
    ) -> Result<(), StageError> {
        let moved = self.commit_with(session, |stand| {
            let (progress, _) = stand_in(workflow, stand.session, None);
            let (events, answer) = match make(&progress) {
                Ok(step) => (vec![Event::Moved { at, rule: workflow.id, step }], Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            let told = self.operated(&events);
            Some(Commit { events, told, at, ..Commit::answering(answer) })
        });
        moved.map_err(|error| StageError::NotStored(error.to_string()))?.unwrap_or(Ok(()))
    }

    /// The nets of a session, to be activated and deactivated.
    pub fn registry<'a>(&'a self, session: &'a str) -> Registry<'a> {
        Registry::new(self, session)
    }

    /// Refuses every call of a session, or without a session every call of all, until [`Gate::resume`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn halt(&self, session: Option<&str>, reason: &str, at: Time) -> Result<(), StoreError> {
        let reason = reason.to_owned();
        match session {
            Some(session) => self.record(session, [Event::Halted { reason }], at),
            None => {
                self.record_shared(Shared::Halted { reason: reason.clone() }, &Event::Halted { reason }, at)
            }
        }
    }

    /// Judges calls again.
    ///
    /// # Errors
    /// When the store fails.
    pub fn resume(&self, session: Option<&str>, at: Time) -> Result<(), StoreError> {
        match session {
            Some(session) => self.record(session, [Event::Resumed], at),
            None => self.record_shared(Shared::Resumed, &Event::Resumed, at),
        }
    }

    /// Whether a door on the same machine has to look where the paths of a call lead: rules ask for it, or the gate
    /// protects itself.
    pub fn wants_links(&self) -> bool {
        self.policy().has_sandboxes() || self.rulebook.protection.is_some()
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
        at: Time,
    ) -> Result<(), StoreError> {
        let events: Events = events.into_iter().collect();
        let told = self.operated(&events);
        let commit = |_: Stand<'_>| {
            Some(Commit { events: events.clone(), told: told.clone(), at, ..Commit::answering(()) })
        };
        self.commit_with(session, commit).map(|_| ())
    }

    /// Stores what somebody did to all sessions; the trail tells it as it would of one.
    fn record_shared(&self, shared: Shared, event: &Event, at: Time) -> Result<(), StoreError> {
        let told = self.operated([event]);
        let entries = self.entries(None, &[], told, at);
        self.store.commit_shared(&Changes { events: &[], shared: &[shared], entries: &entries })
    }

    fn decide(&self, call: &Call, human: Human) -> Verdict {
        self.decide_unless(call, human, |_| None)
    }

    /// The same, but nothing is judged or stored where `is_left` finds something in the session.
    fn decide_unless(
        &self,
        call: &Call,
        human: Human,
        mut is_left: impl FnMut(&Session) -> Option<()>,
    ) -> Verdict {
        let mut left = false;
        let judged = self.commit_running(&call.session, |stand| {
            left = is_left(stand.session).is_some();
            if left {
                return None;
            }
            let Judgement { verdict, events, shared, wants } = self.judge_or_block(stand, call, human);
            let parent = call.about.parent.as_deref().map(Arc::from);
            let told = self.told(|| trail::decided(call, &verdict, &events));
            Some((Commit { events, shared, told, at: call.at, parent, answer: verdict }, wants))
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

    /// A judgement that panics, in our code or in the author's, is a refusal.
    fn judge_or_block(&self, stand: Stand<'_>, call: &Call, human: Human) -> Judgement {
        catch_unwind(AssertUnwindSafe(|| judge(&self.rulebook, stand, call, human))).unwrap_or_else(|_| {
            let (id, tool) = (call.id.clone(), call.tool.clone());
            let blocked = Event::Blocked { id, tool, at: call.at, remembered: None };
            Judgement { verdict: panicked(), events: vec![blocked], shared: Vec::new(), wants: None }
        })
    }

    /// The same where a decision may want programs to be run first. They run while nobody waits for the session;
    /// then it is opened and judged anew, as it stands by then.
    fn commit_running<T>(
        &self,
        session: &str,
        mut decide: impl FnMut(Stand<'_>) -> Option<(Commit<T>, Option<Wanted>)>,
    ) -> Result<Option<T>, StoreError> {
        let mut ran = Ran::default();
        loop {
            let mut wanted = None;
            let may_run = ran.len() < RUNS_MAX;
            let decided = self.commit_with(session, |stand| {
                let (commit, wants) = decide(Stand { ran: &ran, ..stand })?;
                wanted = wants.filter(|_| may_run);
                wanted.is_none().then_some(commit)
            })?;
            let Some(Wanted { exec, folder }) = wanted else { return Ok(decided) };
            let run = || match &self.runner {
                Some(runner) => runner.run(&exec, folder.as_deref()),
                None => Err("this gate runs no programs".to_owned()),
            };
            let ended = catch_unwind(AssertUnwindSafe(run));
            ran.took(exec.clone(), ended.unwrap_or_else(|_| Err("the program runner panicked".to_owned())));
        }
    }

    /// Opens, decides and commits, as often as another writer was first.
    fn commit_with<T>(
        &self,
        session: &str,
        mut decide: impl FnMut(Stand<'_>) -> Option<Commit<T>>,
    ) -> Result<Option<T>, StoreError> {
        let reach = if self.rulebook.policy.shares() { Reach::Commons } else { Reach::Session };
        for _ in 0..ATTEMPTS_MAX {
            let opened = self.store.open(session, reach)?;
            let begins = self.begins(opened.session());
            let decided = {
                let begun = opened.session().after(&begins);
                decide(Stand { session: &begun, ..stand_of(&*opened) })
            };
            let Some(Commit { mut events, shared, mut told, at, parent, answer }) = decided else {
                return Ok(None);
            };
            if !begins.is_empty() {
                told.splice(..0, self.operated(&begins));
                events.splice(..0, begins);
            }
            let policy = &self.rulebook.policy;
            let tell = |_| records(policy, session, parent.as_deref(), opened.session(), &events);
            let records = self.recorder.as_ref().map(tell).unwrap_or_default();
            let entries = self.entries(Some((session, opened.session())), &events, told, at);
            match opened.commit(&Changes { events: &events, shared: &shared, entries: &entries }) {
                Ok(()) => {
                    self.tell_records(&records);
                    return Ok(Some(answer));
                }
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Conflict)
    }

    /// What the trail is told, where there is one.
    fn told<T>(&self, tell: impl FnOnce() -> T) -> Vec<T> {
        if self.store.keeps_trail() { vec![tell()] } else { Vec::new() }
    }

    fn operated<'e>(&self, events: impl IntoIterator<Item = &'e Event>) -> Vec<What> {
        let policy = &self.rulebook.policy;
        events.into_iter().filter_map(|event| trail::operated(policy, event)).collect()
    }

    /// What the trail says about a commit: first what ran out before it, then what was decided.
    fn entries(
        &self,
        of: Option<(&str, &Session)>,
        events: &[Event],
        told: Vec<What>,
        at: Time,
    ) -> Vec<Entry> {
        if !self.store.keeps_trail() {
            return Vec::new();
        }
        let lapses = of.into_iter().flat_map(|(name, session)| trail::lapses(name, session, events));
        let at = of.map_or(at, |(_, session)| at.max(session.clock())).0;
        let session = of.map(|(name, _)| name.to_owned());
        let policy = Some(self.rulebook.policy.hash().to_string());
        let entry = |what| Entry { at, session: session.clone(), policy: policy.clone(), what };
        lapses.chain(told).map(entry).collect()
    }

    fn read<T>(&self, session: &str, at: Time, look: impl FnOnce(Stand<'_>) -> T) -> Result<T, StoreError> {
        let opened = self.store.open(session, Reach::Look)?;
        let Stand { session, commons, ran } = stand_of(&*opened);
        let begins = self.begins(session);
        let session = &*session.after(&begins);
        let lapsed = lapsed(&self.rulebook, session, at);
        Ok(look(Stand { session: &session.after(&lapsed), commons, ran }))
    }

    fn tell_records(&self, records: &[Record]) {
        if let Some(recorder) = &self.recorder {
            let _ = catch_unwind(AssertUnwindSafe(|| records.iter().for_each(recorder)));
        }
    }

    fn tell(&self, call: &Call, verdict: &Verdict) {
        if let Some(listener) = &self.listener {
            // The verdict is stored and will be told; a listener that panics must not swallow it.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(call, verdict)));
        }
    }
}

/// What a decision stores, and what it answers once that is done.
struct Commit<T> {
    events: Events,
    shared: Vec<Shared>,
    /// What the trail is told about it.
    told: Vec<What>,
    /// When; a session's time never runs backwards.
    at: Time,
    /// The call of the agent that started the one whose call is decided.
    parent: Option<Arc<str>>,
    answer: T,
}

impl<T> Commit<T> {
    /// Nothing is stored.
    fn answering(answer: T) -> Self {
        let (events, shared, told) = (Events::new(), Vec::new(), Vec::new());
        Self { events, shared, told, at: Time(0), parent: None, answer }
    }
}

fn stand_of<'a>(opened: &'a (dyn OpenedSession + 'a)) -> Stand<'a> {
    Stand { session: opened.session(), commons: opened.commons(), ran: Ran::nothing() }
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
        let runs_programs = self.gate.runner.is_some();
        self.gate.rulebook.terms = Terms { runs_programs, ..terms };
        self
    }

    /// Enforces or only observes, for the whole policy.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.gate.rulebook.terms.mode = mode;
        self
    }

    /// The zone of rules that speak of times and name none; the machine's own otherwise.
    #[must_use]
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.around.zone = zone;
        self
    }

    /// The variables that rules look at as `env.NAME`, instead of those of this process.
    #[must_use]
    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.around.variables = variables.into_iter().collect();
        self
    }

    /// Says something about every call that only the host knows; rules look at it as `prefix.…`.
    #[must_use]
    pub fn describe_calls(
        mut self,
        prefix: &str,
        describe: impl Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.around.custom.insert(prefix.to_owned(), Box::new(describe));
        self
    }

    /// Keeps sessions elsewhere than in memory.
    #[must_use]
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.gate.store = Box::new(store);
        self
    }

    /// Refuses what would change Lockgate itself, whatever the rules say and whatever the mode.
    #[must_use]
    pub fn protect(mut self, protection: Protection) -> Self {
        self.gate.rulebook.protection = Some(Arc::new(protection));
        self
    }

    /// Keeps sessions and the audit trail on a shelf that outlives this process.
    #[must_use]
    pub fn shelf(mut self, shelf: impl Shelf + 'static) -> Self {
        self.gate.store = Box::new(Shelved::new(shelf, self.gate.rulebook.policy.clone()));
        self
    }

    /// Tells somebody every verdict, under observe too.
    #[must_use]
    pub fn on_decision(mut self, listener: impl Fn(&Call, &Verdict) + Send + Sync + 'static) -> Self {
        self.gate.listener = Some(Box::new(listener));
        self
    }

    /// Tells somebody what happened, in order, after it was stored.
    #[must_use]
    pub fn on_record(mut self, recorder: impl Fn(&Record) + Send + Sync + 'static) -> Self {
        self.gate.recorder = Some(Box::new(recorder));
        self
    }

    /// Lets conditions of workflows run their programs. Without a runner such a condition never holds.
    #[must_use]
    pub fn runner(mut self, runner: impl Runner + 'static) -> Self {
        self.gate.runner = Some(Box::new(runner));
        self.gate.rulebook.terms.runs_programs = true;
        self
    }

    /// Gives nets and whole files a name of one's own, under which [`Gate::registry`] switches them together. A member
    /// is a net, a file (its path, its name, or its name without the ending), or a name given before.
    #[must_use]
    pub fn name<M: Into<String>>(mut self, name: &str, members: impl IntoIterator<Item = M>) -> Self {
        self.named.push((name.to_owned(), members.into_iter().map(Into::into).collect()));
        self
    }

    /// Which names are active when a session begins. All others that [`GateBuilder::name`] gave are off at first, or,
    /// where it gave none, all other nets; what no name covers is always active. Sessions that began before keep what
    /// they have.
    #[must_use]
    pub fn active<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.active = Some(names.into_iter().map(Into::into).collect());
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
    /// When a hook, a name or what is active names a net that the policy does not have: a hook that never runs must not
    /// look like one.
    pub fn build(mut self) -> Result<Gate, UnknownNet> {
        if let Some(unknown) = self.unknown {
            return Err(unknown);
        }
        let policy = &self.gate.rulebook.policy;
        self.gate.rulebook.names = Arc::new(Names::new(policy, &self.named, self.active.as_deref())?);
        self.gate.rulebook.hooks = Arc::new(self.hooks);
        self.gate.rulebook.around = Arc::new(self.around);
        Ok(self.gate)
    }

    fn find(&mut self, net: &str) -> Option<lockgate_policy::RuleId> {
        let policy = &self.gate.rulebook.policy;
        let found = policy.net_named(net).map(|rule| rule.id);
        if found.is_none() {
            let names: Vec<&str> = policy.nets().iter().map(|rule| rule.name.as_str()).collect();
            self.unknown.get_or_insert(UnknownNet::Hooked { name: net.to_owned(), known: names.join(", ") });
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

/// The settlement when nobody could look at the output.
fn withheld(settlement: Settlement) -> Settlement {
    let reason = panicked().reason;
    let output = Some(suppressed(&reason));
    Settlement { decision: OutputDecision::Block, reason: Some(reason), output, ..settlement }
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
