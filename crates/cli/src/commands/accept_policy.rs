//! `lockgate accept-policy`: lets sessions go on under a policy that was changed while they run.
//!
//! What changed is shown for each pair of policies: the files, the settings, and the shortest sessions that tell the two apart.
//! A human agrees, and the sessions are bound to exactly the policy that was shown. What is stricter counts before that.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use lockgate::{
    PolicyDiff,
    engine::{
        Gate, PolicyChanges,
        call::visible,
        gate::{Backend, Binding, BoundFile, Protection, Rulebook},
        waiting_policy,
    },
};
use lockgate_agents::{
    Environment, hook, now,
    settings::{self, Settings, accepted_rulebook},
};
use serde::Serialize;
use serde_json::Value;

use super::questions::user;
use crate::{
    console::{CommandError, Console, Ending},
    human::{self, Opening},
    progress::Progress,
    protocol::encode,
    session_index::{FolderGate, SessionIndex},
};

pub(crate) const ACCEPT_POLICY_EXAMPLES: &str = "\
Examples:
  lockgate accept-policy              the session whose policy changed
  lockgate accept-policy --session claude-code/3f2a…
  lockgate accept-policy --all        all sessions whose policy changed
  lockgate accept-policy --json       show what waits, and do not ask

A session stays under the policy that it was first judged by, and a new one
begins under the policy that was accepted last in its folder. If the policy
changes, stricter parts count at once, and what it opens waits for you; so does
another `state` in the settings. Only a human at a terminal can accept it.
Exit 0: accepted, or nothing waits, 1: not accepted, 2: could not.";

#[derive(Debug, Args)]
pub(crate) struct AcceptPolicyArguments {
    /// The session [default: the only one whose policy changed]
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) session: Option<String>,
    /// All sessions whose policy changed
    #[arg(long)]
    pub(crate) all: bool,
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

/// A session whose policy has changed at one place, or all that begin in this folder.
struct Held {
    /// None for new sessions.
    session: Option<String>,
    /// A gate under the changed policy.
    gate: Gate,
    from: Option<Binding>,
    to: Binding,
    /// The rules that the session is bound to; none where they are lost.
    accepted: Option<Rulebook>,
    /// Why they are lost.
    fault: Option<String>,
}

pub(crate) fn run(
    arguments: &AcceptPolicyArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let environment = Environment::of_process();
    let database = match arguments.state {
        Some(_) => None,
        None => OtherDatabase::here(&environment)?,
    };
    if !json
        && let Some(database) = &database
        && !database.accept(&environment, console)?
    {
        return Ok(Ending::No);
    }
    let Some(index) = SessionIndex::open_if_there(arguments.state.as_deref())? else {
        return nothing(database.as_ref(), json, console);
    };
    let labels = index.backend().sessions().map_err(CommandError::said)?;
    if let Some(session) = &arguments.session
        && !labels.iter().any(|label| label.session == *session)
    {
        return Err(CommandError::Said(format!(
            "no session is called `{}`; `lockgate status` lists them",
            visible(session)
        )));
    }
    let mut held = Vec::new();
    for label in labels {
        if arguments.session.as_ref().is_none_or(|session| *session == label.session) {
            held.extend(held_at(&index, &label.session, &environment)?);
        }
    }
    if arguments.session.is_none() {
        held.extend(held_in(&index, &index.folder_here(), &environment)?);
    }
    if held.is_empty() {
        return nothing(database.as_ref(), json, console);
    }
    if json {
        let answers: Vec<HeldAnswer> = held.iter().map(Held::answer).collect::<Result<_, _>>()?;
        let (sessions, new): (Vec<_>, Vec<_>) = answers.into_iter().partition(|it| it.session.is_some());
        let answer = WaitingAnswer { sessions, new_sessions: new.into_iter().next(), database };
        writeln!(console.out, "{}", encode(&answer))?;
        return Ok(Ending::No);
    }
    let mut sessions: Vec<&str> = held.iter().filter_map(|held| held.session.as_deref()).collect();
    sessions.dedup();
    if sessions.len() > 1 && !arguments.all {
        return Err(CommandError::Said(format!(
            "the policy of {} sessions has changed: {}; choose one with `--session`, or `--all`",
            sessions.len(),
            visible(&sessions.join(", "))
        )));
    }
    let progress = Progress::start("comparing", json);
    let shown = shown(&held)?;
    drop(progress);
    let deed = match sessions.as_slice() {
        [] => "let new sessions begin under the changed policy".to_owned(),
        [session] => format!("let session {session} go on under the changed policy"),
        sessions => format!("let {} sessions go on under the changed policy", sessions.len()),
    };
    let state = index.backend().path();
    let opening = Opening { command: "accept-policy", deed: &deed, shown: &shown, state };
    if !human::confirm(&opening, &environment)? {
        writeln!(console.err, "nothing was accepted")?;
        return Ok(Ending::No);
    }
    let by = user(&environment);
    for held in &held {
        held.accept(&by)?;
        match &held.session {
            Some(session) => {
                writeln!(console.out, "{} goes on under {}", visible(session), short(&held.to.policy))?;
            }
            None => writeln!(console.out, "new sessions begin under {}", short(&held.to.policy))?,
        }
    }
    Ok(Ending::Yes)
}

/// Lets the sessions of a project go on under its policy, which a human has just trusted. A session for which the user's own
/// policy or settings have changed too keeps waiting: no human was shown that.
pub(super) fn accept_trusted(root: &Path, state: &Path) -> Result<(), CommandError> {
    let environment = Environment::of_process();
    if fs::symlink_metadata(state).is_err() {
        return Ok(());
    }
    let index = SessionIndex::open(Some(state))?;
    for label in index.backend().sessions().map_err(CommandError::said)? {
        let folder_gate = index.of(&label.session)?;
        let project = folder_gate.settings.as_ref().and_then(|settings| settings.project.as_ref());
        if project.is_none_or(|project| project.root != root) || folder_gate.fault.is_some() {
            continue;
        }
        for held in held_at(&index, &label.session, &environment)? {
            held.accept_if_same_user(&environment)?;
        }
    }
    match held_in(&index, root, &environment)? {
        Some(held) => held.accept_if_same_user(&environment),
        None => Ok(()),
    }
}

/// No policy waits, and perhaps a database, which a human has accepted by now unless this is for a program.
fn nothing(
    database: Option<&OtherDatabase>,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if json {
        let answer = WaitingAnswer { sessions: Vec::new(), new_sessions: None, database: database.cloned() };
        writeln!(console.out, "{}", encode(&answer))?;
        return Ok(if database.is_some() { Ending::No } else { Ending::Yes });
    }
    if database.is_none() {
        writeln!(console.out, "no session waits for a changed policy to be accepted")?;
    }
    Ok(Ending::Yes)
}

/// A database that the settings of this folder name instead of the one that new sessions were stored in.
#[derive(Clone, Debug, Serialize)]
struct OtherDatabase {
    from: PathBuf,
    to: PathBuf,
    #[serde(skip)]
    settings: Settings,
}

impl OtherDatabase {
    fn here(environment: &Environment) -> Result<Option<Self>, CommandError> {
        // Settings that cannot be read are told where they are needed.
        let Ok(settings) = settings::find(&env::current_dir()?, environment) else { return Ok(None) };
        let from = hook::other_database(environment, &settings).map_err(CommandError::Said)?;
        Ok(from.map(|from| Self { from: from.into(), to: settings.state.clone(), settings }))
    }

    /// Asks a human, by the key that the first database remembers: another one knows no key.
    fn accept(&self, environment: &Environment, console: &mut Console<'_>) -> Result<bool, CommandError> {
        let Self { from, to, settings } = self;
        let shown = format!(
            "new sessions are stored in {}, and the settings name {}\n    counts, answers, halts and accepted policies of \
             the first one do not count in the other\n",
            from.display(),
            to.display()
        );
        let deed = "store new sessions in the other database";
        let opening = Opening { command: "accept-policy", deed, shown: &shown, state: from };
        if !human::confirm(&opening, environment)? {
            writeln!(console.err, "nothing was accepted")?;
            return Ok(false);
        }
        hook::accept_database(environment, settings).map_err(CommandError::Said)?;
        writeln!(console.out, "new sessions are stored in {}", to.display())?;
        Ok(true)
    }
}

/// Whether new sessions of a folder begin under another policy than the one in force.
fn held_in(
    index: &SessionIndex,
    folder: &Path,
    environment: &Environment,
) -> Result<Option<Held>, CommandError> {
    let folder_gate = index.of_folder(folder)?;
    let (Some(settings), None) = (&folder_gate.settings, &folder_gate.fault) else { return Ok(None) };
    let held = folder_gate.gate.held_here();
    if matches!(held, Ok(None)) {
        return Ok(None);
    }
    let (gate, to) = gate_under(index, &folder_gate, settings, folder, environment, None)?;
    let (from, accepted, fault) = match held {
        Ok(Some((from, policy))) => (Some(from), Some(Rulebook::new(policy)), None),
        Ok(None) => (None, None, None),
        Err(error) => (None, None, Some(error.to_string())),
    };
    Ok(Some(Held { session: None, gate, from, to, accepted, fault }))
}

/// A gate under the policy in force in a folder, and what it binds sessions to.
fn gate_under(
    index: &SessionIndex,
    folder_gate: &FolderGate,
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    changes: Option<PolicyChanges>,
) -> Result<(Gate, Binding), CommandError> {
    let opened = settings
        .sources()
        .and_then(|sources| lockgate::Policy::builder().sources(&sources).without_findings().load())?;
    let trust = &folder_gate.gate.rulebook().answer_trust;
    let mut bound = hook::bound(&opened, settings, folder, environment, trust);
    bound.changes = changes.unwrap_or(bound.changes);
    let to = Binding::clone(&bound.binding);
    let gate = Gate::builder(opened).bound_backend(index.shared_backend(), bound);
    Ok((gate.build().map_err(CommandError::said)?, to))
}

/// Where a session is bound to another policy than the one that is in force there.
fn held_at(
    index: &SessionIndex,
    session: &str,
    environment: &Environment,
) -> Result<Vec<Held>, CommandError> {
    let mut held = Vec::new();
    let (read, _) = index.session(session)?;
    let state = index.backend().path().to_path_buf();
    for (place, waiting) in read.waiting_bindings() {
        if place == hook::SETTINGS_PLACE {
            continue;
        }
        // What waits there was kept when it first decided about a call.
        let make = |policy, bound: &_| accepted_rulebook(policy, bound, Protection::new);
        let (policy, bound) = waiting_policy(place, waiting, &state, make).map_err(CommandError::Said)?;
        let gate = Gate::builder(policy).bound_backend(index.shared_backend(), bound);
        let gate = gate.build().map_err(CommandError::said)?;
        let from = read.bindings().find(|(at, _)| *at == place).map(|(_, binding)| binding.clone());
        held.extend(Held::new(session, gate, from, waiting.clone()));
    }
    let from = read.bindings().find(|(place, _)| *place == hook::SETTINGS_PLACE);
    let folder_gate = index.of(session)?;
    let (Some((_, from)), Some(settings)) = (from, &folder_gate.settings) else { return Ok(held) };
    if let Some(fault) = &folder_gate.fault {
        return Err(CommandError::Said(format!(
            "the policy of `{}` cannot be used: {fault}",
            visible(session)
        )));
    }
    let folder = index.folder_of(session);
    let is_lost = folder_gate.gate.held(session).is_err();
    let changes = is_lost.then_some(PolicyChanges::Replace);
    let (gate, to) = gate_under(index, &folder_gate, settings, &folder, environment, changes)?;
    if from.is_same_as(&to) || (from.follows() && to.follows()) {
        return Ok(held);
    }
    held.extend(Held::new(session, gate, Some(from.clone()), to));
    Ok(held)
}

impl Held {
    fn new(session: &str, gate: Gate, from: Option<Binding>, to: Binding) -> Option<Self> {
        let (accepted, fault) = match gate.held(session) {
            Ok(Some((_, policy))) => (Some(Rulebook::new(policy)), None),
            Ok(None) => {
                (None, Some("the policy that the session is bound to is not kept any more".to_owned()))
            }
            Err(error) => (None, Some(error.to_string())),
        };
        Some(Self { session: Some(session.to_owned()), gate, from, to, accepted, fault })
    }

    fn accept(&self, by: &str) -> Result<(), CommandError> {
        let accepted = match &self.session {
            Some(session) => self.gate.accept_policy(session, by, now()),
            None => self.gate.accept_here(by, now()),
        };
        accepted.map_err(CommandError::said)
    }

    /// Accepts what a human has trusted, unless the user's own files or settings have changed too: no human was shown that.
    fn accept_if_same_user(&self, environment: &Environment) -> Result<(), CommandError> {
        let is_same = |from: &Binding| hook::user_part(from) == hook::user_part(&self.to);
        if self.from.as_ref().is_some_and(is_same) {
            self.accept(&user(environment))?;
        }
        Ok(())
    }

    /// The files that only one of both policies has, each with a sign.
    fn files(&self) -> Vec<(char, &BoundFile)> {
        let from: &[BoundFile] = self.from.as_ref().map_or(&[], |from| from.files.as_slice());
        let only = |one: &'_ [BoundFile], file: &BoundFile| !one.iter().any(|it| it == file);
        let gone = from.iter().filter(|file| only(&self.to.files, file)).map(|file| ('-', file));
        let new = self.to.files.iter().filter(|file| only(from, file)).map(|file| ('+', file));
        gone.chain(new).collect()
    }

    /// The settings that differ, as lines.
    fn settings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, now) in &self.to.settings {
            let then = self.from.as_ref().and_then(|from| from.settings.get(name)).unwrap_or(&Value::Null);
            if then != now {
                lines.push(format!("{name}: {then} becomes {now}"));
            }
        }
        lines
    }

    /// What the change does, where the accepted policy is still known.
    fn diff(&self) -> Result<Option<PolicyDiff>, CommandError> {
        let Some(accepted) = &self.accepted else { return Ok(None) };
        let current = Arc::clone(&self.gate.rulebook().policy);
        PolicyDiff::between(Arc::clone(&accepted.policy), current).map(Some).map_err(CommandError::said)
    }

    fn answer(&self) -> Result<HeldAnswer, CommandError> {
        let diff = self.diff()?.and_then(|diff| serde_json::to_value(&diff).ok());
        Ok(HeldAnswer {
            session: self.session.clone(),
            from: self.from.as_ref().map(|from| from.policy.clone()),
            to: self.to.policy.clone(),
            files: self.files().into_iter().map(|(sign, file)| format!("{sign} {}", file.path)).collect(),
            settings: self.settings(),
            fault: self.fault.clone(),
            diff,
        })
    }
}

/// What a human has to see before: each change once, with the sessions it is about.
fn shown(held: &[Held]) -> Result<String, CommandError> {
    let mut text = String::new();
    let mut told: Vec<(&Option<Binding>, &Binding)> = Vec::new();
    for one in held {
        match &one.session {
            Some(session) => text.push_str(&format!("session {session}\n")),
            None => text.push_str("new sessions in this folder\n"),
        }
        if told.contains(&(&one.from, &one.to)) {
            text.push_str("    the same change\n");
            continue;
        }
        told.push((&one.from, &one.to));
        for (sign, file) in one.files() {
            text.push_str(&format!("    {sign} {}  {} ({})\n", short(&file.hash), file.path, file.layer));
        }
        for line in one.settings() {
            text.push_str(&format!("    {line}\n"));
        }
        if let Some(fault) = &one.fault {
            text.push_str(&format!("    what changed cannot be shown: {fault}\n"));
        }
        if let Some(diff) = one.diff()? {
            let mut out = Vec::new();
            super::diff::write(&diff, &mut out)?;
            text.push_str(&String::from_utf8_lossy(&out));
        }
    }
    Ok(text)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[derive(Debug, Serialize)]
struct WaitingAnswer {
    sessions: Vec<HeldAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_sessions: Option<HeldAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<OtherDatabase>,
}

#[derive(Debug, Serialize)]
struct HeldAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
    files: Vec<String>,
    settings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Value>,
}
