//! A line of the line protocol that a client sends: `lockgate gate` where the guardian decides.
//!
//! What a line says is read by a [`super::Desk`], which asks here for the gate of its session. The client is a program of the agent's
//! user, so its word is worth no more than that of a hook: [`GuardedLine::peer`] says who it is.

use std::{cell::RefCell, path::PathBuf, sync::Arc};

use lockgate::engine::{Call, Gate, SeenCall, store::Sqlite};

use super::{
    conversation::{Conversation, Peer, seen},
    protocol::{LineRequest, Sight},
    ward::WardState,
};
use crate::{
    event::Ask,
    hook,
    settings::{self, FolderView},
};

/// A line of a client, and what the guardian has for it.
pub struct GuardedLine<'a> {
    ward: &'a WardState,
    peer: Peer,
    conversation: &'a Conversation<'a>,
    line: String,
    session: String,
    folder: PathBuf,
    /// What the client saw of its folder; taken when the settings are found.
    view: RefCell<Option<FolderView>>,
    sight: Option<Sight>,
}

/// The gate of a session, and where its answers are.
pub struct GuardedGate {
    /// The gate.
    pub gate: Arc<Gate>,
    /// Its database.
    pub backend: Arc<Sqlite>,
    /// How a human is asked.
    pub ask: Ask,
}

impl<'a> GuardedLine<'a> {
    pub(super) fn new(
        ward: &'a WardState,
        peer: Peer,
        conversation: &'a Conversation<'a>,
        request: LineRequest,
    ) -> Self {
        let LineRequest { line, session, folder, view, sight } = request;
        Self { ward, peer, conversation, line, session, folder, view: RefCell::new(Some(view)), sight }
    }

    /// What the client says.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The session of a line that names none.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Who says it.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// The gate of a session, or the one of the client's folder for what is about all sessions.
    ///
    /// # Errors
    /// When the session's policy is not in force, in a line for people.
    pub fn gate(&self, session: Option<&str>) -> Result<GuardedGate, String> {
        let environment = self.ward.environment();
        let first = self.view.take().ok_or("a line is about one session")?;
        let (home, mut settings) = match session {
            Some(session) => {
                let whose = (self.ward, environment);
                let nothing = |_: &std::path::Path| Vec::new();
                let place = self.conversation.place_of(whose, session, &self.folder, first, &nothing)?;
                (place.home, place.settings)
            }
            None => {
                let settings = settings::find_in(&first, environment).map_err(|error| error.to_string())?;
                (first.folder, settings)
            }
        };
        let backend = self.ward.backend(&settings)?;
        let gate = self.ward.gate(&settings, &home, environment, &backend)?;
        if let Some(session) = session {
            hook::remember(environment, session, &settings, Some(&gate.policy().hash().to_string()))?;
            let held = gate.held(session).map_err(|error| format!("Lockgate could not decide: {error}"))?;
            if let Some((bound, _)) = held {
                settings.hold(&bound.settings);
            }
        }
        Ok(GuardedGate { gate, backend, ask: settings.ask })
    }

    /// A call of this line, as the client saw it.
    pub fn look(&self, call: Call) -> SeenCall {
        seen(call, self.sight.as_ref())
    }
}
