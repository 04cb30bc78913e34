//! Which entries of the audit log are meant.
//!
//! [`selection`] is what the command line says about entries; an entry that it does not speak of is meant.

use std::path::PathBuf;

use clap::Args;
use lockgate::{AuditQuery, Decision, EffectKind, engine::AuditFilter};

use crate::{
    arguments::{FilterArguments, StateArguments, words},
    console::CommandError,
};

#[derive(Debug, Args)]
pub(crate) struct AuditListArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    /// A store that machines share: postgres://USER@HOST/DATABASE?key=FILE, or redis://HOST/NUMBER?key=FILE
    #[arg(long, value_name = "URL", conflicts_with_all = ["state", "export"])]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls with this verdict
    #[arg(long, value_parser = words([Decision::Allow, Decision::Redact, Decision::Ask, Decision::Block], Decision::word))]
    pub(crate) verdict: Option<Decision>,
    /// Only calls that do this, or may: `deletion`, `upload`, …
    #[arg(long, value_name = "EFFECT", hide_possible_values = true, value_parser = words(EffectKind::ALL, EffectKind::word))]
    pub(crate) effect: Option<EffectKind>,
    /// Only calls that this rule decided about
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: Option<String>,
    /// Only the last N entries [default: 50; with --json or --csv all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "export")]
    pub(crate) csv: bool,
    /// Keep printing new entries until Ctrl-C
    #[arg(long, conflicts_with = "export")]
    pub(crate) follow: bool,
    /// Write the whole log as JSON lines to a file, or to stdout with -; the last line is the signed head
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
}

/// Which entries the command line means.
pub(super) fn selection(arguments: &AuditListArguments) -> Result<AuditFilter, CommandError> {
    let FilterArguments { session, since, until } = &arguments.filter;
    let mut query = AuditQuery::default();
    if let Some(session) = session {
        query = query.session(session);
    }
    if let Some(tool) = &arguments.tool {
        query = query.tool(tool);
    }
    if let Some(rule) = &arguments.rule {
        query = query.rule(rule);
    }
    if let Some(verdict) = arguments.verdict {
        query = query.verdict(verdict);
    }
    if let Some(effect) = arguments.effect {
        query = query.effect(effect);
    }
    if let Some(since) = since {
        query = query.since(*since);
    }
    if let Some(until) = until {
        query = query.until(*until);
    }
    query.filter().map_err(CommandError::said)
}
