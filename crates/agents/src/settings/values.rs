//! All that counts for a folder.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::starter::starter_policy;
use crate::{agents::Agent, approvals::Approvals, event::Ask, trust::Trust};
use lockgate::engine::{
    GateBuilder, Mode, Policy, PolicyChanges, PolicyError, Source, policy::Layer, read_sources,
    store::Options,
};

/// The name of the built-in policy in the place of a file.
pub const BUILT_IN: &str = "built-in policy";

/// All that counts for a folder: what the user and the project have decided, joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The nearest place that decides something.
    pub origin: Origin,
    /// The user's policy; none where the user has none.
    pub user: Option<UserPolicy>,
    /// The project's policy; none where no folder above has one.
    pub project: Option<ProjectPolicy>,
    /// Whether rules act, or only watch.
    pub mode: Mode,
    /// The file in which sessions rest.
    pub state: PathBuf,
    /// Whether a trusted project has chosen that file, for itself.
    pub state_is_projects: bool,
    /// The file that says how far the database has come; none if it was not set.
    pub anchor: Option<PathBuf>,
    /// Whether calls are blocked that would change Lockgate or the hooks of hosts.
    pub protect: bool,
    /// How a human is asked.
    pub ask: Ask,
    /// How long one hook process may take.
    pub deadline: Duration,
    /// When unused sessions are forgotten; none for never.
    pub forget_after: Option<Duration>,
    /// Whether programs of conditions are run.
    pub exec: bool,
    /// Whether answers and other openings need a human's proof.
    pub approvals: Approvals,
    /// What happens to running sessions when their policy changes.
    pub policy_changes: PolicyChanges,
    /// What can be switched on and off under which name, and what is on when a session begins.
    pub registry: Registry,
    /// The team server that is asked as well; none where this machine decides alone.
    pub server: Option<TeamServerSettings>,
    /// The project's settings that do not count, as written: they would widen, and no human has trusted them.
    pub waiting: Vec<String>,
    /// The project's settings that do not count although it is trusted: the user's own say something stricter.
    pub overruled: Vec<String>,
    /// What another process saw of the folder; none if this process looks at it itself.
    pub elsewhere: Option<Elsewhere>,
}

/// A team server that is asked beside the gate of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamServerSettings {
    /// Where it is.
    pub url: String,
    /// The file that holds the token.
    pub token_file: PathBuf,
    /// The authorities of its certificate; none for those of the machine.
    pub ca: Option<PathBuf>,
    /// What stands before the names of sessions there, such as the name of a team.
    pub session_prefix: String,
}

/// What the guardian's client saw of a folder, beside the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The work tree of git around it, if its index holds a policy of Lockgate.
    pub repository: Option<PathBuf>,
}

/// The user's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPolicy {
    /// The folder of the settings.
    pub folder: PathBuf,
    /// Policy files and folders of them.
    pub files: Vec<PathBuf>,
    /// The file of settings.
    pub settings: Option<PathBuf>,
}

/// A project's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPolicy {
    /// The folder of the project.
    pub root: PathBuf,
    /// Policy files and folders of them.
    pub files: Vec<PathBuf>,
    /// Its file of settings.
    pub settings: Option<PathBuf>,
    /// Whether a human has trusted it.
    pub trust: Trust,
    /// Its texts, if another process has read them.
    pub texts: Option<Vec<Source>>,
    /// The text of its settings file, if another process has read it.
    pub settings_text: Option<String>,
}

/// Where settings come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The folder of the project.
    Project(PathBuf),
    /// The user's folder of settings.
    User(PathBuf),
    /// Neither the user nor a project has decided anything.
    BuiltIn,
}

impl Settings {
    /// How a database is opened: with its anchor, if it is the one of these settings.
    pub fn store_options(&self, state: &Path) -> Options {
        let anchor = self.anchor.clone().filter(|_| self.state == state);
        Options { anchor, ..Options::default() }
    }

    /// The texts of the policy: the user's, or the built-in one, and the project's.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn sources(&self) -> Result<Vec<Source>, PolicyError> {
        let mut sources = match &self.user {
            Some(user) => read_sources(&user.files)?,
            None if self.has_built_in() => Vec::from([Source::new(BUILT_IN, starter_policy(Agent::ALL))]),
            None => Vec::new(),
        };
        if let Some(project) = &self.project {
            sources.extend(project.sources()?);
        }
        Ok(sources)
    }

    /// Whether the built-in policy is in force: the user has none, and no human has trusted a project's in its place.
    pub fn has_built_in(&self) -> bool {
        self.user.is_none() && !self.project.as_ref().is_some_and(ProjectPolicy::is_trusted)
    }

    /// Whether each policy that was found says something. A file that was emptied, perhaps just now by an editor that is
    /// about to fill it again, must not be taken for a policy that allows everything.
    pub fn check(&self, policy: &Policy, sources: &[Source]) -> Result<(), String> {
        let user = self.user.as_ref().map(|user| (&user.folder, false));
        let project = self.project.as_ref().map(|project| (&project.root, true));
        for (folder, is_project) in [user, project].into_iter().flatten() {
            let is_of_it = |source: &Source| (source.layer() != Layer::User) == is_project;
            let has_rule = policy.rules().any(|rule| is_of_it(&rule.source));
            // Of several equal defaults only one becomes a rule.
            let has_default =
                || sources.iter().any(|it| is_of_it(it) && it.text().contains("default_verdict"));
            if !has_rule && !has_default() {
                return Err(format!(
                    "the policy in {} has no rule, so every call is blocked; write one, or run `lockgate init`",
                    folder.display()
                ));
            }
        }
        Ok(())
    }

    /// All policy files and folders of them: the user's, then the project's.
    pub fn files(&self) -> Vec<PathBuf> {
        let user = self.user.iter().flat_map(|user| &user.files);
        user.chain(self.project.iter().flat_map(|project| &project.files)).cloned().collect()
    }
}

impl ProjectPolicy {
    /// Whether a human has trusted it as it is.
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust, Trust::Trusted(_))
    }

    /// Its texts, marked as what they are.
    pub fn sources(&self) -> Result<Vec<Source>, PolicyError> {
        let sources = match &self.texts {
            Some(texts) => texts.clone(),
            None => read_sources(&self.files)?,
        };
        let Trust::Trusted(record) = &self.trust else {
            return Ok(sources.into_iter().map(|source| source.in_layer(Layer::Untrusted)).collect());
        };
        // What was compared with the record may have been swapped before it was read again.
        if let Some(changed) = sources.iter().find(|source| !record.has(source.name(), source.text())) {
            let path = PathBuf::from(changed.name());
            let source = io::Error::other("it has changed while it was being read; try again");
            return Err(PolicyError::Unreadable { path, source });
        }
        Ok(sources.into_iter().map(|source| source.in_layer(Layer::Project)).collect())
    }
}

/// What can be switched on and off, and what is on when a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// Names for nets and whole files, to switch them together.
    pub names: Vec<(String, Vec<String>)>,
    /// What is active when a session begins: names, nets or files; none for all.
    pub active: Option<Vec<String>>,
}

impl Registry {
    /// A gate with these names.
    pub fn lend(&self, mut builder: GateBuilder) -> GateBuilder {
        for (name, members) in &self.names {
            builder = builder.name(name, members);
        }
        match &self.active {
            // An empty list is a list: with it a session begins with nothing that can be switched.
            Some(active) => builder.active(active.iter().filter(|name| !name.is_empty())),
            None => builder,
        }
    }
}
