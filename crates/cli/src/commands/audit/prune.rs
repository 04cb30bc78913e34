//! `lockgate audit prune`: old sessions are forgotten, and the old part of the audit log goes.
//!
//! Both leave an entry. Forgetting a session gives back what it has spent, so a human says how old is old, and agrees.

use std::io::{self, BufRead, IsTerminal};

use clap::Args;
use lockgate::engine::Time;
use lockgate_agents::{
    hook::{FORGET_BATCH, forgotten, operator},
    now,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending},
    protocol::encode,
    state::open_state,
    when,
};

pub(crate) const AUDIT_PRUNE_EXAMPLES: &str = "\
Examples:
  lockgate audit --export 2026.jsonl && lockgate audit prune --before 90d
  lockgate audit prune --before 2026-01-01 --yes

This also forgets sessions that were not used since; their limits start again.
The audit log records what was pruned. Exit 0: done or nothing to do, 1: you
said no, 2: could not.";

#[derive(Debug, Args)]
pub(crate) struct AuditPruneArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// Delete what is older than this
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) before: Time,
    /// Delete without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

pub(super) fn run(
    arguments: &AuditPruneArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let before = arguments.before;
    if before > now() {
        return Err(CommandError::said("--before is in the future"));
    }
    let store = open_state(arguments.state.state.as_deref())?;
    if !arguments.yes {
        if json || !io::stdin().is_terminal() {
            return Err(CommandError::said(
                "nothing was pruned, because no terminal is attached to ask at; run it again with --yes",
            ));
        }
        if !is_agreed(before, console)? {
            writeln!(console.out, "nothing was pruned")?;
            return Ok(Ending::No);
        }
    }
    let sessions = store
        .forget(before, FORGET_BATCH, &|sessions| forgotten(before, sessions))
        .map_err(CommandError::said)?;
    let prune = operator("prune", json!({ "before": before.0 }));
    let records = store.prune_trail(before, &prune).map_err(CommandError::said)?;
    if json {
        writeln!(console.out, "{}", encode(&Answer { sessions, records }))?;
    } else {
        let when = when::local(before);
        writeln!(
            console.out,
            "{sessions} sessions forgotten and {records} records pruned, from before {when}"
        )?;
    }
    Ok(Ending::Yes)
}

fn is_agreed(before: Time, console: &mut Console<'_>) -> Result<bool, CommandError> {
    let when = when::local(before);
    writeln!(
        console.err,
        "Sessions that were not used since {when} are forgotten with all they have spent,"
    )?;
    write!(console.err, "and older entries of the audit log are gone for good. Go on? [y/N] ")?;
    console.err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Answer {
    sessions: u64,
    records: u64,
}
