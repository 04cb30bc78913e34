//! The gate of a hook process: the policy in force, the database, and what is protected.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Gate, LocalRunner, PolicyError, Session, Source, Time, bound_policy,
    gate::{AnswerTrust, Binding, BoundPolicy, PolicyBase, PolicyPlace},
    policy::{Diagnostic, Layer, Severity},
    store::{Options, Sqlite},
};
use sha2::{Digest, Sha256};

use super::{
    forgetting::{FORGET_BATCH, forgotten},
    protection,
};
use crate::{
    environment::{Environment, now},
    human_key,
    settings::{BUILT_IN, FORGET_AFTER_MS, Settings, USER_SETTINGS, accepted_rulebook},
};

/// The part of a deadline that is kept for saying that it is over.
pub(super) const LAST_WORD: Duration = Duration::from_millis(200);

/// Opens the database, and waits for others no longer than the deadline allows.
pub(super) fn open_backend(settings: &Settings, deadline: Instant) -> Result<Sqlite, String> {
    let wait = deadline.saturating_duration_since(Instant::now()).saturating_sub(LAST_WORD);
    let options = Options { wait, ..settings.store_options(&settings.state) };
    Sqlite::open(&settings.state, options).map_err(|error| error.to_string())
}

/// Forgets, a few at a time, the sessions that were not used for as long as the settings say.
pub(super) fn forget_old_sessions(settings: &Settings, backend: &Sqlite) -> Result<(), String> {
    let Some(after) = settings.forget_after else { return Ok(()) };
    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let before = Time(now().0.saturating_sub(after));
    let entry = |sessions: &[String]| forgotten(before, sessions);
    let forgot = backend.forget_unless(before, FORGET_BATCH, &is_kept, &entry);
    forgot.map(|_| ()).map_err(|error| error.to_string())
}

/// Whether a session stays for longer than the settings in force say, because it is bound to others: what it has spent would
/// be given back. One that cannot be read stays.
fn is_kept(bytes: &[u8], clock: Time) -> bool {
    let Ok(bindings) = Session::bindings_in(bytes) else { return true };
    bindings.iter().filter_map(|binding| binding.settings.get(FORGET_AFTER_MS)).any(|after| {
        // Without a number it is never forgotten.
        after.as_u64().is_none_or(|after| now().0.saturating_sub(after) <= clock.0)
    })
}

/// Why there is no policy, in one line: of many mistakes, the first.
pub fn in_short(error: &PolicyError) -> String {
    let PolicyError::Mistaken(mistakes) = error else { return error.to_string() };
    let is_error = |mistake: &&Diagnostic| mistake.severity == Severity::Error;
    let Some(first) = mistakes.iter().find(is_error).or(mistakes.first()) else { return error.to_string() };
    let mut told = first.to_string();
    if let Some(remedy) = &first.remedy {
        told.push_str(&format!("; try: {remedy}"));
    }
    match mistakes.len() {
        1 => told,
        all => format!("{told}; and {} more, which `lockgate verify` shows", all - 1),
    }
}

/// What binds sessions to a policy of these settings: hooks, the MCP proxy and commands share it.
pub fn bound(
    policy: &lockgate::Policy,
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    trust: &AnswerTrust,
) -> BoundPolicy {
    let here = folder.to_path_buf();
    let (kept, folder, environment) = (settings.clone(), folder.to_path_buf(), environment.clone());
    let (trust, changes) = (trust.clone(), settings.policy_changes);
    let make = move |policy, bound: &_| {
        let mut rulebook = accepted_rulebook(policy, bound, || protection::of(&kept, &folder, &environment))?;
        rulebook.answer_trust = trust.clone();
        Ok(rulebook)
    };
    let bound = bound_policy(policy, SETTINGS_PLACE, settings.bound(), changes, &settings.state, make);
    BoundPolicy { origin: Some(origin(settings, &here, &bound.binding)), ..bound }
}

/// Where the policy of these settings is in force: in the folder of the project, or wherever the user's own counts alone. The
/// built-in policy is not a choice, so the first policy that someone writes in its place is accepted by being used.
fn origin(settings: &Settings, folder: &Path, binding: &Binding) -> PolicyPlace {
    let name = |folder: &Path| folder.display().to_string();
    // A link to a folder is not another folder. The guardian does not look.
    let real = settings.elsewhere.is_none().then(|| fs::canonicalize(folder).ok()).flatten();
    let folder = real.as_deref().unwrap_or(folder);
    let (own, around) = match &settings.project {
        Some(project) => (name(&project.root), project.root.ancestors().skip(1).map(name).collect()),
        None => (USER_PLACE.to_owned(), folder.ancestors().map(name).collect()),
    };
    let has_own = settings.user.is_some();
    let base = PolicyBase {
        name: USER_PART.to_owned(),
        hash: user_part(binding),
        remembers: has_own,
        follows: binding.follows(),
    };
    let is_own = settings.project.is_some();
    PolicyPlace { name: own, around, is_own, remembers: has_own || is_own, base: Some(base) }
}

/// The hash of what the user's own files and settings say.
pub fn user_part(binding: &Binding) -> String {
    let is_own = |path: &str, layer: &str| layer == Layer::User.word() && path != BUILT_IN;
    let own = binding.files.iter().filter(|file| is_own(&file.path, &file.layer));
    let files: Vec<(&str, &str)> = own.map(|file| (file.path.as_str(), file.hash.as_str())).collect();
    let text = serde_json::json!([files, binding.settings.get(USER_SETTINGS)]).to_string();
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where the user's policy counts alone. The folder of a project is an absolute path, so none has this name.
const USER_PLACE: &str = "user";

/// What the user's own files and settings are remembered under.
const USER_PART: &str = "user's part";

/// The place of all doors that read the policy of the settings.
pub const SETTINGS_PLACE: &str = "settings";

/// The policy in force.
///
/// # Errors
/// When it cannot be used, in a line for people.
pub(crate) fn policy_of(settings: &Settings, sources: &[Source]) -> Result<lockgate::Policy, String> {
    // Findings have no reader here, and looking for them may take longer than all the rest.
    let policy = lockgate::Policy::builder().sources(sources).without_findings().load();
    let policy = policy.map_err(|error| not_in_force(&error))?;
    settings.check(&policy.compiled(), sources)?;
    Ok(policy)
}

/// Why a policy is not in force, in one line.
pub(crate) fn not_in_force(error: &PolicyError) -> String {
    format!("the policy is not in force: {}", in_short(error))
}

pub(super) fn open_gate(
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    backend: Arc<Sqlite>,
    deadline: Instant,
) -> Result<Gate, String> {
    let sources = settings.sources().map_err(|error| not_in_force(&error))?;
    let policy = policy_of(settings, &sources)?;
    let answer_trust = human_key::answer_trust(settings.approvals, environment, &backend)
        .map_err(|error| format!("the human's key cannot be looked up: {error}"))?;
    // A program that takes longer than this process may is ended, and the condition does not hold.
    let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(LAST_WORD);
    let runner = settings.exec.then(|| LocalRunner::new().limit(left));
    build_gate(settings, folder, environment, backend, (policy, answer_trust, runner))
}

/// A gate under a policy that was read, with the answers that count and what runs programs of conditions.
///
/// # Errors
/// When a protected file has no name to compare with, or the settings name what is not there.
pub(crate) fn build_gate(
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    backend: Arc<Sqlite>,
    (policy, answer_trust, runner): (lockgate::Policy, AnswerTrust, Option<LocalRunner>),
) -> Result<Gate, String> {
    let bound = bound(&policy, settings, folder, environment, &answer_trust);
    let builder = settings.registry.lend(Gate::builder(policy)).mode(settings.mode);
    let mut builder = builder.bound_backend(backend, bound).answer_trust(answer_trust);
    if let Some(runner) = runner {
        builder = builder.runner(runner);
    }
    if settings.protect {
        if let Some(path) = protection::nameless(settings, folder, environment) {
            return Err(format!(
                "`{}` cannot be protected from the agent: its name is not Unicode; rename it, or say `protect = \
                 false` in the settings",
                path.display()
            ));
        }
        builder = builder.protect(protection::of(settings, folder, environment));
    }
    builder.build().map_err(|error| error.to_string())
}
