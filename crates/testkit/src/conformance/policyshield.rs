//! Recorded cases of when/then rules: a policy, and the answer to each of some calls.
//!
//! What is compared is the promise of the language's manual where a step has one (`docs_expect`, then `faq_expect`),
//! and otherwise what was observed (`expect`). Where we answer otherwise on purpose, [`ON_PURPOSE`] says why, and a row
//! of it that is no difference any more is a failure. [`FORESEEN`] has the reasons for cases of which only the name and
//! the behaviour are known to us: whether they differ cannot be looked up, so none of its rows is ever stale.

mod differences;
mod player;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use self::{
    differences::{FORESEEN, ON_PURPOSE},
    player::{Differs, play},
};
use super::{BadRecording, Difference, Report, yaml};

/// Plays recorded cases of when/then rules.
///
/// # Errors
/// When the file is no such recording.
pub fn policyshield(text: &str) -> Result<Report, BadRecording> {
    let root = yaml::read(text)?;
    let lines = lines_of_ids(text);
    let cases = root.get("cases").and_then(Value::as_array);
    let cases = cases.ok_or_else(|| BadRecording { line: 1, why: "there are no `cases`".into() })?;
    let mut report = Report::default();
    for (index, case) in cases.iter().enumerate() {
        let id = case.get("id").and_then(Value::as_str);
        let line = id.and_then(|id| lines.get(id)).copied().unwrap_or(1);
        let case: Case = serde_json::from_value(case.clone())
            .map_err(|error| BadRecording { line, why: format!("case {}: {error}", index + 1) })?;
        report.cases += 1;
        let played = play(&case, &mut report.steps);
        if let Err(Differs { step, expected, got }) = judge(&case.id, played, &mut report.on_purpose) {
            let step = format!("{}, {step}", case.id);
            report.failures.push(Difference { line, step, expected, got });
        }
    }
    if report.cases == 0 {
        return Err(BadRecording { line: 1, why: "there is no case in this file".into() });
    }
    Ok(report)
}

/// What is left of a difference once the tables were asked about it.
fn judge(id: &str, played: Result<(), Differs>, on_purpose: &mut Vec<String>) -> Result<(), Differs> {
    let reason = |table: &[(&str, &'static str)]| {
        table.iter().find(|(known, _)| *known == id).map(|(_, reason)| *reason)
    };
    match (played, reason(ON_PURPOSE), reason(FORESEEN)) {
        (Err(Differs { step, expected, got }), Some(reason), _)
        | (Err(Differs { step, expected, got }), None, Some(reason)) => {
            on_purpose.push(format!("{id}, {step}: {got}, not {expected}: {reason}"));
            Ok(())
        }
        (Ok(()), Some(reason), _) => Err(Differs {
            step: "as a whole".into(),
            expected: format!("a difference, because {reason}"),
            got: "none: its row in the table is stale".into(),
        }),
        (played, ..) => played,
    }
}

/// Where each case begins, from 1.
fn lines_of_ids(text: &str) -> HashMap<&str, usize> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| Some((line.strip_prefix("- id: ")?.trim(), index + 1))).collect()
}

#[derive(Deserialize)]
struct Case {
    id: String,
    policy: String,
    #[serde(default)]
    engine: Engine,
    start: Option<String>,
    process_tz: Option<String>,
    expect_load_error: Option<Value>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// How the other gate was started. What it calls `fail_open` has no meaning here: nothing fails open.
#[derive(Default, Deserialize)]
struct Engine {
    mode: Option<String>,
    approval: Option<String>,
    approval_cache: Option<String>,
    rate_limits: Option<Value>,
    sanitizer: Option<Value>,
}

#[derive(Deserialize)]
struct Step {
    /// What happens; a call where nothing is said.
    op: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    args: Option<Map<String, Value>>,
    session: Option<String>,
    sender: Option<Value>,
    context: Option<Value>,
    /// Seconds after the start; the moment before where nothing is said.
    at: Option<f64>,
    repeat: Option<usize>,
    /// The step that asked, from 0.
    #[serde(rename = "ref")]
    asked_in: Option<usize>,
    approved: Option<bool>,
    result: Option<Value>,
    reason: Option<String>,
    #[serde(default)]
    want_message: bool,
    docs_expect: Option<String>,
    faq_expect: Option<String>,
    #[serde(default)]
    expect: Option<Map<String, Value>>,
}

impl Step {
    /// What was promised in a word, where something was.
    fn promise(&self) -> Option<&str> {
        self.docs_expect.as_deref().or(self.faq_expect.as_deref())
    }
}
