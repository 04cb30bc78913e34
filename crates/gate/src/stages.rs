//! What workflows say to a call, and what they take in with its verdict.
//!
//! Every workflow is asked as the session stands. A call that something else refuses moves no stage: stages end
//! only by calls that are let pass, and those that ended on the way to a refusal or a question of the workflow's
//! own, because what they asked for was there. Asked or answered by whom is decided in `judge.rs`.

use std::{borrow::Cow, sync::Arc};

use lockgate_call::{Call, ScriptFields, Time};
use lockgate_policy::{
    Decision, RuleId, Workflow,
    workflow::{CallEvidence, Exec, Outcome as Says, Progress, Sight, Step, progress::PendingApproval},
};
use serde_json::Value;

use crate::{
    rulebook::Rulebook,
    state::{Asked, Boundary, Flight, Session, Shows, Stand, Steps},
    verdict::{Obstacle, Verdict},
};

/// A program that has to be run before a call can be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRun {
    /// The program.
    pub exec: Exec,
    /// The folder it runs in, if the session says where it began.
    pub folder: Option<Arc<str>>,
}

/// One workflow with a call before it.
pub(crate) struct Staged<'a> {
    pub(crate) workflow: &'a Workflow,
    /// How the session stands in it, in the edition that is in force.
    progress: Cow<'a, Progress>,
    /// What brought it there.
    met: Vec<Step>,
    /// The stages that end on the way.
    ended: Vec<Step>,
    /// What the workflow says.
    pub(crate) says: Says,
    /// Whether the workflow itself refuses, so that no human can be asked.
    pub(crate) is_unattended: bool,
    summary: String,
    earned: CallEvidence,
}

impl<'a> Staged<'a> {
    /// Asks a workflow about a call. Where no program may be run, conditions that need one do not hold.
    pub(crate) fn consider(
        workflow: &'a Workflow,
        stand: Stand<'a>,
        call: &Call,
        sight: &Sight<'_>,
        observes: bool,
        may_run: bool,
    ) -> Self {
        let (progress, met) = stand_in(workflow, stand.session, call.about.cwd.as_deref());
        let mut ran = Cow::Borrowed(stand.ran);
        let is_trusted = workflow.source.is_trusted();
        let considered = loop {
            let considered = workflow.consider(&progress, sight, &ran);
            match &considered.outcome {
                Says::Runs(exec) if !(may_run && is_trusted) && ran.ended(exec).is_none() => {
                    let why = if is_trusted {
                        "its program was not run: this gate does not run programs"
                    } else {
                        "its program was not run: a human has to run `lockgate trust` first"
                    };
                    ran.to_mut().took(exec.clone(), Err(why.to_owned()));
                }
                _ => break considered,
            }
        };
        let stage = match &considered.outcome {
            Says::Accepted { stage } => stage.clone(),
            // Where rules only observe, a call runs although no stage accepts it.
            _ if observes => progress.after(&considered.steps).active_stage,
            _ => Arc::default(),
        };
        let earned = match stage.is_empty() {
            true => CallEvidence::default(),
            // Whether the stage has begun is seen after the steps that begin it.
            false if considered.steps.is_empty() => workflow.earned(&progress, &stage, sight),
            false => workflow.earned(&progress.after(&considered.steps), &stage, sight),
        };
        let is_blocked = matches!(considered.outcome, Says::Blocked { .. });
        Self {
            workflow,
            progress,
            met,
            ended: considered.steps,
            says: considered.outcome,
            is_unattended: false,
            summary: if is_blocked { sight.summary() } else { String::new() },
            earned,
        }
    }

    /// The program it waits for.
    pub(crate) fn wants(&self) -> Option<WantedRun> {
        match &self.says {
            Says::Runs(exec) => Some(WantedRun { exec: exec.clone(), folder: self.progress.root.clone() }),
            _ => None,
        }
    }

    /// What a workflow takes in with a verdict.
    fn takes(&self, verdict: &Verdict, tool: &Arc<str>, at: Time) -> Vec<Step> {
        let decision = verdict.decision;
        let is_other = |obstacle: &Obstacle| {
            obstacle.decision == Decision::Block && obstacle.rule != Some(self.workflow.id)
        };
        let others_refuse = verdict.obstacles.iter().any(is_other);
        let mut steps = self.met.clone();
        let says = match (&self.says, decision) {
            (Says::Accepted { .. } | Says::Blocked { .. }, Decision::Allow | Decision::Redact) => {
                let is_news =
                    self.progress.blocked_reason.is_some() || self.progress.pending_approval.required;
                let is_accepted = matches!(self.says, Says::Accepted { .. });
                let accepted = (is_news && is_accepted).then_some(Step::Accepted);
                let keys = &self.earned.spoiled;
                let spoiled = (!keys.is_empty()).then(|| Step::Spoiled { keys: keys.clone() });
                accepted.into_iter().chain(spoiled).collect()
            }
            (Says::Asks { stage, message }, _)
                if decision == Decision::Ask || (self.is_unattended && !others_refuse) =>
            {
                vec![Step::Paused { pending: PendingApproval::of(stage, message) }]
            }
            (Says::Blocked { reason, .. }, Decision::Block) => vec![Step::Blocked {
                tool: tool.clone(),
                summary: self.summary.clone(),
                reason: reason.clone(),
                at: at.0,
            }],
            // Something else refuses the call, or asks about it: nothing has happened yet.
            _ => return steps,
        };
        if !others_refuse {
            steps.extend(self.ended.iter().cloned());
        }
        steps.extend(says);
        steps
    }
}

/// What all workflows take in with a verdict.
pub(crate) fn take_in(staged: &[Staged<'_>], verdict: &Verdict, tool: &Arc<str>, at: Time) -> Steps {
    let steps = |staged: &Staged<'_>| {
        let rule = staged.workflow.id;
        staged.takes(verdict, tool, at).into_iter().map(move |step| (rule, step))
    };
    staged.iter().flat_map(steps).collect()
}

/// What a call that is let pass shows when it succeeds.
pub(crate) fn shows(staged: &[Staged<'_>]) -> Vec<Shows> {
    let shows = |staged: &Staged<'_>| Shows {
        rule: staged.workflow.id,
        round: staged.progress.round,
        shown: staged.earned.shown.clone(),
    };
    staged.iter().filter(|staged| !staged.earned.shown.stage.is_empty()).map(shows).collect()
}

/// The ends of stages that a human is asked about.
pub(crate) fn boundaries(staged: &[Staged<'_>]) -> Vec<Boundary> {
    let boundary = |staged: &Staged<'_>| match &staged.says {
        Says::Asks { stage, .. } => {
            Some(Boundary { rule: staged.workflow.id, stage: stage.clone(), round: staged.progress.round })
        }
        _ => None,
    };
    staged.iter().filter_map(boundary).collect()
}

impl Boundary {
    /// Whether no operator has moved the session since it was asked about.
    fn is_of(&self, session: &Session) -> bool {
        session.progress(self.rule).is_some_and(|progress| progress.round == self.round)
    }
}

/// What a grant agrees to: the ends of stages that are still those it was asked about.
pub(crate) fn agreed(session: &Session, asked: &Asked) -> Steps {
    let is_same = |boundary: &&Boundary| {
        let progress = session.progress(boundary.rule);
        boundary.is_of(session) && progress.is_some_and(|it| !it.approvals.contains_key(&boundary.stage))
    };
    let approved = |boundary: &Boundary| (boundary.rule, Step::Approved { stage: boundary.stage.clone() });
    asked.boundaries.iter().filter(is_same).map(approved).collect()
}

/// What a refusal leaves in the workflows that asked.
pub(crate) fn refused(session: &Session, asked: &Asked, reason: &str, tool: &Arc<str>, at: Time) -> Steps {
    let blocked = |boundary: &Boundary| {
        let (tool, summary, reason) =
            (tool.clone(), Sight::of(&asked.call, ScriptFields::Customary).summary(), reason.to_owned());
        (boundary.rule, Step::Blocked { tool, summary, reason, at: at.0 })
    };
    asked.boundaries.iter().filter(|boundary| boundary.is_of(session)).map(blocked).collect()
}

/// What follows from the success of a call.
pub(crate) fn succeed(
    rulebook: &Rulebook,
    session: &Session,
    flight: &Flight,
    output: Option<&Value>,
    at: Time,
) -> Steps {
    let mut steps = Steps::new();
    for Shows { rule, round, shown } in &flight.shows {
        let (Some(workflow), Some(progress)) = (rulebook.policy.workflow(*rule), session.progress(*rule))
        else {
            continue;
        };
        if progress.round == *round {
            steps.extend(workflow.succeed(progress, shown, output, at).into_iter().map(|step| (*rule, step)));
        }
    }
    steps
}

/// How a session stands in a workflow now, and the steps that have brought it there unnoticed.
pub(crate) fn stand_in<'a>(
    workflow: &Workflow,
    session: &'a Session,
    root: Option<&str>,
) -> (Cow<'a, Progress>, Vec<Step>) {
    let known = session.progress(workflow.id);
    let met = workflow.meet(known, root);
    match known {
        Some(known) if met.is_empty() => (Cow::Borrowed(known), met),
        known => (Cow::Owned(known.cloned().unwrap_or_default().after(&met)), met),
    }
}

/// The rules that ask for the end of a stage.
pub(crate) fn asking(asked: &Asked) -> impl Iterator<Item = RuleId> + '_ {
    asked.boundaries.iter().map(|boundary| boundary.rule)
}
