//! Calls that need a human: who is asked, what is waited for, and who is believed.
//!
//! A client that can show a form is asked by it: a stateless one by a result that wants input, an older one by a request
//! of ours while its call is [`Held`]. Otherwise the call waits for `lockgate approve`. Whoever answers first is
//! believed; nobody's answer is a no.

use lockgate_call::Time;
use lockgate_gate::{ApprovalId, Question, Verdict, question_text};
use serde_json::{Value, json};

use crate::{
    calls::{Carrier, Pending},
    message::{Id, Message, read_value, to_text},
    protocol::{QUESTION, answer, elicitation, is_yes},
    relay::{Out, Relay, to_client},
    tickets::Purpose,
};

/// How many calls wait for humans at once in one conversation.
const HELD_MAX: usize = 256;

/// How often a client that waits is told that we do, in milliseconds.
const STILL_WAITING_MS: u64 = 5_000;

/// A call that waits for a human.
#[derive(Debug)]
pub(crate) struct Held {
    /// The client's request.
    pub(crate) id: Id,
    /// Our question to the client, where it was asked.
    pub(crate) question: Option<Id>,
    pending: Pending,
    approval: ApprovalId,
    until: Time,
    told: u64,
    tell_at: Time,
}

impl Relay {
    /// Asks a human, by whoever can.
    pub(crate) fn ask(&mut self, id: Id, pending: Pending, verdict: &Verdict, outs: &mut Vec<Out>) {
        let Some(approval) = verdict.approval.clone() else {
            return self.refuse(&id, &pending, &verdict.sentence(), outs);
        };
        let input = verdict.input.as_deref().unwrap_or(&pending.call.input);
        let question =
            Question { approval: &approval, call: &pending.call, input, wanted_by: &verdict.obstacles };
        let message = question_text(&question);
        if pending.carrier == Carrier::Ticket {
            let ticket = self.house.tickets.issue(Purpose::Asked(approval), &pending.call, pending.call.at);
            let result = input_required(&message, &ticket);
            outs.push(to_client(answer(&id, &result), Some(&id)));
            return;
        }
        if self.held.len() >= HELD_MAX {
            self.give_up(&approval, "too many calls wait");
            return self.refuse(&id, &pending, &format!("{HELD_MAX} calls wait for a human already."), outs);
        }
        let question = (pending.carrier == Carrier::Form).then(|| {
            self.questions_asked += 1;
            Id::Text(format!("lockgate-{approval}-{}", self.questions_asked))
        });
        match &question {
            Some(question) => outs.push(to_client(form(question, &message), Some(&id))),
            None => self.house.log(&format!("a call waits for a human: lockgate approve {approval}")),
        }
        let ask_for_ms = u64::try_from(self.house.plan.ask_for.as_millis()).unwrap_or(u64::MAX);
        let now = pending.call.at;
        let until = now.after_ms(ask_for_ms);
        self.held.push(Held { id, question, pending, approval, until, told: 0, tell_at: now });
    }

    pub(crate) fn human(&self) -> String {
        let host = self.house.plan.naming.host().unwrap_or("the MCP client");
        format!("the human at {host}")
    }

    /// A human has answered through the client.
    pub(crate) fn human_said(
        &mut self,
        id: Id,
        pending: Pending,
        approval: &ApprovalId,
        granted: bool,
        outs: &mut Vec<Out>,
    ) {
        // What has become of the tool since it was asked about counts, too.
        let granted = granted && pending.call.about.objection.is_none();
        let said = self.house.plan.gate.answer_by(approval, granted, Some(&self.human()), pending.call.at);
        match said {
            Ok(verdict) => self.act(id, pending, &verdict, outs),
            Err(error) => self.refuse(&id, &pending, &format!("{error}."), outs),
        }
    }

    /// The client's answer to a form, if it is one.
    pub(crate) fn answer_held(&mut self, question: &Id, message: &Message<'_>, outs: &mut Vec<Out>) -> bool {
        let Some(place) = self.held.iter().position(|held| held.question.as_ref() == Some(question)) else {
            return false;
        };
        let mut held = self.held.swap_remove(place);
        held.pending.call.at = self.house.now();
        let response = message.members.get("result").and_then(|raw| read_value("result", raw).ok());
        self.human_said(held.id, held.pending, &held.approval, is_yes(response.as_ref()), outs);
        true
    }

    /// Takes back a call that waits, if it is one.
    pub(crate) fn cancel_held(&mut self, id: &Id) -> bool {
        let Some(place) = self.held.iter().position(|held| held.id == *id) else { return false };
        let held = self.held.swap_remove(place);
        self.give_up(&held.approval, "the call was cancelled");
        true
    }

    pub(crate) fn drop_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            self.give_up(&held.approval, "the client has ended");
        }
    }

    /// The tokens that a question holds are given back.
    fn give_up(&self, approval: &ApprovalId, why: &str) -> Option<Verdict> {
        self.house.plan.gate.answer_by(approval, false, Some(why), self.house.now()).ok()
    }

    /// Looks for answers from elsewhere, and ends what has waited too long.
    pub(crate) fn tick_held(&mut self, outs: &mut Vec<Out>) {
        let now = self.house.now();
        for mut held in std::mem::take(&mut self.held) {
            let shelf = self.house.plan.shelf.as_ref();
            let kept =
                shelf.map(|shelf| shelf.answer(&held.approval.session, held.approval.number)).transpose();
            held.pending.call.at = now;
            match kept {
                Ok(Some(Some(kept))) => {
                    // Who answered is in the trail already.
                    let said = self.house.plan.gate.answer_by(&held.approval, kept.granted, None, now);
                    match said {
                        Ok(verdict) => self.act(held.id, held.pending, &verdict, outs),
                        Err(error) => self.refuse(&held.id, &held.pending, &format!("{error}."), outs),
                    }
                }
                Err(error) => {
                    self.refuse(
                        &held.id,
                        &held.pending,
                        &format!("Lockgate could not look for an answer ({error})."),
                        outs,
                    );
                }
                Ok(_) if now >= held.until => match self.house.plan.gate.time_out(&held.approval, now) {
                    Ok(verdict) => self.act(held.id, held.pending, &verdict, outs),
                    Err(error) => self.refuse(&held.id, &held.pending, &format!("{error}."), outs),
                },
                Ok(_) => {
                    outs.extend(held.still_waiting(now));
                    self.held.push(held);
                }
            }
        }
    }
}

impl Held {
    /// Clients stop waiting where nothing happens for long; progress tells them that something does.
    fn still_waiting(&mut self, now: Time) -> Option<Out> {
        let token = self.pending.token.as_ref()?;
        if now < self.tell_at {
            return None;
        }
        self.tell_at = now.after_ms(STILL_WAITING_MS);
        self.told += 1;
        // Progress has to grow, and the server's own begins after ours.
        let progress = self.told as f64 / 1e6;
        let message = format!("waiting for a human: lockgate approve {}", self.approval);
        let params = json!({ "progressToken": token, "progress": progress, "message": message });
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        Some(to_client(to_text(&notice), Some(&self.id)))
    }
}

/// A result that wants a human's word, and the ticket to bring it back with.
fn input_required(message: &str, ticket: &str) -> Value {
    let request = json!({ "method": "elicitation/create", "params": elicitation(true, message) });
    json!({ "resultType": "input_required", "inputRequests": { QUESTION: request }, "requestState": ticket })
}

/// A request for a human's word.
fn form(id: &Id, message: &str) -> String {
    let params = elicitation(false, message);
    to_text(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
}
