//! Reading the audit log: the records that a query asks for, in order.

use std::collections::VecDeque;

use lockgate_gate::{StoreError, Time};
use rusqlite::{Connection, params};

use super::{
    backend::Sqlite,
    columns::{bytes, fixed, number, whole},
    log,
};
use crate::{
    audit::{Head, Link},
    error::Fault,
};

/// How many records are read at once.
const READ_BATCH: usize = 500;

/// Which records to read.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only those after this number: a reader that follows the log asks again with the last one seen.
    pub after_n: u64,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those not before this moment.
    pub since: Option<Time>,
    /// Only those before this moment.
    pub until: Option<Time>,
    /// No more than so many.
    pub limit: Option<u64>,
}

impl Sqlite {
    /// The records that a query asks for, in order. They are read a few hundred at a time, so a reader keeps
    /// no writer waiting.
    pub fn audit_log(&self, query: Query) -> Links<'_> {
        let left = query.limit.unwrap_or(u64::MAX);
        Links { store: self, query, left, batch: VecDeque::new(), is_over: false }
    }

    /// The signed end of the chain, to note where nothing that can change the database can reach it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn head(&self) -> Result<Head, StoreError> {
        self.read(log::head)
    }
}

/// Records, in order.
pub struct Links<'a> {
    store: &'a Sqlite,
    query: Query,
    left: u64,
    batch: VecDeque<Link>,
    is_over: bool,
}

impl Iterator for Links<'_> {
    type Item = Result<Link, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.is_empty()
            && !self.is_over
            && let Err(error) = self.fill()
        {
            self.is_over = true;
            return Some(Err(error));
        }
        self.batch.pop_front().map(Ok)
    }
}

impl Links<'_> {
    fn fill(&mut self) -> Result<(), StoreError> {
        let count = self.left.min(READ_BATCH as u64);
        if count == 0 {
            self.is_over = true;
            return Ok(());
        }
        self.batch = self.store.read(|connection| links(connection, &self.query, count))?;
        self.left -= self.batch.len() as u64;
        match self.batch.back() {
            Some(last) => self.query.after_n = last.n,
            None => self.is_over = true,
        }
        Ok(())
    }
}

fn links(connection: &Connection, query: &Query, count: u64) -> Result<VecDeque<Link>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT n, prev, hash, entry FROM trail WHERE n > ?1 AND (?2 IS NULL OR session = ?2) \
         AND at >= ?3 AND at < ?4 ORDER BY n LIMIT ?5",
    )?;
    let since = query.since.map_or(i64::MIN, whole);
    // A moment that does not fit is later than all that do.
    let until = query.until.and_then(|until| i64::try_from(until.0).ok()).unwrap_or(i64::MAX);
    let after = i64::try_from(query.after_n).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after, query.session, since, until, whole(Time(count))])?;
    let mut links = VecDeque::new();
    while let Some(row) = rows.next()? {
        let n = number(row, 0)?;
        let link = (|| {
            let entry = std::str::from_utf8(bytes(row, 3)).ok()?.to_owned();
            Some(Link { n, prev: fixed(row, 1)?, hash: fixed(row, 2)?, entry })
        })();
        links.push_back(link.ok_or_else(|| {
            Fault::told(format!("holds a damaged record {n} in its audit log; see what `verify` says of it"))
        })?);
    }
    Ok(links)
}
