//! Calls that ran, from the audit log or from files, by session.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use lockgate::engine::{
    Call, Time,
    gate::audit_log::{LogEntry, LogEvent, LoggedCall},
    store::Query,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    commands::audit::{entry_of, links},
    console::CommandError,
    state::open_state,
};

/// One session, as far as its calls ran.
#[derive(Debug, Default)]
pub(super) struct RecordedSession {
    pub(super) calls: Vec<Call>,
}

/// The sessions of the audit log, and how many of their calls are masked.
pub(super) fn read_state(state: Option<&Path>) -> Result<(Vec<RecordedSession>, usize), CommandError> {
    let store = open_state(state)?;
    let mut records = Records::default();
    for link in links(&store, Query::default()) {
        records.entry(entry_of(&link?)?);
    }
    Ok(records.finish())
}

/// The sessions of files: exports of the audit log, or one call a line.
pub(super) fn read_files(files: &[PathBuf]) -> Result<(Vec<RecordedSession>, usize), CommandError> {
    let mut records = Records::default();
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(file)
            .map_err(|error| CommandError::Said(format!("cannot read `{name}`: {error}")))?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let strange = |why: String| {
                let number = number + 1;
                CommandError::Said(format!(
                    "`{name}`, line {number}: {why}; write `{{\"tool\": …, \"input\": {{…}}}}` or what `audit --export` writes"
                ))
            };
            match serde_json::from_str(line).map_err(|error| strange(error.to_string()))? {
                Line { entry: Some(entry), .. } => records.entry(entry),
                Line { head: Some(_), .. } => {}
                Line { call: Some(call), session, .. } => records.line(session, call),
                Line { tool: Some(tool), input, cwd, session, .. } => {
                    records.line(session, LineCall { tool, input, cwd });
                }
                _ => return Err(strange("it has neither a call nor a record".to_owned())),
            }
        }
    }
    Ok(records.finish())
}

/// A line of a file.
#[derive(Deserialize)]
struct Line {
    entry: Option<LogEntry>,
    head: Option<Value>,
    session: Option<String>,
    call: Option<LineCall>,
    tool: Option<String>,
    #[serde(default)]
    input: Map<String, Value>,
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct LineCall {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    cwd: Option<String>,
}

#[derive(Default)]
struct Records {
    sessions: Vec<RecordedSession>,
    places: HashMap<String, usize>,
    masked: usize,
}

impl Records {
    fn entry(&mut self, entry: LogEntry) {
        let at = entry.time();
        let Some(session) = entry.session else { return };
        if let LogEvent::Call { call, decided } = entry.what
            && ["allow", "redact"].contains(&decided.verdict.as_str())
        {
            let LoggedCall { tool, input, cwd, is_masked, .. } = *call;
            self.masked += usize::from(is_masked);
            self.push(session, LineCall { tool, input, cwd }, at);
        }
    }

    fn line(&mut self, session: Option<String>, call: LineCall) {
        self.push(session.unwrap_or_else(|| "default".to_owned()), call, Time(0));
    }

    fn push(&mut self, session: String, recorded: LineCall, at: Time) {
        let place = *self.places.entry(session.clone()).or_insert(self.sessions.len());
        if place == self.sessions.len() {
            self.sessions.push(RecordedSession::default());
        }
        let Some(known) = self.sessions.get_mut(place) else { return };
        let LineCall { tool, input, cwd } = recorded;
        let mut call =
            Call { session, input, ..Call::new(format!("c{}", known.calls.len() + 1), tool) }.at(at);
        call.about.cwd = cwd;
        known.calls.push(call);
    }

    fn finish(self) -> (Vec<RecordedSession>, usize) {
        (self.sessions, self.masked)
    }
}
