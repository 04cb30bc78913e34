//! The plain form: what our own scripts and any other host say, and what they are answered.
//!
//! Every answer is one JSON object with a `decision`, never silence, so that a script can tell an answer from a crash.
//! Told are `{"event":"before","session":…,"tool":…,"input":{…}}` and `{"event":"after",…,"ok":true,"output":…}`,
//! with `call`, `cwd` and `agent` where the host has them, and `start`, `resume`, `compact`, `end` with a `session`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Asking, Dialect, Event, Misread, Phase, Reply, Said, Told, ToldCall, ToldResult, limit_of,
    wire::{
        Moment, answer, complaint, object, optional_text, quiet, reason_of, sentence, text, unknown, value,
    },
};
use crate::install::OPENCLAW_LIMIT;

/// A host that is spoken to in the plain form.
pub(super) struct Plain {
    name: &'static str,
    /// Whether it asks people itself; where it does not, the hook waits for them.
    asks: bool,
    waits_for: Option<Duration>,
}

/// Any host without a dialect of its own.
pub(super) const GENERIC: Plain = Plain { name: "generic", asks: false, waits_for: None };

/// OpenCode, by way of our plugin `assets/opencode-plugin.js`, which throws to block.
pub(super) const OPENCODE: Plain = Plain { name: "opencode", ..GENERIC };

/// OpenClaw, by way of our plugin `assets/openclaw-plugin`.
pub(super) const OPENCLAW: Plain = Plain { name: "openclaw", asks: true, waits_for: Some(OPENCLAW_LIMIT) };

impl Dialect for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn asking(&self, _: &Event) -> Asking {
        if self.asks { Asking::Host } else { Asking::Wait }
    }

    fn waits_for(&self, told: &Told) -> Duration {
        self.waits_for.unwrap_or_else(|| limit_of(told))
    }

    fn decode(&self, event: &Event) -> Result<Told, Misread> {
        decode(event)
    }

    fn encode(&self, event: &Event, said: &Said) -> Reply {
        encode(event, said, self.asks)
    }

    fn fault(&self, event: Option<&Event>, line: &str) -> Reply {
        fault(event, line)
    }
}

/// Reads an event in the plain form.
fn decode(event: &Event) -> Result<Told, Misread> {
    match text(event, "event")? {
        "before" => Ok(Told::Call(Box::new(call(event, "before")?))),
        "after" => {
            let ok = value(event, "ok")?
                .as_bool()
                .ok_or_else(|| Misread("the field `ok` of the event is no truth value".to_owned()))?;
            let output = value(event, "output")?.clone();
            Ok(Told::Result(Box::new(ToldResult { call: call(event, "after")?, ok, output })))
        }
        "start" => session(event, Phase::Started),
        "resume" => session(event, Phase::Resumed),
        "compact" => session(event, Phase::Compacted),
        "end" => session(event, Phase::Ended),
        other => {
            no_input(event)?;
            unknown(event, other)
        }
    }
}

/// Where nothing is called there is no input: an event that has one was meant to tell a call.
fn no_input(event: &Event) -> Result<(), Misread> {
    if event.contains_key("input") {
        return Err(Misread(
            "the event carries a tool call in `input`, which is not expected at this event".to_owned(),
        ));
    }
    Ok(())
}

fn call(event: &Event, seen_at: &'static str) -> Result<ToldCall, Misread> {
    Ok(ToldCall {
        session: text(event, "session")?.to_owned(),
        id: optional_text(event, "call")?,
        tool: text(event, "tool")?.to_owned(),
        input: object(event, "input")?,
        cwd: optional_text(event, "cwd")?,
        agent: optional_text(event, "agent")?,
        seen_at,
        told_apart_by: &[],
    })
}

fn session(event: &Event, phase: Phase) -> Result<Told, Misread> {
    no_input(event)?;
    quiet(event)?;
    Ok(Told::Session { session: text(event, "session")?.to_owned(), phase })
}

fn moment(event: &Event) -> Moment {
    match event.get("event").and_then(Value::as_str) {
        Some("before") => Moment::Before,
        Some("after") => Moment::After,
        _ => Moment::Other,
    }
}

/// Writes an answer; `can_ask` where the host asks people itself.
fn encode(event: &Event, said: &Said, can_ask: bool) -> Reply {
    let reason = reason_of(said);
    match (moment(event), said) {
        (_, Said::Pass) => answer(&json!({ "decision": "pass" })),
        (Moment::Before, Said::Change { input, .. }) => {
            answer(&json!({ "decision": "change", "input": input, "reason": reason }))
        }
        (Moment::Before, Said::Ask { .. }) if can_ask => {
            answer(&json!({ "decision": "ask", "reason": reason }))
        }
        (Moment::After, Said::Replace { output, .. }) => {
            answer(&json!({ "decision": "replace", "output": output, "reason": reason }))
        }
        (Moment::After, _) => answer(&json!({ "decision": "withhold", "reason": reason })),
        (_, _) => answer(&json!({ "decision": "block", "reason": reason })),
    }
}

/// Says that Lockgate has failed, in the answer and in the exit code: a script may look at either.
fn fault(event: Option<&Event>, line: &str) -> Reply {
    let decision = match event.map(moment) {
        Some(Moment::After) => "withhold",
        _ => "block",
    };
    let said = answer(&json!({ "decision": decision, "reason": format!("lockgate: {}", sentence(line)) }));
    Reply { stderr: complaint(line), code: 2, ..said }
}
