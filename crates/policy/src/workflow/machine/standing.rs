//! Whether requirements hold where a session stands, and what is said while they do not.

use std::sync::Arc;

use super::outcome::Outcome;
use crate::workflow::{Condition, Exec, Ran, Requirement, Stage, progress::Progress};

/// A condition's program has to be run before anything can be said.
pub(super) struct PendingProgram(pub(super) Exec);

/// Where a session stands while a call is considered: its progress, and the stages that end on the way.
#[derive(Clone)]
pub(super) struct Position<'a> {
    pub(super) progress: &'a Progress,
    pub(super) active: Arc<str>,
    pub(super) ended: Vec<Arc<str>>,
    /// Stages whose end a human will have agreed to.
    pub(super) agreed: Vec<Arc<str>>,
}

impl<'a> Position<'a> {
    pub(super) fn of(progress: &'a Progress) -> Self {
        Self { progress, active: progress.active_stage.clone(), ended: Vec::new(), agreed: Vec::new() }
    }

    /// The same as if a stage had ended.
    pub(super) fn ending(&self, stage: &Stage) -> Self {
        let mut ended = self.clone();
        ended.ended.push(stage.id.clone());
        ended
    }

    fn has_completed(&self, stage: &Arc<str>) -> bool {
        self.progress.completed_stages.contains(stage) || self.ended.contains(stage)
    }
}

/// Whether all requirements of a list hold; otherwise the first that does not.
type RequirementCheck<'a> = Result<Result<(), &'a Requirement>, PendingProgram>;

pub(super) fn all_hold<'a>(
    requirements: &'a [Requirement],
    standing: &Position<'_>,
    ran: &Ran,
) -> RequirementCheck<'a> {
    for requirement in requirements {
        if !requirement.holds(standing, ran)? {
            return Ok(Err(requirement));
        }
    }
    Ok(Ok(()))
}

impl Requirement {
    /// Whether a program has to be run to know it.
    pub(super) fn is_exec(&self) -> bool {
        matches!(self.condition, Condition::Exec(_))
    }

    /// Whether it holds, as far as that is known.
    pub(in crate::workflow) fn is_met(&self, progress: &Progress, ran: &Ran) -> bool {
        matches!(self.holds(&Position::of(progress), ran), Ok(true))
    }

    fn holds(&self, standing: &Position<'_>, ran: &Ran) -> Result<bool, PendingProgram> {
        let Progress { evidence, approvals, .. } = standing.progress;
        Ok(match &self.condition {
            Condition::StageComplete(stage) => standing.has_completed(stage),
            Condition::Approval(stage) => approvals.contains_key(stage) || standing.agreed.contains(stage),
            Condition::FileRead(_) | Condition::CommandMatches(_) | Condition::ResultMatches { .. } => {
                evidence.met.contains(&self.key)
            }
            Condition::CommandNotMatches(_) => !evidence.spoiled.contains(&self.key),
            Condition::Exec(exec) => match ran.ended(exec) {
                Some(ended) => *ended == Ok(exec.exit_code),
                None => return Err(PendingProgram(exec.clone())),
            },
        })
    }

    /// What is said while it does not hold. Where only a human's answer is missing, that is asked for.
    pub(super) fn unmet(&self, stage: &Arc<str>, ran: &Ran) -> Outcome {
        let own = || format!("stage `{stage}` waits for {}", self.text);
        let mut reason = self.message.clone().unwrap_or_else(own);
        match &self.condition {
            Condition::Approval(stage) => return Outcome::Asks { stage: stage.clone(), message: reason },
            Condition::Exec(exec) => {
                if let Some(Err(why)) = ran.ended(exec) {
                    reason = format!("{reason} ({why})");
                }
            }
            _ => {}
        }
        Outcome::Blocked { stage: stage.clone(), reason, missing: Some(self.text.clone()) }
    }
}
