//! What became of a call: settled with the gate before the client sees it.

use lockgate::engine::gate::Outcome;
use serde_json::Value;

use super::{
    call_states::{CallInFlight, PendingCall},
    decider::{ReviewedResult, Undecided},
    state::{Action, Handling, Relay, to_client},
};
use crate::{
    message::{Id, Message, read_value, to_raw},
    protocol::{answer, refusal},
};

/// What may be passed on.
pub(super) enum ReviewedOutput {
    /// The output as it is.
    Unchanged,
    /// This instead.
    Replaced(Value),
    /// Nothing, and why.
    Withheld(String),
}

impl Relay {
    /// Answers a call with a refusal that the model can read.
    pub(super) fn refuse(&self, id: &Id, pending: &PendingCall, sentence: &str, actions: &mut Vec<Action>) {
        actions.push(to_client(answer(id, &refusal(pending.is_modern, sentence)), Some(id)));
    }

    /// Settles a call as failed: no result of it will come.
    pub(super) fn failed(&self, flight: &CallInFlight) {
        if let Err(error) = self.settle(flight, false, None) {
            self.context.log(&format!("the failure of a call could not be stored: {error}"));
        }
    }

    fn settle(
        &self,
        flight: &CallInFlight,
        ok: bool,
        output: Option<Value>,
    ) -> Result<ReviewedResult, Undecided> {
        let call = &flight.call;
        let like = call.id.is_empty().then(|| Box::new(call.clone()));
        let outcome = Outcome { ok, output, like, at: self.context.now(), ..Outcome::success(call) };
        self.context.config.decider.settle(&outcome)
    }

    /// Settles a call by its result, and returns what may be passed on.
    pub(super) fn review(
        &self,
        flight: &CallInFlight,
        ok: bool,
        raw: Option<&serde_json::value::RawValue>,
    ) -> ReviewedOutput {
        let output = match raw.map(|raw| read_value("result", raw)).transpose() {
            Ok(output) => output,
            Err(malformed) => {
                self.failed(flight);
                return ReviewedOutput::Withheld(format!("the server's result cannot be read: {malformed}."));
            }
        };
        let ok = ok && output.as_ref().is_none_or(|output| output.get("isError") != Some(&Value::Bool(true)));
        self.review_value(flight, ok, output)
    }

    pub(super) fn review_value(
        &self,
        flight: &CallInFlight,
        ok: bool,
        said: Option<Value>,
    ) -> ReviewedOutput {
        let place = said.as_ref().and_then(only_content);
        let inner = place.and_then(|place| said.as_ref()?.pointer(place).cloned());
        let settled = self.settle(flight, ok, if place.is_some() { inner } else { said.clone() });
        match settled {
            Err(error) => ReviewedOutput::Withheld(format!(
                "Lockgate could not store the result ({error}), so it is withheld."
            )),
            Ok(ReviewedResult { is_whole, output: left, reason }) => {
                match left.and_then(|left| put_back(said?, place, left)) {
                    _ if is_whole => ReviewedOutput::Unchanged,
                    Some(left) => ReviewedOutput::Replaced(left),
                    None => {
                        let reason = reason.unwrap_or_else(|| "the output is withheld.".to_owned());
                        ReviewedOutput::Withheld(reason)
                    }
                }
            }
        }
    }
}

pub(super) fn replaced(
    id: &Id,
    message: &Message<'_>,
    name: &str,
    value: &Value,
    actions: &mut Vec<Action>,
) -> Handling {
    let mut members = message.members.clone();
    members.set(name, to_raw(value));
    actions.push(to_client(members.to_text(), Some(id)));
    Handling::Done
}

/// Where a result has all that it says, if it has nothing but one text or one value: rules then see that without what
/// MCP wraps around it, as they do at any other door. Whatever else may be in a result is looked at as a whole.
fn only_content(result: &Value) -> Option<&'static str> {
    let result = result.as_object()?;
    let is_wrapping = |(name, value): (&String, &Value)| match name.as_str() {
        "content" => value.is_array(),
        "structuredContent" => true,
        "isError" => value.is_boolean(),
        "resultType" => value == "complete",
        _ => false,
    };
    if !result.iter().all(is_wrapping) {
        return None;
    }
    let content = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match (content, result.contains_key("structuredContent")) {
        ([], true) => Some("/structuredContent"),
        ([Value::Object(item)], false) => {
            let is_text = item.get("type").is_some_and(|kind| kind == "text");
            let has_text = item.get("text").is_some_and(Value::is_string);
            (is_text && has_text && item.len() == 2).then_some("/content/0/text")
        }
        _ => None,
    }
}

/// The result with what is left of it, if clients can read that.
fn put_back(mut result: Value, place: Option<&str>, left: Value) -> Option<Value> {
    let was = result.pointer_mut(place.unwrap_or_default())?;
    if was.is_object() != left.is_object() || was.is_string() != left.is_string() {
        return None;
    }
    *was = left;
    Some(result)
}
