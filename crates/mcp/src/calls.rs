//! Tool calls: judged before the server sees them, settled before the client sees what became of them.
//!
//! A call that is let pass is a [`Flight`] until its result is there, which may take several exchanges: the server may
//! want to know more first (here), or make a task of it (`tasks.rs`). Calls that need a human are in `asking.rs`.
//! Whatever fails in here ends as a refusal that the model can read.

use lockgate_call::Call;
use lockgate_gate::{Decision, Outcome, OutputDecision, Settlement, Verdict};
use serde_json::{Map, Value, json};

use crate::{
    house::{Asking, header_value},
    link::Outgoing,
    message::{Id, Malformed, Members, Message, read_object, read_value, to_raw},
    protocol::{
        CAPABILITIES_KEY, INVALID_PARAMS, QUESTION, answer, error, is_modern, is_yes, refusal, shows_forms,
    },
    relay::{Open, Out, Relay, Step, to_client},
    tasks::task_of,
    tickets::Purpose,
};

/// A call that was let pass and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// The call, with the input that the tool was given.
    pub(crate) call: Call,
    pub(crate) is_modern: bool,
    /// What was changed in its input.
    pub(crate) change: Option<Change>,
}

/// What rules changed in the input of a call.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The input as the client sent it.
    was: Map<String, Value>,
    /// For the model.
    note: String,
}

/// A call on its way.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The message to send on, without anything of ours.
    text: String,
    tool: String,
    pub(crate) call: Call,
    pub(crate) is_modern: bool,
    pub(crate) carrier: Carrier,
    /// What progress is told under.
    pub(crate) token: Option<Value>,
}

/// How a human is asked about one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// By a result that wants input.
    Ticket,
    /// By a request to the client.
    Form,
    /// By `lockgate approve`.
    Elsewhere,
    /// Not at all.
    Nobody,
}

/// The parameters of a call.
struct Wanted {
    tool: String,
    input: Map<String, Value>,
    meta: Option<Map<String, Value>>,
    state: Option<String>,
    responses: Option<Map<String, Value>>,
}

impl Wanted {
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
    pub(crate) fn call(&mut self, id: &Id, message: &Message<'_>, text: &str, outs: &mut Vec<Out>) {
        let nothing = Malformed("`params` is missing".into());
        let params = message.params().ok_or(nothing).and_then(|raw| Members::read(raw.get()));
        let wanted = params.and_then(|params| Ok((Wanted::read(&params)?, params)));
        match wanted {
            Ok((wanted, params)) => self.wanted(id, (message, text), wanted, params, outs),
            Err(malformed) => {
                outs.push(to_client(error(Some(id), INVALID_PARAMS, &malformed.to_string()), Some(id)));
            }
        }
    }

    fn wanted(
        &mut self,
        id: &Id,
        (message, text): (&Message<'_>, &str),
        wanted: Wanted,
        mut params: Members<'_>,
        outs: &mut Vec<Out>,
    ) {
        let Wanted { tool, input, meta, state, responses } = wanted;
        let is_modern = is_modern(meta.as_ref());
        let call = self.house.call(&self.session, &tool, input, meta.as_ref());
        let purpose = match &state {
            None => None,
            Some(ticket) => match self.house.tickets.redeem(ticket, &call, call.at) {
                Some(purpose) => Some(purpose),
                None => {
                    let reason =
                        "the state of this request is not known here, or not for this call; call again";
                    outs.push(to_client(error(Some(id), INVALID_PARAMS, reason), Some(id)));
                    return;
                }
            },
        };
        // The server sees its own state, and none of ours.
        let is_changed = match &purpose {
            None => false,
            Some(Purpose::Asked(_)) => {
                params.remove("requestState");
                without_ours(&mut params, responses.clone());
                true
            }
            Some(Purpose::Paused(_, theirs)) => {
                match theirs {
                    Some(theirs) => params.set("requestState", to_raw(theirs)),
                    None => params.remove("requestState"),
                }
                true
            }
        };
        let text = if is_changed { with_params(message, &params) } else { text.to_owned() };
        let token = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned();
        let carrier = self.carrier(is_modern, meta.as_ref());
        let pending = Pending { text, tool, call, is_modern, carrier, token };
        match purpose {
            Some(Purpose::Paused(flight, _)) => self.go_on(id, pending, *flight, outs),
            Some(Purpose::Asked(approval)) => {
                let granted = is_yes(responses.as_ref().and_then(|responses| responses.get(QUESTION)));
                self.human_said(id.clone(), pending, &approval, granted, outs);
            }
            None => {
                let verdict = self.judge(&pending);
                self.act(id.clone(), pending, &verdict, outs);
            }
        }
    }

    fn judge(&self, pending: &Pending) -> Verdict {
        let Pending { call, carrier, .. } = pending;
        let gate = &self.house.plan.gate;
        // A hook has put the question to its host, whose human has said yes: otherwise the call would not be here.
        if self.house.plan.naming.host().is_some()
            && let Ok(Some((approval, asked))) = gate.question_about(call)
            && asked.call.tool == call.tool
            && asked.call.input == call.input
            && asked.call.about.sighting.as_ref().is_some_and(|sighting| &*sighting.door != "mcp")
            && call.about.objection.is_none()
            && let Ok(verdict) = gate.answer_by(&approval, true, Some(&self.human()), call.at)
        {
            return verdict;
        }
        match carrier {
            Carrier::Nobody => gate.call_unattended(call),
            Carrier::Ticket | Carrier::Form | Carrier::Elsewhere => gate.call(call),
        }
    }

    fn carrier(&self, is_modern: bool, meta: Option<&Map<String, Value>>) -> Carrier {
        let can_form = if is_modern {
            shows_forms(meta.and_then(|meta| meta.get(CAPABILITIES_KEY)))
        } else {
            self.shows_forms
        };
        let has_shelf = self.house.plan.shelf.is_some();
        match self.house.plan.asking {
            Asking::Client if can_form && is_modern => Carrier::Ticket,
            Asking::Client if can_form => Carrier::Form,
            Asking::Client | Asking::Elsewhere if has_shelf => Carrier::Elsewhere,
            Asking::Client | Asking::Elsewhere | Asking::Nobody => Carrier::Nobody,
        }
    }

    /// Does what was decided.
    pub(crate) fn act(&mut self, id: Id, mut pending: Pending, verdict: &Verdict, outs: &mut Vec<Out>) {
        match (verdict.decision, &verdict.input) {
            (Decision::Allow, _) => {
                let flight =
                    Flight { call: pending.call.clone(), is_modern: pending.is_modern, change: None };
                self.let_pass(&id, pending, flight, outs);
            }
            (Decision::Redact, Some(input)) => {
                let mut change = None;
                if **input != pending.call.input {
                    let was = std::mem::replace(&mut pending.call.input, (**input).clone());
                    change = Some(Change { was, note: verdict.sentence() });
                }
                let flight = Flight { call: pending.call.clone(), is_modern: pending.is_modern, change };
                self.let_pass(&id, pending, flight, outs);
            }
            (Decision::Ask, _) => self.ask(id, pending, verdict, outs),
            // Something was to be masked, and nobody says what is left.
            (Decision::Block, _) | (Decision::Redact, None) => {
                self.refuse(&id, &pending, &verdict.sentence(), outs);
            }
        }
    }

    pub(crate) fn refuse(&self, id: &Id, pending: &Pending, sentence: &str, outs: &mut Vec<Out>) {
        outs.push(to_client(answer(id, &refusal(pending.is_modern, sentence)), Some(id)));
    }

    /// Goes on with a call that the server wanted to know more about.
    fn go_on(&mut self, id: &Id, pending: Pending, flight: Flight, outs: &mut Vec<Out>) {
        match &pending.call.about.objection {
            None => self.let_pass(id, pending, flight, outs),
            Some(objection) => {
                self.failed(&flight);
                self.refuse(id, &pending, objection, outs);
            }
        }
    }

    fn let_pass(&mut self, id: &Id, mut pending: Pending, flight: Flight, outs: &mut Vec<Out>) {
        if flight.change.is_some() {
            let Some(text) = with_arguments(&pending.text, &flight.call.input) else {
                self.failed(&flight);
                return self.refuse(id, &pending, "what is left of the input cannot be written.", outs);
            };
            pending.text = text;
        }
        let mirrored =
            if pending.is_modern { self.mirrored(&pending.tool, &flight.call.input) } else { Vec::new() };
        self.open.insert(id.clone(), Open::Call(Box::new(flight)));
        outs.push(Out::Server(Outgoing { text: pending.text, about: None, mirrored }));
    }

    /// What HTTP repeats of the arguments, from those that the tool is given.
    fn mirrored(&self, tool: &str, input: &Map<String, Value>) -> Vec<(String, String)> {
        let named = self.house.facts(tool).mirrored;
        named
            .into_iter()
            .filter_map(|(argument, header)| Some((header, header_value(input, &argument)?)))
            .collect()
    }

    /// Nothing more will be heard of a call.
    pub(crate) fn failed(&self, flight: &Flight) {
        if let Err(error) = self.settle(flight, false, None) {
            self.house.log(&format!("that a call failed could not be stored: {error}"));
        }
    }

    fn settle(&self, flight: &Flight, ok: bool, output: Option<Value>) -> Result<Settlement, String> {
        let call = &flight.call;
        let like = call.id.is_empty().then(|| Box::new(call.clone()));
        let outcome = Outcome { ok, output, like, at: self.house.now(), ..Outcome::success(call) };
        self.house.plan.gate.result(&outcome).map_err(|error| error.to_string())
    }

    /// What became of a call.
    pub(crate) fn result(
        &mut self,
        id: &Id,
        flight: Flight,
        message: &Message<'_>,
        outs: &mut Vec<Out>,
    ) -> Step {
        let Some(raw) = message.members.get("result") else {
            let said = self.looked_at(&flight, false, message.members.get("error"));
            return match said {
                Looked::Same => Step::Pass,
                Looked::Other(error) => replaced(id, message, "error", &error, outs),
                Looked::Kept(reason) => {
                    outs.push(to_client(answer(id, &refusal(flight.is_modern, &reason)), Some(id)));
                    Step::Done
                }
            };
        };
        let members = match Members::read(raw.get()) {
            Ok(members) => members,
            Err(malformed) => {
                self.failed(&flight);
                let reason = format!("the server's result cannot be read: {malformed}.");
                outs.push(to_client(answer(id, &refusal(flight.is_modern, &reason)), Some(id)));
                return Step::Done;
            }
        };
        let kind = members.text("resultType").ok().flatten();
        if kind.as_deref() == Some("input_required") {
            return self.pause(id, flight, message, members, outs);
        }
        if let Some(task) = task_of(kind.as_deref(), &members) {
            self.begun(task, flight);
            return Step::Pass;
        }
        self.pass_result(id, &flight, message, outs)
    }

    /// A whole result: looked at, settled, and passed on as far as rules let it.
    fn pass_result(&self, id: &Id, flight: &Flight, message: &Message<'_>, outs: &mut Vec<Out>) -> Step {
        let Some(raw) = message.members.get("result") else { return Step::Pass };
        let result = match (self.looked_at(flight, true, Some(raw)), &flight.change) {
            (Looked::Same, None) => return Step::Pass,
            (Looked::Same, Some(change)) => match read_value("result", raw) {
                Ok(result) => noted(result, &change.note),
                Err(_) => return Step::Pass,
            },
            (Looked::Other(result), None) => result,
            (Looked::Other(result), Some(change)) => noted(result, &change.note),
            (Looked::Kept(reason), _) => refusal(flight.is_modern, &reason),
        };
        replaced(id, message, "result", &result, outs)
    }

    /// Settles a call by what its server says, and tells what may be passed on of it.
    fn looked_at(&self, flight: &Flight, ok: bool, raw: Option<&serde_json::value::RawValue>) -> Looked {
        let output = match raw.map(|raw| read_value("result", raw)).transpose() {
            Ok(output) => output,
            Err(malformed) => {
                self.failed(flight);
                return Looked::Kept(format!("the server's result cannot be read: {malformed}."));
            }
        };
        let ok = ok && output.as_ref().is_none_or(|output| output.get("isError") != Some(&Value::Bool(true)));
        self.looked_at_value(flight, ok, output)
    }

    pub(crate) fn looked_at_value(&self, flight: &Flight, ok: bool, said: Option<Value>) -> Looked {
        let place = said.as_ref().and_then(heart);
        let inner = place.and_then(|place| said.as_ref()?.pointer(place).cloned());
        let looked = self.settle(flight, ok, if place.is_some() { inner } else { said.clone() });
        match looked {
            Err(error) => {
                Looked::Kept(format!("Lockgate could not store the result ({error}), so it is kept back."))
            }
            Ok(settlement) => {
                let reason = settlement.sentence();
                let Settlement { decision, output, .. } = settlement;
                let is_whole = matches!(decision, OutputDecision::Allow | OutputDecision::Warn);
                let left = output.filter(|_| decision == OutputDecision::Redact);
                match left.and_then(|left| put_back(said?, place, left)) {
                    _ if is_whole => Looked::Same,
                    Some(left) => Looked::Other(left),
                    None => Looked::Kept(reason.unwrap_or_else(|| "the output is kept back.".to_owned())),
                }
            }
        }
    }

    /// The server wants to know more before it runs the tool: the call goes on when the client comes back.
    fn pause(
        &mut self,
        id: &Id,
        flight: Flight,
        message: &Message<'_>,
        mut result: Members<'_>,
        outs: &mut Vec<Out>,
    ) -> Step {
        let theirs = result.text("requestState").ok().flatten();
        let mut asked = flight.call.clone();
        // The client repeats the call as it made it; what the tool was given is ours.
        if let Some(change) = &flight.change {
            asked.input.clone_from(&change.was);
        }
        let now = self.house.now();
        let ticket = self.house.tickets.issue(Purpose::Paused(Box::new(flight), theirs), &asked, now);
        result.set("requestState", to_raw(&ticket));
        let mut members = message.members.clone();
        members.set("result", result.to_raw());
        outs.push(to_client(members.to_text(), Some(id)));
        Step::Done
    }
}

/// What may be passed on.
pub(crate) enum Looked {
    /// What was said.
    Same,
    /// This instead.
    Other(Value),
    /// Nothing, and why.
    Kept(String),
}

pub(crate) fn replaced(
    id: &Id,
    message: &Message<'_>,
    name: &str,
    value: &Value,
    outs: &mut Vec<Out>,
) -> Step {
    let mut members = message.members.clone();
    members.set(name, to_raw(value));
    outs.push(to_client(members.to_text(), Some(id)));
    Step::Done
}

/// Where a result has all that it says, if it has nothing but one text or one value: rules then see that without what
/// MCP wraps around it, as they do at any other door. Whatever else may be in a result is looked at as a whole.
fn heart(result: &Value) -> Option<&'static str> {
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
