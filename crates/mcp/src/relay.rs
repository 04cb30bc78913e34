//! One conversation between a client and a server: what is passed on, what is judged, what is answered.
//!
//! A [`Relay`] is told every message of both sides and says what is to be sent; it has no I/O of its own, so it can be
//! tested and attacked without a process. Most messages pass as they came. Tool calls go to `calls.rs`, lists of tools
//! to `listing.rs`; here is what they share: which requests are open, who may answer what, and what is waited for.
//! Whatever nobody asked for is left out, with a line for the operator.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lockgate_call::{Time, visible};
use serde_json::{Value, value::RawValue};

use crate::{
    asking::Held,
    calls::Flight,
    house::{Era, House},
    link::Outgoing,
    message::{Id, Kind, Members, Message, read_object, to_text},
    protocol::{INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, error, shows_forms},
};

/// How many requests of one side may be open at once.
const OPEN_MAX: usize = 4096;

/// How many messages wait while the server is still thinking about a probe.
const BACKLOG_MAX: usize = 256;

/// How long the answer to a client's probe may take; then it is told no, and goes on with an older revision. A client
/// that waits less long goes on by itself.
const PROBE_MS: u64 = 20_000;

/// How long a server may think about a probe before it is started again.
const PROBE_GIVEN_UP_MS: u64 = 60_000;

/// One conversation.
pub struct Relay {
    pub(crate) house: Arc<House>,
    /// What its calls belong to, unless they say otherwise.
    pub(crate) session: String,
    /// Whether the server remembers how it was first spoken to.
    pins_itself: bool,
    /// Whether the client said when it began that it can show forms.
    pub(crate) shows_forms: bool,
    /// Requests of the client that the server has.
    pub(crate) open: HashMap<Id, Open>,
    /// Calls that wait for a human.
    pub(crate) held: Vec<Held>,
    /// Requests of the server that the client has.
    asked_by_server: HashSet<Id>,
    /// The requests that progress is told about, by its token as JSON.
    tokens: HashMap<String, Id>,
    probe: Probe,
    backlog: Vec<Outgoing>,
    pub(crate) questions_asked: u64,
    /// The tools listed so far, page by page.
    pub(crate) tools: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// Send to the client.
    Client(Outgoing),
    /// Send to the server.
    Server(Outgoing),
    /// Start the server anew: it has settled on a revision that its client does not speak.
    Restart,
}

/// A request that the server has.
#[derive(Debug)]
pub(crate) enum Open {
    /// A tool call that was let pass.
    Call(Box<Flight>),
    /// A list of tools.
    List {
        /// Whether it is the first page.
        is_first: bool,
    },
    /// What became of a task.
    Task(String),
    /// Which revisions the server speaks.
    Probe,
    /// Anything else.
    Passed,
}

/// Where the client's first question stands, whether the server speaks the modern revision.
#[derive(Debug, Default)]
enum Probe {
    #[default]
    None,
    Waiting {
        id: Id,
        since: Time,
    },
    /// The client was told no, and the server has not answered yet.
    GivenUp {
        id: Id,
        since: Time,
    },
}

/// What becomes of a message that was looked at.
pub(crate) enum Step {
    /// The other side gets it as it came.
    Pass,
    /// It was dealt with.
    Done,
}

impl Relay {
    /// A conversation. `pins_itself`: the server settles on a revision by the first message it gets, as processes do.
    pub fn new(house: Arc<House>, pins_itself: bool) -> Self {
        Self {
            session: house.plan.session.clone(),
            house,
            pins_itself,
            shows_forms: false,
            open: HashMap::new(),
            held: Vec::new(),
            asked_by_server: HashSet::new(),
            tokens: HashMap::new(),
            probe: Probe::None,
            backlog: Vec::new(),
            questions_asked: 0,
            tools: Vec::new(),
        }
    }

    /// The same in a session of its own.
    #[must_use]
    pub fn in_session(mut self, session: String) -> Self {
        self.session = session;
        self
    }

    /// Whether [`Relay::tick`] has anything to do.
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty() || !matches!(self.probe, Probe::None)
    }

    /// Takes in a message of the client.
    pub fn from_client(&mut self, text: String) -> Vec<Out> {
        let mut outs = Vec::new();
        let read = Message::read(&text);
        let step = match &read {
            Err(malformed) => return self.unreadable(&malformed.to_string()),
            Ok(message) => match &message.kind {
                Kind::Request { id, method } => self.request(id, method, message, &text, &mut outs),
                Kind::Notice { method } => self.notice(method, message),
                Kind::Answer { id } => self.answered(id.as_ref(), message, &mut outs),
            },
        };
        if let Step::Pass = step {
            outs.push(to_server(text));
        }
        self.kept_back(outs)
    }

    /// Takes in that the client sent something that is no message.
    pub fn unreadable(&mut self, reason: &str) -> Vec<Out> {
        self.house.log(&format!("the client sent no message: {reason}"));
        vec![to_client(error(None, INVALID_REQUEST, reason), None)]
    }

    /// While the server still thinks about a probe that its client no longer waits for, it is told nothing else.
    fn kept_back(&mut self, outs: Vec<Out>) -> Vec<Out> {
        if !matches!(self.probe, Probe::GivenUp { .. }) {
            return outs;
        }
        let mut told = Vec::new();
        for out in outs {
            match out {
                Out::Server(message) if self.backlog.len() < BACKLOG_MAX => self.backlog.push(message),
                Out::Server(_) => self
                    .house
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
        outs: &mut Vec<Out>,
    ) -> Step {
        let refusal = if self.open.contains_key(id) || self.held.iter().any(|held| held.id == *id) {
            Some(format!("the id `{id}` names another request that is not answered yet"))
        } else if self.open.len() + self.held.len() >= OPEN_MAX {
            Some(format!("{OPEN_MAX} requests are not answered yet"))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.house.log(&format!("a request of the client was left out: {}", visible(&refusal)));
            // Without the id: under it, the other request would seem to be answered.
            outs.push(to_client(error(None, INVALID_REQUEST, &refusal), None));
            return Step::Done;
        }
        let token = text.contains("progressToken").then(|| progress_token(message)).flatten();
        let open = match method {
            "tools/call" => {
                self.call(id, message, text, outs);
                // A call that was refused makes no progress.
                let goes_on = self.open.contains_key(id) || self.held.iter().any(|held| held.id == *id);
                self.tokens.extend(token.filter(|_| goes_on).map(|token| (token, id.clone())));
                return Step::Done;
            }
            "server/discover" => return self.discover(id, outs),
            "initialize" => {
                self.went_on();
                self.shows_forms = shows_forms(capabilities(message).as_ref());
                Open::Passed
            }
            "tools/list" => Open::List { is_first: text_of(message, "cursor").is_none() },
            "tasks/get" | "tasks/result" => Open::Task(text_of(message, "taskId").unwrap_or_default()),
            _ => Open::Passed,
        };
        self.tokens.extend(token.map(|token| (token, id.clone())));
        self.open.insert(id.clone(), open);
        Step::Pass
    }

    /// Which revisions the server speaks: answered at once where that is known, because clients do not wait long.
    fn discover(&mut self, id: &Id, outs: &mut Vec<Out>) -> Step {
        let known = if self.pins_itself { self.house.plan.world.era() } else { None };
        match known {
            Some(Era::Legacy) => {
                outs.push(to_client(not_modern(id), Some(id)));
                Step::Done
            }
            Some(Era::Modern(result)) => {
                let text = match RawValue::from_string(result) {
                    Ok(result) => to_text(&RawAnswer { jsonrpc: "2.0", id, result: &result }),
                    Err(_) => not_modern(id),
                };
                outs.push(to_client(text, Some(id)));
                Step::Done
            }
            None => {
                if self.pins_itself && matches!(self.probe, Probe::None) {
                    self.probe = Probe::Waiting { id: id.clone(), since: self.house.now() };
                }
                self.open.insert(id.clone(), Open::Probe);
                Step::Pass
            }
        }
    }

    fn notice(&mut self, method: &str, message: &Message<'_>) -> Step {
        if method == "tools/call" {
            // A server that takes a notice for a call would run it unjudged.
            self.house.log("the client sent `tools/call` without an id; it was left out");
            return Step::Done;
        }
        if method != "notifications/cancelled" {
            return Step::Pass;
        }
        let params = message.params().and_then(|raw| read_object("params", raw).ok()).unwrap_or_default();
        let Some(id) = params.get("requestId").and_then(Id::of) else { return Step::Pass };
        if self.cancel_held(&id) {
            return Step::Done;
        }
        // Its result counts for nothing any more, and is not passed on either: nobody waits for it.
        match self.open.remove(&id) {
            Some(Open::Call(flight)) => self.failed(&flight),
            // Whatever else is cancelled may still be answered; that answer is left out then.
            Some(_) => {}
            None => return Step::Done,
        }
        Step::Pass
    }

    /// The client answers: us, or the server.
    fn answered(&mut self, id: Option<&Id>, message: &Message<'_>, outs: &mut Vec<Out>) -> Step {
        let Some(id) = id else {
            self.house.log("the client could not read a message of the server");
            return Step::Done;
        };
        if self.answer_held(id, message, outs) {
            return Step::Done;
        }
        if self.asked_by_server.remove(id) {
            return Step::Pass;
        }
        self.house.log(&format!("the client answered `{}`, which nobody asked", visible(&id.to_string())));
        Step::Done
    }

    /// Takes in a message of the server.
    pub fn from_server(&mut self, text: String) -> Vec<Out> {
        let mut outs = Vec::new();
        let read = Message::read(&text);
        let message = match &read {
            Ok(message) => message,
            Err(malformed) => {
                self.house.log(&format!("the server sent no message: {malformed}"));
                return outs;
            }
        };
        let about = match &message.kind {
            Kind::Answer { id: Some(id) } => {
                let id = id.clone();
                match self.answer(&id, message, &mut outs) {
                    Step::Done => return outs,
                    Step::Pass => Some(id),
                }
            }
            Kind::Answer { id: None } => {
                self.house.log("the server could not read a message of the client");
                None
            }
            Kind::Request { id, .. } => {
                let is_ours = self.held.iter().any(|held| held.question.as_ref() == Some(id));
                if is_ours
                    || self.asked_by_server.len() >= OPEN_MAX
                    || !self.asked_by_server.insert(id.clone())
                {
                    let reason = format!("the id `{id}` is in use, or too many requests are open");
                    self.house.log(&format!("a request of the server was left out: {}", visible(&reason)));
                    outs.push(to_server(error(None, INVALID_REQUEST, &reason)));
                    return outs;
                }
                None
            }
            Kind::Notice { method } if method.starts_with("notifications/tasks") => {
                if let Some(changed) = self.task_told(message) {
                    outs.push(to_client(changed, None));
                    return outs;
                }
                None
            }
            Kind::Notice { method } if method == "notifications/progress" => {
                progress_of(message).and_then(|token| self.tokens.get(&token).cloned())
            }
            Kind::Notice { .. } => None,
        };
        outs.push(to_client(text, about.as_ref()));
        outs
    }

    /// The server answers a request of the client.
    fn answer(&mut self, id: &Id, message: &Message<'_>, outs: &mut Vec<Out>) -> Step {
        self.tokens.retain(|_, request| request != id);
        if let Probe::GivenUp { id: probe, .. } = &self.probe
            && probe == id
        {
            self.late_probe(message, outs);
            return Step::Done;
        }
        match self.open.remove(id) {
            None => {
                self.house
                    .log(&format!("the server answered `{}`, which nobody asked", visible(&id.to_string())));
                Step::Done
            }
            Some(Open::Call(flight)) => self.result(id, *flight, message, outs),
            Some(Open::List { is_first }) => self.listed(id, is_first, message, outs),
            Some(Open::Task(task)) => self.task_result(id, &task, message, outs),
            Some(Open::Probe) => {
                if let Probe::Waiting { id: probe, .. } = &self.probe
                    && probe == id
                {
                    self.probe = Probe::None;
                }
                self.learn(message);
                Step::Pass
            }
            Some(Open::Passed) => Step::Pass,
        }
    }

    /// The client has not waited for the answer to its probe.
    fn went_on(&mut self) {
        if let Probe::Waiting { id, .. } = &self.probe {
            self.open.remove(id);
            self.probe = Probe::GivenUp { id: id.clone(), since: self.house.now() };
        }
    }

    fn learn(&self, message: &Message<'_>) {
        let era = match message.members.get("result") {
            Some(result) => Era::Modern(result.get().to_owned()),
            None => Era::Legacy,
        };
        self.house.plan.world.learn(&era);
    }

    /// The answer to a probe whose client went on without it. A server that says yes may have settled on the modern
    /// revision by that; then it is started anew, and spoken to as its client does.
    fn late_probe(&mut self, message: &Message<'_>, outs: &mut Vec<Out>) {
        self.learn(message);
        if message.members.get("result").is_some() {
            outs.push(Out::Restart);
        }
        self.flush(outs);
    }

    fn flush(&mut self, outs: &mut Vec<Out>) {
        self.probe = Probe::None;
        outs.extend(self.backlog.drain(..).map(Out::Server));
    }

    /// Looks after what is waited for.
    pub fn tick(&mut self) -> Vec<Out> {
        let mut outs = Vec::new();
        self.tick_held(&mut outs);
        let mut outs = self.kept_back(outs);
        let now = self.house.now();
        match &self.probe {
            Probe::Waiting { id, since } if now >= since.after_ms(PROBE_MS) => {
                self.open.remove(id);
                outs.push(to_client(not_modern(id), Some(id)));
                self.probe = Probe::GivenUp { id: id.clone(), since: now };
            }
            Probe::GivenUp { since, .. } if now >= since.after_ms(PROBE_GIVEN_UP_MS) => {
                self.house.log("the server does not answer; it is started again");
                outs.push(Out::Restart);
                self.flush(&mut outs);
            }
            Probe::None | Probe::Waiting { .. } | Probe::GivenUp { .. } => {}
        }
        outs
    }

    /// The server has ended: whoever waits for it is told, and what ran counts as failed. With `about`, only that one
    /// request is lost.
    pub fn server_gone(&mut self, about: Option<&Id>, reason: &str) -> Vec<Out> {
        let lost: Vec<Id> = match about {
            Some(id) => self.open.keys().filter(|open| *open == id).cloned().collect(),
            None => self.open.keys().cloned().collect(),
        };
        let mut outs = Vec::new();
        for id in lost {
            if let Some(Open::Call(flight)) = self.open.remove(&id) {
                self.failed(&flight);
            }
            let text = format!("the server did not answer: {reason}");
            outs.push(to_client(error(Some(&id), INTERNAL_ERROR, &text), Some(&id)));
        }
        outs
    }

    /// The client has ended: nobody waits for anything any more.
    pub fn client_gone(&mut self) {
        let open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        for flight in
            open.iter().filter_map(|open| if let Open::Call(flight) = open { Some(flight) } else { None })
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

pub(crate) fn to_client(text: String, about: Option<&Id>) -> Out {
    Out::Client(Outgoing { text, about: about.cloned(), mirrored: Vec::new() })
}

pub(crate) fn to_server(text: String) -> Out {
    Out::Server(Outgoing { text, about: None, mirrored: Vec::new() })
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

/// The token that the progress of a request is told under, as JSON.
fn progress_token(message: &Message<'_>) -> Option<String> {
    let meta = params(message)?.object("_meta").ok()??;
    meta.get("progressToken").map(to_text)
}

/// The token of a notice about progress.
fn progress_of(message: &Message<'_>) -> Option<String> {
    let params = params(message)?;
    let token = params.get("progressToken")?;
    serde_json::from_str::<Value>(token.get()).ok().map(|token| to_text(&token))
}
