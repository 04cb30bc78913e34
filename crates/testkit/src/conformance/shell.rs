//! Command lines that run a program, only mention it, or do neither.
//!
//! A file is YAML: `program` is what the lines are about (`rm` if left out), and the lists `runs`, `mentions` and
//! `neither` hold the lines. Each is played through the line protocol under both forms of a map: the bare word takes
//! what runs and what mentions, `running` only what runs. The file is read event by event, because a line that fails
//! is told with its place; no other YAML is read here.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser};
use serde_json::json;

use super::{BadRecording, Difference, Report};
use crate::{Door, LinesDoor, Options, PolicyFile};

/// The lists of a file, each with whether the bare word and whether `running` takes its lines.
const LISTS: [(&str, [bool; 2]); 3] =
    [("runs", [true, true]), ("mentions", [true, false]), ("neither", [false, false])];

/// Plays a table of command lines.
///
/// # Errors
/// When the file is no such table, or an empty one.
pub fn shell(text: &str) -> Result<Report, BadRecording> {
    let table = Table::read(text)?;
    let forms = [
        format!("map bash.command {} as taken", table.program),
        format!("map bash running {} as taken", table.program),
    ];
    let failed = |why: String| BadRecording { line: 1, why };
    let mut doors = [LinesDoor::default(), LinesDoor::default()];
    for (door, form) in doors.iter_mut().zip(&forms) {
        let policy = PolicyFile { name: "policy.rules".into(), text: format!("{form}\nblock taken") };
        door.open(&[policy], &Options::default()).map_err(failed)?;
    }
    let mut report = Report::default();
    for (list, is_taken) in LISTS {
        for Line { line, script } in table.lists.get(list).into_iter().flatten() {
            report.cases += 1;
            let (mut expected, mut got) = (Vec::new(), Vec::new());
            for ((door, form), is_taken) in doors.iter_mut().zip(&forms).zip(is_taken) {
                report.steps += 1;
                let verdict = judge(door, report.steps, script).map_err(failed)?;
                let right = if is_taken { "block" } else { "allow" };
                if verdict != right {
                    expected.push(format!("{right} under `{form}`"));
                    got.push(verdict);
                }
            }
            if !expected.is_empty() {
                let (expected, got) = (expected.join(", "), got.join(", "));
                report.failures.push(Difference {
                    line: *line,
                    step: format!("{list}: {script}"),
                    expected,
                    got,
                });
            }
        }
    }
    match report.cases {
        0 => Err(failed("there is no line in this table".into())),
        _ => Ok(report),
    }
}

/// What the gate says to a script; one that is let pass ends at once.
fn judge(door: &mut LinesDoor, number: usize, script: &str) -> Result<String, String> {
    let call = json!({"id": number.to_string(), "tool": "bash", "input": {"command": script}, "ask": "none"});
    let answer = door.line(json!({"call": call, "at": 0}))?;
    let verdict = answer.get("verdict").and_then(|verdict| verdict.as_str());
    let verdict = verdict.ok_or_else(|| format!("no verdict: {answer}"))?.to_owned();
    if verdict == "allow" {
        door.line(json!({"result": {"id": number.to_string(), "ok": true}, "at": 0}))?;
    }
    Ok(verdict)
}

/// A table as written.
struct Table {
    program: String,
    lists: BTreeMap<String, Vec<Line>>,
}

/// A script and the line of the table it begins in, from 1.
struct Line {
    line: usize,
    script: String,
}

impl Table {
    fn read(text: &str) -> Result<Self, BadRecording> {
        let mut table = Self { program: "rm".into(), lists: BTreeMap::new() };
        let mut key = None;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| BadRecording {
                line: error.marker().line(),
                why: format!("no YAML: {}", error.info()),
            })?;
            let line = span.start.line();
            let bad = |why: String| BadRecording { line, why };
            match (event, key.take()) {
                (Event::Scalar(name, ..), None) => key = Some((name.into_owned(), None)),
                (Event::Scalar(program, ..), Some((name, None))) if name == "program" => {
                    table.program = program.into_owned();
                }
                (Event::SequenceStart(..), Some((name, None)))
                    if LISTS.iter().any(|(list, _)| *list == name) =>
                {
                    key = Some((name, Some(Vec::new())));
                }
                (Event::Scalar(script, ..), Some((name, Some(mut lines)))) => {
                    lines.push(Line { line, script: script.into_owned() });
                    key = Some((name, Some(lines)));
                }
                (Event::SequenceEnd, Some((name, Some(lines)))) => {
                    if table.lists.insert(name.clone(), lines).is_some() {
                        return Err(bad(format!("`{name}` is there twice")));
                    }
                }
                (_, Some((name, _))) => {
                    return Err(bad(format!(
                        "`{name}` is none of `program`, `runs`, `mentions`, `neither`, or has no lines"
                    )));
                }
                (Event::SequenceStart(..), None) => return Err(bad("a list without a name".into())),
                (_, None) => {}
            }
        }
        Ok(table)
    }
}
