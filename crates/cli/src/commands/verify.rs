//! `lockgate verify`: what the rules are, and what is wrong with them.
//!
//! Mistakes that keep a policy from loading are findings like the others, with severity `error`: exit 1. Only a
//! file that cannot be read at all is exit 2.

use std::{
    collections::{HashMap, HashSet},
    env, fs, io,
    sync::Arc,
};

use clap::{Args, ValueEnum};
use lockgate::engine::{
    Diagnostic, Policy, Severity, Source,
    call::visible,
    gate::Rulebook,
    languages::{AcceptedFinding, KnownTools, accept, check_names, render},
    policy::{NetRule, Place, Rule, RuleId},
    prover::{Finding, NetReport, Proved, ProvedClaim, prove, verify},
};
use lockgate_agents::{Environment, settings};
use serde::Serialize;
use serde_json::Value;

use super::in_force;
use crate::{
    arguments::{KnownToolsArguments, PolicyArguments},
    console::{CommandError, Console, Ending, bold, dim, wrong},
    known_tools::known_tools,
    progress::Progress,
    protocol::encode,
    reports::{annotation, sarif},
    session_text::{StepAnswer, lines, steps, write_session},
};

pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  lockgate verify                     the policy in force in this folder
  lockgate verify ops.rules
  lockgate verify policies/ --json | jq '.findings[].message'
  lockgate verify ops.rules --watch   again after every change, until Ctrl-C
  lockgate verify ops.rules --tools tools.json    does every tool name exist?
  lockgate verify ops.rules --agent claude-code   names Claude Code lacks
  lockgate verify ops.rules --strict --format github
  lockgate verify line.pnml           explore a Petri net of another tool

Exit 0: no errors and every claim holds, 1: an error, a broken claim, or with
--strict a warning, 2: a claim was not decided, or a file could not be read.
For a net 2 means that not every state was explored; with --strict 1 means a
deadlock, a dead transition or a place without a bound.";

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    /// Verify again whenever a file of the policy changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: end after this many rounds; for scripts and tests
    #[arg(long, value_name = "N", requires = "watch", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
    #[command(flatten)]
    pub(crate) known: KnownToolsArguments,
    /// Fail on warnings, too: exit 1
    #[arg(long)]
    pub(crate) strict: bool,
    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub(crate) format: ReportFormat,
    /// Rewrite old words in the files first, as `lockgate migrate --write`
    #[arg(long, conflicts_with = "watch")]
    pub(crate) fix: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object, as with --json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
}

pub(crate) fn run(
    arguments: &VerifyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if arguments.fix && arguments.policy.files.is_empty() {
        // Only files that are named are rewritten, so that self-protection sees which files a command would change.
        let text = "`--fix` rewrites the files that you name; name at least one".to_owned();
        return Err(CommandError::Said(text));
    }
    let mut sources = in_force::sources(&arguments.policy.files, console)?;
    if arguments.fix {
        sources = super::migrate::fix(&sources, console)?;
    }
    tell_of_hooks(&sources, console)?;
    round(&sources, &Wanted::new(arguments, json)?, console)
}

/// Prints what hooks make of this policy and its text does not show: what of the project's waits for trust, and programs that are
/// not run.
fn tell_of_hooks(sources: &[Source], console: &mut Console<'_>) -> Result<(), CommandError> {
    let found = settings::find(&env::current_dir()?, &Environment::of_process()).ok();
    let project = found.as_ref().and_then(|settings| settings.project.as_ref());
    let own = project.and_then(|project| project.sources().ok()).unwrap_or_default();
    let is_own = |source: &Source| {
        let real = fs::canonicalize(source.name());
        real.is_ok_and(|real| own.iter().any(|own| fs::canonicalize(own.name()).is_ok_and(|own| own == real)))
    };
    let is_verified = sources.iter().any(is_own);
    if let Some(line) = found.as_ref().filter(|_| is_verified).and_then(settings::waiting_line_of_files) {
        writeln!(console.err, "{}: {}", wrong("warning"), visible(&line))?;
    }
    let runs = found.as_ref().is_some_and(|settings| settings.exec);
    if let (false, (Some(policy), _)) = (
        runs,
        lockgate::engine::languages::load(
            sources,
            lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() },
        ),
    ) && let Some(line) = settings::exec_not_run(
        &policy,
        "run `gate` and `check` with `--exec`, or write `exec = true` into `lockgate.toml`",
    ) {
        writeln!(console.err, "{}: {}", wrong("warning"), visible(&line))?;
    }
    Ok(())
}

/// What is looked for, and how it is told.
pub(super) struct Wanted {
    known: KnownTools,
    strict: bool,
    pub(super) format: ReportFormat,
}

impl Wanted {
    pub(super) fn new(arguments: &VerifyArguments, json: bool) -> Result<Self, CommandError> {
        let known = known_tools(&arguments.known, &arguments.policy.files)?;
        let format = if json { ReportFormat::Json } else { arguments.format };
        Ok(Self { known, strict: arguments.strict, format })
    }
}

/// Verifies what was read, and says what it found.
pub(super) fn round(
    sources: &[Source],
    wanted: &Wanted,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (policy, mut findings) = lockgate::engine::languages::read(sources);
    check_names(&mut findings, sources, &wanted.known, policy.as_ref());
    let progress = Progress::start("proving", wanted.format != ReportFormat::Text);
    let rulebook = policy.map(Rulebook::new);
    let verified = Verified::new(rulebook.as_ref(), findings, sources);
    drop(progress);
    match wanted.format {
        ReportFormat::Json => writeln!(console.out, "{}", encode(&verified.findings_answer()))?,
        ReportFormat::Sarif => {
            writeln!(console.out, "{}", encode(&sarif(&verified.findings, &verified.accepted)))?;
        }
        ReportFormat::Github => {
            for finding in &verified.findings {
                writeln!(console.out, "{}", annotation(finding))?;
            }
            writeln!(console.out, "{}", verified.summary())?;
        }
        ReportFormat::Text => {
            verified.write_rules(console.out)?;
            verified.write_findings(console.out)?;
            verified.write_claims(console.out)?;
            writeln!(console.out, "{}", verified.summary())?;
        }
    }
    // A claim that was not decided is not a yes.
    let is_open = verified.claims().iter().any(|claim| claim.report.holds.is_none());
    let has_doubts = wanted.strict && verified.count(Severity::Warning) > 0;
    Ok(match (verified.has_errors() || has_doubts, is_open) {
        (true, _) => Ending::No,
        (false, true) => Ending::CouldNotTell,
        (false, false) => Ending::Yes,
    })
}

/// All there is to say about a policy.
pub(crate) struct Verified<'a> {
    policy: Option<&'a Policy>,
    reports: Vec<NetReport>,
    findings: Vec<Diagnostic>,
    accepted: Vec<AcceptedFinding>,
    proved: Option<Proved>,
}

impl<'a> Verified<'a> {
    /// Looks at a policy; one that does not load has only findings.
    pub(crate) fn new(
        rulebook: Option<&'a Rulebook>,
        mut findings: Vec<Diagnostic>,
        sources: &[Source],
    ) -> Self {
        let policy = rulebook.map(|rulebook| &*rulebook.policy);
        let (reports, further) = policy.map(verify).unwrap_or_default();
        findings.extend(further);
        let proved = rulebook.map(prove);
        findings.extend(proved.iter().flat_map(|it| &it.findings).map(|it| it.diagnostic.clone()));
        let (findings, accepted) = match policy {
            Some(_) => accept(findings, sources),
            // What keeps a policy from loading cannot be accepted, and what it hides was not looked for.
            None => {
                let is_mistake = |it: &Diagnostic| it.severity == Severity::Error;
                let (mistakes, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_mistake);
                let (others, accepted) = accept(others, sources);
                let others = others.into_iter().filter(|it| it.code != "idle-acceptance");
                (mistakes.into_iter().chain(others).collect(), accepted)
            }
        };
        Self { policy, reports, findings, accepted, proved }
    }

    /// What was proved; empty where the policy does not load.
    fn proved(&self) -> impl Iterator<Item = &Finding> {
        self.proved.iter().flat_map(|proved| &proved.findings)
    }

    /// Each claim of the policy with what became of it.
    pub(crate) fn claims(&self) -> &[ProvedClaim] {
        self.proved.as_ref().map(|proved| proved.claims.as_slice()).unwrap_or_default()
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// One sentence.
    pub(crate) fn summary(&self) -> String {
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
        let widest = self.rules().map(|rule| rule.name.chars().count()).max().unwrap_or(0).max(4);
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

    fn write_findings(&self, out: &mut dyn io::Write) -> io::Result<()> {
        if self.findings.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}\n", render(&self.findings, true))?;
        let told: HashSet<_> = self.findings.iter().map(key_of).collect();
        let is_told =
            |finding: &&Finding| !finding.session.is_empty() && told.contains(&key_of(&finding.diagnostic));
        for finding in self.proved().filter(is_told) {
            let place = finding.diagnostic.source.place(finding.diagnostic.span);
            let place = visible(&format!("{}:{}", place.file, place.line));
            writeln!(out, "{} at {place}, the session that shows it:\n", bold(finding.diagnostic.code))?;
            write_session(out, &finding.session)?;
        }
        Ok(())
    }

    /// What was claimed, and what was not looked at.
    fn write_claims(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for ProvedClaim { report, .. } in self.claims() {
            let said = visible(report.claim.source.slice(report.claim.span));
            match (report.holds, &report.undecided) {
                (Some(true), _) => writeln!(out, "{:<10} {said}", "proved")?,
                (Some(false), _) => writeln!(out, "{:<10} {said}", "false")?,
                (None, why) => {
                    let why = why.as_deref().unwrap_or("not decided");
                    writeln!(out, "{:<10} {said}  {}", "undecided", dim(visible(why)))?;
                }
            }
        }
        if !self.claims().is_empty() {
            writeln!(out)?;
        }
        if !self.accepted.is_empty() {
            let text = format!("{} accepted with a reason", counted(self.accepted.len(), "finding"));
            writeln!(out, "{}", dim(text))?;
        }
        let Some(proved) = &self.proved else { return Ok(()) };
        let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
        for LeftOutAnswer { rule, why } in self.left_out() {
            match whys.iter_mut().find(|(known, _)| *known == why) {
                Some((_, rules)) => rules.push(rule),
                None => whys.push((why, vec![rule])),
            }
        }
        for (why, rules) in whys {
            let each = if rules.len() > 1 { "each " } else { "" };
            let text = format!("proved without all of {}, {each}because {why}", listed(&rules));
            writeln!(out, "{}", dim(visible(&text)))?;
        }
        for question in proved.undecided.iter().take(UNDECIDED_SHOWN_MAX) {
            writeln!(out, "{}", dim(visible(&format!("not decided: {question}"))))?;
        }
        let more = proved.undecided.len().saturating_sub(UNDECIDED_SHOWN_MAX);
        if more > 0 {
            writeln!(out, "{}", dim(format!("not decided: {more} more, which --json lists")))?;
        }
        Ok(())
    }

    /// The same in the shape of the protocol.
    pub(crate) fn findings_answer(&self) -> FindingsAnswer<'_> {
        FindingsAnswer {
            policy: self.policy.map(|policy| policy.hash().to_string()),
            rules: self.rules().count(),
            components: self.components(),
            states: self.states(),
            exact: self.is_exact() && self.proved.as_ref().is_some_and(Proved::is_exact),
            nets: self
                .reports
                .iter()
                .map(|report| NetAnswer { name: &report.name, states: report.states })
                .collect(),
            findings: self.finding_answers(),
            claims: self.claims().iter().map(ClaimAnswer::new).collect(),
            undecided: self.proved.iter().flat_map(|it| &it.undecided).map(String::as_str).collect(),
            left_out: self.left_out().collect(),
        }
    }

    fn finding_answers(&self) -> Vec<FindingAnswer<'_>> {
        let mut proved: HashMap<_, &Finding> = HashMap::new();
        for finding in self.proved() {
            proved.entry(key_of(&finding.diagnostic)).or_insert(finding);
        }
        let answer =
            |finding| FindingAnswer::new(finding, proved.get(&key_of(finding)).copied(), self.policy);
        self.findings.iter().map(answer).collect()
    }

    /// The rules that the proof does not know to the letter.
    fn left_out(&self) -> impl Iterator<Item = LeftOutAnswer<'_>> {
        let mut last = None;
        self.proved.iter().flat_map(|it| &it.left_out).filter_map(move |left| {
            let rule = self.policy?.rule(left.rule)?;
            let why = left.why.words();
            // A rule that is lowered to several is one for its author.
            let written = Some((rule.name.as_str(), &rule.place, why));
            let is_new = last != written;
            last = written;
            is_new.then_some(LeftOutAnswer { rule: &rule.name, why })
        })
    }

    /// All rules as they are written, in file order: one that is lowered to several is one.
    fn rules(&self) -> impl Iterator<Item = &'a Rule> + use<'a> {
        let mut last = None;
        self.policy.into_iter().flat_map(Policy::rules).filter(move |rule| {
            let written = Some((rule.name.as_str(), &rule.place));
            let is_new = last != written;
            last = written;
            is_new
        })
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

/// What tells a finding from all others.
fn key_of(finding: &Diagnostic) -> (&str, &str, &str, usize, usize) {
    (finding.code, &finding.message, finding.source.name(), finding.span.start, finding.span.end)
}

/// How many questions are named that were not decided; of more, how many there are.
const UNDECIDED_SHOWN_MAX: usize = 10;

/// How many names are listed; of more, the first ones and how many there are.
const LISTED_MAX: usize = 3;

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(LISTED_MAX) {
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
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
    claims: Vec<ClaimAnswer<'a>>,
    /// What was not decided, beside claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undecided: Vec<&'a str>,
    /// The rules that the proof does not know to the letter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutAnswer<'a>>,
}

#[derive(Debug, Serialize)]
struct LeftOutAnswer<'a> {
    rule: &'a str,
    why: &'static str,
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
    r#where: [Place; 1],
    trace: Vec<StepAnswer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

/// What became of a claim.
#[derive(Debug, Serialize)]
struct ClaimAnswer<'a> {
    text: &'a str,
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undecided: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<StepAnswer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

impl<'a> ClaimAnswer<'a> {
    fn new(ProvedClaim { report, session }: &'a ProvedClaim) -> Self {
        Self {
            text: report.claim.source.slice(report.claim.span),
            holds: report.holds,
            undecided: report.undecided.as_deref(),
            trace: steps(session),
            lines: lines(session),
        }
    }
}

impl<'a> FindingAnswer<'a> {
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
            trace: proved.map(|proved| steps(&proved.session)).unwrap_or_default(),
            lines: proved.map(|proved| lines(&proved.session)).unwrap_or_default(),
            remedy: finding.remedy.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_agents::{Agent, settings::starter_policy};

    use super::*;

    #[test]
    fn the_built_in_policy_has_nothing_wrong_with_it() {
        for agents in Agent::ALL.iter().map(std::slice::from_ref).chain([Agent::ALL]) {
            let sources = [Source::new("policy.rules", starter_policy(agents))];
            let (policy, findings) = lockgate::engine::languages::read(&sources);
            let rulebook = policy.map(Rulebook::new);
            let verified = Verified::new(rulebook.as_ref(), findings, &sources);
            assert!(verified.summary().ends_with(" states: no errors"), "{agents:?}: {}", verified.summary());
        }
    }

    #[test]
    fn rules_that_share_a_name_are_one_group() {
        for (rules, groups) in [
            ("block a", 1),
            ("block a\nblock b", 2),
            ("block a\nrequire a before b\nlimit b to 2 per session", 1),
            ("require a before b\nrequire c before d\nrequire b before c\nblock e", 2),
            ("limit a to 2 per b\nlimit c to 2 per d\nlimit d to 2 per e\nlimit e to 2 per b", 1),
        ] {
            assert_eq!(
                components(lockgate::Policy::rules(rules).unwrap().compiled().nets()),
                groups,
                "{rules}"
            );
        }
    }
}
