//! What a session remembers about a workflow, as values.
//!
//! [`Progress`] has the documented form, so that a state kept elsewhere can be taken over and read by others, and
//! beside it what makes it sound: which conditions were met when they were ([`Evidence::met`]) and which can never
//! hold again ([`Evidence::spoiled`]). So evidence that was folded away is not forgotten. [`Progress::take`] is
//! the only change and needs no workflow: an old audit log replays the same after the file was edited.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most items of each kind of evidence that are kept as they are. What they proved is kept for all of them.
pub const EVIDENCE_ITEMS_MAX: usize = 1_000;

/// Where a session stands in a workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The stage it is in; empty once the last one has ended.
    pub active_stage: Arc<str>,
    /// The stages that have ended, in that order.
    pub completed_stages: Vec<Arc<str>>,
    /// The stages whose end a human has agreed to.
    pub approvals: BTreeMap<Arc<str>, Approved>,
    /// What has been shown so far.
    pub evidence: Evidence,
    /// Why the latest call was refused by this workflow; none after one that was not.
    pub blocked_reason: Option<String>,
    /// The question that is open at the end of the active stage.
    pub pending_approval: PendingApproval,
    /// The latest call that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_blocked_action: Option<LastBlocked>,
    /// The latest evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_recorded_evidence: Option<LastRecorded>,
    /// The edition of the workflow that this was learnt under.
    pub fingerprint: Arc<str>,
    /// The folder the session began in; paths of conditions start there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Arc<str>>,
    /// How often an operator has moved it: a question from before is no longer about this.
    pub round: u64,
    /// Whether the entry of its first stage is no longer asked for: an operator put the session there, or the stage
    /// has begun and its programs need not be run again.
    #[serde(skip_serializing_if = "is_false")]
    pub is_placed: bool,
    /// Whether a call has succeeded in the last stage since its programs were last asked, so that they may be again.
    #[serde(skip_serializing_if = "is_false")]
    pub has_worked: bool,
}

/// That a human has agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approved {
    /// The only answer that is kept.
    Approved,
}

/// What a session has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The files that were read, each once.
    pub reads: Vec<Arc<str>>,
    /// The commands that succeeded, by the stage they were let pass in.
    pub stage_calls: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// The results of tools that conditions ask about.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_results: BTreeMap<Arc<str>, Vec<Map<String, Value>>>,
    /// The keys of conditions that evidence has met.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub met: BTreeSet<Arc<str>>,
    /// The keys of conditions that a call has broken.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub spoiled: BTreeSet<Arc<str>>,
    /// How many items are no longer kept as they were.
    #[serde(skip_serializing_if = "is_zero")]
    pub folded: u64,
}

/// The question at the end of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingApproval {
    /// Whether there is one.
    pub required: bool,
    /// The stage it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<Arc<str>>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBlocked {
    /// Its tool.
    pub tool: Arc<str>,
    /// What it wanted, in short.
    pub summary: String,
    /// Why it was refused.
    pub message: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
}

/// A call that gave evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRecorded {
    /// Its tool.
    pub tool: Arc<str>,
    /// What it did, in short.
    pub summary: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub timestamp: u64,
}

/// Something that happened to a session's progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The session meets the workflow for the first time.
    Started {
        /// Its first stage.
        stage: Arc<str>,
        /// The edition.
        fingerprint: Arc<str>,
        /// The folder the session is in.
        root: Option<Arc<str>>,
    },
    /// A stage has ended and the next one begun.
    Advanced {
        /// The one that ended.
        from: Arc<str>,
        /// The one that began.
        to: Arc<str>,
        /// What is asked at its end, where it is nothing but a line to be crossed.
        pending: PendingApproval,
    },
    /// The last stage has ended.
    Completed {
        /// That stage.
        stage: Arc<str>,
    },
    /// The workflow accepts a call: nothing is in its way any more.
    Accepted,
    /// The workflow refuses a call.
    Blocked {
        /// Its tool.
        tool: Arc<str>,
        /// What it wanted, in short.
        summary: String,
        /// Why.
        reason: String,
        /// When.
        at: u64,
    },
    /// A human is asked at the end of a stage.
    Paused {
        /// The question.
        pending: PendingApproval,
    },
    /// A human has agreed to the end of a stage.
    Approved {
        /// The stage.
        stage: Arc<str>,
    },
    /// The first stage has begun, and what its entry asks of programs is settled.
    Begun,
    /// A call has succeeded in the last stage, whose end a program decides.
    Worked,
    /// The programs at the end of the last stage were asked, and it is not over.
    Unready,
    /// A call was let pass that some conditions forbid.
    Spoiled {
        /// Their keys.
        keys: Vec<Arc<str>>,
    },
    /// A call has succeeded.
    Recorded {
        /// What it showed.
        shown: Shown,
        /// When.
        at: u64,
    },
    /// An operator moved it, or the file was edited.
    Replaced {
        /// By what.
        why: Why,
        /// How it stands from now on.
        progress: Box<Progress>,
        /// What was done, sentence by sentence.
        said: Vec<String>,
    },
}

/// Why progress was put elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// An operator reset it to a stage.
    Reset,
    /// An operator set its stage.
    Set,
    /// It was taken over from elsewhere.
    Imported,
    /// The workflow's file was edited under the session.
    Edited,
}

/// What one success shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shown {
    /// The tool.
    pub tool: Arc<str>,
    /// What it did, in short.
    pub summary: String,
    /// The stage it was let pass in.
    pub stage: Arc<str>,
    /// The files it read.
    pub reads: Vec<Arc<str>>,
    /// The commands it ran, as text.
    pub commands: Vec<Arc<str>>,
    /// Its result, where a condition asks about it.
    pub result: Option<Map<String, Value>>,
    /// The keys of conditions it meets.
    pub met: Vec<Arc<str>>,
    /// Whether it was let pass before the first stage began, to give what its entry asks for.
    #[serde(skip_serializing_if = "is_false")]
    pub is_entry: bool,
}

impl Shown {
    /// Whether it shows anything at all.
    pub fn is_nothing(&self) -> bool {
        self.reads.is_empty() && self.commands.is_empty() && self.result.is_none() && self.met.is_empty()
    }
}

impl PendingApproval {
    /// The question at the end of a stage.
    pub fn of(stage: &Arc<str>, message: &str) -> Self {
        Self { required: true, stage_id: Some(stage.clone()), message: Some(message.to_owned()) }
    }
}

impl Progress {
    /// Whether the last stage has ended.
    pub fn is_finished(&self) -> bool {
        self.active_stage.is_empty()
    }

    /// Whether the session has not met the workflow yet.
    pub fn is_unmet(&self) -> bool {
        self.fingerprint.is_empty()
    }

    /// Takes in what happened. Nothing else changes it.
    pub fn take(&mut self, step: &Step) {
        match step {
            Step::Started { stage, fingerprint, root } => {
                self.active_stage = stage.clone();
                self.fingerprint = fingerprint.clone();
                self.root.clone_from(root);
            }
            Step::Advanced { from, to, pending } => {
                self.complete(from);
                self.active_stage = to.clone();
                self.blocked_reason = None;
                self.pending_approval = pending.clone();
            }
            Step::Completed { stage } => {
                self.complete(stage);
                self.active_stage = Arc::default();
                self.blocked_reason = None;
                self.pending_approval = PendingApproval::default();
            }
            Step::Accepted => {
                self.blocked_reason = None;
                self.pending_approval = PendingApproval::default();
            }
            Step::Blocked { tool, summary, reason, at } => {
                self.blocked_reason = Some(reason.clone());
                self.pending_approval = PendingApproval::default();
                self.last_blocked_action = Some(LastBlocked {
                    tool: tool.clone(),
                    summary: summary.clone(),
                    message: reason.clone(),
                    timestamp: *at,
                });
            }
            Step::Paused { pending } => {
                self.pending_approval = pending.clone();
                self.blocked_reason = None;
            }
            Step::Approved { stage } => {
                self.approvals.insert(stage.clone(), Approved::Approved);
                self.blocked_reason = None;
                self.pending_approval = PendingApproval::default();
            }
            Step::Begun => self.is_placed = true,
            Step::Worked => self.has_worked = true,
            Step::Unready => self.has_worked = false,
            Step::Spoiled { keys } => self.evidence.spoiled.extend(keys.iter().cloned()),
            Step::Recorded { shown, at } => self.record(shown, *at),
            Step::Replaced { progress, .. } => *self = (**progress).clone(),
        }
    }

    /// The same after some steps.
    #[must_use]
    pub fn after<'s>(&self, steps: impl IntoIterator<Item = &'s Step>) -> Self {
        let mut later = self.clone();
        steps.into_iter().for_each(|step| later.take(step));
        later
    }

    fn complete(&mut self, stage: &Arc<str>) {
        if !self.completed_stages.contains(stage) {
            self.completed_stages.push(stage.clone());
        }
    }

    fn record(&mut self, shown: &Shown, at: u64) {
        let Evidence { reads, stage_calls, mcp_results, met, folded, .. } = &mut self.evidence;
        for read in &shown.reads {
            if !reads.contains(read) {
                keep(reads, read.clone(), folded);
            }
        }
        for command in &shown.commands {
            keep(stage_calls.entry(shown.stage.clone()).or_default(), command.clone(), folded);
        }
        if let Some(result) = &shown.result {
            keep(mcp_results.entry(shown.tool.clone()).or_default(), result.clone(), folded);
        }
        met.extend(shown.met.iter().cloned());
        self.last_recorded_evidence =
            Some(LastRecorded { tool: shown.tool.clone(), summary: shown.summary.clone(), timestamp: at });
    }
}

fn keep<T>(items: &mut Vec<T>, item: T, folded: &mut u64) {
    if items.len() < EVIDENCE_ITEMS_MAX {
        items.push(item);
    } else {
        *folded += 1;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
