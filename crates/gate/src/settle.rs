//! Takes in a tool's result.
//!
//! [`settle`] fires what waited for success. Results are matched by session and call id: a second result, a
//! result for an unknown id or another tool's changes nothing and is recorded. What may be passed on of the
//! output is decided by `output.rs`. Like `judge` it is pure.

use std::sync::Arc;

use lockgate_call::{Call, SeenCall, Time, says_failure};
use lockgate_policy::{
    DecidedCall, Decision, WindowMarks, past::Moment, provenance::NewOrigins, window::Marks,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    duplicate::in_flight_like,
    judge::lapsed,
    output::{Checked, OutputDecision, OutputHit, check_output},
    record::Events,
    record::recorded,
    rulebook::{Rulebook, Success},
    scratch::Scratch,
    stages,
    state::{Event, Flight, Remembered, Session, SharedEvent, Stand, Steps},
};

/// What a tool's run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The session of the call.
    pub session: String,
    /// The call's id.
    pub id: String,
    /// The tool, where the host says; a result of another tool is not this call's.
    pub tool: Option<String>,
    /// Whether it says success.
    pub ok: bool,
    /// What the tool returned.
    pub output: Option<Value>,
    /// The call itself, where its host names no ids: the oldest in flight that is like it is meant.
    pub like: Option<Box<Call>>,
    /// When.
    pub at: Time,
}

impl Outcome {
    /// The success of a call.
    pub fn success(call: &Call) -> Self {
        let (session, id, tool) = (call.session.clone(), call.id.clone(), Some(call.tool.clone()));
        Self { session, id, tool, ok: true, at: call.at, ..Self::default() }
    }

    /// The failure of a call.
    pub fn failure(call: &Call) -> Self {
        Self { ok: false, ..Self::success(call) }
    }
}

/// What became of a result. It serialises to the documented JSON of an answer, except the ids of the call and its
/// session: see [`SettledCall`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Settlement {
    /// Whether a call waited for it.
    pub settled: bool,
    /// What is decided about the output.
    #[serde(rename = "verdict")]
    pub decision: OutputDecision,
    /// Why it changed nothing, or why the output is not passed on as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The output to pass on instead, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What rules on results would have done, had they acted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The kinds of sensitive data found in the output, as far as some rule wants to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Arc<str>>,
    /// The rules on results that had something to say, the leading one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OutputHit>,
    /// What the session has to take in; a gate has done so already and leaves this empty.
    #[serde(skip)]
    pub events: Events,
    /// What all sessions have to take in with it.
    #[serde(skip)]
    pub shared: Vec<SharedEvent>,
}

/// A settlement with the call that it is about, as the line protocol writes it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SettledCall<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// Its session.
    pub session: &'a str,
    /// What became of the result.
    #[serde(flatten)]
    pub settlement: &'a Settlement,
}

impl<'a> SettledCall<'a> {
    /// An outcome with its settlement.
    pub fn new(outcome: &'a Outcome, settlement: &'a Settlement) -> Self {
        Self { id: &outcome.id, session: &outcome.session, settlement }
    }
}

impl Settlement {
    /// What is told to the agent: why, and by which rule.
    pub fn sentence(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(match self.rules.first().filter(|rule| rule.reason == *reason) {
            Some(rule) => format!("{reason} (rule {}, {}:{})", rule.name, rule.file, rule.line),
            None => reason.clone(),
        })
    }
}

/// Takes in a result.
pub fn settle<'a>(rulebook: &Rulebook, stand: impl Into<Stand<'a>>, outcome: &Outcome) -> Settlement {
    let Stand { session, shared_state, ran } = stand.into();
    let mut events = lapsed(rulebook, session, outcome.at);
    let session = session.after(&events);
    let stand = Stand { session: &session, shared_state, ran };
    let found = outcome.like.as_deref().and_then(|call| in_flight_like(&session, call));
    let flight = session.flights.get_key_value(found.as_deref().unwrap_or(&outcome.id));
    // A result without a waiting call is checked like any other: the agent will see it all the same.
    let tool = flight.map(|(_, flight)| &*flight.tool).or(outcome.tool.as_deref());
    let masks = match flight {
        Some((_, flight)) => flight.decision == Decision::Redact,
        None => rulebook.policy.clauses().iter().any(|clause| clause.wants == Decision::Redact),
    };
    let Checked { decision, reason, output, warnings, found, rules } = check_output(
        rulebook,
        tool,
        &call_of(flight.map(|(_, flight)| flight), outcome),
        outcome.output.as_ref(),
        masks,
    );
    let settlement = Settlement { decision, reason, output, warnings, found, rules, ..Settlement::default() };
    let stray = |mut events: Events, reason: String| {
        let remembered = seen(rulebook, &settlement.found, Marks::new());
        events.push(Event::Stray { id: outcome.id.clone(), at: outcome.at, remembered });
        Settlement { reason: Some(reason), events, ..settlement.clone() }
    };
    let Some((id, flight)) = flight else {
        return stray(events, format!("no call with id '{}' is waiting for a result", outcome.id));
    };
    if let Some(tool) = outcome.tool.as_ref().filter(|tool| ***tool != *flight.tool) {
        return stray(
            events,
            format!("call '{}' is a call of '{}', not of '{tool}'", outcome.id, flight.tool),
        );
    }
    let mut scratch = Scratch::new(&rulebook.policy, &session);
    // A host may call a run a success whose own exit code says otherwise.
    let ok = outcome.ok && !outcome.output.as_ref().is_some_and(says_failure);
    if ok {
        fire_waiting(rulebook, &mut scratch, flight, outcome);
    }
    let at = outcome.at.max(session.clock);
    let records = flight.call.as_deref().map(|call| {
        let moment = Moment::Ended { is_ok: ok };
        recorded(rulebook, stand, (call, outcome.output.as_ref()), moment, at)
    });
    let (mut remembered, shared) =
        remember(rulebook, stand, flight, (ok, records.unwrap_or_default()), at, &settlement.found);
    let steps = if ok {
        stages::succeed(rulebook, &session, flight, outcome.output.as_ref(), at)
    } else {
        Steps::new()
    };
    if !steps.is_empty() {
        remembered.get_or_insert_default().steps = steps;
    }
    if ok && let Some(origins) = shown(rulebook, &session, (&flight.tool, id), outcome.output.as_ref()) {
        remembered.get_or_insert_default().origins = Some(origins);
    }
    let (moves, notes) = scratch.into_changes();
    events.push(Event::Settled { id: id.clone(), at, ok, moves, notes, remembered });
    Settlement { settled: true, events, shared, ..settlement }
}

/// The values that a success shows, where some rule asks where values come from. What failed shows nothing: its text may
/// repeat what the agent gave it.
fn shown(
    rulebook: &Rulebook,
    session: &Session,
    (tool, id): (&str, &str),
    output: Option<&Value>,
) -> Option<Box<NewOrigins>> {
    let sources = rulebook.policy.trusted_sources();
    let output = output.filter(|_| sources.traces())?;
    let new = session.origins.shown((tool, id), output, sources.of_tool(tool));
    let new = new.begun_late(session.keeps_origins_late());
    (!new.is_empty()).then(|| Box::new(new))
}

/// What may be passed on of a result, whatever the session.
pub(crate) fn look_at(rulebook: &Rulebook, call: &SeenCall, outcome: &Outcome) -> Settlement {
    let Checked { decision, reason, output, warnings, found, rules } =
        check_output(rulebook, Some(&call.tool), call, outcome.output.as_ref(), false);
    Settlement { decision, reason, output, warnings, found, rules, ..Settlement::default() }
}

/// The call a result belongs to. Where it was not kept, what little is known of it.
fn call_of(flight: Option<&Flight>, outcome: &Outcome) -> Arc<SeenCall> {
    let tool = flight.map(|flight| &*flight.tool).or(outcome.tool.as_deref()).unwrap_or_default();
    let little = || Arc::new(Call::new(outcome.id.as_str(), tool).in_session(&*outcome.session).into());
    flight.and_then(|flight| flight.call.clone()).unwrap_or_else(little)
}

/// Fires what waited for success.
fn fire_waiting(rulebook: &Rulebook, scratch: &mut Scratch<'_>, flight: &Flight, outcome: &Outcome) {
    // A rule that was deactivated meanwhile still learns what it waited for.
    for waiting in &flight.waiting {
        let Some(rule) = rulebook.policy.net(waiting.rule) else { continue };
        // What is not enabled any more was earned by another call in the meantime.
        if !scratch.fire(rule, waiting.transition) {
            continue;
        }
        if let Some(hook) = rulebook.hooks.result_hook(rule.id) {
            let call = call_of(Some(flight), outcome);
            let transition = rule.net.net().transition_name(waiting.transition);
            let success = Success { call: &call, deed: &waiting.deed, transition };
            let Ok(()) = scratch.with_notes(rule.id, |notes| {
                hook(&success, notes);
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }
}

/// What a result leaves beside markings: successes that open something, and sensitive data that was seen.
fn remember(
    rulebook: &Rulebook,
    stand: Stand<'_>,
    flight: &Flight,
    (ok, records): (bool, Marks),
    at: Time,
    found: &[Arc<str>],
) -> (Option<Box<Remembered>>, Vec<SharedEvent>) {
    let policy = &rulebook.policy;
    if policy.clauses().is_empty() {
        return (None, Vec::new());
    }
    let (tool, decision) = (&*flight.tool, flight.decision);
    let heard = DecidedCall { tool, decision, succeeded: true, refused_by: &|_| false, at };
    let WindowMarks { mut marks, shared } =
        if ok { policy.marks(&heard, &stand) } else { WindowMarks::default() };
    let shared = if shared.is_empty() { Vec::new() } else { vec![SharedEvent::Marked { at, marks: shared }] };
    marks.extend(records);
    (seen(rulebook, found, marks), shared)
}

/// Sensitive data that was seen, and windows a success counts for.
fn seen(rulebook: &Rulebook, found: &[Arc<str>], marks: Marks) -> Option<Box<Remembered>> {
    let taints = if rulebook.policy.watches_taints() { found.to_vec() } else { Vec::new() };
    let is_tainted = !taints.is_empty();
    let remembered = Remembered { marks, taints, is_tainted, ..Remembered::default() };
    (remembered != Remembered::default()).then(|| Box::new(remembered))
}
