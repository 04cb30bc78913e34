//! What all conversations of one proxy share: the gate, how humans are asked, what is known of the server's tools.
//!
//! A [`House`] is made once. What it does not know itself (what time it is, where links lead, whom to tell) it asks the
//! [`World`] around it. There is no I/O in here but that of the gate's store and of pinned definitions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use lockgate_call::{Call, Sighting, Time};
use lockgate_gate::{Gate, Shelf};
use serde_json::{Map, Value, json};

use crate::{
    calls::Flight,
    message::{Kind, Members, Message},
    naming::Naming,
    pins::Pins,
    tickets::{NoRandomness, Tickets},
};

/// What the process around the proxy knows and does.
pub trait World: Send + Sync {
    /// What time it is.
    fn now(&self) -> Time;

    /// Tells whoever runs the proxy.
    fn log(&self, line: &str);

    /// Looks up what rules want to know about a call and the call does not say, such as where links lead.
    fn look(&self, call: &mut Call) {
        let _ = call;
    }

    /// For each of these tools why no session can ever call it, where that is proved.
    fn dead(&self, tools: &[String]) -> Vec<Option<String>> {
        tools.iter().map(|_| None).collect()
    }

    /// All tools that the server has, by the names that rules see: for finding misspelt ones.
    fn listed(&self, tools: &[String]) {
        let _ = tools;
    }

    /// What is known of the server from earlier.
    fn era(&self) -> Option<Era> {
        None
    }

    /// Keeps what was learnt of the server.
    fn learn(&self, era: &Era) {
        let _ = era;
    }
}

/// Which revisions a server speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// Those that begin with `initialize`.
    Legacy,
    /// The stateless one, with what the server answers to `server/discover`, as JSON.
    Modern(String),
}

/// How a human is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asking {
    /// By the client where it can show a form, else by `lockgate approve`.
    #[default]
    Client,
    /// By `lockgate approve`.
    Elsewhere,
    /// Not at all: what needs a human is blocked.
    Nobody,
}

/// What a client sees of tools that no session can ever call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadTools {
    /// What the server says.
    Show,
    /// A remark in front of the description.
    #[default]
    Mark,
    /// Nothing.
    Hide,
}

/// What a proxy is made of.
pub struct Plan {
    /// Judges.
    pub gate: Gate,
    /// Where answers from elsewhere are looked for; none where nobody can give any.
    pub shelf: Option<Arc<dyn Shelf>>,
    /// The process around.
    pub world: Box<dyn World>,
    /// The session of calls that name none.
    pub session: String,
    /// What rules call the server's tools.
    pub naming: Naming,
    /// How a human is asked.
    pub asking: Asking,
    /// How long a call waits for one.
    pub ask_for: Duration,
    /// What is shown of dead tools.
    pub dead_tools: DeadTools,
    /// Where the tools run, as far as that is known.
    pub folder: Option<String>,
    /// The definitions that were seen before; none to look at none.
    pub pins: Option<Pins>,
}

/// What all conversations share.
pub struct House {
    pub(crate) plan: Plan,
    pub(crate) tickets: Tickets,
    tools: Mutex<BTreeMap<String, ToolFacts>>,
    /// Calls whose results are fetched later, by their session and the name of their task: a stateless client fetches
    /// them in another conversation.
    tasks: Mutex<BTreeMap<(String, String), Flight>>,
    pins: Option<Mutex<Pins>>,
}

/// What is known of a tool from the server's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolFacts {
    /// It calls itself destructive. That it says nothing, or the contrary, means nothing.
    pub(crate) is_destructive: bool,
    /// Arguments that HTTP repeats in headers: the argument, and the name in the header.
    pub(crate) mirrored: Vec<(String, String)>,
}

/// How many tasks are remembered.
const TASKS_MAX: usize = 4096;

/// How many tools are remembered.
pub(crate) const TOOLS_MAX: usize = 10_000;

impl House {
    /// Opens for clients.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn new(mut plan: Plan) -> Result<Self, NoRandomness> {
        let pins = plan.pins.take().map(Mutex::new);
        Ok(Self { plan, tickets: Tickets::new()?, tools: Mutex::default(), tasks: Mutex::default(), pins })
    }

    pub(crate) fn now(&self) -> Time {
        self.plan.world.now()
    }

    pub(crate) fn log(&self, line: &str) {
        self.plan.world.log(line);
    }

    /// Whether decisions wait for a disk.
    pub fn is_durable(&self) -> bool {
        self.plan.shelf.is_some()
    }

    /// The pinned definitions, for one listing or one call at a time.
    pub(crate) fn pins(&self) -> Option<MutexGuard<'_, Pins>> {
        self.pins.as_ref().map(|pins| pins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn remember_tool(&self, tool: &str, facts: ToolFacts) {
        let mut tools = self.tools();
        if tools.len() < TOOLS_MAX || tools.contains_key(tool) {
            tools.insert(tool.to_owned(), facts);
        }
    }

    pub(crate) fn facts(&self, tool: &str) -> ToolFacts {
        self.tools().get(tool).cloned().unwrap_or_default()
    }

    /// Remembers a call that has become a task; gives it back where there are too many.
    pub(crate) fn begin_task(&self, session: &str, task: String, flight: Flight) -> Option<Flight> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= TASKS_MAX {
            return Some(flight);
        }
        tasks.insert((session.to_owned(), task), flight);
        None
    }

    /// The call that has become a task.
    pub(crate) fn task(&self, session: &str, task: &str) -> Option<Flight> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.get(&(session.to_owned(), task.to_owned())).cloned()
    }

    fn tools(&self) -> MutexGuard<'_, BTreeMap<String, ToolFacts>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tool call as rules see it.
    pub(crate) fn call(
        &self,
        session: &str,
        tool: &str,
        input: Map<String, Value>,
        meta: Option<&Map<String, Value>>,
    ) -> Call {
        let Plan { naming, world, folder, gate, .. } = &self.plan;
        let facts = self.facts(tool);
        let mut call = Call {
            session: naming.session(meta).unwrap_or_else(|| session.to_owned()),
            id: naming.call_id(meta).unwrap_or_default(),
            tool: naming.judged(tool),
            input,
            at: self.now(),
            ..Call::default()
        };
        call.about.cwd.clone_from(folder);
        call.about.metadata = Some(metadata(naming, &facts));
        call.about.sighting = Some(Sighting { door: "mcp".into(), told_apart_by: Vec::new() });
        call.about.objection = self.objection(tool);
        if gate.wants_links() {
            world.look(&mut call);
        }
        call
    }

    /// What HTTP repeats of a tool call's arguments in headers, as far as its definition is known: the names behind
    /// `Mcp-Param-`, and the values.
    pub fn mirrored(&self, text: &str) -> Vec<(String, Option<String>)> {
        let read = || {
            let message = Message::read(text).ok()?;
            let Kind::Request { method, .. } = &message.kind else { return None };
            let params = Members::read(message.params().filter(|_| method == "tools/call")?.get()).ok()?;
            let input = params.object("arguments").ok()?.unwrap_or_default();
            let named = self.facts(&params.text("name").ok()??).mirrored;
            Some(
                named
                    .into_iter()
                    .map(|(argument, header)| (header, header_value(&input, &argument)))
                    .collect(),
            )
        };
        read().unwrap_or_default()
    }

    /// What stands against a tool whatever the rules say.
    fn objection(&self, tool: &str) -> Option<String> {
        match self.pins()?.objection(tool) {
            Ok(objection) => objection,
            Err(error) => Some(format!("the definition of this tool cannot be checked: {error}.")),
        }
    }
}

/// An argument as a header repeats it; none where there is none.
pub(crate) fn header_value(input: &Map<String, Value>, argument: &str) -> Option<String> {
    match input.get(argument)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// What the door says about a call. Of what a server says about its own tools only warnings are passed on: they may
/// make a rule apply, and nothing in them can make one go away.
fn metadata(naming: &Naming, facts: &ToolFacts) -> Value {
    let mut mcp = Map::new();
    if let Some(server) = naming.server() {
        mcp.insert("server".to_owned(), server.into());
    }
    if facts.is_destructive {
        mcp.insert("destructive".to_owned(), true.into());
    }
    match naming.host() {
        Some(host) => json!({ "host": host, "mcp": mcp }),
        None => json!({ "mcp": mcp }),
    }
}
