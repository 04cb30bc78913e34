//! A conversation with one client: who it is, what it may be asked to look at, and what it saw.
//!
//! [`Conversation::place_of`] finds the settings of a session by what the client saw of the folder that the session began in.
//! Nothing is decided here.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use lockgate::engine::{
    Call, SeenCall,
    gate::{Backend, Reach},
};

use super::{
    protocol::{Looked, Response, Sight, read_frame, write_frame},
    ward::WardState,
};
use crate::{
    environment::Environment,
    hook,
    platform::Connection,
    settings::{self, FolderView, Settings},
};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The user, as the system or a token says.
    pub user: u32,
    /// Whether it is root, or the guardian's own user.
    pub is_operator: bool,
}

/// A conversation with one client.
pub(super) struct Conversation<'a> {
    pub(super) connection: &'a Connection,
    /// By when the client must have been heard and told.
    pub(super) deadline: Instant,
    /// Whether there is room for so many bytes more.
    pub(super) reserve: RefCell<&'a mut dyn FnMut(usize) -> bool>,
}

/// Settings of the agent that the client has read, or why it could not.
pub(super) type ReadFiles = BTreeMap<PathBuf, Result<String, String>>;

/// Where a session is, and what counts there.
pub(super) struct SessionPlace {
    /// The folder that it began in.
    pub(super) home: PathBuf,
    pub(super) settings: Settings,
    /// What the client was asked to read beside the folder.
    pub(super) files: ReadFiles,
}

impl Conversation<'_> {
    fn ask_to_look(&self, folder: Option<PathBuf>, files: Vec<PathBuf>) -> Result<Looked, String> {
        let failed = |error: io::Error| format!("the client did not say what it sees: {error}");
        write_frame(self.connection, &Response::Look { folder, files }, self.deadline).map_err(failed)?;
        let mut reserve = self.reserve.borrow_mut();
        read_frame(self.connection, &|| self.deadline, &mut **reserve).map_err(failed)
    }

    /// Where a session is. `first` is what the client saw of the folder that it is in; `files_of` names what it has to read
    /// beside the folder that the session began in.
    pub(super) fn place_of(
        &self,
        (ward, environment): (&WardState, &Environment),
        session: &str,
        folder: &Path,
        first: FolderView,
        files_of: &dyn Fn(&Path) -> Vec<PathBuf>,
    ) -> Result<SessionPlace, String> {
        let judged = || was_judged(ward, environment, session, &first);
        let home = hook::began_in(environment, session, folder, &judged)?;
        let files = files_of(&home);
        let is_elsewhere = first.folder != home;
        let mut read = ReadFiles::new();
        let view = if is_elsewhere || !files.is_empty() {
            let looked = self.ask_to_look(is_elsewhere.then(|| home.clone()), files)?;
            read = looked.files;
            match (is_elsewhere, looked.view) {
                (false, _) => first,
                (true, Some(view)) => view?,
                (true, None) => return Err("the client did not look at the folder of the session".to_owned()),
            }
        } else {
            first
        };
        if view.folder != home {
            return Err("the client looked at another folder than that of the session".to_owned());
        }
        let settings = hook::in_folder(environment, session, &view)?;
        if let Some(views) = environment.views_folder() {
            view.keep(&views).map_err(|error| format!("the guardian cannot store the event: {error}"))?;
        }
        Ok(SessionPlace { home, settings, files: read })
    }
}

fn was_judged(ward: &WardState, environment: &Environment, session: &str, view: &FolderView) -> bool {
    let settings = settings::find_in(view, environment).ok().filter(|it| it.state.exists());
    let backend = settings.and_then(|settings| ward.backend(&settings).ok());
    backend.is_some_and(|backend| backend.lock(session, Reach::Look).is_ok_and(|row| row.session().is_some()))
}

/// A call with what the client saw in it.
pub(super) fn seen(mut call: Call, sight: Option<&Sight>) -> SeenCall {
    let Some(sight) = sight else {
        let why = "The client did not look at this call for the guardian, so the call is blocked.";
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
