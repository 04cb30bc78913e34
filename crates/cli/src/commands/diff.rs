//! `lockgate diff`: what two policies let happen differently, with the sessions that tell them apart.

use std::{io, path::PathBuf, slice};

use clap::Args;
use lockgate::engine::{
    call::visible,
    gate::Rulebook,
    policy::{Rule, RuleId},
    prover::{DifferenceKind, Differences, ShownDifference, Undecided, diff, proof::Side},
};
use serde::Serialize;
use serde_json::Value;

use super::in_force;
use crate::{
    console::{CommandError, Console, Ending, bold, dim},
    progress::Progress,
    protocol::encode,
    session_text::{StepAnswer, lines, steps, write_session},
};

pub(crate) const DIFF_USAGE: &str = "lockgate diff [OPTIONS] [OLD] <NEW>";

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  lockgate diff old.rules new.rules
  lockgate diff new.rules             compare it with the policy in force
  lockgate diff main/policies policies --json | jq '.changes[].kind'

Exit 0: no session is judged differently, 1: some are, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The old policy, a file or a folder [default: the policy in force in this folder], and the new one
    #[arg(required = true, num_args = 1..=2, value_name = "POLICY")]
    pub(crate) policies: Vec<PathBuf>,
}

pub(crate) fn run(
    arguments: &DiffArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (old, new) = match arguments.policies.as_slice() {
        [old, new] => (slice::from_ref(old), slice::from_ref(new)),
        new => ([].as_slice(), new),
    };
    let mut open = |files: &[PathBuf]| in_force::open(files, console).map(Rulebook::new);
    let (old, new) = (open(old)?, open(new)?);
    let progress = Progress::start("comparing", json);
    let differences = diff(&old, &new).map_err(CommandError::said)?;
    drop(progress);
    let compared = Compared { old: &old, new: &new, differences: &differences };
    if json {
        writeln!(console.out, "{}", encode(&compared.answer()))?;
    } else {
        compared.write(console)?;
    }
    Ok(match (differences.shown.is_empty(), differences.undecided.is_empty()) {
        (true, true) => Ending::Yes,
        (false, _) => Ending::No,
        (true, false) => Ending::CouldNotTell,
    })
}

pub(super) struct Compared<'a> {
    pub(super) old: &'a Rulebook,
    pub(super) new: &'a Rulebook,
    pub(super) differences: &'a Differences,
}

fn title(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::NewlyAllowed => "newly allowed",
        DifferenceKind::NoLongerAsked => "no longer asked about",
        DifferenceKind::NewlyAsked => "newly asked about",
        DifferenceKind::NewlyBlocked => "newly blocked",
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Old => "old",
        Side::New => "new",
    }
}

impl Compared<'_> {
    fn rule(&self, of: Side, rule: RuleId) -> Option<&Rule> {
        match of {
            Side::Old => self.old.policy.rule(rule),
            Side::New => self.new.policy.rule(rule),
        }
    }

    fn rule_text(&self, of: Side, rule: RuleId) -> String {
        self.rule(of, rule).map_or_else(String::new, |rule| {
            let text = format!("{} ({} {}:{})", rule.name, side(of), rule.place.file, rule.place.line);
            visible(&text)
        })
    }

    fn write(&self, console: &mut Console<'_>) -> Result<(), CommandError> {
        self.write_to(console.out)
    }

    pub(super) fn write_to(&self, out: &mut dyn io::Write) -> Result<(), CommandError> {
        if self.differences.is_none() {
            writeln!(out, "no session tells them apart")?;
            return Ok(());
        }
        for ShownDifference { kind, tool, stricter, rule, session, old, new, reason, .. } in
            &self.differences.shown
        {
            let rule = self.rule_text(*stricter, *rule);
            writeln!(out, "{} {}  {}", bold(title(*kind)), visible(tool), dim(rule))?;
            writeln!(out, "{}", dim(format!("was {}, is {}: {}", old.word(), new.word(), visible(reason))))?;
            writeln!(out)?;
            write_session(out, session)?;
        }
        if self.differences.shown.is_empty() {
            writeln!(out, "no session was found that tells them apart, and not everything was decided")?;
        }
        let (shown, open): (Vec<_>, Vec<_>) = self.differences.undecided.iter().partition(|it| it.is_shown);
        if !shown.is_empty() {
            let rules: Vec<String> = shown.iter().map(|it| self.rule_text(it.side, it.rule)).collect();
            let text = format!("may make other differences as well: {}", rules.join(", "));
            writeln!(out, "{}", dim(text))?;
        }
        for Undecided { side, rule, tools, why, .. } in open {
            let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
            let about = if tools.is_empty() { String::new() } else { format!(" about {}", tools.join(", ")) };
            let text = format!("not decided: {}{about}: {why}", self.rule_text(*side, *rule));
            writeln!(out, "{}", dim(visible(&text)))?;
        }
        Ok(())
    }

    pub(super) fn answer(&self) -> DiffAnswer<'_> {
        DiffAnswer {
            same: match (self.differences.shown.is_empty(), self.differences.undecided.is_empty()) {
                (false, _) => Some(false),
                (true, false) => None,
                (true, true) => Some(true),
            },
            changes: self
                .differences
                .shown
                .iter()
                .map(|it| ChangeAnswer {
                    kind: title(it.kind),
                    tool: &it.tool,
                    rule: self.rule(it.stricter, it.rule).map(|rule| rule.name.as_str()),
                    of: side(it.stricter),
                    old: it.old.word(),
                    new: it.new.word(),
                    reason: &it.reason,
                    trace: steps(&it.session),
                    lines: lines(&it.session),
                })
                .collect(),
            undecided: self
                .differences
                .undecided
                .iter()
                .map(|it| UndecidedAnswer {
                    rule: self.rule(it.side, it.rule).map(|rule| rule.name.as_str()),
                    of: side(it.side),
                    tools: it.tools.iter().map(|tool| &**tool).collect(),
                    why: &it.why,
                    shown: it.is_shown,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct DiffAnswer<'a> {
    /// None if that was not decided.
    same: Option<bool>,
    changes: Vec<ChangeAnswer<'a>>,
    undecided: Vec<UndecidedAnswer<'a>>,
}

#[derive(Debug, Serialize)]
struct ChangeAnswer<'a> {
    kind: &'static str,
    tool: &'a str,
    rule: Option<&'a str>,
    of: &'static str,
    old: &'static str,
    new: &'static str,
    reason: &'a str,
    trace: Vec<StepAnswer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct UndecidedAnswer<'a> {
    rule: Option<&'a str>,
    of: &'static str,
    tools: Vec<&'a str>,
    why: &'a str,
    /// Whether some difference was shown that the rule makes, and there may be others.
    shown: bool,
}
