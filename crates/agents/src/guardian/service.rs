//! Answers one request.
//!
//! Hooks are answered here, by the very code of a hook process ([`crate::hook`]) with the guardian's folders; errands of
//! commands are left to a [`Desk`]. A request is for the user that the system, or a token, says it comes from, never for one
//! that it names.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Call, Gate, SeenCall,
    gate::{Backend, Reach},
    store::Sqlite,
};
use serde_json::{Value, json};

use super::{
    protocol::{Errand, HookRequest, Looked, Response, Sight, VERSION, read_frame, write_frame},
    ward::WardState,
};
use crate::{
    agents::Agent,
    environment::Environment,
    hook::{self, Occasion, Surroundings},
    install::{changed_text, recorded_files},
    platform::Connection,
    settings::{self, FolderView, Settings},
    text::one_line,
};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The user, as the system or a token says.
    pub user: u32,
    /// Whether it is root, or the guardian's own user.
    pub is_operator: bool,
}

/// Does what commands want; each error is a line for people.
pub trait Desk: Send + Sync {
    /// Does one errand for a user.
    fn serve(&self, ward: &WardState, peer: Peer, errand: Errand) -> Result<Value, String>;
}

/// A conversation with one client.
pub(super) struct Conversation<'a> {
    pub(super) connection: &'a Connection,
    /// By when the client must have been heard and told.
    pub(super) deadline: Instant,
    /// Whether there is room for so many bytes more.
    pub(super) reserve: RefCell<&'a mut dyn FnMut(usize) -> bool>,
}

impl Conversation<'_> {
    fn ask_to_look(&self, folder: Option<PathBuf>, files: Vec<PathBuf>) -> Result<Looked, String> {
        let failed = |error: io::Error| format!("the hook did not say what it sees: {error}");
        write_frame(self.connection, &Response::Look { folder, files }, self.deadline).map_err(failed)?;
        let mut reserve = self.reserve.borrow_mut();
        read_frame(self.connection, &|| self.deadline, &mut **reserve).map_err(failed)
    }
}

/// Answers an event.
pub(super) fn hook(
    ward: &WardState,
    request: HookRequest,
    conversation: &Conversation<'_>,
    started: Instant,
) -> Response {
    let Some(agent) = Agent::named(&request.agent) else {
        return Response::Refused(format!("no agent is called `{}`", request.agent));
    };
    let HookRequest { event, folder, started_in, variables, view, sight, .. } = request;
    let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let environment = Environment { variables, ..ward.environment().clone() };
    let (seen, files) = (RefCell::new(Some(view)), RefCell::default());
    let around = GuardedHook {
        ward,
        environment: &environment,
        conversation,
        agent,
        folder,
        started_in,
        seen,
        sight,
        files,
    };
    let occasion = Occasion { agent, message: &event, environment: &environment, started, watch: &|_| {} };
    let reply = occasion.answer(&around).unwrap_or_else(|line| agent.fault(Some(&event), &one_line(&line)));
    Response::Reply { stdout: reply.stdout, stderr: reply.stderr, code: reply.code }
}

/// Whether the guardian is there, and for whom.
pub(super) fn ping(ward: &WardState) -> Value {
    json!({ "version": VERSION, "user": ward.user() })
}

/// What is known about an event of a client.
struct GuardedHook<'a, 'c> {
    ward: &'a WardState,
    environment: &'a Environment,
    conversation: &'a Conversation<'c>,
    agent: Agent,
    folder: PathBuf,
    started_in: Option<String>,
    /// What the client saw of a folder; taken when the settings are found.
    seen: RefCell<Option<FolderView>>,
    sight: Option<Sight>,
    /// Settings of the agent that the client has read.
    files: RefCell<BTreeMap<PathBuf, Result<String, String>>>,
}

impl GuardedHook<'_, '_> {
    fn was_judged(&self, session: &str, view: &FolderView) -> bool {
        let settings = settings::find_in(view, self.environment).ok().filter(|it| it.state.exists());
        let backend = settings.and_then(|settings| self.ward.backend(&settings).ok());
        backend.is_some_and(|backend| {
            backend.lock(session, Reach::Look).is_ok_and(|row| row.session().is_some())
        })
    }
}

impl Surroundings for GuardedHook<'_, '_> {
    fn under(&self, session: &str, _: Option<&str>) -> Result<(PathBuf, Settings), String> {
        let first = self.seen.take().ok_or("a hook has one event")?;
        let judged = || self.was_judged(session, &first);
        let home = hook::began_in(self.environment, session, &self.folder, &judged)?;
        let files = recorded_files(self.agent, &home, self.environment);
        let is_elsewhere = first.folder != home;
        let view = if is_elsewhere || !files.is_empty() {
            let looked = self.conversation.ask_to_look(is_elsewhere.then(|| home.clone()), files)?;
            *self.files.borrow_mut() = looked.files;
            match (is_elsewhere, looked.view) {
                (false, _) => first,
                (true, Some(view)) => view?,
                (true, None) => return Err("the hook did not look at the folder of the session".to_owned()),
            }
        } else {
            first
        };
        if view.folder != home {
            return Err("the hook looked at another folder than that of the session".to_owned());
        }
        let settings = hook::in_folder(self.environment, session, &view)?;
        if let Some(views) = self.environment.views_folder() {
            view.keep(&views).map_err(|error| format!("the guardian cannot store the event: {error}"))?;
        }
        Ok((home, settings))
    }

    /// An answer needs root or the passphrase, whoever started the process.
    fn note_agent(&self, _: &Settings) -> Result<(), String> {
        Ok(())
    }

    fn backend(&self, settings: &Settings, _: Instant) -> Result<Arc<Sqlite>, String> {
        self.ward.backend(settings)
    }

    fn gate(
        &self,
        settings: &Settings,
        home: &Path,
        backend: &Arc<Sqlite>,
        _: Instant,
    ) -> Result<Arc<Gate>, String> {
        self.ward.gate(settings, home, self.environment, backend)
    }

    fn changed_entry(&self, agent: Agent, home: &Path) -> Option<String> {
        let files = self.files.borrow();
        let read = |file: &Path| match files.get(file) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(why)) => Err(io::Error::other(why.clone())),
            None => Err(io::Error::other("the hook did not read it")),
        };
        changed_text(agent, home, self.environment, &read)
    }

    fn look(&self, mut call: Call) -> SeenCall {
        let Some(sight) = &self.sight else {
            let why = "The hook did not look at this call for the guardian, so the call is blocked.";
            call.about.objection.get_or_insert_with(|| why.to_owned());
            return SeenCall::looked_at(call, None);
        };
        let Sight { links, versions, objection } = sight.clone();
        if let Some(objection) = objection {
            call.about.objection.get_or_insert(objection);
        }
        let versions = (!versions.is_empty()).then(|| versions.into_iter().collect());
        SeenCall::looked_at(call, Some(links.into_iter().collect())).with_versions(versions)
    }

    fn folder(&self) -> Option<String> {
        self.started_in.clone()
    }

    fn waits(&self, left: Duration) {
        let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        // A client that is gone gets no answer either; the question stays open until its time is over.
        let _ = write_frame(self.conversation.connection, &Response::Patience(ms), Instant::now() + left);
    }
}
