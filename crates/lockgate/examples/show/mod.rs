//! Plays a session and writes it down: one line a call, and what the agent is told when it is stopped.

use lockgate::{Gate, Ruling, ToolResult};
use serde_json::{Value, json};

/// A tool, its input, and whether the tool succeeds once it may run.
pub(crate) type Step = (&'static str, Value, bool);

/// A call of a tool whose input has one field.
pub(crate) fn call(tool: &'static str, field: &str, value: &str, succeeds: bool) -> Step {
    (tool, json!({ field: value }), succeeds)
}

/// Puts every call to the gate and settles those that may run. A human answers in this order, and then refuses.
///
/// # Errors
/// When a call cannot be judged or the store fails, which memory does not.
pub(crate) fn play(
    gate: &Gate,
    answers: &[bool],
    steps: Vec<Step>,
) -> Result<String, Box<dyn std::error::Error>> {
    let session = gate.session("example");
    let mut answers = answers.iter().copied();
    let mut text = String::new();
    for (tool, input, succeeds) in steps {
        let mut ruling = session.call(tool, input.clone())?;
        while let Ruling::Ask(question) = ruling {
            ruling = question.answer(answers.next().unwrap_or(false), "a human")?;
        }
        let verdict = ruling.verdict();
        let fails = if verdict.lets_pass() && !succeeds { "  (and fails)" } else { "" };
        text.push_str(&format!("{:<6} {tool} {input}{fails}\n", verdict.decision.word()));
        for obstacle in &verdict.obstacles {
            text.push_str(&format!("       {}\n", obstacle.reason));
        }
        if let Some(permit) = ruling.permit() {
            permit.settle(if succeeds { ToolResult::success("") } else { ToolResult::failure("") })?;
        }
    }
    Ok(text)
}
