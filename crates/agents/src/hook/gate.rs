//! The gate of a hook process: the policy in force, the database, and what is protected.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Gate, LocalRunner, PolicyError, Time, bound_policy,
    gate::{AnswerTrust, BoundPolicy},
    policy::{Diagnostic, Severity},
    store::{Options, Sqlite},
};

use super::{
    forgetting::{FORGET_BATCH, forgotten},
    protection,
};
use crate::{
    environment::{Environment, now},
    human_key,
    settings::{Settings, accepted_rulebook},
};

/// The part of a deadline that is kept for saying that it is over.
pub(super) const LAST_WORD: Duration = Duration::from_millis(200);

/// Opens the database, and waits for others no longer than the deadline allows.
pub(super) fn open_shelf(settings: &Settings, deadline: Instant) -> Result<Sqlite, String> {
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
    backend.forget(before, FORGET_BATCH, &entry).map(|_| ()).map_err(|error| error.to_string())
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
    let (kept, folder, environment) = (settings.clone(), folder.to_path_buf(), environment.clone());
    let (trust, changes) = (trust.clone(), settings.policy_changes);
    bound_policy(policy, SETTINGS_PLACE, settings.bound(), changes, &settings.state, move |policy, bound| {
        let mut rulebook = accepted_rulebook(policy, bound, || protection::of(&kept, &folder, &environment))?;
        rulebook.answer_trust = trust.clone();
        Ok(rulebook)
    })
}

/// The place of all doors that read the policy of the settings.
pub const SETTINGS_PLACE: &str = "settings";

pub(super) fn open_gate(
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    backend: Arc<Sqlite>,
    deadline: Instant,
) -> Result<Gate, String> {
    let not_in_force = |error: PolicyError| format!("the policy is not in force: {}", in_short(&error));
    let sources = settings.sources().map_err(not_in_force)?;
    // Findings have no reader here, and looking for them may take longer than all the rest.
    let policy =
        lockgate::Policy::builder().sources(&sources).without_findings().load().map_err(not_in_force)?;
    settings.check(&policy.compiled(), &sources)?;
    let answer_trust = human_key::answer_trust(settings.approvals, environment, &backend)
        .map_err(|error| format!("the human's key cannot be looked up: {error}"))?;
    let bound = bound(&policy, settings, folder, environment, &answer_trust);
    let builder = settings.registry.lend(Gate::builder(policy)).mode(settings.mode);
    let mut builder = builder.bound_backend(backend, bound).answer_trust(answer_trust);
    if settings.exec {
        // A program that takes longer than this process may is ended, and the condition does not hold.
        let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(LAST_WORD);
        builder = builder.runner(LocalRunner::new().limit(left));
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
