//! Records of the audit log, the newest first.
//!
//! The log is read in pieces from its end, so a page costs what it shows and not what was ever written. A filter that takes few
//! records stops after [`READ_MAX`]; the page then offers to go on from there.

use lockgate::engine::{AuditFilter, gate::audit_log::LogEntry};

use crate::http::{
    exchange::Exchange,
    looking::{may_see, read_entry},
    problem::Problem,
};

/// How many records one page reads at most.
const READ_MAX: u64 = 100_000;
/// How many records the first piece has; the next ones have more. Tests have few records, and read several pieces too.
const PIECE: u64 = if cfg!(test) { 16 } else { 512 };
const PIECE_MAX: u64 = 16_384;

/// One record of the audit log.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) n: u64,
    pub(super) entry: LogEntry,
}

/// Records, the newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest {
    pub(super) records: Vec<Record>,
    /// Before which record others may follow; none at the beginning of the log.
    pub(super) before: Option<u64>,
}

/// The newest records before one that a caller may see and that are meant.
pub(super) fn newest(
    exchange: &Exchange<'_>,
    filter: &AuditFilter,
    before: Option<u64>,
    count: usize,
    is_meant: impl Fn(&LogEntry) -> bool,
) -> Result<Newest, Problem> {
    let query = filter.query(0);
    let (mut found, mut piece, mut left) = (Newest { before, ..Newest::default() }, PIECE, READ_MAX);
    while found.records.len() < count && left > 0 {
        let read = exchange.service.store.newest(&query, found.before, piece)?;
        for link in read.links {
            let entry = read_entry(&link)?;
            if filter.takes(&entry) && may_see(exchange.caller, &entry) && is_meant(&entry) {
                found.records.push(Record { n: link.n, entry });
            }
        }
        found.before = read.before;
        if found.before.is_none() {
            break;
        }
        (left, piece) = (left.saturating_sub(piece), (piece * 2).min(PIECE_MAX));
    }
    if found.records.len() > count {
        found.records.truncate(count);
        found.before = found.records.last().map(|last| last.n);
    }
    Ok(found)
}
