//! One agent's conversation before the gate.

use std::{fmt, sync::Arc};

use lockgate_call::SeenCall;
use lockgate_gate::{
    AnswerError, ApprovalId, Counts, Human, Notes, Past, Registry, StageError, Status, StoreError, Verdict,
};
use lockgate_policy::{
    Decision,
    workflow::{OperatorMove as StageMove, Progress as StageProgress},
};
use serde_json::{Map, Value};

use crate::{
    core::Core,
    permit::Output,
    rule_view::RuleView,
    ruling::{Confirmation, Question, Ruling},
    tool_call::{CallError, ToolCall, ToolResult},
};

/// One agent's conversation: what its rules remember. Sessions of one name are one session, in all processes that share
/// a store.
#[derive(Clone)]
pub struct Session {
    core: Arc<Core>,
    name: Arc<str>,
    human: Human,
    confirm: Option<Arc<Confirmation>>,
}

impl Session {
    pub(crate) fn new(core: Arc<Core>, name: Arc<str>, confirm: Option<Arc<Confirmation>>) -> Self {
        Self { core, name, human: Human::Reachable, confirm }
    }

    /// The name of the session.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same session when no human can be asked: a call that needs one is blocked.
    #[must_use]
    pub fn unattended(mut self) -> Self {
        self.human = Human::Absent;
        self
    }

    /// Judges a call. If the store or Lockgate itself fails, the call is blocked.
    ///
    /// # Errors
    /// When there is nothing to judge: the session or the tool has no name, or the input is not an object.
    pub fn call(&self, tool: &str, input: Value) -> Result<Ruling, CallError> {
        self.request(ToolCall::new(tool, input))
    }

    /// The same for a call with an id, a folder, a sender and so on. A call that comes again while a human is asked about
    /// it gets the same question.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn request(&self, call: ToolCall) -> Result<Ruling, CallError> {
        let call = self.look(call)?;
        let ruling = match self.core.engine.call_unless_asked(&call, self.human) {
            Ok(verdict) => Ruling::of(&self.core, call.into_call(), verdict),
            Err(open) => {
                let (call, mut verdict) = self.core.asked_before(&open, call.into_call());
                if self.human == Human::Absent {
                    // Where no human can be asked, an open question does not help.
                    (verdict.decision, verdict.approval) = (Decision::Block, None);
                }
                Ruling::of(&self.core, call, verdict)
            }
        };
        Ok(match &self.confirm {
            Some(confirm) => ruling.confirmed(&**confirm),
            None => ruling,
        })
    }

    /// What each rule says to a call now, by itself. Nothing is stored and no human is asked; only [`Session::request`]
    /// decides.
    ///
    /// # Errors
    /// When there is nothing to judge, or the store fails.
    pub fn explain(&self, call: ToolCall) -> Result<Vec<RuleView>, ExplainError> {
        let views = self.core.engine.explain(&self.look(call)?)?;
        let policy = self.core.engine.policy();
        Ok(views.iter().map(|view| RuleView::of(view, policy)).collect())
    }

    /// Stores the result of a call whose permit was [detached](crate::Permit::detach).
    ///
    /// # Errors
    /// When the store fails: nothing was stored; settle it again.
    pub fn settle(&self, call_id: &str, result: impl Into<ToolResult>) -> Result<Output, StoreError> {
        self.core.settle(&self.name, call_id, None, result.into())
    }

    /// The session as JSON, to go on with it elsewhere: see [`GateBuilder::restore`](crate::GateBuilder::restore). It holds
    /// the inputs of calls that still run. Keep it where the agent cannot change it.
    ///
    /// # Errors
    /// When the store fails.
    pub fn to_json(&self) -> Result<String, StoreError> {
        let engine = &self.core.engine;
        Ok(engine.session(&self.name)?.to_json(engine.policy()))
    }

    /// Whether another policy is in force than the one that the session is bound to. Then both decide.
    ///
    /// # Errors
    /// When the store fails, or the policy that the session is bound to is not kept any more.
    pub fn is_held(&self) -> Result<bool, StoreError> {
        Ok(self.core.engine.held(&self.name)?.is_some())
    }

    /// Binds the session to the policy in force. For a human who has seen what the change opens, never for the agent.
    ///
    /// # Errors
    /// When the store fails: the session stays as it was.
    pub fn accept_policy(&self, by: &str) -> Result<(), StoreError> {
        self.core.engine.accept_policy(&self.name, by, self.core.clock.now())
    }

    /// Where the session stands: nets, counters, workflows, open questions.
    ///
    /// # Errors
    /// When the store fails.
    pub fn status(&self) -> Result<Status, StoreError> {
        self.core.engine.status(&self.name, self.core.clock.now())
    }

    /// What the model should know now, for a system prompt.
    ///
    /// # Errors
    /// When the store fails.
    pub fn prompt(&self) -> Result<String, StoreError> {
        self.status().map(|status| status.prompt())
    }

    /// Goes on with a question by its name: where another part of the program or another process asked it.
    ///
    /// # Errors
    /// When the question is not open, or the store fails.
    pub fn question(&self, id: &ApprovalId) -> Result<Question, AnswerError> {
        let not_open = || AnswerError::NotOpen(id.to_string());
        if *id.session != *self.name {
            return Err(not_open());
        }
        let asked = self.core.engine.question(id)?.ok_or_else(not_open)?;
        let (call, verdict) = self.core.asked_before(id, asked.call.into_call());
        match verdict.approval {
            Some(_) => Ok(Question::new(self.core.clone(), id.clone(), call, verdict)),
            None => Err(not_open()),
        }
    }

    /// The open questions of the session.
    ///
    /// # Errors
    /// When the store fails.
    pub fn questions(&self) -> Result<Vec<ApprovalId>, StoreError> {
        Ok(self.status()?.approvals.into_iter().map(|approval| approval.approval).collect())
    }

    /// Facts about the session from the host, such as a role. An agent must not be able to set them.
    ///
    /// # Errors
    /// When the store fails.
    pub fn describe(&self, attributes: Map<String, Value>) -> Result<(), StoreError> {
        self.core.engine.describe(&self.name, attributes)
    }

    /// Tells the gate what the user said to the agent, for rules that ask where values come from (`must come from user`). Only
    /// words of the human count: never pass on what the agent or a tool wrote.
    ///
    /// # Errors
    /// When the store fails: the words were not taken in.
    pub fn hear(&self, text: &str) -> Result<(), StoreError> {
        self.core.engine.hear(&self.name, text, self.core.clock.now())
    }

    /// Adds calls that ran before the gate was there.
    ///
    /// # Errors
    /// When the store fails.
    pub fn replay(&self, history: &[Past]) -> Result<Vec<Verdict>, StoreError> {
        self.core.engine.replay(&self.name, history, self.core.clock.now())
    }

    /// Sets the counters of a new session. Returns false if the session has begun already.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seed(&self, counts: Counts, per_tool: &[(String, u64)]) -> Result<bool, StoreError> {
        self.core.engine.seed(&self.name, counts, per_tool)
    }

    /// Blocks every call of this session from now on.
    ///
    /// # Errors
    /// When the store fails.
    pub fn halt(&self, reason: &str) -> Result<(), StoreError> {
        self.core.engine.halt(Some(&self.name), reason, self.core.clock.now())
    }

    /// Ends [`Session::halt`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn resume(&self) -> Result<(), StoreError> {
        self.core.engine.resume(Some(&self.name), self.core.clock.now())
    }

    /// Forgets that sensitive data was seen: what that closed is open again.
    ///
    /// # Errors
    /// When the store fails.
    pub fn untaint(&self) -> Result<(), StoreError> {
        self.core.engine.untaint(&self.name)
    }

    /// Moves a workflow to a stage, forwards or back.
    ///
    /// # Errors
    /// When the workflow or the stage does not exist, or the store fails.
    pub fn move_stage(&self, workflow: &str, how: StageMove, stage: &str) -> Result<(), StageError> {
        self.core.engine.move_stage(&self.name, workflow, how, stage, self.core.clock.now())
    }

    /// Takes over where the session stands in a workflow from elsewhere, by the evidence that it brings.
    ///
    /// # Errors
    /// When the workflow does not exist, or the store fails.
    pub fn import_progress(&self, workflow: &str, progress: &StageProgress) -> Result<(), StageError> {
        self.core.engine.import_progress(&self.name, workflow, progress, self.core.clock.now())
    }

    /// What the validator and the result hook of a net have noted.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notes(&self, net: &str) -> Result<Notes, StoreError> {
        let session = self.core.engine.session(&self.name)?;
        let rule = self.core.engine.policy().net_named(net);
        Ok(rule.and_then(|rule| session.notes(rule.id).cloned()).unwrap_or_default())
    }

    /// Switches rules off and on for this session.
    pub fn registry(&self) -> Registry<'_> {
        self.core.engine.registry(&self.name)
    }

    /// The one look at a call.
    fn look(&self, call: ToolCall) -> Result<SeenCall, CallError> {
        self.core.look(&self.name, call)
    }
}

/// Why a call cannot be explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// There is nothing to judge.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The session cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).finish_non_exhaustive()
    }
}
