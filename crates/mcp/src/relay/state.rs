//! The state of one conversation between a client and a server.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lockgate::engine::call::Time;

use super::{
    call_states::{CallInFlight, HeldCall},
    context::Context,
};
use crate::{message::Id, transport::link::Outgoing};

/// One conversation.
pub struct Relay {
    pub(super) context: Arc<Context>,
    /// What its calls belong to, unless they say otherwise.
    pub(super) session: String,
    /// Whether the server remembers how it was first spoken to.
    pub(super) pins_itself: bool,
    /// Whether the client said when it began that it can show forms.
    pub(super) shows_forms: bool,
    /// Requests of the client that the server has.
    pub(super) open: HashMap<Id, OpenRequest>,
    /// Calls that wait for a human.
    pub(super) held: Vec<HeldCall>,
    /// Requests of the server that the client has.
    pub(super) asked_by_server: HashSet<Id>,
    /// The requests with a progress token, by the token as JSON.
    pub(super) tokens: HashMap<String, Id>,
    pub(super) probe: Probe,
    pub(super) backlog: Vec<Outgoing>,
    pub(super) questions_asked: u64,
    /// The tools listed so far, page by page.
    pub(super) tools: Vec<String>,
}

impl Relay {
    /// A conversation. `pins_itself`: the server settles on a revision by the first message it gets, as processes do.
    pub fn new(context: Arc<Context>, pins_itself: bool) -> Self {
        Self {
            session: context.config.session.clone(),
            context,
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
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send to the client.
    Client(Outgoing),
    /// Send to the server.
    Server(Outgoing),
    /// Start the server anew: it has settled on a revision that its client does not speak.
    Restart,
}

/// A request that the server has.
#[derive(Debug)]
pub(super) enum OpenRequest {
    /// A tool call that was let pass.
    Call(Box<CallInFlight>),
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

/// The state of the client's probe, whether the server speaks the modern revision.
#[derive(Debug, Default)]
pub(super) enum Probe {
    #[default]
    None,
    Waiting {
        id: Id,
        since: Time,
    },
    /// The client got a no, and the server has not answered yet.
    GivenUp {
        id: Id,
        since: Time,
    },
}

/// What becomes of a message that was looked at.
pub(super) enum Handling {
    /// The other side gets it as it came.
    Pass,
    /// It was dealt with.
    Done,
}

pub(super) fn to_client(text: String, about: Option<&Id>) -> Action {
    Action::Client(Outgoing { text, about: about.cloned(), mirrored: Vec::new() })
}

pub(super) fn to_server(text: String) -> Action {
    Action::Server(Outgoing { text, about: None, mirrored: Vec::new() })
}
