//! One call that several doors see is one call.
//!
//! A host may show a call twice: by two of its events, or by its hook and by a proxy on the way to the tool. The
//! first door to see it has it judged; at any other door the same call passes without being counted again. One door
//! never sees a call twice: there, the same id again is another call, and refused while the first one runs. Where a
//! host names no ids, calls are told apart by what they hold, and the gate gives them ids of its own.

use std::{borrow::Cow, sync::Arc};

use lockgate_call::{Call, DuplicateKey, SeenCall, canonical_json};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    hex::hex,
    state::{Passage, Session},
};

impl Passage {
    /// A call that its first door has just seen; `given` is the input that the tool gets, where it is another.
    pub(crate) fn first(call: &Call, given: Option<&Map<String, Value>>) -> Option<Box<Self>> {
        let duplicate_key = call.about.duplicate_key.as_ref()?;
        let content = content(duplicate_key, &call.tool, given.unwrap_or(&call.input));
        Some(Box::new(Self { doors: vec![duplicate_key.door.clone()], content }))
    }
}

/// The call that runs already and that another door has seen, if this is the same; and the door it comes by now.
pub(crate) fn seen_before(session: &Session, call: &Call) -> Option<(Arc<str>, Arc<str>)> {
    let duplicate_key = call.about.duplicate_key.as_ref()?;
    let content = content(duplicate_key, &call.tool, &call.input);
    let is_new = |doors: &[Arc<str>]| !doors.contains(&duplicate_key.door);
    Some((like(session, &call.id, &content, is_new)?, duplicate_key.door.clone()))
}

/// The oldest call in flight that is told apart from no other by this: what a result without an id belongs to.
pub(crate) fn in_flight_like(session: &Session, call: &Call) -> Option<Arc<str>> {
    let duplicate_key = call.about.duplicate_key.as_ref()?;
    let content = content(duplicate_key, &call.tool, &call.input);
    like(session, &call.id, &content, |_| true)
}

/// The number of the open question about a call.
pub(crate) fn question_about(session: &Session, call: &Call) -> Option<u64> {
    let is_about = |asked: &Call| {
        if !call.id.is_empty() {
            return asked.id == call.id;
        }
        let Some(duplicate_key) = &call.about.duplicate_key else { return false };
        content(duplicate_key, &asked.tool, &asked.input) == content(duplicate_key, &call.tool, &call.input)
    };
    session.asked.iter().find(|(_, asked)| is_about(&asked.call)).map(|(number, _)| *number)
}

/// The call in flight that holds this and was seen by the right doors: the one with this id, or else the oldest.
fn like(
    session: &Session,
    id: &str,
    content: &str,
    is_meant: impl Fn(&[Arc<str>]) -> bool,
) -> Option<Arc<str>> {
    if id.is_empty() {
        return session.flights.like(content, is_meant).cloned();
    }
    let (id, flight) = session.flights.get_key_value(id)?;
    let passage = flight.passage.as_deref()?;
    (is_meant(&passage.doors) && *passage.content == *content).then(|| id.clone())
}

/// The call with an id of ours, where its host names none.
pub(crate) fn identified<'c>(session: &Session, call: &'c SeenCall) -> Cow<'c, SeenCall> {
    if !call.id.is_empty() || call.about.duplicate_key.is_none() {
        return Cow::Borrowed(call);
    }
    // No two calls of a session are the same attempt or the same question.
    let id = format!("~{}.{}", session.counts.attempts, session.approvals_made);
    Cow::Owned(call.with_id(id))
}

/// What distinguishes a call from others when calls have no ids.
fn content(duplicate_key: &DuplicateKey, tool: &str, input: &Map<String, Value>) -> Arc<str> {
    let text = if duplicate_key.identifying_fields.is_empty() {
        canonical_json(input)
    } else {
        let is_told = |(field, _): &(&String, &Value)| duplicate_key.identifying_fields.contains(*field);
        let fields = input.iter().filter(is_told).map(|(field, value)| (field.clone(), value.clone()));
        canonical_json(&fields.collect())
    };
    let digest = Sha256::new().chain_update(tool).chain_update([0]).chain_update(text).finalize();
    hex(&digest).into()
}
