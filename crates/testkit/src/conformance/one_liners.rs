//! How much of what people type can be read: a file of shell one-liners, one a line.
//!
//! A line passes if its commands could be listed, even if one of them is named only when it runs. Some lines of the
//! web are no scripts, so one in a hundred may fail.

use lockgate::engine::call::read_script;

use super::{BadRecording, Difference, Report};

/// One line in so many may be unreadable.
const UNREAD_ONE_IN: usize = 100;

/// Reads every line of a file of one-liners.
///
/// # Errors
/// When the file has no line.
pub fn one_liners(text: &str) -> Result<Report, BadRecording> {
    let mut report = Report::default();
    let mut opaque = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let script = read_script(line);
        report.cases += 1;
        report.steps += script.commands.len();
        if script.commands.is_empty() && script.opaque {
            let got = script.doubts.join("; ");
            let (line, step, expected) = (at + 1, line.to_owned(), "a list of commands".to_owned());
            report.failures.push(Difference { line, step, expected, got });
        } else if script.opaque {
            opaque += 1;
        }
    }
    if report.cases == 0 {
        return Err(BadRecording { line: 1, why: "no line to read".to_owned() });
    }
    report
        .on_purpose
        .push(format!("{opaque} lines are opaque: they run something that is named only when they run"));
    report.tolerated = report.cases / UNREAD_ONE_IN;
    Ok(report)
}
