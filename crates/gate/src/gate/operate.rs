//! What the operator of a gate does to sessions: halts, moves, descriptions, a history.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_call::{Call, SeenCall, Time};
use lockgate_policy::{
    Mode, Policy, Workflow,
    workflow::{OperatorMove, Progress, Step, UnknownStage, progress::Why},
};
use serde_json::Map;
use serde_json::Value;

use super::{Commit, Gate, failure::catching};
use crate::{
    audit_log,
    both::Rules,
    human::Human,
    judge::judge,
    record::{Events, Judgement},
    rulebook::Rulebook,
    settle::{Outcome, settle},
    stages::stand_in,
    state::{Counts, Event, SharedEvent, Stand},
    store::{Changes, StoreError},
    terms::Terms,
    user_words::hear_user,
    verdict::Verdict,
};

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

impl Gate {
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
            answer_trust: self.rulebook.answer_trust.clone(),
        };
        let mut verdicts = Vec::with_capacity(history.len());
        for (number, past) in history.iter().enumerate() {
            let id = format!("replay-{number}");
            let call = SeenCall::from(Call {
                session: session.to_owned(),
                id: id.clone(),
                tool: past.tool.clone(),
                input: past.input.clone(),
                at,
                ..Call::default()
            });
            let outcome = Outcome { session: session.to_owned(), id, ok: past.ok, at, ..Outcome::default() };
            let verdict = self.commit_with(session, |_, stand| {
                let Judgement { verdict, mut events, mut shared, .. } =
                    judge(&observing, stand, &call, Human::Absent);
                let after = stand.session.after(&events);
                let settlement = settle(&self.rulebook, Stand { session: &after, ..stand }, &outcome);
                events.extend(settlement.events);
                shared.extend(settlement.shared);
                let told = self.told(|| audit_log::decided(&self.rulebook.policy, &call, &verdict, &events));
                Some(Commit { events, shared, told, at, ..Commit::answering(verdict) })
            })?;
            verdicts.extend(verdict);
        }
        Ok(verdicts)
    }

    /// Takes in what the trusted caller knows about a session; null makes an attribute unknown again. Rules
    /// believe it, so it must never come from the agent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn describe(&self, session: &str, attributes: Map<String, Value>) -> Result<(), StoreError> {
        self.record(session, [Event::Described { attributes }], Time(0))
    }

    /// Takes in what the user said to the agent, for rules that ask where values come from. Only words of the human count: they
    /// must never come from the agent or from a tool.
    ///
    /// # Errors
    /// When the store fails: then the words were not taken in.
    pub fn hear(&self, session: &str, text: &str, at: Time) -> Result<(), StoreError> {
        self.commit_with(session, |rules, stand| {
            let policies: Vec<&Policy> = rules.policies().into_iter().flatten().collect();
            let events = vec![hear_user(&policies, stand.session, text, at)?];
            let at = at.max(stand.session.clock);
            let told = self.operated(&events);
            Some(Commit { events, told, at, ..Commit::answering(()) })
        })?;
        Ok(())
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
            // Under its own name a tool is kept whether a rule counts it or not, for later questions.
            let name = self.rulebook.policy.name(tool);
            let others = self.rulebook.policy.counters(tool).into_iter().filter(|counter| *counter != name);
            for counter in others.chain([name.clone()]) {
                let sum = counted.entry(counter).or_default();
                *sum = sum.saturating_add(*calls);
            }
        }
        let per_tool: Vec<(Arc<str>, u64)> = counted.into_iter().collect();
        let seeded = self.commit_with(session, |_, stand| {
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
        how: OperatorMove,
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
        let moved = self.commit_with(session, |_, stand| {
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

    /// Refuses every call of a session, or without a session every call of all, until [`Gate::resume`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn halt(&self, session: Option<&str>, reason: &str, at: Time) -> Result<(), StoreError> {
        let reason = reason.to_owned();
        match session {
            Some(session) => self.record(session, [Event::Halted { reason }], at),
            None => self.record_shared(
                SharedEvent::Halted { reason: reason.clone() },
                &Event::Halted { reason },
                at,
            ),
        }
    }

    /// Judges calls again.
    ///
    /// # Errors
    /// When the store fails.
    pub fn resume(&self, session: Option<&str>, at: Time) -> Result<(), StoreError> {
        match session {
            Some(session) => self.record(session, [Event::Resumed], at),
            None => self.record_shared(SharedEvent::Resumed, &Event::Resumed, at),
        }
    }

    pub(crate) fn record(
        &self,
        session: &str,
        events: impl IntoIterator<Item = Event>,
        at: Time,
    ) -> Result<(), StoreError> {
        let events: Events = events.into_iter().collect();
        let told = self.operated(&events);
        let commit = |_: Rules<'_>, _: Stand<'_>| {
            Some(Commit { events: events.clone(), told: told.clone(), at, ..Commit::answering(()) })
        };
        self.commit_with(session, commit).map(|_| ())
    }

    /// Stores what was done to all sessions; the audit log records it as for one session.
    fn record_shared(&self, shared: SharedEvent, event: &Event, at: Time) -> Result<(), StoreError> {
        let told = self.operated([event]);
        let entries = self.entries(None, &[], told, at);
        let changes = Changes { shared: &[shared], entries: &entries, ..Changes::default() };
        catching(|| self.store.commit_shared(&changes))
    }
}
