//! Moves that are not made by calls: an operator's, and those after the file was edited.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::outcome::{OperatorMove, UnknownStage};
use crate::workflow::{
    Condition, Stage, Workflow,
    progress::{PendingApproval, Progress, Step, Why},
    sight::{self, Sight, field_text},
};

impl Workflow {
    /// An operator moves a session.
    ///
    /// # Errors
    /// When there is no such stage.
    pub fn moved(&self, progress: &Progress, how: OperatorMove, stage: &str) -> Result<Step, UnknownStage> {
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
            OperatorMove::Reset => {
                moved.last_recorded_evidence = None;
                self.forget_from(at, &mut moved);
                Why::Reset
            }
            OperatorMove::Set => {
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
    /// ids, conditions are weighed anew by the evidence that was kept. What is no longer known opens nothing.
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
                    "stage `{}` is gone; the session is in `{}`, the first that is not completed",
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
                    "stage `{}` is new before `{}`, where the session already is; it is not entered",
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
                    evidence.reads.iter().any(|read| sight::is_same_file(read, path, root.as_deref())),
                    false,
                ),
                Condition::CommandMatches(pattern) => {
                    (calls.iter().any(|text| Sight::of_text(text, |sight| sight.proves(pattern))), false)
                }
                Condition::CommandNotMatches(pattern) => {
                    let may_match = |text: &Arc<str>| {
                        sight::is_folded(text) || Sight::of_text(text, |sight| sight.may_match(pattern))
                    };
                    // What was folded away is no longer known.
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
}
