//! The lines that go out.

use std::collections::BTreeMap;

use lockgate::engine::{
    Mode, Obstacle, Outcome, Settlement, Status, Verdict,
    gate::{OutputHit, WorkflowStatus},
    policy::{Deed, clause::Gravity, workflow::Progress},
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Writes one answer, without the end of the line.
pub fn encode<T: Serialize>(answer: &T) -> String {
    // Only maps with keys that are no texts cannot be written, and there are none here.
    serde_json::to_string(answer)
        .unwrap_or_else(|error| format!(r#"{{"error":"the answer cannot be written: {error}"}}"#))
}

/// To a call or an answer.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictAnswer<'a> {
    id: &'a str,
    session: &'a str,
    verdict: &'static str,
    reason: &'a str,
    obstacles: Vec<ObstacleAnswer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_by: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timeout: bool,
    deeds: Vec<DeedAnswer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    observed: Vec<ObstacleAnswer<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct ObstacleAnswer<'a> {
    rule: &'a str,
    file: &'a str,
    line: usize,
    verdict: &'static str,
    reason: &'a str,
    mode: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct DeedAnswer<'a> {
    name: &'a str,
    certain: bool,
}

impl<'a> VerdictAnswer<'a> {
    /// What was decided about a call.
    pub fn new(id: &'a str, session: &'a str, verdict: &'a Verdict) -> Self {
        // What only observes opens nothing.
        let allowing = verdict.allowed_by.iter().filter(|rule| rule.mode == Mode::Enforce);
        Self {
            id,
            session,
            verdict: verdict.decision.word(),
            reason: &verdict.reason,
            obstacles: verdict.obstacles.iter().map(ObstacleAnswer::new).collect(),
            allowed_by: allowing.map(|rule| rule.name.as_str()).collect(),
            next: verdict.next.iter().map(AsRef::as_ref).collect(),
            input: verdict.input.as_deref(),
            approval: verdict.approval.as_ref().map(ToString::to_string),
            timeout: verdict.timed_out,
            deeds: verdict.deeds.iter().map(DeedAnswer::new).collect(),
            observed: verdict.observed.iter().map(ObstacleAnswer::new).collect(),
        }
    }
}

impl<'a> ObstacleAnswer<'a> {
    fn new(obstacle: &'a Obstacle) -> Self {
        Self {
            rule: &obstacle.name,
            file: &obstacle.file,
            line: obstacle.line,
            verdict: obstacle.decision.word(),
            reason: &obstacle.reason,
            mode: obstacle.mode.word(),
            tags: &obstacle.tags,
            severity: obstacle.severity.map(Gravity::word),
        }
    }

    fn of_result(hit: &'a OutputHit) -> Self {
        Self {
            rule: &hit.name,
            file: &hit.file,
            line: hit.line,
            verdict: hit.decision.word(),
            reason: &hit.reason,
            mode: hit.mode.word(),
            tags: &hit.tags,
            severity: hit.severity.map(Gravity::word),
        }
    }
}

impl<'a> DeedAnswer<'a> {
    fn new(deed: &'a Deed) -> Self {
        Self { name: &deed.name, certain: deed.certain }
    }
}

/// To a result.
#[derive(Clone, Debug, Serialize)]
pub struct SettledAnswer<'a> {
    id: &'a str,
    session: &'a str,
    settled: bool,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<ObstacleAnswer<'a>>,
}

impl<'a> SettledAnswer<'a> {
    /// What became of a result.
    pub fn new(outcome: &'a Outcome, settlement: &'a Settlement) -> Self {
        Self {
            id: &outcome.id,
            session: &outcome.session,
            settled: settlement.settled,
            verdict: settlement.decision.word(),
            reason: settlement.reason.as_deref(),
            output: settlement.output.as_ref(),
            warnings: &settlement.warnings,
            found: settlement.found.iter().map(AsRef::as_ref).collect(),
            rules: settlement.rules.iter().map(ObstacleAnswer::of_result).collect(),
        }
    }
}

/// To a status.
#[derive(Clone, Debug, Serialize)]
pub struct StatusAnswer<'a> {
    session: &'a str,
    nets: Vec<NetAnswer<'a>>,
    text: String,
    counters: CountersAnswer<'a>,
    workflows: Vec<WorkflowAnswer<'a>>,
    pending: &'a [String],
    approvals: Vec<ApprovalAnswer<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taints: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tainted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    halted: Option<&'a str>,
}

/// To a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct PromptAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// The text for the model.
    pub prompt: String,
}

#[derive(Clone, Debug, Serialize)]
struct NetAnswer<'a> {
    name: &'a str,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    own_name: Option<&'a str>,
    active: bool,
    marking: Map<String, Value>,
}

/// Where a session stands in a workflow.
#[derive(Clone, Debug, Serialize)]
pub struct WorkflowAnswer<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    active: bool,
    #[serde(flatten)]
    progress: &'a Progress,
    missing: &'a [String],
    text: String,
}

impl<'a> WorkflowAnswer<'a> {
    fn new(status: &'a WorkflowStatus) -> Self {
        Self {
            name: &status.name,
            version: status.version.as_deref(),
            active: status.active,
            progress: &status.progress,
            missing: &status.line.missing,
            text: status.line.to_string(),
        }
    }
}

/// To a stage line: where the workflow stands now.
#[derive(Clone, Debug, Serialize)]
pub struct StageAnswer<'a> {
    session: &'a str,
    workflow: WorkflowAnswer<'a>,
}

impl<'a> StageAnswer<'a> {
    /// Where a workflow stands after a move.
    pub fn new(session: &'a str, status: &'a WorkflowStatus) -> Self {
        Self { session, workflow: WorkflowAnswer::new(status) }
    }
}

#[derive(Clone, Debug, Serialize)]
struct CountersAnswer<'a> {
    tool_calls: u64,
    attempts: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    per_tool: BTreeMap<&'a str, u64>,
}

#[derive(Clone, Debug, Serialize)]
struct ApprovalAnswer<'a> {
    approval: String,
    id: &'a str,
    tool: &'a str,
    input: &'a Map<String, Value>,
    rules: &'a [String],
}

impl<'a> StatusAnswer<'a> {
    /// Where a session stands.
    pub fn new(status: &'a Status) -> Self {
        let nets = status.nets.iter().map(|net| NetAnswer {
            name: &net.name,
            own_name: net.own_name.as_deref(),
            active: net.active,
            marking: net
                .marking
                .iter()
                .map(|(place, tokens)| (place.clone(), Value::from(*tokens)))
                .collect(),
        });
        let approvals = status.approvals.iter().map(|approval| ApprovalAnswer {
            approval: approval.approval.to_string(),
            id: &approval.id,
            tool: &approval.tool,
            input: &approval.input,
            rules: &approval.rules,
        });
        Self {
            session: &status.session,
            nets: nets.collect(),
            text: status.text(),
            counters: CountersAnswer {
                tool_calls: status.counts.tool_calls,
                attempts: status.counts.attempts,
                per_tool: status.per_tool.iter().map(|(tool, calls)| (tool.as_str(), *calls)).collect(),
            },
            workflows: status.workflows.iter().map(WorkflowAnswer::new).collect(),
            pending: &status.pending,
            approvals: approvals.collect(),
            attributes: &status.attributes,
            taints: status.taints.iter().map(AsRef::as_ref).collect(),
            tainted: status.is_tainted,
            halted: status.halted.as_deref(),
        }
    }
}

/// To a session line: the session is known.
#[derive(Clone, Debug, Serialize)]
pub struct SessionAnswer<'a> {
    /// The session.
    pub session: &'a str,
}

/// To a net line: which net, and whether it takes part now.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// The net.
    pub net: &'a str,
    /// Whether it takes part now.
    pub active: bool,
    /// The same in words.
    pub text: String,
}

/// To a halt or a resume line.
#[derive(Clone, Debug, Serialize)]
pub struct HaltAnswer<'a> {
    /// The session; none means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// Whether calls are refused from now on.
    pub halted: bool,
}

/// To an untaint line: what sensitive data had closed is open again.
#[derive(Clone, Debug, Serialize)]
pub struct UntaintAnswer<'a> {
    /// The session.
    pub session: &'a str,
    /// Whether it is still tainted: never.
    pub tainted: bool,
}

/// To anything that is not understood.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorAnswer {
    /// What, and what to do.
    pub error: String,
}
