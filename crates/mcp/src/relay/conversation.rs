//! One conversation between a client and a server: what is passed on, what is judged, what is answered.
//! A [`Relay`] takes every message of both sides and returns what to send; it does no I/O of its own, so it can be
//! tested and attacked without a process. Most messages pass as they came. Tool calls go to `calls.rs`, lists of tools
//! to `listing.rs`; here is what they share: which requests are open, who may answer what, and what is waited for.
//! Answers without a request are dropped, with a line for the operator.

use lockgate::engine::call::visible;
use serde_json::{Value, value::RawValue};

use super::{
    config::Era,
    state::{Action, Handling, OpenRequest, Probe, Relay, to_client, to_server},
};
use crate::{
    message::{Id, Kind, Members, Message, read_object, to_text},
    protocol::{INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, error, shows_forms},
};

/// How many requests of one side may be open at once.
const OPEN_MAX: usize = 4096;

/// How many messages wait while the server is still thinking about a probe.
const BACKLOG_MAX: usize = 256;

/// How long the answer to a client's probe may take; then the client gets a no, and continues with an older revision. A
/// client with a shorter timeout continues by itself.
const PROBE_MS: u64 = 20_000;

/// How long a server may think about a probe before it is started again.
const PROBE_GIVEN_UP_MS: u64 = 60_000;

impl Relay {
    /// Whether [`Relay::tick`] has anything to do.
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty() || !matches!(self.probe, Probe::None)
    }

    /// Takes in a message of the client.
    pub fn from_client(&mut self, text: String) -> Vec<Action> {
        let mut actions = Vec::new();
        let read = Message::read(&text);
        let step = match &read {
            Err(malformed) => return self.unreadable(&malformed.to_string()),
            Ok(message) => match &message.kind {
                Kind::Request { id, method } => self.request(id, method, message, &text, &mut actions),
                Kind::Notice { method } => self.notice(method, message),
                Kind::Answer { id } => self.answered(id.as_ref(), message, &mut actions),
            },
        };
        if let Handling::Pass = step {
            actions.push(to_server(text));
        }
        self.kept_back(actions)
    }

    /// Takes in that the client sent something that is no message.
    pub fn unreadable(&mut self, reason: &str) -> Vec<Action> {
        self.context.log(&format!("the client sent an invalid message: {reason}"));
        vec![to_client(error(None, INVALID_REQUEST, reason), None)]
    }

    /// While the server has not answered a probe that its client gave up, messages to the server wait.
    fn kept_back(&mut self, actions: Vec<Action>) -> Vec<Action> {
        if !matches!(self.probe, Probe::GivenUp { .. }) {
            return actions;
        }
        let mut told = Vec::new();
        for out in actions {
            match out {
                Action::Server(message) if self.backlog.len() < BACKLOG_MAX => self.backlog.push(message),
                Action::Server(_) => self
                    .context
                    .log("the server does not answer, and too much waits for it; a message was left out"),
                out => told.push(out),
            }
        }
        told
    }

    fn request(
        &mut self,
        id: &Id,
        method: &str,
        message: &Message<'_>,
        text: &str,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let refusal = if self.open.contains_key(id) || self.held.iter().any(|held| held.id == *id) {
            Some(format!("the id `{id}` names another request that is not answered yet"))
        } else if self.open.len() + self.held.len() >= OPEN_MAX {
            Some(format!("{OPEN_MAX} requests are not answered yet"))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.context.log(&format!("a request of the client was left out: {}", visible(&refusal)));
            // Without the id: under it, the other request would seem to be answered.
            actions.push(to_client(error(None, INVALID_REQUEST, &refusal), None));
            return Handling::Done;
        }
        let token = text.contains("progressToken").then(|| progress_token(message)).flatten();
        let open = match method {
            "tools/call" => {
                self.call(id, message, text, actions);
                // A call that was refused makes no progress.
                let goes_on = self.open.contains_key(id) || self.held.iter().any(|held| held.id == *id);
                self.tokens.extend(token.filter(|_| goes_on).map(|token| (token, id.clone())));
                return Handling::Done;
            }
            "server/discover" => return self.discover(id, actions),
            "initialize" => {
                self.went_on();
                self.shows_forms = shows_forms(capabilities(message).as_ref());
                OpenRequest::Passed
            }
            "tools/list" => OpenRequest::List { is_first: text_of(message, "cursor").is_none() },
            "tasks/get" | "tasks/result" => OpenRequest::Task(text_of(message, "taskId").unwrap_or_default()),
            _ => OpenRequest::Passed,
        };
        self.tokens.extend(token.map(|token| (token, id.clone())));
        self.open.insert(id.clone(), open);
        Handling::Pass
    }

    /// Which revisions the server speaks: answered at once where that is known, because clients do not wait long.
    fn discover(&mut self, id: &Id, actions: &mut Vec<Action>) -> Handling {
        let known = if self.pins_itself { self.context.config.environment.era() } else { None };
        match known {
            Some(Era::Legacy) => {
                actions.push(to_client(not_modern(id), Some(id)));
                Handling::Done
            }
            Some(Era::Modern(result)) => {
                let text = match RawValue::from_string(result) {
                    Ok(result) => to_text(&RawAnswer { jsonrpc: "2.0", id, result: &result }),
                    Err(_) => not_modern(id),
                };
                actions.push(to_client(text, Some(id)));
                Handling::Done
            }
            None => {
                if self.pins_itself && matches!(self.probe, Probe::None) {
                    self.probe = Probe::Waiting { id: id.clone(), since: self.context.now() };
                }
                self.open.insert(id.clone(), OpenRequest::Probe);
                Handling::Pass
            }
        }
    }

    fn notice(&mut self, method: &str, message: &Message<'_>) -> Handling {
        if method == "tools/call" {
            // A server that takes a notice for a call would run it unjudged.
            self.context.log("the client sent `tools/call` without an id; it was left out");
            return Handling::Done;
        }
        if method != "notifications/cancelled" {
            return Handling::Pass;
        }
        let params = message.params().and_then(|raw| read_object("params", raw).ok()).unwrap_or_default();
        let Some(id) = params.get("requestId").and_then(Id::of) else { return Handling::Pass };
        if self.cancel_held(&id) {
            return Handling::Done;
        }
        // Its result no longer counts and is not passed on: the client does not wait for it.
        match self.open.remove(&id) {
            Some(OpenRequest::Call(flight)) => self.failed(&flight),
            // Whatever else is cancelled may still be answered; that answer is left out then.
            Some(_) => {}
            None => return Handling::Done,
        }
        Handling::Pass
    }

    /// The client answers: us, or the server.
    fn answered(&mut self, id: Option<&Id>, message: &Message<'_>, actions: &mut Vec<Action>) -> Handling {
        let Some(id) = id else {
            self.context.log("the client could not read a message of the server");
            return Handling::Done;
        };
        if let Some(answered) = self.answered_form(id, message) {
            self.go_on_after_answer(answered, actions);
            return Handling::Done;
        }
        if self.asked_by_server.remove(id) {
            return Handling::Pass;
        }
        self.context.log(&format!(
            "the client answered `{}`, which is not an open request",
            visible(&id.to_string())
        ));
        Handling::Done
    }

    /// Takes in a message of the server.
    pub fn from_server(&mut self, text: String) -> Vec<Action> {
        let mut actions = Vec::new();
        let read = Message::read(&text);
        let message = match &read {
            Ok(message) => message,
            Err(malformed) => {
                self.context.log(&format!("the server sent an invalid message: {malformed}"));
                // The client must not wait for what is not passed on.
                return match Message::answered(&text) {
                    Some(id) => self.server_gone(Some(&id), &format!("its answer is invalid: {malformed}")),
                    None => actions,
                };
            }
        };
        let about = match &message.kind {
            Kind::Answer { id: Some(id) } => {
                let id = id.clone();
                match self.answer(&id, message, &mut actions) {
                    Handling::Done => return actions,
                    Handling::Pass => Some(id),
                }
            }
            Kind::Answer { id: None } => {
                self.context.log("the server could not read a message of the client");
                None
            }
            Kind::Request { id, .. } => {
                let is_ours = self.held.iter().any(|held| held.question.as_ref() == Some(id));
                if is_ours
                    || self.asked_by_server.len() >= OPEN_MAX
                    || !self.asked_by_server.insert(id.clone())
                {
                    let reason = format!("the id `{id}` is in use, or too many requests are open");
                    self.context.log(&format!("a request of the server was left out: {}", visible(&reason)));
                    actions.push(to_server(error(None, INVALID_REQUEST, &reason)));
                    return actions;
                }
                None
            }
            Kind::Notice { method } if method.starts_with("notifications/tasks") => {
                if let Some(changed) = self.task_told(message) {
                    actions.push(to_client(changed, None));
                    return actions;
                }
                None
            }
            Kind::Notice { method } if method == "notifications/progress" => {
                progress_of(message).and_then(|token| self.tokens.get(&token).cloned())
            }
            Kind::Notice { .. } => None,
        };
        actions.push(to_client(text, about.as_ref()));
        actions
    }

    /// The server answers a request of the client.
    fn answer(&mut self, id: &Id, message: &Message<'_>, actions: &mut Vec<Action>) -> Handling {
        self.tokens.retain(|_, request| request != id);
        if let Probe::GivenUp { id: probe, .. } = &self.probe
            && probe == id
        {
            self.late_probe(message, actions);
            return Handling::Done;
        }
        match self.open.remove(id) {
            None => {
                self.context.log(&format!(
                    "the server answered `{}`, which is not an open request",
                    visible(&id.to_string())
                ));
                Handling::Done
            }
            Some(OpenRequest::Call(flight)) => self.result(id, *flight, message, actions),
            Some(OpenRequest::List { is_first }) => self.listed(id, is_first, message, actions),
            Some(OpenRequest::Task(task)) => self.task_result(id, &task, message, actions),
            Some(OpenRequest::Probe) => {
                if let Probe::Waiting { id: probe, .. } = &self.probe
                    && probe == id
                {
                    self.probe = Probe::None;
                }
                self.learn(message);
                Handling::Pass
            }
            Some(OpenRequest::Passed) => Handling::Pass,
        }
    }

    /// The client has not waited for the answer to its probe.
    fn went_on(&mut self) {
        if let Probe::Waiting { id, .. } = &self.probe {
            self.open.remove(id);
            self.probe = Probe::GivenUp { id: id.clone(), since: self.context.now() };
        }
    }

    fn learn(&self, message: &Message<'_>) {
        let era = match message.members.get("result") {
            Some(result) => Era::Modern(result.get().to_owned()),
            None => Era::Legacy,
        };
        self.context.config.environment.learn(&era);
    }

    /// The answer to a probe whose client went on without it. A server that says yes may have settled on the modern
    /// revision by that; then it is started anew, and spoken to as its client does.
    fn late_probe(&mut self, message: &Message<'_>, actions: &mut Vec<Action>) {
        self.learn(message);
        if message.members.get("result").is_some() {
            actions.push(Action::Restart);
        }
        self.flush(actions);
    }

    fn flush(&mut self, actions: &mut Vec<Action>) {
        self.probe = Probe::None;
        actions.extend(self.backlog.drain(..).map(Action::Server));
    }

    /// Looks after what is waited for.
    pub fn tick(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for answered in self.answered_elsewhere(&mut actions) {
            self.go_on_after_answer(answered, &mut actions);
        }
        let mut actions = self.kept_back(actions);
        let now = self.context.now();
        match &self.probe {
            Probe::Waiting { id, since } if now >= since.after_ms(PROBE_MS) => {
                self.open.remove(id);
                actions.push(to_client(not_modern(id), Some(id)));
                self.probe = Probe::GivenUp { id: id.clone(), since: now };
            }
            Probe::GivenUp { since, .. } if now >= since.after_ms(PROBE_GIVEN_UP_MS) => {
                self.context.log("the server does not answer; it is started again");
                actions.push(Action::Restart);
                self.flush(&mut actions);
            }
            Probe::None | Probe::Waiting { .. } | Probe::GivenUp { .. } => {}
        }
        actions
    }

    /// The server has ended: open requests get an error, and running calls have failed. With `about`, only that one
    /// request is lost.
    pub fn server_gone(&mut self, about: Option<&Id>, reason: &str) -> Vec<Action> {
        let lost: Vec<Id> = match about {
            Some(id) => self.open.keys().filter(|open| *open == id).cloned().collect(),
            None => self.open.keys().cloned().collect(),
        };
        let mut actions = Vec::new();
        for id in lost {
            if let Some(OpenRequest::Call(flight)) = self.open.remove(&id) {
                self.failed(&flight);
            }
            let text = format!("the server did not answer: {reason}");
            actions.push(to_client(error(Some(&id), INTERNAL_ERROR, &text), Some(&id)));
        }
        actions
    }

    /// The client has ended: running calls have failed and questions are refused.
    pub fn client_gone(&mut self) {
        let open: Vec<OpenRequest> = self.open.drain().map(|(_, open)| open).collect();
        for flight in open
            .iter()
            .filter_map(|open| if let OpenRequest::Call(flight) = open { Some(flight) } else { None })
        {
            self.failed(flight);
        }
        self.drop_held();
    }
}

#[derive(serde::Serialize)]
struct RawAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a RawValue,
}

fn not_modern(id: &Id) -> String {
    error(Some(id), METHOD_NOT_FOUND, "Method not found")
}

fn params<'m>(message: &'m Message<'_>) -> Option<Members<'m>> {
    Members::read(message.params()?.get()).ok()
}

/// A text among the parameters.
fn text_of(message: &Message<'_>, name: &str) -> Option<String> {
    params(message)?.text(name).ok()?
}

fn capabilities(message: &Message<'_>) -> Option<Value> {
    params(message)?.object("capabilities").ok()?.map(Value::Object)
}

/// The progress token of a request, as JSON.
fn progress_token(message: &Message<'_>) -> Option<String> {
    let meta = params(message)?.object("_meta").ok()??;
    meta.get("progressToken").map(to_text)
}

/// The token of a progress notice.
fn progress_of(message: &Message<'_>) -> Option<String> {
    let params = params(message)?;
    let token = params.get("progressToken")?;
    serde_json::from_str::<Value>(token.get()).ok().map(|token| to_text(&token))
}
