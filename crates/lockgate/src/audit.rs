//! Which records of the audit log are meant.
//!
//! [`AuditQuery`] says what records must be about; what it leaves out may be anything. What the database can answer
//! by itself (one session, moments) it is asked; the rest is looked at here.

use lockgate_call::{EffectKind, Time};
use lockgate_gate::{
    StoreError,
    audit_log::{LogEntry, LogEvent},
};
use lockgate_pattern::{Pattern, PatternError};
use lockgate_policy::Decision;
use lockgate_store::{Link, Query, to_hex};
use serde::Serialize;
use serde_json::Value;

use crate::database::Database;

/// Which records of the audit log to read. In names, `*` is any run of characters and `?` any one.
///
/// ```
/// use lockgate::{AuditQuery, Decision};
///
/// let blocked = AuditQuery::default().session("claude-code/*").verdict(Decision::Block).last(50);
/// ```
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    session: Option<String>,
    tool: Option<String>,
    rule: Option<String>,
    verdict: Option<Decision>,
    effect: Option<EffectKind>,
    since: Option<Time>,
    until: Option<Time>,
    last: Option<usize>,
}

impl AuditQuery {
    /// Only records of this session.
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> Self {
        self.session = Some(name.into());
        self
    }

    /// Only calls and results of this tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Only calls and results that this rule decided about.
    #[must_use]
    pub fn rule(mut self, name: impl Into<String>) -> Self {
        self.rule = Some(name.into());
        self
    }

    /// Only calls with this verdict.
    #[must_use]
    pub fn verdict(mut self, verdict: Decision) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Only calls that do this, or may.
    #[must_use]
    pub fn effect(mut self, effect: EffectKind) -> Self {
        self.effect = Some(effect);
        self
    }

    /// Only records not before this moment.
    #[must_use]
    pub fn since(mut self, moment: Time) -> Self {
        self.since = Some(moment);
        self
    }

    /// Only records before this moment.
    #[must_use]
    pub fn until(mut self, moment: Time) -> Self {
        self.until = Some(moment);
        self
    }

    /// No more than the last so many.
    #[must_use]
    pub fn last(mut self, count: usize) -> Self {
        self.last = Some(count);
        self
    }

    /// The query with its patterns compiled, for the doors of this repository.
    ///
    /// # Errors
    /// When a name is not a pattern.
    #[doc(hidden)]
    pub fn filter(&self) -> Result<AuditFilter, PatternError> {
        let name = |text: &Option<String>| text.as_deref().map(NamePattern::parse).transpose();
        Ok(AuditFilter {
            session: name(&self.session)?,
            tool: name(&self.tool)?,
            rule: name(&self.rule)?,
            verdict: self.verdict,
            effect: self.effect,
            since: self.since,
            until: self.until,
        })
    }

    /// The records of a database that are meant, the newest last.
    pub(crate) fn read(&self, database: &Database) -> Result<Vec<AuditRecord>, AuditError> {
        let filter = self.filter()?;
        let mut records = std::collections::VecDeque::new();
        let mut take = |link: &Link, strand: Option<&str>| -> Result<(), AuditError> {
            let entry = serde_json::from_str(&link.entry)
                .map_err(|source| AuditError::Damaged { n: link.n, source })?;
            if filter.takes(&entry) {
                records.push_back(AuditRecord::of(link, strand)?);
                if self.last.is_some_and(|last| records.len() > last) {
                    records.pop_front();
                }
            }
            Ok(())
        };
        let query = filter.query(0);
        match database {
            Database::Sqlite(file) => file.audit_log(query).try_for_each(|link| take(&link?, None))?,
            #[cfg(feature = "shared")]
            Database::Shared(store) => {
                let is_in_time = |at: u64| {
                    query.since.is_none_or(|since| at >= since.0)
                        && query.until.is_none_or(|until| at < until.0)
                };
                let mut after = lockgate_store::Position::default();
                loop {
                    let found = store.records(after, query.session.as_deref(), RECORDS_AT_ONCE)?;
                    let Some(last) = found.last() else { break };
                    after = last.position;
                    for record in found {
                        let lockgate_store::StrandRecord { strand, n, prev, hash, entry, .. } = record;
                        let link = Link { n, prev, hash, entry };
                        let at: EntryMoment = serde_json::from_str(&link.entry)
                            .map_err(|source| AuditError::Damaged { n, source })?;
                        if is_in_time(at.at) {
                            take(&link, Some(&strand))?;
                        }
                    }
                }
            }
        }
        Ok(records.into())
    }
}

/// How many records of a shared store are read at once.
#[cfg(feature = "shared")]
const RECORDS_AT_ONCE: u32 = 1_000;

/// When an entry was written.
#[cfg(feature = "shared")]
#[derive(serde::Deserialize)]
struct EntryMoment {
    at: u64,
}

/// One record of the audit log. It serialises to the documented JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AuditRecord {
    /// The session whose chain it belongs to, in a store that many gates share; elsewhere there is one chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strand: Option<String>,
    /// Its number in the chain; the first is 1.
    pub n: u64,
    /// The hash of the record before it, in hexadecimal digits.
    pub prev: String,
    /// Its own hash.
    pub hash: String,
    /// What happened.
    pub entry: Value,
}

impl AuditRecord {
    fn of(link: &Link, strand: Option<&str>) -> Result<Self, AuditError> {
        let Link { n, prev, hash, entry } = link;
        let entry = serde_json::from_str(entry).map_err(|source| AuditError::Damaged { n: *n, source })?;
        Ok(Self { strand: strand.map(str::to_owned), n: *n, prev: to_hex(prev), hash: to_hex(hash), entry })
    }
}

/// Why the audit log could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// Sessions in memory have no audit log.
    #[error("this gate has no audit log, because its sessions are in memory; see `GateBuilder::store`")]
    NoLog,
    /// A name is not a pattern.
    #[error("a name of the query is not a pattern")]
    Pattern(#[from] PatternError),
    /// The database cannot be read.
    #[error("the audit log cannot be read")]
    Store(#[from] StoreError),
    /// A record is damaged.
    #[error("record {n} of the audit log cannot be read; see `lockgate audit verify`")]
    Damaged {
        /// The number of the record.
        n: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A name: with `*` or `?` a pattern for all of it, otherwise exactly it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum NamePattern {
    Exact(String),
    Like(Pattern),
}

impl NamePattern {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is not a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        match text.contains(['*', '?']) {
            true => Pattern::glob(text).map(Self::Like),
            false => Ok(Self::Exact(text.to_owned())),
        }
    }

    /// Whether a name is meant.
    pub fn is(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Like(pattern) => pattern.matches_at_start(name),
        }
    }
}

/// An [`AuditQuery`] with its patterns compiled, for the doors of this repository.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    session: Option<NamePattern>,
    tool: Option<NamePattern>,
    rule: Option<NamePattern>,
    verdict: Option<Decision>,
    effect: Option<EffectKind>,
    since: Option<Time>,
    until: Option<Time>,
}

impl AuditFilter {
    /// Whether every entry is meant.
    pub fn is_everything(&self) -> bool {
        let Self { session, tool, rule, verdict, effect, since, until } = self;
        let names_nothing = session.is_none() && tool.is_none() && rule.is_none();
        names_nothing && verdict.is_none() && effect.is_none() && since.is_none() && until.is_none()
    }

    /// What the database is asked for: at least all that is meant, after this record.
    pub fn query(&self, after_n: u64) -> Query {
        let session = match &self.session {
            Some(NamePattern::Exact(session)) => Some(session.clone()),
            Some(NamePattern::Like(_)) | None => None,
        };
        Query { after_n, session, since: self.since, until: self.until, limit: None }
    }

    /// Whether an entry that the query brought is meant.
    pub fn takes(&self, entry: &LogEntry) -> bool {
        let session = entry.session.as_deref();
        let effects = match &entry.what {
            LogEvent::Call { call, .. } => call.effects.as_slice(),
            _ => &[],
        };
        let (tool, rules, verdict) = match &entry.what {
            LogEvent::Call { call, decided } => {
                (Some(call.tool.as_str()), decided.rules.as_slice(), Some(decided.verdict.as_str()))
            }
            LogEvent::Result { tool, rules, .. } => (tool.as_deref(), rules.as_slice(), None),
            _ => (None, &[][..], None),
        };
        let is = |wanted: &Option<NamePattern>, name: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| name.is_some_and(|name| wanted.is(name)))
        };
        is(&self.session, session)
            && is(&self.tool, tool)
            && self.rule.as_ref().is_none_or(|wanted| rules.iter().any(|rule| wanted.is(&rule.rule)))
            && self.verdict.is_none_or(|wanted| verdict == Some(wanted.word()))
            && self
                .effect
                .is_none_or(|wanted| effects.iter().any(|it| it.trim_end_matches('?') == wanted.word()))
    }
}
