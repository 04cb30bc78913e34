//! `lockgate audit`: entries, the newest last; with `--follow` also those that are still to come.
//!
//! The audit log is read in order, a few hundred records at a time, so a call that waits for a verdict does not wait for us. To
//! follow is to look again a few times a second.

use std::{collections::VecDeque, sync::atomic::Ordering, thread, time::Duration};

use lockgate::engine::{
    AuditFilter, Database,
    gate::audit_log::LogEntry,
    store::{Link, Query},
};

use super::{
    line,
    records::entry_of,
    select::{AuditListArguments, selection},
};
use crate::{
    commands::watch::interruption,
    console::{CommandError, Console, Ending},
    state::open_database,
};

/// So many entries people are shown where they do not say how many.
const SHOWN: usize = 50;

/// How long to wait between two looks for more.
const PAUSE: Duration = Duration::from_millis(250);

/// How an entry is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Line,
    Json,
    Csv,
}

pub(super) fn run(
    arguments: &AuditListArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let form = match (json, arguments.csv) {
        (true, true) => return Err(CommandError::said("--json and --csv are two forms; choose one")),
        (true, false) => Form::Json,
        (false, true) => Form::Csv,
        (false, false) => Form::Line,
    };
    let selection = selection(arguments)?;
    let store = open_database(arguments.store.as_deref(), arguments.state.state.as_deref())?;
    let interrupted = if arguments.follow { Some(interruption()?) } else { None };
    let limit = arguments.limit.or((form == Form::Line).then_some(SHOWN));
    if form == Form::Csv {
        writeln!(console.out, "{}", line::HEADING)?;
    }
    let mut listing = Listing { store: &store, selection, form, seen: 0 };
    listing.print_last(limit, console)?;
    if let Some(interrupted) = interrupted {
        while !interrupted.load(Ordering::Relaxed) {
            console.out.flush()?;
            thread::sleep(PAUSE);
            listing.print_new(console)?;
        }
    }
    console.out.flush()?;
    Ok(Ending::Yes)
}

struct Listing<'a> {
    store: &'a Database,
    selection: AuditFilter,
    form: Form,
    /// The last record that was looked at.
    seen: u64,
}

impl Listing<'_> {
    /// Prints the last so many entries that are meant, or all of them.
    fn print_last(&mut self, limit: Option<usize>, console: &mut Console<'_>) -> Result<(), CommandError> {
        let Some(limit) = limit else { return self.print_new(console) };
        if self.selection.is_everything() {
            let newest = self.store.newest(&Query::default(), None, limit as u64);
            self.seen =
                newest.map_err(CommandError::said)?.before.map_or(0, |before| before.saturating_sub(1));
        }
        let mut last: VecDeque<(Link, LogEntry)> = VecDeque::new();
        self.look_on(|_, link, entry| {
            last.push_back((link, entry));
            if last.len() > limit {
                last.pop_front();
            }
            Ok(())
        })?;
        last.iter().try_for_each(|(link, entry)| self.print(link, entry, console))
    }

    /// Prints what is meant of the records that were not looked at yet.
    fn print_new(&mut self, console: &mut Console<'_>) -> Result<(), CommandError> {
        self.look_on(|listing, link, entry| listing.print(&link, &entry, console))
    }

    /// Hands on what is meant of the records that were not looked at yet.
    fn look_on(
        &mut self,
        mut take: impl FnMut(&Self, Link, LogEntry) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let after = self.seen;
        for link in self.store.audit_log(self.selection.query(after)) {
            let link = link.map_err(CommandError::said)?;
            self.seen = link.n;
            let entry = entry_of(&link)?;
            if self.selection.takes(&entry) {
                take(self, link, entry)?;
            }
        }
        Ok(())
    }

    fn print(&self, link: &Link, entry: &LogEntry, console: &mut Console<'_>) -> Result<(), CommandError> {
        match self.form {
            Form::Line => line::write_line(console.out, link.n, entry)?,
            Form::Json => writeln!(console.out, "{}", link.to_line())?,
            Form::Csv => line::write_row(console.out, link, entry)?,
        }
        Ok(())
    }
}
