//! The lines of a draft: which tools were called, how often, with which programs and where.

use std::collections::{BTreeMap, BTreeSet};

use lockgate::engine::{
    Call, SeenCall,
    call::{ScriptFields, shell_tools},
};

use super::records::RecordedSession;

/// The most programs that one line names.
const PROGRAMS_MAX: usize = 60;

/// A policy that is drafted.
pub(super) struct Draft {
    pub(super) lines: Vec<DraftLine>,
    otherwise: String,
}

/// A line, and what it allows beyond what was recorded.
pub(super) struct DraftLine {
    pub(super) text: String,
    pub(super) also: String,
}

impl Draft {
    pub(super) fn of(sessions: &[RecordedSession], otherwise: &str) -> Self {
        let mut by_tool: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        let mut most: BTreeMap<&str, usize> = BTreeMap::new();
        for session in sessions {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for call in &session.calls {
                by_tool.entry(&call.tool).or_default().push(call);
                *counts.entry(&call.tool).or_default() += 1;
            }
            for (tool, count) in counts {
                let known = most.entry(tool).or_default();
                *known = (*known).max(count);
            }
        }
        let mut lines = Vec::new();
        for (tool, calls) in &by_tool {
            let name = written(tool);
            let line = |text: String, also: String| DraftLine { text, also };
            let programs = programs(tool, calls);
            let folder = programs.is_none().then(|| path_field(calls)).flatten();
            lines.push(line(format!("allow {name}"), also_allows(calls, programs.as_ref(), folder)));
            if let Some(programs) = &programs {
                let listed: Vec<&str> = programs.iter().map(String::as_str).collect();
                lines.push(line(
                    format!("keep {name} to programs {}", listed.join(", ")),
                    "these programs with any arguments".to_owned(),
                ));
            }
            if let Some(field) = folder {
                lines.push(line(format!("{name}.{field} must be inside ./"), String::new()));
            }
            let count = most.get(tool).copied().unwrap_or(1);
            lines.push(line(format!("limit {name} to {count} per session"), String::new()));
        }
        Self { lines, otherwise: otherwise.to_owned() }
    }

    /// Takes a line out. What it kept out is allowed from then on.
    pub(super) fn take_out(&mut self, text: &str) {
        self.lines.retain(|line| line.text != text);
        if let Some((tool, field)) =
            text.split_once(" must be inside").and_then(|(value, _)| value.rsplit_once('.'))
        {
            let allow = format!("allow {tool}");
            let of_tool = self.lines.iter_mut().find(|line| line.text == allow);
            of_tool
                .into_iter()
                .for_each(|line| line.also = format!("any `{field}`, and whatever else its input says"));
        }
    }

    /// The draft as a file.
    pub(super) fn text(&self, calls: usize, sessions: usize) -> String {
        let mut text = format!("# Drafted by `lockgate learn` from {calls} calls of {sessions} sessions.\n");
        for line in &self.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text.push_str(&format!("otherwise {}\n", self.otherwise));
        text
    }
}

/// A name as a sentence writes it.
fn written(tool: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-:/".contains(c);
    match tool.chars().all(is_plain) && !tool.is_empty() {
        true => tool.to_owned(),
        false => format!("\"{}\"", tool.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// The programs that the scripts of a shell tool run; none where it is something else, or some cannot be told.
fn programs(tool: &str, calls: &[&Call]) -> Option<BTreeSet<String>> {
    if !shell_tools().contains(&tool) {
        return None;
    }
    let mut programs = BTreeSet::new();
    for call in calls {
        let seen = SeenCall::from((*call).clone());
        let reading = seen.reading(&ScriptFields::Customary);
        for (_, script) in reading.scripts() {
            for command in &script.commands {
                programs.insert(command.program.clone()?);
            }
        }
    }
    let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    (!programs.is_empty() && programs.len() <= PROGRAMS_MAX && programs.iter().all(is_plain))
        .then_some(programs)
}

/// The field that holds a path in every call.
fn path_field(calls: &[&Call]) -> Option<&'static str> {
    ["file_path", "path", "notebook_path"].into_iter().find(|field| {
        calls.iter().all(|call| call.input.get(*field).is_some_and(serde_json::Value::is_string))
    })
}

/// What a line allows besides what was recorded, in words.
fn also_allows(calls: &[&Call], programs: Option<&BTreeSet<String>>, folder: Option<&str>) -> String {
    if programs.is_some() {
        return String::new();
    }
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (field, value) in calls.iter().flat_map(|call| &call.input) {
        values.entry(field).or_default().insert(value.to_string());
    }
    let fields: Vec<String> = values
        .iter()
        .map(|(field, values)| match folder == Some(*field) {
            true => format!("any `{field}` in the folder of the call"),
            false => format!("any `{field}` ({} recorded)", values.len()),
        })
        .collect();
    match fields.is_empty() {
        true => "any input (none recorded)".to_owned(),
        false => fields.join(", "),
    }
}
