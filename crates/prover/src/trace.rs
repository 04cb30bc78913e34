//! Sessions that were played, as programs read them.
//!
//! [`trace`] is a session call by call, as the line protocol and `verify --json` write it; [`protocol_lines`] are the lines
//! that play it in `lockgate gate`. What happens very often in turn is one [`Piece`], with the number.

use std::collections::VecDeque;

use lockgate_policy::Decision;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::play::{CallEnd, PLAYED_FROM, Part, Step};

/// Steps that happen in turn more often than this are told once, with the number.
const WRITTEN_OUT_MAX: u64 = 20;

/// The longest session whose lines are told, in steps.
const LINES_STEPS_MAX: u64 = 1_000;

/// The session of the lines, as `lockgate gate` calls its own.
const SESSION: &str = "default";

/// What is told at once.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// A step, and how often it happens in a row.
    Row(&'a Step, u64),
    /// Steps that happen in turn, too often to be written out.
    Turns(&'a [Step], u64),
}

/// A session in pieces, each to be shown at once.
pub fn pieces(session: &[Part]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for Part { steps, times } in session {
        match steps.as_slice() {
            [step] if is_repeatable(step) => add_row(&mut pieces, step, *times),
            steps if *times <= WRITTEN_OUT_MAX => {
                (0..*times).flat_map(|_| steps).for_each(|step| add_row(&mut pieces, step, 1));
            }
            steps => pieces.push(Piece::Turns(steps, *times)),
        }
    }
    pieces
}

fn add_row<'a>(pieces: &mut Vec<Piece<'a>>, step: &'a Step, times: u64) {
    match pieces.last_mut() {
        Some(Piece::Row(before, count)) if is_repeatable(step) && before.is_like(step) => *count += times,
        _ => pieces.push(Piece::Row(step, times)),
    }
}

/// Whether a row can say that a step happens several times: it is one call, and no later row speaks of it.
fn is_repeatable(step: &Step) -> bool {
    step.waited_ms == 0 && !matches!(step.ended, CallEnd::Open | CallEnd::LateSuccess)
}

/// One call of a session.
#[derive(Clone, Debug, Serialize)]
pub struct TraceStep<'a> {
    call: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    input: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    human: Option<&'static str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<u64>,
    /// How many steps, this one first, happen in turn that many times.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<usize>,
}

/// A session call by call.
pub fn trace(session: &[Part]) -> Vec<TraceStep<'_>> {
    let mut answers = Vec::new();
    for piece in pieces(session) {
        match piece {
            Piece::Row(step, times) => {
                let times = (times > 1).then_some(times);
                answers.push(TraceStep { times, ..TraceStep::new(step) });
            }
            Piece::Turns(steps, times) => {
                let first = answers.len();
                answers.extend(steps.iter().map(TraceStep::new));
                if let Some(answer) = answers.get_mut(first) {
                    (answer.times, answer.steps) = (Some(times), Some(steps.len()));
                }
            }
        }
    }
    answers
}

impl<'a> TraceStep<'a> {
    fn new(step: &'a Step) -> Self {
        Self {
            call: &step.deed,
            tool: &step.call.tool,
            input: step.call.input.clone(),
            waited_ms: (step.waited_ms > 0).then_some(step.waited_ms),
            result: match step.ended {
                CallEnd::Success => Some("ok"),
                CallEnd::Failure => Some("failed"),
                CallEnd::LateSuccess => Some("late"),
                CallEnd::Refused | CallEnd::Open => None,
            },
            human: step.granted.map(|granted| if granted { "grants" } else { "refuses" }),
            verdict: match step.ended {
                CallEnd::LateSuccess => "settled",
                _ => step.decision.word(),
            },
            times: None,
            steps: None,
        }
    }
}

/// The names of calls. A result that comes late has to say which call it is of.
#[derive(Debug, Default)]
pub struct CallIds {
    given: u64,
    open: VecDeque<(String, String, Map<String, Value>)>,
}

impl CallIds {
    /// The name of the next call.
    pub fn next(&mut self, step: &Step) -> String {
        self.given += 1;
        let id = self.given.to_string();
        if step.ended == CallEnd::Open {
            self.open.push_back((id.clone(), step.call.tool.clone(), step.call.input.clone()));
        }
        id
    }

    /// The oldest call of this kind whose result has not come.
    pub fn late(&mut self, step: &Step) -> String {
        let is_it = |(_, tool, input): &(String, String, Map<String, Value>)| {
            (tool, input) == (&step.call.tool, &step.call.input)
        };
        let place = self.open.iter().position(is_it);
        place.and_then(|place| self.open.remove(place)).map_or_else(|| step.call.id.clone(), |(id, ..)| id)
    }
}

/// Who stands behind a call and what the host says about it, as fields of a `call` line.
pub fn about_fields(step: &Step) -> Map<String, Value> {
    let about = &step.call.about;
    let texts = [("environment", &about.environment), ("cwd", &about.cwd)];
    let texts = texts.map(|(key, text)| (key, text.as_deref().map(Value::from)));
    let values = [
        ("sender", &about.sender),
        ("principal", &about.principal),
        ("context", &about.context),
        ("metadata", &about.metadata),
    ];
    let values = values.map(|(key, value)| (key, value.clone()));
    let all = values.into_iter().chain(texts);
    all.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The lines that play a session in `lockgate gate`, each with its moment; none for one that is very long.
pub fn protocol_lines(session: &[Part]) -> Vec<Value> {
    let length = |part: &Part| (part.steps.len() as u64).saturating_mul(part.times);
    if session.iter().map(length).fold(0, u64::saturating_add) > LINES_STEPS_MAX {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let (mut ids, mut questions, mut at) = (CallIds::default(), 0_u64, PLAYED_FROM.0);
    let rounds = session.iter().flat_map(|part| (0..part.times).flat_map(|_| &part.steps));
    for step in rounds {
        at = at.saturating_add(step.waited_ms);
        let mut say = |kind: &str, body: Value| lines.push(json!({kind: body, "at": at}));
        if step.ended == CallEnd::LateSuccess {
            say("result", json!({"id": ids.late(step), "ok": true}));
            continue;
        }
        let id = ids.next(step);
        let mut call = json!({"id": id, "tool": step.call.tool});
        if let (false, Some(call)) = (step.call.input.is_empty(), call.as_object_mut()) {
            call.insert("input".to_owned(), Value::Object(step.call.input.clone()));
        }
        call.as_object_mut().into_iter().for_each(|call| call.extend(about_fields(step)));
        say("call", call);
        if step.decision == Decision::Ask {
            questions += 1;
        }
        if let Some(granted) = step.granted {
            say("answer", json!({"approval": format!("a{questions}@{SESSION}"), "granted": granted}));
        }
        match step.ended {
            CallEnd::Success => say("result", json!({"id": id, "ok": true})),
            CallEnd::Failure => say("result", json!({"id": id, "ok": false})),
            CallEnd::Open | CallEnd::Refused | CallEnd::LateSuccess => {}
        }
    }
    lines
}
