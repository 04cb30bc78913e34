//! The records of all strands as one log.
//!
//! A record's place among all of them is one number, so that readers of a file and of a shared store ask alike. Numbers grow and
//! are not consecutive; a reader that goes on after the last one misses none.

use std::collections::VecDeque;

use lockgate_gate::StoreError;
use serde::Deserialize;

use super::{
    backend::{Inner, StrandStore},
    engine::{Position, StrandRecord},
};
use crate::{Link, Query};

/// How many records are read at once.
const BATCH: u32 = 500;

/// The records that a query asks for, in order.
pub struct SharedLinks<'a> {
    inner: &'a Inner,
    query: Query,
    left: u64,
    batch: VecDeque<StrandRecord>,
    is_over: bool,
}

impl StrandStore {
    /// The records that a query asks for, each with its place among all as its number.
    pub fn audit_log(&self, query: Query) -> SharedLinks<'_> {
        let left = query.limit.unwrap_or(u64::MAX);
        SharedLinks { inner: self.inner(), query, left, batch: VecDeque::new(), is_over: false }
    }

    /// At most `count` records before a number, the newest first; and before which number others may follow.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn newest(
        &self,
        query: &Query,
        before: Option<u64>,
        count: u64,
    ) -> Result<(Vec<Link>, Option<u64>), StoreError> {
        let inner = self.inner();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let before = before.map(Position::of_number);
        let records = inner.engine.records_before(before, count).map_err(|error| inner.told(error))?;
        let is_full = records.len() as u64 >= u64::from(count);
        let next = records.last().filter(|_| is_full).map(|last| last.position.number());
        let mut links = Vec::new();
        for record in records {
            if query.session.is_none() || is_about(&record, query.session.as_deref()) {
                links.extend(in_time(record, query));
            }
        }
        Ok((links, next))
    }
}

impl Iterator for SharedLinks<'_> {
    type Item = Result<Link, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 && !self.is_over {
            if let Some(record) = self.batch.pop_front() {
                self.query.after_n = record.position.number();
                if let Some(link) = in_time(record, &self.query) {
                    self.left -= 1;
                    return Some(Ok(link));
                }
                continue;
            }
            let after = Position::of_number(self.query.after_n);
            match self.inner.engine.records(after, self.query.session.as_deref(), BATCH) {
                Ok(records) => {
                    self.is_over = records.is_empty();
                    self.batch = records.into();
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(self.inner.told(error)));
                }
            }
        }
        None
    }
}

/// What every entry says.
#[derive(Deserialize)]
struct EntryKey {
    at: u64,
    session: Option<String>,
}

fn key(record: &StrandRecord) -> Option<EntryKey> {
    serde_json::from_str(&record.entry).ok()
}

fn is_about(record: &StrandRecord, session: Option<&str>) -> bool {
    key(record).is_some_and(|key| key.session.as_deref() == session)
}

/// The record as a link, if it was written when the query says. One that cannot be read is handed on: its reader tells so.
fn in_time(record: StrandRecord, query: &Query) -> Option<Link> {
    let is_meant = key(&record).is_none_or(|key| {
        query.since.is_none_or(|since| key.at >= since.0) && query.until.is_none_or(|until| key.at < until.0)
    });
    let n = record.position.number();
    let StrandRecord { prev, hash, entry, .. } = record;
    is_meant.then_some(Link { n, prev, hash, entry })
}
