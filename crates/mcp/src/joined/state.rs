//! What is known of several servers that are seen as one, and what all messages about them share.

use std::collections::{HashMap, HashSet, VecDeque};

use lockgate::engine::call::visible;
use serde_json::{Map, Value, json, value::RawValue};

use super::lists::{self, List};
use crate::{
    message::{Id, MESSAGE_BYTES_MAX, Members, Message, to_text},
    server_list::check_server_name,
};

/// How many requests of the client may be open.
pub(super) const OPEN_MAX: usize = 1024;

/// How many requests of all servers may be open.
pub(super) const QUESTIONS_MAX: usize = 1024;

/// How many pages one server's list may have.
pub(super) const PAGES_MAX: usize = 256;

/// How many entries a joined list may have.
pub(super) const ITEMS_MAX: usize = 10_000;

/// How long a joined list may be, in bytes. With the names of servers added it is still a message.
pub(super) const ITEMS_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 2;

/// How many tasks are remembered; older ones are forgotten.
pub(super) const TASKS_MAX: usize = 1024;

/// How many ticks a server may take to answer what all are asked.
pub(super) const PATIENCE_TICKS: u32 = 25;

/// The separator between a server's name and that of its tool.
pub(super) const BETWEEN: &str = "__";

pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;
/// What a server answers to `initialize` that only speaks the modern revision.
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinedAction {
    /// Send to the client.
    ToClient(String),
    /// Send to the server at this place.
    ToServer(usize, String),
    /// Log for people.
    Log(String),
}

/// Several servers seen as one.
#[derive(Debug)]
pub struct JoinedServers {
    pub(super) servers: Vec<Server>,
    pub(super) is_ready: bool,
    /// Requests of the client.
    pub(super) open: HashMap<Id, Open>,
    /// Requests of ours, to gather what one request of the client asks of several servers.
    pub(super) asked: HashMap<Id, SentRequest>,
    /// Requests of servers to the client, under ids of ours.
    pub(super) questions: HashMap<Id, Question>,
    /// Which server has a resource.
    pub(super) resources: HashMap<String, usize>,
    /// Which server has a template of resources.
    pub(super) templates: HashMap<String, usize>,
    /// Which server runs a task, oldest first.
    pub(super) tasks: VecDeque<(String, usize)>,
    /// Lists that the client knows to be out of date.
    pub(super) stale: HashSet<List>,
    pub(super) ids_given: u64,
    pub(super) actions: Vec<JoinedAction>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) capabilities: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not initialized.
    New,
    Up,
    /// Gone, or left out.
    Out,
}

#[derive(Debug)]
pub(super) enum Open {
    /// One server answers it.
    Routed { server: usize, may_start_task: bool, is_cancelled: bool },
    /// Several do.
    Gathering(Gathering),
}

#[derive(Debug)]
pub(super) struct Gathering {
    pub(super) what: GatheringKind,
    pub(super) params: Option<Box<RawValue>>,
    pub(super) parts: Vec<ServerPart>,
    pub(super) items: usize,
    pub(super) bytes: usize,
    pub(super) ticks: u32,
}

#[derive(Debug)]
pub(super) enum GatheringKind {
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
pub(super) struct ServerPart {
    pub(super) server: usize,
    pub(super) list: Option<List>,
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) pages: usize,
    pub(super) outcome: PartOutcome,
}

#[derive(Debug)]
pub(super) enum PartOutcome {
    Waiting,
    Done(Box<RawValue>),
    Failed { reason: String, error: Option<Box<RawValue>> },
}

#[derive(Debug)]
pub(super) struct SentRequest {
    pub(super) server: usize,
    pub(super) request: Id,
    pub(super) part: usize,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) server: usize,
    pub(super) id: Id,
    pub(super) progress_token: Option<Value>,
}

/// An error that answers a request without asking a server.
pub(super) struct Refusal(pub(super) i64, pub(super) String);

impl JoinedServers {
    /// Joins servers with these names. Names must pass [`crate::check_server_name`]
    /// and be distinct; a server with any other name is left out.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut joined = Self {
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
            actions: Vec::new(),
        };
        for name in names {
            let is_usable = check_server_name(&name).is_ok() && joined.place_of(&name).is_none();
            let state = if is_usable { State::New } else { State::Out };
            joined.servers.push(Server { name, state, capabilities: Map::new() });
        }
        joined
    }

    /// Whether this server is left out or gone.
    pub fn is_out(&self, server: usize) -> bool {
        self.servers.get(server).is_none_or(|server| server.state == State::Out)
    }

    /// Whether no server is left.
    pub fn is_over(&self) -> bool {
        self.servers.iter().all(|server| server.state == State::Out)
    }

    /// Whether there are servers that [`JoinedServers::tick`] may give up.
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }
}

/// What the other files of this folder share.
impl JoinedServers {
    pub(super) fn leave_out(&mut self, place: usize, reason: &str) {
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

    pub(super) fn withdraw_questions(&mut self, server: usize, reason: &str) {
        let mut lost: Vec<Id> =
            self.questions.iter().filter(|(_, it)| it.server == server).map(key).collect();
        lost.sort_unstable();
        for id in lost {
            self.questions.remove(&id);
            self.tell(cancelled(&id, reason));
        }
    }

    pub(super) fn tell_changed(&mut self, place: usize) {
        for list in [List::Tools, List::Prompts, List::Resources] {
            let had = self.servers.get(place).is_some_and(|server| server.has(list.capability()));
            if had && self.stale.insert(list) {
                self.tell(to_text(&json!({ "jsonrpc": "2.0", "method": list.change() })));
            }
        }
    }

    pub(super) fn owner_of(&self, uri: &str) -> Option<usize> {
        self.resources.get(uri).copied().or_else(|| lists::owner_by_template(&self.templates, uri))
    }

    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.name == name)
    }

    pub(super) fn places(&self, wanted: impl Fn(&Server) -> bool) -> Vec<usize> {
        self.servers.iter().enumerate().filter(|(_, server)| wanted(server)).map(|(place, _)| place).collect()
    }

    pub(super) fn routed_to(&self, server: usize) -> impl Iterator<Item = &Id> {
        let is_it = move |open: &Open| matches!(open, Open::Routed { server: own, .. } if *own == server);
        self.open.iter().filter(move |(_, open)| is_it(open)).map(|(id, _)| id)
    }

    /// The servers that are asked for a request, and under which ids.
    pub(super) fn asked_for(&self, request: &Id) -> Vec<(usize, Id)> {
        let asked = self.asked.iter().filter(|(_, asked)| asked.request == *request);
        let mut asked: Vec<_> = asked.map(|(id, asked)| (asked.server, id.clone())).collect();
        asked.sort_unstable();
        asked
    }

    pub(super) fn new_id(&mut self) -> Id {
        loop {
            self.ids_given += 1;
            let id = Id::Text(format!("lockgate-{}", self.ids_given));
            // A client may have had the same idea.
            if !self.open.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn route(&mut self, id: &Id, server: usize, text: String, may_start_task: bool) {
        self.open.insert(id.clone(), Open::Routed { server, may_start_task, is_cancelled: false });
        self.actions.push(JoinedAction::ToServer(server, text));
    }

    /// Remembers which server runs a task; false if another server does.
    pub(super) fn remember_task(&mut self, task: &str, server: usize) -> bool {
        if let Some((_, own)) = self.tasks.iter().find(|(own, _)| own == task) {
            return *own == server;
        }
        if self.tasks.len() >= TASKS_MAX {
            self.tasks.pop_front();
        }
        self.tasks.push_back((task.to_owned(), server));
        true
    }

    pub(super) fn tell(&mut self, text: String) {
        self.actions.push(JoinedAction::ToClient(text));
    }

    pub(super) fn log_of(&mut self, server: usize, what: &str) {
        let name = self.servers.get(server).map(|server| server.name.as_str()).unwrap_or_default();
        self.actions.push(JoinedAction::Log(visible(&format!("server `{name}`: {what}"))));
    }
}

impl Server {
    pub(super) fn has(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }
}

pub(super) fn params_of<'m>(message: &'m Message<'_>) -> Option<Members<'m>> {
    message.params().and_then(|params| Members::read(params.get()).ok())
}

pub(super) fn request_id(message: &Message<'_>) -> Option<Id> {
    let params = params_of(message)?;
    Id::of(&serde_json::from_str(params.get("requestId")?.get()).ok()?)
}

pub(super) fn progress_token(params: Option<&Members<'_>>) -> Option<Value> {
    serde_json::from_str(params?.get("progressToken")?.get()).ok()
}

/// The token under which a request wants to hear of its progress.
pub(super) fn meta_token(params: &Members<'_>) -> Option<Value> {
    progress_token(Members::read(params.get("_meta")?.get()).ok().as_ref())
}

pub(super) fn key<V>((id, _): (&Id, V)) -> Id {
    id.clone()
}

pub(super) fn cancelled(id: &Id, reason: &str) -> String {
    let params = json!({ "requestId": id, "reason": reason });
    to_text(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
}
