//! Which entries of the audit log are meant.
//!
//! [`Selection`] is what the command line says about entries; an entry that it does not speak of is meant. What the
//! database can tell by itself (one session, moments) it is asked; the rest is looked at here.

use std::path::PathBuf;

use clap::Args;
use lockgate::engine::{
    Pattern, Time,
    gate::audit_log::{LogEntry, LogEvent},
    store::Query,
};

use crate::{
    arguments::{FilterArguments, StateArguments},
    console::CommandError,
};

#[derive(Debug, Args)]
pub(crate) struct AuditListArguments {
    #[command(flatten)]
    pub(crate) state: StateArguments,
    #[command(flatten)]
    pub(crate) filter: FilterArguments,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls with this verdict
    #[arg(long, value_parser = ["allow", "redact", "ask", "block"])]
    pub(crate) verdict: Option<String>,
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

/// A name as the command line gives it: with `*` or `?` a pattern for all of it, otherwise exactly it.
pub(in crate::commands) enum Name {
    Exact(String),
    Like(Pattern),
}

impl Name {
    pub(in crate::commands) fn parse(text: &str) -> Result<Self, CommandError> {
        match text.contains(['*', '?']) {
            true => Pattern::glob(text).map(Self::Like).map_err(CommandError::said),
            false => Ok(Self::Exact(text.to_owned())),
        }
    }

    pub(in crate::commands) fn is(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Like(pattern) => pattern.matches_at_start(name),
        }
    }
}

/// Which entries are meant.
#[derive(Default)]
pub(super) struct Selection {
    session: Option<Name>,
    tool: Option<Name>,
    rule: Option<Name>,
    verdict: Option<String>,
    since: Option<Time>,
    until: Option<Time>,
}

impl Selection {
    pub(super) fn of(arguments: &AuditListArguments) -> Result<Self, CommandError> {
        let name = |text: &Option<String>| text.as_deref().map(Name::parse).transpose();
        let FilterArguments { session, since, until } = &arguments.filter;
        Ok(Self {
            session: name(session)?,
            tool: name(&arguments.tool)?,
            rule: name(&arguments.rule)?,
            verdict: arguments.verdict.clone(),
            since: *since,
            until: *until,
        })
    }

    /// Whether every entry is meant.
    pub(super) fn is_everything(&self) -> bool {
        self.is_by_query() && self.session.is_none() && self.since.is_none() && self.until.is_none()
    }

    /// Whether the query tells all there is to tell.
    fn is_by_query(&self) -> bool {
        let is_exact = !matches!(self.session, Some(Name::Like(_)));
        is_exact && self.tool.is_none() && self.rule.is_none() && self.verdict.is_none()
    }

    /// What the database is asked for: at least all that is meant, after this record.
    pub(super) fn query(&self, after_n: u64) -> Query {
        let session = match &self.session {
            Some(Name::Exact(session)) => Some(session.clone()),
            Some(Name::Like(_)) | None => None,
        };
        Query { after_n, session, since: self.since, until: self.until, limit: None }
    }

    /// Whether an entry that the query brought is meant.
    pub(super) fn takes(&self, entry: &LogEntry) -> bool {
        let session = entry.session.as_deref();
        let (tool, rules, verdict) = match &entry.what {
            LogEvent::Call { call, decided } => {
                (Some(call.tool.as_str()), decided.rules.as_slice(), Some(decided.verdict.as_str()))
            }
            LogEvent::Result { tool, rules, .. } => (tool.as_deref(), rules.as_slice(), None),
            _ => (None, &[][..], None),
        };
        let is = |wanted: &Option<Name>, name: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| name.is_some_and(|name| wanted.is(name)))
        };
        is(&self.session, session)
            && is(&self.tool, tool)
            && self.rule.as_ref().is_none_or(|wanted| rules.iter().any(|rule| wanted.is(&rule.rule)))
            && self.verdict.as_deref().is_none_or(|wanted| verdict == Some(wanted))
    }
}
