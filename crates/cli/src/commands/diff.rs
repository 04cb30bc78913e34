//! `lockgate diff`: what two policies let happen differently, with the sessions that tell them apart.

use std::{io, path::PathBuf, slice};

use clap::Args;
use lockgate::{
    PolicyDiff,
    engine::{
        call::visible,
        policy::RuleId,
        prover::{ShownDifference, Undecided, proof::Side},
    },
};

use super::in_force;
use crate::{
    console::{CommandError, Console, Ending, bold, dim},
    progress::Progress,
    protocol::encode,
    session_text::write_session,
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
    let mut open = |files: &[PathBuf]| in_force::open(files, console);
    let (old, new) = (open(old)?, open(new)?);
    let progress = Progress::start("comparing", json);
    let compared = old.diff(&new).map_err(CommandError::said)?;
    drop(progress);
    if json {
        writeln!(console.out, "{}", encode(&compared))?;
    } else {
        write(&compared, console.out)?;
    }
    Ok(match compared.is_same() {
        Some(true) => Ending::Yes,
        Some(false) => Ending::No,
        None => Ending::CouldNotTell,
    })
}

fn rule_text(compared: &PolicyDiff, of: Side, rule: RuleId) -> String {
    compared.rule(of, rule).map_or_else(String::new, |rule| {
        let text = format!("{} ({} {}:{})", rule.name, of.word(), rule.place.file, rule.place.line);
        visible(&text)
    })
}

pub(super) fn write(compared: &PolicyDiff, out: &mut dyn io::Write) -> Result<(), CommandError> {
    if compared.differences().is_none() {
        writeln!(out, "no session tells them apart")?;
        return Ok(());
    }
    for ShownDifference { kind, tool, stricter, rule, session, old, new, reason, .. } in
        &compared.differences().shown
    {
        let rule = rule_text(compared, *stricter, *rule);
        writeln!(out, "{} {}  {}", bold(kind.words()), visible(tool), dim(rule))?;
        writeln!(out, "{}", dim(format!("was {}, is {}: {}", old.word(), new.word(), visible(reason))))?;
        writeln!(out)?;
        write_session(out, session)?;
    }
    if compared.differences().shown.is_empty() {
        writeln!(out, "no session was found that tells them apart, and not everything was decided")?;
    }
    let (shown, open): (Vec<_>, Vec<_>) = compared.differences().undecided.iter().partition(|it| it.is_shown);
    if !shown.is_empty() {
        let rules: Vec<String> = shown.iter().map(|it| rule_text(compared, it.side, it.rule)).collect();
        let text = format!("may make other differences as well: {}", rules.join(", "));
        writeln!(out, "{}", dim(text))?;
    }
    for Undecided { side, rule, tools, why, .. } in open {
        let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
        let about = if tools.is_empty() { String::new() } else { format!(" about {}", tools.join(", ")) };
        let text = format!("not decided: {}{about}: {why}", rule_text(compared, *side, *rule));
        writeln!(out, "{}", dim(visible(&text)))?;
    }
    Ok(())
}
