//! One event of one agent, from stdin to the answer.
//!
//! Whatever goes wrong on the way, the agent is made to block: what cannot be read, a policy or a database that is
//! broken or in use for too long, a panic, and our own deadline, which lies well inside the agent's.

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Instant,
};

use lockgate::engine::{Call, Gate, LocalEyes, SeenCall, store::Sqlite};

use super::{
    answering::{Occasion, Surroundings},
    gate::{open_backend, open_gate},
    responder::Responder,
    session::under,
    team::TeamServer,
};
use crate::{
    agents::Agent,
    environment::Environment,
    event::{HookReply, Message},
    install::changed_entry,
    processes,
    settings::{Settings, TeamServerSettings},
    text::{LINE_BYTES_MAX, read_object},
};

/// Makes a client of a team server, or says in a line for people why there is none.
pub type Connect = dyn Fn(&TeamServerSettings) -> Result<Box<dyn TeamServer>, String>;

/// Answers the event on stdin, and ends the process.
pub fn run(agent: Agent, environment: &Environment, connect: &Connect) -> ! {
    respond(agent, |responder, started| answer(responder, environment, connect, started))
}

/// Blocks the event on stdin, and ends the process.
pub fn refuse(agent: Agent, line: &str) -> ! {
    respond(agent, |responder, _| {
        // An event that can be read is refused in the form of its kind.
        if let Ok(message) = read_event() {
            responder.message.get_or_init(|| message);
        }
        Err(line.to_owned())
    })
}

/// Has an event answered while the time is watched, and ends the process.
pub(crate) fn respond(
    agent: Agent,
    answer: impl FnOnce(&Responder, Instant) -> Result<HookReply, String>,
) -> ! {
    let started = Instant::now();
    let responder = Arc::new(Responder::new(agent));
    // A panic is answered as a fault; its own text, which may hold anything, is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = Arc::clone(&responder);
    if thread::Builder::new().spawn(move || watched.watch(started)).is_err() {
        responder.send(&responder.fault("the time cannot be watched; the call is blocked."));
    }
    let answered = catch_unwind(AssertUnwindSafe(|| answer(&responder, started)));
    let reply = match answered {
        Ok(Ok(reply)) => reply,
        Ok(Err(line)) => responder.fault(&line),
        Err(_) => responder.fault("Lockgate panicked; the call is blocked."),
    };
    responder.send(&reply)
}

/// Reads the event, and answers it where this process stands.
fn answer(
    responder: &Responder,
    environment: &Environment,
    connect: &Connect,
    started: Instant,
) -> Result<HookReply, String> {
    let message = read_event()?;
    let message = responder.message.get_or_init(|| message);
    let here = std::env::current_dir().map_err(|error| format!("this process has no folder: {error}"));
    let occasion = Occasion {
        agent: responder.agent,
        message,
        environment,
        started,
        watch: &|limit| responder.watch_until(limit),
    };
    occasion.answer(&HookProcess { environment, connect, here })
}

/// What a hook process knows by itself.
struct HookProcess<'a> {
    environment: &'a Environment,
    connect: &'a Connect,
    /// The folder it was started in.
    here: Result<PathBuf, String>,
}

impl Surroundings for HookProcess<'_> {
    fn under(&self, session: &str, folder: Option<&str>) -> Result<(PathBuf, Settings), String> {
        under(self.environment, session, folder)
    }

    fn note_agent(&self, settings: &Settings) -> Result<(), String> {
        processes::record(&settings.state, self.environment)
            .map_err(|error| format!("the process of this agent cannot be remembered: {error}"))
    }

    fn backend(&self, settings: &Settings, deadline: Instant) -> Result<Arc<Sqlite>, String> {
        open_backend(settings, deadline).map(Arc::new)
    }

    fn gate(
        &self,
        settings: &Settings,
        home: &Path,
        backend: &Arc<Sqlite>,
        deadline: Instant,
    ) -> Result<Arc<Gate>, String> {
        open_gate(settings, home, self.environment, Arc::clone(backend), deadline).map(Arc::new)
    }

    fn changed_entry(&self, agent: Agent, home: &Path) -> Option<String> {
        changed_entry(agent, home, self.environment)
    }

    fn look(&self, call: Call) -> SeenCall {
        SeenCall::look(call, Some(&LocalEyes))
    }

    fn server(&self, settings: &Settings) -> Result<Option<Box<dyn TeamServer>>, String> {
        settings.server.as_ref().map(|server| (self.connect)(server)).transpose()
    }

    /// Agents start their hooks where they stand themselves.
    fn folder(&self) -> Option<String> {
        self.here.as_ref().ok().and_then(|folder| folder.to_str().map(ToOwned::to_owned))
    }
}

pub(crate) fn read_event() -> Result<Message, String> {
    let mut text = String::new();
    let room = LINE_BYTES_MAX as u64 + 1;
    let read = io::stdin().lock().take(room).read_to_string(&mut text);
    read.map_err(|error| format!("the event could not be read: {error}"))?;
    read_object(&text).map_err(|error| format!("the event could not be read: {error}"))
}
