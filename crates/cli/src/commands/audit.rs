//! `lockgate audit`: what the audit log says, for people and programs; and whether it is whole.
//!
//! One file for each thing that is done with it: `list` (and follow), `export`, `verify`, `prune`. `select` says which
//! entries are meant, `line` how one is shown. What an entry means is the gate's, how entries are chained the store's.

mod export;
mod line;
mod list;
mod prune;
mod records;
mod select;
mod verify;

use clap::{Args, Subcommand};

pub(super) use self::{
    line::{call_text, rule_text},
    records::{entry_of, links},
};
use self::{
    prune::{AUDIT_PRUNE_EXAMPLES, AuditPruneArguments},
    select::AuditListArguments,
    verify::{AUDIT_VERIFY_EXAMPLES, AuditVerifyArguments},
};
use crate::console::{CommandError, Console, Ending};

pub(crate) const AUDIT_EXAMPLES: &str = "\
Examples:
  lockgate audit                      the last 50 entries
  lockgate audit --verdict block --since 2h
  lockgate audit --session 'claude-code/*' --tool bash --follow
  lockgate audit --json | jq -r '.entry.reason // empty'
  lockgate audit --export log.jsonl
  lockgate audit verify               was anything changed?

WHEN is a time such as 2026-03-01T12:00:00Z, a day such as 2026-03-01, or an
age such as 90s, 30m, 2h or 3d. NAME may contain * and ?.";

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    #[command(flatten)]
    pub(crate) list: AuditListArguments,
}

impl AuditArguments {
    /// Whether the output is for programs, without `--json` too.
    pub(crate) fn prints_data(&self) -> bool {
        self.command.is_none() && (self.list.csv || self.list.export.is_some())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Find entries of the audit log, and state of sessions, that were changed, removed or added
    #[command(after_help = AUDIT_VERIFY_EXAMPLES)]
    Verify(AuditVerifyArguments),
    /// Delete old sessions and the old part of the audit log
    #[command(after_help = AUDIT_PRUNE_EXAMPLES)]
    Prune(AuditPruneArguments),
}

pub(crate) fn run(
    arguments: &AuditArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match (&arguments.command, &arguments.list.export) {
        (Some(AuditCommand::Verify(arguments)), _) => verify::run(arguments, json, console),
        (Some(AuditCommand::Prune(arguments)), _) => prune::run(arguments, json, console),
        (None, Some(file)) => export::run(&arguments.list, file, console),
        (None, None) => list::run(&arguments.list, json, console),
    }
}
