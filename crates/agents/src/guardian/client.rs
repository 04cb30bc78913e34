//! The client's side: a hook that asks the guardian, and commands that do.
//!
//! Whatever goes wrong here blocks the call, with the reason: a guardian that is down, slow, of another version or that says
//! what is not understood. A client never decides anything itself.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use lockgate::engine::{
    LocalEyes, SeenCall,
    call::{Links, Versions},
};
use serde_json::Value;

use super::protocol::{
    Errand, HookRequest, Looked, Request, Response, Sight, VERSION, Wants, read_frame, write_frame,
};
use crate::{
    agents::Agent,
    environment::{Environment, now},
    event::{Answer, Event, HookReply, Message, ToolCall},
    hook::{self, Responder},
    install::read_settings,
    machine::{Machine, read_token},
    platform::{self, Connection},
    settings::{self, FolderView},
};

/// Variables that say where agents keep their settings.
const VARIABLES: &[&str] = &["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// What is kept of a deadline for saying that it is over.
const LAST_WORD: Duration = Duration::from_millis(300);

/// Why the guardian could not be asked, or did nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It does not answer.
    #[error("the guardian does not answer at `{}` ({source}); look with `lockgate guardian status`, or start it again", socket.display())]
    Unreachable {
        /// Its socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It refuses, and says why.
    #[error("{0}")]
    Refused(String),
    /// It said something else than was asked.
    #[error("the guardian gave an answer to another question; are both of the same version?")]
    Nonsense,
}

/// Answers the event on stdin by the word of the guardian, and ends the process.
pub fn run_hook(agent: Agent, machine: &Machine, environment: &Environment) -> ! {
    hook::respond(agent, |responder, started| answer(responder, machine, environment, started))
}

fn answer(
    responder: &Responder,
    machine: &Machine,
    environment: &Environment,
    started: Instant,
) -> Result<HookReply, String> {
    let message = hook::read_event()?;
    let message = responder.message.get_or_init(|| message);
    let agent = responder.agent;
    let event = agent.decode(message).map_err(|error| error.to_string())?;
    if matches!(event, Event::Other) {
        return Ok(agent.encode(message, &Answer::Pass));
    }
    let longest = agent.waits_for(&event) * 6 / 10;
    let request = request(agent, message, event, environment)?;
    responder.late.get_or_init(|| "the guardian does not answer in time; the call is blocked.");
    let first = started.elapsed() + machine.patience();
    responder.watch_until((first + LAST_WORD).min(longest));
    let patience = |more: Duration| {
        let limit = (started.elapsed() + more).min(longest);
        responder.watch_until((limit + LAST_WORD).min(longest));
        started + limit
    };
    let blocked = |error: &ClientError| format!("{error}; the call is blocked");
    let client = Client::open(machine, started + first.min(longest)).map_err(|error| blocked(&error))?;
    let look = |folder: Option<&Path>, files: &[PathBuf]| looked(folder, files, environment);
    match client.ask(Wants::Hook(Box::new(request)), &patience, &look).map_err(|error| blocked(&error))? {
        Response::Reply { stdout, stderr, code } => Ok(HookReply { stdout, stderr, code }),
        Response::Refused(line) => Err(line),
        _ => Err(blocked(&ClientError::Nonsense)),
    }
}

/// An event with all that the guardian cannot see.
fn request(
    agent: Agent,
    message: &Message,
    event: Event,
    environment: &Environment,
) -> Result<HookRequest, String> {
    let here = std::env::current_dir().map_err(|error| format!("this process has no folder: {error}"))?;
    let named = match &event {
        Event::Call(call) | Event::Refused(call) => call.cwd.as_deref(),
        Event::Result(result) => result.call.cwd.as_deref(),
        Event::Prompt(prompt) => prompt.cwd.as_deref(),
        Event::Session { .. } | Event::Other => None,
    };
    let named = named.map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
    let folder = named.unwrap_or_else(|| here.clone());
    let started_in = here.to_str().map(ToOwned::to_owned);
    let view = settings::look(&folder, environment).map_err(|error| error.to_string())?;
    let sight = match event {
        Event::Call(call) => Some(sight(*call, agent.sender(message), started_in.as_deref())),
        _ => None,
    };
    let variables = VARIABLES.iter().filter_map(|name| {
        let value = environment.variable(name)?.to_str()?;
        Some(((*name).to_owned(), value.to_owned()))
    });
    Ok(HookRequest {
        agent: agent.name().to_owned(),
        event: message.clone(),
        folder,
        started_in,
        variables: variables.collect(),
        view,
        sight,
    })
}

/// Looks at a call, where its tool would run.
fn sight(call: ToolCall, host: &str, folder: Option<&str>) -> Sight {
    let call = SeenCall::look(hook::call_of(call, host, folder, now()), Some(&LocalEyes));
    let owned = |text: &str| text.to_owned();
    let links = call.links().into_iter().flat_map(Links::iter);
    let versions = call.versions().into_iter().flat_map(Versions::iter);
    Sight {
        links: links.map(|(path, place)| (owned(path), place.map(owned))).collect(),
        versions: versions.map(|(what, changed)| (owned(what), changed.map(<[String]>::to_vec))).collect(),
        objection: call.about.objection.clone(),
    }
}

/// What the guardian asked to be looked at.
fn looked(folder: Option<&Path>, files: &[PathBuf], environment: &Environment) -> Looked {
    let view = |folder: &Path| -> Result<FolderView, String> {
        if !folder.is_dir() {
            return Err(hook::gone(&folder.display().to_string()));
        }
        settings::look(folder, environment).map_err(|error| error.to_string())
    };
    let file = |file: &PathBuf| {
        let text = read_settings(file).map_err(|error| error.to_string());
        (file.clone(), text)
    };
    Looked { view: folder.map(view), files: files.iter().map(file).collect::<BTreeMap<_, _>>() }
}

/// Has the guardian do something for a command.
///
/// # Errors
/// When it does not answer in time, or refuses.
pub fn errand(machine: &Machine, errand: Errand) -> Result<Value, ClientError> {
    let (machine, patience) = (machine.clone(), machine.patience());
    let socket = machine.socket.clone();
    let (send, receive) = mpsc::channel();
    // Connecting waits for as long as the guardian likes.
    thread::spawn(move || {
        let deadline = Instant::now() + patience;
        let nothing = |_: Option<&Path>, _: &[PathBuf]| Looked { view: None, files: BTreeMap::new() };
        let asked = Client::open(&machine, deadline)
            .and_then(|client| client.ask(Wants::Errand(errand), &|_| deadline, &nothing));
        // The one who asked may have given up.
        let _ = send.send(asked);
    });
    let late = |_| {
        let source = io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        ClientError::Unreachable { socket, source }
    };
    match receive.recv_timeout(patience + LAST_WORD).map_err(late)?? {
        Response::Data(data) => Ok(data),
        Response::Refused(line) => Err(ClientError::Refused(line)),
        _ => Err(ClientError::Nonsense),
    }
}

/// A connection to the guardian.
struct Client<'a> {
    machine: &'a Machine,
    connection: Connection,
    deadline: Cell<Instant>,
}

impl<'a> Client<'a> {
    fn open(machine: &'a Machine, deadline: Instant) -> Result<Self, ClientError> {
        let unreachable = |source| ClientError::Unreachable { socket: machine.socket.clone(), source };
        // A socket of another user is not the guardian's.
        let data = fs::metadata(&machine.socket).map_err(unreachable)?;
        let owner = platform::owner_and_mode(&data).map(|(owner, _)| owner);
        if owner.is_none_or(|owner| owner != machine.user && owner != 0) && machine.token_file.is_none() {
            return Err(unreachable(io::Error::other("it does not belong to the guardian's user")));
        }
        let connection = platform::connect(&machine.socket).map_err(unreachable)?;
        Ok(Self { machine, connection, deadline: Cell::new(deadline) })
    }

    fn ask(
        &self,
        wants: Wants,
        patience: &dyn Fn(Duration) -> Instant,
        look: &dyn Fn(Option<&Path>, &[PathBuf]) -> Looked,
    ) -> Result<Response, ClientError> {
        let unreachable = |source| ClientError::Unreachable { socket: self.machine.socket.clone(), source };
        let token = self.machine.token_file.as_deref().map(read_token).transpose().map_err(unreachable)?;
        let request = Request { version: VERSION.to_owned(), token, wants };
        write_frame(&self.connection, &request, self.deadline.get()).map_err(unreachable)?;
        loop {
            let read = read_frame(&self.connection, &|| self.deadline.get(), &mut |_| true);
            match read.map_err(unreachable)? {
                Response::Patience(ms) => self.deadline.set(patience(Duration::from_millis(ms))),
                Response::Look { folder, files } => {
                    let seen = look(folder.as_deref(), &files);
                    write_frame(&self.connection, &seen, self.deadline.get()).map_err(unreachable)?;
                }
                last => return Ok(last),
            }
        }
    }
}
