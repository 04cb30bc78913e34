//! The states of a call that is not over: before it is judged, while a human is asked, and while its tool runs.

use lockgate::engine::{
    call::{Call, Time},
    gate::{ApprovalId, Ask},
};
use serde_json::{Map, Value};

use crate::message::Id;

/// A call on its way.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    /// The message to send on, without anything of ours.
    pub(super) text: String,
    pub(super) tool: String,
    pub(super) call: Call,
    pub(super) is_modern: bool,
    /// How a human is asked: by a form of the client, by `lockgate approve`, or not at all.
    pub(super) ask: Ask,
    /// The token of progress notices.
    pub(super) token: Option<Value>,
}

/// A call that waits for a human.
#[derive(Debug)]
pub(super) struct HeldCall {
    /// The client's request.
    pub(super) id: Id,
    /// Our question to the client, where it was asked.
    pub(super) question: Option<Id>,
    pub(super) pending: PendingCall,
    pub(super) approval: ApprovalId,
    pub(super) until: Time,
    /// How many progress notices the client got.
    pub(super) reminders: u64,
    /// When it gets the next one.
    pub(super) remind_at: Time,
}

/// A call that was let pass and has not ended.
#[derive(Clone, Debug)]
pub(super) struct CallInFlight {
    /// The call, with the input that the tool was given.
    pub(super) call: Call,
    pub(super) is_modern: bool,
    /// What was changed in its input.
    pub(super) change: Option<Change>,
}

/// What rules changed in the input of a call.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The input as the client sent it.
    pub(super) was: Map<String, Value>,
    /// For the model.
    pub(super) note: String,
}
