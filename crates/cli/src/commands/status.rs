//! `lockgate status`: where sessions stand, in words.
//!
//! With a policy it is about a session in a file; without one about the sessions of hooks, and about what counts in this
//! folder.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use lockgate::engine::{
    Gate, MemoryStore, Mode, Policy, PolicyChanges, Status,
    call::visible,
    gate::{Backend, Openness, RuleValues, Words, WorkflowStatus},
};
use lockgate_agents::{
    Agent, Environment,
    human_key::{self, HumanSetup},
    install, now, one_line,
    settings::{self, Approvals, Origin, Settings, SettingsError},
};
use serde::Serialize;
use serde_json::json;

use super::check::read_session;
use crate::{
    console::{CommandError, Console, Ending, bold, dim, lasting, wrong},
    human,
    protocol::encode,
    report::{note, painted_note},
    session_index::SessionIndex,
};

pub(crate) const STATUS_EXAMPLES: &str = "\
Examples:
  lockgate status                     the policy in force, all sessions
  lockgate status --session claude-code/3f2a…         one session, in words
  lockgate status delivery.yaml       a policy before the first call
  lockgate status delivery.yaml --session day.json    one saved by `check`";

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Policy files or folders; without them, status shows the policy in force and the sessions of hooks
    #[arg(value_name = "POLICY")]
    pub(crate) files: Vec<PathBuf>,
    /// With POLICY: the file of a saved session [default: a new session]. Without: the name of a session
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) session: Option<PathBuf>,
    /// The database of sessions [default: the one in force in this folder]
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) state: Option<PathBuf>,
}

/// How many sessions are shown to people; programs are told all.
const SESSIONS_SHOWN_MAX: usize = 50;

pub(crate) fn run(
    arguments: &StatusArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if arguments.files.is_empty() && arguments.state.is_none() {
        human::refuse_guarded("status", &Environment::of_process())?;
    }
    match (arguments.files.is_empty(), &arguments.session) {
        (false, _) => of_file(arguments, json, console),
        (true, Some(session)) => {
            of_session(session.to_string_lossy().as_ref(), arguments.state.as_deref(), json, console)
        }
        (true, None) => of_all(arguments.state.as_deref(), json, console),
    }
}

/// One session of the database.
fn of_session(
    session: &str,
    state: Option<&Path>,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let status = kept(session, state, console)?;
    if json {
        writeln!(console.out, "{}", encode(&status))?;
    } else {
        write_status(console, &status)?;
    }
    Ok(Ending::Yes)
}

/// Where a session of the database stands.
pub(super) fn kept(
    session: &str,
    state: Option<&Path>,
    console: &mut Console<'_>,
) -> Result<Status, CommandError> {
    let index = SessionIndex::open(state)?;
    let known = index.backend().sessions().map_err(CommandError::said)?;
    if !known.iter().any(|label| label.session == session) {
        return Err(CommandError::Said(format!(
            "no session is called `{}`; `lockgate status` lists them",
            visible(session)
        )));
    }
    let (_, folder_gate) = index.session(session)?;
    let status = folder_gate.gate.status(session, now()).map_err(CommandError::said)?;
    if let Some(fault) = &folder_gate.fault {
        writeln!(console.err, "note: shown without its rules: {}", visible(&one_line(fault)))?;
    }
    Ok(status)
}

/// What counts in this folder, and all sessions of the database.
fn of_all(state: Option<&Path>, json: bool, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let counts = settings::find(&env::current_dir()?, &Environment::of_process());
    let file = state.or(counts.as_ref().ok().map(|settings| settings.state.as_path()));
    // Where no hook has judged anything yet there is nothing to read; a database that was named has to be there.
    let is_there = state.is_some() || file.is_some_and(|file| file.symlink_metadata().is_ok());
    let index = if is_there { Some(SessionIndex::open(file)?) } else { None };
    let sessions = match &index {
        Some(index) => lines(index)?,
        None => Vec::new(),
    };
    let halted = index.as_ref().map(|index| index.session_halt(None)).transpose()?.flatten();
    if json {
        let (found, fault) = match &counts {
            Ok(settings) => (Some(SettingsAnswer::new(settings, policy_of(settings).as_deref())), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let answer = json!({
            "settings": found, "fault": fault, "halted": halted, "sessions": sessions,
            "approvals": human_setup(&counts, index.as_ref())?.to_string(),
        });
        writeln!(console.out, "{}", encode(&answer))?;
    } else {
        match &counts {
            Ok(settings) => write_settings(console, settings)?,
            Err(error) => {
                let text = visible(&error.to_string());
                writeln!(console.out, "{}: {text}; every call of a hook is blocked here", wrong("error"))?;
            }
        }
        match human_setup(&counts, index.as_ref())? {
            setup @ (HumanSetup::New(_) | HumanSetup::Known(_)) => {
                note(console.out, "answers", &setup.to_string())?;
            }
            HumanSetup::Missing if Environment::of_process().is_guardian() => {
                note(console.out, "answers", "of root, by `sudo lockgate approve`; no passphrase is set")?;
            }
            setup => painted_note(console.out, &wrong("answers"), "answers", &visible(&setup.to_string()))?,
        }
        if let Some(reason) = &halted {
            note(console.out, "halted", &format!("every call is blocked: {reason}"))?;
        }
        write_sessions(console, &sessions)?;
    }
    Ok(if counts.is_ok() { Ending::Yes } else { Ending::CouldNotTell })
}

/// Whether a human is set up to answer.
fn human_setup(
    counts: &Result<Settings, SettingsError>,
    index: Option<&SessionIndex>,
) -> Result<HumanSetup, CommandError> {
    let approvals = counts.as_ref().map_or(Approvals::Protected, |settings| settings.approvals);
    let recorded = index.map(|index| index.backend().human_key()).transpose().map_err(CommandError::said)?;
    Ok(human_key::look(approvals, &Environment::of_process(), recorded.flatten()))
}

/// What is told of each session.
#[derive(Debug, Serialize)]
struct SessionLine {
    session: String,
    last_seen: u64,
    judged: u64,
    let_pass: u64,
    in_flight: usize,
    questions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    halted: Option<String>,
    /// Whether its policy has changed and waits to be accepted.
    #[serde(skip_serializing_if = "is_false")]
    policy_changed: bool,
    /// Why it cannot be read, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn lines(index: &SessionIndex) -> Result<Vec<SessionLine>, CommandError> {
    let labels = index.backend().sessions().map_err(CommandError::said)?;
    let at = now();
    let line = |label: lockgate::engine::gate::SessionListing| {
        let read = index.session(&label.session);
        let status = read.and_then(|(_, folder_gate)| {
            let held = folder_gate.gate.held(&label.session).map_err(CommandError::said)?;
            let status = folder_gate.gate.status(&label.session, at).map_err(CommandError::said)?;
            Ok((status, held.is_some()))
        });
        let (session, last_seen) = (label.session, label.clock.0);
        match status {
            Ok((status, policy_changed)) => SessionLine {
                session,
                last_seen,
                judged: status.counters.counts.attempts,
                let_pass: status.counters.counts.tool_calls,
                in_flight: status.pending.len(),
                questions: status.approvals.len(),
                halted: status.halted,
                policy_changed,
                fault: None,
            },
            Err(error) => SessionLine {
                session,
                last_seen,
                judged: 0,
                let_pass: 0,
                in_flight: 0,
                questions: usize::try_from(label.questions).unwrap_or(usize::MAX),
                halted: None,
                policy_changed: false,
                fault: Some(error.to_string()),
            },
        }
    };
    Ok(labels.into_iter().map(line).collect())
}

fn write_sessions(console: &mut Console<'_>, sessions: &[SessionLine]) -> Result<(), CommandError> {
    if sessions.is_empty() {
        writeln!(console.out, "\nno session yet")?;
    }
    for line in sessions.iter().take(SESSIONS_SHOWN_MAX) {
        let ago = lasting(now().0.saturating_sub(line.last_seen));
        writeln!(console.out, "\n{}  {}", bold(visible(&line.session)), dim(format!("seen {ago} ago")))?;
        if let Some(fault) = &line.fault {
            note(console.out, "fault", fault)?;
            continue;
        }
        let SessionLine { judged, let_pass, in_flight, questions, .. } = line;
        let calls = if *judged == 1 { "call" } else { "calls" };
        let text = format!("{judged} {calls} judged, {let_pass} let pass, {in_flight} in flight");
        writeln!(console.out, "    {text}")?;
        if *questions > 0 {
            note(console.out, "asks", &format!("{questions} waiting for a human; see `lockgate pending`"))?;
        }
        if let Some(reason) = &line.halted {
            note(console.out, "halted", reason)?;
        }
        if line.policy_changed {
            note(console.out, "policy", "it has changed; `lockgate accept-policy` shows what it would open")?;
        }
    }
    if sessions.len() > SESSIONS_SHOWN_MAX {
        let more = sessions.len() - SESSIONS_SHOWN_MAX;
        writeln!(console.out, "\nand {more} that were seen before; --json tells all")?;
    }
    Ok(())
}

/// What counts in a folder, for programs.
#[derive(Debug, Serialize)]
struct SettingsAnswer {
    origin: &'static str,
    folder: Option<String>,
    policy: Vec<String>,
    mode: &'static str,
    protect: bool,
    ask: &'static str,
    deadline_ms: u64,
    state: String,
    exec: bool,
    /// `hold` or `follow`.
    policy_changes: &'static str,
    /// The hooks that are not as they were installed.
    hooks_changed: Vec<String>,
    built_in: bool,
    /// Whether the project is trusted: `trusted`, `changed` or `never`; none without a project.
    trust: Option<&'static str>,
    /// What of the project waits for that.
    waiting: Vec<String>,
    /// What of the project the user's own settings do not let count.
    overruled: Vec<String>,
}

impl SettingsAnswer {
    fn new(settings: &Settings, policy: Option<&Policy>) -> Self {
        let (origin, folder) = match &settings.origin {
            Origin::Project(folder) => ("project", Some(folder.display().to_string())),
            Origin::User(folder) => ("user", Some(folder.display().to_string())),
            Origin::BuiltIn => ("built-in", None),
        };
        Self {
            origin,
            folder,
            policy: settings.files().iter().map(|file| file.display().to_string()).collect(),
            mode: settings.mode.word(),
            protect: settings.protect,
            ask: settings.ask.word(),
            deadline_ms: u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX),
            state: settings.state.display().to_string(),
            exec: settings.exec,
            policy_changes: settings.policy_changes.word(),
            hooks_changed: changed_hooks(),
            built_in: settings.has_built_in(),
            trust: settings.project.as_ref().map(|project| project.trust.word()),
            waiting: match policy {
                Some(policy) => settings::waiting_items(settings, policy),
                None => settings.waiting.clone(),
            },
            overruled: settings.overruled.clone(),
        }
    }
}

/// The hooks of this folder that are not as they were installed.
fn changed_hooks() -> Vec<String> {
    let (Ok(here), environment) = (env::current_dir(), Environment::of_process()) else { return Vec::new() };
    let changed = |agent: &Agent| install::changed_entry(*agent, &here, &environment);
    Agent::ALL.iter().filter_map(changed).collect()
}

/// The policy that counts, where it can be read.
fn policy_of(settings: &Settings) -> Option<Arc<Policy>> {
    lockgate::Policy::builder()
        .sources(&settings.sources().ok()?)
        .without_findings()
        .load()
        .ok()
        .map(|policy| policy.compiled())
}

fn write_settings(console: &mut Console<'_>, settings: &Settings) -> Result<(), CommandError> {
    let policy = policy_of(settings);
    let answer = SettingsAnswer::new(settings, policy.as_deref());
    let origin = match (&answer.folder, answer.origin) {
        (Some(folder), "project") => format!("of the project {folder}"),
        (Some(folder), _) => format!("of the user, {folder}"),
        (None, _) => "the one that is built in".to_owned(),
    };
    note(console.out, "policy", &origin)?;
    for file in &answer.policy {
        note(console.out, "from", file)?;
    }
    if answer.built_in && answer.origin != "built-in" {
        note(console.out, "from", "the built-in policy, which stays until `lockgate trust`")?;
    }
    if let Some(line) = policy.as_deref().and_then(|policy| settings::waiting_line(settings, policy)) {
        painted_note(console.out, &wrong("trust"), "trust", &visible(&line))?;
    }
    for line in &answer.overruled {
        note(console.out, "user", &visible(&format!("the user's settings are stricter than `{line}`")))?;
    }
    match settings.mode {
        Mode::Enforce => note(console.out, "mode", "enforce")?,
        Mode::Observe => note(console.out, "mode", "observe: everything passes")?,
    }
    note(
        console.out,
        "guards",
        if settings.protect { "its own files, and the hooks of agents" } else { "nothing of its own" },
    )?;
    let changes = match settings.policy_changes {
        PolicyChanges::Hold | PolicyChanges::Replace => {
            "hold: what they open waits for `lockgate accept-policy`"
        }
        PolicyChanges::Follow => "follow: they count at once in running sessions",
    };
    note(console.out, "changes", changes)?;
    for line in &answer.hooks_changed {
        painted_note(console.out, &wrong("hooks"), "hooks", &visible(line))?;
    }
    note(console.out, "ask", answer.ask)?;
    note(console.out, "state", &answer.state)?;
    Ok(())
}

/// A session in a file, or a fresh one.
fn of_file(
    arguments: &StatusArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = super::opening::open(&arguments.files)?.compiled();
    let session = read_session(arguments.session.as_deref(), &policy)?;
    let built = Gate::builder(policy).store(MemoryStore::with_session("default", session)).build();
    let gate = built.map_err(CommandError::said)?;
    let status = gate.status("default", now()).map_err(CommandError::said)?;
    if json {
        writeln!(console.out, "{}", encode(&status))?;
        return Ok(Ending::Yes);
    }
    write_status(console, &status)?;
    Ok(Ending::Yes)
}

fn write_status(console: &mut Console<'_>, status: &Status) -> Result<(), CommandError> {
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    writeln!(
        console.out,
        "{} judged, {} let pass, {} in flight",
        calls(status.counters.counts.attempts),
        status.counters.counts.tool_calls,
        status.pending.len()
    )?;
    if let Some(reason) = &status.halted {
        note(console.out, "halted", &visible(reason))?;
    }
    for approval in &status.approvals {
        let rules = approval.rules.join(", ");
        let text = format!("{} waits for a human: {} ({rules})", approval.approval, visible(&approval.tool));
        note(console.out, "asks", &text)?;
    }
    for rule in &status.values {
        note(console.out, "values", &visible(&values_text(rule)))?;
    }
    for workflow in &status.workflows {
        write_workflow(console, workflow)?;
    }
    let of_nets = status.nets.iter().filter(|net| net.active).flat_map(|net| &net.words);
    let words: Vec<&Words> = of_nets.chain(&status.standing_words).collect();
    if !words.is_empty() {
        writeln!(console.out)?;
    }
    for words in words {
        let word = match words.openness {
            Openness::Open => "open",
            Openness::Closed => "closed",
            Openness::Human => "human",
        };
        note(console.out, word, &visible(&words.text()))?;
    }
    Ok(())
}

/// What a rule remembers of single values: `limit-send…: bob 2, ann 1`.
fn values_text(rule: &RuleValues) -> String {
    let shown = rule.values.iter().map(|it| format!("{} ({})", it.value, it.count));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = rule.different - rule.values.len().min(rule.different);
    let more = if more == 0 { String::new() } else { format!(" and {more} before") };
    let full = if rule.is_full { "; full, so closed for all others" } else { "" };
    format!("{}: {shown}{more}{full}", rule.rule)
}

/// The line of stages, and below it what can be done and what is missing.
fn write_workflow(console: &mut Console<'_>, workflow: &WorkflowStatus) -> Result<(), CommandError> {
    let version = workflow.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let off = if workflow.active { "" } else { " (not active)" };
    writeln!(console.out, "\n{}{}{off}", bold(&workflow.name), dim(visible(&version)))?;
    let line = workflow.line.to_string();
    let stages = line.split_once(": ").map_or(line.as_str(), |(_, stages)| stages);
    writeln!(console.out, "    {stages}")?;
    note(console.out, "here", &workflow.line.words())?;
    if let Some(reason) = &workflow.progress.blocked_reason {
        note(console.out, "block", &visible(reason))?;
    }
    if let Some(message) = &workflow.progress.pending_approval.message {
        note(console.out, "human", &visible(message))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_shown_the_newest_sessions_and_told_of_the_rest() {
        for (count, is_told) in [(SESSIONS_SHOWN_MAX, false), (SESSIONS_SHOWN_MAX + 1, true)] {
            let line = |number: usize| SessionLine {
                session: format!("generic/{number}"),
                last_seen: 0,
                judged: 1,
                let_pass: 1,
                in_flight: 0,
                questions: 0,
                halted: None,
                policy_changed: false,
                fault: None,
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let lines: Vec<SessionLine> = (0..count).map(line).collect();
            write_sessions(&mut Console { out: &mut out, err: &mut err }, &lines).unwrap();
            let shown = String::from_utf8(out).unwrap();
            assert_eq!(shown.matches("generic/").count(), SESSIONS_SHOWN_MAX);
            assert_eq!(shown.contains("and 1 that were seen"), is_told, "{shown}");
        }
    }
}
