//! One entry of the audit log in one line, for people and for tables.
//!
//! [`Shown`] takes an entry apart; text that an agent chose is made visible before it is printed. A line that is read
//! by people cuts long inputs, a table does not.

use std::io::{self, Write};

use lockgate::engine::{
    Decision, Time,
    call::visible,
    gate::audit_log::{LogEntry, LogEvent, LoggedCall, LoggedDecision, LoggedRule, TIMEOUT},
    store::{Link, to_hex},
};
use serde_json::{Map, Value};

use crate::{
    console::{bold, cut, decided as painted, dim},
    when,
};

/// How many columns of an input people are shown.
const INPUT_COLUMNS: usize = 60;

/// The columns of a table.
pub(super) const HEADING: &str = "n,time,session,what,call,tool,input,verdict,rule,reason,policy,hash";

/// An entry, taken apart.
#[derive(Default)]
struct Shown {
    what: &'static str,
    /// The call's id, or the question.
    call: String,
    tool: String,
    input: String,
    verdict: String,
    rule: String,
    reason: String,
}

impl Shown {
    fn of(what: &LogEvent) -> Self {
        match what {
            LogEvent::Call { call, decided } => Self {
                what: "call",
                call: call.id.clone(),
                tool: call.tool.clone(),
                input: input_text(&call.input),
                verdict: decided.verdict.clone(),
                rule: rule_text(decided),
                reason: decided.reason.clone(),
            },
            LogEvent::Answer { approval, granted, by, .. } => Self {
                what: "answer",
                call: approval.clone(),
                verdict: match granted {
                    true => "granted",
                    false if by == TIMEOUT => "timeout",
                    false => "refused",
                }
                .to_owned(),
                reason: match by.as_str() {
                    TIMEOUT => "no human answered in time".to_owned(),
                    by => format!("by {by}"),
                },
                ..Self::default()
            },
            LogEvent::Duplicate { id, door } => {
                Self { what: "duplicate", call: id.clone(), reason: format!("at {door}"), ..Self::default() }
            }
            LogEvent::Result { id, tool, ok, settled, output, reason, found, rules } => Self {
                rule: rules_text(rules),
                what: "result",
                call: id.clone(),
                tool: tool.clone().unwrap_or_default(),
                verdict: result_text(*ok, *settled, output),
                reason: reason.clone().unwrap_or_else(|| match found.is_empty() {
                    true => String::new(),
                    false => format!("found: {}", found.join(", ")),
                }),
                ..Self::default()
            },
            LogEvent::Lapsed { id, approval } => Self {
                what: "lapsed",
                call: id.clone(),
                reason: match approval {
                    Some(approval) => format!("{approval} was not answered in time"),
                    None => "its result never came".to_owned(),
                },
                ..Self::default()
            },
            LogEvent::Operator { act, about } => {
                Self { what: "operator", verdict: act.clone(), reason: input_text(about), ..Self::default() }
            }
        }
    }
}

fn result_text(ok: bool, settled: bool, output: &str) -> String {
    let came = match (settled, ok) {
        (false, _) => "stray",
        (true, true) => "ok",
        (true, false) => "failed",
    };
    match output {
        "allow" => came.to_owned(),
        output => format!("{came}, {output}"),
    }
}

/// The rules that had something against a call or said yes, the leading one first; observing ones are marked.
pub(in crate::commands) fn rule_text(decided: &LoggedDecision) -> String {
    rules_text(&decided.rules)
}

fn rules_text(rules: &[LoggedRule]) -> String {
    let name = |rule: &LoggedRule| match rule.observed {
        true => format!("({})", rule.rule),
        false => rule.rule.clone(),
    };
    rules.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// What a call wants, short enough for a line.
pub(in crate::commands) fn call_text(call: &LoggedCall) -> String {
    let input = cut(&visible(&input_text(&call.input)), INPUT_COLUMNS);
    let gap = if input.is_empty() { "" } else { " " };
    format!("{}{gap}{}", bold(visible(&call.tool)), input)
}

fn input_text(input: &Map<String, Value>) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) if input.len() == 1 => command.to_owned(),
        _ if input.is_empty() => String::new(),
        _ => Value::Object(input.clone()).to_string(),
    }
}

/// Writes an entry as a line that people read.
pub(super) fn write_line(out: &mut dyn Write, n: u64, entry: &LogEntry) -> io::Result<()> {
    let shown = Shown::of(&entry.what);
    let time = when::local(Time(entry.at));
    let session = visible(entry.session.as_deref().unwrap_or("all sessions"));
    write!(out, "{n:>6}  {}  {session}  ", dim(time))?;
    match &entry.what {
        LogEvent::Call { call, decided } => {
            match decision(&decided.verdict) {
                Some(decision) => write!(out, "{:<6}", painted(decision, decision.word()))?,
                None => write!(out, "{:<6}", visible(&decided.verdict))?,
            }
            write!(out, "  {}", call_text(call))?;
        }
        _ => {
            let words = [shown.what, &shown.tool, &shown.call, &shown.verdict];
            let words: Vec<String> = words.into_iter().filter(|it| !it.is_empty()).map(visible).collect();
            write!(out, "{}", words.join(" "))?;
        }
    }
    let gap = if shown.rule.is_empty() || shown.reason.is_empty() { "" } else { ": " };
    match (shown.rule.as_str(), shown.reason.as_str()) {
        ("", "") => writeln!(out),
        (rule, reason) => writeln!(out, "  {}{gap}{}", dim(visible(rule)), visible(reason)),
    }
}

fn decision(word: &str) -> Option<Decision> {
    [Decision::Allow, Decision::Redact, Decision::Ask, Decision::Block]
        .into_iter()
        .find(|it| it.word() == word)
}

/// Writes an entry as a row of a table.
pub(super) fn write_row(out: &mut dyn Write, link: &Link, entry: &LogEntry) -> io::Result<()> {
    let shown = Shown::of(&entry.what);
    let (n, time, hash) = (link.n.to_string(), when::utc(Time(entry.at)), to_hex(&link.hash));
    let cells = [
        n.as_str(),
        &time,
        entry.session.as_deref().unwrap_or_default(),
        shown.what,
        &shown.call,
        &shown.tool,
        &shown.input,
        &shown.verdict,
        &shown.rule,
        &shown.reason,
        entry.policy.as_deref().unwrap_or_default(),
        &hash,
    ];
    writeln!(out, "{}", cells.map(cell).join(","))
}

/// A cell that is shown as it is: a spreadsheet would compute what begins like a formula, and an agent may have
/// written it.
fn cell(text: &str) -> String {
    let text = visible(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    match guard.is_empty() && !text.contains([',', '"']) {
        true => text,
        false => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula_and_never_two_cells() {
        for (text, shown) in [
            ("push", "push"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"a\"", "\"say \"\"a\"\"\""),
            ("=1+1", "\"'=1+1\""),
            ("@SUM(a)", "\"'@SUM(a)\""),
            ("-2", "\"'-2\""),
            ("+2", "\"'+2\""),
            ("\t=1", "\\t=1"),
            ("a\nb", "a\\nb"),
        ] {
            assert_eq!(cell(text), shown, "{text:?}");
        }
    }
}
