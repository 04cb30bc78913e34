//! What a gate stored, in the words of Edictum's audit events.
//!
//! A [`RecordingStore`] keeps sessions in memory and every commit beside them; [`RecordingStore::take`] reads the commits
//! as records. Stages that end by a call come before the call's own record, those that end by its result after it;
//! each record shows the workflows as they were at that point.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lockgate::engine::{
    Call, MemoryStore, Policy, Session, Store, StoreError, Time,
    gate::{
        Answer, Changes, Event, Flight, OpenedSession, Reach, Remembered, SharedState,
        audit_log::{LogEntry, LogEvent},
    },
    policy::{
        RuleId, Workflow,
        workflow::{Progress, Step},
    },
};
use serde_json::{Map, Value, json};

/// Sessions in memory, and what was committed to them.
#[derive(Clone, Default)]
pub struct RecordingStore {
    sessions: Arc<MemoryStore>,
    commits: Arc<Mutex<Vec<Commit>>>,
}

/// One commit, and the session before it.
struct Commit {
    session: String,
    before: Session,
    events: Vec<Event>,
    entries: Vec<LogEntry>,
}

impl RecordingStore {
    /// A store that already holds one session.
    pub fn with_session(id: &str, session: Session) -> Self {
        Self { sessions: Arc::new(MemoryStore::with_session(id, session)), ..Self::default() }
    }

    /// The records of all commits.
    pub fn records(&self, policy: &Policy) -> Vec<Record> {
        self.lock().iter().flat_map(|commit| records(policy, commit)).collect()
    }

    /// The records of all commits since the last time.
    pub fn take(&self, policy: &Policy) -> Vec<Record> {
        let records = self.records(policy);
        self.lock().clear();
        records
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Commit>> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for RecordingStore {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        let opened = self.sessions.open(session, reach)?;
        Ok(Box::new(Recording { store: self, name: session, opened }))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        self.sessions.commit_shared(changes)
    }

    fn keeps_audit_log(&self) -> bool {
        true
    }
}

/// A session opened for one decision.
struct Recording<'a> {
    store: &'a RecordingStore,
    name: &'a str,
    opened: Box<dyn OpenedSession + 'a>,
}

impl OpenedSession for Recording<'_> {
    fn session(&self) -> &Session {
        self.opened.session()
    }

    fn shared_state(&self) -> &SharedState {
        self.opened.shared_state()
    }

    fn commit(self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        let commit = Commit {
            session: self.name.to_owned(),
            before: self.opened.session().clone(),
            events: changes.events.to_vec(),
            entries: changes.entries.to_vec(),
        };
        // Locked before the session is free again, so that commits are kept in their order.
        let mut commits = self.store.lock();
        self.opened.commit(changes)?;
        commits.push(commit);
        Ok(())
    }
}

/// One thing that happened, as an audit event shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What.
    pub action: Action,
    /// In which session.
    pub session: String,
    /// The call of the agent that started this one's agent.
    pub parent: Option<Arc<str>>,
    /// The call it is about; none where an operator did it.
    pub call: Option<String>,
    /// The tool of that call.
    pub tool: Option<String>,
    /// The workflows as they stand then; of a workflow's own record only that one.
    pub workflows: Vec<Value>,
    /// What else was done, one sentence each.
    pub said: Vec<String>,
    /// When.
    pub at: Time,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call was let pass.
    CallAllowed,
    /// A call was refused.
    CallBlocked,
    /// A human is asked about a call.
    CallAsked,
    /// The human agreed.
    ApprovalGranted,
    /// The human did not agree.
    ApprovalBlocked,
    /// No human answered in time.
    ApprovalTimeout,
    /// A call succeeded.
    CallExecuted,
    /// A call failed, or its result never came.
    CallFailed,
    /// A stage ended and the next one began.
    StageAdvanced,
    /// The last stage ended.
    WorkflowCompleted,
    /// An operator or an edited file put a workflow elsewhere.
    StateUpdated,
}

/// As it is written in audit events.
impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CallAllowed => "call_allowed",
            Self::CallBlocked => "call_blocked",
            Self::CallAsked => "call_asked",
            Self::ApprovalGranted => "call_approval_granted",
            Self::ApprovalBlocked => "call_approval_blocked",
            Self::ApprovalTimeout => "call_approval_timeout",
            Self::CallExecuted => "call_executed",
            Self::CallFailed => "call_failed",
            Self::StageAdvanced => "workflow_stage_advanced",
            Self::WorkflowCompleted => "workflow_completed",
            Self::StateUpdated => "workflow_state_updated",
        })
    }
}

/// The records of one commit.
fn records(policy: &Policy, commit: &Commit) -> Vec<Record> {
    let Commit { session: id, before, events, entries } = commit;
    let parent = entries.iter().find_map(|entry| match &entry.what {
        LogEvent::Call { call, .. } => call.parent.as_deref(),
        _ => None,
    });
    let shown = |workflow: &Workflow| Some((workflow.id, before.progress(workflow.id)?.clone()));
    let progress = policy.workflows().iter().filter_map(shown).collect();
    let (records, is_refused, is_timed_out) = (Vec::new(), false, false);
    let mut trail = Trail { policy, id, parent, before, progress, records, is_refused, is_timed_out };
    events.iter().for_each(|event| trail.tell(event));
    trail.records
}

/// A trail being written.
struct Trail<'a> {
    policy: &'a Policy,
    id: &'a str,
    parent: Option<&'a str>,
    before: &'a Session,
    /// The workflows as they stand after what was told.
    progress: BTreeMap<RuleId, Progress>,
    records: Vec<Record>,
    /// Whether a human has just said no: the refusal that follows is theirs.
    is_refused: bool,
    is_timed_out: bool,
}

/// The call a record is about.
#[derive(Clone, Copy)]
struct About<'a> {
    call: Option<&'a str>,
    tool: Option<&'a str>,
    parent: Option<&'a str>,
    at: Time,
}

impl Trail<'_> {
    fn tell(&mut self, event: &Event) {
        match event {
            Event::Allowed { id, at, flight, remembered, .. } => {
                let about = About {
                    call: Some(id),
                    tool: Some(&flight.tool),
                    parent: flight.parent.as_deref(),
                    at: *at,
                };
                self.steps(steps_of(remembered.as_deref()), about);
                self.call(Action::CallAllowed, about);
            }
            Event::Blocked { id, tool, at, remembered } => {
                let about = About { call: Some(id), tool: Some(tool), parent: self.parent, at: *at };
                self.steps(steps_of(remembered.as_deref()), about);
                let action = if std::mem::take(&mut self.is_refused) {
                    Action::ApprovalBlocked
                } else if std::mem::take(&mut self.is_timed_out) {
                    Action::ApprovalTimeout
                } else {
                    Action::CallBlocked
                };
                self.call(action, about);
            }
            Event::Asked { at, asked, remembered, .. } => {
                let about = about_asked(&asked.call, *at);
                self.steps(steps_of(remembered.as_deref()), about);
                self.call(Action::CallAsked, about);
            }
            Event::Closed { at, number, answer, steps, .. } => {
                let Some(asked) = self.before.asked().get(number) else { return };
                let about = about_asked(&asked.call, *at);
                self.parent = asked.call.about.parent.as_deref();
                match answer {
                    // The answer is told as the question stood; what it changes comes after it.
                    Answer::Granted => self.call(Action::ApprovalGranted, about),
                    Answer::Refused => self.is_refused = true,
                    Answer::Nobody => self.is_timed_out = true,
                }
                self.steps(steps, about);
            }
            Event::Expired { at, number, .. } => {
                let Some(asked) = self.before.asked().get(number) else { return };
                self.parent = asked.call.about.parent.as_deref();
                self.call(Action::ApprovalTimeout, about_asked(&asked.call, *at));
            }
            Event::Settled { id, at, ok, remembered, .. } => {
                let flight = flight(self.before, id);
                let about = About {
                    call: Some(id),
                    tool: flight.map(|flight| &*flight.tool),
                    parent: flight.and_then(|flight| flight.parent.as_deref()),
                    at: *at,
                };
                let steps = steps_of(remembered.as_deref());
                let (ends, shown): (Vec<_>, Vec<_>) =
                    steps.iter().cloned().partition(|(_, step)| matches!(step, Step::Completed { .. }));
                self.steps(&shown, about);
                self.call(if *ok { Action::CallExecuted } else { Action::CallFailed }, about);
                self.steps(&ends, about);
            }
            Event::Lapsed { id, at } => {
                let flight = flight(self.before, id);
                let tool = flight.map(|flight| &*flight.tool);
                let parent = flight.and_then(|flight| flight.parent.as_deref());
                self.call(Action::CallFailed, About { call: Some(id), tool, parent, at: *at });
            }
            Event::Moved { at, rule, step } => {
                let about = About { call: None, tool: None, parent: None, at: *at };
                self.steps(&[(*rule, step.clone())], about);
            }
            Event::Stray { .. }
            | Event::Duplicate { .. }
            | Event::Began { .. }
            | Event::Activated { .. }
            | Event::Deactivated { .. }
            | Event::Described { .. }
            | Event::Seeded { .. }
            | Event::Heard { .. }
            | Event::Untainted
            | Event::Halted { .. }
            | Event::Resumed => {}
        }
    }

    fn steps(&mut self, steps: &[(RuleId, Step)], about: About<'_>) {
        for (rule, step) in steps {
            self.progress.entry(*rule).or_default().take(step);
            let (action, from, to, said) = match step {
                Step::Advanced { from, to, .. } => (Action::StageAdvanced, Some(from), Some(to), &[][..]),
                Step::Completed { stage } => (Action::WorkflowCompleted, Some(stage), None, &[][..]),
                Step::Replaced { said, .. } => (Action::StateUpdated, None, None, said.as_slice()),
                _ => continue,
            };
            let Some(workflow) = self.policy.workflow(*rule) else { continue };
            let mut snapshot = self.snapshot(workflow);
            for (key, stage) in [("stage_id", from), ("to_stage_id", to)] {
                if let Some(stage) = stage {
                    snapshot.insert(key.to_owned(), Value::from(&**stage));
                }
            }
            self.push(action, vec![Value::Object(snapshot)], said.to_vec(), about);
        }
    }

    fn call(&mut self, action: Action, about: About<'_>) {
        let workflows = self.policy.workflows().iter();
        let snapshots = workflows.map(|workflow| Value::Object(self.snapshot(workflow))).collect();
        self.push(action, snapshots, Vec::new(), about);
    }

    fn push(&mut self, action: Action, workflows: Vec<Value>, said: Vec<String>, about: About<'_>) {
        self.records.push(Record {
            action,
            session: self.id.to_owned(),
            parent: about.parent.map(Arc::from),
            call: about.call.map(ToOwned::to_owned),
            tool: about.tool.map(ToOwned::to_owned),
            workflows,
            said,
            at: about.at,
        });
    }

    fn snapshot(&self, workflow: &Workflow) -> Map<String, Value> {
        snapshot(workflow, self.progress.get(&workflow.id))
    }
}

/// A workflow as it stands, in the documented form; none for a session that has not met it.
fn snapshot(workflow: &Workflow, progress: Option<&Progress>) -> Map<String, Value> {
    let fresh = || Progress::default().after(&workflow.meet(None, None));
    let progress = progress.cloned().unwrap_or_else(fresh);
    let mut snapshot = Map::new();
    snapshot.insert("name".to_owned(), Value::from(workflow.name.as_str()));
    if let Some(version) = &workflow.version {
        snapshot.insert("version".to_owned(), Value::from(version.as_str()));
    }
    let Value::Object(progress) = json!(progress) else { return snapshot };
    let shown = [
        "active_stage",
        "completed_stages",
        "blocked_reason",
        "pending_approval",
        "last_blocked_action",
        "last_recorded_evidence",
    ];
    let is_shown = |(key, _): &(String, Value)| shown.contains(&key.as_str());
    snapshot.extend(progress.into_iter().filter(is_shown));
    snapshot
}

fn flight<'a>(session: &'a Session, id: &str) -> Option<&'a Flight> {
    session.flights().find(|(name, _)| &***name == id).map(|(_, flight)| flight)
}

fn steps_of(remembered: Option<&Remembered>) -> &[(RuleId, Step)] {
    remembered.map(|remembered| remembered.steps.as_slice()).unwrap_or_default()
}

fn about_asked(call: &Call, at: Time) -> About<'_> {
    let parent = call.about.parent.as_deref();
    About { call: Some(&call.id), tool: Some(&call.tool), parent, at }
}
