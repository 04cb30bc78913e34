//! What the doctor finds out, one check at a time.

use serde::Serialize;

/// How often a hook is run to see how long it takes.
pub(super) const ROUNDS: usize = 5;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Came {
    Ok,
    Wrong,
    /// It could not be looked at.
    Unknown,
    /// Nothing is wrong, and a human should look at it.
    Note,
}

#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) check: &'static str,
    pub(super) result: Came,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) told: String,
}

impl Check {
    pub(super) fn ok(check: &'static str, told: impl Into<String>) -> Self {
        Self { check, result: Came::Ok, told: told.into() }
    }

    pub(super) fn wrong(check: &'static str, told: impl Into<String>) -> Self {
        Self { check, result: Came::Wrong, told: told.into() }
    }

    pub(super) fn note(check: &'static str, told: impl Into<String>) -> Self {
        Self { check, result: Came::Note, told: told.into() }
    }

    pub(super) fn unknown(check: &'static str, told: impl Into<String>) -> Self {
        Self { check, result: Came::Unknown, told: told.into() }
    }
}

/// One row: the hooks of an agent in one place.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) agent: &'static str,
    pub(super) scope: &'static str,
    pub(super) checks: Vec<Check>,
    /// What no check can tell, or no hook can help.
    pub(super) notes: Vec<String>,
}

/// All that was found out.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    pub(super) installation: Vec<Check>,
    pub(super) agents: Vec<Row>,
    /// The median time of one hook process.
    pub(super) hook_ms: Option<u64>,
    pub(super) enforced: bool,
}
