//! Takes in a tool's result.
//!
//! [`settle`] fires what waited for success. Results are matched by session and call id: a second result, a
//! result for an unknown id or another tool's changes nothing and is recorded. Like `judge` it is pure.

use std::sync::Arc;

use lockgate_call::{Call, Time};
use serde_json::Value;

use crate::{
    event::Event,
    judge::{Events, lapsed},
    rulebook::{Rulebook, Success},
    scratch::Scratch,
    session::Session,
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
    /// When.
    pub at: Time,
}

impl Outcome {
    /// The success of a call.
    pub fn success(call: &Call) -> Self {
        let (session, id, tool) = (call.session.clone(), call.id.clone(), Some(call.tool.clone()));
        Self { session, id, tool, ok: true, output: None, at: call.at }
    }

    /// The failure of a call.
    pub fn failure(call: &Call) -> Self {
        Self { ok: false, ..Self::success(call) }
    }
}

/// What became of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settlement {
    /// Whether a call waited for it.
    pub settled: bool,
    /// Why it changed nothing, where it did not.
    pub reason: Option<String>,
    /// What the session has to take in; a gate has done so already and leaves this empty.
    pub events: Events,
}

/// Takes in a result.
pub fn settle(rulebook: &Rulebook, session: &Session, outcome: &Outcome) -> Settlement {
    let mut events = lapsed(rulebook, session, outcome.at);
    let session = session.after(&events);
    let stray = |mut events: Events, reason: String| {
        events.push(Event::Stray { id: outcome.id.clone(), at: outcome.at });
        Settlement { settled: false, reason: Some(reason), events }
    };
    let Some((id, flight)) = session.flights.get_key_value(outcome.id.as_str()) else {
        return stray(events, format!("no call with id '{}' is waiting for a result", outcome.id));
    };
    if let Some(tool) = outcome.tool.as_ref().filter(|tool| ***tool != *flight.tool) {
        return stray(
            events,
            format!("call '{}' is a call of '{}', not of '{tool}'", outcome.id, flight.tool),
        );
    }
    let mut scratch = Scratch::new(&rulebook.policy, &session);
    // A rule that was deactivated meanwhile still learns what it waited for.
    for waiting in flight.waiting.iter().filter(|_| outcome.ok) {
        let Some(rule) = rulebook.policy.rule(waiting.rule) else { continue };
        // What is not enabled any more was earned by another call in the meantime.
        if !scratch.fire(rule, waiting.transition) {
            continue;
        }
        if let Some(hook) = rulebook.hooks.result_hook(rule.id) {
            // A hook that was not there when the call was judged learns what little is known.
            let little =
                || Arc::new(Call::new(outcome.id.as_str(), &*flight.tool).in_session(&*outcome.session));
            let call = flight.call.clone().unwrap_or_else(little);
            let transition = rule.net.net().transition_name(waiting.transition);
            let success = Success { call: &call, deed: &waiting.deed, transition };
            let Ok(()) = scratch.with_notes(rule.id, |notes| {
                hook(&success, notes);
                Ok::<(), std::convert::Infallible>(())
            });
        }
    }
    let (moves, notes) = scratch.into_changes();
    let at = outcome.at.max(session.clock);
    events.push(Event::Settled { id: id.clone(), at, ok: outcome.ok, moves, notes });
    Settlement { settled: true, reason: None, events }
}
