//! Recorded cases of rulesets: a ruleset, a call, and the answer; or a ruleset that must be refused. And of workflows.
//!
//! The files of a folder are told apart by their names ([`edictum`]). A call goes through a gate that has counted what
//! the case says was counted; its question is answered, and its result looked at. Missing on purpose: what a file says
//! about itself, such as its version.

mod workflows;

use std::collections::BTreeMap;

use lockgate::engine::{
    Call, Decision, Gate, Outcome, Policy, Severity, Source, Time,
    gate::{Counts, OutputDecision, Settlement},
    policy::Diagnostic,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::workflows::WorkflowCase;
use super::{BadRecording, Conformance, Difference, Report, yaml};

/// What we answer differently on purpose, and why.
const ON_PURPOSE: &[(&str, &str)] =
    &[("adv-inject-002", "it looks for the text `$()`, which is not in the call, and wants it to be found")];

/// The session of every case.
const SESSION: &str = "recorded";

/// The moment of every call.
const NOW: Time = Time(1_767_225_600_000);

/// What plays a file of this name; nothing, where it holds no cases.
pub fn edictum(file: &str) -> Option<Conformance> {
    let is = |ending: &str| file.ends_with(ending);
    if is(".fixtures.yaml") || is(".adversarial.yaml") || is("extends-inheritance.workflow-v0.18.yaml") {
        Some(verdicts)
    } else if is(".rejection.yaml") {
        Some(rejections)
    } else if file.contains(".workflow") && is(".yaml") {
        Some(workflow_sessions)
    } else {
        None
    }
}

/// Plays calls and compares the verdicts.
fn verdicts(text: &str) -> Result<Report, BadRecording> {
    let file: File<VerdictCase> = read(text)?;
    play_all(text, &file.fixtures, |case| case.play(&file.rulesets))
}

/// Reads rulesets that must be refused.
fn rejections(text: &str) -> Result<Report, BadRecording> {
    let file: File<RejectionCase> = read(text)?;
    play_all(text, &file.fixtures, RejectionCase::play)
}

/// Plays sessions under workflows and compares how they stand after each step.
fn workflow_sessions(text: &str) -> Result<Report, BadRecording> {
    let file: File<WorkflowCase> = read(text)?;
    play_all(text, &file.fixtures, |case| case.play(&file.workflows))
}

fn read<C: for<'de> Deserialize<'de>>(text: &str) -> Result<File<C>, BadRecording> {
    let file: File<C> = serde_json::from_value(yaml::read(text)?).map_err(|error| bad(error.to_string()))?;
    if file.fixtures.is_empty() {
        return Err(bad("there is no case in this file"));
    }
    Ok(file)
}

fn bad(why: impl Into<String>) -> BadRecording {
    BadRecording { line: 1, why: why.into() }
}

fn play_all<C: Case>(
    text: &str,
    cases: &[C],
    play: impl Fn(&C) -> Result<Result<(), Differs>, String>,
) -> Result<Report, BadRecording> {
    let mut report = Report::default();
    for case in cases {
        let id = case.id();
        let line = line_of(text, id);
        report.cases += 1;
        report.steps += case.steps();
        let played = match case.unknown().keys().next() {
            // What a case says and nobody heeds may well be what it is about.
            Some(key) => Err(Differs { expected: "what is known here".into(), got: format!("`{key}`") }),
            None => play(case).map_err(|why| BadRecording { line, why: format!("`{id}`: {why}") })?,
        };
        if let Err(Differs { expected, got }) = judge(id, played, &mut report.on_purpose) {
            report.failures.push(Difference { line, step: id.to_owned(), expected, got });
        }
    }
    Ok(report)
}

/// What is left of a difference once the table was asked about it.
fn judge(id: &str, played: Result<(), Differs>, on_purpose: &mut Vec<String>) -> Result<(), Differs> {
    let reason = ON_PURPOSE.iter().find(|(known, _)| *known == id).map(|(_, reason)| reason);
    match (played, reason) {
        (Err(Differs { expected, got }), Some(reason)) => {
            on_purpose.push(format!("{id}: {got}, not {expected}: {reason}"));
            Ok(())
        }
        (Ok(()), Some(reason)) => Err(Differs {
            expected: format!("a difference, because {reason}"),
            got: "none: its row in the table is stale".into(),
        }),
        (played, None) => played,
    }
}

/// Where a case begins, from 1.
fn line_of(text: &str, id: &str) -> usize {
    let names_it = |line: &str| {
        let item = line.trim().strip_prefix("- ").map(|item| item.trim_start_matches('{'));
        let value = item.and_then(|item| item.strip_prefix("id:")).and_then(|value| value.split(',').next());
        value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == id)
    };
    text.lines().position(names_it).map_or(1, |index| index + 1)
}

/// A difference whose case the caller knows.
struct Differs {
    expected: String,
    got: String,
}

trait Case {
    fn id(&self) -> &str;
    /// What the case says and nobody here knows.
    fn unknown(&self) -> &Map<String, Value>;
    /// How many answers are compared in it.
    fn steps(&self) -> usize {
        1
    }
}

#[derive(Deserialize)]
struct File<C> {
    /// Rulesets that cases name.
    #[serde(default)]
    rulesets: BTreeMap<String, Value>,
    /// Workflows that cases name.
    #[serde(default)]
    workflows: BTreeMap<String, Value>,
    fixtures: Vec<C>,
}

/// A ruleset that must be refused.
#[derive(Deserialize)]
struct RejectionCase {
    id: String,
    #[serde(default, rename = "description")]
    _description: String,
    bundle: Value,
    expected: Rejected,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejected {
    rejected: bool,
    error_contains: Option<String>,
}

impl Case for RejectionCase {
    fn id(&self) -> &str {
        &self.id
    }

    fn unknown(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

impl RejectionCase {
    fn play(&self) -> Result<Result<(), Differs>, String> {
        if !self.expected.rejected {
            return Err("`rejected` is always true".into());
        }
        let (policy, diagnostics) = lockgate::engine::languages::read(&[source("bundle", &self.bundle)?]);
        let wanted = self.expected.error_contains.as_deref().unwrap_or_default();
        let mistakes: Vec<&str> = mistakes(&diagnostics).collect();
        let is_told = mistakes.iter().any(|said| said.to_lowercase().contains(&wanted.to_lowercase()));
        Ok(match policy {
            None if is_told => Ok(()),
            policy => Err(Differs {
                expected: format!("a mistake with `{wanted}` in it"),
                got: match policy {
                    Some(_) => "a policy".to_owned(),
                    None => mistakes.join("; "),
                },
            }),
        })
    }
}

fn mistakes(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &str> {
    let mistakes = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    mistakes.map(|mistake| mistake.message.as_str())
}

/// A ruleset as a file; JSON is YAML.
fn source(name: &str, ruleset: &Value) -> Result<Source, String> {
    let text = serde_json::to_string_pretty(ruleset).map_err(|error| error.to_string())?;
    Ok(Source::new(format!("{name}.yaml"), text))
}

/// A call, and the answer to it.
#[derive(Deserialize)]
struct VerdictCase {
    id: String,
    #[serde(default, rename = "description")]
    _description: String,
    /// A ruleset, or the name of one.
    contract: Value,
    envelope: Envelope,
    /// What the tool answers.
    result: Option<Value>,
    /// What was counted before.
    session: Option<Counted>,
    /// The variables of the gate's environment.
    #[serde(default)]
    environment: BTreeMap<String, Value>,
    principal: Option<Value>,
    call_metadata: Option<Value>,
    approval_decision: Option<Approval>,
    #[serde(default)]
    approval_pending: bool,
    #[serde(default)]
    timeout_expired: bool,
    expected: Expected,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    tool_name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    #[serde(default)]
    attempts: u64,
    #[serde(default)]
    tool_calls: u64,
    #[serde(default)]
    per_tool: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Approval {
    Approved,
    Rejected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    verdict: Answer,
    message_contains: Option<String>,
    audit_action: Option<AuditAction>,
    tags: Option<Vec<String>>,
}

/// The answer to a call and to its result, in the words of the recordings.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Allowed,
    Denied,
    Warned,
    Redacted,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AuditAction {
    Observed,
}

/// What came of a call.
struct Came {
    answer: Answer,
    message: String,
    /// The tags of the rule that decided.
    tags: Vec<String>,
    /// Whether some rule would have decided otherwise, had it not only observed.
    is_observed: bool,
}

impl Case for VerdictCase {
    fn id(&self) -> &str {
        &self.id
    }

    fn unknown(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

impl VerdictCase {
    fn play(&self, rulesets: &BTreeMap<String, Value>) -> Result<Result<(), Differs>, String> {
        let (policy, diagnostics) = lockgate::engine::languages::read(&self.sources(rulesets)?);
        let Some(policy) = policy else {
            let got = format!("no policy: {}", mistakes(&diagnostics).collect::<Vec<_>>().join("; "));
            return Ok(Err(Differs { expected: format!("{:?}", self.expected.verdict), got }));
        };
        let gate = self.gate(policy)?;
        let came = self.ask(&gate)?;
        Ok(self.compare(&came))
    }

    /// The ruleset and all that it extends.
    fn sources(&self, rulesets: &BTreeMap<String, Value>) -> Result<Vec<Source>, String> {
        let Value::String(name) = &self.contract else {
            return Ok(vec![source("contract", &self.contract)?]);
        };
        let mut names: Vec<&str> = Vec::new();
        let mut sources = Vec::new();
        let mut next = Some(name.as_str());
        // Of a circle each ruleset is read once, and the policy says what is wrong with it.
        while let Some(name) = next.filter(|name| !names.contains(name)) {
            let ruleset = rulesets.get(name).ok_or_else(|| format!("no ruleset is called `{name}`"))?;
            names.push(name);
            sources.push(source(name, ruleset)?);
            next = ruleset.get("extends").and_then(Value::as_str);
        }
        Ok(sources)
    }

    fn gate(&self, policy: Policy) -> Result<Gate, String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let variables = self.environment.iter().map(|(name, value)| (name.clone(), text(value)));
        let gate = Gate::builder(policy).variables(variables).build().map_err(|error| error.to_string())?;
        if let Some(Counted { attempts, tool_calls, per_tool }) = &self.session {
            let counts = Counts { attempts: *attempts, tool_calls: *tool_calls };
            let per_tool: Vec<(String, u64)> = per_tool.clone().into_iter().collect();
            gate.seed(SESSION, counts, &per_tool).map_err(|error| error.to_string())?;
        }
        Ok(gate)
    }

    fn call(&self) -> Call {
        let Envelope { tool_name, arguments } = &self.envelope;
        let mut call = Call::new(self.id.as_str(), tool_name.as_str()).in_session(SESSION).at(NOW);
        call.input = arguments.clone();
        call.about.principal = self.principal.clone();
        call.about.metadata = self.call_metadata.clone();
        call
    }

    fn ask(&self, gate: &Gate) -> Result<Came, String> {
        let call = self.call();
        let mut verdict = if self.approval_pending { gate.call_unattended(&call) } else { gate.call(&call) };
        let mut at = NOW;
        while let (Decision::Ask, Some(approval)) = (verdict.decision, &verdict.approval) {
            let answered = if self.timeout_expired {
                let asked = gate.question(approval).map_err(|error| error.to_string())?;
                at = asked.ok_or("the question is not open")?.deadline;
                gate.time_out(approval, at)
            } else {
                gate.answer(approval, self.approval_decision != Some(Approval::Rejected), at)
            };
            verdict = answered.map_err(|error| error.to_string())?;
        }
        let mut came = Came {
            answer: if verdict.lets_pass() { Answer::Allowed } else { Answer::Denied },
            message: verdict.reason.clone(),
            tags: verdict.obstacles.first().map(|obstacle| obstacle.tags.clone()).unwrap_or_default(),
            is_observed: !verdict.observed.is_empty(),
        };
        if verdict.lets_pass() {
            let outcome = Outcome { output: self.result.clone(), at, ..Outcome::success(&call) };
            came.take_in(&gate.result(&outcome).map_err(|error| error.to_string())?, gate.policy());
        }
        Ok(came)
    }

    fn compare(&self, came: &Came) -> Result<(), Differs> {
        let Expected { verdict, message_contains, audit_action, tags: wanted_tags } = &self.expected;
        let differs = |expected: String, got: String| Err(Differs { expected, got });
        if came.answer != *verdict {
            return differs(format!("{verdict:?}"), format!("{:?}: {:?}", came.answer, came.message));
        }
        if let Some(part) = message_contains.as_ref().filter(|part| !came.message.contains(*part)) {
            return differs(format!("a message with {part:?} in it"), format!("{:?}", came.message));
        }
        if let (Some(AuditAction::Observed), false) = (audit_action, came.is_observed) {
            return differs("a rule that observes".into(), "none".into());
        }
        match wanted_tags {
            Some(wanted) if *wanted != came.tags => {
                differs(format!("the tags {wanted:?}"), format!("{:?}", came.tags))
            }
            _ => Ok(()),
        }
    }
}

impl Came {
    fn take_in(&mut self, settlement: &Settlement, policy: &Policy) {
        self.answer = match settlement.decision {
            OutputDecision::Allow => return,
            OutputDecision::Warn => Answer::Warned,
            OutputDecision::Redact => Answer::Redacted,
            OutputDecision::Block => Answer::Denied,
        };
        self.message = settlement.reason.clone().unwrap_or_default();
        // A settlement says the rule's sentence, and not its name.
        let rule = policy.outputs().iter().find(|rule| rule.sentence == self.message);
        self.tags = rule.map(|rule| rule.tags.clone()).unwrap_or_default();
    }
}
