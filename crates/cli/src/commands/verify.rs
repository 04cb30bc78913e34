//! `lockgate verify`: what the rules are, and what is wrong with them.
//!
//! Mistakes that keep a policy from loading are findings like the others, with severity `error`: exit 1. Only a
//! file that cannot be read at all is exit 2.

use std::{collections::HashMap, io, sync::Arc};

use lockgate::{
    Diagnostic, Policy, Severity,
    call::visible,
    policy::{NetReport, NetRule, Rule, render, verify},
    read_sources,
};
use serde::Serialize;

use crate::{
    args::PolicyArguments,
    console::{CommandError, Console, Ending, bold, dim},
    protocol::encode,
};

pub(crate) fn run(
    arguments: &PolicyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let sources = read_sources(&arguments.files).map_err(super::told)?;
    let (policy, findings) = Policy::read(&sources);
    let verified = Verified::new(policy.as_ref(), findings);
    if json {
        writeln!(console.out, "{}", encode(&verified.findings_answer()))?;
    } else {
        verified.write_rules(console.out)?;
        verified.write_findings(console.out)?;
        writeln!(console.out, "{}", verified.summary())?;
    }
    Ok(if verified.has_errors() { Ending::No } else { Ending::Yes })
}

/// All there is to say about a policy.
pub(crate) struct Verified<'a> {
    policy: Option<&'a Policy>,
    reports: Vec<NetReport>,
    findings: Vec<Diagnostic>,
}

impl<'a> Verified<'a> {
    /// Looks at a policy; one that does not load has only findings.
    pub(crate) fn new(policy: Option<&'a Policy>, mut findings: Vec<Diagnostic>) -> Self {
        let (reports, further) = policy.map(verify).unwrap_or_default();
        findings.extend(further);
        Self { policy, reports, findings }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// One sentence.
    pub(crate) fn summary(&self) -> String {
        let counted = |count: usize, what: &str| match count {
            0 => format!("no {what}s"),
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let findings: Vec<String> =
            [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
                .into_iter()
                .filter(|(severity, _)| *severity == Severity::Error || self.count(*severity) > 0)
                .map(|(severity, what)| counted(self.count(severity), what))
                .collect();
        let findings = findings.join(", ");
        if self.policy.is_none() {
            return findings;
        }
        let at_least = if self.is_exact() { "" } else { "at least " };
        let rules = counted(self.rules().count(), "rule");
        let groups = counted(self.components(), "independent group");
        let states = format!("{groups}, {at_least}{} states", self.states());
        match (self.reports.len(), self.rules().count()) {
            (0, 1..) => format!("{rules}: {findings}"),
            (nets, all) if nets == all => format!("{rules} in {states}: {findings}"),
            (nets, _) => format!("{rules}, of them {} in {states}: {findings}", counted(nets, "net")),
        }
    }

    /// Each rule with its states and its place.
    pub(crate) fn write_rules(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let widest = self.rules().map(|rule| rule.name.chars().count()).max().unwrap_or(0).clamp(4, 48);
        if self.rules().next().is_none() {
            return Ok(());
        }
        writeln!(out, "{}", bold(format!("{:widest$}  {:>8}  place", "rule", "states")))?;
        let mut reports = self.reports.iter().peekable();
        for rule in self.rules() {
            let (states, more) = match reports.next_if(|report| report.rule == rule.id) {
                Some(report) => (report.states.to_string(), if report.is_exact { ' ' } else { '+' }),
                None => ("–".to_owned(), ' '),
            };
            let place = format!("{}:{}", rule.place.file, rule.place.line);
            let (name, place) = (visible(&rule.name), visible(&place));
            writeln!(out, "{name:widest$}  {states:>8}{more} {}", dim(place))?;
        }
        writeln!(out)
    }

    /// Each finding in one line.
    pub(crate) fn write_findings_briefly(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &self.findings {
            let line = finding.source.place(finding.span).line;
            let text = format!("{}: line {line}: {}", finding.severity, finding.message);
            writeln!(out, "{}", dim(visible(&text)))?;
        }
        Ok(())
    }

    fn write_findings(&self, out: &mut dyn io::Write) -> io::Result<()> {
        if self.findings.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}\n", render(&self.findings, true))
    }

    /// The same in the shape of the protocol.
    pub(crate) fn findings_answer(&self) -> FindingsAnswer<'_> {
        FindingsAnswer {
            policy: self.policy.map(|policy| policy.hash().to_string()),
            rules: self.rules().count(),
            components: self.components(),
            states: self.states(),
            exact: self.is_exact(),
            nets: self
                .reports
                .iter()
                .map(|report| NetAnswer { name: &report.name, states: report.states })
                .collect(),
            findings: self.findings.iter().map(|finding| FindingAnswer::new(finding, self.policy)).collect(),
            claims: [],
        }
    }

    /// All rules, in file order.
    fn rules(&self) -> impl Iterator<Item = &'a Rule> + use<'a> {
        self.policy.into_iter().flat_map(Policy::rules)
    }

    /// How many groups of rules there are that share no name with each other.
    fn components(&self) -> usize {
        match self.policy {
            // A workflow has a say about every tool, open or not, so it is in one group with all others.
            Some(policy) if !policy.workflows().is_empty() => 1,
            Some(policy) => components(policy.nets()),
            None => 0,
        }
    }

    fn states(&self) -> u64 {
        self.reports.iter().fold(0, |sum, report| sum.saturating_add(report.states))
    }

    fn is_exact(&self) -> bool {
        self.policy.is_some() && self.reports.iter().all(|report| report.is_exact)
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// How many groups of rules there are that share no name with each other.
fn components(rules: &[NetRule]) -> usize {
    let mut group_of: Vec<usize> = (0..rules.len()).collect();
    let mut first_with: HashMap<Arc<str>, usize> = HashMap::new();
    let mut groups = rules.len();
    for (index, rule) in rules.iter().enumerate() {
        for name in rule.net.names() {
            let first = *first_with.entry(name).or_insert(index);
            let (one, other) = (leader(&mut group_of, first), leader(&mut group_of, index));
            if let (true, Some(group)) = (one != other, group_of.get_mut(other)) {
                *group = one;
                groups -= 1;
            }
        }
    }
    groups
}

/// The rule that stands for a rule's group. Every look shortens the way for the next one.
fn leader(group_of: &mut [usize], mut index: usize) -> usize {
    while let Some(above) = group_of.get(index).copied().filter(|above| *above != index) {
        let beyond = group_of.get(above).copied().unwrap_or(above);
        if let Some(group) = group_of.get_mut(index) {
            *group = beyond;
        }
        index = above;
    }
    index
}

/// What `verify --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct FindingsAnswer<'a> {
    policy: Option<String>,
    rules: usize,
    components: usize,
    states: u64,
    exact: bool,
    nets: Vec<NetAnswer<'a>>,
    findings: Vec<FindingAnswer<'a>>,
    claims: [(); 0],
}

#[derive(Debug, Serialize)]
struct NetAnswer<'a> {
    name: &'a str,
    states: u64,
}

#[derive(Debug, Serialize)]
struct FindingAnswer<'a> {
    code: &'static str,
    severity: String,
    message: &'a str,
    rules: Vec<&'a str>,
    tools: Vec<String>,
    r#where: [PlaceAnswer; 1],
    trace: [(); 0],
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct PlaceAnswer {
    file: String,
    line: usize,
    column: usize,
}

impl<'a> FindingAnswer<'a> {
    fn new(finding: &'a Diagnostic, policy: Option<&'a Policy>) -> Self {
        let place = finding.source.place(finding.span);
        let touches = |rule: &&Rule| {
            let is_workflow = policy.is_some_and(|policy| policy.workflow(rule.id).is_some());
            let is_inside = rule.span.start < finding.span.end && finding.span.start < rule.span.end;
            // All of a workflow's file is about the workflow, whose span is only its name.
            rule.source == finding.source && (is_inside || is_workflow)
        };
        let about: Vec<&Rule> = policy.into_iter().flat_map(Policy::rules).filter(touches).collect();
        let nets = about.iter().filter_map(|rule| policy.and_then(|policy| policy.net(rule.id)));
        let names = nets.flat_map(|rule| rule.net.names());
        let mut tools: Vec<String> = names.map(|name| name.to_string()).collect();
        tools.sort();
        tools.dedup();
        Self {
            code: finding.code,
            severity: finding.severity.to_string(),
            message: &finding.message,
            rules: about.iter().map(|rule| rule.name.as_str()).collect(),
            tools,
            r#where: [PlaceAnswer { file: place.file.to_string(), line: place.line, column: place.column }],
            trace: [],
            remedy: finding.remedy.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_share_a_name_are_one_group() {
        for (rules, groups) in [
            ("block a", 1),
            ("block a\nblock b", 2),
            ("block a\nrequire a before b\nlimit b to 2 per session", 1),
            ("require a before b\nrequire c before d\nrequire b before c\nblock e", 2),
            ("limit a to 2 per b\nlimit c to 2 per d\nlimit d to 2 per e\nlimit e to 2 per b", 1),
        ] {
            assert_eq!(components(lockgate::rules(rules).unwrap().nets()), groups, "{rules}");
        }
    }
}
