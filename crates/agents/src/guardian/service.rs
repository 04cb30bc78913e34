//! Answers the event of a hook, by the very code of a hook process ([`crate::hook`]) with the guardian's folders.

use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{Call, Gate, SeenCall, store::Sqlite};
use serde_json::{Value, json};

use super::{
    conversation::{Conversation, ReadFiles, seen},
    protocol::{HookRequest, Response, Sight, VERSION, write_frame},
    ward::WardState,
};
use crate::{
    agents::Agent,
    environment::Environment,
    hook::{Occasion, Surroundings},
    install::{changed_text, recorded_files},
    settings::{FolderView, Settings},
    text::one_line,
};

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
    files: RefCell<ReadFiles>,
}

impl Surroundings for GuardedHook<'_, '_> {
    fn under(&self, session: &str, _: Option<&str>) -> Result<(PathBuf, Settings), String> {
        let first = self.seen.take().ok_or("a hook has one event")?;
        let files_of = |home: &Path| recorded_files(self.agent, home, self.environment);
        let whose = (self.ward, self.environment);
        let place = self.conversation.place_of(whose, session, &self.folder, first, &files_of)?;
        *self.files.borrow_mut() = place.files;
        Ok((place.home, place.settings))
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

    fn look(&self, call: Call) -> SeenCall {
        seen(call, self.sight.as_ref())
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
