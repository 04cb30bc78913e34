//! Several servers seen as one.
//!
//! A [`Fleet`] says what becomes of each message: a tool `status` of server `git` is called `git__status` here, lists
//! are joined, and whatever concerns one server goes to that one under the name it gave itself. What is passed on keeps
//! its bytes but for names and ids. [`as_one`] moves the messages; there is no clock and no I/O in here.
//!
//! Toward the client the fleet is a server of the revisions that begin with `initialize`. A server that only speaks the
//! modern revision is left out, with a line in the log: it has to be connected alone. Which of several servers a method
//! means that is not named here cannot be told, so such methods do not exist.

mod client;
mod gathering;
mod joining;
mod one;
mod server;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    mem,
};

use lockgate_call::visible;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    message::{Id, Kind, MESSAGE_BYTES_MAX, Members, Message, to_text},
    protocol::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, answer, error},
};
use joining::List;
pub use one::as_one;

/// How many requests of the client may be open.
const OPEN_MAX: usize = 1024;

/// How many requests of all servers may be open.
const QUESTIONS_MAX: usize = 1024;

/// How many pages one server's list may have.
const PAGES_MAX: usize = 256;

/// How many entries a joined list may have.
const ITEMS_MAX: usize = 10_000;

/// How long a joined list may be, in bytes. With the names of servers added it is still a message.
const ITEMS_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 2;

/// How many tasks are remembered; older ones are forgotten.
const TASKS_MAX: usize = 1024;

/// How many ticks a server may take to answer what all are asked.
const PATIENCE_TICKS: u32 = 25;

/// What stands between a server's name and that of its tool.
const BETWEEN: &str = "__";

const RESOURCE_NOT_FOUND: i64 = -32002;
/// What a server answers to `initialize` that only speaks the modern revision.
const UNSUPPORTED_VERSION: i64 = -32022;

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetOut {
    /// The client is told.
    ToClient(String),
    /// The server at this place is told.
    ToServer(usize, String),
    /// People are told.
    Log(String),
}

/// Several servers seen as one.
#[derive(Debug)]
pub struct Fleet {
    servers: Vec<Server>,
    is_ready: bool,
    /// Requests of the client.
    open: HashMap<Id, Open>,
    /// Requests of ours, to gather what one request of the client asks of several servers.
    asked: HashMap<Id, Asked>,
    /// Requests of servers to the client, under ids of ours.
    questions: HashMap<Id, Question>,
    /// Which server has a resource.
    resources: HashMap<String, usize>,
    /// Which server has a template of resources.
    templates: HashMap<String, usize>,
    /// Which server runs a task, oldest first.
    tasks: VecDeque<(String, usize)>,
    /// Lists that the client knows to be out of date.
    stale: HashSet<List>,
    ids_given: u64,
    outs: Vec<FleetOut>,
}

#[derive(Debug)]
struct Server {
    name: String,
    state: State,
    capabilities: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not initialized.
    New,
    Up,
    /// Gone, or left out.
    Out,
}

#[derive(Debug)]
enum Open {
    /// One server answers it.
    Routed { server: usize, may_start_task: bool, is_cancelled: bool },
    /// Several do.
    Gathering(Gathering),
}

#[derive(Debug)]
struct Gathering {
    what: What,
    params: Option<Box<RawValue>>,
    parts: Vec<Part>,
    items: usize,
    bytes: usize,
    ticks: u32,
}

#[derive(Debug)]
enum What {
    Initialize,
    List(List),
    Level,
    /// Finds out who has the resource that the message is about.
    Locate {
        uri: String,
        text: String,
    },
}

/// What one server adds.
#[derive(Debug)]
struct Part {
    server: usize,
    list: Option<List>,
    items: Vec<Box<RawValue>>,
    pages: usize,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Waiting,
    Done(Box<RawValue>),
    Failed { reason: String, error: Option<Box<RawValue>> },
}

#[derive(Debug)]
struct Asked {
    server: usize,
    request: Id,
    part: usize,
}

#[derive(Debug)]
struct Question {
    server: usize,
    id: Id,
    progress_token: Option<Value>,
}

/// A request that the fleet answers itself, with an error.
struct Refused(i64, String);

impl Fleet {
    /// A fleet of servers with these names. Names must be such that [`crate::check_server_name`] has nothing against
    /// them, and all different; a server with any other name is left out.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut fleet = Self {
            servers: Vec::new(),
            is_ready: false,
            open: HashMap::new(),
            asked: HashMap::new(),
            questions: HashMap::new(),
            resources: HashMap::new(),
            templates: HashMap::new(),
            tasks: VecDeque::new(),
            stale: HashSet::new(),
            ids_given: 0,
            outs: Vec::new(),
        };
        for name in names {
            let is_usable = crate::check_server_name(&name).is_ok() && fleet.place_of(&name).is_none();
            let state = if is_usable { State::New } else { State::Out };
            fleet.servers.push(Server { name, state, capabilities: Map::new() });
        }
        fleet
    }

    /// Whether this server has no part in the fleet any more.
    pub fn is_out(&self, server: usize) -> bool {
        self.servers.get(server).is_none_or(|server| server.state == State::Out)
    }

    /// Whether no server is left.
    pub fn is_over(&self) -> bool {
        self.servers.iter().all(|server| server.state == State::Out)
    }

    /// Whether somebody is waited for whom [`Fleet::tick`] may give up.
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Takes in a message of the client.
    pub fn from_client(&mut self, text: &str) -> Vec<FleetOut> {
        match Message::read(text) {
            Err(malformed) => self.tell(error(None, INVALID_REQUEST, &malformed.to_string())),
            Ok(message) => match &message.kind {
                Kind::Request { id, method } => self.request(id, method, &message, text),
                Kind::Notice { method } => self.notice(method, &message, text),
                Kind::Answer { id } => self.answer(id.as_ref(), message.members),
            },
        }
        mem::take(&mut self.outs)
    }

    /// Takes in a message of a server.
    pub fn from_server(&mut self, server: usize, text: &str) -> Vec<FleetOut> {
        if self.is_out(server) {
            return Vec::new();
        }
        match Message::read(text) {
            Err(malformed) => self.log_of(server, &format!("what it sent is no message: {malformed}")),
            Ok(message) => match &message.kind {
                Kind::Request { id, .. } => self.question(server, id.clone(), message),
                Kind::Notice { method } => self.notice_of(server, method, &message, text),
                Kind::Answer { id: Some(id) } => self.answer_of(server, id, &message, text),
                Kind::Answer { id: None } => self.log_of(server, "it could not read a message"),
            },
        }
        mem::take(&mut self.outs)
    }

    /// A server has ended: what it was to answer fails, and what it offered vanishes.
    pub fn server_gone(&mut self, server: usize, reason: &str) -> Vec<FleetOut> {
        if !self.is_out(server) {
            let was_up = self.servers.get(server).is_some_and(|server| server.state == State::Up);
            self.leave_out(server, reason);
            let mut lost: Vec<Id> = self.routed_to(server).cloned().collect();
            lost.extend(self.asked.iter().filter(|(_, asked)| asked.server == server).map(key));
            lost.sort_unstable();
            for id in lost {
                self.lose(server, &id, reason);
            }
            self.withdraw_questions(server, reason);
            if was_up {
                self.tell_changed(server);
            }
        }
        mem::take(&mut self.outs)
    }

    /// One request to a server is lost, though the server is not.
    pub fn request_lost(&mut self, server: usize, id: &Id, reason: &str) -> Vec<FleetOut> {
        self.lose(server, id, reason);
        mem::take(&mut self.outs)
    }

    /// Time passes: whoever takes too long to answer what all are asked is not waited for any longer.
    pub fn tick(&mut self) -> Vec<FleetOut> {
        let mut late = Vec::new();
        for (id, open) in &mut self.open {
            if let Open::Gathering(gathering) = open {
                gathering.ticks += 1;
                if gathering.ticks >= PATIENCE_TICKS {
                    late.push(id.clone());
                }
            }
        }
        for request in late {
            for (server, id) in self.asked_for(&request) {
                self.lose(server, &id, "it took too long to answer");
            }
        }
        mem::take(&mut self.outs)
    }
}

/// What all of it leans on.
impl Fleet {
    fn lose(&mut self, server: usize, id: &Id, reason: &str) {
        if let Some(asked) = self.asked.get(id).filter(|asked| asked.server == server) {
            let (request, place) = (asked.request.clone(), asked.part);
            self.asked.remove(id);
            let Some(Open::Gathering(mut gathering)) = self.open.remove(&request) else { return };
            if let Some(part) = gathering.parts.get_mut(place) {
                part.outcome = Outcome::Failed { reason: reason.to_owned(), error: None };
            }
            self.keep_or_finish(&request, gathering);
        } else if matches!(self.open.get(id), Some(Open::Routed { server: own, .. }) if *own == server) {
            self.open.remove(id);
            self.tell(error(Some(id), INTERNAL_ERROR, &format!("the server did not answer: {reason}")));
        }
    }

    fn leave_out(&mut self, place: usize, reason: &str) {
        if self.is_out(place) {
            return;
        }
        self.log_of(place, &format!("it is left out: {reason}"));
        if let Some(server) = self.servers.get_mut(place) {
            server.state = State::Out;
        }
        self.resources.retain(|_, owner| *owner != place);
        self.templates.retain(|_, owner| *owner != place);
        self.tasks.retain(|(_, owner)| *owner != place);
    }

    fn withdraw_questions(&mut self, server: usize, reason: &str) {
        let mut lost: Vec<Id> =
            self.questions.iter().filter(|(_, it)| it.server == server).map(key).collect();
        lost.sort_unstable();
        for id in lost {
            self.questions.remove(&id);
            self.tell(cancelled(&id, reason));
        }
    }

    fn tell_changed(&mut self, place: usize) {
        for list in [List::Tools, List::Prompts, List::Resources] {
            let had = self.servers.get(place).is_some_and(|server| server.has(list.capability()));
            if had && self.stale.insert(list) {
                self.tell(to_text(&json!({ "jsonrpc": "2.0", "method": list.change() })));
            }
        }
    }

    fn owner_of(&self, uri: &str) -> Option<usize> {
        self.resources.get(uri).copied().or_else(|| joining::owner_by_template(&self.templates, uri))
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.name == name)
    }

    fn places(&self, wanted: impl Fn(&Server) -> bool) -> Vec<usize> {
        self.servers.iter().enumerate().filter(|(_, server)| wanted(server)).map(|(place, _)| place).collect()
    }

    fn routed_to(&self, server: usize) -> impl Iterator<Item = &Id> {
        let is_it = move |open: &Open| matches!(open, Open::Routed { server: own, .. } if *own == server);
        self.open.iter().filter(move |(_, open)| is_it(open)).map(|(id, _)| id)
    }

    /// The servers that are asked for a request, and under which ids.
    fn asked_for(&self, request: &Id) -> Vec<(usize, Id)> {
        let asked = self.asked.iter().filter(|(_, asked)| asked.request == *request);
        let mut asked: Vec<_> = asked.map(|(id, asked)| (asked.server, id.clone())).collect();
        asked.sort_unstable();
        asked
    }

    fn new_id(&mut self) -> Id {
        loop {
            self.ids_given += 1;
            let id = Id::Text(format!("lockgate-{}", self.ids_given));
            // A client may have had the same idea.
            if !self.open.contains_key(&id) {
                return id;
            }
        }
    }

    fn tell(&mut self, text: String) {
        self.outs.push(FleetOut::ToClient(text));
    }

    fn log_of(&mut self, server: usize, what: &str) {
        let name = self.servers.get(server).map(|server| server.name.as_str()).unwrap_or_default();
        self.outs.push(FleetOut::Log(visible(&format!("server `{name}`: {what}"))));
    }
}

impl Server {
    fn has(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }
}

fn params_of<'m>(message: &'m Message<'_>) -> Option<Members<'m>> {
    message.params().and_then(|params| Members::read(params.get()).ok())
}

fn request_id(message: &Message<'_>) -> Option<Id> {
    let params = params_of(message)?;
    Id::of(&serde_json::from_str(params.get("requestId")?.get()).ok()?)
}

fn progress_token(params: Option<&Members<'_>>) -> Option<Value> {
    serde_json::from_str(params?.get("progressToken")?.get()).ok()
}

/// The token under which a request wants to hear of its progress.
fn meta_token(params: &Members<'_>) -> Option<Value> {
    progress_token(Members::read(params.get("_meta")?.get()).ok().as_ref())
}

fn key<V>((id, _): (&Id, V)) -> Id {
    id.clone()
}

fn cancelled(id: &Id, reason: &str) -> String {
    let params = json!({ "requestId": id, "reason": reason });
    to_text(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
}
