//! The client's side: a hook that asks the guardian, and commands that do, once or line by line.
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
    Call, LocalEyes, SeenCall,
    call::{Links, Versions},
};
use serde_json::Value;

use super::protocol::{
    Errand, HookRequest, LineRequest, Looked, Request, Response, Sight, VERSION, Wants, read_frame,
    write_frame,
};
use crate::{
    agents::Agent,
    environment::{Environment, now},
    event::{Answer, Event, HookReply, Message, ToolCall},
    hook::{self, Responder},
    install::read_settings,
    machine::{Machine, read_token},
    platform::{self, Connection},
    settings::{self, FolderView, LookError},
};

/// Variables that say where agents keep their settings.
const VARIABLES: &[&str] = &["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// Why policy files of a command cannot be joined to a session.
const FILES_ELSEWHERE: &str = "the session began without these policy files, so they cannot be joined to it; name another \
                               session, or leave the files out";

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
    /// The folder or its policy cannot be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
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
    sight_of(hook::call_of(call, host, folder, now()))
}

fn sight_of(call: Call) -> Sight {
    let call = SeenCall::look(call, Some(&LocalEyes));
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
    let view = |folder: &Path| settings::look(folder, environment);
    let file = |file: &PathBuf| {
        let text = read_settings(file).map_err(|error| error.to_string());
        (file.clone(), text)
    };
    let files = files.iter().map(file).collect::<BTreeMap<_, _>>();
    Looked { view: folder.map(|folder| view_of(folder, &view)), files }
}

/// What is seen of a folder, if it is there.
fn view_of(
    folder: &Path,
    look: &dyn Fn(&Path) -> Result<FolderView, LookError>,
) -> Result<FolderView, String> {
    if !folder.is_dir() {
        return Err(hook::gone(&folder.display().to_string()));
    }
    look(folder).map_err(|error| error.to_string())
}

/// Has the guardian do something for a command.
///
/// # Errors
/// When it does not answer in time, or refuses.
pub fn errand(machine: &Machine, errand: Errand) -> Result<Value, ClientError> {
    let nothing = |_: Option<&Path>, _: &[PathBuf]| Looked { view: None, files: BTreeMap::new() };
    match asked_in_time(machine, Wants::Errand(errand), nothing)? {
        Response::Data(data) => Ok(data),
        Response::Refused(line) => Err(ClientError::Refused(line)),
        _ => Err(ClientError::Nonsense),
    }
}

/// Asks once, and waits no longer than the settings of the machine say.
fn asked_in_time(
    machine: &Machine,
    wants: Wants,
    look: impl Fn(Option<&Path>, &[PathBuf]) -> Looked + Send + 'static,
) -> Result<Response, ClientError> {
    let (machine, patience) = (machine.clone(), machine.patience());
    let socket = machine.socket.clone();
    let (send, receive) = mpsc::channel();
    // Connecting waits for as long as the guardian likes.
    thread::spawn(move || {
        let deadline = Instant::now() + patience;
        let asked =
            Client::open(&machine, deadline).and_then(|client| client.ask(wants, &|_| deadline, &look));
        // The one who asked may have given up.
        let _ = send.send(asked);
    });
    let late = |_| {
        let source = io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        ClientError::Unreachable { socket, source }
    };
    receive.recv_timeout(patience + LAST_WORD).map_err(late)?
}

/// Sends lines of the line protocol to the guardian, which has the policy, the sessions and the log.
#[derive(Clone, Debug)]
pub struct LineClient {
    machine: Machine,
    environment: Environment,
    /// The folder that it was started in.
    folder: PathBuf,
    /// Policy files in the place of the nearest project's.
    files: Vec<PathBuf>,
    session: String,
}

impl LineClient {
    /// A client in this folder. `files` are joined as those of a project, which can only narrow; without them the nearest
    /// project counts. `session` is that of lines that name none.
    pub fn new(
        machine: Machine,
        environment: Environment,
        (folder, files): (PathBuf, Vec<PathBuf>),
        session: String,
    ) -> Self {
        let files: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
        // Sessions under named files are in a place of their own: what hooks remember of the folder stays as it is.
        let folder = files.first().cloned().unwrap_or(folder);
        Self { machine, environment, folder, files, session }
    }

    /// The line that answers a line. `call` is the call of the line, if it has one: it is looked at here.
    ///
    /// # Errors
    /// When the guardian does not answer in time, or refuses: then nothing may run.
    pub fn ask(&self, line: &str, call: Option<Call>) -> Result<String, ClientError> {
        let request = LineRequest {
            line: line.to_owned(),
            session: self.session.clone(),
            folder: self.folder.clone(),
            view: self.view(&self.folder)?,
            sight: call.map(sight_of),
        };
        let this = self.clone();
        let look = move |folder: Option<&Path>, _: &[PathBuf]| {
            let view = folder.map(|folder| match this.files.is_empty() {
                true => view_of(folder, &|folder| this.view(folder)),
                false => Err(FILES_ELSEWHERE.to_owned()),
            });
            Looked { view, files: BTreeMap::new() }
        };
        match asked_in_time(&self.machine, Wants::Line(Box::new(request)), look)? {
            Response::Line(line) => Ok(line),
            Response::Refused(line) => Err(ClientError::Refused(line)),
            _ => Err(ClientError::Nonsense),
        }
    }

    fn view(&self, folder: &Path) -> Result<FolderView, LookError> {
        match self.files.is_empty() {
            true => settings::look(folder, &self.environment),
            false => settings::look_at_files(folder, &self.files),
        }
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
