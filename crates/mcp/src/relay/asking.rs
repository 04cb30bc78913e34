//! Calls that need a human: who is asked, how long the call waits, and which answer counts.
//!
//! A client that can show a form is asked by it: a stateless client by a result that wants input, an older one by a
//! request of ours while its call is a [`HeldCall`]. Otherwise the call waits for `lockgate approve`. The first answer
//! counts; a timeout is a no unless a rule says otherwise. What the answer leads to is an [`AnsweredCall`], which
//! `calls.rs` goes on with.

use lockgate::engine::{
    call::{Call, Time},
    gate::{ApprovalId, Ask},
};
use serde_json::{Value, json};

use super::{
    call_states::{HeldCall, PendingCall},
    decider::{Ruling, Undecided},
    request_state::Continuation,
    state::{Action, Relay, to_client},
};
use crate::{
    message::{Id, Message, read_value, to_text},
    protocol::{QUESTION, answer, elicitation, is_yes},
};

/// How many calls wait for humans at once in one conversation.
const HELD_MAX: usize = 256;

/// How often a waiting client gets a progress notice, in milliseconds.
const STILL_WAITING_MS: u64 = 5_000;

/// A call that a human was asked about, with the verdict that the answer or the timeout led to.
pub(super) struct AnsweredCall {
    pub(super) id: Id,
    pub(super) pending: PendingCall,
    pub(super) verdict: Result<Ruling, Undecided>,
}

impl Relay {
    /// Asks a human, through the channel that the call has.
    pub(super) fn ask(&mut self, id: Id, pending: PendingCall, ruling: Ruling, actions: &mut Vec<Action>) {
        let Some(approval) = ruling.approval else {
            return self.refuse(&id, &pending, &ruling.sentence, actions);
        };
        let message = ruling.question;
        let has_form = pending.ask == Ask::Host;
        if has_form && pending.is_modern {
            let continuation = Continuation::Approval(approval);
            let state = self.context.request_states.issue(continuation, &pending.call, pending.call.at);
            let result = input_required(&message, &state);
            actions.push(to_client(answer(&id, &result), Some(&id)));
            return;
        }
        if self.held.len() >= HELD_MAX {
            self.give_up(&approval, "too many calls wait");
            return self.refuse(
                &id,
                &pending,
                &format!("{HELD_MAX} calls wait for a human already."),
                actions,
            );
        }
        let question = has_form.then(|| {
            self.questions_asked += 1;
            Id::Text(format!("lockgate-{approval}-{}", self.questions_asked))
        });
        match &question {
            Some(question) => actions.push(to_client(form(question, &message), Some(&id))),
            None => self.context.log(&format!("a call waits for a human: lockgate approve {approval}")),
        }
        let ask_for_ms = u64::try_from(self.context.config.ask_for.as_millis()).unwrap_or(u64::MAX);
        let now = pending.call.at;
        let until = now.after_ms(ask_for_ms);
        self.held.push(HeldCall { id, question, pending, approval, until, reminders: 0, remind_at: now });
    }

    /// The human's name in the audit log.
    pub(super) fn human(&self) -> String {
        let host = self.context.config.naming.host().unwrap_or("the MCP client");
        format!("the human at {host}")
    }

    /// Gives the gate the answer of a human at the client.
    pub(super) fn human_answered(
        &self,
        approval: &ApprovalId,
        granted: bool,
        call: &Call,
    ) -> Result<Ruling, Undecided> {
        // The definition of the tool may have changed since the human was asked.
        let granted = granted && call.about.objection.is_none();
        self.context.config.decider.answer(approval, granted, &self.human(), call)
    }

    /// The held call that this message of the client answers the form of.
    pub(super) fn answered_form(&mut self, question: &Id, message: &Message<'_>) -> Option<AnsweredCall> {
        let place = self.held.iter().position(|held| held.question.as_ref() == Some(question))?;
        let HeldCall { id, mut pending, approval, .. } = self.held.swap_remove(place);
        pending.call.at = self.context.now();
        let response = message.members.get("result").and_then(|raw| read_value("result", raw).ok());
        let verdict = self.human_answered(&approval, is_yes(response.as_ref()), &pending.call);
        Some(AnsweredCall { id, pending, verdict })
    }

    /// Cancels a held call; false where there is none with this id.
    pub(super) fn cancel_held(&mut self, id: &Id) -> bool {
        let Some(place) = self.held.iter().position(|held| held.id == *id) else { return false };
        let held = self.held.swap_remove(place);
        self.give_up(&held.approval, "the call was cancelled");
        true
    }

    pub(super) fn drop_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            self.give_up(&held.approval, "the client has ended");
        }
    }

    /// Refuses a question, which gives back the tokens that it reserved.
    fn give_up(&self, approval: &ApprovalId, why: &str) {
        self.context.config.decider.give_up(approval, why, self.context.now());
    }

    /// The held calls that were answered by `lockgate approve`, or that have waited too long. The clients of the
    /// others get progress notices.
    pub(super) fn answered_elsewhere(&mut self, actions: &mut Vec<Action>) -> Vec<AnsweredCall> {
        let now = self.context.now();
        let mut answered = Vec::new();
        for mut held in std::mem::take(&mut self.held) {
            held.pending.call.at = now;
            let decider = &self.context.config.decider;
            match decider.by_now(&held.approval, now >= held.until, &held.pending.call) {
                Some(verdict) => answered.push(AnsweredCall { id: held.id, pending: held.pending, verdict }),
                None => {
                    actions.extend(held.still_waiting(now));
                    self.held.push(held);
                }
            }
        }
        answered
    }
}

impl HeldCall {
    /// Clients stop waiting where nothing happens for long; a progress notice keeps them waiting.
    fn still_waiting(&mut self, now: Time) -> Option<Action> {
        let token = self.pending.token.as_ref()?;
        if now < self.remind_at {
            return None;
        }
        self.remind_at = now.after_ms(STILL_WAITING_MS);
        self.reminders += 1;
        // Progress has to grow, and the server's own begins after ours.
        let progress = self.reminders as f64 / 1e6;
        let message = format!("waiting for a human: lockgate approve {}", self.approval);
        let params = json!({ "progressToken": token, "progress": progress, "message": message });
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        Some(to_client(to_text(&notice), Some(&self.id)))
    }
}

/// A result that wants a human's answer, with the request state that the client sends back with it.
fn input_required(message: &str, state: &str) -> Value {
    let request = json!({ "method": "elicitation/create", "params": elicitation(true, message) });
    json!({ "resultType": "input_required", "inputRequests": { QUESTION: request }, "requestState": state })
}

/// A request for a human's answer.
fn form(id: &Id, message: &str) -> String {
    let params = elicitation(false, message);
    to_text(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
}
