//! Where a session stands in a workflow, for people: a line of stages and what is missing.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{Condition, Progress, Ran, Requirement, Stage, Workflow};

/// A workflow as a session sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The workflow's name.
    pub name: String,
    /// Its stages, in order.
    pub stages: Vec<StageStand>,
    /// What must be there before the first stage begins: until then only calls that give it pass.
    pub begins_with: Vec<String>,
    /// The tools that are open in the active stage once it has begun; none means every tool.
    pub open_tools: Option<Vec<String>>,
    /// Whether the active stage looks at the commands of a call as well.
    pub has_checks: bool,
    /// What is missing before the active stage ends, in words; empty once all is there.
    pub missing: Vec<String>,
}

/// One stage as a session sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageStand {
    /// Its id.
    pub id: Arc<str>,
    /// Where it is.
    pub is: Whereabouts,
}

/// Where a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It has ended.
    Done,
    /// The session is in it.
    Here,
    /// It is still to come, or was passed over.
    Next,
}

/// What is missing, and the line as a text.
impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Line", 2)?;
        line.serialize_field("missing", &self.missing)?;
        line.serialize_field("text", &self.to_string())?;
        line.end()
    }
}

impl Workflow {
    /// Where a session stands.
    pub fn line(&self, progress: &Progress) -> Line {
        let whereabouts = |stage: &Stage| {
            if stage.id == progress.active_stage {
                Whereabouts::Here
            } else if progress.completed_stages.contains(&stage.id) {
                Whereabouts::Done
            } else {
                Whereabouts::Next
            }
        };
        let active = self.find(&progress.active_stage);
        let (open_tools, missing) = match active {
            Some((at, stage)) => (stage.open_tools(), self.missing(at, stage, progress)),
            None => (Some(Vec::new()), Vec::new()),
        };
        Line {
            name: self.name.clone(),
            stages: self
                .stages
                .iter()
                .map(|stage| StageStand { id: stage.id.clone(), is: whereabouts(stage) })
                .collect(),
            begins_with: active.map(|(at, stage)| entry_missing(at, stage, progress)).unwrap_or_default(),
            open_tools,
            has_checks: active.is_some_and(|(_, stage)| !stage.checks.is_empty()),
            missing,
        }
    }

    /// What is still missing before a stage ends, in the order in which it is asked for.
    fn missing(&self, at: usize, stage: &Stage, progress: &Progress) -> Vec<String> {
        let ended = |id: &Arc<str>| progress.completed_stages.contains(id) || *id == stage.id;
        let is_missing = |requirement: &&Requirement| match &requirement.condition {
            Condition::StageComplete(id) => !ended(id),
            _ => !requirement.is_met(progress, Ran::nothing()),
        };
        let next = self.stages.get(at + 1).map(|next| next.entry.as_slice()).unwrap_or_default();
        let words = |requirement: &Requirement| requirement.text.to_string();
        let approval = stage.approval.is_some() && !progress.approvals.contains_key(&stage.id);
        let mut missing = entry_missing(at, stage, progress);
        missing.extend(stage.exit.iter().filter(is_missing).map(words));
        missing.extend(approval.then(|| format!("a human's approval of `{}`", stage.id)));
        missing.extend(next.iter().filter(is_missing).map(words));
        missing
    }
}

/// What is missing before the first stage begins. The others begin with the call that ends the one before.
fn entry_missing(at: usize, stage: &Stage, progress: &Progress) -> Vec<String> {
    let entry = if at == 0 && !progress.is_placed { stage.entry.as_slice() } else { &[] };
    let is_missing = |requirement: &&Requirement| !requirement.is_met(progress, Ran::nothing());
    entry.iter().filter(is_missing).map(|requirement| requirement.text.to_string()).collect()
}

impl Stage {
    fn open_tools(&self) -> Option<Vec<String>> {
        match &self.tools {
            Some(tools) => Some(tools.iter().map(|tool| tool.text().to_owned()).collect()),
            None if self.is_terminal || self.is_boundary() => Some(Vec::new()),
            None => None,
        }
    }
}

/// One line: `delivery: ✓ read → ▶ implement → · verify`.
impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = |stage: &StageStand| match stage.is {
            Whereabouts::Done => format!("✓ {}", stage.id),
            Whereabouts::Here => format!("▶ {}", stage.id),
            Whereabouts::Next => format!("· {}", stage.id),
        };
        let stages: Vec<String> = self.stages.iter().map(stage).collect();
        write!(formatter, "{}: {}", self.name, stages.join(" → "))?;
        if !self.stages.iter().any(|stage| stage.is == Whereabouts::Here) {
            write!(formatter, " (finished)")?;
        }
        Ok(())
    }
}

impl Line {
    /// What can be done now, in words.
    pub fn words(&self) -> String {
        let Some(here) = self.stages.iter().find(|stage| stage.is == Whereabouts::Here) else {
            return "it is finished: no further calls are accepted".to_owned();
        };
        if !self.begins_with.is_empty() {
            return format!(
                "stage `{}` has not begun: it waits for {}, and only calls that give this are open",
                here.id,
                self.begins_with.join(", ")
            );
        }
        let open = match &self.open_tools {
            None if self.has_checks => "every tool is open, for commands that pass its checks".to_owned(),
            None => "every tool is open".to_owned(),
            Some(tools) if tools.is_empty() => "no tool is open".to_owned(),
            Some(tools) => {
                let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
                format!("open here: {}", tools.join(", "))
            }
        };
        match self.missing.as_slice() {
            [] => format!("stage `{}`: {open}", here.id),
            missing => format!("stage `{}`: {open}; it ends with {}", here.id, missing.join(", ")),
        }
    }
}
