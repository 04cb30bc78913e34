//! How a session moves through a workflow.
//!
//! [`Workflow::consider`] says what a workflow thinks of a call and which stages it would move on from, by the one
//! algorithm that all conformance cases of the format agree with. It is pure: what a condition's program came to
//! is handed in, and what still has to be run is an answer of its own. A call that is only possible evidence opens
//! nothing; one that may be forbidden is.

use std::sync::Arc;

use lockgate_call::Time;
use serde_json::{Map, Value};

use super::{
    Check, Condition, Exec, Ran, Requirement, Stage, Workflow,
    progress::{PendingApproval, Progress, Shown, Step, Why},
    sight::{Sight, field_text, result_object},
};

/// Said of a call whose tool is not open in the active stage, as documented.
const NOT_ALLOWED: &str = "Tool is not allowed in this workflow stage";

/// Said of every call after the end, as documented.
const COMPLETE: &str = "workflow complete — no further tool calls are accepted";

/// What a workflow makes of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// What happens on the way: stages that end whatever becomes of the call.
    pub steps: Vec<Step>,
    /// What it says.
    pub outcome: Outcome,
}

/// What a workflow says to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The call belongs to a stage.
    Accepted {
        /// That stage; empty for the call that crosses the last line.
        stage: Arc<str>,
    },
    /// The call is refused.
    Blocked {
        /// The stage that refuses it, or that it cannot enter.
        stage: Arc<str>,
        /// Why.
        reason: String,
        /// What would help: the condition that does not hold.
        missing: Option<Arc<str>>,
    },
    /// A human has to agree to the end of a stage first.
    Asks {
        /// The stage.
        stage: Arc<str>,
        /// What is asked.
        message: String,
    },
    /// A program of a condition has to be run first.
    Runs(Exec),
}

/// What a call would show if it succeeded, and what it breaks by being let pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earned {
    /// What a success shows.
    pub shown: Shown,
    /// The keys of conditions that are broken at once.
    pub spoiled: Vec<Arc<str>>,
}

/// How an operator moves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Back to a stage: what was shown and agreed to from there on is forgotten.
    Reset,
    /// To a stage, with all that was shown.
    Set,
}

/// A workflow has no stage of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow `{workflow}` has no stage `{stage}`; it has: {known}")]
pub struct UnknownStage {
    workflow: String,
    stage: String,
    known: String,
}

/// Why a stage does not accept a call.
enum Refusal<'a> {
    /// It accepts none.
    Boundary,
    Tool,
    Check(&'a Check),
}

/// A condition's program has to be run before anything can be said.
struct Needs(Exec);

/// Where a session stands while a call is considered: its progress, and the stages that end on the way.
#[derive(Clone)]
struct Standing<'a> {
    progress: &'a Progress,
    active: Arc<str>,
    ended: Vec<Arc<str>>,
    /// Stages whose end a human will have agreed to.
    agreed: Vec<Arc<str>>,
}

/// Whether all requirements of a list hold; otherwise the first that does not.
type Met<'a> = Result<Result<(), &'a Requirement>, Needs>;

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
    pub fn consider(&self, progress: &Progress, sight: &Sight<'_>, ran: &Ran) -> Considered {
        let mut steps = Vec::new();
        let outcome = self
            .move_on(Standing::of(progress), sight, ran, &mut steps)
            .unwrap_or_else(|Needs(exec)| Outcome::Runs(exec));
        Considered { steps, outcome }
    }

    fn move_on(
        &self,
        mut standing: Standing<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
        steps: &mut Vec<Step>,
    ) -> Result<Outcome, Needs> {
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
            // No program is run and nobody asked for a call that no later stage would take.
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
            standing = Standing { active: next.id.clone(), ..ended };
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
        standing: &Standing<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<bool, Needs> {
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
        standing: &Standing<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<bool, Needs> {
        let Some(stage) = self.stages.get(at) else { return Ok(false) };
        Ok(match why {
            Refusal::Boundary => true,
            // A stage whose end nothing marks ends only by work that belongs to a later one; and where many tools
            // are open in it, nobody can tell a new beginning from a mistake.
            _ if !stage.has_end() => self
                .begins(at, standing, sight, ran)?
                .is_some_and(|target| target.is_terminal || !stage.has_wildcard()),
            Refusal::Check(Check { forbids: false, .. }) => self.begins(at, standing, sight, ran)?.is_some(),
            Refusal::Tool | Refusal::Check(_) => true,
        })
    }

    /// The stage that this call would begin: the next one that is no mere line and accepts it.
    fn begins(
        &self,
        at: usize,
        standing: &Standing<'_>,
        sight: &Sight<'_>,
        ran: &Ran,
    ) -> Result<Option<&Stage>, Needs> {
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

    /// What a call that was let pass in a stage would show, and what it breaks.
    pub fn earned(&self, progress: &Progress, stage: &str, sight: &Sight<'_>) -> Earned {
        let root = progress.root.as_deref();
        let mut shown = Shown {
            is_entry: self.is_before(progress, stage),
            tool: Arc::from(sight.tool()),
            summary: sight.summary(),
            stage: Arc::from(stage),
            reads: sight.reads(root),
            commands: sight.commands(),
            ..Shown::default()
        };
        let mut spoiled = Vec::new();
        for (of, requirement) in self.requirements() {
            let is_here = *of.id == *stage;
            match &requirement.condition {
                Condition::FileRead(path) if sight.has_read(path, root) => {
                    shown.met.push(requirement.key.clone());
                }
                Condition::CommandMatches(pattern) if is_here && sight.proves(pattern) => {
                    shown.met.push(requirement.key.clone());
                }
                Condition::CommandNotMatches(pattern) if is_here && sight.may_match(pattern) => {
                    spoiled.push(requirement.key.clone());
                }
                _ => {}
            }
        }
        Earned { shown, spoiled }
    }

    /// Whether a stage is the first one and has not begun: then its calls only give what its entry asks for.
    fn is_before(&self, progress: &Progress, stage: &str) -> bool {
        let first = self.stages.first().filter(|first| *first.id == *stage && !progress.is_placed);
        let is_missing = |requirement: &Requirement| !requirement.is_met(progress, Ran::nothing());
        first.is_some_and(|first| first.entry.iter().any(is_missing))
    }

    /// Whether some condition asks about the results of a tool.
    pub fn asks_about_results_of(&self, tool: &str) -> bool {
        let asks = |requirement: &Requirement| matches!(&requirement.condition, Condition::ResultMatches { tool: asked, .. } if asked == tool);
        self.requirements().any(|(_, requirement)| asks(requirement))
    }

    /// What follows from the success of a call that would have shown something.
    pub fn succeed(&self, progress: &Progress, shown: &Shown, output: Option<&Value>, at: Time) -> Vec<Step> {
        let is_work = !shown.is_entry && shown.stage == progress.active_stage;
        let mut shown = shown.clone();
        if self.asks_about_results_of(&shown.tool) {
            shown.result = output.and_then(result_object);
        }
        if let Some(result) = &shown.result {
            shown.met.extend(self.met_by_result(&shown.tool, result));
        }
        let mut steps = Vec::new();
        if !shown.is_nothing() {
            steps.push(Step::Recorded { shown, at: at.0 });
        }
        let is_last = self.stages.last().is_some_and(|last| last.id == progress.active_stage);
        if is_last {
            let ended = self.ends_by(&progress.after(&steps));
            // What a program says can only be asked before another call.
            let waits = || self.stages.last().is_some_and(Stage::asks_programs);
            let is_news = is_work && !progress.has_worked;
            let worked = (ended.is_none() && is_news && waits()).then_some(Step::Worked);
            steps.extend(ended.or(worked));
        }
        steps
    }

    fn met_by_result<'a>(
        &'a self,
        of: &'a str,
        result: &'a Map<String, Value>,
    ) -> impl Iterator<Item = Arc<str>> + 'a {
        self.requirements().filter_map(move |(_, requirement)| match &requirement.condition {
            Condition::ResultMatches { tool, field, value } if tool == of => {
                let is_equal = result.get(field).is_some_and(|found| field_text(found, value));
                is_equal.then(|| requirement.key.clone())
            }
            _ => None,
        })
    }

    /// The end of the workflow, once nothing is missing in its last stage any more.
    fn ends_by(&self, progress: &Progress) -> Option<Step> {
        let last = self.stages.last().filter(|last| last.id == progress.active_stage && !last.is_terminal)?;
        let agreed = last.approval.is_none() || progress.approvals.contains_key(&last.id);
        let is_met = matches!(all_hold(&last.exit, &Standing::of(progress), &Ran::default()), Ok(Ok(())));
        (last.has_end() && agreed && is_met).then(|| Step::Completed { stage: last.id.clone() })
    }

    /// An operator moves a session.
    ///
    /// # Errors
    /// When there is no such stage.
    pub fn moved(&self, progress: &Progress, how: Moved, stage: &str) -> Result<Step, UnknownStage> {
        let Some((at, stage)) = self.find(stage) else {
            let known: Vec<&str> = self.stages.iter().map(|stage| &*stage.id).collect();
            let (workflow, stage) = (self.name.clone(), stage.to_owned());
            return Err(UnknownStage { workflow, stage, known: known.join(", ") });
        };
        let mut moved = progress.clone();
        moved.active_stage = stage.id.clone();
        moved.completed_stages = self.stages.iter().take(at).map(|stage| stage.id.clone()).collect();
        moved.blocked_reason = None;
        moved.last_blocked_action = None;
        moved.is_placed = false;
        moved.has_worked = false;
        moved.pending_approval = PendingApproval::default();
        moved.round += 1;
        let why = match how {
            Moved::Reset => {
                moved.last_recorded_evidence = None;
                self.forget_from(at, &mut moved);
                Why::Reset
            }
            Moved::Set => {
                moved.is_placed = true;
                moved.pending_approval = stage.question(&moved);
                Why::Set
            }
        };
        Ok(Step::Replaced { why, progress: Box::new(moved), said: Vec::new() })
    }

    /// Forgets what was agreed to and shown in a stage and all later ones.
    fn forget_from(&self, at: usize, progress: &mut Progress) {
        let later = self.stages.iter().skip(at);
        let evidence = &mut progress.evidence;
        for stage in later.clone() {
            progress.approvals.remove(&stage.id);
            evidence.stage_calls.remove(&stage.id);
        }
        if at == 0 {
            evidence.reads.clear();
            evidence.mcp_results.clear();
        } else {
            let is_theirs = |tool: &Arc<str>| later.clone().any(|stage| stage.opens(tool));
            evidence.mcp_results.retain(|tool, _| !is_theirs(tool));
        }
        for (of, requirement) in self.requirements() {
            let is_later = later.clone().any(|stage| stage.id == of.id);
            let is_forgotten = match &requirement.condition {
                Condition::CommandMatches(_) | Condition::CommandNotMatches(_) => is_later,
                Condition::FileRead(_) => at == 0,
                Condition::ResultMatches { tool, .. } => !evidence.mcp_results.contains_key(tool.as_str()),
                Condition::StageComplete(_) | Condition::Approval(_) | Condition::Exec(_) => false,
            };
            if is_forgotten {
                evidence.met.remove(&requirement.key);
                evidence.spoiled.remove(&requirement.key);
            }
        }
    }

    /// Takes over a progress that was learnt under another edition, or elsewhere: stages are found again by their
    /// ids, conditions are weighed anew by the evidence that was kept. What cannot be told any more opens nothing.
    pub fn adopt(&self, progress: &Progress, why: Why) -> Step {
        let mut adopted = progress.clone();
        let mut said = Vec::new();
        let is_known = |stage: &Arc<str>| self.find(stage).is_some();
        for stage in progress.completed_stages.iter().filter(|stage| !is_known(stage)) {
            said.push(format!("stage `{stage}` is gone; that it was completed no longer counts"));
        }
        adopted.completed_stages.retain(is_known);
        adopted.approvals.retain(|stage, _| is_known(stage));
        if !progress.is_finished() && !is_known(&progress.active_stage) {
            let is_done = |stage: &&Stage| adopted.completed_stages.contains(&stage.id);
            let first_open = self.stages.iter().find(|stage| !is_done(stage)).or(self.stages.last());
            if let Some(stage) = first_open {
                said.push(format!(
                    "stage `{}` is gone; the session stands in `{}`, the first that is not completed",
                    progress.active_stage, stage.id
                ));
                adopted.active_stage = stage.id.clone();
            }
        }
        if !adopted.is_finished()
            && let Some((at, _)) = self.find(&adopted.active_stage)
        {
            for stage in self.stages.iter().take(at).filter(|it| !adopted.completed_stages.contains(&it.id)) {
                said.push(format!(
                    "stage `{}` is new before `{}`, where the session already stands; it is not entered",
                    stage.id, adopted.active_stage
                ));
            }
        }
        if adopted.fingerprint != self.fingerprint {
            self.weigh(&mut adopted, &mut said);
            adopted.fingerprint = self.fingerprint.clone();
        }
        adopted.pending_approval = self
            .find(&adopted.active_stage)
            .map(|(_, stage)| stage.question_on_arrival(&adopted))
            .unwrap_or_default();
        adopted.round += 1;
        Step::Replaced { why, progress: Box::new(adopted), said }
    }

    /// Weighs every condition anew by the evidence that was kept.
    fn weigh(&self, progress: &mut Progress, said: &mut Vec<String>) {
        let root = progress.root.clone();
        let known = (progress.evidence.met.clone(), progress.evidence.spoiled.clone());
        for (stage, requirement) in self.requirements() {
            let key = &requirement.key;
            if known.0.contains(key) || known.1.contains(key) {
                continue;
            }
            let evidence = &progress.evidence;
            let calls = evidence.stage_calls.get(&stage.id).map(Vec::as_slice).unwrap_or_default();
            let (is_met, is_spoiled) = match &requirement.condition {
                Condition::FileRead(path) => (
                    evidence.reads.iter().any(|read| super::sight::is_same_file(read, path, root.as_deref())),
                    false,
                ),
                Condition::CommandMatches(pattern) => {
                    (calls.iter().any(|text| Sight::of_text(text, |sight| sight.proves(pattern))), false)
                }
                Condition::CommandNotMatches(pattern) => {
                    let may_match = |text: &Arc<str>| {
                        super::sight::is_folded(text)
                            || Sight::of_text(text, |sight| sight.may_match(pattern))
                    };
                    // Of what was folded away nobody can tell any more.
                    (false, evidence.folded > 0 || calls.iter().any(may_match))
                }
                Condition::ResultMatches { tool, field, value } => {
                    let results =
                        evidence.mcp_results.get(tool.as_str()).map(Vec::as_slice).unwrap_or_default();
                    let is_equal = |result: &Map<String, Value>| {
                        result.get(field).is_some_and(|found| field_text(found, value))
                    };
                    (results.iter().any(is_equal), false)
                }
                Condition::StageComplete(_) | Condition::Approval(_) | Condition::Exec(_) => (false, false),
            };
            if is_met {
                progress.evidence.met.insert(key.clone());
            }
            if is_spoiled {
                said.push(format!("`{}` no longer holds by what was recorded", requirement.text));
                progress.evidence.spoiled.insert(key.clone());
            }
        }
    }

    /// Every requirement, with the stage it belongs to.
    pub fn requirements(&self) -> impl Iterator<Item = (&Stage, &Requirement)> {
        self.stages.iter().flat_map(|stage| {
            stage.entry.iter().chain(&stage.exit).map(move |requirement| (stage, requirement))
        })
    }

    /// The stage of this name, and the how-manieth it is.
    pub fn find(&self, stage: &str) -> Option<(usize, &Stage)> {
        self.stages.iter().enumerate().find(|(_, it)| *it.id == *stage)
    }
}

impl<'a> Standing<'a> {
    fn of(progress: &'a Progress) -> Self {
        Self { progress, active: progress.active_stage.clone(), ended: Vec::new(), agreed: Vec::new() }
    }

    /// The same as if a stage had ended.
    fn ending(&self, stage: &Stage) -> Self {
        let mut ended = self.clone();
        ended.ended.push(stage.id.clone());
        ended
    }

    fn has_completed(&self, stage: &Arc<str>) -> bool {
        self.progress.completed_stages.contains(stage) || self.ended.contains(stage)
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
    standing: &Standing<'_>,
    ran: &Ran,
    steps: &mut Vec<Step>,
) -> Result<Option<Outcome>, Needs> {
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

fn all_hold<'a>(requirements: &'a [Requirement], standing: &Standing<'_>, ran: &Ran) -> Met<'a> {
    for requirement in requirements {
        if !requirement.holds(standing, ran)? {
            return Ok(Err(requirement));
        }
    }
    Ok(Ok(()))
}

fn blocked(stage: &Arc<str>, reason: &str) -> Outcome {
    Outcome::Blocked { stage: stage.clone(), reason: reason.to_owned(), missing: None }
}

impl Stage {
    /// Whether a program decides about its end.
    pub fn asks_programs(&self) -> bool {
        self.exit.iter().any(Requirement::is_exec)
    }

    /// Why it does not accept a call; none if it does.
    fn refusal(&self, sight: &Sight<'_>) -> Option<Refusal<'_>> {
        if self.is_boundary() {
            return Some(Refusal::Boundary);
        }
        if !self.opens(sight.tool()) {
            return Some(Refusal::Tool);
        }
        let fails = |check: &&Check| {
            if check.forbids { sight.may_match(&check.pattern) } else { !sight.only_matches(&check.pattern) }
        };
        self.checks.iter().find(fails).map(Refusal::Check)
    }

    /// The question at its end, while nobody has agreed.
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

impl Refusal<'_> {
    fn says(&self, stage: &Stage) -> Outcome {
        let reason = match self {
            Self::Boundary | Self::Tool => NOT_ALLOWED.to_owned(),
            Self::Check(check) => check.sentence(&stage.id),
        };
        blocked(&stage.id, &reason)
    }
}

impl Check {
    /// What the agent is told when a call does not satisfy it.
    fn sentence(&self, stage: &str) -> String {
        let own = || match self.forbids {
            true => format!("stage `{stage}` takes no command that matches `{}`", self.pattern),
            false => format!("stage `{stage}` takes only commands that match `{}`", self.pattern),
        };
        self.message.clone().unwrap_or_else(own)
    }
}

impl Requirement {
    /// Whether a program has to be run to know it.
    pub(super) fn is_exec(&self) -> bool {
        matches!(self.condition, Condition::Exec(_))
    }

    /// Whether it holds, as far as that is known.
    pub(super) fn is_met(&self, progress: &Progress, ran: &Ran) -> bool {
        matches!(self.holds(&Standing::of(progress), ran), Ok(true))
    }

    fn holds(&self, standing: &Standing<'_>, ran: &Ran) -> Result<bool, Needs> {
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
                None => return Err(Needs(exec.clone())),
            },
        })
    }

    /// What is said while it does not hold. Where only a human's answer is missing, that is asked for.
    fn unmet(&self, stage: &Arc<str>, ran: &Ran) -> Outcome {
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
