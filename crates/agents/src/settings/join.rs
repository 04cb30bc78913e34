//! The user's settings and a project's, as one.
//!
//! [`join`] has a line for each setting, which says what is stricter. A project's value counts where it is stricter. One
//! that would widen counts only where a human has trusted the project and the user says nothing about it; otherwise it is
//! told as waiting, or as overruled by the user's own. What says nothing leaves everything as it is.

use std::{fmt, path::PathBuf, time::Duration};

use lockgate::engine::{Mode, PolicyChanges};

use super::{
    error::SettingsError,
    values::{Origin, ProjectPolicy, Registry, Settings, TeamServerSettings, UserPolicy},
};
use crate::{approvals::Approvals, event::Ask, trust::Trust};

/// How long one hook process takes at most, unless settings say otherwise.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
/// When unused sessions are forgotten, unless settings say otherwise.
pub(super) const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What one place decides.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) is_project: bool,
    /// The project, or the user's folder of settings.
    pub(super) folder: PathBuf,
    /// Policy files and folders of them.
    pub(super) files: Vec<PathBuf>,
    /// The file of settings.
    pub(super) settings: Option<PathBuf>,
    pub(super) values: Values,
}

/// The settings of one place; none where it says nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) mode: Option<Mode>,
    pub(super) state: Option<PathBuf>,
    pub(super) anchor: Option<PathBuf>,
    pub(super) protect: Option<bool>,
    pub(super) ask: Option<Ask>,
    pub(super) deadline: Option<Duration>,
    /// None inside: never.
    pub(super) forget_after: Option<Option<Duration>>,
    pub(super) exec: Option<bool>,
    pub(super) approvals: Option<Approvals>,
    pub(super) policy_changes: Option<PolicyChanges>,
    pub(super) registry: Option<Registry>,
    pub(super) server: Option<TeamServerSettings>,
}

impl Level {
    pub(super) fn origin(&self) -> Origin {
        match self.is_project {
            true => Origin::Project(self.folder.clone()),
            false => Origin::User(self.folder.clone()),
        }
    }

    /// All files of its settings and its policy, without what they include; none where they cannot be listed.
    pub(super) fn named(&self) -> Option<Vec<PathBuf>> {
        let mut named = lockgate::engine::policy_files(&self.files).ok()?;
        named.extend(self.settings.clone());
        Some(named)
    }
}

/// Joins what a user and a project have decided. `state` says where sessions rest unless one of them says otherwise.
pub(super) fn join(
    user: Option<Level>,
    project: Option<Level>,
    trust: Trust,
    state: impl FnOnce() -> Result<PathBuf, SettingsError>,
) -> Result<Settings, SettingsError> {
    let values = |level: &Option<Level>| level.as_ref().map(|level| level.values.clone()).unwrap_or_default();
    let (own, its) = (values(&user), values(&project));
    let is_trusted = matches!(trust, Trust::Trusted(_));
    let mut table = Table { is_trusted, waiting: Vec::new(), overruled: Vec::new() };
    // Where the user's database cannot be placed, a trusted project may still have a place of its own.
    let state = match (own.state.clone(), its.state.clone().filter(|_| is_trusted)) {
        (Some(own), _) => own,
        (None, Some(its)) => its,
        (None, None) => state()?,
    };

    // The last argument of each line: whether the first of two values is at least as strict as the second.
    let mode = table.join("mode", (own.mode, Mode::Enforce), its.mode, word_of_mode, |a, b| a >= b);
    let protect = table.join("protect", (own.protect, true), its.protect, shown, |a, b| a >= b);
    let exec = table.join("exec", (own.exec, false), its.exec, shown, |a, b| a <= b);
    let approvals = table.join(
        "approvals",
        (own.approvals, Approvals::Protected),
        its.approvals,
        |it| format!("\"{}\"", it.word()),
        |a, b| a >= b,
    );
    let ask = table.join("hook.ask", (own.ask, Ask::Host), its.ask, word_of_ask, |a, b| a >= b);
    // A call that waits longer is nearer to the moment at which its host runs it all the same.
    let deadline =
        table.join("hook.deadline", (own.deadline, DEADLINE), its.deadline, in_seconds, |a, b| a <= b);
    let policy_changes = table.join(
        "policy_changes",
        (own.policy_changes, PolicyChanges::Hold),
        its.policy_changes,
        |it| format!("\"{}\"", it.word()),
        |a, b| a >= b,
    );
    // What a session has spent is spent no more once it is forgotten. None is never, and the strictest.
    let forget_after = table.join(
        "sessions.forget_after",
        (own.forget_after, Some(FORGET_AFTER)),
        its.forget_after,
        |it| it.map_or_else(|| "\"never\"".to_owned(), in_seconds),
        |a, b| b.is_some_and(|b| a.is_none_or(|a| a >= b)) || a == b,
    );
    // Another database has other counts, other answers and another kill switch.
    let state_is_projects = is_trusted && own.state.is_none() && its.state.is_some();
    let state = table.join(
        "state",
        (own.state.is_some().then(|| state.clone()), state),
        its.state,
        |it| format!("{:?}", it.display().to_string()),
        |a, b| a == b,
    );

    // Lockgate writes into an anchor, and blocks where it has none, so only the user may choose one without being asked.
    let anchor = table.join(
        "anchor",
        (own.anchor.map(Some), None),
        its.anchor.map(Some),
        |it| it.map_or_else(|| "none".to_owned(), |it| format!("{:?}", it.display().to_string())),
        |a, b| a == b,
    );

    // What is off at first restricts nothing, so a registry is never as strict as none. A project's never counts beside a
    // policy of the user: it could switch off the user's rules.
    let has_own_rules = user.as_ref().is_some_and(|level| !level.files.is_empty());
    let own_registry = own.registry.or_else(|| has_own_rules.then(Registry::default));
    let registry = table.join(
        "registry.active",
        (own_registry, Registry::default()),
        its.registry,
        |it| it.active.map_or_else(|| "all".to_owned(), |names| format!("{names:?}")),
        |a, b| a == b,
    );

    // It only narrows, but it is sent all calls: a project must not choose unseen who reads them.
    let server = table.join(
        "server",
        (own.server.map(Some), None),
        its.server.map(Some),
        |it| it.map_or_else(|| "none".to_owned(), |it| format!("{:?}", it.url)),
        |a, b| a == b,
    );

    let nearest = project.as_ref().or(user.as_ref());
    Ok(Settings {
        origin: nearest.map_or(Origin::BuiltIn, Level::origin),
        mode,
        state,
        state_is_projects,
        anchor,
        protect,
        ask,
        deadline,
        forget_after,
        exec,
        approvals,
        policy_changes,
        registry,
        server,
        waiting: table.waiting,
        overruled: table.overruled,
        user: user.map(|Level { folder, files, settings, .. }| UserPolicy { folder, files, settings }),
        project: project.map(|Level { folder: root, files, settings, .. }| ProjectPolicy {
            root,
            files,
            settings,
            trust,
            texts: None,
            settings_text: None,
        }),
        elsewhere: None,
    })
}

/// Joins setting by setting, and collects what does not count.
struct Table {
    is_trusted: bool,
    waiting: Vec<String>,
    overruled: Vec<String>,
}

impl Table {
    fn join<T: Clone>(
        &mut self,
        name: &str,
        (own, default): (Option<T>, T),
        its: Option<T>,
        words: impl Fn(T) -> String,
        is_as_strict: impl Fn(&T, &T) -> bool,
    ) -> T {
        let counts = own.clone().unwrap_or(default);
        let Some(its) = its else { return counts };
        if is_as_strict(&its, &counts) || (self.is_trusted && own.is_none()) {
            return its;
        }
        let told = if self.is_trusted { &mut self.overruled } else { &mut self.waiting };
        told.push(format!("{name} = {}", words(its)));
        counts
    }
}

fn shown(value: impl fmt::Display) -> String {
    value.to_string()
}

fn in_seconds(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("\"{}s\"", duration.as_secs()),
        _ => format!("\"{}ms\"", duration.as_millis()),
    }
}

fn word_of_mode(mode: Mode) -> String {
    format!("\"{}\"", mode.word())
}

fn word_of_ask(ask: Ask) -> String {
    format!("\"{}\"", ask.word())
}
