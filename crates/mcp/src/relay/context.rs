//! What all conversations of one proxy share: the gate, how humans are asked, what is known of the server's tools.
//!
//! A [`Context`] is made once. Its `Environment` gives it the time and the targets of links, and takes its log. There is no
//! I/O in here except that of the gate's store and of pinned definitions.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use lockgate::engine::call::{Call, DuplicateKey, Time, keys_objection};
use serde_json::{Map, Value, json};

use super::{
    call_states::CallInFlight,
    config::Config,
    naming::Naming,
    request_state::{NoRandomness, RequestStates},
};
use crate::{
    message::{Kind, Members, Message},
    pins::Pins,
};

/// What all conversations share.
pub struct Context {
    pub(super) config: Config,
    pub(super) request_states: RequestStates,
    tools: Mutex<BTreeMap<String, ToolFacts>>,
    /// Calls whose results are fetched later, by their session and the name of their task: a stateless client fetches
    /// them in another conversation.
    tasks: Mutex<BTreeMap<(String, String), CallInFlight>>,
    pins: Option<Mutex<Pins>>,
}

/// What is known of a tool from the server's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolFacts {
    /// What its server warns of: that it is destructive, for one. That it says nothing, or the contrary, means nothing.
    pub(super) warnings: Vec<&'static str>,
    /// Arguments that HTTP repeats in headers: the argument, and the name in the header.
    pub(super) mirrored: Vec<(String, String)>,
}

/// How many tasks are remembered.
const TASKS_MAX: usize = 4096;

/// How many tools are remembered.
pub(super) const TOOLS_MAX: usize = 10_000;

impl Context {
    /// Opens for clients.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn new(mut config: Config) -> Result<Self, NoRandomness> {
        let pins = config.pins.take().map(Mutex::new);
        Ok(Self {
            config,
            request_states: RequestStates::new()?,
            tools: Mutex::default(),
            tasks: Mutex::default(),
            pins,
        })
    }

    pub(super) fn now(&self) -> Time {
        self.config.environment.now()
    }

    pub(super) fn log(&self, line: &str) {
        self.config.environment.log(line);
    }

    /// Whether decisions wait for a disk.
    pub fn is_durable(&self) -> bool {
        self.config.decider.is_durable()
    }

    /// The pinned definitions, for one listing or one call at a time.
    pub(super) fn pins(&self) -> Option<MutexGuard<'_, Pins>> {
        self.pins.as_ref().map(|pins| pins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn remember_tool(&self, tool: &str, facts: ToolFacts) {
        let mut tools = self.tools();
        if tools.len() < TOOLS_MAX || tools.contains_key(tool) {
            tools.insert(tool.to_owned(), facts);
        }
    }

    pub(super) fn facts(&self, tool: &str) -> ToolFacts {
        self.tools().get(tool).cloned().unwrap_or_default()
    }

    /// Remembers a call that has become a task; gives it back where there are too many.
    pub(super) fn begin_task(
        &self,
        session: &str,
        task: String,
        flight: CallInFlight,
    ) -> Option<CallInFlight> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= TASKS_MAX {
            return Some(flight);
        }
        tasks.insert((session.to_owned(), task), flight);
        None
    }

    /// The call that has become a task.
    pub(super) fn task(&self, session: &str, task: &str) -> Option<CallInFlight> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.get(&(session.to_owned(), task.to_owned())).cloned()
    }

    fn tools(&self) -> MutexGuard<'_, BTreeMap<String, ToolFacts>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tool call as rules see it.
    pub(super) fn call(
        &self,
        session: &str,
        tool: &str,
        input: Map<String, Value>,
        meta: Option<&Map<String, Value>>,
    ) -> Call {
        let Config { naming, folder, .. } = &self.config;
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
        call.about.duplicate_key = Some(DuplicateKey { door: "mcp".into(), identifying_fields: Vec::new() });
        // A server may ignore case.
        call.about.objection = self.objection(tool).or_else(|| keys_objection(&call.input));
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

    /// Why a tool must not be called, whatever the rules say.
    fn objection(&self, tool: &str) -> Option<String> {
        match self.pins()?.objection(tool) {
            Ok(objection) => objection,
            Err(error) => Some(format!("the definition of this tool cannot be checked: {error}.")),
        }
    }
}

/// An argument as a header repeats it; none where there is none.
pub(super) fn header_value(input: &Map<String, Value>, argument: &str) -> Option<String> {
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
    mcp.extend(facts.warnings.iter().map(|warning| ((*warning).to_owned(), true.into())));
    match naming.host() {
        Some(host) => json!({ "host": host, "mcp": mcp }),
        None => json!({ "mcp": mcp }),
    }
}
