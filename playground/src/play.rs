//! A session as somebody writes it, played through a gate of its own.
//!
//! A line has the steps of an example (`backup ok, delete`), or a script: `bash $ rm -rf data`. Nobody answers a question that no line
//! answers, and a result is a success unless the line says otherwise.

use lockgate::{
    Gate, ManualClock, Policy, Ruling, Session, Status, TimeZone, ToolCall, ToolResult,
    engine::{
        languages::one_line::read_steps,
        policy::{ExampleCall, ExampleStep},
        prover::{PLAYED_FROM, proof::Calls},
    },
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The longest session, in steps.
const STEPS_MAX: usize = 1_000;

/// The name of the session, and of whoever answers in it.
const SESSION: &str = "playground";

/// What became of a session.
pub(crate) struct Played {
    pub(crate) steps: Vec<Step>,
    pub(crate) status: Status,
}

/// What became of one step.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Step {
    /// Its line, from 1.
    line: usize,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Its input.
    #[serde(skip_serializing_if = "Map::is_empty")]
    input: Map<String, Value>,
    /// The answer of the gate, as the protocol writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    /// The same after a human's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<Value>,
    /// What the agent is told; empty where it is nothing.
    sentence: String,
    /// What happened that is not a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why the line cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    mistake: Option<String>,
}

/// Plays a session, one line after another.
pub(crate) fn play(policy: &Policy, text: &str) -> Result<Played, String> {
    let clock = ManualClock::new(PLAYED_FROM);
    let gate = Gate::builder(policy.clone())
        .clock(clock.clone())
        .zone(TimeZone::UTC)
        .variables([])
        .without_eyes()
        .build()
        .map_err(|error| error.to_string())?;
    let mut stage = Stage { policy, session: gate.session(SESSION), clock, steps: Vec::new() };
    for (number, line) in text.lines().enumerate() {
        stage.line(number + 1, line.trim())?;
    }
    let status = stage.session.status().map_err(|error| error.to_string())?;
    Ok(Played { steps: stage.steps, status })
}

struct Stage<'p> {
    policy: &'p Policy,
    session: Session,
    clock: ManualClock,
    steps: Vec<Step>,
}

impl Stage<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), String> {
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let steps =
            match script(text).map_or_else(|| read_steps(text), |call| Ok(vec![ExampleStep::Call(call)])) {
                Ok(steps) => steps,
                Err(mistake) => {
                    self.steps.push(Step { line, mistake: Some(mistake), ..Step::default() });
                    return Ok(());
                }
            };
        for step in steps {
            if self.steps.len() >= STEPS_MAX {
                return Err(format!("a session has at most {STEPS_MAX} steps here"));
            }
            let step = self.step(line, step)?;
            self.steps.push(step);
        }
        Ok(())
    }

    fn step(&mut self, line: usize, step: ExampleStep) -> Result<Step, String> {
        let note = match step {
            ExampleStep::Call(call) => return self.call(line, &call),
            ExampleStep::UserSays(text) => {
                self.session.hear(&text).map_err(|error| error.to_string())?;
                "heard".to_owned()
            }
            ExampleStep::Wait(ms) => {
                self.clock.advance(Duration::from_millis(ms));
                format!("{} later", words(ms / 1_000))
            }
        };
        Ok(Step { line, note: Some(note), ..Step::default() })
    }

    fn call(&mut self, line: usize, call: &ExampleCall) -> Result<Step, String> {
        let id = (self.steps.len() + 1).to_string();
        let (tool, input) = self.meant(call, &id);
        let asked = ToolCall::new(tool.as_str(), Value::Object(input.clone())).id(id);
        let ruling = self.session.request(asked).map_err(|error| error.to_string())?;
        let mut step = Step { line, tool: Some(tool), input, ..Step::default() };
        step.answer = Some(json!(ruling));
        let last = self.ended(ruling, call, &mut step)?;
        step.sentence = last;
        Ok(step)
    }

    /// Lets a human answer where the line says so, and the tool run where it may. Returns what the agent is told.
    fn ended(&self, ruling: Ruling, call: &ExampleCall, step: &mut Step) -> Result<String, String> {
        let sentence = ruling.sentence();
        match (ruling, call.granted) {
            (Ruling::Run(permit), _) => {
                let output = call.output.clone().unwrap_or_default();
                let result = if call.ok == Some(false) {
                    ToolResult::failure(output)
                } else {
                    ToolResult::success(output)
                };
                permit.settle(result).map_err(|error| error.to_string())?;
            }
            (Ruling::Ask(question), Some(granted)) => {
                let answered = question.answer(granted, SESSION).map_err(|error| error.to_string())?;
                step.then = Some(json!(answered));
                return self.ended(answered, call, step);
            }
            (Ruling::Ask(_) | Ruling::Block(_), _) => {}
        }
        Ok(sentence)
    }

    /// The tool and the input of a call. A name that a map gives stands for a call that the map takes.
    fn meant(&self, call: &ExampleCall, id: &str) -> (String, Map<String, Value>) {
        if let Some(input) = &call.input {
            return (call.call.clone(), input.clone());
        }
        let compiled = self.policy.compiled();
        let calls = Calls::new(&compiled);
        let named = compiled.sources().first().and_then(|source| calls.named(&call.call, source, id));
        named.map_or_else(|| (call.call.clone(), Map::new()), |made| (made.tool, made.input))
    }
}

/// A call in the form `bash $ rm -rf data`: everything behind the mark is the script.
fn script(text: &str) -> Option<ExampleCall> {
    let (tool, script) = text.split_once(" $ ")?;
    let is_name = !tool.is_empty() && !tool.contains(|c: char| c.is_whitespace() || "{\"".contains(c));
    let input = Map::from_iter([("command".to_owned(), Value::from(script.trim()))]);
    is_name.then(|| ExampleCall { input: Some(input), ..ExampleCall::new(tool) })
}

/// A time in the largest unit that says it in whole numbers.
fn words(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let (length, unit) =
        units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length)).unwrap_or((1, "s"));
    format!("{} {unit}", seconds / length)
}
