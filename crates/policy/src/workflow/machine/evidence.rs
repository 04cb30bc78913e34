//! What a call shows: evidence that it would earn, and results that give it.

use std::sync::Arc;

use lockgate_call::Time;
use serde_json::{Map, Value};

use super::{
    outcome::CallEvidence,
    standing::{Position, all_hold},
};
use crate::workflow::{
    Condition, Ran, Requirement, Stage, Workflow,
    progress::{Progress, Shown, Step},
    sight::{Sight, field_text, result_object},
};

impl Workflow {
    /// What a call that was let pass in a stage would show, and what it breaks.
    pub fn earned(&self, progress: &Progress, stage: &str, sight: &Sight<'_>) -> CallEvidence {
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
        CallEvidence { shown, spoiled }
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
        let is_met = matches!(all_hold(&last.exit, &Position::of(progress), &Ran::default()), Ok(Ok(())));
        (last.has_end() && agreed && is_met).then(|| Step::Completed { stage: last.id.clone() })
    }
}
