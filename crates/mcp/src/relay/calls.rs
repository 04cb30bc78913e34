//! Tool calls: judged before the server sees them, settled before the client sees what became of them.
//!
//! A call that is let pass is a [`CallInFlight`] until its result is there, which may take several exchanges: the
//! server may want to know more first (here), or make a task of it (`tasks.rs`). Calls that need a human are in
//! `asking.rs`. Whatever fails in here ends as a refusal that the model can read.

use lockgate::engine::gate::{Ask, Decision};
use serde_json::{Map, Value, json};

use super::{
    asking::AnsweredCall,
    call_states::{CallInFlight, Change, PendingCall},
    config::Config,
    context::header_value,
    decider::Ruling,
    request_state::Continuation,
    settlement::{ReviewedOutput, replaced},
    state::{Action, Handling, OpenRequest, Relay, to_client},
    tasks::task_of,
};
use crate::{
    message::{Id, Malformed, Members, Message, read_object, read_value, to_raw},
    protocol::{
        CAPABILITIES_KEY, INVALID_PARAMS, QUESTION, answer, error, is_modern, is_yes, refusal, shows_forms,
    },
    transport::link::Outgoing,
};

/// The parameters of a call.
struct CallParams {
    tool: String,
    input: Map<String, Value>,
    meta: Option<Map<String, Value>>,
    state: Option<String>,
    responses: Option<Map<String, Value>>,
}

impl CallParams {
    fn read(params: &Members<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            tool: params.text("name")?.ok_or_else(|| Malformed("`name` is missing".into()))?,
            // Null and nothing are no arguments; anything but an object is a mistake.
            input: match params.get("arguments") {
                Some(raw) if raw.get() != "null" => read_object("arguments", raw)?,
                _ => Map::new(),
            },
            meta: params.object("_meta")?,
            state: params.text("requestState")?,
            responses: params.object("inputResponses")?,
        })
    }
}

impl Relay {
    /// Judges a call.
    pub(super) fn call(&mut self, id: &Id, message: &Message<'_>, text: &str, actions: &mut Vec<Action>) {
        let nothing = Malformed("`params` is missing".into());
        let params = message.params().ok_or(nothing).and_then(|raw| Members::read(raw.get()));
        let wanted = params.and_then(|params| Ok((CallParams::read(&params)?, params)));
        match wanted {
            Ok((wanted, params)) => self.wanted(id, (message, text), wanted, params, actions),
            Err(malformed) => {
                actions.push(to_client(error(Some(id), INVALID_PARAMS, &malformed.to_string()), Some(id)));
            }
        }
    }

    fn wanted(
        &mut self,
        id: &Id,
        (message, text): (&Message<'_>, &str),
        wanted: CallParams,
        mut params: Members<'_>,
        actions: &mut Vec<Action>,
    ) {
        let CallParams { tool, input, meta, state, responses } = wanted;
        let is_modern = is_modern(meta.as_ref());
        let call = self.context.call(&self.session, &tool, input, meta.as_ref());
        let continuation = match &state {
            None => None,
            Some(ticket) => match self.context.request_states.redeem(ticket, &call, call.at) {
                Some(continuation) => Some(continuation),
                None => {
                    let reason = "the request state is unknown or belongs to another call; call again";
                    actions.push(to_client(error(Some(id), INVALID_PARAMS, reason), Some(id)));
                    return;
                }
            },
        };
        // The server sees its own state, and none of ours.
        let is_changed = match &continuation {
            None => false,
            Some(Continuation::Approval(_)) => {
                params.remove("requestState");
                without_ours(&mut params, responses.clone());
                true
            }
            Some(Continuation::MoreInput(_, theirs)) => {
                match theirs {
                    Some(theirs) => params.set("requestState", to_raw(theirs)),
                    None => params.remove("requestState"),
                }
                true
            }
        };
        let text = if is_changed { with_params(message, &params) } else { text.to_owned() };
        let token = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned();
        let ask = self.asking(is_modern, meta.as_ref());
        let mut pending = PendingCall { text, tool, call, is_modern, ask, token };
        match continuation {
            Some(Continuation::MoreInput(flight, _)) => self.go_on(id, pending, *flight, actions),
            Some(Continuation::Approval(approval)) => {
                let granted = is_yes(responses.as_ref().and_then(|responses| responses.get(QUESTION)));
                let verdict = self.human_answered(&approval, granted, &pending.call);
                self.go_on_after_answer(AnsweredCall { id: id.clone(), pending, verdict }, actions);
            }
            None => {
                let verdict = self.judge(&mut pending);
                self.act(id.clone(), pending, verdict, actions);
            }
        }
    }

    fn judge(&self, pending: &mut PendingCall) -> Ruling {
        let PendingCall { call, ask, .. } = pending;
        let Config { decider, environment, .. } = &self.context.config;
        // A hook has put the question to its host, whose human has said yes: otherwise the call would not be here.
        if self.context.config.naming.host().is_some()
            && call.about.objection.is_none()
            && let Some(approval) = decider.asked_at_host(call)
            && let Ok(verdict) = decider.answer(&approval, true, &self.human(), call)
        {
            return verdict;
        }
        let seen = environment.look(std::mem::take(call));
        let verdict = decider.judge(&seen, ask.human());
        *call = seen.into_call();
        verdict
    }

    /// How a human is asked about one call: as the settings say, as far as this client can.
    fn asking(&self, is_modern: bool, meta: Option<&Map<String, Value>>) -> Ask {
        let can_form = if is_modern {
            shows_forms(meta.and_then(|meta| meta.get(CAPABILITIES_KEY)))
        } else {
            self.shows_forms
        };
        let has_backend = self.context.is_durable();
        match self.context.config.ask {
            Ask::Host | Ask::Defer if can_form => Ask::Host,
            Ask::Host | Ask::Defer | Ask::Wait if has_backend => Ask::Wait,
            Ask::Host | Ask::Defer | Ask::Wait | Ask::Block => Ask::Block,
        }
    }

    /// Goes on with a call that a human was asked about.
    pub(super) fn go_on_after_answer(&mut self, answered: AnsweredCall, actions: &mut Vec<Action>) {
        let AnsweredCall { id, pending, verdict } = answered;
        match verdict {
            Ok(verdict) => self.act(id, pending, verdict, actions),
            Err(error) => self.refuse(&id, &pending, &format!("{error}."), actions),
        }
    }

    /// Does what was decided.
    pub(super) fn act(
        &mut self,
        id: Id,
        mut pending: PendingCall,
        ruling: Ruling,
        actions: &mut Vec<Action>,
    ) {
        match (ruling.decision, &ruling.input) {
            (Decision::Allow, _) => {
                let flight =
                    CallInFlight { call: pending.call.clone(), is_modern: pending.is_modern, change: None };
                self.let_pass(&id, pending, flight, actions);
            }
            (Decision::Redact, Some(input)) => {
                let mut change = None;
                if *input != pending.call.input {
                    let was = std::mem::replace(&mut pending.call.input, input.clone());
                    change = Some(Change { was, note: ruling.sentence });
                }
                let flight =
                    CallInFlight { call: pending.call.clone(), is_modern: pending.is_modern, change };
                self.let_pass(&id, pending, flight, actions);
            }
            (Decision::Ask, _) => self.ask(id, pending, ruling, actions),
            // The masked input is missing.
            (Decision::Block, _) | (Decision::Redact, None) => {
                self.refuse(&id, &pending, &ruling.sentence, actions);
            }
        }
    }

    /// Goes on with a call that the server wanted to know more about.
    fn go_on(&mut self, id: &Id, pending: PendingCall, flight: CallInFlight, actions: &mut Vec<Action>) {
        match &pending.call.about.objection {
            None => self.let_pass(id, pending, flight, actions),
            Some(objection) => {
                self.failed(&flight);
                self.refuse(id, &pending, objection, actions);
            }
        }
    }

    fn let_pass(
        &mut self,
        id: &Id,
        mut pending: PendingCall,
        flight: CallInFlight,
        actions: &mut Vec<Action>,
    ) {
        if flight.change.is_some() {
            let Some(text) = with_arguments(&pending.text, &flight.call.input) else {
                self.failed(&flight);
                return self.refuse(id, &pending, "the masked input cannot be written.", actions);
            };
            pending.text = text;
        }
        let mirrored =
            if pending.is_modern { self.mirrored(&pending.tool, &flight.call.input) } else { Vec::new() };
        self.open.insert(id.clone(), OpenRequest::Call(Box::new(flight)));
        actions.push(Action::Server(Outgoing { text: pending.text, about: None, mirrored }));
    }

    /// What HTTP repeats of the arguments, from those that the tool is given.
    fn mirrored(&self, tool: &str, input: &Map<String, Value>) -> Vec<(String, String)> {
        let named = self.context.facts(tool).mirrored;
        named
            .into_iter()
            .filter_map(|(argument, header)| Some((header, header_value(input, &argument)?)))
            .collect()
    }

    /// What became of a call.
    pub(super) fn result(
        &mut self,
        id: &Id,
        flight: CallInFlight,
        message: &Message<'_>,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let Some(raw) = message.members.get("result") else {
            let said = self.review(&flight, false, message.members.get("error"));
            return match said {
                ReviewedOutput::Unchanged => Handling::Pass,
                ReviewedOutput::Replaced(error) => replaced(id, message, "error", &error, actions),
                ReviewedOutput::Withheld(reason) => {
                    actions.push(to_client(answer(id, &refusal(flight.is_modern, &reason)), Some(id)));
                    Handling::Done
                }
            };
        };
        let members = match Members::read(raw.get()) {
            Ok(members) => members,
            Err(malformed) => {
                self.failed(&flight);
                let reason = format!("the server's result cannot be read: {malformed}.");
                actions.push(to_client(answer(id, &refusal(flight.is_modern, &reason)), Some(id)));
                return Handling::Done;
            }
        };
        let kind = members.text("resultType").ok().flatten();
        if kind.as_deref() == Some("input_required") {
            return self.pause(id, flight, message, members, actions);
        }
        if let Some(task) = task_of(kind.as_deref(), &members) {
            self.begun(task, flight);
            return Handling::Pass;
        }
        self.pass_result(id, &flight, message, actions)
    }

    /// A whole result: looked at, settled, and passed on as far as rules let it.
    fn pass_result(
        &self,
        id: &Id,
        flight: &CallInFlight,
        message: &Message<'_>,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let Some(raw) = message.members.get("result") else { return Handling::Pass };
        let result = match (self.review(flight, true, Some(raw)), &flight.change) {
            (ReviewedOutput::Unchanged, None) => return Handling::Pass,
            (ReviewedOutput::Unchanged, Some(change)) => match read_value("result", raw) {
                Ok(result) => noted(result, &change.note),
                Err(_) => return Handling::Pass,
            },
            (ReviewedOutput::Replaced(result), None) => result,
            (ReviewedOutput::Replaced(result), Some(change)) => noted(result, &change.note),
            (ReviewedOutput::Withheld(reason), _) => refusal(flight.is_modern, &reason),
        };
        replaced(id, message, "result", &result, actions)
    }

    /// The server wants to know more before it runs the tool: the call goes on when the client comes back.
    fn pause(
        &mut self,
        id: &Id,
        flight: CallInFlight,
        message: &Message<'_>,
        mut result: Members<'_>,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let theirs = result.text("requestState").ok().flatten();
        let mut asked = flight.call.clone();
        // The client repeats the call as it made it; what the tool was given is ours.
        if let Some(change) = &flight.change {
            asked.input.clone_from(&change.was);
        }
        let now = self.context.now();
        let ticket =
            self.context.request_states.issue(Continuation::MoreInput(Box::new(flight), theirs), &asked, now);
        result.set("requestState", to_raw(&ticket));
        let mut members = message.members.clone();
        members.set("result", result.to_raw());
        actions.push(to_client(members.to_text(), Some(id)));
        Handling::Done
    }
}

/// The result with a remark for the model at its end.
fn noted(mut result: Value, note: &str) -> Value {
    let remark =
        json!({ "type": "text", "text": format!("Lockgate changed the input of this call: {note}") });
    if let Some(content) = result.get_mut("content").and_then(Value::as_array_mut) {
        content.push(remark);
    }
    result
}

/// Takes our question out of the answers.
fn without_ours(params: &mut Members<'_>, responses: Option<Map<String, Value>>) {
    let Some(mut responses) = responses else { return };
    responses.remove(QUESTION);
    if responses.is_empty() {
        params.remove("inputResponses");
    } else {
        params.set("inputResponses", to_raw(&responses));
    }
}

fn with_params(message: &Message<'_>, params: &Members<'_>) -> String {
    let mut members = message.members.clone();
    members.set("params", params.to_raw());
    members.to_text()
}

/// The message with other arguments.
fn with_arguments(text: &str, input: &Map<String, Value>) -> Option<String> {
    let message = Message::read(text).ok()?;
    let mut params = Members::read(message.params()?.get()).ok()?;
    params.set("arguments", to_raw(input));
    Some(with_params(&message, &params))
}
