//! Verdicts as people read them: a word on the left, its sentence on the right.
//!
//! [`verdict`] shows everything a verdict says, for `check`, `explain` and `demo` alike. Nothing is left to
//! colour alone.

use std::io::{self, Write};

use lockgate::engine::{Call, Mode, Obstacle, Verdict, call::visible};
use lockgate_agents::one_line;

use crate::console::{WIDTH, bold, cut, decided, dim, wrapped};

/// The columns before a word.
const MARGIN: usize = 4;
/// The columns of a word, with the space behind it.
const WORD: usize = 7;

/// Writes the line above a verdict: the call's number, and what it wants.
pub(crate) fn call(out: &mut dyn Write, number: usize, call: &Call) -> io::Result<()> {
    let input = match call.input.get("command").and_then(|command| command.as_str()) {
        Some(command) if call.input.len() == 1 => command.to_owned(),
        _ if call.input.is_empty() => String::new(),
        _ => serde_json::Value::Object(call.input.clone()).to_string(),
    };
    let tool = cut(&visible(&call.tool), WIDTH / 2);
    let room = WIDTH.saturating_sub(MARGIN + tool.chars().count() + 2);
    let shown = cut(&visible(&input), room);
    let gap = if shown.is_empty() { "" } else { "  " };
    writeln!(out, "{:>2}  {}{gap}{shown}", dim(number), bold(tool))
}

/// Writes all a verdict says.
pub(crate) fn verdict(out: &mut dyn Write, call: &Call, verdict: &Verdict) -> io::Result<()> {
    let word = verdict.decision.word();
    let mut obstacles = verdict.obstacles.iter();
    match obstacles.next() {
        None => {
            let deeds = deeds_text(call, verdict).map_or_else(String::new, |deeds| format!("as {deeds}"));
            said(out, &decided(verdict.decision, word), word.len(), &deeds)?;
            let allowing = verdict.allowed_by.iter().filter(|rule| rule.mode == Mode::Enforce);
            allowing.into_iter().try_for_each(|rule| place(out, rule))?;
        }
        Some(first) => {
            said(out, &decided(verdict.decision, word), word.len(), &first.reason)?;
            place(out, first)?;
        }
    }
    for obstacle in obstacles {
        note(out, "also", &obstacle.reason)?;
        place(out, obstacle)?;
    }
    for obstacle in &verdict.observed {
        note(out, "would", &format!("{}: {}", obstacle.decision.word(), obstacle.reason))?;
        place(out, obstacle)?;
    }
    if let (false, Some(deeds)) = (verdict.obstacles.is_empty(), deeds_text(call, verdict)) {
        note(out, "as", &deeds)?;
    }
    if let Some(input) = &verdict.input {
        note(out, "input", &serde_json::Value::Object((**input).clone()).to_string())?;
    }
    if !verdict.next.is_empty() {
        let names: Vec<String> = verdict.next.iter().map(|name| format!("`{name}`")).collect();
        note(out, "next", &format!("call {} first", names.join(", ")))?;
    }
    Ok(())
}

/// Writes a word and its sentence.
pub(crate) fn note(out: &mut dyn Write, word: &str, sentence: &str) -> io::Result<()> {
    said(out, &dim(word), word.chars().count(), sentence)
}

/// Writes a word in a colour of its own and its sentence.
pub(crate) fn painted_note(
    out: &mut dyn Write,
    painted: &dyn std::fmt::Display,
    word: &str,
    sentence: &str,
) -> io::Result<()> {
    said(out, painted, word.chars().count(), sentence)
}

/// Writes a word and a text that is not wrapped, and leaves the line open.
pub(crate) fn line(out: &mut dyn Write, word: &str, text: &str) -> io::Result<()> {
    let gap = WORD.saturating_sub(word.chars().count());
    write!(out, "{:MARGIN$}{}{:gap$}{text}", "", dim(word), "")
}

fn place(out: &mut dyn Write, obstacle: &Obstacle) -> io::Result<()> {
    if obstacle.line == 0 {
        return Ok(());
    }
    let text = format!("{}:{}  {}", obstacle.file, obstacle.line, obstacle.name);
    writeln!(out, "{:indent$}{}", "", dim(visible(&text)), indent = MARGIN + WORD)
}

fn said(out: &mut dyn Write, word: &dyn std::fmt::Display, length: usize, sentence: &str) -> io::Result<()> {
    let lines = wrapped(&visible(&one_line(sentence)), MARGIN + WORD);
    let mut lines = lines.iter();
    match lines.next() {
        None => writeln!(out, "{:MARGIN$}{word}", "")?,
        Some(first) => {
            // A word may be as wide as its column.
            let gap = WORD.saturating_sub(length).max(1);
            writeln!(out, "{:MARGIN$}{word}{:gap$}{first}", "", "")?
        }
    }
    lines.try_for_each(|line| writeln!(out, "{:indent$}{line}", "", indent = MARGIN + WORD))
}

/// What the call amounts to, where that says more than the tool's name.
fn deeds_text(call: &Call, verdict: &Verdict) -> Option<String> {
    let is_itself = verdict.deeds.iter().all(|deed| *deed.name == *call.tool && deed.certain);
    let names = verdict.deeds.iter().map(|deed| match deed.certain {
        true => format!("`{}`", deed.name),
        false => format!("perhaps `{}`", deed.name),
    });
    (!is_itself).then(|| names.collect::<Vec<_>>().join(", "))
}
