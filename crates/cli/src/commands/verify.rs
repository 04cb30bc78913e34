//! `lockgate verify`: what the rules are, and what is wrong with them.
//!
//! Mistakes that keep a policy from loading are findings like the others, with severity `error`: exit 1. Only a
//! file that cannot be read at all is exit 2.

use std::{env, fs, io};

use clap::{Args, ValueEnum};
use lockgate::{
    LeftOutRule, Verification,
    engine::{
        Severity, Source,
        call::visible,
        gate::Rulebook,
        languages::{KnownTools, check_names},
        prover::ProvedClaim,
    },
};
use lockgate_agents::{Environment, settings};

use super::in_force;
use crate::{
    arguments::{KnownToolsArguments, PolicyArguments},
    console::{CommandError, Console, Ending, bold, dim, wrong},
    known_tools::{agents_of, known_tools, unheard},
    pages::drawn,
    progress::Progress,
    protocol::encode,
    reports::{annotation, sarif},
    session_text::write_session,
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
    let options = lockgate::engine::languages::Options { is_unlinted: true, ..Default::default() };
    if let (Some(policy), _) = lockgate::engine::languages::load(&sources, options)
        && let Some(line) = unheard(&policy, &agents_of(&arguments.known, &arguments.policy.files))
    {
        writeln!(console.err, "{}: {}", wrong("warning"), visible(&line))?;
    }
    round(&sources, &VerifyOptions::new(arguments, json)?, console)
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
        "run `gate` and `check` with `--exec`, or write `exec = true` into `lockgate.toml`, if the agent may run such programs",
    ) {
        writeln!(console.err, "{}: {}", wrong("warning"), visible(&line))?;
    }
    Ok(())
}

/// What is looked for, and how it is told.
pub(super) struct VerifyOptions {
    known: KnownTools,
    strict: bool,
    pub(super) format: ReportFormat,
}

impl VerifyOptions {
    pub(super) fn new(arguments: &VerifyArguments, json: bool) -> Result<Self, CommandError> {
        let known = known_tools(&arguments.known, &arguments.policy.files)?;
        let format = if json { ReportFormat::Json } else { arguments.format };
        Ok(Self { known, strict: arguments.strict, format })
    }
}

/// Verifies what was read, and says what it found.
pub(super) fn round(
    sources: &[Source],
    wanted: &VerifyOptions,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (policy, mut findings) = lockgate::engine::languages::read(sources);
    check_names(&mut findings, sources, &wanted.known, policy.as_ref());
    let progress = Progress::start("proving", wanted.format != ReportFormat::Text);
    let verified = Verification::of(policy.map(Rulebook::new).as_ref(), findings, sources);
    drop(progress);
    let report = Report(&verified);
    match wanted.format {
        ReportFormat::Json => writeln!(console.out, "{}", encode(&verified))?,
        ReportFormat::Sarif => {
            writeln!(console.out, "{}", encode(&sarif(verified.findings(), verified.accepted())))?;
        }
        ReportFormat::Github => {
            for finding in verified.findings() {
                writeln!(console.out, "{}", annotation(finding))?;
            }
            writeln!(console.out, "{}", report.summary())?;
        }
        ReportFormat::Text => {
            report.write_rules(console.out)?;
            report.write_findings(console.out)?;
            report.write_claims(console.out)?;
            writeln!(console.out, "{}", report.summary())?;
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

/// A verification as people read it.
pub(crate) struct Report<'a>(pub(crate) &'a Verification);

impl Report<'_> {
    /// One sentence.
    pub(crate) fn summary(&self) -> String {
        let findings: Vec<String> =
            [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
                .into_iter()
                .filter(|(severity, _)| *severity == Severity::Error || self.0.count(*severity) > 0)
                .map(|(severity, what)| counted(self.0.count(severity), what))
                .collect();
        let findings = findings.join(", ");
        if self.0.policy().is_none() {
            return findings;
        }
        let at_least = if self.0.has_all_states() { "" } else { "at least " };
        let rules = counted(self.0.rules().count(), "rule");
        let groups = counted(self.0.components(), "independent group");
        let states = format!("{groups}, {at_least}{} states", self.0.states());
        match (self.0.nets().len(), self.0.rules().count()) {
            (0, 1..) => format!("{rules}: {findings}"),
            (nets, all) if nets == all => format!("{rules} in {states}: {findings}"),
            (nets, _) => format!("{rules}, of them {} in {states}: {findings}", counted(nets, "net")),
        }
    }

    /// Each rule with its states and its place.
    pub(crate) fn write_rules(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let widest = self.0.rules().map(|rule| rule.name.chars().count()).max().unwrap_or(0).max(4);
        if self.0.rules().next().is_none() {
            return Ok(());
        }
        writeln!(out, "{}", bold(format!("{:widest$}  {:>8}  place", "rule", "states")))?;
        let mut reports = self.0.nets().iter().peekable();
        for rule in self.0.rules() {
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
        if self.0.findings().is_empty() {
            return Ok(());
        }
        writeln!(out, "{}\n", drawn(self.0.findings()))?;
        for finding in self.0.shown_findings() {
            let place = finding.diagnostic.source.place(finding.diagnostic.span);
            let place = visible(&format!("{}:{}", place.file, place.line));
            writeln!(out, "{} at {place}, the session that shows it:\n", bold(finding.diagnostic.code))?;
            write_session(out, &finding.session)?;
        }
        Ok(())
    }

    /// What was claimed, and what was not looked at.
    fn write_claims(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for ProvedClaim { report, .. } in self.0.claims() {
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
        if !self.0.claims().is_empty() {
            writeln!(out)?;
        }
        if !self.0.accepted().is_empty() {
            let text = format!("{} accepted with a reason", counted(self.0.accepted().len(), "finding"));
            writeln!(out, "{}", dim(text))?;
        }
        let undecided = self.0.undecided();
        let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
        for LeftOutRule { rule, why, .. } in self.0.left_out() {
            match whys.iter_mut().find(|(known, _)| *known == why) {
                Some((_, rules)) => rules.push(rule),
                None => whys.push((why, vec![rule])),
            }
        }
        for (why, rules) in whys {
            let text = format!("not part of the proof: {} ({why})", listed(&rules));
            writeln!(out, "{}", dim(visible(&text)))?;
        }
        for question in undecided.iter().take(UNDECIDED_SHOWN_MAX) {
            writeln!(out, "{}", dim(visible(&format!("not decided: {question}"))))?;
        }
        let more = undecided.len().saturating_sub(UNDECIDED_SHOWN_MAX);
        if more > 0 {
            writeln!(out, "{}", dim(format!("not decided: {more} more, which --json lists")))?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use lockgate_agents::{Agent, settings::starter_policy};

    use super::*;

    #[test]
    fn the_built_in_policy_has_nothing_wrong_with_it() {
        for agents in Agent::ALL.iter().map(std::slice::from_ref).chain([Agent::ALL]) {
            let sources = [Source::new("policy.rules", starter_policy(agents))];
            let (policy, findings) = lockgate::engine::languages::read(&sources);
            let verified = Verification::of(policy.map(Rulebook::new).as_ref(), findings, &sources);
            let summary = Report(&verified).summary();
            assert!(summary.ends_with(" states: no errors"), "{agents:?}: {summary}");
        }
    }
}
