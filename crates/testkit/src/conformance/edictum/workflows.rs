//! Recorded cases of workflows: a state, calls and what an operator does, and how the session stands after each.
//!
//! A case is played through a gate that took over the state it begins with; what one step leaves behind, the next one
//! finds. A key of an expectation that nobody here knows makes the file no recording: it may well be what the case
//! is about.

use std::collections::{BTreeMap, VecDeque};

use lockgate::engine::{
    Call, Decision, Gate, Outcome, Verdict,
    policy::workflow::{OperatorMove, Progress},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Case, Differs, NOW, mistakes, source};
use crate::records::{Record, RecordingStore};

/// A state, and what then happens.
#[derive(Deserialize)]
pub(super) struct WorkflowCase {
    id: String,
    #[serde(default, rename = "description")]
    _description: String,
    /// The name of the workflow.
    workflow: String,
    initial_state: State,
    lineage: Option<Lineage>,
    steps: Vec<Step>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    session_id: String,
    active_stage: Value,
    completed_stages: Value,
    approvals: Value,
    evidence: Value,
    #[serde(default)]
    blocked_reason: Value,
    pending_approval: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lineage {
    parent_session_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    id: String,
    call: Option<Asked>,
    reset_to: Option<String>,
    set_stage_to: Option<String>,
    /// What humans answer, one question after the other; after the last one nobody answers any more.
    #[serde(default)]
    approval_outcomes: VecDeque<super::Approval>,
    execution: Option<Execution>,
    mcp_result: Option<Value>,
    expect: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Execution {
    Success,
    Error,
    NotRun,
}

/// What a step came to.
struct Came {
    /// The last verdict, where there was one.
    verdict: Option<Verdict>,
    /// How the session stands now, in the documented form.
    state: Value,
    records: Vec<Record>,
}

impl Case for WorkflowCase {
    fn id(&self) -> &str {
        &self.id
    }

    fn unknown(&self) -> &Map<String, Value> {
        &self.unknown
    }

    fn steps(&self) -> usize {
        self.steps.len()
    }
}

impl WorkflowCase {
    pub(super) fn play(&self, workflows: &BTreeMap<String, Value>) -> Result<Result<(), Differs>, String> {
        let name = &self.workflow;
        let workflow = workflows.get(name).ok_or_else(|| format!("no workflow is called `{name}`"))?;
        let (policy, diagnostics) = lockgate::engine::languages::read(&[source(name, workflow)?]);
        let Some(policy) = policy else {
            let got = format!("no policy: {}", mistakes(&diagnostics).collect::<Vec<_>>().join("; "));
            return Ok(Err(Differs { expected: "a workflow".into(), got }));
        };
        let store = RecordingStore::default();
        let gate = Gate::builder(policy).store(store.clone()).build().map_err(|error| error.to_string())?;
        let session = &self.initial_state.session_id;
        gate.import_progress(session, name, &self.initial_state.progress()?, NOW)
            .map_err(|error| error.to_string())?;
        // That the state was taken over is not part of any step.
        store.take(gate.policy());
        for step in &self.steps {
            let verdict = self.happen(&gate, step)?;
            let came = Came { verdict, state: self.state(&gate)?, records: store.take(gate.policy()) };
            if let Err(Differs { expected, got }) = step.compare(&came)? {
                let (expected, got) = (format!("{}: {expected}", step.id), got);
                return Ok(Err(Differs { expected, got }));
            }
        }
        Ok(Ok(()))
    }

    fn happen(&self, gate: &Gate, step: &Step) -> Result<Option<Verdict>, String> {
        let (session, name) = (&self.initial_state.session_id, &self.workflow);
        let moved = |how, stage: &str| {
            gate.move_stage(session, name, how, stage, NOW).map(|()| None).map_err(|error| error.to_string())
        };
        match (&step.call, &step.reset_to, &step.set_stage_to) {
            (Some(asked), None, None) => self.call(gate, step, asked).map(Some),
            (None, Some(stage), None) => moved(OperatorMove::Reset, stage),
            (None, None, Some(stage)) => moved(OperatorMove::Set, stage),
            _ => Err(format!("`{}` is not one of `call`, `reset_to`, `set_stage_to`", step.id)),
        }
    }

    fn call(&self, gate: &Gate, step: &Step, asked: &Asked) -> Result<Verdict, String> {
        let mut call = Call::new(step.id.as_str(), asked.tool.as_str());
        call = call.in_session(self.initial_state.session_id.as_str()).at(NOW);
        call.input = asked.args.clone();
        call.about.parent = self.lineage.as_ref().map(|lineage| lineage.parent_session_id.clone());
        let mut verdict = gate.call(&call);
        let mut answers = step.approval_outcomes.iter();
        while let (Decision::Ask, Some(approval)) = (verdict.decision, &verdict.approval) {
            let Some(answer) = answers.next() else { break };
            let answered = gate.answer(approval, *answer == super::Approval::Approved, NOW);
            verdict = answered.map_err(|error| error.to_string())?;
        }
        if answers.next().is_some() {
            return Err(format!("`{}` has an answer and nobody asks", step.id));
        }
        let execution = step.execution.ok_or_else(|| format!("`{}` has no `execution`", step.id))?;
        if verdict.lets_pass() && execution != Execution::NotRun {
            let ok = execution == Execution::Success;
            let output = step.mcp_result.clone();
            let outcome = Outcome { ok, output, ..Outcome::success(&call) };
            gate.result(&outcome).map_err(|error| error.to_string())?;
        }
        Ok(verdict)
    }

    fn state(&self, gate: &Gate) -> Result<Value, String> {
        let session = gate.session(&self.initial_state.session_id).map_err(|error| error.to_string())?;
        let workflow = gate.policy().workflows().first().ok_or("the policy has no workflow")?;
        let progress = session.progress(workflow.id).ok_or("the session has no progress")?;
        serde_json::to_value(progress).map_err(|error| error.to_string())
    }
}

impl State {
    fn progress(&self) -> Result<Progress, String> {
        let mut state = json!({
            "active_stage": self.active_stage,
            "completed_stages": self.completed_stages,
            "approvals": self.approvals,
            "evidence": as_recorded(&self.evidence),
            "blocked_reason": self.blocked_reason,
        });
        if let (Some(state), Some(pending)) = (state.as_object_mut(), &self.pending_approval) {
            state.insert("pending_approval".into(), pending.clone());
        }
        serde_json::from_value(state).map_err(|error| error.to_string())
    }
}

impl Step {
    fn compare(&self, came: &Came) -> Result<Result<(), Differs>, String> {
        let said = came.verdict.as_ref().map(|verdict| verdict.reason.clone()).unwrap_or_default();
        for (key, wanted) in &self.expect {
            let got = match key.as_str() {
                "decision" => {
                    let wanted = decision(wanted)?;
                    let got = came.verdict.as_ref().map(|verdict| verdict.decision);
                    if got == Some(wanted) {
                        continue;
                    }
                    json!(format!("{}: {said}", got.map_or("nothing", Decision::word)))
                }
                "message_contains" if said.contains(wanted.as_str().ok_or("a message is a text")?) => {
                    continue;
                }
                "message_contains" => json!(said),
                "approval_requested_for" => requested_for(&came.records),
                "evidence" => documented(came.state.get("evidence")),
                "active_stage" | "completed_stages" | "approvals" | "blocked_reason" | "pending_approval" => {
                    came.state.get(key).cloned().unwrap_or_default()
                }
                "audit_events" => {
                    if let Err(differs) = compare_records(wanted, &came.records)? {
                        return Ok(Err(differs));
                    }
                    continue;
                }
                unknown => return Err(format!("nobody here knows the expectation `{unknown}`")),
            };
            let wanted =
                if key == "evidence" { documented(Some(&as_recorded(wanted))) } else { wanted.clone() };
            if wanted != got {
                return Ok(Err(Differs { expected: format!("{key} {wanted}"), got: got.to_string() }));
            }
        }
        Ok(Ok(()))
    }
}

/// The same word for the same thing: the families disagree.
fn decision(word: &Value) -> Result<Decision, String> {
    match word.as_str() {
        Some("allow") => Ok(Decision::Allow),
        Some("deny" | "block") => Ok(Decision::Block),
        Some("pause") => Ok(Decision::Ask),
        _ => Err(format!("{word} is no decision")),
    }
}

/// The stage that the last question was about.
fn requested_for(records: &[Record]) -> Value {
    let asked = records.iter().rev().find(|record| action(record) == "call_asked");
    let stage =
        asked.and_then(|record| record.workflows.first()?.pointer("/pending_approval/stage_id").cloned());
    stage.unwrap_or_default()
}

/// What of the evidence is documented, with nothing standing for the empty.
fn documented(evidence: Option<&Value>) -> Value {
    let part = |key: &str, empty: Value| evidence.and_then(|it| it.get(key)).cloned().unwrap_or(empty);
    json!({
        "reads": part("reads", json!([])),
        "stage_calls": part("stage_calls", json!({})),
        "mcp_results": part("mcp_results", json!({})),
    })
}

/// A command with `: ` in it that somebody forgot to quote is a mapping with one entry; it stands for the text.
fn as_recorded(evidence: &Value) -> Value {
    let mut evidence = evidence.clone();
    let commands = evidence.get_mut("stage_calls").and_then(Value::as_object_mut);
    for command in commands.into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut).flatten() {
        let entry = command.as_object().filter(|it| it.len() == 1).and_then(|it| it.iter().next());
        if let Some((key, Value::String(rest))) = entry {
            *command = Value::from(format!("{key}: {rest}"));
        }
    }
    evidence
}

/// Compares the records of a step: as many as were recorded, in that order, each with what was recorded of it.
fn compare_records(wanted: &Value, records: &[Record]) -> Result<Result<(), Differs>, String> {
    let wanted = wanted.as_array().ok_or("`audit_events` is a list")?;
    let actions = |events: &mut dyn Iterator<Item = String>| events.collect::<Vec<_>>().join(", ");
    let wanted_actions =
        actions(&mut wanted.iter().map(|it| it["action"].as_str().unwrap_or_default().to_owned()));
    let got_actions = actions(&mut records.iter().map(action));
    if wanted_actions != got_actions {
        return Ok(Err(Differs { expected: wanted_actions, got: got_actions }));
    }
    for (event, record) in wanted.iter().zip(records) {
        for (key, wanted) in event.as_object().ok_or("an event is a mapping")? {
            let (fits, got) = match key.as_str() {
                "action" => continue,
                "session_id" => same(wanted, &json!(record.session)),
                "parent_session_id" => same(wanted, &json!(record.parent.as_deref())),
                "workflow" => covers(wanted, record.workflows.first().unwrap_or(&Value::Null)),
                unknown => return Err(format!("nobody here knows `{unknown}` of an event")),
            };
            if !fits {
                let expected = format!("{} with {key} {wanted}", action(record));
                return Ok(Err(Differs { expected, got: got.to_string() }));
            }
        }
    }
    Ok(Ok(()))
}

fn same(wanted: &Value, got: &Value) -> (bool, Value) {
    (wanted == got, got.clone())
}

/// Whether a snapshot has all that was recorded of it. Moments were not.
fn covers(wanted: &Value, got: &Value) -> (bool, Value) {
    let mut got = got.clone();
    for (_, field) in got.as_object_mut().into_iter().flatten() {
        if let Some(field) = field.as_object_mut() {
            field.remove("timestamp");
        }
    }
    let mut fields = wanted.as_object().into_iter().flatten();
    let fits =
        wanted.is_object() && fields.all(|(key, wanted)| got.get(key).unwrap_or(&Value::Null) == wanted);
    (fits, got)
}

fn action(record: &Record) -> String {
    record.action.to_string()
}
