//! How a session moves through a workflow.
//!
//! [`Workflow::consider`] says what a workflow thinks of a call and which stages it would move on from, by the one
//! algorithm that all conformance cases of the format agree with. It is pure: what a condition's program came to
//! is handed in, and what still has to be run is an answer of its own. A call that is only possible evidence opens
//! nothing; one that may be forbidden is.

mod adopt;
mod evidence;
mod outcome;
mod refusal;
mod standing;

use std::sync::Arc;

use refusal::{NOT_ALLOWED, Refusal, blocked};
use standing::{PendingProgram, Position, all_hold};

use super::{
    Check, Condition, Ran, Requirement, Stage, Workflow,
    progress::{PendingApproval, Progress, Step, Why},
    sight::Sight,
};

pub use outcome::{Assessment, CallEvidence, OperatorMove, Outcome, UnknownStage};

/// Said of every call after the end, as documented.
const COMPLETE: &str = "workflow complete — no further tool calls are accepted";

impl Workflow {
    /// Where a session stands before its first call, and after the file was edited: the steps that bring it here.
    pub fn meet(&self, progress: Option<&Progress>, root: Option<&str>) -> Vec<Step> {
        match progress {
            None => self.start(root).into_iter().collect(),
            Some(progress) if progress.is_unmet() => self.start(root).into_iter().collect(),
            Some(progress) if progress.fingerprint == self.fingerprint => Vec::new(),
            Some(progress) => vec![self.adopt(progress, Why::Edited)],
        }
    }

    fn start(&self, root: Option<&str>) -> Option<Step> {
        let first = self.stages.first()?;
        let (stage, fingerprint) = (first.id.clone(), self.fingerprint.clone());
        Some(Step::Started { stage, fingerprint, root: root.map(Arc::from) })
    }

    /// What the workflow makes of a call, as the session stands.
    pub fn consider(&self, progress: &Progress, sight: &Sight<'_>, ran: &Ran) -> Assessment {
        let mut steps = Vec::new();
        let outcome = self
            .move_on(Position::of(progress), sight, ran, &mut steps)
            .unwrap_or_else(|PendingProgram(exec)| Outcome::Runs(exec));
        Assessment { steps, outcome }
    }

    fn move_on(
        &self,
        mut standing: Position<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
        steps: &mut Vec<Step>,
    ) -> Result<Outcome, PendingProgram> {
        // Every turn ends a stage, so there are no more turns than stages.
        for _ in 0..=self.stages.len() {
            if standing.active.is_empty() {
                return Ok(blocked(&standing.active, COMPLETE));
            }
            let Some((at, stage)) = self.find(&standing.active) else {
                let reason = format!("workflow `{}` has no stage `{}`", self.name, standing.active);
                return Ok(blocked(&standing.active, &reason));
            };
            if stage.is_terminal && !stage.asks_programs() && all_hold(&stage.exit, &standing, ran)?.is_ok() {
                return Ok(blocked(&stage.id, COMPLETE));
            }
            if at == 0 && !standing.progress.is_placed {
                if let Err(missing) = all_hold(&stage.entry, &standing, ran)? {
                    return Ok(before_the_first(stage, missing, standing.progress, sight, ran));
                }
                // Like every other stage it is entered once: its programs are not run again for each call.
                if stage.entry.iter().any(Requirement::is_exec) {
                    steps.push(Step::Begun);
                }
            }
            let next = self.stages.get(at + 1);
            let Some(why) = stage.refusal(sight) else {
                return Ok(Outcome::Accepted { stage: stage.id.clone() });
            };
            if next.is_none()
                && stage.has_end()
                && let Some(outcome) = at_the_end(stage, &why, &standing, ran, steps)?
            {
                return Ok(outcome);
            }
            if next.is_none() && !matches!(why, Refusal::Boundary) {
                return Ok(why.says(stage));
            }
            if let Refusal::Check(Check { forbids: true, .. }) = why
                && !self.is_claimed(at, &standing, sight, ran)?
            {
                return Ok(why.says(stage));
            }
            // No program is run and no human is asked for a call that no later stage would take.
            let is_wanted = self.is_wanted_after(at, sight);
            let ended = standing.ending(stage);
            let left = all_hold(&stage.exit, &standing, ran);
            let entered = || next.map_or(Ok(Ok(())), |next| all_hold(&next.entry, &ended, ran));
            if !is_wanted && (left.is_err() || entered().is_err()) {
                return Ok(why.says(stage));
            }
            if let Err(missing) = left? {
                return Ok(missing.unmet(&stage.id, ran));
            }
            if let Some(message) = &stage.approval
                && !standing.progress.approvals.contains_key(&stage.id)
            {
                if !is_wanted {
                    return Ok(why.says(stage));
                }
                return Ok(Outcome::Asks { stage: stage.id.clone(), message: message.clone() });
            }
            let Some(next) = next else {
                steps.push(Step::Completed { stage: stage.id.clone() });
                return Ok(Outcome::Accepted { stage: Arc::default() });
            };
            if let Err(missing) = entered()? {
                return Ok(missing.unmet(&next.id, ran));
            }
            if !self.may_leave(at, &why, &standing, sight, ran)? {
                return Ok(why.says(stage));
            }
            let step = Step::Advanced {
                from: stage.id.clone(),
                to: next.id.clone(),
                pending: next.question_on_arrival(standing.progress),
            };
            standing = Position { active: next.id.clone(), ..ended };
            steps.push(step);
        }
        Ok(blocked(&standing.active, NOT_ALLOWED))
    }

    /// Whether some later stage would take a call, or the end comes next.
    fn is_wanted_after(&self, at: usize, sight: &Sight<'_>) -> bool {
        let mut later = self.stages.iter().skip(at + 1).peekable();
        later.peek().is_none() || later.any(|stage| stage.is_terminal || stage.refusal(sight).is_none())
    }

    /// Whether the next stage is there for just this call: it says which commands it is for, and this is one.
    fn is_claimed(
        &self,
        at: usize,
        standing: &Position<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<bool, PendingProgram> {
        let (Some(stage), Some(next)) = (self.stages.get(at), self.stages.get(at + 1)) else {
            return Ok(false);
        };
        let claims = next.checks.iter().any(|check| !check.forbids);
        let may_end = stage.approval.is_none() || standing.progress.approvals.contains_key(&stage.id);
        Ok(claims
            && may_end
            && next.refusal(sight).is_none()
            && all_hold(&stage.exit, standing, ran)?.is_ok()
            && all_hold(&next.entry, &standing.ending(stage), ran)?.is_ok())
    }

    /// Whether a call may end a stage that does not accept it.
    fn may_leave(
        &self,
        at: usize,
        why: &Refusal<'_>,
        standing: &Position<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<bool, PendingProgram> {
        let Some(stage) = self.stages.get(at) else { return Ok(false) };
        Ok(match why {
            Refusal::Boundary => true,
            // A stage whose end nothing marks ends only by work that belongs to a later one; and where many tools
            // are open in it, a new beginning looks the same as a mistake.
            _ if !stage.has_end() => self
                .begins(at, standing, sight, ran)?
                .is_some_and(|target| target.is_terminal || !stage.has_wildcard()),
            Refusal::Check(Check { forbids: false, .. }) => self.begins(at, standing, sight, ran)?.is_some(),
            Refusal::Tool | Refusal::Check(_) => true,
        })
    }

    /// The stage that this call would begin: the next one that is not a boundary and accepts it.
    fn begins(
        &self,
        at: usize,
        standing: &Position<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<Option<&Stage>, PendingProgram> {
        let mut ended = standing.clone();
        for (stage, next) in self.stages.iter().zip(self.stages.iter().skip(1)).skip(at) {
            // By the time a line is crossed, a human has agreed to it.
            ended = ended.ending(stage);
            ended.agreed.extend(stage.is_boundary().then(|| stage.id.clone()));
            if all_hold(&next.entry, &ended, ran)?.is_err() {
                return Ok(None);
            }
            if !next.is_boundary() {
                let is_begun = next.is_terminal || next.refusal(sight).is_none();
                return Ok(is_begun.then_some(next));
            }
        }
        Ok(None)
    }

    /// Every requirement, with the stage it belongs to.
    pub fn requirements(&self) -> impl Iterator<Item = (&Stage, &Requirement)> {
        self.stages.iter().flat_map(|stage| {
            stage.entry.iter().chain(&stage.exit).map(move |requirement| (stage, requirement))
        })
    }

    /// The stage of this name, and its index.
    pub fn find(&self, stage: &str) -> Option<(usize, &Stage)> {
        self.stages.iter().enumerate().find(|(_, it)| *it.id == *stage)
    }
}

/// The first stage has not begun: only what its entry asks for may happen.
fn before_the_first(
    stage: &Stage,
    missing: &Requirement,
    progress: &Progress,
    sight: &Sight<'_>,
    ran: &Ran,
) -> Outcome {
    let gives = |requirement: &Requirement| match &requirement.condition {
        Condition::FileRead(path) => sight.only_reads(path, progress.root.as_deref()),
        Condition::ResultMatches { tool, .. } => sight.tool() == tool,
        Condition::CommandMatches(pattern) => sight.proves(pattern) && stage.refusal(sight).is_none(),
        Condition::StageComplete(_)
        | Condition::Approval(_)
        | Condition::CommandNotMatches(_)
        | Condition::Exec(_) => false,
    };
    let is_open = |requirement: &&Requirement| !progress.evidence.met.contains(&requirement.key);
    if stage.entry.iter().filter(is_open).any(gives) {
        return Outcome::Accepted { stage: stage.id.clone() };
    }
    missing.unmet(&stage.id, ran)
}

/// What becomes of the last stage by a call that it does not accept; none if it goes on.
///
/// Programs are run only after work in the stage, and then once: while nothing new has been shown they would say
/// the same. Nor are they run for a call that a check forbids.
fn at_the_end(
    stage: &Stage,
    why: &Refusal<'_>,
    standing: &Position<'_>,
    ran: &Ran,
    steps: &mut Vec<Step>,
) -> Result<Option<Outcome>, PendingProgram> {
    let asks = stage.asks_programs();
    let may_be_over = match why {
        Refusal::Boundary | Refusal::Check(Check { forbids: true, .. }) => false,
        _ if asks => standing.progress.has_worked,
        Refusal::Tool => stage.approval.is_some() && !stage.is_terminal,
        Refusal::Check(_) => false,
    };
    if !may_be_over {
        return Ok(None);
    }
    if all_hold(&stage.exit, standing, ran)?.is_err() {
        steps.extend((asks && !ran.is_empty()).then_some(Step::Unready));
        return Ok(None);
    }
    if let Some(message) = &stage.approval
        && !stage.is_terminal
        && !standing.progress.approvals.contains_key(&stage.id)
    {
        return Ok(Some(Outcome::Asks { stage: stage.id.clone(), message: message.clone() }));
    }
    steps.push(Step::Completed { stage: stage.id.clone() });
    Ok(Some(blocked(&Arc::default(), COMPLETE)))
}

impl Stage {
    /// Whether a program decides about its end.
    pub fn asks_programs(&self) -> bool {
        self.exit.iter().any(Requirement::is_exec)
    }

    /// The question at its end, while no human has agreed.
    fn question(&self, progress: &Progress) -> PendingApproval {
        match &self.approval {
            Some(message) if !progress.approvals.contains_key(&self.id) => {
                PendingApproval::of(&self.id, message)
            }
            _ => PendingApproval::default(),
        }
    }

    /// The question that is open as soon as a session comes here: that of a stage in which nothing else happens.
    fn question_on_arrival(&self, progress: &Progress) -> PendingApproval {
        if self.is_boundary() && self.exit.is_empty() {
            self.question(progress)
        } else {
            PendingApproval::default()
        }
    }
}
