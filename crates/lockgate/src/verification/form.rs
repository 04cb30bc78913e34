//! The documented JSON of a verification.

use std::collections::HashMap;

use lockgate_policy::{Diagnostic, Place, Policy, Rule, RuleId};
use lockgate_prover::{Finding, ProvedClaim, TraceStep, protocol_lines, trace};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{LeftOutRule, Verification, key_of};

impl Serialize for Verification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        VerificationForm::of(self).serialize(serializer)
    }
}

/// What `verify --json` prints.
#[derive(Debug, Serialize)]
struct VerificationForm<'a> {
    policy: Option<String>,
    rules: usize,
    components: usize,
    states: u64,
    exact: bool,
    nets: Vec<NetForm<'a>>,
    findings: Vec<FindingForm<'a>>,
    claims: Vec<ClaimForm<'a>>,
    /// What was not decided, beside claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undecided: Vec<&'a str>,
    /// The rules that the proof does not know to the letter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutRule<'a>>,
}

impl<'a> VerificationForm<'a> {
    fn of(verification: &'a Verification) -> Self {
        let nets = verification.nets.iter().map(|net| NetForm { name: &net.name, states: net.states });
        Self {
            policy: verification.policy().map(|policy| policy.hash().to_string()),
            rules: verification.rules().count(),
            components: verification.components(),
            states: verification.states(),
            exact: verification.is_exact(),
            nets: nets.collect(),
            findings: finding_forms(verification),
            claims: verification.claims().iter().map(ClaimForm::new).collect(),
            undecided: verification.undecided().iter().map(String::as_str).collect(),
            left_out: verification.left_out().collect(),
        }
    }
}

fn finding_forms(verification: &Verification) -> Vec<FindingForm<'_>> {
    let mut proved: HashMap<_, &Finding> = HashMap::new();
    for finding in verification.proved_findings() {
        proved.entry(key_of(&finding.diagnostic)).or_insert(finding);
    }
    let form =
        |finding| FindingForm::new(finding, proved.get(&key_of(finding)).copied(), verification.policy());
    verification.findings.iter().map(form).collect()
}

#[derive(Debug, Serialize)]
struct NetForm<'a> {
    name: &'a str,
    states: u64,
}

#[derive(Debug, Serialize)]
struct FindingForm<'a> {
    code: &'static str,
    severity: String,
    message: &'a str,
    rules: Vec<&'a str>,
    tools: Vec<String>,
    r#where: [Place; 1],
    trace: Vec<TraceStep<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

/// What became of a claim.
#[derive(Debug, Serialize)]
struct ClaimForm<'a> {
    text: &'a str,
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undecided: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<TraceStep<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

impl<'a> ClaimForm<'a> {
    fn new(ProvedClaim { report, session }: &'a ProvedClaim) -> Self {
        Self {
            text: report.claim.source.slice(report.claim.span),
            holds: report.holds,
            undecided: report.undecided.as_deref(),
            trace: trace(session),
            lines: protocol_lines(session),
        }
    }
}

impl<'a> FindingForm<'a> {
    fn new(finding: &'a Diagnostic, proved: Option<&'a Finding>, policy: Option<&'a Policy>) -> Self {
        let place = finding.source.place(finding.span);
        let touches = |rule: &&Rule| {
            let is_workflow = || policy.is_some_and(|policy| policy.workflow(rule.id).is_some());
            let is_inside = rule.span.start < finding.span.end && finding.span.start < rule.span.end;
            // All of a workflow's file is about the workflow, whose span is only its name.
            (is_inside || is_workflow()) && rule.source == finding.source
        };
        let about: Vec<&Rule> = policy.into_iter().flat_map(Policy::rules).filter(touches).collect();
        let nets = about.iter().filter_map(|rule| policy.and_then(|policy| policy.net(rule.id)));
        let names = nets.flat_map(|rule| rule.net.names());
        let mut tools: Vec<String> = names.map(|name| name.to_string()).collect();
        tools.sort();
        tools.dedup();
        let rule_name =
            |rule: &RuleId| policy.and_then(|policy| policy.rule(*rule)).map(|rule| rule.name.as_str());
        let rules = match proved {
            Some(proved) if !proved.rules.is_empty() => proved.rules.iter().filter_map(rule_name).collect(),
            _ => about.iter().map(|rule| rule.name.as_str()).collect(),
        };
        if let Some(proved) = proved.filter(|proved| !proved.tools.is_empty()) {
            tools = proved.tools.iter().map(ToString::to_string).collect();
        }
        Self {
            code: finding.code,
            severity: finding.severity.to_string(),
            message: &finding.message,
            rules,
            tools,
            r#where: [place],
            trace: proved.map(|proved| trace(&proved.session)).unwrap_or_default(),
            lines: proved.map(|proved| protocol_lines(&proved.session)).unwrap_or_default(),
            remedy: finding.remedy.as_deref(),
        }
    }
}
